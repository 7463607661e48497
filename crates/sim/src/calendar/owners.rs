//! Which slot of the calendar belongs to what.

use evenkeel_policy::ThreadId;

use crate::calendar::slots::Slot;

/// What owns a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The policy's timer.
    Timer,
    /// Power sensors are read.
    Sensors,
    /// Counters are read.
    Counters,
    /// The run ends.
    End,
    /// A late answer of the policy.
    Answer,
    /// The governor of a cluster.
    Governor(usize),
    /// An application is cut off.
    App(usize),
    /// The work or slice of a core ends.
    Core(usize),
    /// A thread starts, or wakes by time.
    Thread(ThreadId),
}

/// The slots of a run: some of its own, then one for each cluster, application, core and thread.
#[derive(Clone, Copy, Debug)]
pub struct Owners {
    apps: u32,
    cores: u32,
    threads: u32,
}

impl Owners {
    pub const TIMER: Slot = Slot(0);
    pub const SENSORS: Slot = Slot(1);
    pub const END: Slot = Slot(2);
    pub const ANSWER: Slot = Slot(3);
    pub const COUNTERS: Slot = Slot(4);
    const GOVERNORS: u32 = 5;

    /// For so many clusters, applications and cores. Threads come and go.
    pub fn new(clusters: usize, apps: usize, cores: usize) -> Self {
        let first_app = Self::GOVERNORS + clusters as u32;
        let first_core = first_app + apps as u32;
        Self { apps: first_app, cores: first_core, threads: first_core + cores as u32 }
    }

    /// How many slots there are with so many threads.
    pub fn count(&self, threads: usize) -> usize {
        self.threads as usize + threads
    }

    pub fn governor(&self, cluster: usize) -> Slot {
        Slot(Self::GOVERNORS + cluster as u32)
    }

    pub fn app(&self, app: usize) -> Slot {
        Slot(self.apps + app as u32)
    }

    #[inline]
    pub fn core(&self, core: usize) -> Slot {
        Slot(self.cores + core as u32)
    }

    #[inline]
    pub fn thread(&self, thread: ThreadId) -> Slot {
        Slot(self.threads + thread.0)
    }

    /// The owner of a slot.
    #[inline]
    pub fn of(&self, slot: Slot) -> Owner {
        match slot {
            Slot(slot) if slot >= self.threads => Owner::Thread(ThreadId(slot - self.threads)),
            Slot(slot) if slot >= self.cores => Owner::Core((slot - self.cores) as usize),
            Self::TIMER => Owner::Timer,
            Self::SENSORS => Owner::Sensors,
            Self::END => Owner::End,
            Self::ANSWER => Owner::Answer,
            Self::COUNTERS => Owner::Counters,
            Slot(slot) if slot >= self.apps => Owner::App((slot - self.apps) as usize),
            Slot(slot) => Owner::Governor((slot - Self::GOVERNORS) as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_one_owner() {
        let owners = Owners::new(2, 3, 4);
        let expected = [Owner::Timer, Owner::Sensors, Owner::End, Owner::Answer, Owner::Counters]
            .into_iter()
            .chain((0..2).map(Owner::Governor))
            .chain((0..3).map(Owner::App))
            .chain((0..4).map(Owner::Core))
            .chain((0..5).map(|thread| Owner::Thread(ThreadId(thread))));
        let slots = (0..owners.count(5) as u32).map(|slot| owners.of(Slot(slot)));
        assert!(slots.eq(expected));
        assert_eq!(owners.of(owners.governor(1)), Owner::Governor(1));
        assert_eq!(owners.of(owners.app(2)), Owner::App(2));
        assert_eq!(owners.of(owners.core(3)), Owner::Core(3));
        assert_eq!(owners.of(owners.thread(ThreadId(9))), Owner::Thread(ThreadId(9)));
    }
}
