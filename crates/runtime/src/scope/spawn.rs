//! Independent tasks: a head, the scope, the closure, in one block.
#![expect(unsafe_code, reason = "tasks are in blocks, and are called through a pointer")]

use std::alloc::Layout;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::PoisonError;

use crate::arena::Class;
use crate::batch::{LONGEST, RunSlot};
use crate::costs::Label;
use crate::job::{Head, JobRef};
use crate::registry::Registry;
use crate::trace::{TaskId, What};
use crate::worker::Worker;

use super::{FirstError, ScopeCore};

#[repr(C)]
struct Task<F> {
    head: Head,
    scope: NonNull<ScopeCore>,
    closure: F,
}

impl<F: FnOnce() + Send> Task<F> {
    const CLASS: Option<Class> = Class::independent(Layout::new::<Self>());

    const fn of(scope: &ScopeCore, closure: F) -> Self {
        Self { head: Head { run: Self::run }, scope: NonNull::from_ref(scope), closure }
    }

    /// # Safety
    /// The head is that of a `Task<F>` in a block of `CLASS`, which has not been run.
    unsafe fn run(head: NonNull<Head>, worker: &Worker) {
        // SAFETY: a head is the first field of its task, and this is the one time that the closure
        // is taken out.
        let Self { scope, closure, .. } = unsafe { head.cast::<Self>().read() };
        if let Some(class) = Self::CLASS {
            // SAFETY: its contents have just been moved out; made with this class by `spawn` or
            // `Spawner::spawn`.
            unsafe { worker.arena.give(class, head.cast(), &worker.registry().shared_blocks) };
        }
        // SAFETY: the scope waits for this task, which is counted until `gain`.
        let scope = unsafe { scope.as_ref() };
        call(closure, scope, worker);
    }
}

/// Runs a task that has been moved out of its block. The scope is there until the credit that it
/// gains is given back.
// Not inlined, divide and conquer takes a third longer (22.7 and 31 ns a task, one worker).
#[inline(always)]
fn call<F: FnOnce() + Send>(closure: F, scope: &ScopeCore, worker: &Worker) {
    worker.credits.switch_to(scope, worker);
    let called = catch_unwind(AssertUnwindSafe(|| {
        if scope.is_cancelled() { drop(closure) } else { scope.declared.during(closure) }
    }));
    if let Err(payload) = called {
        scope.panicked(payload);
    }
    worker.counts.tasks.add(1);
    worker.credits.gain(scope, worker);
}

/// A task in a batch.
#[repr(C)]
struct Slot<F> {
    run: RunSlot,
    closure: F,
}

impl<F: FnOnce() + Send> Slot<F> {
    /// Bytes of the shortest slot that it fits into. None: it does not fit into any.
    const BYTES: Option<usize> = match size_of::<Self>().next_power_of_two() {
        _ if align_of::<Self>() > align_of::<RunSlot>() => None,
        ..=16 => Some(16),
        bytes @ ..=LONGEST => Some(bytes),
        _ => None,
    };

    /// # Safety
    /// There is a `Slot<F>` of this scope, which has not been run.
    unsafe fn run(slot: NonNull<u8>, scope: &ScopeCore, worker: &Worker) {
        // SAFETY: this is the one time that the closure is taken out.
        let Self { closure, .. } = unsafe { slot.cast::<Self>().read() };
        call(closure, scope, worker);
    }
}

/// Creates an independent task, by a worker that keeps the scope's count above 0.
#[inline]
pub fn spawn<F: FnOnce() + Send>(scope: &ScopeCore, worker: &Worker, closure: F) {
    let Some(class) = Task::<F>::CLASS else { return spawn(scope, worker, boxed(closure)) };
    worker.credits.spend(scope, worker);
    if let Some(slot) = Slot::<F>::BYTES.and_then(|bytes| worker.slot(scope, bytes)) {
        // SAFETY: the slot is ours, and long enough.
        unsafe { slot.cast::<Slot<F>>().write(Slot { run: Slot::<F>::run, closure }) };
        return worker.slot_filled();
    }
    let block = worker.arena.take(class, &worker.registry().shared_blocks).cast::<Task<F>>();
    // SAFETY: the block is ours and large enough.
    unsafe { block.write(Task::of(scope, closure)) };
    worker.submit(JobRef::new(block.cast()));
}

/// A closure that is too large for a block goes to the heap, and a pointer into the block.
fn boxed<'a, F: FnOnce() + Send + 'a>(closure: F) -> Box<dyn FnOnce() + Send + 'a> {
    Box::new(closure)
}

/// True if the time of a task is needed.
#[inline]
pub fn is_timed(label: Label, registry: &Registry) -> bool {
    label != Label::default() || registry.is_traced
}

/// A task that is timed when it runs. In a box, so that all of them are one type of task.
pub fn timed<'a, F: FnOnce() + Send + 'a>(
    label: Label,
    closure: F,
) -> Box<dyn FnOnce() + Send + 'a> {
    boxed(move || {
        Worker::with_current(|worker| {
            let _time =
                worker.map(|worker| worker.time(label, || What::Task(label, TaskId::default())));
            closure();
        });
    })
}

/// A closure that cancels the scope if `f` fails.
pub fn failing<'scope, E: Send, F: FnOnce() -> Result<(), E> + Send>(
    scope: &'scope ScopeCore,
    errors: &'scope FirstError<E>,
    f: F,
) -> impl FnOnce() + Send + use<'scope, F, E> {
    move || {
        if let Err(error) = f() {
            errors.keep(error);
            scope.cancel();
        }
    }
}

/// Creates independent tasks of a scope, from any thread and as often as wanted: see
/// [`crate::Scope::spawner`].
pub struct Spawner<'scope, E = Infallible> {
    scope: &'scope ScopeCore,
    registry: &'scope Registry,
    errors: &'scope FirstError<E>,
    /// Invariant, as the scope's own.
    lifetime: PhantomData<&'scope mut &'scope ()>,
}

impl<E> Clone for Spawner<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Spawner<'_, E> {}

impl<'scope, E> Spawner<'scope, E> {
    pub(super) const fn new(
        scope: &'scope ScopeCore,
        registry: &'scope Registry,
        errors: &'scope FirstError<E>,
    ) -> Self {
        Self { scope, registry, errors, lifetime: PhantomData }
    }

    /// Creates an independent task.
    pub fn spawn<F: FnOnce() + Send + 'scope>(self, f: F) {
        self.spawn_as(Label::default(), f);
    }

    /// Creates an independent task with a name, as [`crate::Scope::spawn_named`] does.
    pub fn spawn_named<F: FnOnce() + Send + 'scope>(self, name: &'static str, f: F) {
        self.spawn_as(self.registry.label(name), f);
    }

    /// Creates an independent task that may fail, as [`crate::Scope::try_spawn`] does.
    pub fn try_spawn<F: FnOnce() -> Result<(), E> + Send + 'scope>(self, f: F)
    where
        E: Send,
    {
        self.spawn(failing(self.scope, self.errors, f));
    }

    fn spawn_as<F: FnOnce() + Send + 'scope>(self, label: Label, f: F) {
        if is_timed(label, self.registry) {
            self.spawn_untimed(timed(label, f))
        } else {
            self.spawn_untimed(f)
        }
    }

    /// Creates an independent task that traces and costs do not show.
    pub(crate) fn spawn_untimed<F: FnOnce() + Send + 'scope>(self, f: F) {
        Worker::with_current_in(self.registry, |worker| match worker {
            Some(worker) => spawn(self.scope, worker, f),
            None => self.spawn_from_outside(f),
        });
    }

    fn spawn_from_outside<F: FnOnce() + Send + 'scope>(self, f: F) {
        let Some(class) = Task::<F>::CLASS else { return self.spawn_from_outside(boxed(f)) };
        self.scope.count.raise(1);
        let block = {
            let arena = self.registry.external_arena.lock().unwrap_or_else(PoisonError::into_inner);
            arena.take(class, &self.registry.shared_blocks).cast::<Task<F>>()
        };
        // SAFETY: the block is ours and large enough.
        unsafe { block.write(Task::of(self.scope, f)) };
        self.registry.submit(JobRef::new(block.cast()));
    }

    /// The pool that does what is spawned.
    pub(crate) const fn registry(self) -> &'scope Registry {
        self.registry
    }

    /// As [`crate::Scope::cancel`].
    pub fn cancel(self) {
        self.scope.cancel();
    }

    /// True if the scope has been cancelled, or one of its tasks has panicked or failed.
    pub fn is_cancelled(self) -> bool {
        self.scope.is_cancelled()
    }
}
