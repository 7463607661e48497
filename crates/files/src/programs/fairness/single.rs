//! Single-threaded programs: their phases and the speedup factor (SF) of each.
//!
//! The study states classes of programs on each of its two machines, and for some how their phases
//! look; the figures here lie within the classes and are otherwise assumptions, as are running
//! times, instructions per cycle, memory traffic and activities. On a machine that is neither, a
//! program's factor is carried over from quickia by the capacities there.

use super::{AMD, QUICKIA, SOURCE};
use crate::programs::args::Args;
use crate::programs::build::{Builder, Context, compute};
use crate::programs::entry::{Entry, WorkloadInfo};
use crate::programs::error::WorkloadError;
use evenkeel_model::SplitMix64;
use evenkeel_model::{Application, PhaseId};
use evenkeel_model::{Phase, Scaling};

/// Clock of quickia's small cores (Atom N330), in which running times are stated.
const SMALL_HZ: f64 = 1.6e9;

/// Capacity of quickia's big cores over its small ones, as machines/quickia.toml derives it from
/// the classes of SF.
pub(super) const QUICKIA_CAPACITY_RATIO: f64 = 3.238;

/// How a program's phases follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rhythm {
    /// In the same order, each as long in every round.
    Regular,
    /// In the same order, lengths from half to one and a half of the mean, drawn by the seed; the
    /// whole run stays as long.
    Irregular,
}

/// A program: phases by SF and share of the work, on each machine.
pub(super) struct Single {
    pub(super) name: &'static str,
    /// Time alone on a small core of quickia, seconds.
    small_s: f64,
    /// Time of one round of all phases there, seconds.
    round_s: f64,
    rhythm: Rhythm,
    ipc: f64,
    bytes_per_instruction: f64,
    working_set: u64,
    activity: f64,
    pub(super) on_quickia: &'static [(f64, f64)],
    pub(super) on_amd: &'static [(f64, f64)],
}

/// IPC, bytes per instruction, working set and activity of a program whose data fit in caches.
const LIGHT: (f64, f64, u64, f64) = (0.8, 0.02, 64 << 10, 1.1);
/// The same for a program that misses its caches now and then.
const MEDIUM: (f64, f64, u64, f64) = (0.6, 0.3, 512 << 10, 1.0);
/// The same for a program that is bound by memory.
const HEAVY: (f64, f64, u64, f64) = (0.3, 2.0, 4 << 20, 0.75);

const fn single(
    name: &'static str,
    (small_s, round_s, rhythm): (f64, f64, Rhythm),
    (ipc, bytes_per_instruction, working_set, activity): (f64, f64, u64, f64),
    on_quickia: &'static [(f64, f64)],
    on_amd: &'static [(f64, f64)],
) -> Single {
    Single {
        name,
        small_s,
        round_s,
        rhythm,
        ipc,
        bytes_per_instruction,
        working_set,
        activity,
        on_quickia,
        on_amd,
    }
}

use Rhythm::{Irregular, Regular};

/// High on quickia: 3.6 to 4.7 as a whole.
const HIGH: [Single; 7] = [
    single(
        "calculix",
        (60.0, 12.0, Regular),
        LIGHT,
        &[(4.6, 0.6), (4.1, 0.4)],
        &[(2.6, 0.6), (2.4, 0.4)],
    ),
    single(
        "gamess",
        (70.0, 14.0, Regular),
        LIGHT,
        &[(4.3, 0.5), (3.9, 0.5)],
        &[(2.625, 0.5), (2.5, 0.5)],
    ),
    single(
        "GemsFDTD",
        (65.0, 6.5, Regular),
        HEAVY,
        &[(4.5, 0.4), (3.6, 0.6)],
        &[(1.7, 0.4), (1.2, 0.6)],
    ),
    single(
        "bzip2",
        (50.0, 10.0, Regular),
        MEDIUM,
        &[(4.4, 0.4), (3.4, 0.6)],
        &[(2.4, 0.4), (2.0, 0.6)],
    ),
    single(
        "sphinx3",
        (60.0, 6.0, Regular),
        MEDIUM,
        &[(3.9, 0.7), (3.6, 0.3)],
        &[(1.9, 0.7), (1.7, 0.3)],
    ),
    // Long phases, from below 2 up to 8.
    single(
        "mcf",
        (72.0, 36.0, Regular),
        HEAVY,
        &[(1.8, 0.2), (8.0, 0.5), (5.0, 0.3)],
        &[(1.2, 0.2), (1.4, 0.5), (1.3, 0.3)],
    ),
    single(
        "soplex",
        (55.0, 1.1, Irregular),
        HEAVY,
        &[(2.2, 0.15), (4.0, 0.45), (5.2, 0.4)],
        &[(1.2, 0.15), (1.35, 0.45), (1.5, 0.4)],
    ),
];

/// Middle: 2.4 to 3.3.
const MIDDLE: [Single; 3] = [
    single(
        "h264ref",
        (65.0, 6.5, Regular),
        LIGHT,
        &[(3.3, 0.6), (2.8, 0.4)],
        &[(2.6, 0.6), (2.45, 0.4)],
    ),
    single(
        "povray",
        (55.0, 11.0, Regular),
        LIGHT,
        &[(2.9, 0.5), (2.7, 0.5)],
        &[(2.6, 0.5), (2.5, 0.5)],
    ),
    single("namd", (60.0, 60.0, Regular), LIGHT, &[(2.6, 1.0)], &[(2.6, 1.0)]),
];

/// Low: 1 to 2.
const LOW: [Single; 3] = [
    single(
        "sjeng",
        (55.0, 5.5, Regular),
        MEDIUM,
        &[(1.9, 0.5), (1.7, 0.5)],
        &[(2.5, 0.5), (2.3, 0.5)],
    ),
    single(
        "gobmk",
        (60.0, 4.0, Regular),
        MEDIUM,
        &[(1.9, 0.4), (1.6, 0.6)],
        &[(2.5, 0.4), (2.35, 0.6)],
    ),
    single(
        "libquantum",
        (60.0, 2.0, Regular),
        HEAVY,
        &[(1.1, 0.5), (1.4, 0.5)],
        &[(1.1, 0.5), (1.2, 0.5)],
    ),
];

/// Programs whose class on quickia the study does not state; it does say that astar and gcc have
/// many short phases and that lbm is regular. The factors are assumptions.
const UNCLASSED: [Single; 5] = [
    single(
        "astar",
        (55.0, 1.0, Irregular),
        MEDIUM,
        &[(1.9, 0.25), (2.7, 0.4), (3.6, 0.35)],
        &[(1.5, 0.25), (1.8, 0.4), (2.1, 0.35)],
    ),
    single(
        "gcc",
        (50.0, 0.8, Irregular),
        MEDIUM,
        &[(1.7, 0.2), (2.5, 0.4), (3.8, 0.4)],
        &[(1.5, 0.2), (1.9, 0.4), (2.3, 0.4)],
    ),
    single(
        "lbm",
        (60.0, 1.5, Regular),
        HEAVY,
        &[(1.2, 0.6), (1.9, 0.4)],
        &[(1.05, 0.6), (1.2, 0.4)],
    ),
    single("hmmer", (60.0, 60.0, Regular), LIGHT, &[(3.9, 1.0)], &[(2.6, 1.0)]),
    single(
        "perlbench",
        (55.0, 5.0, Regular),
        LIGHT,
        &[(3.2, 0.5), (2.6, 0.5)],
        &[(2.5, 0.5), (2.3, 0.5)],
    ),
];

/// All programs, each with its class on quickia as descriptions show it.
pub(super) fn all() -> impl Iterator<Item = (&'static Single, &'static str)> {
    let class =
        |singles: &'static [Single], class| singles.iter().map(move |single| (single, class));
    class(&HIGH, "high")
        .chain(class(&MIDDLE, "middle"))
        .chain(class(&LOW, "low"))
        .chain(class(&UNCLASSED, "not classed"))
}

/// The registry's entries.
pub(super) fn entries() -> Vec<Entry> {
    let entry = |(single, class): (&'static Single, &str)| {
        let how = match (single.rhythm, single.on_quickia) {
            (_, [_]) => "one phase",
            (Irregular, _) => "many short phases",
            (Regular, _) => "regular phases",
        };
        let summary = format!(
            "single-threaded; SF on quickia {:.1} ({class}), on amd-2b10s {:.1}; {how}",
            whole_run_factor(single.on_quickia),
            whole_run_factor(single.on_amd)
        );
        Entry {
            info: WorkloadInfo {
                name: single.name,
                summary,
                source: SOURCE,
                shapes: &[],
                knobs: &[],
            },
            build,
        }
    };
    all().map(entry).collect()
}

/// SF of a whole run: time of all its phases on a slow core over that on a fast one.
pub(super) fn whole_run_factor(phases: &[(f64, f64)]) -> f64 {
    let slow: f64 = phases.iter().map(|(_, share)| share).sum();
    slow / phases.iter().map(|(factor, share)| share / factor).sum::<f64>()
}

fn build(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let found = all().find(|(single, _)| single.name == args.workload());
    Ok(found.map(|(single, _)| single.build(ctx)).into_iter().collect())
}

impl Single {
    fn build(&self, ctx: &Context) -> Application {
        let mut builder = Builder::new(self.name);
        let segments = if ctx.machine.name == AMD { self.on_amd } else { self.on_quickia };
        let phases: Vec<PhaseId> = segments
            .iter()
            .zip(1..)
            .map(|(&(factor, _), number)| {
                let scaling = match ctx.machine.name.as_str() {
                    AMD | QUICKIA => Scaling::Factor(factor),
                    _ => Scaling::MeasuredAt { factor, capacity_ratio: QUICKIA_CAPACITY_RATIO },
                };
                builder.phase(Phase {
                    ipc: self.ipc,
                    bytes_per_instruction: self.bytes_per_instruction,
                    working_set: self.working_set,
                    activity: self.activity,
                    ..Phase::new(format!("{}-{number}", self.name), scaling)
                })
            })
            .collect();
        let total = self.small_s * SMALL_HZ * self.ipc * ctx.size;
        let rounds = ((self.small_s * ctx.size / self.round_s).round() as u64).max(1);
        let is_irregular = self.rhythm == Irregular;
        let mut lengths = is_irregular.then(|| Lengths::new(ctx.seed.take(), self.name));
        let mut relative = |share: f64| share * lengths.as_mut().map_or(1.0, Lengths::next);
        let pieces: Vec<(PhaseId, f64)> = (0..rounds)
            .flat_map(|_| {
                phases
                    .iter()
                    .zip(segments)
                    .map(|(&phase, &(_, share))| (phase, relative(share)))
                    .collect::<Vec<_>>()
            })
            .collect();
        let sum: f64 = pieces.iter().map(|(_, length)| length).sum();
        let mut steps = Vec::new();
        for (phase, length) in pieces {
            compute(&mut steps, (total * length / sum) as u64, phase);
        }
        let program = builder.program(steps);
        builder.thread(self.name, 0, program);
        builder.finish()
    }
}

/// Relative lengths of irregular phases: from 0.5 to 1.5.
struct Lengths(SplitMix64);

impl Lengths {
    fn new(seed: u64, name: &str) -> Self {
        Self(SplitMix64::named(seed, name))
    }

    fn next(&mut self) -> f64 {
        0.5 + self.0.unit()
    }
}
