//! The search for work that is not in the worker's own deque.

use std::time::Instant;

use crossbeam_deque::Steal;

use super::Worker;
use crate::job::JobRef;
use crate::trace::What;

impl Worker {
    /// A job of that worker.
    pub fn count_steal(&self, victim: usize) {
        self.counts.steals_got.add(1);
        self.steal_backoff.count_steal();
        if let Some(recorder) = self.recorder() {
            recorder.happened(What::Stole(victim as u32), Instant::now());
        }
    }

    /// A job of another worker, or from outside.
    pub(super) fn find_work(&self) -> Option<JobRef> {
        if let Some(give_way) = &self.registry.give_way
            && let Some(job) = give_way.take(self)
        {
            return Some(job);
        }
        loop {
            let (mut again, mut tried, registry) = (false, 0, &*self.registry);
            let mut take = |steal| match steal {
                Steal::Success(job) => Some(job),
                Steal::Retry => {
                    again = true;
                    None
                }
                Steal::Empty => None,
            };
            let mut injectors = registry.injectors_for(self.kind).filter(|_| !self.holds_call());
            let from_outside = injectors.find_map(|injector| take(injector.steal()));
            let found = from_outside.or_else(|| registry.central.take(self)).or_else(|| {
                let workers = registry.stealers.len();
                // With one victim there is nothing to draw.
                let from = if workers > 2 { self.draw(workers) } else { 0 };
                let mut round = registry.victims_of(self.index).round(from);
                round.find_map(|victim| {
                    tried += 1;
                    self.steal_backoff.begin_steal(victim);
                    let job = take(registry.stealers[victim].steal());
                    job.inspect(|_| self.count_steal(victim))
                })
            });
            self.counts.steals_tried.add(tried);
            if found.is_some() || !again {
                return found;
            }
            std::hint::spin_loop();
        }
    }

    /// True if work from outside is left to a faster worker.
    fn holds_call(&self) -> bool {
        let places = &self.registry.team.places;
        let faster = places.partition_point(|place| place.kind < self.kind);
        faster > 0
            && self.registry.give_way.as_ref().is_some_and(|give_way| give_way.holds_call(faster))
    }

    /// One of all workers.
    pub fn draw_victim(&self) -> usize {
        self.draw(self.registry.stealers.len())
    }

    /// Below `bound`, by xorshift64 (Marsaglia, Journal of Statistical Software 8(14), 2003).
    fn draw(&self, bound: usize) -> usize {
        let mut it = self.random.get();
        it ^= it << 13;
        it ^= it >> 7;
        it ^= it << 17;
        self.random.set(it);
        (it % bound as u64) as usize
    }
}
