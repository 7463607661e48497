//! How long a worker that has nothing to do looks before it sleeps. README.md, "Sleep and wake".

use std::cell::Cell;
use std::time::Duration;

use crate::team::Team;

/// Unless there is a reason to look for longer: about what it costs to be woken, so that looking at
/// most doubles the price (Karlin et al., "Competitive snoopy caching", Algorithmica 3, 1988).
pub const LOOKING: Duration = Duration::from_micros(50);
/// And where there is: the price is not the sleeper's alone, for whoever wakes it loses as much, in
/// the midst of the work.
const LONGER: Duration = Duration::from_micros(250);

/// See the file's head. As long as the last wait suggests (Karlin et al., "Empirical studies of
/// competitive spinning for a shared-memory multiprocessor", SOSP 1991).
#[derive(Default)]
pub struct Patience {
    /// Whether it has a core that no other worker is on.
    is_alone: bool,
    looks_longer: Cell<bool>,
}

impl Patience {
    /// Of a worker of this team.
    pub fn of(team: &Team, worker: usize) -> Self {
        Self { is_alone: team.has_own_core(worker), looks_longer: Cell::new(false) }
    }

    /// So long it looks.
    pub fn span(&self) -> Duration {
        if self.looks_longer.get() { LONGER } else { LOOKING }
    }

    /// It has slept, and been without work for so long.
    pub fn slept(&self, waited: Duration) {
        self.looks_longer.set(self.is_alone && waited < LONGER);
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
    fn who_would_have_found_work_by_looking_longer_does_so_the_next_time_and_until_it_is_in_vain() {
        let patience = Patience::of(&team(&[Some(0), Some(1)]), 1);
        assert_eq!(patience.span(), LOOKING);
        patience.slept(LONGER / 2);
        assert_eq!(patience.span(), LONGER);
        patience.slept(LONGER);
        assert_eq!(patience.span(), LOOKING);
    }

    #[test]
    fn who_shares_a_core_or_has_none_of_its_own_does_not() {
        for cpus in [[Some(0), Some(0)], [None, None]] {
            let patience = Patience::of(&team(&cpus), 1);
            patience.slept(LONGER / 2);
            assert_eq!(patience.span(), LOOKING, "{cpus:?}");
        }
    }
}
