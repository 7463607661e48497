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

/// Where the tasks of a graph are recorded, by evenkeel_recorder_task(). Handles and regions that
/// they name must be there until evenkeel_graph_new().
#[derive(Default)]
pub struct Recorder {
    pub(crate) recorder: runtime::Recorder<'static>,
}

/// A recorded graph. May be used by all threads; one of them runs it at a time.
pub struct Graph {
    graph: UnsafeCell<runtime::Graph<'static, 'static>>,
    is_running: AtomicBool,
}

// SAFETY: a run has the graph for itself: `is_running`.
unsafe impl Sync for Graph {}

/// Nothing has been recorded.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_recorder_new() -> Option<Box<Recorder>> {
    guard_new(|| Ok(Recorder::default()))
}

/// Gives a recorder back. What it has recorded, and is in no graph, is released.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_recorder_drop(recorder: Option<Box<Recorder>>) {
    drop(recorder);
}

/// Makes a graph of what has been recorded, for workers of this pool, which must be there whenever
/// the graph is run. The recorder is empty after it.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_graph_new(
    pool: Option<&Pool>,
    recorder: Option<&mut Recorder>,
) -> Option<Box<Graph>> {
    guard_new(|| Ok(graph(given(pool, "pool")?.pool.record(recorded(recorder)?))))
}

/// The same, to be run by this policy, whatever the pool's is: "heft", "cpop", "peft", "dls",
/// "ldcp", "lmt" and "hed" plan the whole graph, by what tasks cost (evenkeel_task_cost(),
/// evenkeel_task_label()); those of evenkeel_options_policy() take tasks as they become ready.
/// Where there is no such policy the recorder keeps what it has.
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

/// Puts what has been recorded where tasks are recorded.
fn recorded(
    recorder: Option<&mut Recorder>,
) -> Result<impl FnOnce(&mut runtime::Recorder<'static>), Error> {
    let recorder = given(recorder, "recorder")?;
    Ok(|empty: &mut _| *empty = take(&mut recorder.recorder))
}

fn graph(graph: runtime::Graph<'_, 'static>) -> Graph {
    // SAFETY: lifetimes alone. The header says how long the pool has to be there.
    let graph = unsafe {
        transmute::<runtime::Graph<'_, 'static>, runtime::Graph<'static, 'static>>(graph)
    };
    Graph { graph: UnsafeCell::new(graph), is_running: AtomicBool::new(false) }
}

/// Runs every task once, and returns when all have ended. Where one fails, those that have not
/// begun are left out. The graph can be run again.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_graph_run(graph: Option<&Graph>) -> c_int {
    guard(|| {
        let graph = given(graph, "graph")?;
        if graph.is_running.swap(true, Ordering::Acquire) {
            return Err(Error::Running);
        }
        let _run = Run(graph);
        // SAFETY: nobody else runs it.
        unsafe { &mut *graph.graph.get() }.run();
        Ok(())
    })
}

/// A run under way.
struct Run<'a>(&'a Graph);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}

/// How many tasks it has.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_graph_len(graph: &Graph) -> usize {
    // SAFETY: a run does not change how many there are.
    unsafe { &*graph.graph.get() }.len()
}

/// Gives a graph back that is not being run.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_graph_drop(graph: Option<Box<Graph>>) {
    drop(graph);
}
