//! Every built-in workload, run to its end.

use evenkeel_files::machines;
use evenkeel_files::programs::{Context, big_little_ratio, list, load};
use evenkeel_machine::Machine;
use evenkeel_model::{Application, Repeat, ideal_speedup};
use evenkeel_policy::registry;
use evenkeel_sim::{Config, NoListener, Outcome, run};

fn board() -> Machine {
    machines::preset("odroid-xu3-paper").unwrap()
}

fn specs() -> impl Iterator<Item = String> {
    list().iter().flat_map(|info| {
        let shaped = info.shapes.iter().skip(1).map(|shape| format!("{}:{shape}", info.name));
        std::iter::once(info.name.to_owned()).chain(shaped)
    })
}

fn outcome(machine: &Machine, apps: &[Application], policy: &str) -> Outcome {
    let mut policy = registry::make(policy, &[]).unwrap();
    run(machine, apps, policy.as_mut(), &Config::default(), &mut NoListener).unwrap()
}

#[test]
fn everything_built_in_ends_under_pinned_and_linux_with_all_of_its_work_done() {
    let machine = board();
    for spec in specs() {
        let apps = load(&spec, &Context { size: 0.01, ..Context::new(&machine) }).unwrap();
        for policy in ["pinned", "linux"] {
            let outcome = outcome(&machine, &apps, policy);
            for (app, done) in apps.iter().zip(&outcome.apps) {
                let Some(asked) = app.total_work().filter(|_| app.duration.is_none()) else {
                    continue;
                };
                let ends = done.completions.len() as u64;
                assert!(
                    ends > 0 && done.retired.0 >= ends * asked.0,
                    "{spec} under {policy}: {asked:?} asked, {done:?}"
                );
                assert!(app.repeat != Repeat::Once || ends == 1, "{spec}");
            }
        }
    }
}

#[test]
fn no_shape_of_the_nine_is_faster_than_its_ideal_speedup() {
    let machine = board();
    for spec in specs() {
        let Some(ratio) = big_little_ratio(spec.split(':').next().unwrap()) else { continue };
        let apps = load(&spec, &Context { size: 0.02, ..Context::new(&machine) }).unwrap();
        let one_little = apps[0].phases[0].speed(&machine, machine.reference.slowest_capacity);
        let alone_ns = apps[0].work_by_phase().unwrap()[0].0 as f64 / one_little;
        let speedup = alone_ns / outcome(&machine, &apps, "pinned").makespan.0 as f64;
        assert!(speedup <= ideal_speedup(ratio, 4, 4), "{spec}: {speedup}");
    }
}

#[test]
fn a_dynamic_loop_is_within_one_chunk_a_run_of_its_ideal_speedup() {
    let machine = board();
    let one = machine.subset("1little").unwrap();
    let makespan = |spec: &str, machine: &Machine| {
        let apps = load(spec, &Context { size: 0.02, ..Context::new(machine) }).unwrap();
        (outcome(machine, &apps, "pinned").makespan.0 as f64, apps)
    };
    for chunk in [1_000_u64, 10_000, 100_000] {
        let spec = format!("blackscholes:loop-dynamic,chunk={chunk}");
        let (alone_ns, apps) = makespan(&spec, &one);
        let (all_ns, _) = makespan(&spec, &machine);
        let one_little = apps[0].phases[0].speed(&machine, machine.reference.slowest_capacity);
        let chunk_ns = (chunk * apps[0].loops[0].work.0) as f64 / one_little;
        let ideal_ns = alone_ns / ideal_speedup(big_little_ratio("blackscholes").unwrap(), 4, 4);
        // Two runs of the hundred; a switch to each thread before the first.
        assert!(
            all_ns <= ideal_ns + 2.0 * chunk_ns + machine.costs.context_switch.0 as f64,
            "{chunk}: {all_ns}"
        );
    }
}
