//! What counters would show, by the interval model: for machines that are not there, and for the
//! simulator's.

use evenkeel_machine::{Microarchitecture, Nanos};
use evenkeel_model::character::{Character, CpiStack};

use crate::metric::{Counts, Event};
use crate::sets::Counters;
use crate::trace::Window;

/// What so many instructions of a character show on a kind of core at a clock, in GHz, alone.
#[must_use]
pub fn window(
    character: &Character,
    core: &Microarchitecture,
    ghz: f64,
    instructions: u64,
) -> Window {
    let stack = CpiStack::of(character, core, ghz);
    let instructions = instructions as f64;
    let (first, last) = (core.data_caches.first(), core.data_caches.last());
    // Requests to the last cache are misses of the one before.
    let before_last = core.data_caches.iter().rev().nth(1);
    let misses = |of: Option<&evenkeel_machine::DataCache>| {
        of.map_or(0.0, |cache| character.data_misses.at(cache.bytes) / 1e3)
    };
    let code_misses = character.code_misses.at(core.code_cache_bytes) / 1e3;
    let branches = character.branches;
    let mut counts = Counts::default();
    let tlbs = [
        (Event::DtlbMisses, &character.data_tlb_misses),
        (Event::ItlbMisses, &character.code_tlb_misses),
    ];
    // A curve without a point is one that nothing has counted.
    for (event, curve) in tlbs.into_iter().filter(|(_, curve)| !curve.points().is_empty()) {
        counts.set(event, (curve.at(core.tlb_bytes) / 1e3 * instructions).round() as u64);
    }
    for (event, per_instruction) in [
        (Event::Instructions, 1.0),
        (Event::Cycles, stack.total()),
        (Event::CacheReferences, misses(before_last) + code_misses),
        (Event::CacheMisses, misses(last)),
        (Event::Branches, branches),
        (Event::BranchMisses, branches * character.branch_misses),
        (Event::L1dMisses, misses(first)),
        (Event::L1iMisses, code_misses),
        (Event::FrontendStalls, stack.branches + stack.code),
        (Event::BackendStalls, stack.caches + stack.memory + stack.tlb),
    ] {
        counts.set(event, (per_instruction * instructions).round() as u64);
    }
    let time = (stack.total() * instructions / ghz).round().max(1.0);
    Window { time: Nanos(time as u64), counts }
}

/// The counters of a kind of core.
#[must_use]
pub fn counters(core: &Microarchitecture) -> Counters {
    let own =
        [(core.counts_instructions, Event::Instructions), (core.counts_cycles, Event::Cycles)];
    let fixed = own.into_iter().filter(|(has, _)| *has).map(|(_, event)| event).collect();
    Counters { general: core.counters as usize, fixed }
}
