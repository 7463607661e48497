use evenkeel_machine::{Machine, Work};

use super::{PROGRAMS, big_little_ratio};
use crate::programs::{Context, list, load};
use evenkeel_model::ideal_speedup;
use evenkeel_model::{Application, Step};

fn board() -> Machine {
    crate::machines::preset("odroid-xu3-paper").unwrap()
}

fn made(spec: &str, size: f64) -> Application {
    let machine = board();
    let mut apps = load(spec, &Context { size, ..Context::new(&machine) }).unwrap();
    assert_eq!(apps.len(), 1, "{spec}");
    apps.remove(0)
}

fn steps(app: &Application, thread: usize) -> &[Step] {
    &app.programs[app.threads[thread].program.index()].steps
}

/// The body of the loops that `steps` consists of, `depth` of them inside one another, and how
/// often they run together.
fn inside(steps: &[Step], depth: u32) -> (u64, &[Step]) {
    match steps {
        [Step::Loop { times: Some(times), body }] if depth > 0 => {
            let (inner, body) = inside(body, depth - 1);
            (times * inner, body)
        }
        _ => (1, steps),
    }
}

/// How often one pass over `steps` comes to a step.
fn count(steps: &[Step], is: &dyn Fn(&Step) -> bool) -> u64 {
    let one = |step: &Step| match step {
        Step::Loop { times, body } => times.unwrap_or(1) * count(body, is),
        step => u64::from(is(step)),
    };
    steps.iter().map(one).sum()
}

fn is_barrier(step: &Step) -> bool {
    matches!(step, Step::Barrier(_))
}

fn tasks(app: &Application) -> u64 {
    app.graphs.iter().map(|graph| graph.tasks.len() as u64).sum()
}

#[test]
fn ideal_speedups_of_the_nine_on_four_big_and_four_little_are_those_of_the_study() {
    let expected = [
        ("blackscholes", 12.72),
        ("bodytrack", 20.64),
        ("canneal", 10.92),
        ("dedup", 14.68),
        ("facesim", 17.6),
        ("ferret", 18.36),
        ("fluidanimate", 17.28),
        ("streamcluster", 17.92),
        ("swaptions", 15.12),
    ];
    assert_eq!(expected.len(), PROGRAMS.len());
    for (program, speedup) in expected {
        let ratio = big_little_ratio(program).unwrap();
        assert!((ideal_speedup(ratio, 4, 4) - speedup).abs() < 1e-9, "{program}");
        assert_eq!(ideal_speedup(ratio, 0, 4), 4.0);
    }
}

#[test]
fn one_big_core_of_the_board_runs_each_program_faster_by_its_measured_ratio() {
    let machine = board();
    for (program, _, _) in &PROGRAMS {
        let app = made(program, 0.05);
        let factor = app.phases[0].speedup_factor(&machine);
        assert!((factor - big_little_ratio(program).unwrap()).abs() < 1e-9, "{program}: {factor}");
    }
}

#[test]
fn a_program_amounts_to_the_same_work_in_every_shape() {
    for info in list().iter().filter(|info| big_little_ratio(info.name).is_some()) {
        // The first phase is the program; a second one is time at a device, which threads spend off
        // the cores.
        let work =
            |shape: &str| made(&format!("{}:{shape}", info.name), 0.1).work_by_phase().unwrap()[0];
        let pinned = work("pinned");
        assert!(pinned > Work(0));
        for shape in info.shapes {
            assert_eq!(work(shape), pinned, "{}:{shape}", info.name);
        }
    }
}

#[test]
fn a_whole_run_takes_its_assumed_time_on_one_little_core_to_within_rounding() {
    for character in &super::characters::CHARACTERS {
        let work = made(character.name, 1.0).total_work().unwrap().0 as f64;
        let time_s = work / (0.8e9 * character.ipc);
        assert!((time_s / character.little_s - 1.0).abs() < 0.02, "{}: {time_s} s", character.name);
    }
}

#[test]
fn barriers_are_as_many_as_the_study_counts() {
    for (spec, depth, rounds, barriers) in [
        ("blackscholes", 1, 100, 1),
        ("canneal", 1, 6_000, 1),
        ("fluidanimate", 1, 500, 10),
        ("fluidanimate:loop-dynamic", 1, 500, 10),
        ("streamcluster", 2, 5_000, 9),
        ("swaptions", 0, 1, 1),
    ] {
        let app = made(spec, 1.0);
        for thread in 0..app.threads.len() {
            let (times, body) = inside(steps(&app, thread), depth);
            assert_eq!((times, count(body, &is_barrier)), (rounds, barriers), "{spec}");
        }
    }
}

#[test]
fn task_versions_have_as_many_tasks_as_the_study_counts() {
    for (spec, expected) in
        [("blackscholes:tasks", 6_400), ("fluidanimate:tasks", 128_500), ("swaptions:tasks", 128)]
    {
        let app = made(spec, 1.0);
        assert_eq!(tasks(&app), expected, "{spec}");
        assert_eq!(count(steps(&app, 0), &|step| matches!(step, Step::RunTasks(_))), 1);
        assert_eq!(count(steps(&app, 0), &is_barrier), 0, "tasks need no barrier");
    }
}

#[test]
fn a_task_of_blackscholes_is_a_hundred_times_smaller_than_one_of_swaptions() {
    let machine = board();
    let time_s = |spec: &str| {
        let app = made(spec, 0.1);
        app.graphs[0].tasks[0].work.0 as f64
            / app.phases[0].speed(&machine, machine.reference.slowest_capacity)
    };
    let ratio = time_s("swaptions:tasks") / time_s("blackscholes:tasks");
    assert!((90.0..110.0).contains(&ratio), "{ratio}");
}

#[test]
fn bodytrack_deals_out_tickets_of_four_particles_in_five_layers_and_of_eight_rows() {
    let app = made("bodytrack", 1.0);
    let schedules: Vec<_> = app
        .loops
        .iter()
        .map(|parallel| (parallel.iterations, parallel.schedule.as_str()))
        .collect();
    assert_eq!(schedules, [(1_920, "dynamic,8"), (2_560, "dynamic,8"), (4_000, "dynamic,4")]);
    let (frames, frame) = inside(steps(&app, 1), 1);
    assert_eq!(frames, 261);
    assert_eq!(count(frame, &|step| matches!(step, Step::ParallelFor(_))), 2 + 5);
}

#[test]
fn a_task_of_bodytrack_waits_for_its_own_frame_and_the_particles_before_it_only() {
    let app = made("bodytrack:tasks", 0.01);
    let graph = &app.graphs[0];
    assert_eq!(graph.tasks.len() as u64, 3 * super::bodytrack::TASKS_PER_FRAME);
    // The load of the second frame: created after the whole first frame, waits for the first load
    // alone.
    let load = evenkeel_model::TaskId(super::bodytrack::TASKS_PER_FRAME as u32);
    assert_eq!(graph.predecessors(load).len(), 1);
    assert!(graph.successors(evenkeel_model::TaskId(0)).contains(&load));
}

#[test]
fn a_border_lock_of_fluidanimate_is_taken_by_two_neighbours_one_at_a_time() {
    let app = made("fluidanimate", 1.0);
    let mut takers = vec![Vec::new(); app.locks as usize];
    for thread in 0..app.threads.len() {
        let (_, frame) = inside(steps(&app, thread), 1);
        let mut held = None;
        for step in frame {
            match step {
                Step::Lock(lock) => {
                    assert_eq!(held.replace(*lock), None);
                    if takers[lock.index()].last() != Some(&thread) {
                        takers[lock.index()].push(thread);
                    }
                }
                Step::Unlock(lock) => assert_eq!(held.take(), Some(*lock)),
                Step::Barrier(_) => assert_eq!(held, None),
                _ => {}
            }
        }
    }
    assert!(app.locks > 0);
    for threads in takers {
        assert!(matches!(threads[..], [a, b] if b == a + 1), "{threads:?}");
    }
}

#[test]
fn pipelines_have_a_pool_for_each_middle_stage_and_one_thread_at_either_end() {
    assert_eq!(made("dedup:5", 0.1).threads.len(), 3 * 5 + 2);
    assert_eq!(made("ferret:5", 0.1).threads.len(), 4 * 5 + 2);
}

#[test]
fn loop_shapes_name_the_schedule_and_take_the_chunk_that_was_asked_for() {
    let schedules =
        |spec: &str| made(spec, 0.1).loops.iter().map(|l| l.schedule.clone()).collect::<Vec<_>>();
    assert_eq!(schedules("blackscholes:loop-static"), ["static"]);
    assert_eq!(schedules("blackscholes:loop-dynamic,chunk=77"), ["dynamic,77"]);
    assert_eq!(schedules("swaptions:loop-guided"), ["guided,1"]);
    assert_eq!(schedules("swaptions:loop-aid-static"), ["aid-static,1"]);
    assert_eq!(schedules("blackscholes:loop-aid-dynamic,chunk=77"), ["aid-dynamic,77"]);
    assert_eq!(schedules("blackscholes:pinned"), Vec::<String>::new());
}

#[test]
fn size_scales_the_amount_and_not_the_grain() {
    let (small, whole) = (made("fluidanimate:tasks", 0.1), made("fluidanimate:tasks", 1.0));
    assert_eq!(tasks(&small) * 10, tasks(&whole));
    assert_eq!(small.graphs[0].tasks[..257], whole.graphs[0].tasks[..257]);
}

#[test]
fn a_graph_beyond_memory_is_refused_before_it_is_built() {
    let machine = board();
    let error =
        load("bodytrack:tasks", &Context { size: 900.0, ..Context::new(&machine) }).unwrap_err();
    assert!(error.to_string().contains("take a smaller --size"), "{error}");
}
