//! Tasks with dependences, of scopes and of recorded graphs.
#![expect(
    unsafe_code,
    reason = "functions have their names for C; lifetimes are the caller's affair"
)]

use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;
use std::ptr::from_ref;
use std::time::Duration;

use crate::closure::{Function, Release, Sink, put_copy, put_owned};
use crate::error::{Error, given, guard, guard_new, text};
use crate::graph::Recorder;
use crate::names::known;
use crate::resources::{Handle, Regions};
use crate::scope::Scope;

/// A task that has not been created: calls state what it reads and writes. It will run after those
/// tasks, created before it in its scope or graph, that conflict with it: that write what it reads
/// or writes, or read what it writes. Ends with evenkeel_task_run(), evenkeel_task_run_copy() or
/// evenkeel_task_drop(), before its scope or recorder does. All its functions accept NULL; the one
/// that creates the task then fails, so one check for errors is enough.
pub struct Task {
    target: Target,
    accesses: Vec<(Resource, Mode)>,
    label: Option<&'static str>,
    /// The cost of a recorded task.
    cost: Option<Duration>,
    /// The name of the task in its last use.
    earlier_label: Option<&'static str>,
    /// The first error in what was stated.
    error: Option<Error>,
}

#[derive(Clone, Copy)]
enum Target {
    Scope(*const Scope),
    Recorder(*mut Recorder),
}

/// A resource, borrowed until the task has been created.
enum Resource {
    Handle(&'static runtime::Handle),
    Part(runtime::Part<'static>),
}

#[derive(Clone, Copy)]
enum Mode {
    Reads,
    Writes,
    Updates,
}

impl Task {
    fn new(target: Target) -> Self {
        Self {
            target,
            accesses: Vec::new(),
            label: None,
            cost: None,
            earlier_label: None,
            error: None,
        }
    }

    /// Gives it back for reuse.
    fn recycle(mut self: Box<Self>) {
        self.accesses.clear();
        self.error = None;
        self.cost = None;
        self.earlier_label = self.label.take().or(self.earlier_label);
        match self.target {
            // SAFETY: the scope lives as long as its tasks are being created.
            Target::Scope(scope) => unsafe { &*scope }.keep(self),
            Target::Recorder(_) => drop(self),
        }
    }

    /// # Errors
    /// It is of a scope that another thread has opened.
    fn check_thread(&self) -> Result<(), Error> {
        match self.target {
            // SAFETY: as in `recycle`.
            Target::Scope(scope) => unsafe { &*scope }.here().map(drop),
            Target::Recorder(_) => Ok(()),
        }
    }
}

/// Passes what was stated to a task of the runtime.
macro_rules! saying {
    ($accesses:expr, $task:expr) => {
        $accesses.iter().fold($task, |task, (resource, mode)| match (resource, mode) {
            (Resource::Handle(it), Mode::Reads) => task.reads(*it),
            (Resource::Handle(it), Mode::Writes) => task.writes(*it),
            (Resource::Handle(it), Mode::Updates) => task.updates(*it),
            (Resource::Part(it), Mode::Reads) => task.reads(it),
            (Resource::Part(it), Mode::Writes) => task.writes(it),
            (Resource::Part(it), Mode::Updates) => task.updates(it),
        })
    };
}

struct Dependent(Box<Task>);

impl Sink for Dependent {
    #[inline]
    fn put(self, closure: impl Fn() + Send + Sync + 'static) {
        match self.0.target {
            Target::Scope(scope) => {
                // SAFETY: as in `recycle`.
                let Ok(scope) = unsafe { &*scope }.here() else {
                    unreachable!("`dependent` has asked")
                };
                let task = saying!(self.0.accesses, scope.task());
                let task = match self.0.label {
                    Some(label) => task.label(label),
                    None => task,
                };
                task.run(closure);
            }
            Target::Recorder(recorder) => {
                // SAFETY: the recorder lives as long as its tasks are being recorded; resources are
                // not used after `run`.
                let (recorder, accesses) =
                    unsafe { (&mut *recorder, &*from_ref(&self.0.accesses)) };
                let task = saying!(accesses, recorder.recorder.task());
                let task = match self.0.label {
                    Some(label) => task.label(label),
                    None => task,
                };
                let task = match self.0.cost {
                    Some(cost) => task.cost(cost),
                    None => task,
                };
                task.run(closure);
            }
        }
        self.0.recycle();
    }
}

/// A task of a scope. Only the thread that opened the scope, which is the one that runs its body,
/// creates tasks with dependences.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_task(scope: Option<&Scope>) -> Option<Box<Task>> {
    let mut task = None;
    guard(|| {
        let scope = given(scope, "scope")?;
        let spare = scope.spare()?;
        task = Some(spare.unwrap_or_else(|| Box::new(Task::new(Target::Scope(scope)))));
        Ok(())
    });
    task
}

/// A task of a graph that is being recorded.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_recorder_task(recorder: Option<&mut Recorder>) -> Option<Box<Task>> {
    guard_new(|| Ok(Task::new(Target::Recorder(given(recorder, "recorder")?))))
}

impl Task {
    fn say(this: Option<&mut Self>, resource: Result<Resource, Error>, mode: Mode) {
        let Some(this) = this else { return };
        match resource {
            Ok(resource) => this.accesses.push((resource, mode)),
            Err(error) => this.error = Some(error),
        }
    }
}

fn whole(handle: Option<&'static Handle>) -> Result<Resource, Error> {
    Ok(Resource::Handle(&given(handle, "handle")?.0))
}

fn part(regions: Option<&'static Regions>, elements: Range<usize>) -> Result<Resource, Error> {
    Ok(Resource::Part(given(regions, "regions")?.0.part(elements)))
}

/// The task reads this: it waits for the task that wrote it last.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_reads(task: Option<&mut Task>, handle: Option<&'static Handle>) {
    Task::say(task, whole(handle), Mode::Reads);
}

/// The task writes this: it waits for the task that wrote it last, and for all that have read it
/// since.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_writes(task: Option<&mut Task>, handle: Option<&'static Handle>) {
    Task::say(task, whole(handle), Mode::Writes);
}

/// The task reads and writes this: it waits as one that writes it.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_updates(task: Option<&mut Task>, handle: Option<&'static Handle>) {
    Task::say(task, whole(handle), Mode::Updates);
}

/// The task reads the elements from `begin` to before `end`.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_reads_part(
    task: Option<&mut Task>,
    regions: Option<&'static Regions>,
    begin: usize,
    end: usize,
) {
    Task::say(task, part(regions, begin..end), Mode::Reads);
}

/// The task writes the elements from `begin` to before `end`.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_writes_part(
    task: Option<&mut Task>,
    regions: Option<&'static Regions>,
    begin: usize,
    end: usize,
) {
    Task::say(task, part(regions, begin..end), Mode::Writes);
}

/// The task reads and writes the elements from `begin` to before `end`.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_updates_part(
    task: Option<&mut Task>,
    regions: Option<&'static Regions>,
    begin: usize,
    end: usize,
) {
    Task::say(task, part(regions, begin..end), Mode::Updates);
}

/// Names the task: on machines with several kinds of core, costs are learnt together for all tasks
/// of a name. Names are kept for good, so let them be few. Tasks without dependences have no names.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_label(task: Option<&mut Task>, name: *const c_char) {
    let Some(task) = task else { return };
    match text(name, "name") {
        Ok(name) => task.label = Some(known(name, task.earlier_label)),
        Err(error) => task.error = Some(error),
    }
}

/// The time of a recorded task on the fastest kind of core, for policies that plan graphs. If the
/// costs of its name have been learnt, only the ratios between tasks of that name count. For tasks
/// of a scope, costs are only learnt.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_cost(task: Option<&mut Task>, nanoseconds: u64) {
    if let Some(task) = task {
        task.cost = Some(Duration::from_nanos(nanoseconds));
    }
}

/// Creates the task, and gives `task` back. It calls `run` with `data` once all that it waits for
/// is done, perhaps at once, on any worker; a task of a graph does so in each run. `release` is
/// called with `data` once: after that (for a graph: when it is dropped), or when the task is left
/// out, or if it cannot be created. NULL: there is nothing to release.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_run(
    task: Option<Box<Task>>,
    run: Function,
    data: *mut c_void,
    release: Release,
) -> c_int {
    guard(|| put_owned(dependent(task), run, data, release))
}

/// As evenkeel_task_run(), with a copy of the `size` bytes at `data` that the task owns: `run` is
/// called with a pointer to it, aligned to 16 bytes. Copies of up to 32 bytes are nearly free.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_run_copy(
    task: Option<Box<Task>>,
    run: Function,
    data: *const c_void,
    size: usize,
) -> c_int {
    guard(|| put_copy(dependent(task), run, data, size))
}

/// Gives a task back without creating it.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_task_drop(task: Option<Box<Task>>) {
    task.into_iter().for_each(Task::recycle);
}

fn dependent(task: Option<Box<Task>>) -> Result<Dependent, Error> {
    // NULL means that an earlier call failed, which has set the message then.
    let mut task = task.ok_or(Error::Earlier)?;
    match task.error.take().map_or_else(|| task.check_thread(), Err) {
        Ok(()) => Ok(Dependent(task)),
        Err(error) => {
            task.recycle();
            Err(error)
        }
    }
}
