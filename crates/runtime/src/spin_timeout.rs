//! The spin timeout: how long an idle worker looks for work before it sleeps. See sleep/README.md.

use std::cell::Cell;
use std::time::Duration;

use crate::team::Team;

/// The usual span: about what it costs to be woken, so that looking at most doubles the price
/// (Karlin et al., "Competitive snoopy caching", Algorithmica 3, 1988).
pub const SPIN_TIMEOUT: Duration = Duration::from_micros(50);
/// The longer span: the price is not the sleeper's alone, for the thread that wakes it loses as
/// much, in the midst of its work.
const EXTENDED: Duration = Duration::from_micros(250);

/// How long a worker looks before it sleeps: as long as its last wait suggests (Karlin et al.,
/// "Empirical studies of competitive spinning for a shared-memory multiprocessor", SOSP 1991).
#[derive(Default)]
pub struct SpinTimeout {
    /// True if no other worker is on its core.
    is_alone: bool,
    is_extended: Cell<bool>,
}

impl SpinTimeout {
    /// The timeout of a worker of this team.
    pub fn of(team: &Team, worker: usize) -> Self {
        Self { is_alone: team.has_own_core(worker), is_extended: Cell::new(false) }
    }

    /// How long it looks before it sleeps.
    pub fn span(&self) -> Duration {
        if self.is_extended.get() { EXTENDED } else { SPIN_TIMEOUT }
    }

    /// Notes a sleep: the worker was without work for so long.
    pub fn slept(&self, waited: Duration) {
        self.is_extended.set(self.is_alone && waited < EXTENDED);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::team::Place;
    use evenkeel_machine::KindId;

    fn team(cpus: &[Option<u32>]) -> Team {
        let places = cpus.iter().map(|&cpu| Place { kind: KindId(0), cpu }).collect();
        Team { kinds: Vec::new(), places, lends: true }
    }

    #[test]
    fn a_worker_that_slept_too_soon_looks_longer_until_that_is_in_vain() {
        let timeout = SpinTimeout::of(&team(&[Some(0), Some(1)]), 1);
        assert_eq!(timeout.span(), SPIN_TIMEOUT);
        timeout.slept(EXTENDED / 2);
        assert_eq!(timeout.span(), EXTENDED);
        timeout.slept(EXTENDED);
        assert_eq!(timeout.span(), SPIN_TIMEOUT);
    }

    #[test]
    fn a_worker_that_shares_a_core_or_has_none_of_its_own_does_not() {
        for cpus in [[Some(0), Some(0)], [None, None]] {
            let timeout = SpinTimeout::of(&team(&cpus), 1);
            timeout.slept(EXTENDED / 2);
            assert_eq!(timeout.span(), SPIN_TIMEOUT, "{cpus:?}");
        }
    }
}
