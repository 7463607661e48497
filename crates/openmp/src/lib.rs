//! OpenMP programs, as they are: `evenkeel omp` preloads a library that divides static loops by the
//! speed of cores.
//!
//! The library is `src/preload`, compiled by itself and carried in [`library`]. Before a program is
//! started, [`program`] says whether it can be preloaded at all, and [`setup`] where its threads
//! belong. After it has ended [`told`] reads what came of each region.

pub mod library;
pub mod profile;
pub mod program;
pub mod setup;
pub mod told;

#[path = "preload/layout.rs"]
mod layout;
#[path = "preload/phase.rs"]
mod phase;
