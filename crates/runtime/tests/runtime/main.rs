//! The runtime's claims that hold whatever runs beside them. Those that look at the process or at
//! the clock are programs of their own, beside this folder.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(debug_assertions)]
mod declared;
mod errors;
mod graphs;
mod isolation;
mod loops;
mod pool;
#[path = "../support/mod.rs"]
mod support;
mod tasks;
