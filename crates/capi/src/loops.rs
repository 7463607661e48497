//! Loops.
#![expect(unsafe_code, reason = "functions have their names for C, and call functions of C")]

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::null;

use runtime::{Over, Schedule};

use crate::closure::Data;
use crate::error::{Error, check, given, guard, text};
use crate::names;
use crate::pool::Pool;

/// Runs the iterations from `begin` to before `end`.
pub type Chunk = Option<unsafe extern "C" fn(begin: usize, end: usize, data: *mut c_void) -> c_int>;
/// Adds the iterations from `begin` to before `end` to a value.
pub type Fold = Option<
    unsafe extern "C" fn(value: *mut c_void, begin: usize, end: usize, data: *mut c_void) -> c_int,
>;
/// Adds one value to another. `from` is not used again.
pub type Combine =
    Option<unsafe extern "C" fn(into: *mut c_void, from: *mut c_void, data: *mut c_void) -> c_int>;

/// A loop of the runtime. Its costs are learnt by `code`, the caller's function that does the
/// iterations, as the closure here is the same for all loops. Loops with the same function are told
/// apart by their names.
fn over(
    pool: &Pool,
    label: *const c_char,
    range: Range<usize>,
    schedule: *const c_char,
    code: usize,
) -> Result<Over<'_, usize>, Error> {
    let mut over = pool.pool.over(range).known_as(code);
    if let Some(label) = names::given(label)? {
        over = over.label(label).known_as(code.wrapping_add(label.as_ptr().addr()).max(1));
    }
    if schedule.is_null() {
        return Ok(over);
    }
    let schedule: Result<Schedule, _> = text(schedule, "schedule")?.parse();
    Ok(over.schedule(schedule.map_err(|error| Error::Schedule(error.to_string()))?))
}

/// A loop from `begin` to before `end`, on all cores at once. It calls `chunk` with parts of the
/// range, many at a time, and returns when all are done. `schedule` is as in
/// evenkeel_options_schedule(); NULL: the pool's. The first part that fails ends the loop.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_for(
    pool: Option<&Pool>,
    begin: usize,
    end: usize,
    schedule: *const c_char,
    chunk: Chunk,
    data: *mut c_void,
) -> c_int {
    evenkeel_for_labelled(pool, null(), begin, end, schedule, chunk, data)
}

/// As evenkeel_for(), for a loop with a name. Traces show the name, and the costs of iterations are
/// learnt together for all loops with it. Names are kept for good, so let them be few. `label`
/// NULL: no name.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_for_labelled(
    pool: Option<&Pool>,
    label: *const c_char,
    begin: usize,
    end: usize,
    schedule: *const c_char,
    chunk: Chunk,
    data: *mut c_void,
) -> c_int {
    guard(|| {
        let (pool, chunk, data) = (given(pool, "pool")?, given(chunk, "chunk")?, Data(data));
        let code = chunk as *const () as usize;
        // SAFETY: a function of the caller, with its data.
        let part =
            |part: Range<usize>| check(unsafe { chunk(part.start, part.end, data.pointer()) });
        over(pool, label, begin..end, schedule, code)?.for_each_chunk(part);
        Ok(())
    })
}

/// A reduction. `value` points to `size` bytes that are a neutral element of the sum (0 for an
/// addition). Each worker begins with a copy of them, aligned to 64 bytes, and adds its parts of
/// the loop to it by `fold`; `combine` adds the copies to each other, in any order. The sum is
/// copied to `value`, which stays as it is if one of the functions fails.
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
    evenkeel_reduce_labelled(pool, null(), begin, end, schedule, value, size, fold, combine, data)
}

/// As evenkeel_reduce(), for a loop with a name: see evenkeel_for_labelled().
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_reduce_labelled(
    pool: Option<&Pool>,
    label: *const c_char,
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
        let code = fold as *const () as usize;
        if value.is_null() {
            return Err(Error::Null("value"));
        }
        let result = Data(value);
        let own = over(pool, label, begin..end, schedule, code)?.map_reduce_chunks(
            || Value::copy_of(result, size),
            |mut value, part| {
                // SAFETY: a function of the caller, with a copy of its value.
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

/// A cache line, so that no two workers write to the same.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([MaybeUninit<u8>; 64]);

/// A worker's copy of the caller's value.
struct Value(Box<[Line]>);

impl Value {
    fn copy_of(value: Data, size: usize) -> Self {
        let mut lines: Box<[Line]> =
            vec![Line([MaybeUninit::uninit(); 64]); size.div_ceil(64)].into();
        // SAFETY: the caller's bytes, and at least as many of ours.
        unsafe {
            lines.as_mut_ptr().cast::<c_void>().copy_from_nonoverlapping(value.pointer(), size)
        };
        Self(lines)
    }

    fn copy_to(&self, value: Data, size: usize) {
        // SAFETY: as above; no worker uses the value any more.
        unsafe { value.pointer().copy_from_nonoverlapping(self.0.as_ptr().cast(), size) };
    }

    const fn pointer(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}
