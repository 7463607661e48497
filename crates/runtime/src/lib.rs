//! Parallel programs that use all cores of a hybrid processor at once, and finish together.
//!
//! ```
//! let pool = evenkeel_runtime::Pool::new()?; // one worker per core, pinned, core kinds detected
//! let squares = pool.map_reduce(0..1_000_u64, || 0, |sum, i| sum + i * i, |a, b| a + b);
//! assert_eq!(squares, 332_833_500);
//! # Ok::<(), evenkeel_runtime::PoolError>(())
//! ```
//!
//! Loops need no chunk size ([`Pool::for_each`]); tasks are created in scopes ([`Pool::scope`]);
//! two calls at once are a [`Pool::join`]. Graphs of tasks that are run again and again are
//! recorded ([`Pool::record`]).
//!
//! Costs are learnt per kind of core, and work is shared out by them; on equal cores nothing of
//! this costs anything. How tasks find their workers is a policy ([`Builder::policy`],
//! `EVENKEEL_POLICY`): the same code that the simulator of Evenkeel runs.
//!
//! | policy | for | rule |
//! | --- | --- | --- |
//! | `steal-kind` | everything; the default | as `steal`; fast cores steal from slow ones first, and slow ones leave a task with a name that fast ones would end sooner |
//! | `steal` | equal cores | a deque per worker; an idle worker steals |
//! | `fifo` | comparison | first ready, first served |
//! | `cats` | coarse tasks on a long path | the path goes to the fast cores |
//! | `heft`, `cpop`, `peft`, `dls`, `ldcp`, `lmt`, `hed` | recorded graphs of coarse tasks ([`Pool::record_with`]) | a plan of the whole graph |
//!
//! The protocols between threads are written up in README.md files beside their modules.
//!
//! # Errors and panics
//!
//! What may fail has `try_` before its name, and a closure that returns a `Result`:
//! [`Pool::try_for_each`] by itself, the others within something that returns the first error of
//! all.
//!
//! | opened by | what may fail in it | the error |
//! | --- | --- | --- |
//! | [`Pool::try_scope`] | [`Scope::try_spawn`], [`Task::try_run`], the closure itself | is returned |
//! | [`Pool::try_record`], [`Pool::try_record_with`] | [`RecordedTask::try_run`] | is returned by [`Graph::try_run`] |
//! | [`Pool::try_pipeline`] | [`Pipeline::try_serial`], [`Pipeline::try_parallel`] | is returned by [`Pipeline::try_run`] |
//!
//! An error cancels what has not begun; what is under way goes on to its end. A panic does the
//! same, is resumed where the call was made, and counts for more than an error. In both cases
//! nothing is left behind, and the pool works on.
//!
//! # Seeing what happens
//!
//! Tasks, loops and stages may be given names. `EVENKEEL_TRACE=run.pftrace` ([`Builder::trace`])
//! writes what each worker did when, and what had to wait for what, for <https://ui.perfetto.dev>;
//! `EVENKEEL_SUMMARY=1` ([`Builder::summary`]) writes numbers to stderr, which a program gets by
//! [`Pool::summary`]; [`Pool::costs`] is what has been learnt. Traces and summaries are written
//! when the pool is dropped.
//!
//! # Features
//!
//! None is on by default, so the crate brings little.
//!
//! | feature | for |
//! | --- | --- |
//! | `machine-files` | [`Builder::machine`] and `EVENKEEL_MACHINE`: machine files and the presets' names |
//! | `trace` | [`Builder::trace`] and `EVENKEEL_TRACE` |

mod arena;
mod batch;
mod builder;
mod central;
mod costs;
mod counts;
mod error;
mod fork;
mod give_way;
mod job;
mod join;
mod latch;
mod lend;
mod loops;
mod os_thread;
mod pipeline;
mod pool;
mod record;
mod region;
mod registry;
mod reserve;
mod scope;
mod sleep;
mod spin_timeout;
mod stack;
mod stack_job;
mod steal_backoff;
mod summary;
mod sync;
mod task;
mod team;
mod timed;
mod trace;
mod worker;

pub use builder::{
    Builder, LEND_VARIABLE, MACHINE_VARIABLE, MAX_WORKERS, POLICY_VARIABLE, SCHEDULE_VARIABLE,
    SUMMARY_VARIABLE, TRACE_VARIABLE,
};
pub use costs::{Cost, Speedup};
pub use error::PoolError;
pub use evenkeel_machine::KINDS_VARIABLE;
pub use loops::{Index, Over, Schedule};
pub use pipeline::{Pipeline, Stage};
pub use pool::Pool;
pub use record::{Graph, RecordedTask, Recorder};
pub use scope::{Scope, Spawner};
pub use summary::{Summary, Work};
pub use task::{Data, Handle, Part, Reading, Regions, Resource, Task, Writing};
pub use team::{KindOfCore, Place};

/// The book's pages on the runtime: their programs are compiled and run as tests.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/parallel/rust.md")]
    struct ParallelPrograms;
    #[doc = include_str!("../../../docs/parallel/from-openmp-tbb-rayon.md")]
    struct FromOthers;
}
