//! Three separable choices, named assignment-wake-balance. Every assignment can be combined with
//! every wake-up and every balance: 64 policies.
//!
//! | assignment, when a thread starts | |
//! | --- | --- |
//! | `aua` | the core with the fewest threads |
//! | `fca` | an idle core, the fastest first; none idle: the fewest threads, the fastest first |
//! | `aaa` | the core whose scaled load is least after adding: (threads + 1) / capacity; ties to the slowest |
//! | `age` | all threads are dealt again, see [`ageing`]; with 8 threads a core or more the new one goes as under `aaa`, until the next balance |
//!
//! | wake-up | |
//! | --- | --- |
//! | `pw` | the previous core |
//! | `fw` | the least loaded core of the fastest kind |
//! | `iw` | the previous core if idle, else an idle one of its kind, else any idle one, else the previous |
//! | `sw` | an idle core, kind by kind from the fastest, the previous one first within its kind; else the previous |
//!
//! | balance, every `interval` | |
//! | --- | --- |
//! | `aub` | equal counts: waiting threads go from the most to the fewest |
//! | `rrb` | one thread on a slow core trades places with one on a fast core, both in turn |
//! | `aab` | waiting threads move until greatest and least scaled load are within 1 (capacity of the slowest kind: 1) |
//! | `age` | all threads are dealt again, and also whenever a core goes idle |
//!
//! Ties go to the lowest core number, within a kind with SMT to first siblings. Under `aub`, `rrb`
//! and `aab` an idle core pulls a thread that waits elsewhere, from the queue with the greatest
//! load, as Linux does. Within a core threads take turns by virtual time and weight, with slices of
//! `interval`. With three or more kinds `fast` is the fastest and `slow` every other; capacities
//! count as they are.
//!
//! Combinations with names: `lin` = aua-iw-aub, `scaled-load` = aaa-iw-aab (Li, Baumberger,
//! Koufaty, Hahn, SC 2007), `rr` = aua-iw-rrb, `fca-age` = fca-sw-age, `age` = age-sw-age
//! (Lakshminarayana, Lee, Kim, SC 2009).
//!
//! Knobs: `interval` (10 ms); with `age` in it also those of [`ageing`].

use crate::contract::{Knob, Knobs, Policy};
use crate::entry::{Entry, Trait};

pub mod ageing;
mod few;
mod groups;
mod policy;
mod rounds;
mod table;

pub use policy::Combination;

/// Where a thread that starts goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// `aua`: fewest threads.
    FewestThreads,
    /// `fca`: an idle core, fastest first.
    FastCoreFirst,
    /// `aaa`: least scaled load after adding.
    LeastScaledLoad,
    /// `age`: all threads are dealt again.
    Age,
}

/// Where a thread that wakes goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// `pw`: previous core.
    Previous,
    /// `fw`: least loaded core of the fastest kind.
    Fast,
    /// `iw`: idle core, else previous.
    Idle,
    /// `sw`: idle core, fastest first, else previous.
    FastIdle,
}

/// What happens at every interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// `aub`: equal counts.
    EqualCounts,
    /// `rrb`: slow and fast trade places in turn.
    RoundRobin,
    /// `aab`: scaled loads within 1.
    ScaledLoad,
    /// `age`: all threads are dealt again.
    Age,
}

/// The three choices of one combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// When a thread starts.
    pub assignment: Assignment,
    /// When it wakes.
    pub wake: Wake,
    /// At every interval.
    pub balance: Balance,
}

const INTERVAL: Knob = Knob::Number {
    name: "interval",
    default: 10.0,
    bounds: (0.1, 10_000.0),
    unit: "ms",
    about: "time between balances, and slice of a thread (Lakshminarayana et al., SC 2009)",
};

const PLAIN_KNOBS: &[Knob] = &[INTERVAL];
const AGE_KNOBS: &[Knob] = &[INTERVAL, ageing::PREDICTION, ageing::ORDER, ageing::MILESTONES];

impl Choices {
    const LIN: Self = Self::new(Assignment::FewestThreads, Wake::Idle, Balance::EqualCounts);
    const SCALED_LOAD: Self =
        Self::new(Assignment::LeastScaledLoad, Wake::Idle, Balance::ScaledLoad);
    const RR: Self = Self::new(Assignment::FewestThreads, Wake::Idle, Balance::RoundRobin);
    const FCA_AGE: Self = Self::new(Assignment::FastCoreFirst, Wake::FastIdle, Balance::Age);
    const AGE: Self = Self::new(Assignment::Age, Wake::FastIdle, Balance::Age);

    const fn new(assignment: Assignment, wake: Wake, balance: Balance) -> Self {
        Self { assignment, wake, balance }
    }

    /// From a name of three parts, such as `aua-iw-aub`; `None` if it is none.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut parts = name.split('-');
        let assignment = match parts.next()? {
            "aua" => Assignment::FewestThreads,
            "fca" => Assignment::FastCoreFirst,
            "aaa" => Assignment::LeastScaledLoad,
            "age" => Assignment::Age,
            _ => return None,
        };
        let wake = match parts.next()? {
            "pw" => Wake::Previous,
            "fw" => Wake::Fast,
            "iw" => Wake::Idle,
            "sw" => Wake::FastIdle,
            _ => return None,
        };
        let balance = match parts.next()? {
            "aub" => Balance::EqualCounts,
            "rrb" => Balance::RoundRobin,
            "aab" => Balance::ScaledLoad,
            "age" => Balance::Age,
            _ => return None,
        };
        parts.next().is_none().then_some(Self { assignment, wake, balance })
    }

    /// True if threads are dealt by age at some time.
    pub fn by_age(self) -> bool {
        self.assignment == Assignment::Age || self.balance == Balance::Age
    }

    /// The knobs of this combination.
    pub fn knobs(self) -> &'static [Knob] {
        if self.by_age() { AGE_KNOBS } else { PLAIN_KNOBS }
    }

    /// Makes the policy.
    pub fn make(self, knobs: &Knobs) -> Box<dyn Policy> {
        Box::new(Combination::new(self, knobs))
    }
}

/// Entry of `lin` in the registry.
pub const LIN: Entry = Entry {
    name: "lin",
    summary: "unaware: fewest threads, idle core at wake-up, equal counts (aua-iw-aub)",
    source: "Lakshminarayana, Lee, Kim, SC 2009 (its Linux baseline)",
    traits: &[Trait::WorkConserving],
    knobs: PLAIN_KNOBS,
    make: |knobs, _| Choices::LIN.make(knobs),
};

/// Entry of `scaled-load` in the registry.
pub const SCALED_LOAD: Entry = Entry {
    name: "scaled-load",
    summary: "queues as long as their core is fast (aaa-iw-aab)",
    source: "Li, Baumberger, Koufaty, Hahn, SC 2007",
    traits: &[Trait::WorkConserving],
    knobs: PLAIN_KNOBS,
    make: |knobs, _| Choices::SCALED_LOAD.make(knobs),
};

/// Entry of `rr` in the registry.
pub const RR: Entry = Entry {
    name: "rr",
    summary: "threads take the fast cores in turn (aua-iw-rrb)",
    source: "Lakshminarayana, Lee, Kim, SC 2009 (its round-robin baseline)",
    traits: &[Trait::WorkConserving, Trait::ByNumber],
    knobs: PLAIN_KNOBS,
    make: |knobs, _| Choices::RR.make(knobs),
};

/// Entry of `fca-age` in the registry.
pub const FCA_AGE: Entry = Entry {
    name: "fca-age",
    summary: "fast core first, then longest job to the fast core (fca-sw-age)",
    source: "Lakshminarayana, Lee, Kim, SC 2009",
    traits: &[],
    knobs: AGE_KNOBS,
    make: |knobs, _| Choices::FCA_AGE.make(knobs),
};

/// Entry of `age` in the registry.
pub const AGE: Entry = Entry {
    name: "age",
    summary: "longest job to the fast core first (age-sw-age)",
    source: "Lakshminarayana, Lee, Kim, SC 2009",
    traits: &[],
    knobs: AGE_KNOBS,
    make: |knobs, _| Choices::AGE.make(knobs),
};

#[cfg(test)]
mod tests;
