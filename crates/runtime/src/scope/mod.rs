//! Scopes: tasks that are done when the call returns.

mod count;
mod first_error;
mod open;
mod spawn;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use crate::sync::{AtomicBool, Ordering};
use crate::task::Declared;

pub use count::Credits;
pub use first_error::FirstError;
pub use open::{Scope, open, try_open};
pub use spawn::Spawner;

use count::Count;

/// The payload of a panic.
pub type Payload = Box<dyn Any + Send>;

/// Keeps it if it is the first. Dropping a later one may panic in turn: what that leaves behind is
/// not dropped any more.
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
    /// For its tasks.
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

    /// Tasks that have not begun are dropped.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// A task panicked: the first such payload is kept, and the rest of the scope cancelled.
    #[cold]
    pub fn panicked(&self, payload: Payload) {
        self.cancel();
        keep_first(&self.panic, payload);
    }
}
