//! Opening a scope, and waiting for it.

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

use crate::costs::Label;
use crate::task::Domain;
use crate::worker::Worker;

use super::{ScopeCore, Spawner};

/// Where tasks are created: see [`crate::Pool::scope`]. Stays on the thread that opened it; a [`Spawner`] goes anywhere.
pub struct Scope<'scope, 'env: 'scope> {
    pub(crate) core: &'scope ScopeCore,
    pub(crate) worker: &'scope Worker,
    /// As handles know it, from the first task with dependences on.
    pub(crate) domain: OnceCell<Domain>,
    /// Invariant in both, as [`std::thread::Scope`] is: neither may be taken for longer or shorter than it is.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// Opens a scope on a worker, and returns when all of its tasks are done.
pub fn open<'env, F, R>(worker: &Worker, f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let core = ScopeCore::new(worker.index);
    let scope = Scope { core: &core, worker, domain: OnceCell::new(), lifetimes: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if result.is_err() {
        core.cancel();
    }
    worker.credits.gain(&core, worker);
    worker.wait_until(|| core.count.is_zero());
    match (result, core.panic.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        (Err(payload), _) | (Ok(_), Some(payload)) => resume_unwind(payload),
        (Ok(value), None) => value,
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Creates an independent task. It may begin at once on another worker, and has ended when the scope has.
    #[inline]
    pub fn spawn<F: FnOnce() + Send + 'scope>(&self, f: F) {
        self.spawn_as(Label::default(), f);
    }

    /// Creates an independent task with a name, under which it is in traces, and its cost is learnt ([`crate::Pool::costs`]).
    #[inline]
    pub fn spawn_named<F: FnOnce() + Send + 'scope>(&self, name: &'static str, f: F) {
        self.spawn_as(self.worker.label(name), f);
    }

    #[inline]
    pub(crate) fn spawn_as<F: FnOnce() + Send + 'scope>(&self, label: Label, f: F) {
        if super::spawn::is_timed(label, self.worker.registry()) {
            super::spawn::spawn(self.core, self.worker, super::spawn::timed(label, f));
        } else {
            super::spawn::spawn(self.core, self.worker, f);
        }
    }

    /// What creates independent tasks from anywhere within the scope, its tasks included.
    pub fn spawner(&self) -> Spawner<'scope> {
        Spawner::new(self.core, self.worker.registry())
    }

    /// Drops all tasks that have not begun, and those that are still to be created: their closures are dropped without being called.
    pub fn cancel(&self) {
        self.core.cancel();
    }

    /// Whether the scope has been cancelled, or one of its tasks has panicked: a long task may look and return early.
    pub fn is_cancelled(&self) -> bool {
        self.core.is_cancelled()
    }
}
