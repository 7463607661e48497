//! Parallel loops.

mod body;
mod dispenser;
mod history;
mod run;
mod schedule;
mod shares;
mod slices;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::Pool;
use crate::costs::Label;
use crate::scope::FirstError;
use body::{ForEach, ForEachChunk, MapReduce, TryForEach};
use run::Shown;

pub use history::LoopHistory;
pub use schedule::Schedule;

mod sealed {
    pub trait Sealed {}
}

/// What a loop may run over: whole numbers of any type.
pub trait Index: Copy + Send + Sync + sealed::Sealed {
    /// How many there are in a range; none where it ends before it begins.
    #[doc(hidden)]
    fn count(range: &Range<Self>) -> u64;
    /// As a trace shows it.
    #[doc(hidden)]
    fn shown(self) -> i64;
    /// The one that comes so many after this.
    #[doc(hidden)]
    fn plus(self, by: u64) -> Self;
}

macro_rules! index {
    ($($type:ty as $unsigned:ty),*) => {$(
        impl sealed::Sealed for $type {}
        impl Index for $type {
            fn count(range: &Range<Self>) -> u64 {
                // The end of a longer range is never reached.
                let length = range.end.wrapping_sub(range.start) as $unsigned;
                if range.start < range.end { u64::try_from(length).unwrap_or(u64::MAX) } else { 0 }
            }
            fn shown(self) -> i64 {
                self as i64
            }
            #[inline]
            fn plus(self, by: u64) -> Self {
                self.wrapping_add(by as Self)
            }
        }
    )*};
}
index!(u8 as u8, u16 as u16, u32 as u32, u64 as u64, u128 as u128, usize as usize);
index!(i8 as u8, i16 as u16, i32 as u32, i64 as u64, i128 as u128, isize as usize);

/// A loop that has not begun: see [`Pool::over`].
#[derive(Clone, Debug)]
pub struct Over<'pool, T> {
    pool: &'pool Pool,
    range: Range<T>,
    schedule: Option<Schedule>,
    label: Label,
    code: Option<usize>,
}

impl Pool {
    /// Calls `f` with each number of the range, on all cores at once, and returns when all calls
    /// have.
    ///
    /// A panic of `f` is resumed here; iterations that have not been handed out by then are left
    /// out.
    pub fn for_each<T: Index>(&self, range: Range<T>, f: impl Fn(T) + Send + Sync) {
        self.over(range).for_each(f);
    }

    /// As [`Pool::for_each`]; the first error ends the loop, and iterations that have not been
    /// handed out by then are left out.
    ///
    /// # Errors
    /// One of those that `f` returned.
    pub fn try_for_each<T: Index, E: Send>(
        &self,
        range: Range<T>,
        f: impl Fn(T) -> Result<(), E> + Send + Sync,
    ) -> Result<(), E> {
        self.over(range).try_for_each(f)
    }

    /// Each worker begins with an `identity`, and adds to it what `map` makes of its numbers;
    /// `reduce` brings their values together.
    ///
    /// In which order is not said: the result is always the same where `reduce` is associative and
    /// commutative (sums of whole numbers are, sums of floating-point numbers are not).
    pub fn map_reduce<T: Index, A: Send>(
        &self,
        range: Range<T>,
        identity: impl Fn() -> A + Send + Sync,
        map: impl Fn(A, T) -> A + Send + Sync,
        reduce: impl Fn(A, A) -> A + Send + Sync,
    ) -> A {
        self.over(range).map_reduce(identity, map, reduce)
    }

    /// A loop over a range, of which more can be said before it begins.
    ///
    /// ```
    /// let pool = evenkeel_runtime::Pool::new()?;
    /// pool.over(0..100).schedule("dynamic,4".parse()?).for_each(|i: u64| assert!(i < 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn over<T: Index>(&self, range: Range<T>) -> Over<'_, T> {
        Over { pool: self, range, schedule: None, label: Label(0), code: None }
    }
}

impl<T: Index> Over<'_, T> {
    /// How it is shared out, in place of what the pool does.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// The loop's name in traces; the cost of an iteration is learnt with that of other loops of
    /// the same name ([`Pool::costs`]).
    #[must_use]
    pub fn label(mut self, name: &'static str) -> Self {
        self.label = self.pool.label(name);
        self
    }

    /// Tells it from other loops with the same code as body: what was learnt of the last one with
    /// this number, not 0, counts for it. For bindings, which have one body for all loops.
    #[doc(hidden)]
    #[must_use]
    pub const fn known_as(mut self, code: usize) -> Self {
        self.code = Some(code);
        self
    }

    /// As [`Pool::for_each`].
    pub fn for_each(&self, f: impl Fn(T) + Send + Sync) {
        self.run(&ForEach { start: self.range.start, f });
    }

    /// Calls `f` with ranges of the numbers, each as long as is handed out at a time: for a body
    /// that is better off with many in a row.
    ///
    /// ```
    /// let (pool, sum) = (evenkeel_runtime::Pool::new()?, std::sync::atomic::AtomicU64::new(0));
    /// pool.over(0..1_000_u64).for_each_chunk(|chunk| {
    ///     sum.fetch_add(chunk.sum(), std::sync::atomic::Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    pub fn for_each_chunk(&self, f: impl Fn(Range<T>) + Send + Sync) {
        self.run(&ForEachChunk { start: self.range.start, f });
    }

    /// As [`Pool::try_for_each`].
    ///
    /// # Errors
    /// One of those that `f` returned.
    pub fn try_for_each<E: Send>(
        &self,
        f: impl Fn(T) -> Result<(), E> + Send + Sync,
    ) -> Result<(), E> {
        let body = TryForEach { start: self.range.start, f, errors: FirstError::default() };
        self.run(&body);
        body.errors.take()
    }

    /// As [`Pool::map_reduce`].
    pub fn map_reduce<A: Send>(
        &self,
        identity: impl Fn() -> A + Send + Sync,
        map: impl Fn(A, T) -> A + Send + Sync,
        reduce: impl Fn(A, A) -> A + Send + Sync,
    ) -> A {
        let map = |value, chunk: Range<T>| {
            (0..T::count(&chunk)).fold(value, |value, i| map(value, chunk.start.plus(i)))
        };
        self.map_reduce_chunks(identity, map, reduce)
    }

    /// As [`Pool::map_reduce`], where `map` has ranges of the numbers, each as long as is handed
    /// out at a time.
    pub fn map_reduce_chunks<A: Send>(
        &self,
        identity: impl Fn() -> A + Send + Sync,
        map: impl Fn(A, Range<T>) -> A + Send + Sync,
        reduce: impl Fn(A, A) -> A + Send + Sync,
    ) -> A {
        let body =
            MapReduce { start: self.range.start, identity, map, reduce, result: Mutex::new(None) };
        self.run(&body);
        body.result
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .unwrap_or_else(|| (body.identity)())
    }

    fn run(&self, body: &(impl body::Body + Send)) {
        let iterations = T::count(&self.range);
        self.pool.on_worker(|worker| {
            let schedule = self.schedule.unwrap_or(worker.registry().schedule);
            let shown = Shown { label: self.label, first: self.range.start.shown() };
            run::run(worker, schedule, iterations, body, (shown, self.code));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_worker_has_of_a_loop_is_remembered_by_its_caller() {
        let pool = Pool::builder().workers(2).build().unwrap();
        const CODE: usize = 0x1000;
        let known = pool.on_worker(|worker| {
            pool.over(0..2_000_u64).known_as(CODE).for_each(|i| _ = std::hint::black_box(i));
            worker.loop_history.past_runs(CODE, |before| before.speeds.to_vec())
        });
        assert!(known.len() == 2 && (known.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{known:?}");
    }

    #[test]
    fn loops_with_one_body_are_told_apart_by_what_they_are_known_as() {
        let pool = Pool::builder().workers(2).build().unwrap();
        const CODES: [usize; 2] = [0x1000, 0x2000];
        let times = pool.on_worker(|worker| {
            for (code, steps) in CODES.into_iter().zip([10_u64, 10_000]) {
                let body = |_: u64| {
                    _ = std::hint::black_box(
                        (0..steps).fold(0_u64, |sum, i| sum ^ std::hint::black_box(i)),
                    )
                };
                pool.over(0..2_000).known_as(code).for_each(body);
            }
            CODES.map(|code| worker.loop_history.last(code))
        });
        let [Some(short), Some(long)] = times else { panic!("{times:?}") };
        assert!(long > 2.0 * short, "{times:?}");
    }
}
