//! A worker: looks for work, runs it, sleeps where there is none.
#![expect(unsafe_code, reason = "a thread finds its worker through a pointer; jobs are run through one")]

use std::cell::Cell;
use std::ptr::null;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_deque::{Steal, Worker as Deque};
use crossbeam_utils::CachePadded;
use evenkeel_machine::KindId;

use crate::arena::Arena;
use crate::batch::{BatchRef, Batches, Stuck};
use crate::costs::Label;
use crate::counts::Counts;
use crate::give_way::{Deciding, GiveWay};
use crate::job::JobRef;
use crate::lend::{Borrower, Watch};
use crate::loops::Paces;
use crate::os_thread;
use crate::patience::Patience;
use crate::registry::Registry;
use crate::scope::Credits;
use crate::stack;
use crate::thrift::Thrift;
use crate::timed::Timed;
use crate::trace::{Recorder, Trace, What};

/// How much of its looking without leaving the core to others.
const SPINNING: Duration = Duration::from_micros(10);
/// Names of tasks that a worker remembers.
const LABELS: usize = 16;
/// Tries between two looks at the clock, which costs some tens of nanoseconds.
const TRIES: u32 = 8;

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(null()) };
}

/// See the file's head. Lives on its thread's stack and is not seen by other threads.
pub struct Worker {
    /// Its number in the pool.
    pub index: usize,
    /// The kind of core that it is on.
    pub kind: KindId,
    /// Credits of the scope that it has run tasks of last.
    pub credits: Credits,
    /// Its blocks.
    pub arena: Arena,
    /// Its batches.
    pub batches: Batches,
    /// What it has done.
    pub counts: Arc<CachePadded<Counts>>,
    /// What it did when, if anybody asked for a trace.
    recorder: Option<Recorder>,
    /// Of loops that it has called.
    pub paces: Paces,
    /// Whether to steal, and when.
    pub thrift: Thrift,
    /// When to sleep.
    patience: Patience,
    /// Whom it lends its core.
    pub borrower: Borrower,
    /// What it has at hand to decide which tasks it leaves.
    pub deciding: Deciding,
    /// Numbers of names that it has come across, by a part of their addresses.
    labels: [Cell<(&'static str, Label)>; LABELS],
    /// What it runs next, before anything in its deque.
    next: Cell<Option<JobRef>>,
    deque: Deque<JobRef>,
    registry: Arc<Registry>,
    random: Cell<u64>,
}

impl Worker {
    /// The body of a worker's thread: returns when the pool ends.
    pub fn work(registry: Arc<Registry>, index: usize, deque: Deque<JobRef>) {
        let place = registry.team.places[index];
        registry.sleep.take_seat(index);
        if let Some(cpu) = place.cpu
            && let Some(before) = os_thread::keep_current_to(cpu)
        {
            registry.lending.take_seat(index, cpu, before);
        }
        let patience = Patience::of(&registry.team, index);
        let mut worker = Self {
            index,
            kind: place.kind,
            credits: Credits::default(),
            arena: Arena::default(),
            batches: Batches::new(registry.shelves.len(), registry.online.is_none()),
            counts: Arc::clone(&registry.counts[index]),
            recorder: registry.trace.as_ref().map(Trace::recorder),
            paces: Paces::default(),
            deciding: Deciding::default(),
            labels: [const { Cell::new(("", Label(0))) }; LABELS],
            next: Cell::new(None),
            deque,
            registry,
            // Any odd number will do: xorshift must not start with 0.
            random: Cell::new(2 * index as u64 + 1),
            thrift: Thrift::default(),
            patience,
            borrower: Borrower::default(),
        };
        worker.counts.began.set(worker.registry.since_made(Instant::now()).0);
        CURRENT.set(&raw const worker);
        let is_ending = || worker.registry.is_ending();
        // It has counted as idle since before it began: what it finds first ends that.
        worker.look(&is_ending);
        worker.wait_until(is_ending);
        worker.registry.lending.leave_seat(index);
        CURRENT.set(null());
        if let (Some(trace), Some(recorder)) = (&worker.registry.trace, worker.recorder.take()) {
            trace.hand_in(index, recorder);
        }
    }

    /// Calls `f` with the worker that this thread is; `None`: it is none.
    #[inline]
    pub fn with_current<R>(f: impl FnOnce(Option<&Self>) -> R) -> R {
        // SAFETY: set by `work` to a value that lives until it is taken away again, on this thread; `f` cannot keep the reference.
        f(unsafe { CURRENT.get().as_ref() })
    }

    /// Calls `f` with the worker of this pool that this thread is; `None`: it is none of its.
    #[inline]
    pub fn with_current_of<R>(registry: &Registry, f: impl FnOnce(Option<&Self>) -> R) -> R {
        Self::with_current(|worker| f(worker.filter(|worker| std::ptr::eq(worker.registry(), registry))))
    }

    /// What it shares with the others.
    #[inline]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Where it records what it does, if anybody asked for a trace.
    #[inline]
    pub const fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Times what is about to run until what is returned is dropped, where anybody wants to know: it has a name, or there is a trace.
    #[inline]
    pub fn time(&self, label: Label, what: impl FnOnce() -> What) -> Option<Timed<'_>> {
        (label != Label::default() || self.recorder.is_some()).then(|| Timed::begin(self, label, what()))
    }

    /// The number of a name; none where nobody wants to know.
    pub fn label(&self, name: &'static str) -> Label {
        if !self.registry.learns {
            return Label::default();
        }
        // Names are in one place each, mostly: where they are does instead of what they say.
        let remembered = &self.labels[(name.as_ptr().addr() ^ name.len()) % LABELS];
        let (known, label) = remembered.get();
        if std::ptr::eq(known, name) {
            return label;
        }
        let label = self.registry.costs.label(name);
        remembered.set((name, label));
        label
    }

    /// What it pushed last, and nobody has taken.
    #[inline]
    pub fn pop(&self) -> Option<JobRef> {
        self.deque.pop()
    }

    /// How many jobs lie in its deque.
    pub fn jobs(&self) -> usize {
        self.deque.len()
    }

    /// Whether none does.
    #[inline]
    pub fn is_bare(&self) -> bool {
        self.deque.is_empty()
    }

    /// Makes a job visible to all.
    #[inline]
    pub fn push(&self, job: JobRef) {
        self.deque.push(job);
        self.registry.sleep.work_appeared();
    }

    /// Hands over an independent task that has been created.
    #[inline]
    pub fn submit(&self, job: JobRef) {
        match &self.registry.online {
            None => self.push(job),
            Some(online) => {
                online.spawn(&self.registry, job, Some(self.index)).err().into_iter().for_each(|job| self.push(job));
            }
        }
    }

    /// A job that has become ready by the one that is being run: it runs next, unless there is one already.
    #[inline]
    pub fn push_next(&self, job: JobRef) {
        match self.next.get() {
            None => self.next.set(Some(job)),
            Some(_) => self.push(job),
        }
    }

    /// Before users' code goes on: nothing is kept from others.
    fn lay_open(&self) {
        self.credits.give_back(self);
        self.next.take().into_iter().for_each(|job| self.push(job));
    }

    /// Takes a job that it pushed out of its deque again, and runs what was pushed and left behind since. False: somebody else took it.
    #[inline]
    pub fn take_back(&self, job: JobRef) -> bool {
        loop {
            match self.deque.pop() {
                Some(it) if it == job => return true,
                Some(other) => {
                    if stack::is_short() {
                        stack::on_another(&|| self.execute(other));
                    } else {
                        self.execute(other);
                    }
                    self.lay_open();
                }
                None => return false,
            }
        }
    }

    /// Runs a job that it took out of a deque or an injector.
    #[inline]
    fn execute(&self, job: JobRef) {
        // SAFETY: what lies in deques and injectors is to be run as often as it lies there, and stays until then: README.md, "Who is there".
        unsafe { job.run(self) }
    }

    /// Runs a job; if it is a batch, until `done`.
    #[inline]
    fn execute_until(&self, job: JobRef, done: &impl Fn() -> bool) {
        match job.as_batch().filter(|_| !self.lays_open()) {
            Some(batch) => self.run_batch(batch, done),
            None => self.execute(job),
        }
    }

    /// Does other work until `done`, and sleeps where there is none. Whoever brings `done` about has to call
    /// [`crate::sleep::Sleep::wake_waiter`] for this worker then.
    pub fn wait_until(&self, done: impl Fn() -> bool) {
        // Not by one closure for both: the loop would not be part of whoever waits, which is a tenth of what a chain's task takes.
        if stack::is_short() {
            return stack::on_another(&|| self.work_until(&done as &dyn Fn() -> bool));
        }
        self.work_until(done);
    }

    /// Waits until `done`, for others that are about to bring it about: for `patience`, unless one of them has no core, and gets this one's until then.
    pub fn wait_for_others(&self, patience: Duration, done: impl Fn() -> bool) {
        let (since, mut watch) = (Instant::now(), Watch::for_work());
        while !done() {
            let waited = since.elapsed();
            if waited >= patience {
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

    #[inline]
    fn work_until(&self, done: impl Fn() -> bool) {
        while !done() {
            if let Some(job) = self.next.take().or_else(|| self.newest()) {
                self.execute_until(job, &done);
                continue;
            }
            if self.help(&done) {
                continue;
            }
            self.credits.give_back(self);
            if !done() {
                self.look(&done);
            }
        }
        self.lay_open();
    }

    /// Runs a job of somebody else. False: there is none.
    #[inline]
    fn help(&self, done: &impl Fn() -> bool) -> bool {
        if let Some((victim, span)) = self.thrift.owed() {
            self.hold_off(victim, span, done);
            if done() {
                return true;
            }
        }
        if self.thrift.is_due() {
            return self.help_timed(done);
        }
        self.seek().or_else(|| self.take_own_batch()).map(|job| self.execute_until(job, done)).is_some()
    }

    /// The same, to find out whether stealing pays.
    fn help_timed(&self, done: &impl Fn() -> bool) -> bool {
        let Some((job, stolen)) = self.thrift.timing(|| self.seek()) else { return false };
        let (taken, tasks) = (Instant::now(), self.counts.tasks.get());
        let lines = job.as_batch().map_or(1, BatchRef::lines);
        self.execute_until(job, done);
        // What else lies in deques may be the way into a loop that has just ended, and a task that has made others was worth it: neither tells anything.
        if let Some((victim, began)) = stolen
            && self.counts.tasks.get() != tasks
            && self.deque.is_empty()
        {
            self.thrift.judge(victim, lines, taken - began, taken.elapsed());
        }
        true
    }

    /// Leaves the others alone for so long, or until `done`, or there is something from outside or left to this one. Nothing of its own is left by now.
    fn hold_off(&self, victim: usize, span: Duration, done: &impl Fn() -> bool) {
        // A scope that only waits for these does not wait any longer.
        self.credits.give_back(self);
        let registry = &*self.registry;
        let give_way = registry.give_way.as_ref();
        let of_victim = || (registry.counts[victim].tasks.get(), registry.stealers[victim].len());
        let (since, (ran, had)) = (Instant::now(), of_victim());
        give_way.into_iter().for_each(|it| it.idles(self, true));
        loop {
            let held_off = since.elapsed();
            if held_off >= span || done() || registry.has_calls() || give_way.is_some_and(|it| it.would_give(self.kind))
            {
                break;
            }
            if held_off < SPINNING { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        give_way.into_iter().for_each(|it| it.idles(self, false));
        // It has neither run tasks nor made any.
        let (has_run, has) = of_victim();
        if has_run == ran && has <= had {
            self.thrift.was_for_nothing();
        }
        self.looked(since, Instant::now());
    }

    /// Looks for a job until `done`, and runs it.
    fn look(&self, done: &impl Fn() -> bool) {
        let registry = &*self.registry;
        let (sleep, give_way) = (&registry.sleep, registry.give_way.as_ref());
        give_way.into_iter().for_each(|it| it.idles(self, true));
        registry.lending.idles(self.index);
        sleep.start_looking();
        let mut watch = Watch::for_work();
        let mut since = Instant::now();
        let mut now = since;
        let mut stuck = Stuck::default();
        loop {
            for tried in 0..TRIES {
                let mut of_batch = || self.take_own_batch().or_else(|| self.seek_in_batches(&mut stuck, now));
                let job = self.seek().or_else(|| if tried == 0 { of_batch() } else { None });
                if job.is_some() || done() {
                    // What was left for a faster worker that does not come is somebody's, once its time is over.
                    sleep.stop_looking(|| registry.has_work() || give_way.and_then(GiveWay::due).is_some());
                    give_way.into_iter().for_each(|it| it.idles(self, false));
                    registry.lending.works(self.index);
                    self.takes_core_back();
                    registry.central.leave(registry, self.index);
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
            if looking >= self.patience.span() || lends {
                self.looked(since, now);
                self.counts.asleep_since.set(registry.since_made(now).0);
                let due = || give_way.and_then(GiveWay::due).into_iter().chain(registry.central.due(self.index)).min();
                let anything = || {
                    done()
                        || registry.has_work()
                        || give_way.is_some_and(|it| it.would_give(self.kind))
                        || registry.central.would_give(self.index)
                };
                sleep.sleep(self.index, due, anything, || self.lend_core(&watch));
                let woken = Instant::now();
                self.slept(now, woken);
                self.takes_core_back();
                // Who sleeps early says nothing about how long it would have had to look.
                if !lends {
                    self.patience.slept(woken - since);
                }
                (since, now, watch) = (woken, woken, Watch::for_work());
            } else if looking >= SPINNING {
                std::thread::yield_now();
            }
        }
    }

    fn looked(&self, from: Instant, to: Instant) {
        self.counts.looking.add((to - from).as_nanos() as u64);
        if let Some(recorder) = &self.recorder {
            recorder.lasted(What::Looking, from, to);
        }
    }

    fn slept(&self, from: Instant, to: Instant) {
        self.counts.asleep.add((to - from).as_nanos() as u64);
        self.counts.asleep_since.set(0);
        if let Some(recorder) = &self.recorder {
            recorder.lasted(What::Asleep, from, to);
        }
    }

    /// A job of that worker.
    pub fn stole(&self, victim: usize) {
        self.counts.steals_got.add(1);
        self.thrift.count();
        if let Some(recorder) = &self.recorder {
            recorder.happened(What::Stole(victim as u32), Instant::now());
        }
    }

    /// A job of somebody else.
    fn seek(&self) -> Option<JobRef> {
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
            let mut injectors = registry.injectors_for(self.kind).filter(|_| !self.leaves_call());
            let from_outside = injectors.find_map(|injector| take(injector.steal()));
            let found = from_outside.or_else(|| registry.central.take(self)).or_else(|| {
                let workers = registry.stealers.len();
                // With one to steal from there is nothing to be drawn.
                let from = if workers > 2 { self.draw(workers) } else { 0 };
                let mut round = registry.victims_of(self.index).round(from);
                round.find_map(|victim| {
                    tried += 1;
                    self.thrift.tries(victim);
                    let job = take(registry.stealers[victim].steal());
                    job.inspect(|_| self.stole(victim))
                })
            });
            self.counts.steals_tried.add(tried);
            if found.is_some() || !again {
                return found;
            }
            std::hint::spin_loop();
        }
    }

    /// Whether what has come from outside is left to a faster worker.
    fn leaves_call(&self) -> bool {
        let places = &self.registry.team.places;
        let faster = places.partition_point(|place| place.kind < self.kind);
        faster > 0 && self.registry.give_way.as_ref().is_some_and(|give_way| give_way.leaves_call(faster))
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::Pool;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_scope_ends_though_all_its_workers_hold_off() {
        let pool = Pool::builder().workers(2).pin(false).build().unwrap();
        let (both, began) = (Barrier::new(2), Instant::now());
        pool.scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    both.wait();
                    Worker::with_current(|worker| worker.unwrap().thrift.owe(0, LONG));
                });
            }
        });
        assert!(began.elapsed() < LONG / 2);
    }

    #[test]
    fn who_holds_off_takes_calls_from_outside() {
        let pool = Pool::builder().workers(1).pin(false).build().unwrap();
        let began = Instant::now();
        let owe = || Worker::with_current(|worker| worker.unwrap().thrift.owe(0, LONG));
        pool.run(owe);
        pool.run(owe);
        assert!(began.elapsed() < LONG / 2);
    }
}
