//! Phases measure speed against the whole machine, whichever part of it is in use.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines;
use evenkeel_machine::KindId;
use evenkeel_model::{Phase, Scaling};

#[test]
fn a_core_is_as_fast_in_a_part_as_in_the_whole_machine() {
    let measured = Scaling::MeasuredAt { factor: 3.48, capacity_ratio: 3.8 };
    for preset in ["odroid-xu3", "pixel6", "alder-lake"] {
        let whole = machines::preset(preset).unwrap();
        for scaling in [Scaling::Capacity, Scaling::Factor(2.18), measured] {
            let phase = Phase { ipc: 0.8, ..Phase::new("p", scaling) };
            for rank in 0..whole.kinds.len() {
                let kind = KindId(rank as u8);
                let capacity = whole.kinds[rank].top().capacity;
                let speed = phase.speed(&whole, capacity);
                assert_eq!(
                    phase.speed(&whole.only_kind(kind), capacity),
                    speed,
                    "{preset}, kind {rank}, {scaling:?}"
                );
                assert_eq!(
                    phase.speed(&whole.one_core(kind), capacity),
                    speed,
                    "{preset}, kind {rank}, {scaling:?}"
                );
            }
        }
    }
}

#[test]
fn a_factor_is_the_ratio_of_the_fastest_to_the_slowest_kind() {
    let whole = machines::preset("odroid-xu3-paper").unwrap();
    let phase = Phase::new("blackscholes", Scaling::Factor(2.18));
    assert!((phase.speedup_factor(&whole) - 2.18).abs() < 1e-12);
    assert_eq!(phase.speedup_factor(&whole.only_kind(KindId(0))), 1.0);
}
