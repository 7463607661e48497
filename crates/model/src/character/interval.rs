//! The interval model: cycles of an instruction on a kind of core, to first order.
//!
//! Karkhanis and Smith, "A first-order superscalar processor model", ISCA 2004; Eyerman, Eeckhout,
//! Karkhanis and Smith, TOCS 27(2), 2009. Per instruction, with m(S) the misses of a cache of size
//! S, and L the latency of instructions:
//!
//! ```text
//! base     = 1 / min(width, parallelism(window) / L)
//! branches = mispredictions x penalty
//! code     = m(first code cache) x latency of the second cache
//! caches   = sum over levels: hits of the level x its latency
//! memory   = m(last cache) x latency / misses outstanding at once
//! TLB      = misses x penalty
//! ```
//!
//! - **Out of order**, hits of a later cache hide behind other instructions: they lengthen L in
//!   place of `caches`. Misses of the last cache overlap within the window.
//! - **In order**, the window is what begins while an instruction executes, width x L (ours). Hits
//!   of later caches stall, and misses of the last cache do not overlap.
//!
//! Latencies of caches scale with the clock, the memory's does not.

use evenkeel_machine::Microarchitecture;

use super::{Character, MEMORY_WINDOW};

/// Where the cycles of an instruction go on one kind of core, cycles per instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpiStack {
    /// Nothing misses: width and the program's own parallelism.
    pub base: f64,
    /// Wrongly predicted branches.
    pub branches: f64,
    /// Misses of the first instruction cache.
    pub code: f64,
    /// Hits of caches beyond the first, where they stall.
    pub caches: f64,
    /// Misses of the last cache.
    pub memory: f64,
    /// Misses of TLBs.
    pub tlb: f64,
}

impl CpiStack {
    /// On a kind at a clock, in GHz.
    #[must_use]
    pub fn of(character: &Character, core: &Microarchitecture, ghz: f64) -> Self {
        let per_instruction = 1e-3;
        let misses = |bytes| character.data_misses.at(bytes) * per_instruction;
        let hits_later: f64 = core
            .data_caches
            .windows(2)
            .map(|pair| {
                (misses(pair[0].bytes) - misses(pair[1].bytes)) * f64::from(pair[1].latency)
            })
            .sum();
        let second = core.data_caches.get(1);
        let memory_cycles = core.memory_latency.0 as f64 * ghz;
        let code_latency = second.map_or(memory_cycles, |cache| f64::from(cache.latency));
        let code_misses = character.code_misses.at(core.code_cache_bytes) * per_instruction;
        let tlb_misses = character.data_tlb_misses.at(core.tlb_bytes)
            + character.code_tlb_misses.at(core.tlb_bytes);
        let last = core.data_caches.last().map_or(0, |cache| cache.bytes);
        let width = f64::from(core.width);
        let (parallel, latency) = match core.window {
            Some(window) => (f64::from(window), character.latency + hits_later),
            None => (width * character.latency, character.latency),
        };
        let at_once = character.parallelism.in_window(parallel) / latency;
        let outstanding = core.window.map_or(1.0, |window| {
            let part = f64::from(window) / MEMORY_WINDOW;
            let in_window = 1.0 + (character.memory_parallelism - 1.0) * part;
            in_window.min(f64::from(core.most_misses))
        });
        Self {
            base: 1.0 / width.min(at_once),
            branches: character.branches
                * character.branch_misses
                * f64::from(core.mispredict_penalty),
            code: code_misses * code_latency,
            caches: if core.window.is_none() { hits_later } else { 0.0 },
            memory: misses(last) * memory_cycles / outstanding,
            tlb: tlb_misses * per_instruction * f64::from(core.tlb_penalty),
        }
    }

    /// Cycles per instruction.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.base + self.branches + self.code + self.caches + self.memory + self.tlb
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{DataCache, Nanos};

    use super::*;
    use crate::character::{MissCurve, Parallelism};

    fn program() -> Character {
        Character {
            parallelism: Parallelism { coefficient: 1.5, exponent: 0.5 },
            latency: 2.0,
            branches: 0.2,
            branch_misses: 0.0,
            data_misses: MissCurve::default(),
            code_misses: MissCurve::default(),
            data_tlb_misses: MissCurve::default(),
            code_tlb_misses: MissCurve::default(),
            memory_parallelism: 1.0,
        }
    }

    fn core(window: Option<u32>, width: u32) -> Microarchitecture {
        Microarchitecture {
            width,
            window,
            mispredict_penalty: 10,
            code_cache_bytes: 32 << 10,
            data_caches: vec![
                DataCache { bytes: 32 << 10, latency: 3 },
                DataCache { bytes: 1 << 20, latency: 20 },
            ],
            memory_latency: Nanos(100),
            most_misses: 8,
            tlb_bytes: 2 << 20,
            tlb_penalty: 30,
            counters: 4,
            counts_instructions: false,
            counts_cycles: true,
            source: String::new(),
        }
    }

    #[test]
    fn a_large_window_is_limited_by_its_width_and_a_small_one_by_the_program() {
        let base = |core| CpiStack::of(&program(), &core, 1.0).total();
        assert_eq!(base(core(Some(256), 4)), 0.25);
        assert!((base(core(Some(16), 4)) - 1.0 / 3.0).abs() < 1e-12);
        let in_order = 1.0 / (1.5 * (2.0_f64 * 2.0).sqrt() / 2.0);
        assert!((base(core(None, 2)) - in_order).abs() < 1e-12);
    }

    #[test]
    fn each_cause_costs_what_the_model_says() {
        let data_misses = MissCurve::new(vec![(32 << 10, 20.0), (1 << 20, 2.0)]).unwrap();
        let tlb = MissCurve::new(vec![(2 << 20, 1.0)]).unwrap();
        let all = Character {
            branch_misses: 0.05,
            data_misses,
            code_misses: MissCurve::new(vec![(32 << 10, 3.0)]).unwrap(),
            data_tlb_misses: tlb.clone(),
            code_tlb_misses: tlb,
            memory_parallelism: 3.0,
            ..program()
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        let in_order = CpiStack::of(&all, &core(None, 2), 2.0);
        near(in_order.branches, 0.2 * 0.05 * 10.0);
        near(in_order.code, 3e-3 * 20.0);
        near(in_order.caches, 18e-3 * 20.0);
        near(in_order.memory, 2e-3 * 200.0);
        near(in_order.tlb, 2e-3 * 30.0);
        let out_of_order = CpiStack::of(&all, &core(Some(64), 4), 2.0);
        near(out_of_order.caches, 0.0);
        // Two at once in half the window that three are stated for.
        near(out_of_order.memory, 2e-3 * 200.0 / 2.0);
        near(out_of_order.base, 1.0 / (12.0 / 2.36_f64).min(4.0));
        let few = Character { memory_parallelism: 100.0, ..all };
        near(CpiStack::of(&few, &core(Some(64), 4), 2.0).memory, 2e-3 * 200.0 / 8.0);
    }
}
