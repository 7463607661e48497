//! Scopes: tasks that are done when the call returns. README.md in this folder explains credits.
#![expect(unsafe_code, reason = "credits hold a pointer to their scope")]

mod first_error;
mod spawn;

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null;
use std::sync::{Mutex, PoisonError};

use crate::costs::Label;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use crate::task::{Declared, Domain};
use crate::worker::Worker;

pub use first_error::FirstError;
pub use spawn::Spawner;

/// Creates tasks: see [`crate::Pool::scope`]. Stays on the thread that opened it; a [`Spawner`]
/// goes anywhere.
///
/// `E` is the error of tasks that may fail; a scope of [`crate::Pool::scope`] has no such tasks.
pub struct Scope<'scope, 'env: 'scope, E = Infallible> {
    pub(crate) core: &'scope ScopeCore,
    pub(crate) worker: &'scope Worker,
    /// The scope as handles know it, from the first task with dependences on.
    pub(crate) domain: OnceCell<Domain>,
    errors: &'scope FirstError<E>,
    /// Invariant in both, as [`std::thread::Scope`] is: neither may be taken for longer or shorter
    /// than it is.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// Opens a scope on a worker, and returns when all of its tasks are done.
pub fn open<'env, F, R>(worker: &Worker, f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let Ok(value) = try_open(worker, |s| Ok::<R, Infallible>(f(s)));
    value
}

/// Opens a scope with tasks that may fail.
pub fn try_open<'env, F, R, E>(worker: &Worker, f: F) -> Result<R, E>
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, E>) -> Result<R, E>,
{
    let (core, errors) = (ScopeCore::new(worker.index), FirstError::default());
    let scope = Scope {
        core: &core,
        worker,
        domain: OnceCell::new(),
        errors: &errors,
        lifetimes: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope).map_err(|error| errors.keep(error))));
    let value = match result {
        Ok(Ok(value)) => Some(value),
        Ok(Err(())) => {
            core.cancel();
            None
        }
        Err(payload) => {
            core.panicked(payload);
            None
        }
    };
    worker.credits.gain(&core, worker);
    // The next task in its deque may be of another scope, and would run on top of this one: the
    // last credits are given back before that.
    worker.wait_until(|| worker.credits.are_all_of(&core) || core.count.is_zero());
    if let Some(payload) = core.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(payload);
    }
    errors.take()?;
    let Some(value) = value else {
        unreachable!("where there is no value there is an error or a panic")
    };
    Ok(value)
}

impl<'scope, E> Scope<'scope, '_, E> {
    /// Creates an independent task. It may begin at once on another worker, and has ended when the
    /// scope has.
    #[inline]
    pub fn spawn<F: FnOnce() + Send + 'scope>(&self, f: F) {
        if spawn::is_timed(Label::default(), self.worker.registry()) {
            spawn::spawn(self.core, self.worker, spawn::timed(Label::default(), f));
        } else {
            spawn::spawn(self.core, self.worker, f);
        }
    }

    /// Creates an independent task with a name, under which it is in traces, and its cost is learnt
    /// ([`crate::Pool::costs`]).
    #[inline]
    pub fn spawn_named<F: FnOnce() + Send + 'scope>(&self, name: &'static str, f: F) {
        self.task().label(name).run(f);
    }

    /// Creates an independent task that may fail: see [`crate::Pool::try_scope`].
    pub fn try_spawn<F: FnOnce() -> Result<(), E> + Send + 'scope>(&self, f: F)
    where
        E: Send,
    {
        self.spawn(self.failing(f));
    }

    /// A closure that cancels the scope if `f` fails.
    pub(crate) fn failing<F: FnOnce() -> Result<(), E> + Send + 'scope>(
        &self,
        f: F,
    ) -> impl FnOnce() + Send + use<'scope, F, E>
    where
        E: Send,
    {
        spawn::failing(self.core, self.errors, f)
    }

    /// A spawner of independent tasks, for use anywhere within the scope, its tasks included.
    pub fn spawner(&self) -> Spawner<'scope, E> {
        Spawner::new(self.core, self.worker.registry(), self.errors)
    }

    /// Drops all tasks that have not begun, and those that are still to be created: their closures
    /// are dropped without being called.
    pub fn cancel(&self) {
        self.core.cancel();
    }

    /// True if the scope has been cancelled, or one of its tasks has panicked or failed: a long
    /// task may look and return early.
    pub fn is_cancelled(&self) -> bool {
        self.core.is_cancelled()
    }
}

/// The payload of a panic.
pub type Payload = Box<dyn Any + Send>;

/// Keeps a payload if it is the first. Dropping a later one may panic in turn, and the payload of
/// that panic is leaked.
pub fn keep_first(kept: &Mutex<Option<Payload>>, payload: Payload) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.is_none() {
        *kept = Some(payload);
        return;
    }
    drop(kept);
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

/// The state that the tasks of a scope share with it.
pub struct ScopeCore {
    count: Count,
    cancelled: AtomicBool,
    panic: Mutex<Option<Payload>>,
    /// The context of its tasks, for the check of declared accesses.
    pub declared: Declared,
}

impl ScopeCore {
    fn new(opener: usize) -> Self {
        Self {
            count: Count::new(opener),
            cancelled: AtomicBool::new(false),
            panic: Mutex::new(None),
            declared: Declared::here().for_tasks(),
        }
    }

    /// True if tasks that have not begun are to be dropped.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Adds so many tasks, by the opener.
    pub fn expect(&self, tasks: usize) {
        self.count.raise(tasks);
    }

    /// Has tasks that have not begun dropped.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Keeps the first payload of a task that panicked, and cancels the rest of the scope.
    #[cold]
    pub fn panicked(&self, payload: Payload) {
        self.cancel();
        keep_first(&self.panic, payload);
    }
}

/// Credits taken at a time: the count is written to once in so many tasks.
const ADVANCE: usize = 64;

/// Tasks that are not done, credits that are out, and 1 for the opener.
pub struct Count {
    all: AtomicUsize,
    opener: usize,
}

impl Count {
    /// The count of a scope that this worker opens.
    pub fn new(opener: usize) -> Self {
        Self { all: AtomicUsize::new(1), opener }
    }

    /// True if nothing is left to be done; what was done is seen then.
    pub fn is_zero(&self) -> bool {
        self.all.load(Ordering::Acquire) == 0
    }

    /// Adds tasks for a caller without credits, which keeps the count above 0 by itself.
    pub fn raise(&self, by: usize) {
        self.all.fetch_add(by, Ordering::Relaxed);
    }

    /// Takes some off. From that moment the scope may be gone.
    fn lower(this: &Self, by: usize, worker: &Worker) {
        let opener = this.opener;
        if this.all.fetch_sub(by, Ordering::AcqRel) == by {
            worker.registry().sleep.wake_waiter(opener);
        }
    }
}

/// A worker's part of a scope's count.
pub struct Credits {
    /// The scope. It may be gone if no credits are held: not to be followed then.
    scope: Cell<*const ScopeCore>,
    held: Cell<usize>,
}

impl Default for Credits {
    fn default() -> Self {
        Self { scope: Cell::new(null()), held: Cell::new(0) }
    }
}

impl Credits {
    /// Turns to a scope before something of it is done: credits of any other are given back.
    #[inline]
    pub fn switch_to(&self, scope: &ScopeCore, worker: &Worker) {
        if self.scope.get() != &raw const *scope {
            self.give_back(worker);
            self.scope.set(scope);
        }
    }

    /// Takes a credit for a task that is created. The caller keeps the count above 0 by itself: it
    /// is the opener, or runs a task of the scope.
    #[inline]
    pub fn spend(&self, scope: &ScopeCore, worker: &Worker) {
        self.switch_to(scope, worker);
        if self.held.get() == 0 {
            scope.count.all.fetch_add(ADVANCE, Ordering::Relaxed);
            self.held.set(ADVANCE);
        }
        self.held.set(self.held.get() - 1);
    }

    /// Adds a credit for a task that is done, or the opener's closure. The caller must not touch
    /// the scope any more.
    #[inline]
    pub fn gain(&self, scope: &ScopeCore, worker: &Worker) {
        self.switch_to(scope, worker);
        self.held.set(self.held.get() + 1);
    }

    /// True if these credits are all of the scope's count: its tasks have ended, and what they did
    /// is seen then.
    #[inline]
    pub fn are_all_of(&self, scope: &ScopeCore) -> bool {
        self.scope.get() == &raw const *scope
            && scope.count.all.load(Ordering::Acquire) == self.held.get()
    }

    /// Gives all credits back.
    #[inline]
    pub fn give_back(&self, worker: &Worker) {
        let held = self.held.take();
        if held > 0 {
            // SAFETY: credits are part of the scope's count, and it waits until that is 0.
            let scope = unsafe { &*self.scope.get() };
            Count::lower(&scope.count, held, worker);
        }
        self.scope.set(null());
    }
}
