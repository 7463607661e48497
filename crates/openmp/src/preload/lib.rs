//! The library that `evenkeel omp` preloads: it divides static loops of OpenMP programs by the
//! speed of cores, and needs no change of the programs.
//!
//! It stands between a program and its runtime: [`kmpc`] has the functions that compilers call.
//! [`team`] knows which [`region`] a thread is in, [`learn`] what its loops are like, and
//! [`shares`] divides them. [`place`] puts threads on CPUs, and [`process`] tells the command what
//! came of it, in memory that [`layout`] describes.
//!
//! It is compiled by itself, with no crate but the standard library, and allocates only when a
//! region is first seen and when shares are computed anew.

mod affinity;
mod chunks;
mod costs;
mod gomp;
mod kmpc;
mod layout;
mod learn;
mod phase;
mod place;
mod process;
mod region;
mod runtime;
mod shares;
mod sys;
mod team;
mod trampoline;
