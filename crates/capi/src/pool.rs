//! Pools, their options, and calls on their workers.
#![expect(unsafe_code, reason = "functions have their names for C, and call functions of C")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null;

use crate::closure::{Data, Function};
use crate::error::{Error, check, given, guard, guard_new, text};

/// Options of a pool. An option that is not set comes from the environment (EVENKEEL_MACHINE,
/// EVENKEEL_POLICY, EVENKEEL_SCHEDULE, EVENKEEL_LEND, EVENKEEL_TRACE, EVENKEEL_SUMMARY), else from
/// the machine.
pub struct Options {
    builder: runtime::Builder,
}

/// Workers that run tasks and loops: one per core that the process may use, each kept on its core.
pub struct Pool {
    pub(crate) pool: runtime::Pool,
    kinds: Vec<CString>,
}

impl Options {
    fn change(&mut self, change: impl FnOnce(runtime::Builder) -> runtime::Builder) {
        let builder = std::mem::replace(&mut self.builder, runtime::Pool::builder());
        self.builder = change(builder);
    }
}

/// Sets an option by a name.
fn named(
    options: Option<&mut Options>,
    name: Result<&str, Error>,
    change: impl FnOnce(runtime::Builder, &str) -> runtime::Builder,
) -> c_int {
    guard(|| {
        let (options, name) = (given(options, "options")?, name?);
        options.change(|builder| change(builder, name));
        Ok(())
    })
}

/// Options of which none is set.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_new() -> Option<Box<Options>> {
    guard_new(|| Ok(Options { builder: runtime::Pool::builder() }))
}

/// Gives options back. A pool that was made with them does not need them any more.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_drop(options: Option<Box<Options>>) {
    drop(options);
}

/// Sets the number of workers, 1 to 4096. They are on the fastest cores; workers beyond the number
/// of cores share cores again from the fastest.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_workers(options: &mut Options, workers: usize) {
    options.change(|builder| builder.workers(workers));
}

/// Sets how tasks find their workers: "fifo", "steal", "steal-kind" (the default), "cats". An
/// unknown policy, schedule or machine is an error of evenkeel_pool_new().
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_policy(
    options: Option<&mut Options>,
    name: *const c_char,
) -> c_int {
    named(options, text(name, "policy"), runtime::Builder::policy)
}

/// Sets the schedule of loops without one of their own: "static", "dynamic", "guided",
/// "aid-static", "aid-dynamic", "aid-affinity", each optionally with ",CHUNK".
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_schedule(
    options: Option<&mut Options>,
    schedule: *const c_char,
) -> c_int {
    named(options, text(schedule, "schedule"), runtime::Builder::schedule)
}

/// Sets the machine whose kinds of core are used: a preset's name or a file.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_machine(
    options: Option<&mut Options>,
    name_or_path: *const c_char,
) -> c_int {
    named(options, text(name_or_path, "machine"), runtime::Builder::machine)
}

/// Sets if each worker is pinned to its core (see evenkeel_options_lend()). The default is true.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_pin(options: &mut Options, pins: bool) {
    options.change(|builder| builder.pin(pins));
}

/// Sets if cores are lent. A worker that loses its core to another program while it has work in
/// hand then gets the core of a worker that has nothing to do, until that work is done. So does a
/// worker on a slower core, if a worker on a faster core has had nothing to do for a millisecond.
/// The default is true.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_lend(options: &mut Options, lends: bool) {
    options.change(|builder| builder.lend(lends));
}

/// Sets the file to which evenkeel_pool_drop() writes a trace, for ui.perfetto.dev: what each
/// worker did when, and what had to wait for what. "%p" in its name stands for the process's
/// number; "": no trace. A file that cannot be written gives a message on stderr, and no error.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_trace(
    options: Option<&mut Options>,
    file: *const c_char,
) -> c_int {
    named(options, text(file, "trace"), runtime::Builder::trace)
}

/// Sets if evenkeel_pool_drop() writes evenkeel_pool_summary() to stderr. Costs of tasks with
/// labels are then learnt on cores of one kind, too.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_options_summary(options: &mut Options, wanted: bool) {
    options.change(|builder| builder.summary(wanted));
}

/// Starts a pool. Without options (NULL) it has one worker per core, pinned, and detects the kinds
/// of core.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pool_new(options: Option<&Options>) -> Option<Box<Pool>> {
    guard_new(|| {
        let builder =
            options.map_or_else(runtime::Pool::builder, |options| options.builder.clone());
        let pool = builder.build()?;
        let kinds = pool
            .kinds()
            .iter()
            .map(|kind| CString::new(kind.name.as_str()).unwrap_or_default())
            .collect();
        Ok(Pool { pool, kinds })
    })
}

/// Ends a pool: its threads have ended when this returns. The pool must be idle, and none of its
/// own tasks may call this.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pool_drop(pool: Option<Box<Pool>>) {
    drop(pool);
}

/// The number of workers.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pool_workers(pool: &Pool) -> usize {
    pool.pool.workers()
}

/// The number of kinds of core that the workers are on. Kinds are numbered from 0, fastest first.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pool_kinds(pool: &Pool) -> usize {
    pool.kinds.len()
}

/// The name of a kind: "big", "P". NULL: there are fewer kinds, or `pool` is NULL. It lives as long
/// as the pool.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pool_kind_name(pool: Option<&Pool>, kind: usize) -> *const c_char {
    pool.and_then(|pool| pool.kinds.get(kind)).map_or(null(), |name| name.as_ptr())
}

/// The speed of a kind relative to the fastest of the machine, which has 1024. 0: there are fewer
/// kinds.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pool_kind_capacity(pool: &Pool, kind: usize) -> u32 {
    pool.pool.kinds().get(kind).map_or(0, |kind| kind.capacity)
}

/// The kind of core that a worker is on. Workers are numbered from 0, fastest kind first. If there
/// are fewer workers, the number of kinds.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pool_worker_kind(pool: &Pool, worker: usize) -> usize {
    let (place, kinds) = (pool.pool.places().get(worker), pool.pool.kinds());
    let kind = place.and_then(|place| kinds.iter().position(|kind| kind.id == place.kind));
    kind.unwrap_or(kinds.len())
}

/// The CPU that a worker is on, by the operating system's number. -1: the system places it, or
/// there are fewer workers, or `pool` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pool_worker_cpu(pool: Option<&Pool>, worker: usize) -> c_int {
    let cpu = pool.and_then(|pool| pool.pool.places().get(worker)).and_then(|place| place.cpu);
    cpu.and_then(|cpu| c_int::try_from(cpu).ok()).unwrap_or(-1)
}

/// What the pool has done so far, as a table of several lines: what each worker and each kind of
/// core ran, stole and left to faster ones, how long they were busy, looked for work and slept, and
/// what tasks with labels have cost. Writes at most `size` bytes of it to `buffer`, the last of
/// them 0, and returns how long the whole is without that 0: as snprintf() does. `buffer` may be
/// NULL where `size` is 0.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pool_summary(pool: &Pool, buffer: *mut c_char, size: usize) -> usize {
    let summary = pool.pool.summary().to_string();
    if let Some(most) = size.checked_sub(1).filter(|_| !buffer.is_null()) {
        let length = summary.floor_char_boundary(most);
        // SAFETY: `size` bytes are the caller's, and `length` is less.
        unsafe {
            std::ptr::copy_nonoverlapping(summary.as_ptr(), buffer.cast(), length);
            *buffer.add(length) = 0;
        }
    }
    summary.len()
}

/// Calls `run` on a worker, and returns what it returns. Loops, scopes and joins inside begin
/// without a change of threads. So a program with many short ones does well to run in one such
/// call.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_run(pool: Option<&Pool>, run: Function, data: *mut c_void) -> c_int {
    guard(|| {
        let (pool, run, data) = (given(pool, "pool")?, given(run, "run")?, Data(data));
        // SAFETY: a function of the caller, with its data.
        pool.pool.run(|| check(unsafe { run(data.pointer()) }));
        Ok(())
    })
}

/// As evenkeel_run(), but work begun inside is kept apart: a worker that waits inside for a scope,
/// a loop or a join meanwhile does only work that was begun there, too. Use it to wait with a lock
/// in hand that other tasks take.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_isolate(pool: Option<&Pool>, run: Function, data: *mut c_void) -> c_int {
    guard(|| {
        let (pool, run, data) = (given(pool, "pool")?, given(run, "run")?, Data(data));
        // SAFETY: a function of the caller, with its data.
        pool.pool.isolate(|| check(unsafe { run(data.pointer()) }));
        Ok(())
    })
}

/// Calls two functions, perhaps at once. If the first fails before the second has begun, the second
/// is not called.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_join(
    pool: Option<&Pool>,
    first: Function,
    first_data: *mut c_void,
    second: Function,
    second_data: *mut c_void,
) -> c_int {
    guard(|| {
        let (pool, first, second) =
            (given(pool, "pool")?, given(first, "first")?, given(second, "second")?);
        let (first_data, second_data) = (Data(first_data), Data(second_data));
        // SAFETY: functions of the caller, each with its data.
        pool.pool.join(
            || check(unsafe { first(first_data.pointer()) }),
            || check(unsafe { second(second_data.pointer()) }),
        );
        Ok(())
    })
}
