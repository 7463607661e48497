//! Half of a batch for another worker: offered by the worker that runs it, or taken from a worker
//! in a long task. See README.md in this folder.
#![expect(unsafe_code, reason = "tasks are in blocks")]

use std::time::{Duration, Instant};

use crate::job::JobRef;
use crate::worker::Worker;

use super::{BatchRef, Part};

/// A task that has taken so long is worth the heavy half of a fence, which costs about as much.
const LONG: Duration = Duration::from_micros(10);

/// The rest of a batch is halved for an idle worker if it takes so long. (Half of it is copied,
/// some lines of memory change cores, and the idle worker has to come for it.)
const HANDOVER: Duration = Duration::from_micros(5);

/// Idle workers that were seen while a batch is run.
#[derive(Default)]
pub enum IdleSeen {
    #[default]
    NotYet,
    /// When, and how many tasks had been run by then.
    At(Instant, usize),
    /// Its tasks are too short.
    TooShort,
}

/// A worker with tasks in a batch that has not ended one since: its number, how many it had ended,
/// and when that was seen.
#[derive(Default)]
pub struct StuckWorker(Option<(usize, u64, Instant)>);

impl Worker {
    /// Pushes half of what is left of the batch that it runs, for an idle worker: that spares the
    /// idle worker the heavy half of a fence, and this one an interrupt. Returns how many tasks: 0
    /// unless they take as long as the handover, by the tasks that were run since an idle worker
    /// was seen.
    pub fn offer(&self, seen: &mut IdleSeen, ran: usize) -> usize {
        match *seen {
            IdleSeen::TooShort => 0,
            IdleSeen::NotYet => {
                *seen = IdleSeen::At(Instant::now(), ran);
                0
            }
            IdleSeen::At(then, before) => {
                let left = self.shared_batches().running.count();
                if HANDOVER * (ran - before) as u32 > then.elapsed() * left as u32 {
                    *seen = IdleSeen::TooShort;
                    return 0;
                }
                *seen = IdleSeen::NotYet;
                let Some(job) = self.take_own_batch() else { return 0 };
                let tasks = job.as_batch().map_or(0, |batch| batch.part().len());
                self.push(job);
                tasks
            }
        }
    }

    /// Half of what is left of the batch that it runs, further down its stack.
    pub fn take_own_batch(&self) -> Option<JobRef> {
        if !self.runs_batch() {
            return None;
        }
        // The other half of the fence is for its worker, which is here.
        self.shared_batches().running.steal(None, |batch, part| self.split(batch, part))
    }

    /// Half of the batch of a worker that is in a long task, or creates none for long. Others offer
    /// tasks to idle workers by themselves.
    pub fn find_in_batches(&self, stuck: &mut StuckWorker, now: Instant) -> Option<JobRef> {
        let registry = self.registry();
        let has = |victim: usize| !registry.shared_batches[victim].is_empty();
        let ended = |victim: usize| registry.counts[victim].tasks.get();
        match stuck.0.filter(|&(victim, before, _)| has(victim) && ended(victim) == before) {
            Some((victim, _, since)) if now.saturating_duration_since(since) >= LONG => {
                stuck.0 = None;
                self.steal_from_batches(victim).inspect(|_| self.count_steal(victim))
            }
            Some(_) => None,
            None => {
                let mut victims = registry.victims_of(self.index).round(self.draw_victim());
                stuck.0 =
                    victims.find(|&victim| has(victim)).map(|victim| (victim, ended(victim), now));
                None
            }
        }
    }

    fn steal_from_batches(&self, victim: usize) -> Option<JobRef> {
        let (registry, shared) = (self.registry(), &self.registry().shared_batches[victim]);
        let filled = shared.filling.steal(|batch, part| self.split(batch, part));
        filled.or_else(|| {
            shared.running.steal(Some(registry.sleep.asymmetric_fence()), |batch, part| {
                self.split(batch, part)
            })
        })
    }

    /// A batch of some tasks of another, which no other worker takes there.
    fn split(&self, batch: BatchRef, part: Part) -> JobRef {
        let block = self.arena.take(BatchRef::CLASS, &self.registry().shared_blocks);
        // SAFETY: the block has just been taken.
        let own = unsafe { BatchRef::make(block, batch.scope(), batch.stride(), None) };
        // SAFETY: as many as were in one.
        unsafe { batch.move_to(own, part.clone()) };
        own.job(0..part.len())
    }
}

#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::cell::Cell;

    use crate::Pool;
    use crate::registry::Registry;

    use super::*;

    thread_local!(static OFFERED: Cell<Option<bool>> = const { Cell::new(None) });

    /// A task that takes a while, and notes if anything is in the deque of the worker that runs its
    /// batch.
    fn long_task() {
        Worker::with_current(|worker| {
            let worker = worker.filter(|worker| worker.runs_batch());
            let Some(worker) = worker else { return };
            if OFFERED.get().is_none() {
                // What lies there from the beginning others would have taken. SAFETY: each is run
                // once, here.
                std::iter::from_fn(|| worker.pop()).for_each(|job| unsafe { job.run(worker) });
            }
            OFFERED.set(Some(OFFERED.get() == Some(true) || !worker.has_empty_deque()));
            let since = Instant::now();
            while since.elapsed() < Duration::from_micros(50) {
                std::hint::spin_loop();
            }
        });
    }

    /// True if the worker that runs a batch of such tasks offers some of them, with or without an
    /// idle worker.
    fn is_offered(any_idle: bool) -> bool {
        let pool = Pool::builder().workers(1).pin(false).build().unwrap();
        pool.run(|| {
            let looked = |looked: fn(&Registry)| {
                Worker::with_current(|worker| looked(worker.unwrap().registry()))
            };
            if any_idle {
                looked(|registry| registry.sleep.start_looking());
            }
            pool.scope(|s| (0..48).for_each(|_| s.spawn(long_task)));
            if any_idle {
                looked(|registry| registry.sleep.stop_looking(|| false));
            }
            OFFERED.get().unwrap()
        })
    }

    #[test]
    fn a_worker_that_runs_a_batch_pushes_half_of_it_for_an_idle_one_and_for_no_other() {
        assert!(is_offered(true) && !is_offered(false));
    }
}
