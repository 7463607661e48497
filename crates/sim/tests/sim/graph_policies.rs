//! Task graphs and loops under their policies in the simulator: everything is done, nothing hangs
//! whatever the operating system's policy, and schedules come out as planned where nothing disturbs
//! them.

use std::sync::Arc;

use crate::support::{free_odroid, policy};
use evenkeel_machine::{Machine, Nanos, Work};
use evenkeel_model::{
    Application, BarrierId, GraphId, LoopId, ParallelLoop, Phase, PhaseId, Program, ProgramId,
    Scaling, Step, Task, TaskGraph, TaskId, ThreadSpec,
};
use evenkeel_policy::graph::bound::Bound;
use evenkeel_policy::graph::{self, Family, Situation, Team};
use evenkeel_sim::{Config, NoListener, Outcome};
use proptest::prelude::*;

/// A graph of tasks of so much work for so many threads.
fn tasks(threads: u32, work: &[u64], edges: &[(u32, u32)], create: u64) -> Application {
    let tasks = work.iter().map(|&work| Task { work: Work(work), phase: PhaseId(0) }).collect();
    let edges =
        edges.iter().filter(|(from, to)| from < to).map(|&(from, to)| (TaskId(from), TaskId(to)));
    let mut graph = TaskGraph::new(tasks, edges.collect()).unwrap();
    graph.create_cost = Work(create);
    Application {
        name: "graph".into(),
        phases: vec![Phase::new("work", Scaling::Factor(4.0))],
        programs: vec![Program { steps: vec![Step::RunTasks(GraphId(0))] }],
        threads: (0..threads).map(|i| ThreadSpec::new(format!("t{i}"), ProgramId(0))).collect(),
        graphs: vec![Arc::new(graph)],
        ..Application::default()
    }
}

fn run(machine: &Machine, app: &Application, os: &str, graph: &str) -> Outcome {
    run_over(None, machine, app, os, graph)
}

/// The same, over links of so many bytes per nanosecond.
fn run_over(
    link: Option<f64>,
    machine: &Machine,
    app: &Application,
    os: &str,
    graph: &str,
) -> Outcome {
    let config = Config { graph_policy: graph.into(), link, ..Config::default() };
    evenkeel_sim::run(
        machine,
        std::slice::from_ref(app),
        policy(os).as_mut(),
        &config,
        &mut NoListener,
    )
    .unwrap()
}

#[test]
fn a_static_schedule_takes_as_long_as_planned_where_each_worker_has_a_core() {
    let machine = free_odroid("2big+3little");
    let work: Vec<u64> = (0..30).map(|i| 1_000_000 * (1 + i * 7 % 11)).collect();
    let edges: Vec<_> = (1..30).map(|i| (i * 3 / 5, i)).collect();
    let app = tasks(5, &work, &edges, 0);
    let team = Team::on(&machine, &app.phases, 5);
    let problem = Situation::at_start(&app.graphs[0], &team).problem();
    for entry in graph::ENTRIES {
        let Family::Static(scheduler) = entry.family else { continue };
        let (planned, taken) = (
            scheduler(&problem).makespan().0,
            run(&machine, &app, "pinned", entry.name).makespan.0,
        );
        // Times are rounded to nanoseconds, for each task on its own.
        assert!(planned.abs_diff(taken) <= 30, "{}: {planned} planned, {taken} taken", entry.name);
    }
}

#[test]
fn what_is_handed_over_comes_when_the_link_has_carried_it_and_no_later_than_planned() {
    // Edges of 0 to 6 ms at a byte a nanosecond, between tasks of 1 to 11 ms.
    let machine = free_odroid("2big+3little");
    let work: Vec<u64> = (0..40).map(|i| 2_000_000 * (1 + i * 7 % 11)).collect();
    let edges = (1..40)
        .flat_map(|i| [(i * 3 / 5, i, u64::from(i) * 5 % 7 * 1_000_000), (i / 3, i, 1_000_000)]);
    let mut app = tasks(5, &work, &[], 0);
    let tasks = app.graphs[0].tasks.clone();
    let edges = edges
        .filter(|(from, to, _)| from < to)
        .map(|(from, to, bytes)| (TaskId(from), TaskId(to), bytes));
    app.graphs = vec![Arc::new(TaskGraph::with_volumes(tasks, edges.collect()).unwrap())];
    let team = Team { link: Some(1.0), ..Team::on(&machine, &app.phases, 5) };
    let problem = Situation::at_start(&app.graphs[0], &team).problem();
    let mut copied = 0;
    for entry in graph::ENTRIES {
        let taken = run_over(Some(1.0), &machine, &app, "pinned", entry.name).makespan.0;
        // Of others that is chance: who waits may come to a better order by it.
        let free = run(&machine, &app, "pinned", entry.name).makespan.0;
        assert!(
            !["fifo", "heft"].contains(&entry.name) || taken > free,
            "{}: {taken}, {free} without",
            entry.name
        );
        let Family::Static(scheduler) = entry.family else { continue };
        let plan = scheduler(&problem);
        copied += plan.slots().count() - app.graphs[0].tasks.len();
        // Nobody waits for a copy of which another was there before.
        assert!(
            taken <= plan.makespan().0 + 40,
            "{}: {} planned, {taken} taken",
            entry.name,
            plan.makespan().0
        );
        if plan.slots().count() == app.graphs[0].tasks.len() {
            assert!(
                plan.makespan().0.abs_diff(taken) <= 40,
                "{}: {} planned, {taken} taken",
                entry.name,
                plan.makespan().0
            );
        }
    }
    assert!(copied > 0, "nobody has done a task twice");
}

#[test]
fn a_task_that_two_wait_for_is_done_twice_where_handing_it_over_takes_longer() {
    let machine = free_odroid("2big");
    let mut app = tasks(2, &[10_000_000, 20_000_000, 20_000_000], &[], 0);
    let edges = [1, 2].map(|to| (TaskId(0), TaskId(to), 100_000_000));
    let tasks = app.graphs[0].tasks.clone();
    app.graphs = vec![Arc::new(TaskGraph::with_volumes(tasks, edges.to_vec()).unwrap())];
    let taken = |policy, link| run_over(link, &machine, &app, "pinned", policy).makespan.0;
    let at = Team::on(&machine, &app.phases, 2);
    let cost = |task| Situation::at_start(&app.graphs[0], &at).cost(TaskId(task), at.kinds[0]).0;
    // One core does all, or each does the first and one of the others.
    assert_eq!(taken("heft", Some(1.0)), cost(0) + cost(1) + cost(2));
    assert_eq!(taken("hed", Some(1.0)), cost(0) + cost(1));
    assert_eq!((taken("hed", None), taken("heft", None)), (cost(0) + cost(1), cost(0) + cost(1)));
    // First come, first served knows nothing of links, and pays for it.
    assert_eq!(taken("fifo", Some(1.0)), cost(0) + 100_000_000 + cost(1));
}

#[test]
fn cats_takes_the_path_on_the_big_core_and_first_come_first_served_does_not() {
    let machine = free_odroid("1big+2little");
    let singles = (1..41).map(|task| (0, task));
    let chain = (41..60).map(|task| if task == 41 { (0, 41) } else { (task - 1, task) });
    let app = tasks(3, &[10_000_000; 60], &singles.chain(chain).collect::<Vec<_>>(), 0);
    let taken = |policy| run(&machine, &app, "pinned", policy).makespan;
    assert!(taken("cats") < taken("fifo"));
    let team = Team::on(&machine, &app.phases, 3);
    let bound = Bound::of(&Situation::at_start(&app.graphs[0], &team).problem());
    // The path is 20 tasks of 60 on a core that is two thirds of the machine: nobody waits for it
    // at the end but for one task on a little core.
    let at = Situation::at_start(&app.graphs[0], &team);
    assert!(
        taken("cats")
            <= bound.makespan()
                + at.cost(TaskId(0), team.kinds[2])
                + at.cost(TaskId(0), team.kinds[0])
    );
}

#[test]
fn asymmetric_loops_end_within_sampling_of_the_ideal() {
    let machine = free_odroid("2big+2little");
    let mut app = tasks(4, &[], &[], 0);
    app.graphs.clear();
    let loop_of = |schedule: &str| ParallelLoop {
        iterations: 1_000,
        work: Work(1_000_000),
        phase: PhaseId(0),
        workers: 4,
        schedule: schedule.into(),
        take_cost: Work(0),
    };
    let mut taken = |schedule: &str, times: usize| {
        app.loops = vec![loop_of(schedule)];
        app.barriers = vec![4];
        let execution = vec![Step::ParallelFor(LoopId(0)), Step::Barrier(BarrierId(0))];
        app.programs = vec![Program { steps: vec![execution; times].concat() }];
        run(&machine, &app, "pinned", "fifo").makespan.as_secs_f64()
    };
    // Rates 4, 4, 1, 1: the ideal is a quarter of 1000 x 4 / 10 on a little core.
    let ideal = taken("static", 1) * 4.0 / 10.0;
    for schedule in ["aid-static", "aid-dynamic", "aid-affinity"] {
        let taken = taken(schedule, 1);
        assert!((ideal..ideal * 1.02).contains(&taken), "{schedule}: {taken} of {ideal}");
    }
    // In four chunks the first execution is like the static one. What the workers did in it the
    // second goes by, and so on.
    let (again, once) = (taken("aid-affinity,250", 20), taken("static", 1));
    let expected = once + 19.0 * ideal;
    assert!((20.0 * ideal..expected * 1.02).contains(&again), "{again} of {expected}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_graph_ends_under_every_policy_and_never_before_the_bound(
        work in prop::collection::vec(0u64..5_000_000, 1..40),
        edges in prop::collection::vec((0u32..40, 0u32..40), 0..80),
        threads in 1u32..7,
        create in prop_oneof![Just(0), Just(100_000)],
        cores in prop::sample::select(vec!["1big", "1big+3little", "2big+2little", "4big+4little"]),
        os in prop::sample::select(vec!["pinned", "linux", "gts", "hsp", "rr", "age"]),
    ) {
        let tasks_there = work.len() as u32;
        let edges: Vec<_> = edges.into_iter().filter(|(from, to)| from < to && *to < tasks_there).collect();
        let machine = free_odroid(cores);
        let app = tasks(threads, &work, &edges, create);
        let team = Team::on(&machine, &app.phases, threads.min(machine.cores.len() as u32));
        let bound = Bound::of(&Situation::at_start(&app.graphs[0], &team).problem());
        for name in graph::names() {
            let outcome = run(&machine, &app, os, name);
            prop_assert_eq!(outcome.makespan, run(&machine, &app, os, name).makespan);
            // Rounded to nanoseconds for each task; `gts` and others may put workers elsewhere than
            // `team` has them, but on no faster cores.
            let slack = Nanos(u64::from(tasks_there));
            prop_assert!(outcome.makespan.saturating_add(slack) >= bound.makespan(), "{} on {}", name, os);
            let created = create * u64::from(tasks_there);
            let retired: u64 = outcome.apps.iter().map(|app| app.retired.0).sum();
            prop_assert_eq!(retired, work.iter().sum::<u64>() + created);
        }
    }
}
