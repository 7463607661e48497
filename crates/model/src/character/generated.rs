//! Programs whose characters follow published distributions, by seed.
//!
//! | what | range | source |
//! | --- | --- | --- |
//! | parallelism | exponent 0.3 to 0.7, coefficient 1.7 down to 1.2 with it | Karkhanis and Smith, ISCA 2004, table 1: vpr, gzip, vortex |
//! | data misses by size | a power of the size, exponent 0.3 to 0.7 | Hartstein, Srinivasan, Puzak and Emma, CF 2006 |
//! | data in use | 64 KiB to 64 MiB; what is beyond a larger cache misses seldom | Navarro-Torres et al., PLoS ONE 14(8), 2019: almost half of SPEC CPU hardly misses the second level |
//! | streams | one program in five misses caches of all sizes alike | Jaleel, "Memory characterization of workloads using instrumentation-driven simulation": libquantum, lbm, milc; the part is ours |
//! | misses outstanding | 1 to 3 in 128 instructions | Chou, Fahs and Abraham, ISCA 2004 |
//! | the others | below | ours, of the order that SPEC CPU programs have |
//!
//! The abstract of Navarro-Torres et al. was at hand. What the others say is quoted from memory.

use super::{Character, MissCurve, Parallelism};
use crate::SplitMix64;

/// Misses per 1,000 instructions of 32 KiB of data.
const DATA_MISSES: (f64, f64) = (1.0, 60.0);
/// The same of code.
const CODE_MISSES: (f64, f64) = (0.01, 10.0);
/// Misses per 1,000 instructions of a TLB that maps 1 MiB.
const DATA_TLB_MISSES: (f64, f64) = (0.01, 5.0);
const CODE_TLB_MISSES: (f64, f64) = (0.001, 0.5);
/// Bytes of data that a program uses again and again.
const DATA_IN_USE: (f64, f64) = (65_536.0, 67_108_864.0);
/// Programs of which one streams through its data.
const PROGRAMS_PER_STREAM: usize = 5;
/// Bytes of data that a stream comes by before it returns to the first.
const DATA_OF_STREAM: f64 = 1_073_741_824.0;
/// What of the misses is left in a cache that holds all data in use.
const COLD_PART: f64 = 0.02;
const BRANCHES: (f64, f64) = (0.05, 0.25);
const BRANCH_MISSES: (f64, f64) = (0.002, 0.08);
const LATENCY: (f64, f64) = (1.3, 2.5);
const MEMORY_PARALLELISM: (f64, f64) = (1.0, 3.0);
/// How far a phase's figures are from its program's: the deviation of their logarithms.
const PHASE_SPREAD: f64 = 0.4;

/// A program: phases, and their order.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedProgram {
    /// Characters of its phases, one to four.
    pub phases: Vec<Character>,
    /// Which phase comes, and for how many windows of equal work.
    pub course: Vec<(usize, usize)>,
}

impl GeneratedProgram {
    /// The program of a number, of all that a seed has.
    #[must_use]
    pub fn new(seed: u64, number: u64) -> Self {
        let mut draw = Draw::of(seed, number);
        let program = Figures::of_program(&mut draw);
        let count = 1 + draw.0.below(4);
        let phases = (0..count).map(|_| program.of_phase(&mut draw).character()).collect();
        let stretches = 4 + draw.0.below(9);
        let course = (0..stretches).map(|i| (i % count, 5 + draw.0.below(36))).collect();
        Self { phases, course }
    }
}

struct Draw(SplitMix64);

impl Draw {
    /// The draws of a program: those of another number are others, and not the same ones later.
    fn of(seed: u64, number: u64) -> Self {
        Self(SplitMix64::named(seed, &format!("program {number}")))
    }

    fn between(&mut self, (least, most): (f64, f64)) -> f64 {
        least + self.0.unit() * (most - least)
    }

    /// Each order of magnitude is as likely.
    fn magnitude(&mut self, (least, most): (f64, f64)) -> f64 {
        self.between((least.ln(), most.ln())).exp()
    }

    /// A value near this one, of the same range.
    fn near(&mut self, value: f64, (least, most): (f64, f64)) -> f64 {
        (value * (PHASE_SPREAD * self.0.normal()).exp()).clamp(least, most)
    }
}

/// What is drawn.
#[derive(Clone, Copy)]
struct Figures {
    exponent: f64,
    latency: f64,
    branches: f64,
    branch_misses: f64,
    streams: bool,
    data_exponent: f64,
    data_misses: f64,
    data_in_use: f64,
    code_misses: f64,
    data_tlb_misses: f64,
    code_tlb_misses: f64,
    memory_parallelism: f64,
}

const EXPONENT: (f64, f64) = (0.3, 0.7);

impl Figures {
    fn of_program(draw: &mut Draw) -> Self {
        Self {
            exponent: draw.between(EXPONENT),
            latency: draw.between(LATENCY),
            branches: draw.between(BRANCHES),
            branch_misses: draw.magnitude(BRANCH_MISSES),
            streams: draw.0.below(PROGRAMS_PER_STREAM) == 0,
            data_exponent: draw.between(EXPONENT),
            data_misses: draw.magnitude(DATA_MISSES),
            data_in_use: draw.magnitude(DATA_IN_USE),
            code_misses: draw.magnitude(CODE_MISSES),
            data_tlb_misses: draw.magnitude(DATA_TLB_MISSES),
            code_tlb_misses: draw.magnitude(CODE_TLB_MISSES),
            memory_parallelism: draw.between(MEMORY_PARALLELISM),
        }
    }

    fn of_phase(&self, draw: &mut Draw) -> Self {
        Self {
            exponent: draw.near(self.exponent, EXPONENT),
            latency: draw.near(self.latency, LATENCY),
            branches: draw.near(self.branches, BRANCHES),
            branch_misses: draw.near(self.branch_misses, BRANCH_MISSES),
            streams: self.streams,
            data_exponent: draw.near(self.data_exponent, EXPONENT),
            data_misses: draw.near(self.data_misses, DATA_MISSES),
            data_in_use: draw.near(self.data_in_use, DATA_IN_USE),
            code_misses: draw.near(self.code_misses, CODE_MISSES),
            data_tlb_misses: draw.near(self.data_tlb_misses, DATA_TLB_MISSES),
            code_tlb_misses: draw.near(self.code_tlb_misses, CODE_TLB_MISSES),
            memory_parallelism: draw.near(self.memory_parallelism, MEMORY_PARALLELISM),
        }
    }

    fn character(self) -> Character {
        let (data_exponent, data_in_use) = match self.streams {
            true => (0.0, DATA_OF_STREAM),
            false => (self.data_exponent, self.data_in_use),
        };
        let tlb = |misses: f64| power_law(misses, 1 << 20, 0.5, data_in_use * 4.0);
        Character {
            parallelism: Parallelism {
                coefficient: 1.7 - (self.exponent - 0.3) / 0.4 * 0.5,
                exponent: self.exponent,
            },
            latency: self.latency,
            branches: self.branches,
            branch_misses: self.branch_misses,
            data_misses: power_law(self.data_misses, 32 << 10, data_exponent, data_in_use),
            code_misses: power_law(self.code_misses, 32 << 10, 0.7, 1e6),
            data_tlb_misses: tlb(self.data_tlb_misses),
            code_tlb_misses: tlb(self.code_tlb_misses),
            memory_parallelism: self.memory_parallelism,
        }
    }
}

/// Misses that fall with a power of the size until all that is in use fits, and then to
/// [`COLD_PART`] of that over one doubling.
fn power_law(misses: f64, at: u64, exponent: f64, in_use: f64) -> MissCurve {
    let of = |bytes: f64| misses * (bytes / at as f64).powf(-exponent);
    let first = 4096.0_f64;
    let in_use = in_use.max(first * 2.0).round();
    let points = [(first, of(first)), (in_use, of(in_use)), (in_use * 2.0, of(in_use) * COLD_PART)];
    let points = points.map(|(bytes, misses)| (bytes as u64, misses.min(1_000.0)));
    MissCurve::new(points.to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_seed_are_one_program_and_others_are_others() {
        let of = GeneratedProgram::new;
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(1, 3));
        assert_ne!(of(1, 2), of(2, 2));
    }

    #[test]
    fn programs_have_no_draw_in_common() {
        let mut drawn = std::collections::BTreeSet::new();
        for number in 0..100 {
            let figures = Figures::of_program(&mut Draw::of(1, number));
            for figure in [figures.exponent, figures.latency, figures.data_exponent] {
                assert!(drawn.insert(figure.to_bits()), "{number}: {figure}");
            }
        }
    }

    #[test]
    fn all_figures_are_in_the_ranges_that_are_stated() {
        let mut streams = 0;
        for number in 0..500 {
            let program = GeneratedProgram::new(7, number);
            assert!(!program.phases.is_empty() && program.phases.len() <= 4);
            for phase in &program.phases {
                let exponent = phase.parallelism.exponent;
                assert!((0.3..=0.7).contains(&exponent));
                assert!((1.2..=1.7).contains(&phase.parallelism.coefficient));
                assert!((1.0..=3.0).contains(&phase.memory_parallelism));
                let at_32k = phase.data_misses.at(32 << 10);
                assert!((0.9..=61.0).contains(&at_32k), "{at_32k}");
                let at_1g = phase.data_misses.at(1 << 30);
                let streams = at_1g == at_32k;
                assert!(streams || at_1g < at_32k * 0.2, "{at_1g} of {at_32k}");
                assert_eq!(phase.data_misses.points().len(), 3);
            }
            let first = &program.phases[0].data_misses;
            streams += usize::from(first.at(32 << 10) == first.at(1 << 30));
            assert!(program.course.iter().all(|&(phase, _)| phase < program.phases.len()));
        }
        assert!((80..120).contains(&streams), "{streams} of 500");
    }
}
