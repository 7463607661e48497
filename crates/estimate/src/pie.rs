//! Speed on another kind of core without training: performance impact estimation.
//!
//! Van Craeynest, Jaleel, Eeckhout, Narvaez and Emer (PIE, ISCA 2012). The cycles of an instruction
//! on this kind are split into what it waits for memory and the rest, and both are told for the
//! other kind:
//!
//! ```text
//! CPI'    = base' + front end' + memory'
//! base'   = 1 / width'                                        a balanced core
//! front'  = front end stalls x penalty' / penalty
//! memory' = memory stalls x MLP / MLP' x clock' / clock
//! MLP     = misses per instruction x window, at least 1; 1 in order
//! ```
//!
//! The original counts dependency distances for the base of a small core; here it is taken to be
//! balanced as well. Caches of both kinds are taken to miss alike, as there.

use evenkeel_machine::Microarchitecture;

use crate::metric::{Counts, Event};

/// A kind of core and its clock.
#[derive(Clone, Copy, Debug)]
pub struct Core<'a> {
    /// How it is built.
    pub built: &'a Microarchitecture,
    /// Its clock.
    pub ghz: f64,
}

/// Speed on `other` over the speed on the kind where this was counted. `None` unless instructions,
/// cycles, misses of the last cache and stalls of both ends were counted, and something was done.
#[must_use]
pub fn speed_ratio(counts: &Counts, seen_on: Core, other: Core) -> Option<f64> {
    let instructions = counts.get(Event::Instructions).filter(|&count| count > 0)? as f64;
    let per_instruction = |event| counts.get(event).map(|count| count as f64 / instructions);
    let cpi = per_instruction(Event::Cycles)?;
    let misses = per_instruction(Event::CacheMisses)?;
    let front = per_instruction(Event::FrontendStalls)?;
    let memory = per_instruction(Event::BackendStalls)?;
    let penalty = |core: Core| f64::from(core.built.mispredict_penalty.max(1));
    let base_there = 1.0 / f64::from(other.built.width);
    let front_there = front * penalty(other) / penalty(seen_on);
    let memory_there = memory * misses_at_once(misses, seen_on) / misses_at_once(misses, other)
        * (other.ghz / seen_on.ghz);
    let cpi_there = base_there + front_there + memory_there;
    (cpi > 0.0).then(|| (other.ghz / cpi_there) / (seen_on.ghz / cpi))
}

fn misses_at_once(misses: f64, core: Core) -> f64 {
    let most = f64::from(core.built.most_misses).max(1.0);
    core.built.window.map_or(1.0, |window| (misses * f64::from(window)).clamp(1.0, most))
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{DataCache, Nanos};

    use super::*;

    fn built(width: u32, window: Option<u32>) -> Microarchitecture {
        Microarchitecture {
            width,
            window,
            mispredict_penalty: 10,
            code_cache_bytes: 32 << 10,
            data_caches: vec![DataCache { bytes: 32 << 10, latency: 3 }],
            memory_latency: Nanos(100),
            most_misses: 8,
            tlb_bytes: 1 << 20,
            tlb_penalty: 20,
            counters: 6,
            counts_instructions: true,
            counts_cycles: true,
            source: String::new(),
        }
    }

    fn counts(cycles: u64, misses: u64, front: u64, memory: u64) -> Counts {
        let mut counts = Counts::default();
        for (event, count) in [
            (Event::Instructions, 1_000),
            (Event::Cycles, cycles),
            (Event::CacheMisses, misses),
            (Event::FrontendStalls, front),
            (Event::BackendStalls, memory),
        ] {
            counts.set(event, count);
        }
        counts
    }

    #[test]
    fn what_is_bound_by_width_goes_by_width_and_clock() {
        let (little, big) = (built(2, None), built(4, Some(128)));
        let [little, big] = [(&little, 1.0), (&big, 2.0)].map(|(built, ghz)| Core { built, ghz });
        let ratio = speed_ratio(&counts(500, 0, 0, 0), little, big).unwrap();
        assert!((ratio - 4.0).abs() < 1e-12, "{ratio}");
        let back = speed_ratio(&counts(250, 0, 0, 0), big, little).unwrap();
        assert!((back - 0.25).abs() < 1e-12, "{back}");
    }

    #[test]
    fn what_waits_for_memory_gains_by_misses_at_once_and_not_by_the_clock() {
        let (little, big) = (built(2, None), built(4, Some(200)));
        let [little, big] = [(&little, 1.0), (&big, 1.0)].map(|(built, ghz)| Core { built, ghz });
        // 20 misses in 1,000 instructions: four in a window of 200.
        let ratio = speed_ratio(&counts(2_500, 20, 0, 2_000), little, big).unwrap();
        assert!((ratio - 2.5 / (0.25 + 0.5)).abs() < 1e-12, "{ratio}");
        let faster = Core { ghz: 2.0, ..little };
        let ratio = speed_ratio(&counts(2_500, 20, 0, 2_000), little, faster).unwrap();
        assert!((ratio - 2.0 * 2.5 / (0.5 + 4.0)).abs() < 1e-12, "{ratio}");
    }

    #[test]
    fn what_was_not_counted_is_not_guessed() {
        let core = built(2, None);
        let core = Core { built: &core, ghz: 1.0 };
        assert_eq!(speed_ratio(&Counts::default(), core, core), None);
    }
}
