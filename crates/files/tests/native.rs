//! Evenkeel's own workload file can hold any application, and errors of it have their place.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use evenkeel_files::machines;
use evenkeel_files::native::{looks_like_native, parse, write};
use evenkeel_files::programs::{self, Context};
use evenkeel_machine::{CoreId, Nanos, Work};
use evenkeel_model::character::GeneratedProgram;
use evenkeel_model::{
    Application, BarrierId, Channel, ChannelId, Class, ConditionId, DeviceId, GraphId, LockId,
    LoopId, MAX_LOOP_DEPTH, ParallelLoop, Phase, PhaseId, Program, ProgramId, ReferenceCore,
    Repeat, Scaling, SemaphoreId, Step, Task, TaskGraph, TaskId, ThreadSpec, TimerId, TimerMode,
};
use proptest::prelude::*;

/// How many of each object an application of [`applications`] has.
const OBJECTS: u32 = 3;

fn phases() -> impl Strategy<Value = Phase> {
    let scaling = prop_oneof![
        Just(Scaling::Capacity),
        (1.0..9.0).prop_map(Scaling::Factor),
        (0.1..9.0, 1.1..9.0)
            .prop_map(|(factor, capacity_ratio)| Scaling::MeasuredAt { factor, capacity_ratio }),
    ];
    let reference = prop_oneof![
        Just(ReferenceCore::Fastest),
        (0..9u32).prop_map(|core| ReferenceCore::Numbered(CoreId(core))),
        (1.0..1024.0).prop_map(ReferenceCore::OfCapacity),
    ];
    let reference = (reference, prop::option::of((any::<u64>(), any::<u64>())));
    (".*", scaling, 0.001..8.0, 0.0..64.0, any::<u64>(), 0.0..2.0, any::<bool>(), reference)
        .prop_map(
            |(
                name,
                scaling,
                ipc,
                bytes_per_instruction,
                working_set,
                activity,
                reference_time,
                (reference, program),
            )| Phase {
                name,
                scaling,
                ipc,
                bytes_per_instruction,
                working_set,
                activity,
                reference_time,
                reference,
                character: program.filter(|_| !reference_time).map(|(seed, number)| {
                    Box::new(GeneratedProgram::new(seed, number).phases.swap_remove(0))
                }),
            },
        )
}

fn classes() -> impl Strategy<Value = Class> {
    prop_oneof![
        Just(Class::Normal),
        Just(Class::Idle),
        (1..=99u8, any::<bool>())
            .prop_map(|(priority, round_robin)| Class::RealTime { priority, round_robin }),
        (1..1000u64, 0..1000u64, 0..1000u64).prop_map(|(runtime, more, rest)| Class::Deadline {
            runtime: Nanos(runtime),
            deadline: Nanos(runtime + more),
            period: Nanos(runtime + more + rest),
        }),
    ]
}

fn specs() -> impl Strategy<Value = ThreadSpec> {
    let affinity = prop::option::of(prop::collection::vec((0..9u32).prop_map(CoreId), 1..4));
    (
        (".*", 0..OBJECTS, any::<u32>(), -20..=19i8),
        classes(),
        affinity,
        any::<u64>(),
        0..=512u32,
        512..=1024u32,
    )
        .prop_map(
            |((name, program, group, nice), class, affinity, delay, util_min, util_max)| {
                ThreadSpec {
                    name,
                    program: ProgramId(program),
                    group,
                    nice,
                    class,
                    affinity,
                    delay: Nanos(delay),
                    util_min,
                    util_max,
                }
            },
        )
}

fn steps() -> impl Strategy<Value = Step> {
    let id = 0..OBJECTS;
    let time = || any::<u64>().prop_map(Nanos);
    let lock = || prop::option::of((0..OBJECTS).prop_map(LockId));
    let clamp = || prop::option::of(0..=1024u32);
    let leaf = prop_oneof![
        (any::<u64>(), id.clone())
            .prop_map(|(work, phase)| Step::Compute { work: Work(work), phase: PhaseId(phase) }),
        (time(), id.clone()).prop_map(|(time, phase)| Step::Busy { time, phase: PhaseId(phase) }),
        time().prop_map(Step::Sleep),
        (id.clone(), time(), any::<bool>()).prop_map(|(timer, period, absolute)| Step::Timer {
            timer: TimerId(timer),
            period,
            mode: if absolute { TimerMode::Absolute } else { TimerMode::Relative },
        }),
        (id.clone(), lock()).prop_map(|(it, lock)| Step::Wait { condition: ConditionId(it), lock }),
        (id.clone(), lock())
            .prop_map(|(it, lock)| Step::SignalAndWait { condition: ConditionId(it), lock }),
        (id.clone(), 1..9u32)
            .prop_map(|(it, senders)| Step::Close { channel: ChannelId(it), senders }),
        (id.clone(), time()).prop_map(|(it, time)| Step::Io { device: DeviceId(it), time }),
        ".*".prop_map(Step::Resume),
        classes().prop_map(Step::SetClass),
        (-20..=19i8).prop_map(Step::SetNice),
        prop::option::of(prop::collection::vec((0..9u32).prop_map(CoreId), 1..4))
            .prop_map(|cores| Step::SetAffinity(cores.map(Arc::from))),
        (clamp(), clamp()).prop_map(|(util_min, util_max)| Step::SetClamps { util_min, util_max }),
        (id, 0..17usize).prop_map(|(it, which)| match which {
            0 => Step::Barrier(BarrierId(it)),
            1 => Step::Lock(LockId(it)),
            2 => Step::Unlock(LockId(it)),
            3 => Step::Signal(ConditionId(it)),
            4 => Step::Broadcast(ConditionId(it)),
            5 => Step::SemaphorePost(SemaphoreId(it)),
            6 => Step::SemaphoreWait(SemaphoreId(it)),
            7 => Step::Send(ChannelId(it)),
            8 => Step::Receive(ChannelId(it)),
            9 => Step::Fork(it),
            10 => Step::JoinAll,
            11 => Step::Suspend,
            12 => Step::Yield,
            13 => Step::ParallelFor(LoopId(it)),
            14 => Step::RunTasks(GraphId(it)),
            15 => Step::Milestone,
            _ => Step::Loop { times: None, body: vec![Step::Suspend] },
        }),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        (1..u64::MAX, prop::collection::vec(inner, 0..4))
            .prop_map(|(times, body)| Step::Loop { times: Some(times), body })
    })
}

fn graphs() -> impl Strategy<Value = Arc<TaskGraph>> {
    let tasks = prop::collection::vec((any::<u64>(), 0..OBJECTS), 1..6);
    let edges = prop::collection::vec((0..6u32, 0..6u32, any::<u64>()), 0..9);
    (tasks, edges, any::<bool>(), any::<u64>(), any::<u64>()).prop_map(
        |(tasks, edges, volumes, create, take)| {
            let count = tasks.len() as u32;
            let tasks = tasks
                .into_iter()
                .map(|(work, phase)| Task { work: Work(work), phase: PhaseId(phase) });
            let edges = edges.into_iter().filter(|(from, to, _)| from < to && *to < count);
            let edges = edges.map(|(from, to, bytes)| (TaskId(from), TaskId(to), bytes));
            let mut graph = if volumes {
                TaskGraph::with_volumes(tasks.collect(), edges.collect()).unwrap()
            } else {
                TaskGraph::new(tasks.collect(), edges.map(|(from, to, _)| (from, to)).collect())
                    .unwrap()
            };
            (graph.create_cost, graph.take_cost) = (Work(create), Work(take));
            Arc::new(graph)
        },
    )
}

fn applications() -> impl Strategy<Value = Application> {
    const N: usize = OBJECTS as usize;
    let parallel = (any::<u64>(), any::<u64>(), 0..OBJECTS, 1..9u32, ".*", any::<u64>()).prop_map(
        |(iterations, work, phase, workers, schedule, take)| ParallelLoop {
            iterations,
            work: Work(work),
            phase: PhaseId(phase),
            workers,
            schedule,
            take_cost: Work(take),
        },
    );
    let bodies = prop::collection::vec(prop::collection::vec(steps(), 0..8), N);
    let threads = (prop::collection::vec(specs(), 0..4), prop::collection::vec(specs(), N));
    let shared = (prop::collection::vec(parallel, N), prop::collection::vec(graphs(), N));
    let numbers = (prop::collection::vec(1..9u32, N), prop::collection::vec(any::<u32>(), N));
    let ends = (prop::option::of(any::<u32>()), prop::option::of(any::<u64>()));
    (
        ".*",
        prop::collection::vec(phases(), N),
        bodies,
        threads,
        shared,
        numbers,
        ends,
        prop::collection::vec(".*", 0..3),
    )
        .prop_map(
            |(
                name,
                phases,
                bodies,
                (threads, templates),
                (loops, graphs),
                (counts, semaphores),
                ends,
                notes,
            )| {
                Application {
                    name,
                    phases,
                    programs: bodies.into_iter().map(|steps| Program { steps }).collect(),
                    threads,
                    templates,
                    barriers: counts.clone(),
                    locks: OBJECTS,
                    conditions: OBJECTS,
                    semaphores,
                    channels: counts
                        .iter()
                        .map(|&n| Channel { capacity: n, synchronous: n % 2 == 0 })
                        .collect(),
                    timers: 1,
                    private_timers: OBJECTS - 1,
                    devices: OBJECTS,
                    loops,
                    graphs,
                    repeat: ends.0.map_or(Repeat::Once, Repeat::UntilLongestEnded),
                    duration: ends.1.map(Nanos),
                    notes,
                }
            },
        )
}

proptest! {
    #[test]
    fn any_application_is_the_same_after_it_was_written_and_read(
        apps in prop::collection::vec(applications(), 1..3)
    ) {
        let text = write(&apps).unwrap();
        prop_assert!(looks_like_native(text.as_bytes()));
        prop_assert_eq!(parse(text.as_bytes(), "w.json").unwrap(), apps);
    }

    #[test]
    fn any_text_is_read_or_refused_in_one_line(text in r#"\{?[ -~\n]{0,80}"#) {
        if let Err(error) = parse(text.as_bytes(), "w.json") {
            prop_assert!(!error.to_string().contains('\n') && error.to_string().starts_with("w.json:"), "{error}");
        }
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_read_or_refused(app in applications(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = write(&[app]).unwrap().into_bytes();
        let at = at.index(bytes.len());
        let _ = parse(&bytes[..at], "w.json");
        bytes[at] = byte;
        if let Ok(apps) = parse(&bytes, "w.json") {
            prop_assert!(apps.iter().all(|app| app.validate().is_ok()));
        }
    }
}

fn said(text: &str) -> String {
    parse(text.as_bytes(), "w.json").unwrap_err().to_string()
}

#[test]
fn everything_built_in_can_be_said() {
    let machine = machines::preset("odroid-xu3-paper").unwrap();
    for info in programs::list() {
        let apps =
            programs::load(info.name, &Context { size: 0.01, ..Context::new(&machine) }).unwrap();
        assert_eq!(
            parse(write(&apps).unwrap().as_bytes(), "w.json").unwrap(),
            apps,
            "{}",
            info.name
        );
    }
}

#[test]
fn a_fault_is_told_with_its_place() {
    assert!(said("{").starts_with("w.json:1:1: EOF while parsing"), "{}", said("{"));
    let head = "{\"format\": \"evenkeel.workload/1\",\n \"applications\": ";
    let app = |rest: &str| {
        format!(
            "{head}[{{\"name\": \"a\", \"phases\": \
             [{{\"name\": \"p\", \"scaling\": \"capacity\"}}],\n{rest}}}]}}"
        )
    };
    assert_eq!(said(&format!("{head}[]}}")), "w.json: no applications, expected at least one");
    let unknown = said(&app("\"programs\": [[{\"barier\": 0}]], \"threads\": []"));
    assert!(
        unknown.starts_with("w.json:3:23: unknown variant `barier`, expected one of"),
        "{unknown}"
    );
    let index = said(&app("\"programs\": [[\"join_all\", {\"barrier\": 7}]], \"threads\": []"));
    assert_eq!(
        index,
        "w.json: applications[0]: application 'a': program 0, step 1: barrier 7 of 0"
    );
    let graph = said(&app("\"programs\": [], \"threads\": [], \"graphs\": \
         [{\"tasks\": [{\"work\": 1}], \"edges\": [[0, 0]]}]"));
    assert!(graph.starts_with("w.json: applications[0].graphs[0]: edge 0 -> 0"), "{graph}");
    let channel =
        said(&app(r#""programs": [], "threads": [], "channels": [8, {"pipe": 8, "capcity": 3}]"#));
    assert!(
        channel.ends_with(r#"something else found, expected a capacity, as 8, or {"pipe": 8}"#),
        "{channel}"
    );
}

#[test]
fn another_version_is_named() {
    let text = "{\"format\": \"evenkeel.workload/2\", \"applications\": {}}";
    assert!(looks_like_native(text.as_bytes()));
    assert_eq!(
        said(text),
        "w.json: format 'evenkeel.workload/2' found, expected 'evenkeel.workload/1'"
    );
    assert!(
        !looks_like_native(b"{\"tasks\": {}}")
            && !looks_like_native(b"[\"format\"]")
            && !looks_like_native(b"\xff")
    );
}

#[test]
fn loops_nest_as_deep_as_programs_may_and_no_deeper() {
    let nested = |levels: usize| {
        let body = vec![Step::Compute { work: Work(1), phase: PhaseId(0) }];
        let steps = (0..levels).fold(body, |body, _| vec![Step::Loop { times: Some(2), body }]);
        Application {
            phases: vec![Phase::new("p", Scaling::Capacity)],
            programs: vec![Program { steps }],
            ..Application::default()
        }
    };
    let deepest = nested(MAX_LOOP_DEPTH);
    assert_eq!(
        parse(write(std::slice::from_ref(&deepest)).unwrap().as_bytes(), "w").unwrap(),
        [deepest]
    );
    let too_deep = write(&[nested(MAX_LOOP_DEPTH + 1)]).unwrap();
    assert!(parse(too_deep.as_bytes(), "w.json").is_err());
    let far_too_deep = said(&"[".repeat(1_000_000));
    assert!(far_too_deep.contains("nested deeper than"), "{far_too_deep}");
}

#[test]
fn volumes_that_are_not_one_for_each_edge_are_refused() {
    let graph = r#"{"tasks": [{"work": 1}, {"work": 1}], "edges": [[0, 1]], "volumes": [1, 2]}"#;
    let app = format!(
        r#"{{"name": "x", "phases": [{{"name": "p", "scaling": "capacity"}}], "programs": [], "threads": [], "graphs": [{graph}]}}"#
    );
    let text = format!(r#"{{"format": "evenkeel.workload/1", "applications": [{app}]}}"#);
    let error = parse(text.as_bytes(), "x.json").unwrap_err().to_string();
    assert_eq!(
        error,
        "x.json: applications[0]: graphs[0]: 2 volumes found, expected 1, one for each edge"
    );
}

#[test]
fn a_character_that_cannot_be_is_named_with_its_place() {
    let character = r#"{"parallelism": {"coefficient": 1.3, "exponent": 0.5}, "latency": 2.0,
        "branches": 0.2, "branch_misses": 0.05, "data_misses": [[32768, 20.0], [1048576, 2.0]],
        "memory_parallelism": 1.5}"#;
    let parsed = |character: &str| {
        let phase =
            format!(r#"{{"name": "p", "scaling": {{"factor": 2.0}}, "character": {character}}}"#);
        let text = format!(
            r#"{{"format": "evenkeel.workload/1", "applications": [{{"name": "x",
            "phases": [{phase}], "programs": [], "threads": []}}]}}"#
        );
        parse(text.as_bytes(), "x.json").map_err(|error| error.to_string())
    };
    let app = parsed(character).unwrap().remove(0);
    let on = |name: &str| app.phases[0].speedup_factor(&machines::preset(name).unwrap());
    // Told by how the kinds are built, where they say so.
    assert_eq!(on("pixel6"), 2.0);
    assert!((on("odroid-xu3") - 2.0).abs() > 0.1, "{}", on("odroid-xu3"));
    let said = |from: &str, to: &str| parsed(&character.replace(from, to)).unwrap_err();
    assert_eq!(
        said("2.0]]", "200.0]]"),
        "x.json: applications[0]: phases[0].character.data_misses: 200 misses per 1,000 \
         instructions at 1048576 bytes, expected 0 to 20"
    );
    let latency = said("\"latency\": 2.0", "\"latency\": 0.5");
    assert!(latency.ends_with("character: latency 0.5 found, expected 1 to 1000"), "{latency}");
}
