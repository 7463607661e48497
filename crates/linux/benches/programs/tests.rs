//! Tests of what `make bench-programs` is made of: statistics, order of turns, raw results, page,
//! inputs.
#![allow(dead_code, reason = "tests take a part of it")]

mod catalog;
mod cpus;
mod inputs;
mod labs;
mod page;
mod results;
mod statistics;
mod turn;
mod ways;
