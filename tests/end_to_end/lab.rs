//! `evenkeel lab`: refusals, and that it leaves nothing behind. `make bench` measures how slow CPUs
//! become; here every call has `--force`, since a machine that runs tests is busy.

use evenkeel_files::machines;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::{Ended, eventually};

/// Serialises labs: two on one CPU would take it from each other.
static LAB: Mutex<()> = Mutex::new(());

/// The first CPU that this process may use, with a guard; `None`, and a line that says so, if no
/// CPU can be slowed.
fn slowable_cpu() -> Option<(String, MutexGuard<'static, ()>)> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
    };
    /// `CAP_SYS_NICE` of linux/capability.h.
    const CAP_SYS_NICE: u64 = 1 << 23;
    let capabilities = u64::from_str_radix(&field("CapEff:"), 16).unwrap();
    if capabilities & CAP_SYS_NICE == 0 {
        println!("skipped: needs CAP_SYS_NICE");
        return None;
    }
    let cpus = field("Cpus_allowed_list:");
    let cpu = cpus.split([',', '-']).next().unwrap().to_owned();
    let alone = LAB.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(refused) = WITHOUT_BUDGET.get_or_init(|| without_budget(&cpu)) {
        println!("skipped: {refused}");
        return None;
    }
    Some((cpu, alone))
}

/// The lab's message if the control group has no real-time budget.
static WITHOUT_BUDGET: OnceLock<Option<String>> = OnceLock::new();

/// Microseconds of each period that real-time threads may have: 0 for none, below 0 for all.
fn limit_us() -> i64 {
    fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap().trim().parse().unwrap()
}

/// That message, if the file that it names confirms it.
fn without_budget(cpu: &str) -> Option<String> {
    // A ratio beyond the limit is refused at once, and a missing budget even before that.
    let ratio = if limit_us() < 0 { 2 } else { 1000 };
    let slow = format!("{cpu}={ratio}");
    let ended =
        Ended::of(command(&["lab", "--slow", &slow, "--force", "--", "true"]).output().unwrap());
    let (_, rest) = ended.stderr.split_once("allows it no real-time threads: ")?;
    let file = rest.trim_end().strip_suffix(" says 0")?;
    let is_so = fs::read_to_string(file).is_ok_and(|budget| budget.trim() == "0");
    is_so.then(|| ended.stderr.trim_end().to_owned())
}

/// A command that keeps its calibrations apart from those of the user.
fn command(args: &[&str]) -> std::process::Command {
    static KEPT: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
    let mut lab = crate::command(args);
    lab.env("EVENKEEL_RUNTIME_DIR", KEPT.path());
    lab
}

fn in_folder(folder: &Path, args: &[&str]) -> std::process::Command {
    let mut lab = command(args);
    lab.env("TMPDIR", folder);
    lab
}

fn start_in(folder: &Path, args: &[&str]) -> Child {
    in_folder(folder, args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Counts the threads of a lab that was started in `folder`: of all processes that have the folder
/// in their environment.
fn threads_of(folder: &Path) -> usize {
    let mine = format!("TMPDIR={}", folder.display());
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let belongs = |process: &Path| {
        fs::read(process.join("environ"))
            .is_ok_and(|all| all.split(|&byte| byte == 0).any(|one| one == mine.as_bytes()))
    };
    let count = |process: &Path| {
        fs::read_dir(process.join("task")).map_or(0, |tasks| tasks.flatten().count())
    };
    processes.filter(|process| belongs(process)).map(|process| count(&process)).sum()
}

#[test]
fn what_cannot_be_slowed_is_refused_in_one_line() {
    for (slow, said) in [
        ("1", "expected CPUS=RATIO"),
        ("x=3", "expected CPU numbers"),
        ("0=0", "'0' is no ratio"),
        ("0=0.5", "'0.5' is no ratio"),
        ("0=-1", "'-1' is no ratio"),
        ("0=NaN", "'NaN' is no ratio"),
        ("0=2,0=3", "CPU 0 is to be slowed twice"),
        ("9999=2", "there is no CPU 9999 on this machine"),
        ("70000=2", "expected CPU numbers below"),
    ] {
        let ended = Ended::of(command(&["lab", "--slow", slow, "--", "true"]).output().unwrap());
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{slow}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(said) && ended.stderr.lines().count() == 1,
            "{slow}: {}",
            ended.stderr
        );
    }
    assert_eq!(Ended::of(command(&["lab"]).output().unwrap()).code, 2);
}

#[test]
fn a_ratio_beyond_the_budget_is_refused_in_one_line() {
    if limit_us() < 0 {
        return println!("skipped: real-time threads have no limit here");
    }
    let Some((cpu, _alone)) = slowable_cpu() else { return };
    let slow = format!("{cpu}=1000");
    let ended = Ended::of(command(&["lab", "--slow", &slow, "--", "true"]).output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{}", ended.stderr);
    let said = "cannot be 1000 times slower";
    assert!(ended.stderr.contains(said) && ended.stderr.lines().count() == 1, "{}", ended.stderr);
}

#[test]
fn an_offline_cpu_is_refused() {
    let sysfs = tempfile::tempdir().unwrap();
    let cpus = sysfs.path().join("devices/system/cpu");
    fs::create_dir_all(&cpus).unwrap();
    fs::write(cpus.join("present"), "0-7\n").unwrap();
    fs::write(cpus.join("online"), "0-5,7\n").unwrap();
    let ended = Ended::of(
        command(&["lab", "--slow", "6=2", "--", "true"])
            .env("EVENKEEL_SYSFS", sysfs.path())
            .output()
            .unwrap(),
    );
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (2, "error: CPU 6 is offline; online are 0-5,7\n")
    );
}

#[test]
fn a_command_in_the_lab_knows_its_machine_and_its_exit_code_is_passed_on() {
    let Some((cpu, _alone)) = slowable_cpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let slow = format!("{cpu}=2");
    let script = "cat \"$EVENKEEL_MACHINE\" && ls -l \"$EVENKEEL_MACHINE\" >&2 && \
                  echo \"$EVENKEEL_LAB\" >&2; exit 7";
    let ended = Ended::of(
        in_folder(folder.path(), &["lab", "--slow", &slow, "--force", "--", "sh", "-c", script])
            .output()
            .unwrap(),
    );
    assert_eq!(ended.code, 7, "{}", ended.stderr);
    let machine = machines::parse(&ended.stdout, "lab").unwrap();
    assert!(machine.kinds.iter().any(|kind| kind.name == "slow2"), "{}", ended.stdout);
    assert!(ended.stderr.contains(&format!("CPU {cpu}: asked 2, measured ")), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("-rw-------") && ended.stderr.contains(&format!("\n{cpu}=")),
        "{}",
        ended.stderr
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the machine file is gone");
}

#[test]
fn a_period_that_is_asked_for_is_taken() {
    for period in ["0s", "49us", "21ms"] {
        let refused = Ended::of(
            command(&["lab", "--slow", "0=2", "--period", period, "--", "true"]).output().unwrap(),
        );
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{}", refused.stderr);
        assert!(refused.stderr.contains("expected 50us to 20ms"), "{}", refused.stderr);
    }
    let Some((cpu, _alone)) = slowable_cpu() else { return };
    let slow = format!("{cpu}=2");
    let asked = [
        "lab",
        "--slow",
        &slow,
        "--period",
        "1ms",
        "--measure",
        "--duration",
        "100ms",
        "--json",
        "--force",
    ];
    let ended = Ended::of(command(&asked).output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let rows: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(rows[0]["period_us"], 1000.0, "{rows}");
}

#[test]
fn an_interrupt_ends_the_calibration_at_once() {
    let Some((cpu, _alone)) = slowable_cpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        // A period of its own, so that no kept calibration matches.
        let args = [
            "lab",
            "--slow",
            &format!("{cpu}=4"),
            "--recalibrate",
            "--force",
            "--",
            "sleep",
            "600",
        ];
        let mut lab = in_folder(folder.path(), &args).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(lab.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("note: calibrating CPU {cpu}: ")), "{line}");
        std::thread::sleep(Duration::from_millis(300));
        let sent = Instant::now();
        signal(&lab, name);
        assert_eq!(lab.wait().unwrap().code(), Some(code));
        assert!(sent.elapsed() < Duration::from_secs(2), "it took {:?}", sent.elapsed());
        assert_eq!(threads_of(folder.path()), 0, "no thief is left");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_calibration_is_kept_for_the_same_request() {
    let Some((cpu, _alone)) = slowable_cpu() else { return };
    let kept = tempfile::tempdir().unwrap();
    let lab = |ratio: &str, more: &[&str]| {
        let slow = format!("{cpu}={ratio}");
        let args = [&["lab", "--slow", &slow], more, &["--", "true"]].concat();
        Ended::of(command(&args).env("EVENKEEL_RUNTIME_DIR", kept.path()).output().unwrap())
    };
    let first = lab("2", &[]);
    if first.code != 0 {
        // On a busy machine a calibration out of bounds is not kept, and is repeated.
        assert!(first.stderr.contains("is not held within"), "{}", first.stderr);
        assert!(lab("2", &["--force"]).stderr.contains("note: calibrating"));
        return println!("skipped: {}", first.stderr.trim_end());
    }
    let measured = |ended: &Ended| {
        ended
            .stderr
            .lines()
            .find(|line| line.starts_with(&format!("CPU {cpu}: ")))
            .map(str::to_owned)
    };
    let second = lab("2", &[]).done();
    assert!(
        second.stderr.contains("a calibration of 0 min ago is used; --recalibrate"),
        "{}",
        second.stderr
    );
    assert_eq!(measured(&first), measured(&second));
    assert!(lab("2", &["--recalibrate", "--force"]).stderr.contains("note: calibrating"));
    assert!(lab("2.5", &["--force"]).stderr.contains("note: calibrating"));
}

#[test]
fn a_signal_for_the_lab_is_the_commands() {
    let Some((cpu, _alone)) = slowable_cpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let slow = format!("{cpu}=2");
    let script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    for (script, code) in [(script, 5), ("echo ready; exec sleep 600", 143)] {
        let mut lab =
            start_in(folder.path(), &["lab", "--slow", &slow, "--force", "--", "sh", "-c", script]);
        let mut line = String::new();
        BufReader::new(lab.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        signal(&lab, "TERM");
        assert_eq!(lab.wait().unwrap().code(), Some(code));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_killed_lab_takes_its_threads_and_its_command_along_and_the_next_clears_up() {
    let Some((cpu, _alone)) = slowable_cpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let slow = format!("{cpu}=2");
    let script = "echo ready; exec sleep 600";
    let mut lab =
        start_in(folder.path(), &["lab", "--slow", &slow, "--force", "--", "sh", "-c", script]);
    BufReader::new(lab.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    // A process that is about to execute another program has no environment for a moment.
    eventually("the lab, its thief, its command", || threads_of(folder.path()) >= 3);
    lab.kill().unwrap();
    assert_eq!(lab.wait().unwrap().signal(), Some(9));
    eventually("threads are gone", || threads_of(folder.path()) == 0);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "the killed one could not clear up"
    );
    let next = in_folder(folder.path(), &["lab", "--slow", &slow, "--force", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(next.status.code(), Some(0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn without_a_command_the_lab_holds_until_it_is_interrupted() {
    let Some((cpu, _alone)) = slowable_cpu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut lab = start_in(folder.path(), &["lab", "--slow", &format!("{cpu}=2"), "--force"]);
    let mut reader = BufReader::new(lab.stdout.take().unwrap());
    let (mut machine, mut ratios) = (String::new(), String::new());
    reader.read_line(&mut machine).unwrap();
    reader.read_line(&mut ratios).unwrap();
    let file = machine.trim_end().strip_prefix("export EVENKEEL_MACHINE=").unwrap();
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(ratios.starts_with(&format!("export EVENKEEL_LAB={cpu}=")), "{ratios}");
    let mut kinds = String::new();
    reader.read_line(&mut kinds).unwrap();
    assert!(
        kinds.starts_with("export EVENKEEL_KINDS=") && kinds.contains(&format!(":{cpu}=")),
        "{kinds}"
    );
    signal(&lab, "INT");
    assert_eq!(lab.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), fs::read_dir(folder.path()).unwrap().count()), ("", 0));
}

#[test]
fn what_was_measured_is_an_array_of_one_object_a_cpu() {
    let Some((cpu, _alone)) = slowable_cpu() else { return };
    let slow = format!("{cpu}=3");
    let args = ["lab", "--slow", &slow, "--measure", "--duration", "600ms", "--json", "--force"];
    let rows = Ended::of(command(&args).output().unwrap()).done().json();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!((rows[0]["cpu"].to_string(), &rows[0]["asked"]), (cpu, &serde_json::json!(3.0)));
    assert_eq!(rows[0]["windows"].as_array().unwrap().len(), 2);
}

#[test]
fn without_the_capability_the_lab_names_it() {
    // Runs as a user without the capability: setpriv is part of util-linux.
    if slowable_cpu().is_none() || !Path::new("/usr/bin/setpriv").exists() {
        println!("skipped: needs CAP_SYS_NICE to give it up, and setpriv");
        return;
    }
    let mut without = std::process::Command::new("/usr/bin/setpriv");
    without.args([
        "--bounding-set",
        "-sys_nice",
        "--inh-caps",
        "-sys_nice",
        env!("CARGO_BIN_EXE_evenkeel"),
    ]);
    let ended = Ended::of(without.args(["lab", "--slow", "0=2", "--", "true"]).output().unwrap());
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("CAP_SYS_NICE") && ended.stderr.contains("setcap"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

fn signal(lab: &Child, name: &str) {
    let status = std::process::Command::new("kill")
        .args([&format!("-{name}"), &lab.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}
