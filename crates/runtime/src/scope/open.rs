//! Opening a scope, and waiting for it.

use std::cell::OnceCell;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

use crate::costs::Label;
use crate::task::Domain;
use crate::worker::Worker;

use super::{FirstError, ScopeCore, Spawner};

/// Creates tasks: see [`crate::Pool::scope`]. Stays on the thread that opened it; a [`Spawner`]
/// goes anywhere.
///
/// `E` is the error of tasks that may fail; a scope of [`crate::Pool::scope`] has no such tasks.
pub struct Scope<'scope, 'env: 'scope, E = Infallible> {
    pub(crate) core: &'scope ScopeCore,
    pub(crate) worker: &'scope Worker,
    /// As handles know it, from the first task with dependences on.
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
        if super::spawn::is_timed(Label::default(), self.worker.registry()) {
            super::spawn::spawn(self.core, self.worker, super::spawn::timed(Label::default(), f));
        } else {
            super::spawn::spawn(self.core, self.worker, f);
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
        super::spawn::failing(self.core, self.errors, f)
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
