//! Bodies of loops: what is done with a chunk of iterations.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::scope::FirstError;

use super::Index;

/// One worker's part in a loop: begins, does chunks, ends.
pub trait Body: Sync {
    /// What a worker keeps from chunk to chunk.
    type Local;

    /// Begins.
    fn begin(&self) -> Self::Local;

    /// Does these iterations. False: the rest of the loop is not to be done.
    fn chunk(&self, local: &mut Self::Local, iterations: Range<u64>) -> bool;

    /// Ends.
    fn end(&self, local: Self::Local);
}

/// A call per iteration.
pub struct ForEach<T, F> {
    pub start: T,
    pub f: F,
}

impl<T: Index, F: Fn(T) + Sync> Body for ForEach<T, F> {
    type Local = ();

    fn begin(&self) {}

    fn chunk(&self, (): &mut (), iterations: Range<u64>) -> bool {
        iterations.for_each(|i| (self.f)(self.start.plus(i)));
        true
    }

    fn end(&self, (): ()) {}
}

/// A call per chunk.
pub struct ForEachChunk<T, F> {
    pub start: T,
    pub f: F,
}

impl<T: Index, F: Fn(Range<T>) + Sync> Body for ForEachChunk<T, F> {
    type Local = ();

    fn begin(&self) {}

    fn chunk(&self, (): &mut (), iterations: Range<u64>) -> bool {
        (self.f)(self.start.plus(iterations.start)..self.start.plus(iterations.end));
        true
    }

    fn end(&self, (): ()) {}
}

/// A call per iteration that may fail. The first error ends the loop.
pub struct TryForEach<T, F, E> {
    pub start: T,
    pub f: F,
    pub errors: FirstError<E>,
}

impl<T: Index, F: Fn(T) -> Result<(), E> + Sync, E: Send> Body for TryForEach<T, F, E> {
    type Local = ();

    fn begin(&self) {}

    fn chunk(&self, (): &mut (), mut iterations: Range<u64>) -> bool {
        let failed = iterations.find_map(|i| (self.f)(self.start.plus(i)).err());
        let going_on = failed.is_none();
        if let Some(error) = failed {
            self.errors.keep(error);
        }
        going_on
    }

    fn end(&self, (): ()) {}
}

/// Each worker has a value of its own; at the end they are brought together.
pub struct MapReduce<T, A, I, M, R> {
    pub start: T,
    pub identity: I,
    pub map: M,
    pub reduce: R,
    pub result: Mutex<Option<A>>,
}

impl<T, A, I, M, R> Body for MapReduce<T, A, I, M, R>
where
    T: Index,
    A: Send,
    I: Fn() -> A + Sync,
    M: Fn(A, Range<T>) -> A + Sync,
    R: Fn(A, A) -> A + Sync,
{
    /// None while a call has it: gone if that panics.
    type Local = Option<A>;

    fn begin(&self) -> Option<A> {
        Some((self.identity)())
    }

    fn chunk(&self, local: &mut Option<A>, iterations: Range<u64>) -> bool {
        let chunk = self.start.plus(iterations.start)..self.start.plus(iterations.end);
        *local = local.take().map(|value| (self.map)(value, chunk));
        true
    }

    fn end(&self, local: Option<A>) {
        let Some(mut value) = local else { return };
        loop {
            let before = {
                let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(before) = result.take() else {
                    *result = Some(value);
                    return;
                };
                before
            };
            // Users' code, which may run a loop, and so come to another end of this one: not under
            // the lock.
            value = (self.reduce)(before, value);
        }
    }
}
