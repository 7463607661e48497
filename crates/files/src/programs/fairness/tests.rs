use std::ops::RangeInclusive;

use evenkeel_machine::Machine;

use super::mixes::ANALYTICAL;
use super::single::{all, whole_run_factor};
use super::{AMD_CAPACITY_RATIO, multi, single};
use crate::programs::{Context, load};
use evenkeel_model::{Application, Repeat, Step};

fn made(spec: &str, machine: &str) -> Vec<Application> {
    let machine = crate::machines::preset(machine).unwrap();
    load(spec, &Context::new(&machine)).unwrap()
}

/// The range that the study states for a class on quickia.
fn class_range(class: &str) -> Option<RangeInclusive<f64>> {
    match class {
        "high" => Some(3.6..=4.7),
        "middle" => Some(2.4..=3.3),
        "low" => Some(1.0..=2.0),
        _ => None,
    }
}

#[test]
fn whole_run_factors_on_quickia_lie_in_the_stated_classes() {
    for (program, class) in all() {
        let factor = whole_run_factor(program.on_quickia);
        if let Some(range) = class_range(class) {
            assert!(range.contains(&factor), "{}: {factor}", program.name);
        }
    }
}

#[test]
fn factors_on_amd_never_exceed_the_ratio_of_its_clocks() {
    let singles = all().flat_map(|(program, _)| program.on_amd.iter().map(|(factor, _)| *factor));
    for factor in singles.chain(multi::PROGRAMS.iter().map(|program| program.factor)) {
        assert!((1.0..=AMD_CAPACITY_RATIO).contains(&factor), "{factor}");
    }
}

#[test]
fn shares_of_phases_add_up_to_one_on_both_machines() {
    for (program, _) in all() {
        for phases in [program.on_quickia, program.on_amd] {
            let sum: f64 = phases.iter().map(|(_, share)| share).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{}", program.name);
        }
    }
}

#[test]
fn mcf_has_long_phases_from_below_two_to_eight_on_quickia() {
    let machine = crate::machines::preset("quickia").unwrap();
    let app = made("mcf", "quickia").remove(0);
    let factors: Vec<_> = app.phases.iter().map(|phase| phase.speedup_factor(&machine)).collect();
    assert!(factors.iter().any(|&factor| factor < 2.0));
    assert!(factors.iter().any(|&factor| (factor - 8.0).abs() < 1e-9));
    let slow = machine.reference.slowest_capacity;
    for step in &app.programs[0].steps {
        let Step::Compute { work, phase } = step else { panic!("{step:?}") };
        let time_s = work.0 as f64 / app.phases[phase.index()].speed(&machine, slow) / 1e9;
        assert!(time_s > 5.0, "{time_s} s");
    }
}

#[test]
fn phases_of_soplex_astar_and_gcc_are_many_short_and_irregular() {
    for name in ["soplex", "astar", "gcc"] {
        let app = made(name, "quickia").remove(0);
        let lengths: std::collections::BTreeSet<_> =
            app.programs[0].steps.iter().map(|step| format!("{step:?}")).collect();
        assert!(lengths.len() > 100, "{name}");
    }
    let app = made("lbm", "quickia").remove(0);
    let lengths: std::collections::BTreeSet<_> =
        app.programs[0].steps.iter().map(|step| format!("{step:?}")).collect();
    assert_eq!(lengths.len(), 2, "lbm is regular");
}

#[test]
fn a_factor_carries_over_to_a_machine_of_quickias_capacities_unchanged() {
    let quickia = crate::machines::preset("quickia").unwrap();
    let twin = Machine { name: "twin".to_owned(), ..quickia.clone() };
    for (program, _) in all() {
        let factors = |machine: &Machine| -> Vec<f64> {
            let app = load(program.name, &Context::new(machine)).unwrap().remove(0);
            app.phases.iter().map(|phase| phase.speedup_factor(machine)).collect()
        };
        for (here, there) in factors(&quickia).into_iter().zip(factors(&twin)) {
            assert!((here - there).abs() < 1e-9, "{}: {here} and {there}", program.name);
        }
    }
    let ratio = quickia.reference.fastest_capacity / quickia.reference.slowest_capacity;
    assert!(
        (ratio - single::QUICKIA_CAPACITY_RATIO).abs() < 1e-9,
        "machines/quickia.toml says {ratio}"
    );
}

#[test]
fn partly_serial_programs_are_serial_for_more_than_a_quarter_of_their_time_from_four_threads_on() {
    for program in multi::PROGRAMS.iter().filter(|program| program.serial_share > 0.1) {
        for threads in 4..=12 {
            // The serial part on a fast core, the parallel one at the pace of slow ones.
            let serial = program.serial_share / program.factor;
            let parallel = (1.0 - program.serial_share) / f64::from(threads);
            assert!(serial / (serial + parallel) > 0.25, "{} with {threads}", program.name);
        }
    }
}

#[test]
fn mixes_are_made_of_the_studys_members_and_start_again_until_the_longest_has_ended_three_times() {
    let names = |apps: &[Application]| apps.iter().map(|app| app.name.clone()).collect::<Vec<_>>();
    let mix = made("3STH-1STM", "quickia");
    assert_eq!(names(&mix), ["calculix", "GemsFDTD", "bzip2", "h264ref"]);
    assert!(mix.iter().all(|app| app.repeat == Repeat::UntilLongestEnded(3)));
    let mix = made("1STH-1PSH-1PSL", "amd-2b10s");
    assert_eq!(names(&mix), ["gobmk", "BLAST", "FFTW3D"]);
    assert_eq!(mix.iter().map(|app| app.threads.len()).collect::<Vec<_>>(), [1, 6, 5]);
}

#[test]
fn analytical_workloads_have_exactly_their_factors_on_any_machine_and_ask_nothing_of_memory() {
    for machine_name in ["quickia", "odroid-xu3-paper", "amp-1f7s"] {
        let machine = crate::machines::preset(machine_name).unwrap();
        for (name, expected) in ANALYTICAL {
            let apps = made(name, machine_name);
            assert_eq!(apps.len(), 4);
            for (app, factor) in apps.iter().zip(expected) {
                assert!((app.phases[0].speedup_factor(&machine) - factor).abs() < 1e-9);
                assert_eq!(app.phases[0].bytes_per_instruction, 0.0);
                let slow = app.phases[0].speed(&machine, machine.reference.slowest_capacity);
                assert!((app.total_work().unwrap().0 as f64 / slow / 1e9 - 120.0).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn a_shape_asked_of_a_mix_is_that_of_its_multithreaded_programs() {
    let shaped = made("3STH-1HPH:loop-dynamic", "amd-2b10s");
    assert_eq!(shaped[..3], made("3STH-1HPH", "amd-2b10s")[..3]);
    assert_eq!(shaped[3].loops.len(), 1, "regions are a parallel loop");
    assert_eq!(shaped[3].phases, made("3STH-1HPH", "amd-2b10s")[3].phases);
    let machine = crate::machines::preset("quickia").unwrap();
    assert!(load("4STH:loop-dynamic", &Context::new(&machine)).is_err(), "it has none");
}
