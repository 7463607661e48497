//! How fast each character of work runs on each operating point: a table, made once.

use evenkeel_machine::{ClusterId, KindId, MAX_KINDS, Machine, MicroWatts, PerKind};
use evenkeel_model::{Application, Phase};

use crate::programs::program::Row;

/// Units of work per nanosecond that are taken for a mistake: one per hundred microseconds, and a
/// million per nanosecond.
const LEAST_SPEED: f64 = 1e-5;
/// See [`LEAST_SPEED`].
const GREATEST_SPEED: f64 = 1e6;

/// What the engine needs of a phase.
#[derive(Clone, Debug)]
pub struct Character {
    /// Bytes per unit of work.
    pub bytes: f64,
    /// The most of its time on a core that may go into waiting for memory while no other core wants
    /// any: see [`Character::stall`].
    pub insensitive: f64,
    /// Bytes to fetch again after a move.
    pub working_set: u64,
    /// Speedup factor on each kind relative to the slowest of the machine, at the highest operating
    /// points.
    pub speedup: PerKind<f32>,
}

/// Bytes of a cache line.
const LINE_BYTES: f64 = 64.0;
/// Mean time that a core waits for a line from memory, ns. Assumption: machine files state
/// bandwidth, not latency.
const STALL_NS: f64 = 100.0;

impl Character {
    /// Share of the time on a core that is spent waiting for memory, at so many bytes per
    /// nanosecond, of which `granted` (0 to 1) are had: the lesser of two that a phase implies, and
    /// what others take of the bandwidth on top of it.
    ///
    /// ```text
    /// cache misses x mean stall time     lines per ns x 100 ns
    /// what a faster core would not save  1 - sensitivity; with a / c computing and m waiting per
    ///                                    instruction, the share of m
    /// ```
    pub fn stall(&self, demand: f64, granted: f64) -> f64 {
        let own = (demand / LINE_BYTES * STALL_NS).min(self.insensitive);
        1.0 - (1.0 - own) * granted
    }
}

/// Speeds in units of work per nanosecond.
#[derive(Debug)]
pub struct Speeds {
    characters: Vec<Character>,
    table: Vec<f64>,
    /// Power of a busy core, microwatts, in the order of `table`.
    power: Vec<MicroWatts>,
    first_of_kind: [u32; MAX_KINDS],
    stride: usize,
    /// True if any work wants bandwidth.
    pub memory: bool,
}

impl Speeds {
    /// For all phases of all applications, in order.
    pub fn new(machine: &Machine, apps: &[Application]) -> Self {
        let mut first_of_kind = [0; MAX_KINDS];
        let mut stride = 0;
        for (rank, kind) in machine.kinds.iter().enumerate() {
            first_of_kind[rank] = stride as u32;
            stride += kind.opps.len();
        }
        let phases = || apps.iter().flat_map(|app| &app.phases);
        let table = phases()
            .flat_map(|phase| {
                let kinds = (0..machine.kinds.len()).map(|rank| KindId(rank as u8));
                kinds.flat_map(move |kind| {
                    let points = 0..machine.kinds[kind.index()].opps.len();
                    points.map(move |point| phase.speed_at(machine, kind, point))
                })
            })
            .collect();
        let power = phases()
            .flat_map(|phase| {
                let points = machine.kinds.iter().flat_map(|kind| &kind.opps);
                points.map(move |point| {
                    let busy = point.busy_power.unwrap_or_default();
                    MicroWatts((busy.0 as f64 * phase.activity).round() as u64)
                })
            })
            .collect();
        let characters: Vec<_> = phases().map(|phase| character(machine, phase)).collect();
        let memory = characters.iter().any(|character| character.bytes > 0.0);
        Self { characters, table, power, first_of_kind, stride, memory }
    }

    /// Power of a core that is busy with such work.
    pub fn power(&self, row: Row, kind: KindId, opp: usize) -> MicroWatts {
        self.power[row as usize * self.stride + self.first_of_kind[kind.index()] as usize + opp]
    }

    /// Units of work per nanosecond, before contention.
    pub fn speed(&self, row: Row, kind: KindId, opp: usize) -> f64 {
        self.table[row as usize * self.stride + self.first_of_kind[kind.index()] as usize + opp]
    }

    /// That every speed is one: a factor measured where two kinds were almost equal can make
    /// nonsense of others.
    pub fn check(machine: &Machine, app: &Application) -> Result<(), String> {
        for phase in &app.phases {
            for (rank, kind) in machine.kinds.iter().enumerate() {
                let speed = phase.speed_at(machine, KindId(rank as u8), 0);
                if !(speed.is_finite() && (LEAST_SPEED..GREATEST_SPEED).contains(&speed)) {
                    return Err(format!(
                        "phase '{}' would run at {speed:e} units of work per ns on kind '{}' of \
                         {}, which is no speed",
                        phase.name, kind.name, machine.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// How many.
    pub fn characters(&self) -> usize {
        self.characters.len()
    }

    /// The rest.
    pub fn character(&self, row: Row) -> &Character {
        &self.characters[row as usize]
    }

    /// Speedup factors of a mix of work, relative to the slowest kind: the ratio of the whole
    /// times.
    pub fn mixed_speedup(&self, machine: &Machine, work: &[(Row, f64)]) -> PerKind<f32> {
        let time = |kind: KindId| -> f64 {
            let top = machine.kinds[kind.index()].opps.len() - 1;
            work.iter().map(|&(row, work)| work / self.speed(row, kind, top)).sum()
        };
        let slow = time(machine.slowest());
        let mut speedup = PerKind::all(1.0);
        if slow > 0.0 {
            for rank in 0..machine.kinds.len() {
                let kind = KindId(rank as u8);
                speedup[kind] = (slow / time(kind)) as f32;
            }
        }
        speedup
    }
}

fn character(machine: &Machine, phase: &Phase) -> Character {
    let slow = machine.slowest();
    let at_top = |kind: KindId| phase.top_speed(machine, kind);
    let mut speedup = PerKind::all(1.0);
    for rank in 0..machine.kinds.len() {
        let kind = KindId(rank as u8);
        speedup[kind] = (at_top(kind) / at_top(slow)) as f32;
    }
    Character {
        bytes: phase.bytes(machine),
        insensitive: phase.insensitive(machine),
        working_set: phase.working_set,
        speedup,
    }
}

/// Shares a bandwidth among demands, max-min fair: a demand below an equal share is met
/// all, the rest share what is left equally. Writes to `granted`, in the order of `demands`.
pub fn share(bandwidth: f64, demands: &[f64], order: &mut Vec<u32>, granted: &mut Vec<f64>) {
    granted.clear();
    granted.extend_from_slice(demands);
    if demands.iter().sum::<f64>() <= bandwidth {
        return;
    }
    order.clear();
    order.extend(0..demands.len() as u32);
    order.sort_by(|&a, &b| demands[a as usize].total_cmp(&demands[b as usize]).then(a.cmp(&b)));
    let mut left = bandwidth;
    for (done, &i) in order.iter().enumerate() {
        let level = left / (demands.len() - done) as f64;
        granted[i as usize] = demands[i as usize].min(level);
        left -= granted[i as usize];
    }
}

/// The highest operating point of a cluster's kind that does not exceed a clock; the lowest where
/// all do.
pub fn point_for(machine: &Machine, cluster: ClusterId, khz: u64) -> usize {
    let opps = &machine.kinds[machine.clusters[cluster.index()].kind.index()].opps;
    opps.iter().rposition(|opp| opp.khz <= khz).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shared(bandwidth: f64, demands: &[f64]) -> Vec<f64> {
        let mut granted = Vec::new();
        share(bandwidth, demands, &mut Vec::new(), &mut granted);
        granted
    }

    #[test]
    fn who_wants_little_gets_it_and_the_rest_share_equally() {
        assert_eq!(shared(10.0, &[1.0, 20.0, 20.0]), [1.0, 4.5, 4.5]);
        assert_eq!(shared(10.0, &[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
    }

    proptest! {
        #[test]
        fn all_of_a_scarce_bandwidth_is_given_and_nobody_gets_more_than_asked(
            demands in prop::collection::vec(0.0f64..100.0, 1..20), bandwidth in 1.0f64..500.0,
        ) {
            let granted = shared(bandwidth, &demands);
            let total: f64 = granted.iter().sum();
            prop_assert!((total - bandwidth.min(demands.iter().sum())).abs() < 1e-6);
            for (granted, demand) in granted.iter().zip(&demands) {
                prop_assert!(granted <= demand);
            }
        }
    }
}
