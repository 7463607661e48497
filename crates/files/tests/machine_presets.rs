//! The machines that are built in, against the figures of their sources.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines::{self, MachineError, presets};
use evenkeel_machine::{Costs, KindId, Machine, MicroWatts, Nanos};

/// A kind as the sources have it: name, logical cores, highest clock in MHz, capacity.
type KindRow = (&'static str, usize, u64, u32);

fn assert_kinds(preset: &str, expected: &[KindRow]) -> Machine {
    let machine = machines::preset(preset).unwrap();
    let row = |rank: usize| {
        let kind = &machine.kinds[rank];
        let cores = machine.cores_of(KindId(rank as u8)).count();
        (kind.name.clone(), cores, kind.top().khz / 1_000, kind.capacity)
    };
    let found: Vec<_> = (0..machine.kinds.len()).map(row).collect();
    let expected: Vec<_> =
        expected.iter().map(|(name, n, mhz, c)| (name.to_string(), *n, *mhz, *c)).collect();
    assert_eq!(found, expected, "{preset}");
    machine
}

fn busy_mw(machine: &Machine, kind: usize) -> Vec<f64> {
    let power = |power: Option<MicroWatts>| power.unwrap().0 as f64 / 1e3;
    machine.kinds[kind].opps.iter().map(|point| power(point.busy_power)).collect()
}

#[test]
fn each_preset_reads_and_bears_the_name_of_its_file() {
    for preset in presets() {
        let machine = machines::preset(preset.name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(machine.name, preset.name);
        assert!(!machine.description.is_empty() && !machine.source.is_empty(), "{}", preset.name);
        for kind in &machine.kinds {
            assert!(
                kind.source.contains("derived") || kind.source.contains("measured"),
                "{}, kind {}: '{}' found, expected a source that says 'derived' or 'measured'",
                preset.name,
                kind.name,
                kind.source
            );
        }
    }
}

#[test]
fn each_preset_survives_being_written() {
    for preset in presets() {
        let machine = machines::preset(preset.name).unwrap();
        assert_eq!(machines::parse(&machines::to_toml(&machine), "written").unwrap(), machine);
    }
}

#[test]
fn odroid_xu3_has_its_sources_figures() {
    let machine = assert_kinds("odroid-xu3", &[("big", 4, 2000, 1024), ("little", 4, 1400, 377)]);
    assert_eq!(busy_mw(&machine, 0), [670.0, 1190.0]);
    assert_eq!(busy_mw(&machine, 1), [21.0, 49.0]);
    assert_eq!(machine.sensor_interval, Some(Nanos::from_millis(270)));
    assert_eq!(machine.bandwidth, Some(14_900_000_000));
}

#[test]
fn a_busy_odroid_core_and_its_cluster_draw_what_was_measured() {
    // PARTSim's table: mean W with one core busy, per kind and clock in MHz.
    let measured =
        [("big", 1600, 0.88), ("big", 2000, 1.60), ("little", 800, 0.054), ("little", 1400, 0.142)];
    let machine = machines::preset("odroid-xu3").unwrap();
    for (name, mhz, watts) in measured {
        let kind = machine.kinds.iter().find(|kind| kind.name == name).unwrap();
        let point = kind.opps.iter().find(|point| point.khz == mhz * 1_000).unwrap();
        let total = point.busy_power.unwrap() + point.cluster_power.unwrap();
        assert!((total.as_watts_f64() - watts).abs() < 1e-9, "{name} at {mhz} MHz: {total:?}");
    }
}

#[test]
fn odroid_xu3_paper_runs_at_the_studys_clocks_only() {
    // 539 x 800 / (1024 x 1600) of 1024 is 269.5.
    let machine =
        assert_kinds("odroid-xu3-paper", &[("big", 4, 1600, 1024), ("little", 4, 800, 270)]);
    assert!(machine.kinds.iter().all(|kind| kind.opps.len() == 1));
    assert_eq!(machine.kinds[1].top().capacity, 269.5);
    assert!(machine.has_power_model());
}

#[test]
fn the_power_of_odroid_xu3_mclas_lies_on_the_curve_through_the_two_measured_clocks() {
    let machine =
        assert_kinds("odroid-xu3-mclas", &[("big", 4, 1800, 1024), ("little", 4, 1200, 359)]);
    let measured = machines::preset("odroid-xu3").unwrap();
    let watts = |machine: &Machine, kind: usize, point: usize| {
        let point = &machine.kinds[kind].opps[point];
        [point.busy_power.unwrap().as_watts_f64(), point.cluster_power.unwrap().as_watts_f64()]
    };
    for (kind, clocks) in [(0, [1600.0, 2000.0, 1800.0]), (1, [800.0, 1400.0, 1200.0_f64])] {
        let [low, high, here] =
            [watts(&measured, kind, 0), watts(&measured, kind, 1), watts(&machine, kind, 0)];
        for ((low, high), here) in low.into_iter().zip(high).zip(here) {
            let exponent = (high / low).ln() / (clocks[1] / clocks[0]).ln();
            let expected = low * (clocks[2] / clocks[0]).powf(exponent);
            assert!(
                (here / expected - 1.0).abs() < 0.002,
                "kind {kind}: {here} W, not {expected} W"
            );
        }
    }
}

#[test]
fn hikey960_has_its_sources_figures() {
    let machine = assert_kinds("hikey960", &[("big", 4, 2362, 1024), ("little", 4, 1844, 462)]);
    // 550 uW/MHz/V^2 x 2362 MHz x (1.1 V)^2, and the same for the lowest point at 0.7 V.
    assert_eq!(busy_mw(&machine, 0).last().unwrap().round(), 1572.0);
    assert_eq!(busy_mw(&machine, 0)[0].round(), 243.0);
    assert_eq!((machine.kinds[0].opps.len(), machine.kinds[1].opps.len()), (5, 5));
}

#[test]
fn pixel6_has_three_kinds_with_its_sources_figures() {
    let machine = assert_kinds(
        "pixel6",
        &[("prime", 2, 2802, 1024), ("big", 2, 2253, 499), ("little", 4, 1803, 161)],
    );
    // Linux numbers the little cores first.
    assert_eq!(machine.cores[0].kind, KindId(2));
    assert!(machine.has_power_model());
}

#[test]
fn rk3588_has_its_sources_figures() {
    let machine = assert_kinds("rk3588", &[("big", 4, 2400, 1024), ("little", 4, 1800, 398)]);
    assert_eq!(busy_mw(&machine, 0).last().unwrap().round(), 998.0);
    assert_eq!((machine.kinds[0].opps.len(), machine.kinds[1].opps.len()), (7, 5));
}

#[test]
fn apple_m1_has_its_sources_figures_and_no_power() {
    let machine = assert_kinds("apple-m1", &[("P", 4, 2988, 1024), ("E", 4, 2064, 493)]);
    assert!(!machine.has_power_model());
}

#[test]
fn juno_r0_has_the_measured_table() {
    let machine = assert_kinds("juno-r0", &[("big", 2, 1100, 1024), ("little", 4, 850, 447)]);
    assert_eq!(busy_mw(&machine, 0), [168.0, 251.0, 359.0, 479.0, 616.0]);
    assert_eq!(busy_mw(&machine, 1), [33.0, 46.0, 61.0, 76.0, 93.0]);
    let least = machine.kinds[0].opps[0].capacity;
    assert!((least - 417.0 * 1024.0 / 1023.0).abs() < 1e-9);
    assert!(machine.has_power_model());
}

#[test]
fn alder_lake_has_siblings_side_by_side_and_no_power() {
    let machine = assert_kinds("alder-lake", &[("P", 16, 5200, 1024), ("E", 8, 3900, 605)]);
    for core in machine.cores_of(KindId(0)) {
        let sibling = machine.cores[core.index()].sibling.unwrap();
        assert_eq!(sibling.0, core.0 ^ 1);
        assert_eq!(machine.cores[sibling.index()].sibling, Some(core));
    }
    assert!(machine.cores_of(KindId(1)).all(|core| machine.cores[core.index()].sibling.is_none()));
    assert_eq!(machine.smt_speed, 0.6);
    assert!(!machine.has_power_model());
}

#[test]
fn the_study_machines_have_their_ratios() {
    assert_kinds("quickia", &[("big", 2, 3000, 1024), ("small", 2, 1600, 316)]);
    assert_kinds("amd-2b10s", &[("big", 2, 2100, 1024), ("small", 10, 800, 390)]);
    for (fast, slow) in [(1, 7), (2, 6), (4, 4)] {
        for (suffix, ratio) in [("", 8), ("-4", 4), ("-2", 2)] {
            let name = format!("amp-{fast}f{slow}s{suffix}");
            let kinds =
                [("fast", fast, 2000, 1024), ("slow", slow, 2000 / ratio, 1024 / ratio as u32)];
            assert!(!assert_kinds(&name, &kinds).has_power_model());
        }
    }
}

#[test]
fn a_preset_that_states_no_costs_has_the_specifications() {
    let machine = machines::preset("odroid-xu3").unwrap();
    assert_eq!(machine.costs, Costs::default());
    assert_eq!(machine.with_free_costs().costs, Costs::FREE);
}

#[test]
fn an_unknown_name_is_told_with_its_neighbours_and_where_the_list_is() {
    let error = machines::load("odroid-xu4").unwrap_err();
    assert!(matches!(error, MachineError::Unknown { .. }));
    let message = error.to_string();
    assert!(message.contains("'odroid-xu3'") && message.contains("evenkeel machines"), "{message}");
    assert!(!machines::load("zzz").unwrap_err().to_string().contains("did you mean"));
}

#[test]
fn a_path_is_loaded_and_named_in_errors() {
    let directory = env!("CARGO_MANIFEST_DIR");
    let machine = machines::load(&format!("{directory}/../../machines/rk3588.toml")).unwrap();
    assert_eq!(machine, machines::preset("rk3588").unwrap());
    let not_a_machine = format!("{directory}/Cargo.toml");
    let error = machines::load(&not_a_machine).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{not_a_machine}:")), "{error}");
}

#[test]
fn what_cannot_be_a_machine_file_is_refused_without_being_read_whole() {
    assert!(matches!(machines::load(env!("CARGO_MANIFEST_DIR")), Err(MachineError::Read { .. })));
    #[cfg(target_os = "linux")]
    assert!(matches!(machines::load("/dev/zero"), Err(MachineError::TooLarge { .. })));
}

#[test]
fn the_example_of_the_documentation_is_a_machine_file() {
    let page = include_str!("../../../docs/simulate/machines.md");
    let example = page.split("```").find_map(|block| block.strip_prefix("toml\nname")).unwrap();
    let machine = machines::parse(&format!("name{example}"), "docs/simulate/machines.md").unwrap();
    assert_eq!(machine.cores_label(), "6big+4little");
    assert!(machine.has_power_model());
    assert_eq!(machine.costs, Costs::default());
}
