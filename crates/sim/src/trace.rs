//! What happened in a run, for drawings and logs. A run without a listener pays nothing for this.

use evenkeel_machine::{ClusterId, CoreId, MicroWatts, Nanos, Work};
use evenkeel_model::{Iteration, PhaseId};
use evenkeel_policy::{AppId, ThreadId};

/// Hears what happens, in order of time.
pub trait Listener {
    /// True if it hears at all: where not, the engine leaves the calls out.
    const HEARS: bool = true;
    /// True if it may end the run: where not, the engine leaves [`Listener::goes_on`] out.
    const MAY_STOP: bool = false;
    /// True if each pick is held to the plain reference, for tests: a difference panics.
    #[doc(hidden)]
    const CHECKS: bool = false;
    /// False ends the run with [`SimError::Stopped`](crate::SimError::Stopped). Asked before each
    /// event.
    fn goes_on(&mut self) -> bool {
        true
    }
    /// A thread started.
    fn started(&mut self, _at: Nanos, _thread: ThreadId, _app: AppId, _name: &str) {}
    /// A thread ended.
    fn ended(&mut self, _at: Nanos, _thread: ThreadId) {}
    /// A thread had a core from `from` to `to`; `retired` is its work up to `to`. It may have had
    /// it for no time.
    fn ran(&mut self, _thread: ThreadId, _core: CoreId, _from: Nanos, _to: Nanos, _retired: Work) {}
    /// `by` (none: a timer or a device) made `thread` runnable.
    fn woke(&mut self, _at: Nanos, _thread: ThreadId, _by: Option<ThreadId>) {}
    /// A cluster's clock is this from now on.
    fn frequency(&mut self, _at: Nanos, _cluster: ClusterId, _khz: u64) {}
    /// A core draws this from now on, its cluster's share not included.
    fn power(&mut self, _at: Nanos, _core: CoreId, _power: MicroWatts) {}
    /// Two threads traded places.
    fn swapped(&mut self, _at: Nanos, _a: ThreadId, _b: ThreadId) {}
    /// A thread went on to its next step: what it did before is over.
    fn stepped(&mut self, _at: Nanos, _thread: ThreadId, _core: CoreId, _step: Stepped) {}
}

/// A step that a thread begins, as far as a log of its periods needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// Work of a phase of its application.
    Compute {
        /// In the phase's units.
        work: Work,
        /// Which.
        phase: PhaseId,
    },
    /// Work for a time.
    Busy(Nanos),
    /// A wait for a timer.
    Timer {
        /// Its period.
        period: Nanos,
        /// From now to its expiry, nanoseconds; less than 0: it has expired already.
        slack: i64,
    },
    /// It runs again so long after the expiry that it waited for; `None`: it had not to wait.
    Expired(Option<Nanos>),
    /// An iteration begins or ends.
    Iteration(Iteration),
    /// Anything else.
    Other,
}

/// Both hear.
impl<A: Listener, B: Listener> Listener for (&mut A, &mut B) {
    const HEARS: bool = A::HEARS || B::HEARS;
    const MAY_STOP: bool = A::MAY_STOP || B::MAY_STOP;

    fn goes_on(&mut self) -> bool {
        self.0.goes_on() && self.1.goes_on()
    }
    fn started(&mut self, at: Nanos, thread: ThreadId, app: AppId, name: &str) {
        self.0.started(at, thread, app, name);
        self.1.started(at, thread, app, name);
    }
    fn ended(&mut self, at: Nanos, thread: ThreadId) {
        self.0.ended(at, thread);
        self.1.ended(at, thread);
    }
    fn ran(&mut self, thread: ThreadId, core: CoreId, from: Nanos, to: Nanos, retired: Work) {
        self.0.ran(thread, core, from, to, retired);
        self.1.ran(thread, core, from, to, retired);
    }
    fn woke(&mut self, at: Nanos, thread: ThreadId, by: Option<ThreadId>) {
        self.0.woke(at, thread, by);
        self.1.woke(at, thread, by);
    }
    fn frequency(&mut self, at: Nanos, cluster: ClusterId, khz: u64) {
        self.0.frequency(at, cluster, khz);
        self.1.frequency(at, cluster, khz);
    }
    fn power(&mut self, at: Nanos, core: CoreId, power: MicroWatts) {
        self.0.power(at, core, power);
        self.1.power(at, core, power);
    }
    fn swapped(&mut self, at: Nanos, a: ThreadId, b: ThreadId) {
        self.0.swapped(at, a, b);
        self.1.swapped(at, a, b);
    }
    fn stepped(&mut self, at: Nanos, thread: ThreadId, core: CoreId, step: Stepped) {
        self.0.stepped(at, thread, core, step);
        self.1.stepped(at, thread, core, step);
    }
}

/// Hears nothing.
pub struct NoListener;

impl Listener for NoListener {
    const HEARS: bool = false;
}

/// Keeps everything, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// What happened.
    pub entries: Vec<Entry>,
}

/// One thing that happened: see [`Listener`].
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the listener's calls")]
pub enum Entry {
    Started { at: Nanos, thread: ThreadId, app: AppId, name: String },
    Ended { at: Nanos, thread: ThreadId },
    Ran { thread: ThreadId, core: CoreId, from: Nanos, to: Nanos, retired: Work },
    Woke { at: Nanos, thread: ThreadId, by: Option<ThreadId> },
    Frequency { at: Nanos, cluster: ClusterId, khz: u64 },
    Power { at: Nanos, core: CoreId, power: MicroWatts },
    Swapped { at: Nanos, a: ThreadId, b: ThreadId },
}

impl Listener for Log {
    fn started(&mut self, at: Nanos, thread: ThreadId, app: AppId, name: &str) {
        self.entries.push(Entry::Started { at, thread, app, name: name.into() });
    }
    fn ended(&mut self, at: Nanos, thread: ThreadId) {
        self.entries.push(Entry::Ended { at, thread });
    }
    fn ran(&mut self, thread: ThreadId, core: CoreId, from: Nanos, to: Nanos, retired: Work) {
        self.entries.push(Entry::Ran { thread, core, from, to, retired });
    }
    fn woke(&mut self, at: Nanos, thread: ThreadId, by: Option<ThreadId>) {
        self.entries.push(Entry::Woke { at, thread, by });
    }
    fn frequency(&mut self, at: Nanos, cluster: ClusterId, khz: u64) {
        self.entries.push(Entry::Frequency { at, cluster, khz });
    }
    fn power(&mut self, at: Nanos, core: CoreId, power: MicroWatts) {
        self.entries.push(Entry::Power { at, core, power });
    }
    fn swapped(&mut self, at: Nanos, a: ThreadId, b: ThreadId) {
        self.entries.push(Entry::Swapped { at, a, b });
    }
}
