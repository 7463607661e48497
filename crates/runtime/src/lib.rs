//! Parallel programs that use all cores of a hybrid processor at once, and finish together.
//!
//! ```
//! let pool = evenkeel::Pool::new()?; // one worker per core, pinned, core kinds detected
//! let squares = pool.map_reduce(0..1_000_u64, || 0, |sum, i| sum + i * i, |a, b| a + b);
//! assert_eq!(squares, 332_833_500);
//! # Ok::<(), evenkeel::PoolError>(())
//! ```
//!
//! Loops need no chunk size ([`Pool::for_each`]); tasks are created in scopes ([`Pool::scope`]); two calls at once are a [`Pool::join`].
//! Costs are learnt per kind of core, and work is shared out by them; on equal cores nothing of this costs anything. The protocol
//! between threads is written up in the crate's README.md.

mod arena;
mod central;
mod costs;
mod error;
mod give_way;
mod job;
mod join;
mod latch;
mod loops;
mod pipeline;
mod pool;
mod record;
mod registry;
mod scope;
mod sleep;
mod stack_job;
mod sync;
mod task;
mod team;
mod worker;

pub use costs::Cost;
pub use error::PoolError;
pub use loops::{Index, Over, Schedule};
pub use pipeline::Pipeline;
pub use pool::{Builder, MACHINE_VARIABLE, MAX_WORKERS, POLICY_VARIABLE, Pool, SCHEDULE_VARIABLE};
pub use record::{Graph, RecordedTask, Recorder};
pub use scope::{Scope, Spawner};
pub use task::{Data, Handle, Part, Reading, Regions, Resource, Task, Writing};
pub use team::{KindOfCore, Place};
