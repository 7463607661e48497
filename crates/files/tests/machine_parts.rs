//! Parts of a machine: `2big+4little`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines::{self, presets};
use evenkeel_machine::{CoreId, KindId, Machine, SubsetError};
use proptest::prelude::*;

fn preset(name: &str) -> Machine {
    machines::preset(name).unwrap()
}

/// Asserts what holds for each machine, whole or part: numbers are dense, and all references are
/// mutual.
fn assert_consistent(machine: &Machine) {
    assert!(!machine.kinds.is_empty() && !machine.cores.is_empty());
    for (index, core) in machine.cores.iter().enumerate() {
        assert_eq!(core.id, CoreId(index as u32));
        let cluster = &machine.clusters[core.cluster.index()];
        assert!(cluster.cores.contains(&core.id) && cluster.kind == core.kind);
        if let Some(sibling) = core.sibling {
            assert_eq!(machine.cores[sibling.index()].sibling, Some(core.id));
            assert_eq!(sibling.0.abs_diff(core.id.0), 1);
        }
    }
    assert!(machine.clusters.iter().all(|cluster| !cluster.cores.is_empty()));
    assert_eq!(
        machine.clusters.iter().map(|cluster| cluster.cores.len()).sum::<usize>(),
        machine.cores.len()
    );
    assert!(machine.kinds.windows(2).all(|pair| pair[0].capacity >= pair[1].capacity));
}

#[test]
fn a_part_has_the_first_cores_of_each_kind() {
    let part = preset("odroid-xu3").subset("2big+3little").unwrap();
    assert_consistent(&part);
    assert_eq!(part.cores_label(), "2big+3little");
    // The little cluster is first on this board.
    assert_eq!(part.cores_of(KindId(1)).collect::<Vec<_>>(), [CoreId(0), CoreId(1), CoreId(2)]);
    assert_eq!(preset("odroid-xu3").subset(" 3little + 2big ").unwrap(), part);
}

#[test]
fn a_kind_without_cores_is_dropped_and_the_scale_stays() {
    for spec in ["4little", "0big+4little"] {
        let part = preset("odroid-xu3").subset(spec).unwrap();
        assert_consistent(&part);
        assert_eq!(part.cores_label(), "4little");
        assert_eq!((part.kinds.len(), part.clusters.len()), (1, 1));
        assert_eq!(part.kinds[0].capacity, 377);
        assert_eq!(part.reference, preset("odroid-xu3").reference);
    }
}

#[test]
fn a_part_keeps_its_reference_when_written() {
    for spec in ["4little", "4big", "1big+1little"] {
        let part = preset("odroid-xu3").subset(spec).unwrap();
        assert_eq!(machines::parse(&machines::to_toml(&part), "part").unwrap(), part);
    }
}

#[test]
fn a_cluster_without_cores_is_dropped() {
    let part = preset("rk3588").subset("2big+4little").unwrap();
    assert_eq!(part.clusters.len(), 2);
    assert_eq!(preset("rk3588").subset("3big+4little").unwrap().clusters.len(), 3);
}

#[test]
fn a_part_keeps_the_numbers_of_the_operating_system() {
    let cpus = |machine: &Machine| machine.cores.iter().map(|core| core.cpu).collect::<Vec<_>>();
    let machine = preset("odroid-xu3");
    assert_eq!(cpus(&machine), (0..8).collect::<Vec<_>>());
    let part = machine.subset("2big+1little").unwrap();
    assert_eq!(cpus(&part), [0, 4, 5]);
    assert_eq!(cpus(&machines::parse(&machines::to_toml(&part), "part").unwrap()), [0, 4, 5]);
    assert_eq!(cpus(&machine.one_core(KindId(0))), [4]);
}

#[test]
fn one_thread_of_each_physical_core_is_taken_before_siblings() {
    let machine = preset("alder-lake");
    let siblings = |spec: &str| {
        let part = machine.subset(spec).unwrap();
        assert_consistent(&part);
        assert_eq!(machines::parse(&machines::to_toml(&part), "part").unwrap(), part);
        part.cores.iter().filter(|core| core.sibling.is_some()).count()
    };
    assert_eq!(siblings("8P"), 0);
    assert_eq!(siblings("9P"), 2);
    assert_eq!(siblings("16P"), 16);
    assert_eq!(machine.describe().kinds[0].physical_cores, 8);
    assert_eq!(machine.subset("9P").unwrap().describe().kinds[0].physical_cores, 8);
}

#[test]
fn alone_runs_have_one_kind_or_one_core() {
    let machine = preset("pixel6");
    assert_eq!(machine.only_kind(KindId(2)).cores_label(), "4little");
    let one = machine.one_core(KindId(1));
    assert_consistent(&one);
    assert_eq!((one.cores_label().as_str(), one.kinds[0].capacity), ("1big", 499));
}

#[test]
fn what_is_no_part_is_refused_with_what_there_is() {
    let message = |spec: &str| preset("odroid-xu3").subset(spec).unwrap_err().to_string();
    assert_eq!(
        message("2medium"),
        "cores '2medium': no kind 'medium' in odroid-xu3, which has 4big+4little"
    );
    assert_eq!(message("5big"), "cores '5big': 5 big asked for, odroid-xu3 has 4");
    assert_eq!(
        message("99999999999999999999999big"),
        "cores '99999999999999999999999big': 99999999999999999999999 big asked for, odroid-xu3 has \
         4"
    );
    assert_eq!(message("1big+1big"), "cores '1big+1big': kind 'big' is named twice");
    assert_eq!(
        message("0big+0little"),
        "cores '0big+0little': no core is left, expected at least one"
    );
    assert_eq!(
        message("big"),
        "cores 'big': 'big' found, expected a count and a kind, such as 2big"
    );
    for garbage in ["", "+", "4", "2big+", "-1big", "²big", "2big 2little", "2 big"] {
        let error = preset("odroid-xu3").subset(garbage).unwrap_err();
        assert!(
            matches!(error, SubsetError::Term { .. } | SubsetError::UnknownKind { .. }),
            "{garbage}: {error}"
        );
    }
}

#[test]
fn a_description_has_each_figure_once() {
    let description = preset("odroid-xu3").describe();
    assert_eq!(description.cores, "4big+4little");
    let big = &description.kinds[0];
    assert_eq!(
        (big.min_mhz, big.max_mhz, big.capacity, big.idle_power_w),
        (1600.0, 2000.0, 1024, Some(0.0))
    );
    assert_eq!(big.operating_points[1].busy_power_w, Some(1.19));
    assert_eq!((description.clusters[1].first_core, description.clusters[1].last_core), (4, 7));
    assert_eq!(description.costs.migration_across_us, 30.0);
    assert_eq!(description.smt_speed, None);
}

proptest! {
    #[test]
    fn a_part_has_exactly_the_cores_asked_for(which in 0..presets().len(), shares in prop::collection::vec(0.0..=1.0, 8)) {
        let machine = preset(presets()[which].name);
        let mut terms = Vec::new();
        for (kind, share) in machine.kinds.iter().zip(&shares) {
            let rank = machine.kinds.iter().position(|other| other.name == kind.name).unwrap();
            let available = machine.cores_of(KindId(rank as u8)).count();
            terms.push((kind.name.clone(), (share * available as f64).round() as usize));
        }
        let spec: Vec<String> = terms.iter().map(|(name, count)| format!("{count}{name}")).collect();
        let spec = spec.join("+");
        let total: usize = terms.iter().map(|(_, count)| count).sum();
        match machine.subset(&spec) {
            Err(error) => prop_assert!(total == 0, "{}", error),
            Ok(part) => {
                assert_consistent(&part);
                prop_assert_eq!(part.cores.len(), total);
                prop_assert_eq!(part.reference, machine.reference);
                let left: Vec<String> =
                    terms.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count}{name}")).collect();
                prop_assert_eq!(part.cores_label(), left.join("+"));
                prop_assert_eq!(&machines::parse(&machines::to_toml(&part), "part").unwrap(), &part);
                // A part of a part is a part.
                prop_assert_eq!(&part.subset(&part.cores_label()).unwrap(), &part);
            }
        }
    }

    #[test]
    fn any_spec_is_met_with_a_part_or_an_error(spec in "\\PC*") {
        let _ = preset("alder-lake").subset(&spec);
    }
}
