//! The runtime for C: `include/evenkeel.h` is generated from this crate, and says what each
//! function asks of its caller.
//!
//! A function of C that fails unwinds here as a panic of Rust would, up to the call that it was
//! given to (`error.rs`): so the runtime treats an error as it treats a panic, and errors that do
//! not happen cost nothing.

mod closure;
mod error;
mod graph;
mod loops;
mod names;
mod pipeline;
mod pool;
mod resources;
mod scope;
mod task;
mod version;
