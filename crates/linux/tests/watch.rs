//! Real programs are watched, and what they did is known: no thread is lost.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

#[path = "support/programs.rs"]
mod programs;
#[path = "support/seen.rs"]
mod seen;

use std::{
    collections::BTreeSet,
    fs,
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{self, Child, Command},
    time::{Duration, Instant},
};

use evenkeel_linux::watch::{Options, Seen, Source, Tid, Waker, WatchError, Watcher};
use programs::{example, tid};
use seen::{is_lawful, started};

/// Nothing here takes longer, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program that starts threads, which has not begun yet: it does when it is let go.
fn held(words: &[&str]) -> Child {
    programs::held(&example("swarm"), words)
}

/// `None`, and a line that says so, if the source is not allowed here.
fn watch(child: &Child, options: &Options) -> Option<Watcher> {
    match Watcher::program(tid(child), options) {
        Ok(watcher) => Some(watcher),
        Err(error @ (WatchError::NotAllowed { .. } | WatchError::Cannot(_))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The same, and the program is ended if it cannot be watched.
fn watch_or_end(mut child: Child, options: &Options) -> Option<(Child, Watcher)> {
    let Some(watcher) = watch(&child, options) else {
        child.kill().unwrap();
        child.wait().unwrap();
        return None;
    };
    Some((child, watcher))
}

/// Lets the program go and watches it to its end: all that was seen, and what it printed.
fn see(mut child: Child, watcher: &mut Watcher) -> (Vec<Seen>, String) {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut seen = Vec::new();
    watcher.drain(&mut seen);
    watch_to_the_end(watcher, &mut seen);
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(child.wait().unwrap().success());
    (seen, output)
}

/// Times that something is watched at most until the kernel had room for all records. How much it
/// has to tell of the machine meanwhile, and how long others keep us from reading it, is chance; if
/// we do not read what is there, some is lost every time.
const ATTEMPTS: u32 = 3;

/// What was seen in the first attempt that missed no records; each says how many it missed.
fn without_a_gap<T>(attempt: impl Fn() -> Option<(T, u64)>) -> Option<T> {
    let mut missed = Vec::new();
    for _ in 0..ATTEMPTS {
        match attempt()? {
            (seen, 0) => return Some(seen),
            (_, records) => missed.push(records),
        }
    }
    panic!("records missed: {missed:?}");
}

/// What a program was seen to do, what it printed, and its process.
fn program(words: &[&str], options: &Options) -> Option<(Vec<Seen>, String, Tid)> {
    watched(|| held(words), options)
}

fn watched(start: impl Fn() -> Child, options: &Options) -> Option<(Vec<Seen>, String, Tid)> {
    without_a_gap(|| {
        let child = start();
        let root = tid(&child);
        let (child, mut watcher) = watch_or_end(child, options)?;
        let (seen, output) = see(child, &mut watcher);
        Some(((seen, output, root), watcher.missed()))
    })
}

fn from(source: Source) -> Options {
    Options { source, interval: Duration::from_millis(2), ..Options::default() }
}

/// The sources that miss no thread.
fn complete() -> [Options; 3] {
    let wide = Options { wide: Some(true), ..from(Source::Perf) };
    [from(Source::Perf), wide, from(Source::Connector)]
}

#[test]
fn none_of_five_thousand_short_threads_is_lost() {
    for options in complete() {
        let Some((seen, ..)) = program(&["threads", "5000"], &options) else { continue };
        is_lawful(&seen);
        assert_eq!(started(&seen).len(), 5001, "{options:?}");
    }
}

#[test]
fn every_one_of_deep_forks_is_seen() {
    for options in complete() {
        let Some((seen, output, root)) = program(&["forks", "60"], &options) else { continue };
        is_lawful(&seen);
        let printed: BTreeSet<Tid> =
            output.lines().map(|line| Tid(line.parse().unwrap())).collect();
        assert_eq!(printed.len(), 61);
        let started: BTreeSet<Tid> = started(&seen).into_iter().collect();
        assert!(printed.is_subset(&started), "{options:?}");
        assert!(started.contains(&root));
        let execs = seen.iter().filter(|one| matches!(one, Seen::Exec { .. })).count();
        assert_eq!(execs, 61, "{options:?}");
    }
}

/// Of the turns that `swarm turns` takes, those that may be lost to one who says that it sleeps,
/// and is woken before it has left its core.
const RASH: usize = 10;

#[test]
fn perf_tells_of_cores_taken_and_left() {
    let Some((seen, ..)) = program(&["turns", "200"], &from(Source::Perf)) else { return };
    is_lawful(&seen);
    // Both sleep before each of their turns.
    let left = seen.iter().filter(|one| matches!(one, Seen::Left { preempted: false, .. })).count();
    assert!(left >= 400 - RASH, "{left}");
}

#[test]
fn an_exec_by_another_thread_than_the_first_leaves_one_thread() {
    let swarm = example("swarm");
    let words = ["exec", swarm.to_str().unwrap(), "sleep", "20"];
    for options in complete() {
        let Some((seen, _, root)) = program(&words, &options) else { continue };
        is_lawful(&seen);
        assert!(matches!(seen.last(), Some(Seen::Exited { tid, .. }) if *tid == root), "{seen:?}");
    }
}

#[test]
fn wake_ups_tell_who_woke_whom() {
    let options = Options { wakeups: true, ..from(Source::Perf) };
    let Some((seen, _, root)) = program(&["turns", "200"], &options) else { return };
    is_lawful(&seen);
    let woken = |by: &dyn Fn(Tid) -> bool, of: &dyn Fn(Tid) -> bool| {
        let told = |one: &&Seen| match one {
            Seen::Woke { tid, by: Waker::Thread(waker), .. } => of(*tid) && by(*waker),
            _ => false,
        };
        seen.iter().filter(told).count()
    };
    // Each wakes the other 200 times.
    let (there, back) =
        (woken(&|by| by == root, &|of| of != root), woken(&|by| by != root, &|of| of == root));
    assert!(there >= 200 - RASH && back >= 200 - RASH, "{there} {back}");
}

/// Threads of the process, and what they forked, wait for a line of input when there are as many as
/// this.
fn wait_for_threads(process: Tid, number: usize) {
    let begun = Instant::now();
    while fs::read_dir(format!("/proc/{}/task", process.0)).unwrap().count() < number {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Watches until the process is gone. It is the only one that is followed.
fn watch_to_the_end(watcher: &mut Watcher, seen: &mut Vec<Seen>) {
    let begun = Instant::now();
    while watcher.alive() > 0 {
        watcher.wait(Duration::from_millis(100)).unwrap();
        watcher.drain(seen);
        assert!(begun.elapsed() < PATIENCE, "still alive: {}", watcher.alive());
    }
}

#[test]
fn attaching_to_a_running_process_finds_all_its_threads_and_what_they_start() {
    for options in complete() {
        let attempt = || {
            let mut child = held(&["crowd", "100"]);
            let mut input = child.stdin.take().unwrap();
            input.write_all(b"\n").unwrap();
            wait_for_threads(tid(&child), 101);
            let (mut child, mut watcher) = watch_or_end(child, &options)?;
            input.write_all(b"\n").unwrap();
            let mut seen = Vec::new();
            watcher.drain(&mut seen);
            watch_to_the_end(&mut watcher, &mut seen);
            assert!(child.wait().unwrap().success());
            Some((seen, watcher.missed()))
        };
        let Some(seen) = without_a_gap(attempt) else { continue };
        is_lawful(&seen);
        assert_eq!(started(&seen).len(), 201, "{options:?}");
    }
}

/// There is a ring for each CPU, so that many of them together have room for much.
fn on_one_cpu(child: &Child) {
    let child = rustix::process::Pid::from_child(child);
    let mut allowed = rustix::thread::sched_getaffinity(Some(child)).unwrap();
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap();
    allowed.clear();
    allowed.set(first);
    rustix::thread::sched_setaffinity(Some(child), &allowed).unwrap();
}

#[test]
fn what_found_no_room_is_made_good_from_proc() {
    // A page is room for some seventy starts; three hundred come, and three hundred more with their
    // ends.
    let options = Options { switches: false, ring_pages: Some(1), ..from(Source::Perf) };
    let child = held(&["crowd", "300"]);
    on_one_cpu(&child);
    let Some((mut child, mut watcher)) = watch_or_end(child, &options) else { return };
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"\n").unwrap();
    wait_for_threads(tid(&child), 301);
    let mut seen = Vec::new();
    watcher.drain(&mut seen);
    assert_eq!(watcher.alive(), 301);
    input.write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    watch_to_the_end(&mut watcher, &mut seen);
    is_lawful(&seen);
    assert!(watcher.missed() > 0);
    assert!(started(&seen).len() >= 301);
}

#[test]
fn the_whole_machine_is_watched_with_everybody_in_it() {
    let attempt = || {
        let mut watcher = match Watcher::machine(&from(Source::Perf)) {
            Ok(watcher) => watcher,
            Err(error @ WatchError::NotAllowed { .. }) => {
                println!("skipped: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let mut child = held(&["threads", "300"]);
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let mut seen = Vec::new();
        let ended = loop {
            let ended = child.try_wait().unwrap();
            watcher.drain(&mut seen);
            match ended {
                Some(status) => break status,
                None => drop(watcher.wait(Duration::from_millis(10)).unwrap()),
            }
        };
        assert!(ended.success());
        Some(((seen, tid(&child)), watcher.missed()))
    };
    let Some((seen, process)) = without_a_gap(attempt) else { return };
    let own = process::id();
    let of = |whose: Tid| {
        let begins = move |one: &&Seen| match one {
            Seen::Started { process, .. } | Seen::Found { process, .. } => *process == whose,
            _ => false,
        };
        seen.iter().filter(begins).count()
    };
    assert_eq!(of(process), 301);
    assert!(of(Tid(i32::try_from(own).unwrap())) > 0, "whoever was there before is found");
}

/// A cgroup of ours, empty by the time that it goes.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        // After a failed test a process may still be in it.
        let removed = fs::remove_dir(&self.0);
        assert!(removed.is_ok() || std::thread::panicking(), "{removed:?}");
    }
}

#[test]
fn a_cgroup_is_watched_with_whoever_comes_and_goes() {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let unified = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"));
    let Some(root) = unified.and_then(|line| line.split(' ').nth(1)) else {
        return println!("skipped: no cgroup2");
    };
    let folder = Path::new(root).join(format!("evenkeel-test-{}", process::id()));
    if let Err(error) = fs::create_dir(&folder) {
        return println!("skipped: {}: {error}", folder.display());
    }
    let group = Group(folder);
    let attempt = || {
        let mut child = held(&["threads", "300"]);
        fs::write(group.0.join("cgroup.procs"), child.id().to_string()).unwrap();
        match Watcher::cgroup(&group.0, &from(Source::Perf)) {
            Ok(mut watcher) => Some((see(child, &mut watcher).0, watcher.missed())),
            Err(error) => {
                println!("skipped: {error}");
                child.kill().unwrap();
                child.wait().unwrap();
                None
            }
        }
    };
    let Some(seen) = without_a_gap(attempt) else { return };
    is_lawful(&seen);
    assert_eq!(started(&seen).len(), 301);
}

#[test]
fn a_program_with_other_rights_stays_in_sight() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("swarm");
    // By another process: a copy of our own could be open for writing still when it is to begin, in
    // a process that another test forks meanwhile and that has not begun its own program yet
    // (ETXTBSY).
    assert!(Command::new("cp").arg(example("swarm")).arg(&program).status().unwrap().success());
    // Set-group-id to a group that is not ours.
    if let Err(error) = std::os::unix::fs::chown(&program, None, Some(1)) {
        return println!("skipped: chown: {error}");
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o2755)).unwrap();
    let attempt = || {
        let (mut child, mut watcher) =
            watch_or_end(programs::held(&program, &["late", "50"]), &from(Source::Perf))?;
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        input.write_all(b"\n").unwrap();
        // Once it says that it is there, the kernel has told that its events are gone: we need not
        // look again.
        output.read_exact(&mut [0]).unwrap();
        let mut seen = Vec::new();
        watcher.drain(&mut seen);
        input.write_all(b"\n").unwrap();
        watch_to_the_end(&mut watcher, &mut seen);
        assert!(child.wait().unwrap().success());
        Some((seen, watcher.missed()))
    };
    let Some(seen) = without_a_gap(attempt) else { return };
    is_lawful(&seen);
    assert_eq!(started(&seen).len(), 51);
}

/// Runs the example that watches, by way of another program that takes something from it. What it
/// printed; `None`, and a line that says so, if that program cannot be run here.
fn watch_by_way_of(way: &[&str], words: &[&str]) -> Option<String> {
    let able = Command::new(way[0]).args(&way[1..]).arg("true").output();
    if !able.is_ok_and(|done| done.status.success()) {
        println!("skipped: {} cannot be used here", way[0]);
        return None;
    }
    let output =
        Command::new(way[0]).args(&way[1..]).arg(example("watch")).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || said.contains("not allowed"), "{said}");
    Some(said)
}

/// What the example printed, and how many records it says it missed.
fn with_missed(said: String) -> (String, u64) {
    let missed = said
        .split_once("missed ")
        .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    let missed = missed.unwrap_or_else(|| panic!("it says how many it missed: {said}"));
    (said, missed)
}

/// Without privileges: nobody, in no group.
const NOBODY: [&str; 6] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

#[test]
fn without_privileges_perf_sees_all_where_the_kernel_lets_it() {
    let swarm = example("swarm");
    let attempt = || {
        let said = watch_by_way_of(&NOBODY, &["perf", swarm.to_str().unwrap(), "threads", "1000"])?;
        if said.contains("not allowed") {
            println!("skipped: {said}");
            return None;
        }
        Some(with_missed(said))
    };
    let Some(said) = without_a_gap(attempt) else { return };
    assert!(said.starts_with("started 1001 ended 1001"), "{said}");
}

#[test]
fn without_privileges_there_is_always_proc() {
    let swarm = example("swarm");
    let Some(said) = watch_by_way_of(&NOBODY, &["poll", swarm.to_str().unwrap(), "sleep", "100"])
    else {
        return;
    };
    assert!(said.starts_with("started 1 ended 1 switches 0 missed 0"), "{said}");
}

#[test]
fn in_a_pid_namespace_numbers_are_those_of_the_namespace() {
    let swarm = example("swarm");
    let way = ["unshare", "--pid", "--fork", "--mount-proc"];
    let attempt = || {
        watch_by_way_of(&way, &["auto", swarm.to_str().unwrap(), "threads", "200"]).map(with_missed)
    };
    let Some(said) = without_a_gap(attempt) else { return };
    assert!(said.starts_with("started 201 ended 201"), "{said}");
}

#[test]
fn a_program_that_makes_a_pid_namespace_is_seen_from_outside() {
    let swarm = example("swarm");
    let words = ["--pid", "--fork", "--mount-proc", swarm.to_str().unwrap(), "threads", "200"];
    if !Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "true"])
        .status()
        .is_ok_and(|s| s.success())
    {
        return println!("skipped: unshare cannot be used here");
    }
    let start = || programs::held(Path::new("unshare"), &words);
    let Some((seen, ..)) = watched(start, &from(Source::Perf)) else { return };
    is_lawful(&seen);
    assert_eq!(started(&seen).len(), 202);
}

#[test]
fn a_process_that_is_gone_is_said_to_be() {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let error = Watcher::threads(&[tid(&child)], &Options::default()).unwrap_err().to_string();
    assert_eq!(error, format!("no process {}: it has ended, or never was", child.id()));
    let error = Watcher::cgroup(Path::new("/sys/fs/cgroup/none"), &Options::default())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("/sys/fs/cgroup/none: "), "{error}");
}
