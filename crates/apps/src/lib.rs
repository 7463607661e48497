//! Nine parallel programs, as the study "On the Maturity of Parallel Applications for Asymmetric
//! Multi-Core Processors" (JPDC 2019) takes them from the PARSEC suite (Bienia, Kumar, Singh and
//! Li, PACT 2008), written anew from their algorithms. Each exists [`serial`](Version::Serial),
//! with [`pinned`](Version::Pinned) threads, and on Evenkeel's runtime; its input is generated, in
//! three sizes; its checksum is the same in every version and with any number of workers.
//!
//! The head of an app's file says what it computes and from which paper. Its `run` is the shape of
//! its parallelism: phases that a [`Team`](team::Team) carries out, or stages that pass items on.

mod app;
mod checksum;
mod normal;
mod pipeline;
mod registry;
mod run;
mod setting;
mod shared;
pub mod team;
mod vector;

pub mod blackscholes;
pub mod bodytrack;
pub mod canneal;
pub mod dedup;
pub mod facesim;
pub mod ferret;
pub mod fluidanimate;
pub mod streamcluster;
pub mod swaptions;

pub use app::{App, AppError, Outcome, Phases, Stages};
pub use checksum::Checksum;
pub use registry::{APPS, find};
pub use setting::{Setting, Size, Version};
pub use shared::{Blocks, SharedF64s};
