//! Claims that the manual (docs/simulate/rt-app.md) makes about rt-app files.

use evenkeel_files::rtapp;
use evenkeel_machine::{CoreId, Nanos, Work};
use evenkeel_model::{
    Application, Class, ConditionId, PhaseId, ReferenceCore, Step, TimerId, TimerMode,
};

fn read(text: &str) -> Application {
    let app = rtapp::parse(text, "dir/file.json").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(app.validate(), Ok(()));
    app
}

/// The application of one task, and its program.
fn task(body: &str) -> (Application, Vec<Step>) {
    let app = read(&format!("{{\"tasks\": {{\"t\": {{{body}}}}}}}"));
    let steps = app.programs[0].steps.clone();
    (app, steps)
}

fn run(us: u64) -> Step {
    Step::Compute { work: Work(us * 1000), phase: PhaseId(0) }
}

fn endless(body: Vec<Step>) -> Vec<Step> {
    vec![Step::Loop { times: None, body }]
}

#[test]
fn a_run_is_work_in_time_of_the_fastest_core_and_a_runtime_is_time() {
    let (app, steps) = task("'loop': 1, 'run': 10000, 'runtime': 10000");
    assert_eq!(
        steps,
        [run(10_000), Step::Busy { time: Nanos::from_millis(10), phase: PhaseId(0) }]
    );
    assert!(app.phases[0].reference_time);
    assert_eq!(app.phases[0].reference, ReferenceCore::Fastest);
}

#[test]
fn a_file_that_never_computes_has_a_phase_all_the_same() {
    assert_eq!(task("'loop': 1, 'sleep': 5").0.phases.len(), 1);
}

#[test]
fn the_application_is_named_after_the_file_and_its_threads_as_rt_app_does() {
    let app = read("{'tasks': {'a': {'instance': 2, 'run': 1}, 'b': {'run': 1}}}");
    let names: Vec<&str> = app.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!((app.name.as_str(), names), ("file", vec!["a-0", "a-1", "b-2"]));
    assert_eq!(app.threads.iter().map(|thread| thread.group).collect::<Vec<_>>(), [0, 0, 1]);
}

#[test]
fn a_task_loops_for_ever_unless_told_and_a_phase_runs_once() {
    assert_eq!(task("'run': 1").1, endless(vec![run(1)]));
    assert_eq!(task("'loop': 3, 'run': 1").1, [Step::Loop { times: Some(3), body: vec![run(1)] }]);
    assert_eq!(task("'loop': -1, 'phases': {'p': {'run': 1}}").1, endless(vec![run(1)]));
    assert_eq!(task("'loop': 0, 'phases': {'p': {'run': 1}}").1, []);
    let (_, steps) =
        task("'loop': 1, 'phases': {'p': {'loop': 0, 'run': 1}, 'q': {'loop': 2, 'run': 2}}");
    assert_eq!(steps[0], endless(vec![run(1)])[0]);
    assert_eq!(steps[1], Step::Loop { times: Some(2), body: vec![run(2)] });
}

#[test]
fn a_run_without_an_end_is_noted() {
    assert!(task("'run': 1").0.notes.iter().any(|note| note.contains("loops for ever")));
    assert!(task("'loop': 1, 'run': 1").0.notes.is_empty());
    assert!(read("{'tasks': {'t': {'run': 1}}, 'global': {'duration': 2}}").notes.is_empty());
}

#[test]
fn the_duration_is_in_seconds_and_minus_one_is_none() {
    let duration = |value: &str| {
        read(&format!(
            "{{'global': {{'duration': {value}}}, 'tasks': {{'t': {{'loop': 1, 'run': 1}}}}}}"
        ))
        .duration
    };
    assert_eq!(duration("6"), Some(Nanos::from_secs(6)));
    assert_eq!((duration("-1"), duration("0")), (None, None));
}

#[test]
fn a_calibration_names_the_core_whose_time_is_meant() {
    let core = |value: &str| {
        let text = format!(
            "{{'global': {{'calibration': {value}}}, 'tasks': {{'t': {{'loop': 1, 'run': 1}}}}}}"
        );
        read(&text).phases[0].reference
    };
    assert_eq!(core("'CPU5'"), ReferenceCore::Numbered(CoreId(5)));
    assert_eq!(core("265"), ReferenceCore::Fastest);
    assert!(
        rtapp::parse("{'global': {'calibration': 'five'}, 'tasks': {'t': {'run': 1}}}", "x")
            .is_err()
    );
}

#[test]
fn barrier_participants_are_the_instances_of_the_tasks_that_name_it() {
    let app = read(
        "{'tasks': {'a': {'instance': 3, 'run': 1, 'barrier': 'b'}, 'c': {'run': 1, 'barrier2': 'b'}, \
         'd': {'instance': 0, 'run': 1, 'barrier': 'b'}}}",
    );
    assert_eq!(app.barriers, [4]);
    let (twice, _) = task("'instance': 2, 'barrier': 'b', 'run': 1, 'barrier': 'b'");
    assert_eq!(twice.barriers, [2]);
    assert!(twice.notes.iter().any(|note| note.starts_with("barrier named more than once")));
}

#[test]
fn unique_timers_are_a_threads_own_and_others_are_shared() {
    let timer = |steps: &[Step]| match steps {
        [Step::Loop { body, .. }] => body.iter().find_map(|step| match step {
            Step::Timer { timer, mode, .. } => Some((*timer, *mode)),
            _ => None,
        }),
        _ => None,
    };
    let app = read(
        "{'tasks': {'a': {'run': 1, 'timer': {'ref': 'x', 'period': 5}}, \
         'b': {'run': 1, 'timer': {'ref': 'unique2', 'period': 5, 'mode': 'absolute'}}, \
         'c': {'run': 1, 'timer': {'ref': 'x', 'period': 5, 'mode': 'absolute'}}, \
         'd': {'run': 1, 'timer': {'ref': 'unique2', 'period': 5}}}}",
    );
    assert_eq!((app.timers, app.private_timers), (1, 1));
    let timers: Vec<_> = app.programs.iter().filter_map(|program| timer(&program.steps)).collect();
    let (shared, own) = (TimerId(0), TimerId(1));
    let (relative, absolute) = (TimerMode::Relative, TimerMode::Absolute);
    assert_eq!(timers, [(shared, absolute), (own, absolute), (shared, absolute), (own, relative)]);
}

#[test]
fn suspend_and_resume_meet_at_a_name_whichever_task_uses_it() {
    let app = read(
        "{'tasks': {'a': {'instance': 2, 'suspend', 'run': 1}, 'b': {'suspend': 'a', 'run': 1}, \
         'c': {'resume': 'a', 'run': 1}}}",
    );
    let condition = ConditionId(0);
    assert_eq!(app.programs[0].steps, endless(vec![Step::Wait { condition, lock: None }, run(1)]));
    assert_eq!(app.programs[1].steps, app.programs[0].steps);
    assert_eq!(app.programs[2].steps, endless(vec![Step::Broadcast(condition), run(1)]));
}

#[test]
fn a_wait_without_its_mutex_takes_it() {
    let (_, steps) = task(
        "'loop': 1, 'sync': {'ref': 'c', 'mutex': 'm'}, 'lock': 'm', 'wait': \
         {'ref': 'c', 'mutex': 'm'}",
    );
    assert!(matches!(
        steps[..],
        [
            Step::Lock(_),
            Step::SignalAndWait { .. },
            Step::Unlock(_),
            Step::Lock(_),
            Step::Wait { lock: Some(_), .. }
        ]
    ));
}

#[test]
fn a_forked_task_is_a_template_and_starts_only_when_forked() {
    let app = read(
        "{'tasks': {'p': {'loop': 2, 'run': 1, 'fork': 'c', 'fork': 'd'}, 'c': {'instance': 0, 'loop': 1, 'run': 1}, 'd': {'loop': 1, 'run': 2}}}",
    );
    assert_eq!(
        app.threads.iter().map(|thread| thread.name.as_str()).collect::<Vec<_>>(),
        ["p-0", "d-1"]
    );
    assert_eq!(
        app.templates.iter().map(|thread| thread.name.as_str()).collect::<Vec<_>>(),
        ["c", "d"]
    );
    assert!(app.notes.is_empty());
    let unused = read("{'tasks': {'p': {'loop': 1, 'run': 1}, 'c': {'instance': 0, 'run': 1}}}");
    assert_eq!(unused.notes, ["a task of instance 0 that nothing forks: it never runs"]);
}

#[test]
fn priorities_default_by_policy() {
    let thread = |body: &str| task(&format!("{body}, 'loop': 1, 'run': 1")).0.threads[0].clone();
    assert_eq!(thread("'policy': 'SCHED_OTHER'").nice, 0);
    assert_eq!(thread("'priority': -19").nice, -19);
    assert_eq!(
        thread("'policy': 'SCHED_FIFO'").class,
        Class::RealTime { priority: 10, round_robin: false }
    );
    assert_eq!(
        thread("'policy': 'SCHED_RR', 'priority': 7").class,
        Class::RealTime { priority: 7, round_robin: true }
    );
    assert_eq!(thread("'policy': 'SCHED_IDLE'").class, Class::Idle);
    let us = Nanos::from_micros;
    let budget = Class::Deadline { runtime: us(5), period: us(5), deadline: us(5) };
    assert_eq!(thread("'policy': 'SCHED_DEADLINE', 'dl-runtime': 5").class, budget);
}

#[test]
fn a_phases_parameters_are_set_when_it_begins() {
    let (app, steps) = task(
        "'loop': 1, 'cpus': [4], 'phases': {'p': {'cpus': [1, 0, 1], 'run': 1}, \
         'q': {'policy': 'SCHED_FIFO', 'util_max': 500, 'run': 1}, 'r': {'priority': 3, 'run': 1}}",
    );
    let on =
        |cores: &[u32]| Step::SetAffinity(Some(cores.iter().map(|&core| CoreId(core)).collect()));
    let fifo = |priority| Step::SetClass(Class::RealTime { priority, round_robin: false });
    let clamps = Step::SetClamps { util_min: None, util_max: Some(500) };
    let expected =
        [on(&[0, 1]), run(1), on(&[4]), fifo(10), clamps, run(1), on(&[4]), fifo(3), run(1)];
    assert_eq!(steps, expected);
    assert_eq!(app.threads[0].affinity, Some(vec![CoreId(0), CoreId(1)]));
}

#[test]
fn output_to_nowhere_is_work_and_to_a_device_is_a_request() {
    let io = |device: &str| {
        let text =
            format!("{{'global': {{{device}}}, 'tasks': {{'t': {{'loop': 1, 'iorun': 1000}}}}}}");
        let app = read(&text);
        (app.devices, app.programs[0].steps[0].clone())
    };
    assert!(matches!(io(""), (0, Step::Compute { work: Work(rtapp::NULL_WRITE_NS), .. })));
    let time = Nanos(1000 * rtapp::DEVICE_NS_PER_BYTE);
    assert!(
        matches!(io("'io_device': '/tmp/x'"), (1, Step::Io { time: found, .. }) if found == time)
    );
}

#[test]
fn rt_app_files_are_told_from_other_json() {
    assert!(rtapp::looks_like_rtapp("/* c */ {\"global\": {}, \"tasks\": {\"t\": oops"));
    assert!(!rtapp::looks_like_rtapp("{\"workflow\": {\"specification\": {\"tasks\": []}}}"));
    assert!(!rtapp::looks_like_rtapp("digraph { a -> b }"));
    assert!(!rtapp::looks_like_rtapp(b"\x7fELF\0"));
}
