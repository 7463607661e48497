//! Loops.
#![expect(unsafe_code, reason = "functions have their names for C, and call functions of C")]

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;

use runtime::{Over, Schedule};

use crate::closure::Data;
use crate::error::{Error, check, given, guard, text};
use crate::pool::Pool;

/// Does the iterations from `begin` to before `end`.
pub type Chunk = Option<unsafe extern "C" fn(begin: usize, end: usize, data: *mut c_void) -> c_int>;
/// Adds the iterations from `begin` to before `end` to a value.
pub type Fold = Option<unsafe extern "C" fn(value: *mut c_void, begin: usize, end: usize, data: *mut c_void) -> c_int>;
/// Adds one value to another. `from` is not used again.
pub type Combine = Option<unsafe extern "C" fn(into: *mut c_void, from: *mut c_void, data: *mut c_void) -> c_int>;

fn over(pool: &Pool, range: Range<usize>, schedule: *const c_char) -> Result<Over<'_, usize>, Error> {
    let over = pool.pool.over(range);
    if schedule.is_null() {
        return Ok(over);
    }
    let schedule: Result<Schedule, _> = text(schedule, "schedule")?.parse();
    Ok(over.schedule(schedule.map_err(|error| Error::Schedule(error.to_string()))?))
}

/// A loop from `begin` to before `end`, on all cores at once: calls `chunk` with parts of it, one after the other and many at a time, and
/// returns when all is done. `schedule` as in evenkeel_options_schedule; NULL: the pool's. The first part that fails ends the loop.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_for(
    pool: Option<&Pool>,
    begin: usize,
    end: usize,
    schedule: *const c_char,
    chunk: Chunk,
    data: *mut c_void,
) -> c_int {
    guard(|| {
        let (pool, chunk, data) = (given(pool, "pool")?, given(chunk, "chunk")?, Data(data));
        // SAFETY: a function of the caller's, with its data.
        let part = |part: Range<usize>| check(unsafe { chunk(part.start, part.end, data.pointer()) });
        over(pool, begin..end, schedule)?.for_each_chunk(part);
        Ok(())
    })
}

/// A loop that brings values together. `value` points to `size` bytes, which are such that adding them changes nothing (0 for a sum): each
/// worker begins with a copy of them, aligned to 64 bytes, adds its parts of the loop to it by `fold`, and the copies are added to each
/// other by `combine`. In which order is not said. What comes of it is copied to `value`, which is left as it is where one of the functions
/// fails.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_reduce(
    pool: Option<&Pool>,
    begin: usize,
    end: usize,
    schedule: *const c_char,
    value: *mut c_void,
    size: usize,
    fold: Fold,
    combine: Combine,
    data: *mut c_void,
) -> c_int {
    guard(|| {
        let (pool, fold, combine, data) =
            (given(pool, "pool")?, given(fold, "fold")?, given(combine, "combine")?, Data(data));
        if value.is_null() {
            return Err(Error::Null("value"));
        }
        let result = Data(value);
        let own = over(pool, begin..end, schedule)?.map_reduce_chunks(
            || Value::copy_of(result, size),
            |mut value, part| {
                // SAFETY: a function of the caller's, with a copy of its value.
                check(unsafe { fold(value.pointer(), part.start, part.end, data.pointer()) });
                value
            },
            |mut into, mut from| {
                // SAFETY: as above.
                check(unsafe { combine(into.pointer(), from.pointer(), data.pointer()) });
                into
            },
        );
        own.copy_to(result, size);
        Ok(())
    })
}

/// A line of the cache: no two workers write to the same.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([MaybeUninit<u8>; 64]);

/// A worker's copy of the caller's value.
struct Value(Box<[Line]>);

impl Value {
    fn copy_of(value: Data, size: usize) -> Self {
        let mut lines: Box<[Line]> = vec![Line([MaybeUninit::uninit(); 64]); size.div_ceil(64)].into();
        // SAFETY: the caller's bytes, and at least as many of ours.
        unsafe { lines.as_mut_ptr().cast::<c_void>().copy_from_nonoverlapping(value.pointer(), size) };
        Self(lines)
    }

    fn copy_to(&self, value: Data, size: usize) {
        // SAFETY: as above; no worker is at work any more.
        unsafe { value.pointer().copy_from_nonoverlapping(self.0.as_ptr().cast(), size) };
    }

    const fn pointer(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}
