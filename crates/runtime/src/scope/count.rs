//! Counting the tasks of a scope without a counter that all write to. README.md, "Scopes".
#![expect(unsafe_code, reason = "credits hold a pointer to their scope")]

use std::cell::Cell;
use std::ptr::null;

use crate::sync::{AtomicUsize, Ordering};
use crate::worker::Worker;

use super::ScopeCore;

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
    /// Before something of a scope is done: no credits are held of any other.
    #[inline]
    pub fn switch_to(&self, scope: &ScopeCore, worker: &Worker) {
        if self.scope.get() != &raw const *scope {
            self.give_back(worker);
            self.scope.set(scope);
        }
    }

    /// A task is created. The caller keeps the count above 0 by itself: it is the opener, or runs a
    /// task of the scope.
    #[inline]
    pub fn spend(&self, scope: &ScopeCore, worker: &Worker) {
        self.switch_to(scope, worker);
        if self.held.get() == 0 {
            scope.count.all.fetch_add(ADVANCE, Ordering::Relaxed);
            self.held.set(ADVANCE);
        }
        self.held.set(self.held.get() - 1);
    }

    /// A task is done, or the opener's closure. The scope is not to be touched any more by the
    /// caller.
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

    /// Gives all back.
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
