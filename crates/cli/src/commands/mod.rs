//! One module a command.

pub mod advise;
pub mod compare;
pub mod detect;
pub mod factors;
pub mod generate;
pub mod lab;
pub mod live;
pub mod machines;
pub mod new;
pub mod omp;
mod page;
pub mod policies;
pub mod record;
mod records;
pub mod report;
pub mod reproduce;
mod runs;
pub mod sensors;
pub mod service;
pub mod show;
pub mod simulate;
pub mod sweep;
pub mod this_machine;
pub mod vm;
pub mod workloads;
