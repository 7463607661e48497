//! Graphs of tasks that are recorded once and run again and again.
#![expect(
    unsafe_code,
    reason = "functions have their names for C; lifetimes are the caller's affair"
)]

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int};
use std::mem::{take, transmute};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, given, guard, guard_new, text};
use crate::pool::Pool;

/// Records the tasks of a graph, by evenkeel_recorder_task(). Handles and regions that they name
/// must exist until evenkeel_graph_new().
#[derive(Default)]
pub struct Recorder {
    pub(crate) recorder: runtime::Recorder<'static>,
}

/// A recorded graph. All threads may use it; one at a time runs it.
pub struct Graph {
    graph: UnsafeCell<runtime::Graph<'static, 'static>>,
    is_running: AtomicBool,
}

// SAFETY: a run has the graph for itself: `is_running`.
unsafe impl Sync for Graph {}

/// A new recorder without tasks.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_recorder_new() -> Option<Box<Recorder>> {
    guard_new(|| Ok(Recorder::default()))
}

/// Gives a recorder back. Recorded tasks that are in no graph are released.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_recorder_drop(recorder: Option<Box<Recorder>>) {
    drop(recorder);
}

/// Makes a graph of the recorded tasks, for workers of this pool, which must exist whenever the
/// graph is run. The recorder is empty after it.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_graph_new(
    pool: Option<&Pool>,
    recorder: Option<&mut Recorder>,
) -> Option<Box<Graph>> {
    guard_new(|| Ok(graph(given(pool, "pool")?.pool.record(recorded(recorder)?))))
}

/// As evenkeel_graph_new(), for a graph that this policy runs, whatever the pool's is. "heft",
/// "cpop", "peft", "dls", "ldcp", "lmt" and "hed" plan the whole graph, by the costs of its tasks
/// (evenkeel_task_cost(), evenkeel_task_label()); those of evenkeel_options_policy() take tasks as
/// they become ready. If there is no such policy, the recorder keeps its tasks.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_graph_new_with(
    pool: Option<&Pool>,
    recorder: Option<&mut Recorder>,
    policy: *const c_char,
) -> Option<Box<Graph>> {
    guard_new(|| {
        let pool = given(pool, "pool")?;
        Ok(graph(pool.pool.record_with(text(policy, "policy")?, recorded(recorder)?)?))
    })
}

/// Adds the recorded tasks to a recorder of the runtime.
fn recorded(
    recorder: Option<&mut Recorder>,
) -> Result<impl FnOnce(&mut runtime::Recorder<'static>), Error> {
    let recorder = given(recorder, "recorder")?;
    Ok(|empty: &mut _| *empty = take(&mut recorder.recorder))
}

fn graph(graph: runtime::Graph<'_, 'static>) -> Graph {
    // SAFETY: this changes lifetimes alone. The header says how long the pool must exist.
    let graph = unsafe {
        transmute::<runtime::Graph<'_, 'static>, runtime::Graph<'static, 'static>>(graph)
    };
    Graph { graph: UnsafeCell::new(graph), is_running: AtomicBool::new(false) }
}

/// Runs every task once, and returns when all have ended. If one fails, tasks that have not begun
/// are left out. The graph can be run again.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_graph_run(graph: Option<&Graph>) -> c_int {
    guard(|| {
        let graph = given(graph, "graph")?;
        if graph.is_running.swap(true, Ordering::Acquire) {
            return Err(Error::Running);
        }
        let _run = Run(graph);
        // SAFETY: no other thread runs it.
        unsafe { &mut *graph.graph.get() }.run();
        Ok(())
    })
}

/// A run in progress.
struct Run<'a>(&'a Graph);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}

/// The number of its tasks.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_graph_len(graph: &Graph) -> usize {
    // SAFETY: a run does not change the number of tasks.
    unsafe { &*graph.graph.get() }.len()
}

/// Gives a graph back. It must not be running.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_graph_drop(graph: Option<Box<Graph>>) {
    drop(graph);
}
