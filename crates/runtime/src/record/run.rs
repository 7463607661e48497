//! Running a recorded graph.
#![expect(
    unsafe_code,
    reason = "steps are called through pointers, and follow pointers to each other"
)]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null};
use std::sync::Arc;
use std::time::Instant;

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use crate::Pool;
use crate::costs::Label;
use crate::job::{Head, JobRef};
use crate::scope::{self, ScopeCore};
use crate::sync::{AtomicU32, AtomicUsize, Ordering};
use crate::trace::{self, What};
use crate::worker::Worker;

use super::Action;
use super::scheduled::{ActiveRun, ScheduledGraph};

/// Steps without predecessors in one job: few enough to be shared out, enough that sharing out does
/// not count.
const STARTS: usize = 64;
/// Steps that a worker does one after the other before it looks if its wait is over.
const IN_ONE_GO: usize = 64;

/// A task.
#[repr(C)]
struct Step<'env> {
    head: Head,
    steps: NonNull<Shared<'env>>,
    /// How many it waits for still, in this run. As many as `before` when no run is under way.
    waits_for: AtomicU32,
    before: u32,
    /// The first of its successors, and how many there are.
    successors: (u32, u32),
    label: Label,
    action: Action<'env>,
}

/// Some steps without predecessors: roots from `first` to `end`. The worker that has it takes one,
/// and pushes it again for the rest before that one is begun.
#[repr(C)]
struct Start<'env> {
    head: Head,
    steps: NonNull<Shared<'env>>,
    first: usize,
    end: usize,
    /// The next to be taken, in this run. Written by the one worker that has taken this out of a
    /// deque.
    next: AtomicUsize,
}

struct Shared<'env> {
    steps: Box<[Step<'env>]>,
    successors: Box<[u32]>,
    /// Indexed by step: its number as it was recorded.
    tasks: Box<[u32]>,
    /// The policy behind a lock, if there is one, and the step of each task.
    scheduled: Option<(Arc<ScheduledGraph>, Box<[u32]>)>,
    /// Steps without predecessors.
    roots: Box<[u32]>,
    starts: Box<[Start<'env>]>,
    /// The scope of the run that is under way.
    scope: Cell<*const ScopeCore>,
    /// How many runs there have been.
    runs: AtomicU32,
}

/// A recorded graph, in the order in which it is best gone through.
pub struct Steps<'env>(NonNull<Shared<'env>>);

// SAFETY: actions are Send and Sync; what a run changes is atomic, or changed before the run is
// visible to others (`scope`).
unsafe impl Send for Steps<'_> {}
// SAFETY: as above; a run takes the graph by `&mut`.
unsafe impl Sync for Steps<'_> {}

impl Drop for Steps<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new` from a box; no run is under way, for that borrows us.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<'env> Steps<'env> {
    /// Steps of tasks by number, with edges from lower to higher numbers.
    pub fn new(actions: Vec<(Label, Action<'env>)>, edges: &[(u32, u32)]) -> Self {
        let count = actions.len();
        let Edges { before, first, successors } = Edges::sorted(count, edges);
        let successors_of = |task: u32| {
            &successors[first[task as usize] as usize..first[task as usize + 1] as usize]
        };

        let order = order(&before, successors_of);
        let mut place = vec![0; count];
        order.iter().zip(0..).for_each(|(&task, to)| place[task as usize] = to);
        let mut actions: Vec<_> = actions.into_iter().map(Some).collect();

        let shared = Box::new(Shared {
            steps: [].into(),
            successors: order
                .iter()
                .flat_map(|&task| successors_of(task))
                .map(|&to| place[to as usize])
                .collect(),
            scheduled: None,
            roots: (0..count as u32)
                .filter(|&at| before[order[at as usize] as usize] == 0)
                .collect(),
            starts: [].into(),
            scope: Cell::new(null()),
            runs: AtomicU32::new(0),
            tasks: [].into(),
        });
        let shared = NonNull::from(Box::leak(shared));
        let mut next = 0;
        let steps = order.iter().filter_map(|&task| {
            let successors = (next, successors_of(task).len() as u32);
            next += successors.1;
            let (label, action) = actions[task as usize].take()?;
            Some(Step {
                head: Head { run: Step::run },
                steps: shared,
                waits_for: AtomicU32::new(before[task as usize]),
                before: before[task as usize],
                successors,
                label,
                action,
            })
        });
        let steps = steps.collect();
        // SAFETY: leaked above, and not yet shared.
        let it = unsafe { &mut *shared.as_ptr() };
        it.steps = steps;
        let roots = it.roots.len();
        let start = |first| {
            let end = roots.min(first + STARTS);
            Start {
                head: Head { run: Start::run },
                steps: shared,
                first,
                end,
                next: AtomicUsize::new(first),
            }
        };
        it.starts = (0..roots).step_by(STARTS).map(start).collect();
        it.tasks = order.into();
        Self(shared)
    }

    fn shared(&mut self) -> &mut Shared<'env> {
        // SAFETY: stays as long as we do, and no run is under way, for that borrows us.
        unsafe { self.0.as_mut() }
    }

    /// Has steps run in the order of a policy behind a lock.
    pub fn schedule_by(&mut self, scheduled: ScheduledGraph) {
        let shared = self.shared();
        shared.steps.iter_mut().for_each(|step| step.head.run = Step::run_scheduled);
        let mut steps = vec![0; shared.tasks.len()];
        shared.tasks.iter().zip(0..).for_each(|(&task, step)| steps[task as usize] = step);
        scheduled.run_by(steps.iter().map(|&step| shared.steps[step as usize].job()).collect());
        shared.scheduled = Some((Arc::new(scheduled), steps.into()));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        // SAFETY: stays as long as we do.
        unsafe { self.0.as_ref() }.steps.len()
    }

    /// Runs each once.
    pub fn run(&mut self, pool: &Pool) {
        let this = &*self;
        pool.on_worker(|worker| {
            // Dropped when the run has ended, be it by a panic.
            let mut _active_run = None;
            scope::open(worker, |s| {
                // SAFETY: stays as long as we do, and we wait for the run.
                let shared = unsafe { this.0.as_ref() };
                shared.scope.set(s.core);
                shared
                    .runs
                    .store(shared.runs.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
                s.core.expect(shared.steps.len());
                if let Some((scheduled, _)) = &shared.scheduled {
                    _active_run = Some(ActiveRun::begin(scheduled, worker));
                    return;
                }
                // From the last to the first: so the first are done first here, and the last first
                // by others.
                for start in shared.starts.iter().rev() {
                    start.next.store(start.first, Ordering::Relaxed);
                    worker.push(start.job());
                }
            });
        });
    }
}

/// The edges of a graph, by task.
struct Edges {
    /// How many come before it.
    before: Vec<u32>,
    /// Where its successors begin in `successors`; they end where those of the next one begin.
    first: Vec<u32>,
    successors: Vec<u32>,
}

impl Edges {
    fn sorted(count: usize, edges: &[(u32, u32)]) -> Self {
        let mut before = vec![0_u32; count];
        let mut first = vec![0_u32; count + 1];
        for &(from, to) in edges {
            before[to as usize] += 1;
            first[from as usize + 1] += 1;
        }
        (0..count).for_each(|task| first[task + 1] += first[task]);
        let mut successors = vec![0; edges.len()];
        let mut free = first.clone();
        for &(from, to) in edges {
            successors[free[from as usize] as usize] = to;
            free[from as usize] += 1;
        }
        Self { before, first, successors }
    }
}

/// An order in which each comes after all that go before it, and, where it can be, right after the
/// last of them.
fn order<'a>(before: &[u32], successors_of: impl Fn(u32) -> &'a [u32]) -> Vec<u32> {
    let mut missing = before.to_vec();
    let mut order = Vec::with_capacity(before.len());
    let mut ready: Vec<u32> =
        (0..before.len() as u32).rev().filter(|&task| before[task as usize] == 0).collect();
    while let Some(task) = ready.pop() {
        order.push(task);
        for &next in successors_of(task).iter().rev() {
            missing[next as usize] -= 1;
            if missing[next as usize] == 0 {
                ready.push(next);
            }
        }
    }
    order
}

impl<'env> Start<'env> {
    /// # Safety
    /// The head is that of a `Start` of a run that is under way, with a root that has not been
    /// taken.
    unsafe fn run(head: NonNull<Head>, worker: &Worker) {
        // SAFETY: the head is the first field; the run waits for these steps.
        let this = unsafe { head.cast::<Start<'env>>().as_ref() };
        // SAFETY: as above.
        let shared = unsafe { this.steps.as_ref() };
        // SAFETY: the scope of the run, which counts these steps.
        let scope = unsafe { &*shared.scope.get() };
        worker.credits.switch_to(scope, worker);
        let next = this.next.load(Ordering::Relaxed);
        let root = &shared.steps[shared.roots[next] as usize];
        if next + 1 < this.end {
            this.next.store(next + 1, Ordering::Relaxed);
            worker.push(this.job());
        }
        shared.go(root, scope, worker);
    }

    const fn job(&self) -> JobRef {
        JobRef::new(NonNull::from_ref(self).cast())
    }
}

impl<'env> Step<'env> {
    /// # Safety
    /// The head is that of a `Step` of a run that is under way, which is ready.
    unsafe fn run(head: NonNull<Head>, worker: &Worker) {
        // SAFETY: the head is the first field; the run waits for this step.
        let this = unsafe { head.cast::<Step<'env>>().as_ref() };
        // SAFETY: as above.
        let shared = unsafe { this.steps.as_ref() };
        // SAFETY: the scope of the run, which counts this step.
        let scope = unsafe { &*shared.scope.get() };
        worker.credits.switch_to(scope, worker);
        shared.go(this, scope, worker);
    }

    /// # Safety
    /// As for [`Step::run`].
    unsafe fn run_scheduled(head: NonNull<Head>, worker: &Worker) {
        // SAFETY: the head is the first field; the run waits for this step.
        let this = unsafe { head.cast::<Step<'env>>().as_ref() };
        // SAFETY: as above.
        let shared = unsafe { this.steps.as_ref() };
        // SAFETY: the scope of the run, which counts this step.
        let scope = unsafe { &*shared.scope.get() };
        let mut step = this;
        for left in (0..IN_ONE_GO).rev() {
            worker.credits.switch_to(scope, worker);
            let next = shared.one_scheduled(step, scope, worker, left > 0);
            // The run may be over after this, unless there is a next one.
            worker.credits.gain(scope, worker);
            match next {
                Some(next) => step = next,
                None => return,
            }
        }
    }

    const fn job(&self) -> JobRef {
        JobRef::new(NonNull::from_ref(self).cast())
    }
}

impl<'env> Shared<'env> {
    fn place_of(&self, step: &Step<'env>) -> usize {
        (std::ptr::from_ref(step).addr() - self.steps.as_ptr().addr()) / size_of::<Step<'env>>()
    }

    /// Successors of a step, by place.
    fn successors_of(&self, step: &Step<'env>) -> impl Iterator<Item = usize> + '_ {
        let (first, count) = step.successors;
        self.successors[first as usize..(first + count) as usize]
            .iter()
            .map(|&successor| successor as usize)
    }

    /// A step in the run that is under way, as the trace knows it.
    fn id(&self, step: &Step<'env>) -> trace::TaskId {
        trace::TaskId::new((&raw const *step).addr(), self.runs.load(Ordering::Relaxed) as u16)
    }

    fn what(&self, step: &Step<'env>) -> What {
        What::Task(step.label, self.id(step))
    }

    /// Calls a step's action, unless the run has been cancelled, and then drops what `time`
    /// returned. Returns true if it called it.
    #[inline]
    fn call<T>(
        &self,
        step: &Step<'env>,
        scope: &ScopeCore,
        worker: &Worker,
        time: impl FnOnce() -> T,
    ) -> bool {
        if let Some(recorder) = worker.recorder() {
            let after = self.successors_of(step).map(|successor| self.id(&self.steps[successor]));
            after.for_each(|after| recorder.must_wait(self.id(step), after));
        }
        let is_called = !scope.is_cancelled();
        let act = || {
            let _time = time();
            (step.action)(scope);
        };
        if is_called && let Err(payload) = catch_unwind(AssertUnwindSafe(act)) {
            scope.panicked(payload);
        }
        worker.counts.tasks.add(1);
        // For the next run, which begins after this one has ended.
        step.waits_for.store(step.before, Ordering::Relaxed);
        is_called
    }

    /// Steps that have become ready by one that is done.
    #[inline]
    fn ready_by(&self, step: &Step<'env>) -> impl Iterator<Item = usize> + '_ {
        self.successors_of(step).filter(|&successor| {
            let successor = &self.steps[successor];
            // A step with one predecessor need not count.
            successor.before == 1 || successor.waits_for.fetch_sub(1, Ordering::AcqRel) == 1
        })
    }

    /// Does a step; the next one for this worker, if it asks.
    fn one_scheduled(
        &self,
        step: &Step<'env>,
        scope: &ScopeCore,
        worker: &Worker,
        asks: bool,
    ) -> Option<&Step<'env>> {
        let (scheduled, steps) = self.scheduled.as_ref()?;
        let since = Instant::now();
        // The scheduler learns the cost: it knows how large the task is.
        let is_called = self.call(step, scope, worker, || ());
        let now = Instant::now();
        let time = Nanos((now - since).as_nanos() as u64);
        let task = |step: usize| TaskId(self.tasks[step]);
        let this = task(self.place_of(step));
        // A task that was left out took no time.
        if is_called {
            scheduled.learn(worker, this, time);
            worker.recorder().into_iter().for_each(|it| it.lasted(self.what(step), since, now));
        }
        let released: Vec<_> = self.ready_by(step).map(task).collect();
        let next = scheduled.done(worker, this, time, &released, asks)?;
        Some(&self.steps[steps[next.index()] as usize])
    }

    /// Does a step that is ready, then one that has become ready by it, and so on.
    fn go(&self, step: &Step<'env>, scope: &ScopeCore, worker: &Worker) {
        let mut step = step;
        for _ in 0..IN_ONE_GO {
            if step.label != Label::default()
                && !scope.is_cancelled()
                && worker.declines_task(step.job(), step.label)
            {
                return;
            }
            match self.one(step, scope, worker) {
                Some(next) => step = next,
                None => return,
            }
        }
        worker.push_next(step.job());
    }

    /// Does a step. Of the steps that have become ready by it the first is the caller's; the others
    /// are pushed.
    fn one(&self, step: &Step<'env>, scope: &ScopeCore, worker: &Worker) -> Option<&Step<'env>> {
        self.call(step, scope, worker, || worker.time(step.label, || self.what(step)));
        let mut next = None;
        for successor in self.ready_by(step) {
            if let Some(earlier) = next.replace(&self.steps[successor]) {
                worker.push(Step::job(earlier));
            }
        }
        worker.credits.gain(scope, worker);
        next
    }
}
