//! Programs generated from counts, as they run.

use crate::support::policy;
use evenkeel_files::machines;
use evenkeel_files::programs::{Context, load};
use evenkeel_machine::{Machine, Nanos, Work};
use evenkeel_model::Application;
use evenkeel_policy::ThreadId;
use evenkeel_sim::{Config, Listener, NoListener, Outcome, run};
use proptest::prelude::*;

fn machine() -> Machine {
    machines::preset("amp-1f7s").unwrap()
}

fn made(spec: &str, size: f64, seed: u64) -> Vec<Application> {
    let machine = machine();
    load(spec, &Context { size, seed: seed.into(), ..Context::new(&machine) }).unwrap()
}

fn carried_out(apps: &[Application], name: &str, listener: &mut impl Listener) -> Outcome {
    run(&machine(), apps, policy(name).as_mut(), &Config::default(), listener).unwrap()
}

/// Counts who was made runnable by another thread.
#[derive(Default)]
struct Wakes(u64);

impl Listener for Wakes {
    fn woke(&mut self, _at: Nanos, _thread: ThreadId, by: Option<ThreadId>) {
        self.0 += u64::from(by.is_some());
    }
}

#[test]
fn more_than_nine_of_ten_lock_acquisitions_find_the_lock_free() {
    // Locks of the whole run (times the size), and barrier entries less those that find all others
    // there, who are not woken.
    for (program, locks, waits) in [
        ("sc09-ferret", 7_367_532.0, 0.0),
        ("sc09-fluidanimate", 4_168_875.0, 31_998.0 * 7.0 / 8.0),
        ("sc09-radiosity", 1_657_844.0, 112.0),
        ("sc09-barnes", 1_098_755.0, 119.0),
        ("sc09-raytrace", 74_380.0, 7.0),
        ("sc09-dedup", 26_640.0, 0.0),
    ] {
        let size = if locks > 1e5 { 0.02 } else { 1.0 };
        for name in ["lin", "age", "linux"] {
            let mut wakes = Wakes::default();
            carried_out(&made(program, size, 1), name, &mut wakes);
            let waited = wakes.0 as f64 - waits * size;
            assert!(
                waited < 0.1 * locks * size,
                "{program} under {name}: {waited} of {}",
                locks * size
            );
        }
    }
}

#[test]
fn a_run_retires_the_instructions_of_the_row() {
    for program in
        ["sc09-bodytrack", "sc09-x264", "sc09-vips", "sc09-lu_contiguous", "sc09-streamcluster"]
    {
        let apps = made(program, 1.0, 3);
        let instructions = match program {
            "sc09-bodytrack" => 670_415_058,
            "sc09-x264" => 482_957_580,
            "sc09-vips" => 1_886_383_414,
            "sc09-lu_contiguous" => 3_117_508,
            _ => 837_572_613,
        };
        for name in ["rr", "age"] {
            assert_eq!(
                carried_out(&apps, name, &mut NoListener).apps[0].retired,
                Work(instructions),
                "{program}"
            );
        }
    }
}

#[test]
fn no_more_threads_of_x264_run_at_once_than_there_are_workers() {
    let outcome = carried_out(&made("sc09-x264", 1.0, 1), "lin", &mut NoListener);
    for thread in &outcome.threads[1..] {
        let beside = outcome.threads[1..]
            .iter()
            .filter(|other| {
                other.started <= thread.started && other.ended.unwrap() > thread.started
            })
            .count();
        assert!(beside <= 8, "{} at {}", beside, thread.started);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn any_row_ends(
        instructions in 1u64..200_000_000, locks in 0u64..3_000, barriers in 0u64..300, threads in 4u32..40,
        groups in 2u32..=4, symmetry in 0.0..0.9, serial in 0.0..=1.0, works: bool, some_at_once: bool, seed: u64,
    ) {
        let (main, at_once) = match (works, some_at_once) {
            (true, _) => ("works", String::new()),
            (false, true) => ("waits", format!(",at_once={}", (threads - 1).div_ceil(groups - 1))),
            (false, false) => ("waits", String::new()),
        };
        let apps = made(&format!(
            "generated:instructions={instructions},locks={locks},barriers={barriers},threads={threads},groups={groups},\
             symmetry={symmetry},serial={serial},main={main}{at_once}"
        ), 1.0, seed);
        for name in ["linux", "age"] {
            let outcome = carried_out(&apps, name, &mut NoListener);
            prop_assert_eq!(outcome.apps[0].retired, Work(instructions), "{}", name);
            prop_assert!(outcome.threads.iter().all(|thread| thread.ended.is_some()));
        }
    }
}
