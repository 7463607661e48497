//! A worker without work of its own: it looks for that of others, lends its core, sleeps.
//! sleep/README.md has the protocol.

use std::time::{Duration, Instant};

use crossbeam_deque::Steal;

use super::Worker;
use crate::batch::StuckWorker;
use crate::give_way::GiveWay;
use crate::job::JobRef;
use crate::lend::Watch;
use crate::stack;
use crate::trace::What;

/// How long it looks without offering its core to other threads.
const SPINNING: Duration = Duration::from_micros(10);
/// Tries between two looks at the clock, which costs some tens of nanoseconds.
const TRIES: u32 = 8;

impl Worker {
    /// Waits until `done`, which other workers are about to bring about, for `timeout` at most. If
    /// one of them has no core it gets this one's until then.
    pub fn wait_for_others(&self, timeout: Duration, done: impl Fn() -> bool) {
        let (since, mut watch) = (Instant::now(), Watch::for_work());
        while !done() {
            let waited = since.elapsed();
            if waited >= timeout {
                return;
            }
            if self.finds_borrower(&mut watch, waited) {
                self.credits.give_back(self);
                if stack::is_short() {
                    let done = &done as &dyn Fn() -> bool;
                    return stack::on_another(&|| self.look(&done));
                }
                return self.look(&done);
            }
            std::hint::spin_loop();
        }
    }

    /// Leaves a victim alone for so long. Ends earlier if `done`, or if there is a call from
    /// outside or a declined task for this worker. Its own deque is empty by now.
    pub(super) fn back_off(&self, victim: usize, span: Duration, done: &impl Fn() -> bool) {
        // A scope that waits only for these credits is done then.
        self.credits.give_back(self);
        let registry = &*self.registry;
        let give_way = registry.give_way.as_ref();
        let of_victim = || (registry.counts[victim].tasks.get(), registry.stealers[victim].len());
        let (since, (ran, had)) = (Instant::now(), of_victim());
        give_way.into_iter().for_each(|it| it.set_idle(self, true));
        loop {
            let held_off = since.elapsed();
            if held_off >= span
                || done()
                || registry.has_calls()
                || give_way.is_some_and(|it| it.would_give(self.kind))
            {
                break;
            }
            if held_off < SPINNING { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        give_way.into_iter().for_each(|it| it.set_idle(self, false));
        // The victim has neither run tasks nor created any.
        let (has_run, has) = of_victim();
        if has_run == ran && has <= had {
            self.steal_backoff.reset();
        }
        self.looked(since, Instant::now());
    }

    /// Looks for a job until `done`, and runs it.
    pub(super) fn look(&self, done: &impl Fn() -> bool) {
        let registry = &*self.registry;
        let (sleep, give_way) = (&registry.sleep, registry.give_way.as_ref());
        self.starts_looking();
        let mut watch = Watch::for_work();
        let mut since = Instant::now();
        let mut now = since;
        let mut stuck = StuckWorker::default();
        loop {
            for tried in 0..TRIES {
                let mut of_batch =
                    || self.take_own_batch().or_else(|| self.find_in_batches(&mut stuck, now));
                let job = self.find_work().or_else(|| if tried == 0 { of_batch() } else { None });
                if job.is_some() || done() {
                    self.stops_looking();
                    self.looked(since, Instant::now());
                    job.into_iter().for_each(|job| self.execute_until(job, done));
                    return;
                }
                std::hint::spin_loop();
            }
            now = Instant::now();
            let looking = now - since;
            registry.lending.goes_home(self.index);
            let lends = self.is_to_lend() || self.finds_borrower(&mut watch, looking);
            if looking >= self.spin_timeout.span() || lends {
                self.looked(since, now);
                self.counts.asleep_since.set(registry.since_made(now).0);
                let due = || {
                    give_way
                        .and_then(GiveWay::due)
                        .into_iter()
                        .chain(registry.central.due(self.index))
                        .min()
                };
                let anything = || {
                    done()
                        || registry.has_work()
                        || give_way.is_some_and(|it| it.would_give(self.kind))
                        || registry.central.would_give(self.index)
                };
                let mut activity = None;
                sleep.sleep(self.index, due, anything, || {
                    self.acts_while_asleep(&mut watch, &mut activity)
                });
                registry.lending.stops_monitoring(self.index);
                let woken = Instant::now();
                self.slept(now, woken);
                self.takes_core_back();
                // A worker that sleeps early to lend its core learns nothing about how long it
                // should look.
                if !lends {
                    self.spin_timeout.slept(woken - since);
                }
                (since, now, watch) = (woken, woken, Watch::for_work());
            } else if looking >= SPINNING {
                std::thread::yield_now();
            }
        }
    }

    /// Tells the others that this worker has no work of its own.
    #[inline(always)]
    fn starts_looking(&self) {
        let registry = &*self.registry;
        registry.give_way.iter().for_each(|it| it.set_idle(self, true));
        registry.lending.idles(self.index);
        self.outers().for_each(|outer| outer.registry.lending.idles(outer.index));
        registry.sleep.start_looking();
    }

    /// Tells the others that this worker has work, or nothing more to look for.
    #[inline(always)]
    fn stops_looking(&self) {
        let registry = &*self.registry;
        let give_way = registry.give_way.as_ref();
        // A task that was left for a faster worker is any worker's, once its time is over.
        registry
            .sleep
            .stop_looking(|| registry.has_work() || give_way.and_then(GiveWay::due).is_some());
        give_way.into_iter().for_each(|it| it.set_idle(self, false));
        registry.lending.works(self.index);
        self.outers().for_each(|outer| outer.registry.lending.works(outer.index));
        self.takes_core_back();
        registry.central.leave(registry, self.index);
    }

    fn looked(&self, from: Instant, to: Instant) {
        self.counts.looking.add((to - from).as_nanos() as u64);
        if let Some(recorder) = self.recorder() {
            recorder.lasted(What::Looking, from, to);
        }
    }

    fn slept(&self, from: Instant, to: Instant) {
        self.counts.asleep.add((to - from).as_nanos() as u64);
        self.counts.asleep_since.set(0);
        if let Some(recorder) = self.recorder() {
            recorder.lasted(What::Asleep, from, to);
        }
    }

    /// Counts a steal from that worker.
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

    /// A random worker to begin a round of victims with.
    pub fn draw_victim(&self) -> usize {
        self.draw(self.registry.stealers.len())
    }

    /// A random number below `bound`, by xorshift64 (Marsaglia, Journal of Statistical Software
    /// 8(14), 2003).
    fn draw(&self, bound: usize) -> usize {
        let mut it = self.random.get();
        it ^= it << 13;
        it ^= it >> 7;
        it ^= it << 17;
        self.random.set(it);
        (it % bound as u64) as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::Pool;
    use crate::spin_timeout::SPIN_TIMEOUT;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_scope_ends_though_all_its_workers_hold_off() {
        let pool = Pool::builder().workers(2).pin(false).build().unwrap();
        let (both, began) = (Barrier::new(2), Instant::now());
        pool.scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    both.wait();
                    Worker::with_current(|worker| worker.unwrap().steal_backoff.set_due(0, LONG));
                });
            }
        });
        assert!(began.elapsed() < LONG / 2);
    }

    #[test]
    fn a_worker_that_sleeps_early_to_lend_its_core_does_not_look_for_longer_the_next_time() {
        let pool = Pool::builder().workers(2).lend(true).build().unwrap();
        let both = Barrier::new(2);
        let has_lent_and_is_patient = || {
            // All sleep, for so long that looking would not have been worth it.
            std::thread::sleep(400 * SPIN_TIMEOUT);
            pool.run(|| {
                Worker::with_current(|worker| {
                    let worker = worker.unwrap();
                    let lent = worker.counts.lent.get();
                    pool.scope(|s| {
                        s.spawn(|| {
                            both.wait();
                            std::thread::sleep(SPIN_TIMEOUT);
                        });
                        both.wait();
                    });
                    (worker.counts.lent.get() > lent, worker.spin_timeout.span() > SPIN_TIMEOUT)
                })
            })
        };
        // Once in a while a worker wakes for nothing, and sleeps again.
        let as_a_rule = || {
            let rounds: Vec<_> = (0..20).map(|_| has_lent_and_is_patient()).collect();
            let lent = rounds.iter().filter(|(has_lent, _)| *has_lent);
            lent.clone().count() > 2 * lent.filter(|(_, is_patient)| *is_patient).count()
        };
        assert!((0..5).any(|_| as_a_rule()));
    }

    #[test]
    fn a_worker_that_backs_off_takes_calls_from_outside() {
        let pool = Pool::builder().workers(1).pin(false).build().unwrap();
        let began = Instant::now();
        let owe = || Worker::with_current(|worker| worker.unwrap().steal_backoff.set_due(0, LONG));
        pool.run(owe);
        pool.run(owe);
        assert!(began.elapsed() < LONG / 2);
    }
}
