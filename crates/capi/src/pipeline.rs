//! Pipelines.
#![expect(
    unsafe_code,
    reason = "functions have their names for C, and call functions of C; lifetimes are the \
              caller's affair"
)]

use std::ffi::{c_char, c_int, c_void};
use std::iter::from_fn;
use std::ptr::{from_ref, null_mut};

use runtime::Stage;

use crate::closure::{Data, Release};
use crate::error::{check, given, guard, guard_new};
use crate::names;
use crate::pool::Pool;

/// A source makes an item in `*item`, which is NULL and stays so if there is none left. A stage may
/// replace `*item` by another item.
pub type Step = Option<unsafe extern "C" fn(item: *mut *mut c_void, data: *mut c_void) -> c_int>;

type Run = unsafe extern "C" fn(item: *mut *mut c_void, data: *mut c_void) -> c_int;

/// Passes items from a source through stages, some of which take one item at a time and in order.
/// An item is a pointer, which a stage may replace by another. An item that a stage makes NULL is
/// gone: later stages are not called with it. Items that have left the last stage, or are under way
/// when a stage fails, are given to the pipeline's `release`.
pub struct Pipeline {
    pool: &'static Pool,
    source: (Run, Data),
    stages: Vec<Added>,
    release: Release,
    in_flight: Option<usize>,
}

/// A stage.
struct Added {
    order: Order,
    run: Run,
    data: Data,
    label: Option<&'static str>,
}

enum Order {
    Serial,
    Parallel,
}

/// An item under way.
struct Item {
    pointer: *mut c_void,
    release: Release,
}

// SAFETY: as `Data`.
unsafe impl Send for Item {}

impl Drop for Item {
    fn drop(&mut self) {
        if let Some(release) = self.release.filter(|_| !self.pointer.is_null()) {
            // SAFETY: a function of the caller, with an item that no other code uses.
            unsafe { release(self.pointer) };
        }
    }
}

impl Item {
    fn pass((stage, data): (Run, Data), mut item: Self) -> Self {
        if !item.pointer.is_null() {
            // SAFETY: a function of the caller, with its data and an item that no other code uses.
            check(unsafe { stage(&raw mut item.pointer, data.pointer()) });
        }
        item
    }
}

/// A pipeline of this pool without stages. `source` makes one item after the other; one worker at a
/// time calls it. `release` gives items back; NULL: they need no release. Ends with
/// evenkeel_pipeline_run() or evenkeel_pipeline_drop().
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pipeline_new(
    pool: Option<&Pool>,
    source: Step,
    data: *mut c_void,
    release: Release,
) -> Option<Box<Pipeline>> {
    guard_new(|| {
        let (pool, source) = (given(pool, "pool")?, given(source, "source")?);
        // SAFETY: the header says that a pool must exist for as long as it is used.
        let pool = unsafe { &*from_ref(pool) };
        Ok(Pipeline {
            pool,
            source: (source, Data(data)),
            stages: Vec::new(),
            release,
            in_flight: None,
        })
    })
}

fn add(pipeline: Option<&mut Pipeline>, order: Order, stage: Step, data: *mut c_void) -> c_int {
    guard(|| {
        let added = Added { order, run: given(stage, "stage")?, data: Data(data), label: None };
        given(pipeline, "pipeline")?.stages.push(added);
        Ok(())
    })
}

/// Adds a stage at the end that takes one item at a time, in the order of the source.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pipeline_serial(
    pipeline: Option<&mut Pipeline>,
    stage: Step,
    data: *mut c_void,
) -> c_int {
    add(pipeline, Order::Serial, stage, data)
}

/// Adds a stage at the end that takes any number of items at a time, in any order.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pipeline_parallel(
    pipeline: Option<&mut Pipeline>,
    stage: Step,
    data: *mut c_void,
) -> c_int {
    add(pipeline, Order::Parallel, stage, data)
}

/// Names the stage that was added last. Traces show the name, and costs are learnt under it. Names
/// are kept for good, so let them be few. The pipeline must have a stage.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pipeline_label(
    pipeline: Option<&mut Pipeline>,
    name: *const c_char,
) -> c_int {
    guard(|| {
        let last = given(given(pipeline, "pipeline")?.stages.last_mut(), "stage to be named")?;
        last.label = names::given(name)?;
        Ok(())
    })
}

/// The most items that are under way at a time (0 counts as 1). The default is four for each
/// worker, and more if cores are unequal.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pipeline_in_flight(pipeline: &mut Pipeline, items: usize) {
    pipeline.in_flight = Some(items);
}

/// Runs until the source has no more items and all have left the last stage, and gives the pipeline
/// back. If the source or a stage fails, the source is not called any more.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pipeline_run(pipeline: Option<Box<Pipeline>>) -> c_int {
    guard(|| {
        let Pipeline { pool, source, stages, release, in_flight } = *given(pipeline, "pipeline")?;
        let stages = stages.into_iter().map(|Added { order, run, data, label }| {
            let stage = match order {
                Order::Serial => Stage::serial(move |item| Item::pass((run, data), item)),
                Order::Parallel => Stage::parallel(move |item| Item::pass((run, data), item)),
            };
            match label {
                Some(label) => stage.label(label),
                None => stage,
            }
        });
        let items = from_fn(move || {
            let mut item = Item { pointer: null_mut(), release };
            let (source, data) = source;
            // SAFETY: a function of the caller, with its data and a place for an item.
            check(unsafe { source(&raw mut item.pointer, data.pointer()) });
            (!item.pointer.is_null()).then_some(item)
        });
        let pipeline = pool.pool.pipeline(items);
        let pipeline = match in_flight {
            Some(items) => pipeline.in_flight(items),
            None => pipeline,
        };
        pipeline.run_through(stages.collect());
        Ok(())
    })
}

/// Gives a pipeline back without running it.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_pipeline_drop(pipeline: Option<Box<Pipeline>>) {
    drop(pipeline);
}
