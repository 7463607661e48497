//! Handles: what tasks read and write, and what a scope knows of each.
#![expect(unsafe_code, reason = "a record belongs to one thread at a time: that of its scope")]

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::sync::{AtomicBool, AtomicU64, Ordering};

use super::node::TaskRef;
use super::record::Record;

/// A scope with tasks that have dependences. Over when dropped.
pub struct Domain(Mark);

/// A scope, as handles know it.
#[derive(Clone)]
struct Mark {
    /// Unlike any other's.
    number: u64,
    is_over: Arc<AtomicBool>,
}

impl Domain {
    /// A new one.
    pub fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Self(Mark { number, is_over: Arc::new(AtomicBool::new(false)) })
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // Release: a scope that finds this one over may use its records.
        self.0.is_over.store(true, Ordering::Release);
    }
}

impl Mark {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Something that tasks read and write: they declare it by [`crate::Task::reads`] and the like.
/// Tasks of one scope that conflict over it run in the order of their creation. The program decides
/// what it stands for; [`crate::Data`] is a handle with a value in it.
///
/// It remembers the last accesses of a scope's tasks, so no table has to be searched. Several
/// scopes may use it at a time.
#[derive(Default)]
pub struct Handle {
    /// The number of the scope that owns `record`; 0: none.
    owner: AtomicU64,
    record: UnsafeCell<Record<TaskRef>>,
    /// The owner, and the records of others that live at the same time.
    rest: Mutex<Rest>,
}

#[derive(Default)]
struct Rest {
    owner: Option<Mark>,
    #[expect(clippy::vec_box, reason = "records are pointed to while the list grows")]
    others: Vec<Box<(Mark, UnsafeCell<Record<TaskRef>>)>>,
}

// SAFETY: `record` is touched by the thread of the scope that `owner` names and by no other; a new
// owner is put in under the mutex of `rest`, when the one before is over. Each of the others
// belongs to the thread of its scope in the same way.
unsafe impl Sync for Handle {}
// SAFETY: task references are looked at by the threads of their scopes only.
unsafe impl Send for Handle {}

impl Handle {
    /// One that no task has used.
    pub fn new() -> Self {
        Self::default()
    }

    /// The record of a scope.
    ///
    /// # Safety
    /// The caller is the thread of that scope, and uses one record of the handle at a time.
    #[expect(clippy::mut_from_ref, reason = "the caller's promise")]
    pub(super) unsafe fn record(&self, scope: &Domain) -> &mut Record<TaskRef> {
        if self.owner.load(Ordering::Relaxed) == scope.0.number {
            // SAFETY: ours: only this thread puts its number there, and no other takes it away
            // while the scope lives.
            return unsafe { &mut *self.record.get() };
        }
        self.other_record(&scope.0)
    }

    #[cold]
    #[expect(clippy::mut_from_ref, reason = "as `record`")]
    fn other_record(&self, scope: &Mark) -> &mut Record<TaskRef> {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        rest.others.retain(|other| !other.0.is_over());
        let own = rest.others.iter().position(|other| other.0.number == scope.number);
        if own.is_none() && rest.owner.as_ref().is_none_or(Mark::is_over) {
            // SAFETY: its owner is over, and we are the only ones under the mutex.
            let record = unsafe { &mut *self.record.get() };
            *record = Record::default();
            rest.owner = Some(scope.clone());
            self.owner.store(scope.number, Ordering::Relaxed);
            return record;
        }
        let own = own.unwrap_or_else(|| {
            rest.others.push(Box::new((scope.clone(), UnsafeCell::default())));
            rest.others.len() - 1
        });
        // SAFETY: ours, in a box that stays while the scope lives.
        unsafe { &mut *rest.others[own].1.get() }
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What a task can declare to read or write: a [`Handle`], a [`crate::Data`], a [`Part`] of an
/// array.
pub trait Resource: sealed::Sealed {
    /// The handles that stand for it.
    #[doc(hidden)]
    fn handles(&self) -> &[Handle];

    /// True if it hands out a value.
    #[doc(hidden)]
    fn is_data(&self) -> bool {
        false
    }
}

impl sealed::Sealed for Handle {}
impl Resource for Handle {
    fn handles(&self) -> &[Handle] {
        std::slice::from_ref(self)
    }
}

/// Handles for the parts of an array, a block of so many elements each.
///
/// A part stands for all blocks that it touches: two parts that share a block conflict, though they
/// may not share an element.
#[derive(Debug)]
pub struct Regions {
    blocks: Box<[Handle]>,
    len: usize,
    block: usize,
}

/// Some elements of an array: see [`Regions::part`].
#[derive(Clone, Copy, Debug)]
pub struct Part<'a>(&'a [Handle]);

impl Regions {
    /// For an array of `len` elements, in blocks of `block` elements (0 is taken as 1).
    pub fn new(len: usize, block: usize) -> Self {
        let block = block.max(1);
        Self { blocks: (0..len.div_ceil(block)).map(|_| Handle::new()).collect(), len, block }
    }

    /// Elements of the array; those beyond its end do not count.
    pub fn part(&self, elements: Range<usize>) -> Part<'_> {
        let end = elements.end.min(self.len);
        if elements.start >= end {
            return Part(&[]);
        }
        Part(&self.blocks[elements.start / self.block..end.div_ceil(self.block)])
    }
}

impl sealed::Sealed for Part<'_> {}
impl Resource for Part<'_> {
    fn handles(&self) -> &[Handle] {
        self.0
    }
}

impl sealed::Sealed for Regions {}
impl Resource for Regions {
    fn handles(&self) -> &[Handle] {
        &self.blocks
    }
}

impl<T> sealed::Sealed for super::Data<T> {}
impl<T> Resource for super::Data<T> {
    fn handles(&self) -> &[Handle] {
        std::slice::from_ref(self.handle())
    }

    fn is_data(&self) -> bool {
        true
    }
}
