//! How often the kernel side has been loaded anew, and whether it may be once more.

use evenkeel_machine::Nanos;

/// How often, at most, in a row: where CPUs come and go faster than a scheduler is loaded, it is to
/// end at last.
const MAX_RESTARTS_IN_A_ROW: u32 = 100;
/// Whatever has run for so long since has done its work: a machine that sleeps every night takes
/// its CPUs away each time.
const WORKING_TIME: Nanos = Nanos::from_secs(10);

/// Counts how often the scheduler has been loaded anew, and when not to any more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restarts {
    all: u32,
    in_a_row: u32,
    last: Nanos,
}

impl Restarts {
    /// Restarts so far.
    pub fn all(self) -> u32 {
        self.all
    }

    /// True if the scheduler may be loaded anew at this time; that then counts as done.
    pub fn once_more(&mut self, at: Nanos) -> bool {
        if at.saturating_sub(self.last) >= WORKING_TIME {
            self.in_a_row = 0;
        }
        if self.in_a_row >= MAX_RESTARTS_IN_A_ROW {
            return false;
        }
        self.last = at;
        self.in_a_row += 1;
        self.all += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_that_does_not_get_to_work_ends() {
        let mut restarts = Restarts::default();
        let at = |i: u32| Nanos::from_millis(u64::from(i) * 500);
        assert!((0..MAX_RESTARTS_IN_A_ROW).all(|i| restarts.once_more(at(i))));
        assert!(!restarts.once_more(at(MAX_RESTARTS_IN_A_ROW)));
    }

    #[test]
    fn a_machine_that_sleeps_every_night_wakes_with_its_scheduler() {
        let mut restarts = Restarts::default();
        for day in 1..=1_000 {
            // Seven CPUs go, and come back.
            assert!((0..14).all(|cpu| restarts.once_more(Nanos::from_secs(day * 86_400 + cpu))));
        }
        assert_eq!(restarts.all(), 14_000);
    }
}
