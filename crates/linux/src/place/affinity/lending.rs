//! Cores that idle beside threads that wait for others.
//!
//! A thread that sleeps often is seldom found waiting in a queue: it is loose, and may run on the
//! cores that serve its queue first. Several of them share these, while another core finds nothing
//! to pick and idles. So a queue whose threads wait while a core idles that may take them has that
//! core's CPU in its home, too, as long as they wait from time to time.

use evenkeel_machine::{Core, CoreId, Nanos};
use evenkeel_policy::{Interest, QueueId};
use rustix::thread::CpuSet;

use super::kernel::Kernel;
use super::mechanism::Mechanism;

/// How long waiting and idling are added up before they are judged: some looks. Ours.
const WINDOW: Nanos = Nanos::from_millis(50);
/// A queue's threads wait if they do for more than this share of the window, together. Ours.
const WAITING_SHARE: f64 = 0.1;
/// A core idles if it has had threads for less than this share of the window. Ours.
const IDLE_SHARE: f64 = 0.5;
/// How long a queue keeps a CPU after its threads have last waited: those that come in turns wait
/// again. Ours.
const LENT_FOR: Nanos = Nanos::from_secs(1);

impl<K: Kernel> Mechanism<K> {
    /// Where threads of this queue may run that have no core.
    pub(super) fn home(&self, queue: QueueId) -> CpuSet {
        let mut home = self.homes[queue.index()];
        if let Some(lent) = self.overflow.lent.get(queue.index()) {
            let lent = |core: &&Core| lent.is_set(core.cpu as usize);
            self.machine.cores.iter().filter(lent).for_each(|core| home.set(core.cpu as usize));
        }
        home
    }

    /// Lends CPUs of idle cores to queues whose threads wait, and ends that.
    pub(super) fn judge_overflow(&mut self) {
        let elapsed = self.now.saturating_sub(self.overflow.since);
        if elapsed < WINDOW {
            return;
        }
        self.overflow.since = self.now;
        let share = |time: Nanos| time.0 as f64 / elapsed.0 as f64;
        let waited = self.waits_by_queue(share);
        let before = std::mem::replace(&mut self.overflow.busy, self.busy.clone());
        let busy = |core: CoreId| {
            let before = before.get(core.index()).copied().unwrap_or_default();
            share(self.busy[core.index()].saturating_sub(before))
        };
        let mut lent = std::mem::take(&mut self.overflow.lent);
        lent.resize_with(self.queues.len(), CpuSet::new);
        self.overflow.last.resize(self.queues.len(), Nanos::ZERO);
        for queue in (0..self.queues.len() as u32).map(QueueId) {
            let cpus = &mut lent[queue.index()];
            let before = *cpus;
            if waited[queue.index()] > WAITING_SHARE {
                self.overflow.last[queue.index()] = self.now;
                for core in &self.machine.cores {
                    if self.may_take_from(core.id, queue) && busy(core.id) < IDLE_SHARE {
                        cpus.set(core.cpu as usize);
                    }
                }
            } else if self.now.saturating_sub(self.overflow.last[queue.index()]) > LENT_FOR {
                *cpus = CpuSet::new();
            }
            if before != *cpus {
                let of_queue = self
                    .live
                    .iter()
                    .filter(|thread| self.stats[thread.index()].queue == Some(queue));
                self.changed.extend(of_queue);
            }
        }
        self.overflow.lent = lent;
    }

    /// True if a core may have threads of a queue: it serves it, or the policy fills idle cores
    /// with threads that are not theirs by their tiers.
    pub(super) fn may_take_from(&self, core: CoreId, queue: QueueId) -> bool {
        let service = &self.services[core.index()];
        let fills = self.interest.wants(Interest::CORE_IDLE) && service.is_used();
        (fills || service.serves(queue)) && self.cores[core.index()].online
    }

    /// By queue, how much of the window its threads waited, together.
    fn waits_by_queue(&mut self, share: impl Fn(Nanos) -> f64) -> Vec<f64> {
        let mut waited = vec![0.0; self.queues.len()];
        self.overflow.waited.resize(self.stats.len(), Nanos::ZERO);
        for &thread in &self.live {
            let stats = &self.stats[thread.index()];
            let before =
                std::mem::replace(&mut self.overflow.waited[thread.index()], stats.waiting);
            if let Some(queue) = stats.queue {
                waited[queue.index()] += share(stats.waiting.saturating_sub(before));
            }
        }
        waited
    }
}
