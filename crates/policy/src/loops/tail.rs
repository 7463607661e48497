//! The tail rule: near the end of a loop a slow worker leaves the rest to faster ones if they
//! finish it sooner than it would finish one chunk.
//!
//! ```text
//! leave    if all that is left (the chunk in question included), dealt in such chunks to the
//!          faster worker at work that is free first, ends before
//!          now + chunk x (time per iteration here)
//! ```
//!
//! The same as the rule of `steal-kind` for tasks. It matters if iterations are long: of 128 equal
//! ones on a fast core and one of a third of its speed, the slow core's last would keep the fast
//! one waiting for two thirds of it. Equal ends are no reason to leave anything.

use evenkeel_machine::Nanos;

/// A faster worker that is at work in the loop.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Faster {
    /// When it should be done with its present chunk.
    pub free_at: Nanos,
    /// Its time for one iteration, nanoseconds.
    pub pace: f64,
}

/// True if a worker that would end a chunk of `chunk` iterations at `own_end` should leave it.
/// `left`: iterations that no worker has taken yet, including those.
pub fn leaves(own_end: Nanos, chunk: u64, left: u64, faster: &mut [Faster]) -> bool {
    let mut left = left;
    while left > 0 {
        let Some(first) = faster.iter_mut().min_by_key(|it| it.free_at) else { return false };
        let count = left.min(chunk.max(1));
        // At least a nanosecond, so that iterations of no time are not dealt one by one.
        let time = ((count as f64 * first.pace).round() as u64).max(1);
        first.free_at = first.free_at.saturating_add(Nanos(time));
        if first.free_at >= own_end {
            return false;
        }
        left -= count;
    }
    !faster.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One fast worker, free at 5, that takes 10 for an iteration.
    fn leaves_to_one(own_end: u64, left: u64) -> bool {
        leaves(Nanos(own_end), 1, left, &mut [Faster { free_at: Nanos(5), pace: 10.0 }])
    }

    #[test]
    fn the_last_iteration_is_left_to_a_worker_that_ends_it_sooner() {
        assert!(leaves_to_one(30, 1));
        assert!(!leaves_to_one(15, 1), "equal ends");
        assert!(!leaves_to_one(12, 1));
    }

    #[test]
    fn a_slow_worker_takes_its_part_while_there_is_enough_for_all() {
        assert!(leaves_to_one(30, 2));
        assert!(!leaves_to_one(30, 3));
        assert!(!leaves_to_one(30, u64::MAX));
    }

    #[test]
    fn what_is_left_is_dealt_to_all_faster_workers() {
        let mut faster =
            [Faster { free_at: Nanos(0), pace: 10.0 }, Faster { free_at: Nanos(0), pace: 20.0 }];
        // The faster one ends its third at 30 and the other its second at 40.
        assert!(leaves(Nanos(31), 1, 4, &mut faster.clone()));
        assert!(!leaves(Nanos(31), 1, 5, &mut faster));
    }

    #[test]
    fn iterations_that_take_no_time_are_not_dealt_one_by_one() {
        assert!(!leaves(Nanos(1_000), 1, u64::MAX, &mut [Faster { free_at: Nanos(5), pace: 0.1 }]));
    }

    #[test]
    fn where_nobody_faster_is_at_work_nothing_is_left() {
        assert!(!leaves(Nanos::MAX, 1, 1, &mut []));
    }
}
