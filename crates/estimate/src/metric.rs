//! What counters count, and the metrics that are made of it.

use std::fmt;

/// What a counter counts. Names are those of perf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Event {
    /// Instructions retired.
    Instructions,
    /// Cycles in which the core ran.
    Cycles,
    /// Requests to the last level of cache.
    CacheReferences,
    /// Misses of the last level of cache.
    CacheMisses,
    /// Branches retired.
    Branches,
    /// Branches that were predicted wrongly.
    BranchMisses,
    /// Loads that missed the first-level data cache.
    L1dMisses,
    /// Fetches that missed the first-level instruction cache.
    L1iMisses,
    /// Loads that missed the data TLB.
    DtlbMisses,
    /// Fetches that missed the instruction TLB.
    ItlbMisses,
    /// Cycles in which the front end delivered nothing.
    FrontendStalls,
    /// Cycles in which the back end took nothing.
    BackendStalls,
}

/// Number of events.
const EVENTS: usize = 12;

impl Event {
    /// All events.
    pub const ALL: [Self; EVENTS] = [
        Self::Instructions,
        Self::Cycles,
        Self::CacheReferences,
        Self::CacheMisses,
        Self::Branches,
        Self::BranchMisses,
        Self::L1dMisses,
        Self::L1iMisses,
        Self::DtlbMisses,
        Self::ItlbMisses,
        Self::FrontendStalls,
        Self::BackendStalls,
    ];

    /// The name that perf has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::CacheReferences => "cache-references",
            Self::CacheMisses => "cache-misses",
            Self::Branches => "branches",
            Self::BranchMisses => "branch-misses",
            Self::L1dMisses => "L1-dcache-load-misses",
            Self::L1iMisses => "L1-icache-load-misses",
            Self::DtlbMisses => "dTLB-load-misses",
            Self::ItlbMisses => "iTLB-load-misses",
            Self::FrontendStalls => "stalled-cycles-frontend",
            Self::BackendStalls => "stalled-cycles-backend",
        }
    }

    /// The event of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How often each event happened, of those that were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    counted: u16,
    counts: [u64; EVENTS],
}

impl Counts {
    /// How often the event happened. `None` if it was not counted.
    #[must_use]
    pub const fn get(&self, event: Event) -> Option<u64> {
        if self.counted & event.bit() == 0 {
            return None;
        }
        Some(self.counts[event as usize])
    }

    /// The event was counted, and happened so often.
    pub const fn set(&mut self, event: Event, count: u64) {
        self.counted |= event.bit();
        self.counts[event as usize] = count;
    }

    /// Events that were counted.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        Event::ALL.into_iter().filter(|event| self.counted & event.bit() != 0)
    }

    /// The sum of both, of what both have counted.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let counted = self.counted & other.counted;
        let counts = std::array::from_fn(|i| self.counts[i].saturating_add(other.counts[i]));
        Self { counted, counts }
    }
}

/// A property of a thread's execution on a kind of core, from two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Metric {
    /// Instructions per cycle.
    Ipc,
    /// Last-level-cache misses per 1,000 instructions.
    LlcMisses,
    /// Last-level-cache requests per 1,000 instructions.
    LlcRequests,
    /// First-level data-cache misses per 1,000 instructions.
    L1dMisses,
    /// First-level instruction-cache misses per 1,000 instructions.
    L1iMisses,
    /// Part of the branches that were predicted wrongly.
    BranchMissRate,
    /// Branches per 1,000 instructions.
    Branches,
    /// Data-TLB misses per million instructions.
    DtlbMisses,
    /// Instruction-TLB misses per million instructions.
    ItlbMisses,
    /// Part of the cycles in which the front end delivered nothing.
    FrontendStalls,
    /// Part of the cycles in which the back end took nothing.
    BackendStalls,
}

/// Number of metrics.
pub const METRICS: usize = 11;

impl Metric {
    /// All metrics.
    pub const ALL: [Self; METRICS] = [
        Self::Ipc,
        Self::LlcMisses,
        Self::LlcRequests,
        Self::L1dMisses,
        Self::L1iMisses,
        Self::BranchMissRate,
        Self::Branches,
        Self::DtlbMisses,
        Self::ItlbMisses,
        Self::FrontendStalls,
        Self::BackendStalls,
    ];

    /// Name in files and flags.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipc => "ipc",
            Self::LlcMisses => "llc-misses",
            Self::LlcRequests => "llc-requests",
            Self::L1dMisses => "l1d-misses",
            Self::L1iMisses => "l1i-misses",
            Self::BranchMissRate => "branch-miss-rate",
            Self::Branches => "branches",
            Self::DtlbMisses => "dtlb-misses",
            Self::ItlbMisses => "itlb-misses",
            Self::FrontendStalls => "frontend-stalls",
            Self::BackendStalls => "backend-stalls",
        }
    }

    /// The metric of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// What it is counted by, in words.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Ipc => "instructions per cycle",
            Self::LlcMisses
            | Self::LlcRequests
            | Self::L1dMisses
            | Self::L1iMisses
            | Self::Branches => "per 1,000 instructions",
            Self::BranchMissRate => "of all branches",
            Self::DtlbMisses | Self::ItlbMisses => "per million instructions",
            Self::FrontendStalls | Self::BackendStalls => "of all cycles",
        }
    }

    /// The event above the line, the one below, and what their ratio is multiplied by.
    const fn made_of(self) -> (Event, Event, f64) {
        let per = Event::Instructions;
        match self {
            Self::Ipc => (Event::Instructions, Event::Cycles, 1.0),
            Self::LlcMisses => (Event::CacheMisses, per, 1e3),
            Self::LlcRequests => (Event::CacheReferences, per, 1e3),
            Self::L1dMisses => (Event::L1dMisses, per, 1e3),
            Self::L1iMisses => (Event::L1iMisses, per, 1e3),
            Self::BranchMissRate => (Event::BranchMisses, Event::Branches, 1.0),
            Self::Branches => (Event::Branches, per, 1e3),
            Self::DtlbMisses => (Event::DtlbMisses, per, 1e6),
            Self::ItlbMisses => (Event::ItlbMisses, per, 1e6),
            Self::FrontendStalls => (Event::FrontendStalls, Event::Cycles, 1.0),
            Self::BackendStalls => (Event::BackendStalls, Event::Cycles, 1.0),
        }
    }

    /// The events that it takes.
    #[must_use]
    pub const fn events(self) -> [Event; 2] {
        let (above, below, _) = self.made_of();
        [above, below]
    }

    /// Its value. `None` if one of its events was not counted. Where the event below the line never
    /// happened it is 0: no branch was predicted wrongly where there was none.
    #[must_use]
    pub fn of(self, counts: &Counts) -> Option<f64> {
        let (above, below, scale) = self.made_of();
        let (above, below) = (counts.get(above)?, counts.get(below)?);
        Some(if below == 0 { 0.0 } else { above as f64 / below as f64 * scale })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A value for each metric, by [`Metric::ALL`]; 0 for those that are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MetricValues(pub [f64; METRICS]);

impl std::ops::Index<Metric> for MetricValues {
    type Output = f64;

    fn index(&self, metric: Metric) -> &f64 {
        &self.0[metric as usize]
    }
}

impl std::ops::IndexMut<Metric> for MetricValues {
    fn index_mut(&mut self, metric: Metric) -> &mut f64 {
        &mut self.0[metric as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_events_and_metrics_and_both_stand_at_their_index() {
        for (i, event) in Event::ALL.into_iter().enumerate() {
            assert_eq!((Event::named(event.name()), event as usize), (Some(event), i));
        }
        for (i, metric) in Metric::ALL.into_iter().enumerate() {
            assert_eq!((Metric::named(metric.name()), metric as usize), (Some(metric), i));
        }
        assert_eq!((Event::named("instrs"), Metric::named("IPC")), (None, None));
    }

    #[test]
    fn a_metric_is_known_only_if_both_its_events_were_counted() {
        let mut counts = Counts::default();
        counts.set(Event::Instructions, 2_000_000);
        assert_eq!((Metric::Ipc.of(&counts), Metric::LlcMisses.of(&counts)), (None, None));
        counts.set(Event::Cycles, 1_000_000);
        counts.set(Event::CacheMisses, 3_000);
        counts.set(Event::Branches, 0);
        counts.set(Event::BranchMisses, 0);
        assert_eq!(Metric::Ipc.of(&counts), Some(2.0));
        assert_eq!(Metric::LlcMisses.of(&counts), Some(1.5));
        assert_eq!(Metric::BranchMissRate.of(&counts), Some(0.0));
    }

    #[test]
    fn a_sum_has_what_both_have_counted() {
        let mut a = Counts::default();
        a.set(Event::Cycles, 5);
        a.set(Event::Branches, 1);
        let mut b = Counts::default();
        b.set(Event::Cycles, u64::MAX);
        let sum = a.plus(&b);
        assert_eq!(sum.events().collect::<Vec<_>>(), [Event::Cycles]);
        assert_eq!(sum.get(Event::Cycles), Some(u64::MAX));
    }
}
