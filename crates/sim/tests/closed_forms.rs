//! Runs whose outcome can be told with a pencil.

mod support;

use evenkeel_machine::{Machine, Nanos};
use evenkeel_sim::{Config, Deaf, Outcome, run};
use evenkeel_workload::Application;
use support::{barrier, compute, free_odroid, policy, rounds, threads};

fn outcome(machine: &Machine, app: Application, name: &str) -> Outcome {
    run(machine, &[app], policy(name).as_mut(), &Config::default(), &mut Deaf).unwrap()
}

#[test]
fn a_single_thread_takes_its_work_divided_by_its_speed() {
    let app = threads(1, 4.0, vec![compute(800_000_000)]);
    assert_eq!(outcome(&free_odroid("1little"), app.clone(), "pinned").makespan, Nanos(1_000_000_000));
    assert_eq!(outcome(&free_odroid("1big"), app, "pinned").makespan, Nanos(250_000_000));
}

#[test]
fn equal_blocks_with_a_barrier_take_the_time_of_the_slowest_core_when_pinned() {
    let app = threads(8, 4.0, vec![rounds(10, vec![compute(80_000_000), barrier()])]);
    let outcome = outcome(&free_odroid("4big+4little"), app, "pinned");
    assert_eq!(outcome.makespan, Nanos(1_000_000_000));
}
