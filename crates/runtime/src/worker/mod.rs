//! A worker: its state, its deque, and the loop in which it runs jobs while it waits
//! (`work_until`).
#![expect(
    unsafe_code,
    reason = "a thread finds its worker through a pointer; jobs are run through one"
)]

use std::cell::Cell;
use std::ptr::null;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_deque::Worker as Deque;
use crossbeam_utils::CachePadded;
use evenkeel_machine::KindId;

use crate::arena::Arena;
use crate::batch::{BatchRef, Batches, StuckWorker};
use crate::costs::Label;
use crate::counts::Counts;
use crate::give_way::Deciding;
use crate::job::JobRef;
use crate::lend::Borrower;
use crate::loops::LoopHistory;
use crate::os_thread;
use crate::registry::Registry;
use crate::reserve::{RESERVE, Reserve};
use crate::scope::Credits;
use crate::spin_timeout::SpinTimeout;
use crate::stack;
use crate::steal_backoff::StealBackoff;
use crate::task::Declared;
use crate::timed::Timed;
use crate::trace::{Recorder, Trace, What};

mod idle;

/// Names of tasks that a worker remembers.
const LABELS: usize = 16;

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(null()) };
}

/// A thread of a pool. Lives on that thread's stack and is not seen by other threads.
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
    /// Its counts.
    pub counts: Arc<CachePadded<Counts>>,
    /// Its recorder, if a trace was asked for; else null.
    recorder: Cell<*const Recorder>,
    /// The loops that it has called.
    pub loop_history: LoopHistory,
    /// When it may steal.
    pub steal_backoff: StealBackoff,
    /// How long it looks before it sleeps.
    spin_timeout: SpinTimeout,
    /// The worker that it lends its core to.
    pub borrower: Borrower,
    /// What it keeps to decide which tasks it declines.
    pub deciding: Deciding,
    /// Numbers of names that it has come across, by a part of their addresses.
    labels: [Cell<(&'static str, Label)>; LABELS],
    /// The job that it runs next, before anything in its deque.
    next: Cell<Option<JobRef>>,
    deque: Deque<JobRef>,
    registry: Arc<Registry>,
    /// The pool's registry, if `registry` is a region's. To be compared only.
    root: *const Registry,
    random: Cell<u64>,
    /// In a region: the same thread's worker outside.
    outer: Cell<*const Self>,
    /// In a region: the worker with the only batch that it has found.
    stuck: Cell<StuckWorker>,
}

impl Worker {
    /// The body of a worker's thread: returns when the pool ends.
    pub fn work(registry: Arc<Registry>, index: usize, deque: Deque<JobRef>) {
        let place = registry.team.place(index);
        if let Some(cpu) = place.cpu
            && let Some(before) = os_thread::keep_current_to(cpu)
        {
            registry.lending.register_current_thread(index, cpu, before);
        }
        registry.reserve.iter().for_each(Reserve::look_after_this_thread);
        Self::be(registry, index, deque, |worker| {
            let is_ending = || worker.registry.is_ending();
            // It has counted as idle since before it began: the first job that it finds ends that.
            worker.look(&is_ending);
            worker.wait_until(is_ending);
            worker.registry.lending.unregister(index);
        });
    }

    /// The body of the reserve's thread: returns when the pool ends.
    pub fn stand_by(registry: Arc<Registry>, deque: Deque<JobRef>) {
        Self::be(registry, RESERVE, deque, |worker| {
            worker.registry.reserve.iter().for_each(|reserve| reserve.stand_by(worker));
        });
    }

    /// Makes this thread this worker, as long as `f` takes.
    fn be(registry: Arc<Registry>, index: usize, deque: Deque<JobRef>, f: impl FnOnce(&Self)) {
        registry.sleep.register_current_thread(index);
        let recorder = registry.trace.as_ref().map(Trace::recorder);
        let worker = Self::new(registry, index, deque);
        worker.recorder.set(recorder.as_ref().map_or(null(), std::ptr::from_ref));
        worker.counts.began.set(worker.registry.since_made(Instant::now()).0);
        CURRENT.set(&raw const worker);
        f(&worker);
        CURRENT.set(null());
        worker.recorder.set(null());
        if let (Some(trace), Some(recorder)) = (&worker.registry.trace, recorder) {
            trace.hand_in(index, recorder);
        }
    }

    fn new(registry: Arc<Registry>, index: usize, deque: Deque<JobRef>) -> Self {
        Self {
            index,
            kind: registry.team.place(index).kind,
            credits: Credits::default(),
            arena: Arena::default(),
            batches: Batches::new(registry.shared_batches.len(), registry.online.is_none()),
            counts: Arc::clone(&registry.counts[index]),
            recorder: Cell::new(null()),
            loop_history: LoopHistory::default(),
            deciding: Deciding::default(),
            labels: [const { Cell::new(("", Label(0))) }; LABELS],
            next: Cell::new(None),
            deque,
            // Any odd number will do: xorshift must not start with 0.
            random: Cell::new(2 * index as u64 + 1),
            steal_backoff: StealBackoff::default(),
            spin_timeout: SpinTimeout::of(&registry.team, index),
            borrower: Borrower::default(),
            outer: Cell::new(null()),
            stuck: Cell::default(),
            root: Arc::as_ptr(&registry),
            registry,
        }
    }

    /// A worker of a pool as a worker of a region of it.
    pub fn within(region: Arc<Registry>, deque: Deque<JobRef>, outer: &Self) -> Self {
        region.sleep.register_current_thread(outer.index);
        Self { root: outer.root, ..Self::new(region, outer.index, deque) }
    }

    /// Makes this thread this worker, in place of its worker outside of a region, as long as `f`
    /// takes.
    pub fn in_place_of<R>(&self, outer: &Self, f: impl FnOnce(&Self) -> R) -> R {
        self.outer.set(outer);
        self.recorder.set(outer.recorder.get());
        let before = CURRENT.replace(&raw const *self);
        let result = f(self);
        self.publish_kept();
        CURRENT.set(before);
        self.recorder.set(null());
        self.outer.set(null());
        result
    }

    /// The same thread's workers outside of the regions that it is in, from the innermost out.
    fn outers(&self) -> impl Iterator<Item = &Self> {
        // SAFETY: set by `in_place_of` to one that waits for this one, further down the stack.
        let outer = |worker: &Self| unsafe { worker.outer.get().as_ref() };
        std::iter::successors(outer(self), move |worker| outer(worker))
    }

    /// Runs jobs until there are none, or it `is_over`. Counts as idle in between: other workers
    /// are woken for what it leaves.
    pub fn help_out(&self, is_over: impl Fn() -> bool) {
        let (mut stuck, sleep) = (self.stuck.take(), &self.registry.sleep);
        while !is_over() {
            if let Some(job) = self.next.take().or_else(|| self.pop_newest()) {
                self.execute_until(job, &is_over);
                continue;
            }
            sleep.start_looking();
            let found =
                self.find_work().or_else(|| self.find_in_batches(&mut stuck, Instant::now()));
            self.credits.give_back(self);
            sleep.stop_looking(|| self.registry.has_work());
            let Some(job) = found else { break };
            self.execute_until(job, &is_over);
        }
        self.stuck.set(stuck);
        self.publish_kept();
    }

    /// Calls `f` with this thread's worker, if it is one.
    #[inline]
    pub fn with_current<R>(f: impl FnOnce(Option<&Self>) -> R) -> R {
        // SAFETY: set by `work` to a value that lives until it is taken away again, on this thread;
        // `f` cannot keep the reference.
        f(unsafe { CURRENT.get().as_ref() })
    }

    /// Calls `f` with this thread's worker, if that is of this pool or of a region of it.
    #[inline]
    pub fn with_current_of<R>(pool: &Registry, f: impl FnOnce(Option<&Self>) -> R) -> R {
        Self::with_current(|worker| f(worker.filter(|worker| std::ptr::eq(worker.root, pool))))
    }

    /// Calls `f` with this thread's worker, if that is of this very pool or region: credits of a
    /// scope belong to where it was opened.
    #[inline]
    pub fn with_current_in<R>(registry: &Registry, f: impl FnOnce(Option<&Self>) -> R) -> R {
        Self::with_current(|worker| {
            f(worker.filter(|worker| std::ptr::eq(worker.registry(), registry)))
        })
    }

    /// The state that it shares with the others.
    #[inline]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The shared state, for longer than the worker is borrowed.
    pub fn shared(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// Its recorder, if a trace was asked for.
    #[inline]
    pub fn recorder(&self) -> Option<&Recorder> {
        // SAFETY: `work` keeps it for as long as it lets its worker, and those in place of that,
        // refer to it.
        unsafe { self.recorder.get().as_ref() }
    }

    /// Times what runs until the return value is dropped, if that has a name or there is a trace.
    #[inline]
    pub fn time(&self, label: Label, what: impl FnOnce() -> What) -> Option<Timed<'_>> {
        (label != Label::default() || self.recorder().is_some())
            .then(|| Timed::begin(self, label, what()))
    }

    /// The number of a name. 0: the name is not needed.
    pub fn label(&self, name: &'static str) -> Label {
        if !self.registry.learns {
            return Label::default();
        }
        // A name is at one address, mostly: the address stands for its text.
        let remembered = &self.labels[(name.as_ptr().addr() ^ name.len()) % LABELS];
        let (known, label) = remembered.get();
        if std::ptr::eq(known, name) {
            return label;
        }
        let label = self.registry.costs.label(name);
        remembered.set((name, label));
        label
    }

    /// The job that it pushed last, unless it was taken.
    #[inline]
    pub fn pop(&self) -> Option<JobRef> {
        self.deque.pop()
    }

    /// How many jobs are in its deque.
    pub fn jobs(&self) -> usize {
        self.deque.len()
    }

    /// True if its deque is empty.
    #[inline]
    pub fn has_empty_deque(&self) -> bool {
        self.deque.is_empty()
    }

    /// Makes a job visible to all.
    #[inline]
    pub fn push(&self, job: JobRef) {
        self.deque.push(job);
        self.registry.sleep.work_appeared();
    }

    /// Makes an independent task that has been created visible to all, or known to the policy.
    #[inline]
    pub fn submit(&self, job: JobRef) {
        match &self.registry.online {
            None => self.push(job),
            Some(online) => {
                online
                    .spawn(&self.registry, job, Some(self.index))
                    .err()
                    .into_iter()
                    .for_each(|job| self.push(job));
            }
        }
    }

    /// Keeps a job that became ready by the running one: it runs next, unless there is one already.
    #[inline]
    pub fn push_next(&self, job: JobRef) {
        match self.next.get() {
            None => self.next.set(Some(job)),
            Some(_) => self.push(job),
        }
    }

    /// Pushes the kept job and gives credits back, before users' code goes on.
    fn publish_kept(&self) {
        self.credits.give_back(self);
        self.next.take().into_iter().for_each(|job| self.push(job));
    }

    /// Takes a job that it pushed out of its deque again, and runs the jobs that were pushed after
    /// it. False: another worker took it.
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
                    self.publish_kept();
                }
                None => return false,
            }
        }
    }

    /// Runs a job that it took out of a deque or an injector. A task that waits meanwhile has
    /// declared nothing for it.
    #[inline]
    fn execute(&self, job: JobRef) {
        // SAFETY: a job in a deque or an injector is to be run as often as it lies there, and stays
        // until then.
        Declared::unknown().during(|| unsafe { job.run(self) });
    }

    /// Runs a job; if it is a batch, until `done`.
    #[inline]
    fn execute_until(&self, job: JobRef, done: &impl Fn() -> bool) {
        match job.as_batch().filter(|_| !self.runs_singly()) {
            Some(batch) => Declared::unknown().during(|| self.run_batch(batch, done)),
            None => self.execute(job),
        }
    }

    /// Does other work until `done`, and sleeps if there is none. The thread that brings `done`
    /// about has to call [`crate::sleep::Sleep::wake_waiter`] for this worker then.
    pub fn wait_until(&self, done: impl Fn() -> bool) {
        // Not by one closure for both: the loop would not be inlined into the caller, which is a
        // tenth of the time of a chain's task.
        if stack::is_short() {
            return stack::on_another(&|| self.work_until(&done as &dyn Fn() -> bool));
        }
        self.work_until(done);
    }

    /// The same for rare waits: without an inlined copy of the loop, which would keep the compiler
    /// from inlining the others.
    #[cold]
    pub fn wait_until_cold(&self, done: &dyn Fn() -> bool) {
        if stack::is_short() {
            return stack::on_another(&|| self.work_until(done));
        }
        self.work_until(done);
    }

    #[inline]
    fn work_until(&self, done: impl Fn() -> bool) {
        while !done() {
            if let Some(job) = self.next.take().or_else(|| self.pop_newest()) {
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
        self.publish_kept();
    }

    /// Runs a job of another worker. False: there is none.
    #[inline]
    fn help(&self, done: &impl Fn() -> bool) -> bool {
        if let Some((victim, span)) = self.steal_backoff.take_due() {
            self.back_off(victim, span, done);
            if done() {
                return true;
            }
        }
        if self.steal_backoff.is_sample_due() {
            return self.help_timed(done);
        }
        self.find_work()
            .or_else(|| self.take_own_batch())
            .map(|job| self.execute_until(job, done))
            .is_some()
    }

    /// The same, timed, to find out if stealing pays.
    fn help_timed(&self, done: &impl Fn() -> bool) -> bool {
        let Some((job, stolen)) = self.steal_backoff.time_steal(|| self.find_work()) else {
            return false;
        };
        let (taken, tasks) = (Instant::now(), self.counts.tasks.get());
        let lines = job.as_batch().map_or(1, BatchRef::lines);
        self.execute_until(job, done);
        // Another job in the deque may be a ticket of a loop that has just ended, and a task that
        // has created others was worth the steal: neither is judged.
        if let Some((victim, began)) = stolen
            && self.counts.tasks.get() != tasks
            && self.deque.is_empty()
        {
            self.steal_backoff.record(victim, lines, taken - began, taken.elapsed());
        }
        true
    }
}
