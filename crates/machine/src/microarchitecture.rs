//! How a kind of core is built, as far as the interval model of `evenkeel-model` asks.

use crate::units::Nanos;

/// How a kind of core executes instructions, and what it can count of that.
#[derive(Clone, Debug, PartialEq)]
pub struct Microarchitecture {
    /// Instructions that it can dispatch in a cycle; at least 1.
    pub width: u32,
    /// Instructions in flight (entries of the reorder buffer), at least 1. `None`: it executes in
    /// order.
    pub window: Option<u32>,
    /// Cycles from a wrongly predicted branch to the next useful instruction.
    pub mispredict_penalty: u32,
    /// Size of the first-level instruction cache, bytes.
    pub code_cache_bytes: u64,
    /// Caches that data come from, the first level first; sizes ascend. At least one.
    pub data_caches: Vec<DataCache>,
    /// From a miss of the last cache to its data.
    pub memory_latency: Nanos,
    /// Misses of the last cache that a core can have outstanding; at least 1.
    pub most_misses: u32,
    /// Bytes that the TLB's last level maps, with the pages that programs usually have.
    pub tlb_bytes: u64,
    /// Cycles that a miss of it takes.
    pub tlb_penalty: u32,
    /// Events that it can count at once, beside those with a counter of their own.
    pub counters: u32,
    /// True if instructions have a counter of their own.
    pub counts_instructions: bool,
    /// True if cycles have a counter of their own.
    pub counts_cycles: bool,
    /// Source of all this: what is published, what assumed. May be empty.
    pub source: String,
}

/// A level of cache, as seen from a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataCache {
    /// Size, bytes; of a cache that cores share, the whole.
    pub bytes: u64,
    /// Cycles from load to use.
    pub latency: u32,
}
