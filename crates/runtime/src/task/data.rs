//! A value that tasks share by saying what they do with it.
#![expect(unsafe_code, reason = "a value that is borrowed at run time")]

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

use crate::sync::{AtomicUsize, Ordering};

use super::{Declared, Handle, Mode};

/// Borrowed for writing; less: by so many readers.
const WRITTEN: usize = usize::MAX;

/// A handle with a value in it, which tasks borrow while they run.
///
/// A task that has declared what it does gets the value without waiting: conflicting tasks are not
/// running.
///
/// In a debug build a task panics if neither it nor a task around it has declared the data. In a
/// release build that is found only where two tasks meet: the borrow panics then, as that of a
/// [`std::cell::RefCell`] does. Nothing has to be declared outside of tasks, nor by the task that
/// has made the data; one that owns them has [`Data::get_mut`]. Stages of a pipeline are not
/// checked, nor are parts of a loop or a join that another worker does. A thread that a task starts
/// itself counts as outside of tasks.
///
/// ```
/// let (sum, pool) = (evenkeel_runtime::Data::new(0), evenkeel_runtime::Pool::new()?);
/// pool.scope(|s| (0..10).for_each(|i| s.task().updates(&sum).run({
///     let sum = &sum;
///     move || *sum.write() += i
/// })));
/// assert_eq!(sum.into_inner(), 45);
/// # Ok::<(), evenkeel_runtime::PoolError>(())
/// ```
pub struct Data<T> {
    handle: Handle,
    borrowed: AtomicUsize,
    /// The task that made it. Debug builds check it.
    made: Declared,
    value: UnsafeCell<T>,
}

impl<T: Default> Default for Data<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

// SAFETY: as `RwLock`: many may read it, one may write it, on whatever thread.
unsafe impl<T: Send + Sync> Sync for Data<T> {}

impl<T> Data<T> {
    /// Not borrowed.
    pub fn new(value: T) -> Self {
        Self {
            handle: Handle::new(),
            borrowed: AtomicUsize::new(0),
            made: Declared::here(),
            value: UnsafeCell::new(value),
        }
    }

    /// The handle that stands for it.
    pub(super) const fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Borrows the value for reading.
    ///
    /// # Panics
    /// It is borrowed for writing: one of the two tasks did not say so. In debug builds also where
    /// the task has not declared that it reads or writes it.
    #[track_caller]
    pub fn read(&self) -> Reading<'_, T> {
        assert!(
            Declared::allows(&self.handle, Mode::Reads, &self.made),
            "a task reads data that it has not declared: it takes `reads`, `writes` or `updates` \
             before `run`"
        );
        let one_more =
            |readers: usize| readers.checked_add(1).filter(|&readers| readers != WRITTEN);
        let before = self.borrowed.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more);
        assert!(before.is_ok(), "data is being written: does the task say that it reads it?");
        Reading(self)
    }

    /// Borrows the value for writing.
    ///
    /// # Panics
    /// It is borrowed: one of the two tasks did not say so. In debug builds also where the task has
    /// not declared that it writes it.
    #[track_caller]
    pub fn write(&self) -> Writing<'_, T> {
        assert!(
            Declared::allows(&self.handle, Mode::Writes, &self.made),
            "a task writes data that it has not declared: it takes `writes` or `updates` before \
             `run`"
        );
        let before =
            self.borrowed.compare_exchange(0, WRITTEN, Ordering::Acquire, Ordering::Relaxed);
        assert!(
            before.is_ok(),
            "data is being read or written: does the task say that it writes it?"
        );
        Writing(self)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// The value.
    pub const fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T> std::fmt::Debug for Data<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Data").finish_non_exhaustive()
    }
}

/// A value that is being read.
#[derive(Debug)]
pub struct Reading<'a, T>(&'a Data<T>);

/// A value that is being written.
#[derive(Debug)]
pub struct Writing<'a, T>(&'a Data<T>);

impl<T> Deref for Reading<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: counted as a reader: no task writes.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> Drop for Reading<'_, T> {
    fn drop(&mut self) {
        self.0.borrowed.fetch_sub(1, Ordering::Release);
    }
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the only borrow.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the only borrow.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        self.0.borrowed.store(0, Ordering::Release);
    }
}
