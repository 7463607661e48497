//! Utilisation of threads and cores, in parts of 1024 of the fastest core: what Linux's placement
//! goes by.

use evenkeel_machine::{CoreId, Machine};

use crate::contract::{ThreadId, View};
use crate::pelt::Pelt;

/// What a core has to do, times this, must stay below its capacity: `fits_capacity` (1280 / 1024),
/// and schedutil's headroom.
pub const MARGIN: f64 = 1.25;
/// How far the estimate falls toward a lesser utilisation whenever a thread blocks:
/// `UTIL_EST_WEIGHT_SHIFT`.
const ESTIMATE_STEP: f64 = 0.25;

/// A utilisation that is less is none: added to that of any load it is beyond what a number keeps.
/// Ours.
const FADED: f64 = 1e-13;

/// What is kept of a thread beside its load.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// What is left of the utilisation that it was given when it started.
    given: Pelt,
    /// Of its last stretches of work: `util_est`.
    estimate: f64,
    /// Where it counts in a core's utilisation, and for how much.
    counted: Option<(CoreId, f64)>,
}

/// Utilisation of threads and cores.
#[derive(Debug, Default)]
pub struct Utilisation {
    /// By core: at its highest clock.
    capacity: Vec<f64>,
    /// By core: as of the last tick and what has been placed since.
    used: Vec<f64>,
    threads: Vec<Thread>,
}

impl Utilisation {
    /// Nobody has anything to do yet.
    pub fn start(&mut self, machine: &Machine) {
        self.capacity = machine
            .cores
            .iter()
            .map(|core| machine.kind_of(core.id).top().capacity.max(1.0))
            .collect();
        self.used = vec![0.0; machine.cores.len()];
    }

    /// Capacity of a core at its highest clock.
    pub fn capacity(&self, core: CoreId) -> f64 {
        self.capacity[core.index()]
    }

    /// Utilisation of a core by the threads that belong to it, asleep or not, at most its capacity.
    pub fn used(&self, core: CoreId) -> f64 {
        self.used[core.index()].min(self.capacity(core))
    }

    /// Whether a core has room for so much with a margin.
    pub fn fits(&self, used: f64, core: CoreId) -> bool {
        used * MARGIN < self.capacity(core)
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, Thread::default());
        }
        &mut self.threads[thread.index()]
    }

    /// A new thread has this utilisation, as the kernel does not know yet what it will do.
    pub fn starts(&mut self, thread: ThreadId, given: f64, view: &View<'_>) {
        self.thread(thread).given = Pelt::new(given.max(0.0), view.now);
    }

    /// Nothing is known of a thread any more.
    pub fn forget(&mut self, thread: ThreadId) {
        self.count(thread, None);
        *self.thread(thread) = Thread::default();
    }

    /// Utilisation of a thread now. An average of a sum is the sum of the averages, so that what it
    /// was given fades by itself.
    pub fn of(&self, thread: ThreadId, view: &View<'_>) -> f64 {
        let given =
            self.threads.get(thread.index()).map_or(0.0, |known| known.given.at(view.now, 0.0));
        f64::from(view.thread(thread).load) + given
    }

    /// Whether nothing is left of what a thread was given at its start that could matter.
    pub fn has_faded(&self, thread: ThreadId, view: &View<'_>) -> bool {
        self.threads.get(thread.index()).is_none_or(|known| known.given.at(view.now, 0.0) < FADED)
    }

    /// What a thread is taken to need: its utilisation, or that of its last stretches of work if
    /// greater.
    pub fn estimate(&self, thread: ThreadId, view: &View<'_>) -> f64 {
        self.of(thread, view)
            .max(self.threads.get(thread.index()).map_or(0.0, |known| known.estimate))
    }

    /// A thread blocks: the estimate rises at once and falls by a quarter of the difference.
    pub fn blocks(&mut self, thread: ThreadId, view: &View<'_>) {
        let utilisation = self.of(thread, view);
        let known = self.thread(thread);
        let rises = utilisation > known.estimate;
        known.estimate += (utilisation - known.estimate) * if rises { 1.0 } else { ESTIMATE_STEP };
    }

    /// Counts a thread where it belongs, for what it has to do.
    pub fn count(&mut self, thread: ThreadId, at: Option<(CoreId, f64)>) {
        let before = std::mem::replace(&mut self.thread(thread).counted, at);
        if let Some((core, used)) = before {
            self.used[core.index()] = (self.used[core.index()] - used).max(0.0);
        }
        if let Some((core, used)) = at {
            self.used[core.index()] += used;
        }
    }

    /// Utilisation of cores anew, from the view: of threads that sleep by their load, of others by
    /// their estimate. O(threads).
    pub fn count_all(&mut self, view: &View<'_>) {
        self.used.fill(0.0);
        self.threads.iter_mut().for_each(|known| known.counted = None);
        for &thread in view.live {
            let stats = view.thread(thread);
            if let Some(queue) = stats.queue {
                let used = if stats.runnable() {
                    self.estimate(thread, view)
                } else {
                    self.of(thread, view)
                };
                self.count(thread, Some((CoreId(queue.0), used)));
            }
        }
    }

    /// Whether some core does not fit what it has: `cpu_overutilized`.
    pub fn is_over_utilised(&self, view: &View<'_>) -> bool {
        view.online().any(|core| !self.fits(self.used[core.index()], core))
    }
}
