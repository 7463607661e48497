//! Loops over the elements of a slice, each of which one iteration may change.
#![expect(unsafe_code, reason = "iterations borrow disjoint parts of one slice")]

use std::marker::PhantomData;
use std::ops::Range;

use super::body::Body;

/// A slice that is lent out in parts.
pub struct Parts<'a, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: as a slice of which each part is used by one thread at a time.
unsafe impl<T: Send> Send for Parts<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Parts<'_, T> {}

impl<'a, T> Parts<'a, T> {
    /// All of it.
    pub const fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// Elements from `first`, so many, or as many as there are.
    ///
    /// # Safety
    /// No element of it is in another part that is being used.
    #[expect(clippy::mut_from_ref, reason = "parts are disjoint: the caller's promise")]
    pub unsafe fn part(&self, first: usize, count: usize) -> &mut [T] {
        let first = first.min(self.len);
        let count = count.min(self.len - first);
        // SAFETY: within the slice, which is borrowed for as long as this lives; disjoint from
        // other parts by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), count) }
    }
}

/// A call per element.
struct Elements<'a, T, F> {
    parts: Parts<'a, T>,
    start: usize,
    f: F,
}

impl<T: Send, F: Fn(usize, &mut T) + Sync> Body for Elements<'_, T, F> {
    type Local = ();

    fn begin(&self) {}

    fn chunk(&self, (): &mut (), iterations: Range<u64>) -> bool {
        let first = self.start.saturating_add(iterations.start as usize);
        // SAFETY: a loop hands out every iteration once, so what is handed out at a time does not
        // overlap.
        let part = unsafe { self.parts.part(first, (iterations.end - iterations.start) as usize) };
        part.iter_mut().zip(first..).for_each(|(it, i)| (self.f)(i, it));
        true
    }

    fn end(&self, (): ()) {}
}

impl crate::Pool {
    /// Calls `f` with each element and its index, on all cores at once.
    ///
    /// ```
    /// let mut squares = vec![0; 100];
    /// evenkeel_runtime::Pool::new()?.for_each_mut(&mut squares, |i, it| *it = i * i);
    /// assert_eq!(squares[9], 81);
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    pub fn for_each_mut<T: Send>(&self, slice: &mut [T], f: impl Fn(usize, &mut T) + Send + Sync) {
        self.over(0..slice.len()).for_each_mut(slice, f);
    }

    /// Calls `f` with each block of `size` elements (the last may be shorter) and its number, on
    /// all cores at once.
    ///
    /// A `size` of 0 is taken as 1.
    pub fn for_each_block<T: Send>(
        &self,
        slice: &mut [T],
        size: usize,
        f: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        self.over(0..slice.len().div_ceil(size.max(1))).for_each_block(slice, size, f);
    }
}

impl super::Over<'_, usize> {
    /// Calls `f` with each element of a slice whose index is in the range, and its index.
    pub fn for_each_mut<T: Send>(&self, slice: &mut [T], f: impl Fn(usize, &mut T) + Send + Sync) {
        self.run(&Elements { parts: Parts::new(slice), start: self.range.start, f });
    }

    /// Calls `f` with each block of `size` elements of a slice whose number is in the range, and
    /// its number.
    pub fn for_each_block<T: Send>(
        &self,
        slice: &mut [T],
        size: usize,
        f: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        let (parts, size) = (Parts::new(slice), size.max(1));
        self.for_each(|block| {
            // SAFETY: a loop hands out every number once, and blocks of different numbers do not
            // overlap (a product that would overflow is at the end of the slice, where nothing is).
            f(block, unsafe { parts.part(block.saturating_mul(size), size) });
        });
    }
}
