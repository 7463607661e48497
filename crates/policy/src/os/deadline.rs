//! Virtual deadlines, for policies that run the earliest first.
//!
//! ```text
//! due = now + ratio(nice) x slice,
//! ratio(-20) = 1, a tenth more with each nice level (in 128ths, rounded down; nice 0: 6.53)
//! ```
//!
//! A deadline is set when a thread starts and whenever it has used up a slice. The thread keeps it,
//! and the rest of its slice, when it is preempted or sleeps: one that sleeps much is overdue when
//! it wakes, and goes first.
//!
//! A thread that was taken off a core and is still the last that the core ran *sticks* to it: for
//! other cores it is due later, by one slice in the same cluster, by two elsewhere.
//!
//! Source: BFS (Con Kolivas, 2009), `prio_ratios`, `prio_deadline_diff`, `sticky_task`.

use evenkeel_machine::Nanos;

use crate::contract::{Knob, Knobs, Order, Preemption, Slice};
use crate::weight::nice_of;

/// A thread that is due earlier preempts, unless its waker is about to wait itself (`ttwu_activate`
/// of BFS).
pub const PREEMPTION: Preemption = Preemption { margin: 0, synchronous: false };

/// Time that a thread runs while others wait.
pub const SLICE: Knob = Knob::Number {
    name: "slice",
    default: 6.0,
    bounds: (0.1, 1_000.0),
    unit: "ms",
    about: "how long a thread runs while others wait; deadlines are multiples of it (BFS, \
            rr_interval)",
};

/// Denominator of ratios.
const UNIT: u64 = 128;

/// Ratios by nice value from -20.
const RATIOS: [u64; 40] = {
    let mut ratios = [UNIT; 40];
    let mut i = 1;
    while i < ratios.len() {
        ratios[i] = ratios[i - 1] * 11 / 10;
        i += 1;
    }
    ratios
};

/// Deadlines in multiples of one slice.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines(Nanos);

impl Deadlines {
    /// From the value of [`SLICE`].
    pub fn of(knobs: &Knobs) -> Self {
        Self(knobs.millis("slice"))
    }

    /// The slice.
    pub const fn slice(self) -> Nanos {
        self.0
    }

    /// Time from now to the deadline of a thread of this weight.
    pub fn span(self, weight: u32) -> Nanos {
        Nanos(self.0.0 * RATIOS[(nice_of(weight) + 20) as usize] / UNIT)
    }

    /// Order of a thread that is due at `at`.
    pub fn order(self, weight: u32, at: Nanos) -> Order {
        Order::Deadline {
            at,
            renew: self.span(weight),
            postpone: [Nanos::ZERO, self.0, Nanos(2 * self.0.0)],
        }
    }

    /// Order of a thread whose slice begins.
    pub fn order_from(self, weight: u32, now: Nanos) -> Order {
        self.order(weight, now.saturating_add(self.span(weight)))
    }

    /// The slice as granted: the rest of it survives preemption and sleep.
    pub const fn grant(self) -> Slice {
        Slice { carry: true, ..Slice::of(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weight::weight_of;

    #[test]
    fn a_deadline_is_a_slice_away_at_nice_minus_20_and_a_tenth_further_with_each_level() {
        let deadlines = Deadlines(Nanos(128_000));
        assert_eq!(
            [-20, -19, -18, 0].map(|nice| deadlines.span(weight_of(nice))),
            [128, 140, 154, 836].map(|at| Nanos(at * 1000))
        );
        assert!(
            (-20..19)
                .all(|nice| deadlines.span(weight_of(nice)) < deadlines.span(weight_of(nice + 1)))
        );
    }
}
