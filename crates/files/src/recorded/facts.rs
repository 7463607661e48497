//! Facts about a run: threads took and left cores, woke others, began and ended.

use evenkeel_machine::{CoreId, FULL_CAPACITY, Machine, Nanos};

/// A thread of the recorded system, by the system's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub i32);

/// A CPU of the recorded system, by the system's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub u32);

/// Something that a thread of the program did, or that was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// When, by any clock that does not go backwards.
    pub at: Nanos,
    /// The thread that it is about.
    pub tid: Tid,
    /// What.
    pub what: What,
}

/// What a [`Fact`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It began, or was there when the recording began (then without a parent).
    Began {
        /// The thread that forked it.
        parent: Option<Tid>,
        /// Its process.
        process: Tid,
    },
    /// This is its name.
    Named(String),
    /// It may run on these CPUs only.
    Allowed(Vec<Cpu>),
    /// It is ending. It may wake others still, and is gone once it leaves its core.
    Exited,
    /// It got a core.
    Took(Cpu),
    /// It left its core.
    Left {
        /// Which.
        cpu: Cpu,
        /// True if it could have gone on and waits for a core. Otherwise it waits for something
        /// else.
        preempted: bool,
    },
    /// It was woken, or kept from going to sleep: by this thread, or (`None`) by a timer, an
    /// interrupt, or from outside the program.
    Woke(Option<Tid>),
}

/// Maps the CPUs of the recorded system to the machine that the workload is for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places(Vec<Place>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    cpu: Cpu,
    core: CoreId,
    /// Work done in a nanosecond: capacity relative to the fastest kind.
    speed: f64,
}

impl Places {
    /// The CPUs of a machine, with the speeds that it states.
    pub fn of(machine: &Machine) -> Self {
        Self::with(machine, |capacity| capacity / f64::from(FULL_CAPACITY))
    }

    /// Of a machine whose CPUs are equal while a thread has them: in a slow-core lab, which slows a
    /// CPU by taking it away, time on any CPU is work at full speed.
    pub fn equal(machine: &Machine) -> Self {
        Self::with(machine, |_| 1.0)
    }

    /// Of a system of which only the numbers of its CPUs are known: equal, and numbered in this
    /// order.
    pub fn unknown(cpus: &[u32]) -> Self {
        let place = |(number, &cpu): (usize, &u32)| Place {
            cpu: Cpu(cpu),
            core: CoreId(number as u32),
            speed: 1.0,
        };
        Self(cpus.iter().enumerate().map(place).collect())
    }

    fn with(machine: &Machine, speed: impl Fn(f64) -> f64) -> Self {
        let place = |core: &evenkeel_machine::Core| Place {
            cpu: Cpu(core.cpu),
            core: core.id,
            speed: speed(machine.kind_of(core.id).top().capacity),
        };
        Self(machine.cores.iter().map(place).collect())
    }

    /// Work that a nanosecond on this CPU is; 1 where the machine does not have it.
    pub(super) fn speed(&self, cpu: Cpu) -> f64 {
        self.0.iter().find(|place| place.cpu == cpu).map_or(1.0, |place| place.speed)
    }

    /// The cores that these CPUs are; `None` where that is no restriction, because they are all of
    /// them or none is known.
    pub(super) fn affinity(&self, cpus: &[Cpu]) -> Option<Vec<CoreId>> {
        let cores: Vec<_> = self
            .0
            .iter()
            .filter(|place| cpus.contains(&place.cpu))
            .map(|place| place.core)
            .collect();
        (!cores.is_empty() && cores.len() < self.0.len()).then_some(cores)
    }
}
