//! What is simulated is what runs: one graph, by the same policies' code in the simulator and in
//! the runtime. How much of it the fast core does is compared. Tasks sleep for as long as the
//! simulator has them take on the kind of core that they are on.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_files::machines;
use evenkeel_machine::Work;
use evenkeel_model::{
    Application, GraphId, Phase, PhaseId, Program, ProgramId, Scaling, Step, Task, TaskGraph,
    TaskId, ThreadSpec,
};
use evenkeel_policy::{graph, registry};
use evenkeel_runtime::Handle;
use evenkeel_sim::{Config, NoListener};
use support::{MACHINE, by_kind, here, sleep_by_kind};

/// A task on the fast core, and on the slow one: in the ratio of the machine's capacities.
const MICROS: [u64; 2] = [4_000, 20_000];
const TASKS: u32 = 60;
/// Shares may differ by so much: sleeping takes somewhat longer than asked for, and what a slow
/// core begins or leaves at the start or the end is worth five tasks of the fast one.
const TOLERANCE: f64 = 0.12;

/// Of a task, the one that it waits for.
type Shape = fn(u32) -> Option<u32>;

/// Ten chains of six: there is something for both cores at any time, so chance does not decide the
/// shares.
const CHAINS: Shape = |task| task.checked_sub(10);

/// A root, a path of 20 from it, and 39 that wait for the root alone, created before the path: the
/// sooner the path is done, the better.
const PATH: Shape = |task| match task {
    0 => None,
    41.. => Some(task - 1),
    _ => Some(0),
};

/// Part of the tasks that the fast core does in the simulator.
fn simulated(policy: &str, shape: Shape) -> f64 {
    let machine = machines::parse(MACHINE, "two-kinds.toml").unwrap().with_free_costs();
    let tasks = vec![Task { work: Work(1_000_000), phase: PhaseId(0) }; TASKS as usize];
    let edges = (0..TASKS).filter_map(|task| Some((TaskId(shape(task)?), TaskId(task))));
    let app = Application {
        name: "graph".into(),
        phases: vec![Phase::new("work", Scaling::Capacity)],
        programs: vec![Program { steps: vec![Step::RunTasks(GraphId(0))] }],
        threads: (0..2).map(|i| ThreadSpec::new(format!("t{i}"), ProgramId(0))).collect(),
        graphs: vec![Arc::new(TaskGraph::new(tasks, edges.collect()).unwrap())],
        ..Application::default()
    };
    let config = Config { graph_policy: policy.into(), ..Config::default() };
    let mut pinned = registry::make("pinned", &[]).unwrap();
    let outcome =
        evenkeel_sim::run(&machine, &[app], pinned.as_mut(), &config, &mut NoListener).unwrap();
    // Tasks are alike: their work tells how many.
    let retired: Vec<_> = outcome.threads.iter().map(|thread| thread.retired.0 as f64).collect();
    retired[0] / (retired[0] + retired[1])
}

/// The median of three: other work on this machine holds up one run or another.
fn median(run: impl FnMut() -> f64) -> f64 {
    let mut three: Vec<_> = std::iter::repeat_with(run).take(3).collect();
    three.sort_by(f64::total_cmp);
    three[1]
}

/// Part of them that the fast core does here, of a recorded graph. What tasks cost is said, not
/// learnt: what is planned does not depend on what else the machine does.
fn run(policy: &str, shape: Shape) -> f64 {
    let (pool, on_fast) = (by_kind("steal-kind", false), AtomicUsize::new(0));
    let handles: Vec<_> = (0..TASKS).map(|_| Handle::new()).collect();
    let graph = pool.record_with(policy, |g| {
        for task in 0..TASKS {
            let it = shape(task)
                .into_iter()
                .fold(g.task(), |it, before| it.reads(&handles[before as usize]));
            let it = it.writes(&handles[task as usize]).cost(Duration::from_micros(MICROS[0]));
            it.run(|| {
                on_fast.fetch_add(usize::from(here() == 0), Ordering::Relaxed);
                sleep_by_kind(&MICROS);
            });
        }
    });
    graph.unwrap().run();
    on_fast.into_inner() as f64 / f64::from(TASKS)
}

/// The same of tasks as they come, the second time: the first their costs are learnt.
fn run_as_they_come(policy: &str, shape: Shape) -> f64 {
    let (pool, on_fast) = (by_kind(policy, false), AtomicUsize::new(0));
    let handles: Vec<_> = (0..TASKS).map(|_| Handle::new()).collect();
    for _ in 0..2 {
        on_fast.store(0, Ordering::Relaxed);
        pool.scope(|s| {
            for task in 0..TASKS {
                let it = shape(task)
                    .into_iter()
                    .fold(s.task(), |it, before| it.reads(&handles[before as usize]));
                it.writes(&handles[task as usize]).label("task").run(|| {
                    on_fast.fetch_add(usize::from(here() == 0), Ordering::Relaxed);
                    sleep_by_kind(&MICROS);
                });
            }
        });
    }
    on_fast.into_inner() as f64 / f64::from(TASKS)
}

/// By policy, simulated and run.
fn compare(
    policies: impl Iterator<Item = &'static str>,
    shape: Shape,
) -> Vec<(&'static str, f64, f64)> {
    let shares: Vec<_> = policies
        .map(|policy| (policy, simulated(policy, shape), median(|| run(policy, shape))))
        .collect();
    let differ = |&&(_, simulated, run): &&(&str, f64, f64)| (simulated - run).abs() > TOLERANCE;
    let different: Vec<_> = shares.iter().filter(differ).collect();
    assert!(different.is_empty(), "policy, simulated, run: {different:?} of {shares:?}");
    shares
}

#[test]
fn the_fast_core_does_as_much_of_a_graph_as_in_the_simulator_under_every_policy() {
    compare(graph::names(), CHAINS);
}

#[test]
fn so_it_does_of_a_graph_with_a_path_that_chance_does_not_assign() {
    let shares = compare(graph::names().filter(|name| !name.starts_with("steal")), PATH);
    // What is compared is not the same for all.
    let of = |name| shares.iter().find(|(policy, ..)| *policy == name).unwrap().2;
    assert!(of("lmt") < of("heft"), "{shares:?}");
}

#[test]
fn so_it_does_of_tasks_as_they_come() {
    for (policy, shape) in [
        ("fifo", CHAINS),
        ("steal", CHAINS),
        ("steal-kind", CHAINS),
        ("cats", CHAINS),
        ("cats", PATH),
    ] {
        let (simulated, run) =
            (simulated(policy, shape), median(|| run_as_they_come(policy, shape)));
        assert!((simulated - run).abs() <= TOLERANCE, "{policy}: {simulated} simulated, {run} run");
    }
}
