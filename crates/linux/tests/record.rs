//! Real programs are recorded, and what was found in them is what they do. Needs a C compiler and
//! the privilege to record.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/programs.rs"]
mod programs;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use evenkeel_files::recorded::{Fact, Places, Recorded, What, infer};
use evenkeel_linux::record::{RecordError, Recording, cpus, record};
use tempfile::TempDir;

/// Work may differ from the CPU time that the program itself reports by this part: what it does
/// before it begins (exec) and after it has looked is recorded and not reported.
const BOUND: f64 = 0.1;

/// Records a command; `None`, and says so, where that is not allowed.
fn recorded(command: Command) -> Option<Recording> {
    match record(command, None) {
        Ok(recording) => Some(recording),
        Err(error @ RecordError::Refused { .. }) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Keeps every CPU from going idle for as long as it lives. The CPU time that a thread is said to
/// have had is no measure of what it did after its CPU was idle: a virtual CPU takes its time to
/// wake up, and the kernel charges that to the thread (seen: half a millisecond at a time, 13 % of
/// a program that blocks often).
struct Awake(Child);

impl Awake {
    fn start(program: &Path) -> Self {
        Self(Command::new(program).arg("awake").spawn().unwrap())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Seconds in which a virtual machine's CPUs were taken from it until now: on a core as far as
/// anybody sees, and not CPU time.
fn stolen() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let ticks: f64 = stat
        .lines()
        .next()
        .unwrap()
        .split_whitespace()
        .nth(8)
        .map_or(0.0, |ticks| ticks.parse().unwrap());
    ticks / rustix::param::clock_ticks_per_second() as f64
}

/// Times that a program is recorded at most until nothing is lost and its work is right. Whether
/// the kernel has room for all that the machine does depends on how long others keep us from
/// reading it. And the host may hold a virtual machine up in the middle of a switch or of an exec,
/// where it shows as CPU time alone (seen: once in 75 recordings, 20 ms). What is wrong with the
/// recorder shows every time.
const ATTEMPTS: u32 = 3;

/// What a program of ours did. Its work is as much as the CPU time that the program says it took,
/// or at most as that with what was stolen meanwhile.
fn of(what: &str, rounds: u32) -> Option<Recorded> {
    let folder = TempDir::new().unwrap();
    let program = programs::compiled("threads", folder.path())?;
    let report = folder.path().join("report");
    let _awake = Awake::start(&program);
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let stdout = Stdio::from(std::fs::File::create(&report).unwrap());
        let mut command = Command::new(&program);
        command.args([what, "1", &rounds.to_string()]).stdout(stdout);
        let before = stolen();
        let recording = recorded(command)?;
        assert!(recording.status.success());
        let said: f64 = std::fs::read_to_string(&report).unwrap().trim().parse().unwrap();
        let most = said + stolen() - before;
        let lost = recording.lost;
        let recorded = infer(recording.facts, &Places::unknown(&cpus().unwrap()), &recording.name);
        let work = recorded.summary.work_ns as f64 / 1e9;
        if lost == 0 && (said * (1.0 - BOUND)..=most * (1.0 + BOUND)).contains(&work) {
            return Some(recorded);
        }
        seen.push((work, said, most, lost));
    }
    panic!(
        "{what}: work, CPU time, and that with what was stolen, in seconds; and events lost: \
         {seen:?}"
    );
}

#[test]
fn four_threads_at_a_barrier_are_four_threads_at_a_barrier() {
    let Some(recorded) = of("four", 40) else { return };
    let found = recorded.summary;
    assert_eq!((found.threads, found.forks, recorded.application.name.as_str()), (5, 4, "threads"));
    assert!(recorded.application.barriers.contains(&4), "{found:?}");
    assert!(found.meetings >= 30 && found.meetings <= 45, "{found:?}");
}

#[test]
fn threads_that_only_compute_meet_at_their_end() {
    let Some(recorded) = of("compute", 100) else { return };
    assert_eq!((recorded.summary.threads, recorded.application.barriers.len()), (3, 0));
}

#[test]
fn a_lock_and_queues_are_wake_ups_by_others() {
    for (what, threads) in [("lock", 3), ("pipeline", 4)] {
        // Long enough that starting the program, which is CPU time but none of its threads' work,
        // does not count.
        let Some(recorded) = of(what, 600) else { return };
        assert_eq!(recorded.summary.threads, threads);
        assert!(
            recorded.summary.wakes > 0 && recorded.summary.semaphores > 0,
            "{what}: {:?}",
            recorded.summary
        );
    }
}

#[test]
fn threads_that_are_pinned_are_pinned_in_the_workload() {
    let Some(recorded) = of("compute", 200) else { return };
    if cpus().unwrap().len() < 2 {
        return println!("skipped: one CPU only");
    }
    let pinned = recorded
        .application
        .templates
        .iter()
        .filter(|it| it.affinity.as_ref().is_some_and(|it| it.len() == 1));
    assert_eq!(pinned.count(), 2);
}

#[test]
fn a_script_is_followed_through_its_processes_and_its_exit_code_is_told() {
    let script = "true & sleep 0.02 | cat; wait; exit 7";
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let Some(recording) = recorded(command) else { return };
    assert_eq!(recording.status.code(), Some(7));
    let began =
        recording.facts.iter().filter(|fact| matches!(fact.what, What::Began { .. })).count();
    let named = |name: &str| {
        recording.facts.iter().any(|Fact { what, .. }| *what == What::Named(name.into()))
    };
    assert!(began >= 4 && named("sleep") && named("cat"), "{began} began");
    let recorded = infer(recording.facts, &Places::default(), &recording.name);
    assert_eq!(recorded.application.validate(), Ok(()));
    assert!(recorded.summary.sleeps >= 1);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    match record(Command::new("/nowhere/program"), None) {
        Err(RecordError::Refused { .. }) => println!("skipped: recording is not allowed"),
        other => {
            assert!(other.unwrap_err().to_string().starts_with("cannot start /nowhere/program: "))
        }
    }
}
