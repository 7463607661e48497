//! The kinds of core that workers are on, as far as a policy can know.
//!
//! A graph is started for workers that are expected on kinds ([`Team::kinds`]), its *slots*. A
//! worker shows its kind when it asks for a task; the first time it takes the first free slot of
//! that kind or, if there is none, the first free one. A free slot stands for a worker that is
//! still to come.

use evenkeel_machine::KindId;

use super::{Team, WorkerId};

/// Slots and their workers; the module's head explains them.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    /// By slot, the kind where its worker was seen last or is expected.
    kinds: Vec<KindId>,
    /// By slot: true if a worker has it.
    taken: Vec<bool>,
    /// By worker, its slot.
    slots: Vec<Option<usize>>,
}

impl Roster {
    /// No worker has come yet.
    pub fn new(team: &Team) -> Self {
        let workers = team.kinds.len();
        Self { kinds: team.kinds.clone(), taken: vec![false; workers], slots: vec![None; workers] }
    }

    /// A worker asks on a core of this kind. Returns its slot, or none if the team has no such
    /// worker.
    pub fn seen(&mut self, worker: WorkerId, kind: KindId) -> Option<usize> {
        let known = *self.slots.get(worker.index())?;
        let free = |alike: bool| {
            let slots = self.kinds.iter().zip(&self.taken);
            slots.enumerate().position(|(_, (&it, &taken))| !taken && (!alike || it == kind))
        };
        let slot = known.or_else(|| free(true)).or_else(|| free(false))?;
        self.slots[worker.index()] = Some(slot);
        self.taken[slot] = true;
        self.kinds[slot] = kind;
        Some(slot)
    }

    /// The slot of a worker that has been seen.
    pub fn slot(&self, worker: WorkerId) -> Option<usize> {
        self.slots.get(worker.index()).copied().flatten()
    }

    /// Kinds by slot.
    pub fn kinds(&self) -> &[KindId] {
        &self.kinds
    }

    /// Kind of a worker that has been seen.
    pub fn kind(&self, worker: WorkerId) -> Option<KindId> {
        self.slot(worker).map(|slot| self.kinds[slot])
    }

    /// The fastest kind that a worker is on, or is expected on.
    pub fn fastest(&self) -> Option<KindId> {
        self.kinds.iter().copied().min()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::team;
    use super::*;

    #[test]
    fn a_worker_takes_the_slot_of_its_kind_and_keeps_it_when_it_moves() {
        let mut roster = Roster::new(&team(&[0, 1, 1]));
        assert_eq!(roster.seen(WorkerId(0), KindId(1)), Some(1));
        assert_eq!(roster.fastest(), Some(KindId(0)));
        assert_eq!(roster.seen(WorkerId(1), KindId(0)), Some(0));
        assert_eq!(roster.seen(WorkerId(1), KindId(1)), Some(0));
        assert_eq!(
            (roster.fastest(), roster.kind(WorkerId(1))),
            (Some(KindId(1)), Some(KindId(1)))
        );
        assert_eq!(roster.seen(WorkerId(2), KindId(0)), Some(2));
        assert_eq!(roster.seen(WorkerId(3), KindId(0)), None);
    }
}
