//! The kernel's side of sched_ext picks as the plain reference does.
//!
//! The C code that decides in the kernel (`src/bpf/queues.bpf.h`) is compiled for user space,
//! beside a kernel of a hundred lines (`kernel_side/kernel.h`). Both are asked the same questions
//! on random scenes. No root, clang or virtual machine is needed.
//!
//! Where the kernel's side differs on purpose, the scenes leave that out or the test says it:
//!
//! - of threads whose virtual times are within 1 ms it takes one that ran on the CPU before: here
//!   virtual times are 2 ms apart;
//! - an idle CPU where the thread was last comes before others of its kind;
//! - after a queue chosen by load that has no thread for the CPU, it takes the tier's queues in
//!   their order: where tiers go by load, all threads may run everywhere;
//! - it sees at most 32 threads of a queue: there are fewer;
//! - of equal keys one that has waited comes before the current thread, also from a later queue: a
//!   current thread's key is no other's, and it is not ordered by arrival;
//! - no deadline is postponed for the CPU that a thread is on: that postponement is 0;
//! - only a thread whose slice ends now counts as a guest whose turn is over: no idle CPU ran one
//!   last that waits among its guests.

#![expect(clippy::unwrap_used, reason = "a test")]

mod scene;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use evenkeel_machine::CoreId;
use evenkeel_mechanism::picking;
use evenkeel_policy::QueueId;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use scene::{Scene, State, scenes};

/// Random scenes.
const SCENES: u32 = 2_000;
/// What the reference says, as `picks.c` writes it, with the question.
fn asked(scene: &Scene) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (number, core) in scene.cores.iter().enumerate() {
        if core.state == State::Runs {
            continue;
        }
        let id = CoreId(number as u32);
        let over = core.thread.filter(|_| core.state == State::Over);
        let said = picking::pick(scene, id).map_or_else(
            || "-1 -1".to_owned(),
            |thread| {
                let queue = QueueId(scene.threads[thread.index()].queue as u32);
                let key = scene.candidate(thread.index()).key();
                let after = picking::adopted_into(scene, id, queue, key).unwrap_or(queue);
                format!("{} {}", thread.0, after.0)
            },
        );
        all.push((scene.question("pick", number, over), said));
    }
    let or_none = |core: Option<CoreId>| core.map_or("-1".to_owned(), |core| core.0.to_string());
    let waiting = (0..scene.threads.len()).filter(|&thread| scene.waits(thread));
    for number in waiting {
        let arrival = scene.candidate(number);
        let queue = QueueId(scene.threads[number].queue as u32);
        let of = &scene.queues[queue.index()];
        let last = CoreId(scene.threads[number].last_core as u32);
        let idle = picking::idle_core(scene, arrival.thread, queue, &of.prefer, Some(last));
        // Of one kind the kernel's side prefers the CPU where the thread was last.
        let kind = |core: CoreId| scene.machine.cores[core.index()].kind;
        let alone = picking::idle_core(scene, arrival.thread, queue, &[last], None);
        let idle = idle.map(|idle| alone.filter(|&last| kind(last) == kind(idle)).unwrap_or(idle));
        all.push((scene.question("idle", number, None), or_none(idle)));
        let cores = scene.machine.cores.iter().map(|core| core.id);
        let victim = picking::victim(scene, &arrival, queue, of.margin, cores);
        all.push((scene.question("victim", number, None), or_none(victim)));
    }
    all
}

/// The program that asks the kernel's side; `None`, with a line that says so, where no C compiler
/// is installed.
fn compiled(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel_side/picks.c");
    let built = folder.join("picks");
    let flags = [
        "-std=gnu11",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wno-sign-compare",
        "-Werror",
        "-Wno-unused-function",
    ];
    let done = Command::new("cc").args(flags).arg("-o").arg(&built).arg(&source).output();
    let Ok(done) = done else {
        println!("skipped: no C compiler (cc)");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(built)
}

/// The answers to all questions.
fn answers(program: &Path, questions: String) -> Vec<String> {
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(questions.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_kernels_side_picks_as_the_plain_reference_does() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path()) else { return };
    let mut runner = TestRunner::deterministic();
    let strategy = scenes();
    let scenes: Vec<Scene> =
        (0..SCENES).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let mut all = Vec::new();
    for (number, scene) in scenes.iter().enumerate() {
        all.extend(asked(scene).into_iter().map(|(question, said)| (number, question, said)));
    }
    let questions: String = all.iter().map(|(_, question, _)| question.as_str()).collect();
    let said = answers(&program, questions);
    assert_eq!(said.len(), all.len());
    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    for ((scene, question, expected), said) in all.iter().zip(&said) {
        let what = question.split(' ').next().unwrap();
        let count: &mut (u32, u32) = counts.entry(what.to_owned()).or_default();
        count.0 += 1;
        count.1 += u32::from(!said.starts_with("-1"));
        if said != expected {
            wrong.push((question.len(), *scene, question, expected, said));
        }
    }
    // Each question is answered by a thread or a core often enough for the comparison to tell.
    assert!(counts.len() == 3 && counts.values().all(|it| it.1 > 1_000), "{counts:?}");
    wrong.sort();
    if let Some((_, scene, question, expected, said)) = wrong.first() {
        let Scene { machine, cores, queues, threads, postpone, .. } = &scenes[*scene];
        panic!(
            "{} of {} wrong; {counts:?}; the shortest, on {}: expected {expected}, said {said}\n\
             {question}\n{cores:#?} {queues:?} {threads:#?} {postpone:?}",
            wrong.len(),
            all.len(),
            machine.name,
        );
    }
}
