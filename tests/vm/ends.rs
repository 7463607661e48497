//! Labs that do not end with their command, and that they leave nothing behind.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{Ended, booted, is_possible, vm};

/// The longest that a test waits for something that should happen at once.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Emulators on this host that were started by `lab`.
fn emulators(lab: u32) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let is_its = |entry: &fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        stat.contains("(qemu-system-x86)")
            && stat.split_whitespace().nth(3) == Some(&lab.to_string())
    };
    processes.filter(is_its).count()
}

/// Folders of labs whose process is `lab`, wherever cgroups are mounted.
fn cgroups(lab: u32) -> usize {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let places = mounts
        .lines()
        .filter(|line| line.contains(" cgroup"))
        .filter_map(|line| line.split(' ').nth(1));
    fn count(folder: &std::path::Path, name: &str) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders
            .map(|entry| usize::from(entry.file_name() == *name) + count(&entry.path(), name))
            .sum()
    }
    let mut places: Vec<&str> = places.collect();
    places.sort_unstable();
    places.dedup();
    places.iter().map(|place| count(place.as_ref(), &format!("evenkeel-vm-{lab}"))).sum()
}

/// True if any thread on this host is in a cgroup of `lab`. Under version 1 the emulator's first
/// thread is in none, and its other threads need a while to die.
fn has_threads(lab: u32) -> bool {
    let name = format!("evenkeel-vm-{lab}/");
    let below = |folder: PathBuf| {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
    };
    let mut threads = below("/proc".into()).flat_map(|process| below(process.join("task")));
    threads.any(|thread| {
        fs::read_to_string(thread.join("cgroup")).is_ok_and(|cgroups| cgroups.contains(&name))
    })
}

#[track_caller]
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < TIMEOUT, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A lab whose command runs; `None` if no lab is possible here.
fn running() -> Option<Child> {
    let mut lab = vm(&["--cores", "1@50", "--", "sh", "-c", "echo ready; exec sleep 600"]);
    let mut lab = lab.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(lab.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    if line.is_empty() {
        let ended = Ended::of(lab.wait_with_output().unwrap());
        assert!(!is_possible(&ended), "{}", ended.stderr);
        return None;
    }
    assert_eq!((line.as_str(), emulators(lab.id()), cgroups(lab.id())), ("ready\n", 1, 1));
    Some(lab)
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn an_interrupted_lab_leaves_nothing_and_a_killed_one_leaves_what_the_next_removes() {
    let Some(mut lab) = running() else { return };
    let id = lab.id();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &id.to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(lab.wait().unwrap().code(), Some(130));
    assert_eq!((emulators(id), cgroups(id)), (0, 0));

    let Some(mut lab) = running() else { return };
    let id = lab.id();
    lab.kill().unwrap();
    assert_eq!(lab.wait().unwrap().signal(), Some(9));
    // Its parent is another process now.
    eventually("the emulator's threads are gone", || !has_threads(id));
    assert_eq!(cgroups(id), 1, "the killed one could not clear up");
    let next = booted(&["--cores", "1@50", "--timeout", "1s", "--", "sleep", "600"]).unwrap();
    assert_eq!((next.code, next.text().as_str()), (124, ""), "{}", next.stderr);
    assert!(
        next.stderr.contains("error: time-out: the command did not end within 1 s"),
        "{}",
        next.stderr
    );
    assert!(
        next.stderr.contains("note: in the second after the time was over the cores ran for "),
        "{}",
        next.stderr
    );
    assert_eq!(cgroups(id), 0);
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn of_a_guest_that_dies_the_kernels_last_words_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo before; sleep 1; echo c >/proc/sysrq-trigger; sleep 60";
    let log = folder.path().join("log");
    let args = ["--cores", "1@50", "--kernel-log", log.to_str().unwrap(), "--", "sh", "-c", script];
    let Some(ended) = booted(&args) else { return };
    assert_eq!((ended.code, ended.text().as_str()), (125, "before\n"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("error: the guest died during the command: Kernel panic"),
        "{}",
        ended.stderr
    );
    assert!(fs::read_to_string(log).unwrap().contains("sysrq: Trigger a crash"));
}
