//! Runs whose outcome can be told with a pencil.

use evenkeel_machine::{Costs, Machine, Nanos, Work};
use evenkeel_policy::{Policy, registry};
use evenkeel_sim::{Config, Deaf, Outcome, run};
use evenkeel_workload::{Application, BarrierId, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec};

fn machine(cores: &str) -> Machine {
    let mut machine = Machine::preset("odroid-xu3-paper").unwrap().subset(cores).unwrap();
    machine.costs = Costs::FREE;
    machine
}

fn policy(name: &str) -> Box<dyn Policy> {
    registry::make(name, &[]).unwrap()
}

/// Threads that all run the same steps, with one phase of a speedup factor.
fn threads(count: usize, factor: f64, steps: Vec<Step>) -> Application {
    Application {
        name: "test".into(),
        phases: vec![Phase::new("work", Scaling::Factor(factor))],
        programs: vec![Program { steps }],
        threads: (0..count).map(|i| ThreadSpec::new(format!("t{i}"), ProgramId(0))).collect(),
        barriers: vec![count as u32],
        ..Application::default()
    }
}

fn compute(work: u64) -> Step {
    Step::Compute { work: Work(work), phase: PhaseId(0) }
}

fn outcome(machine: &Machine, app: Application, name: &str) -> Outcome {
    run(machine, &[app], policy(name).as_mut(), &Config::default(), &mut Deaf).unwrap()
}

#[test]
fn a_single_thread_takes_its_work_divided_by_its_speed() {
    let app = threads(1, 4.0, vec![compute(800_000_000)]);
    assert_eq!(outcome(&machine("1little"), app.clone(), "pinned").makespan, Nanos(1_000_000_000));
    assert_eq!(outcome(&machine("1big"), app, "pinned").makespan, Nanos(250_000_000));
}

#[test]
fn equal_blocks_with_a_barrier_take_the_time_of_the_slowest_core_when_pinned() {
    let rounds = Step::Loop { times: Some(10), body: vec![compute(80_000_000), Step::Barrier(BarrierId(0))] };
    let app = threads(8, 4.0, vec![rounds]);
    let outcome = outcome(&machine("4big+4little"), app, "pinned");
    assert_eq!(outcome.makespan, Nanos(1_000_000_000));
}
