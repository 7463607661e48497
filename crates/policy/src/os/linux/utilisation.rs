//! Utilisation of threads and cores, in parts of 1024 of the fastest core: the input of Linux's
//! placement.

use evenkeel_machine::{CoreId, Machine};

use crate::contract::{ThreadId, View};
use crate::pelt::Pelt;

/// Utilisation of a core times this must stay below its capacity: `fits_capacity` (1280 / 1024),
/// and schedutil's headroom.
pub const MARGIN: f64 = 1.25;
/// Part of the difference by which the estimate falls toward a lesser utilisation when a thread
/// blocks: `UTIL_EST_WEIGHT_SHIFT`.
const ESTIMATE_STEP: f64 = 0.25;

/// A lesser utilisation counts as none: added to any load it is beyond the precision of a float.
/// Ours.
const FADED: f64 = 1e-13;

/// State of a thread beside its load.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// The rest of its initial utilisation.
    given: Pelt,
    /// Utilisation of its last stretches of work: `util_est`.
    estimate: f64,
    /// The core whose utilisation counts it, and by how much.
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
    /// No thread has any utilisation yet.
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

    /// True if a core has room for a utilisation with a margin.
    pub fn fits(&self, used: f64, core: CoreId) -> bool {
        used * MARGIN < self.capacity(core)
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, Thread::default());
        }
        &mut self.threads[thread.index()]
    }

    /// Sets the initial utilisation of a new thread, whose behaviour the kernel does not know yet.
    pub fn starts(&mut self, thread: ThreadId, given: f64, view: &View<'_>) {
        self.thread(thread).given = Pelt::new(given.max(0.0), view.now);
    }

    /// Forgets a thread.
    pub fn forget(&mut self, thread: ThreadId) {
        self.count(thread, None);
        *self.thread(thread) = Thread::default();
    }

    /// Utilisation of a thread now. The average of a sum is the sum of the averages, so the initial
    /// utilisation fades separately.
    pub fn of(&self, thread: ThreadId, view: &View<'_>) -> f64 {
        let given =
            self.threads.get(thread.index()).map_or(0.0, |known| known.given.at(view.now, 0.0));
        f64::from(view.thread(thread).load) + given
    }

    /// True if the rest of a thread's initial utilisation is negligible.
    pub fn has_faded(&self, thread: ThreadId, view: &View<'_>) -> bool {
        self.threads.get(thread.index()).is_none_or(|known| known.given.at(view.now, 0.0) < FADED)
    }

    /// Estimated utilisation of a thread: the present one, or that of its last stretches of work if
    /// greater.
    pub fn estimate(&self, thread: ThreadId, view: &View<'_>) -> f64 {
        self.of(thread, view)
            .max(self.threads.get(thread.index()).map_or(0.0, |known| known.estimate))
    }

    /// A thread blocks: the estimate rises at once, and falls by a quarter of the difference.
    pub fn blocks(&mut self, thread: ThreadId, view: &View<'_>) {
        let utilisation = self.of(thread, view);
        let known = self.thread(thread);
        let rises = utilisation > known.estimate;
        known.estimate += (utilisation - known.estimate) * if rises { 1.0 } else { ESTIMATE_STEP };
    }

    /// Counts a thread's utilisation at a core, or nowhere.
    pub fn count(&mut self, thread: ThreadId, at: Option<(CoreId, f64)>) {
        let before = std::mem::replace(&mut self.thread(thread).counted, at);
        if let Some((core, used)) = before {
            self.used[core.index()] = (self.used[core.index()] - used).max(0.0);
        }
        if let Some((core, used)) = at {
            self.used[core.index()] += used;
        }
    }

    /// Recomputes the utilisation of cores from the view: sleeping threads by their load, others by
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

    /// True if the utilisation of some core does not fit: `cpu_overutilized`.
    pub fn is_over_utilised(&self, view: &View<'_>) -> bool {
        view.online().any(|core| !self.fits(self.used[core.index()], core))
    }
}
