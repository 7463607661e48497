//! Counts of a run, for its outcome.

use evenkeel_machine::Machine;

use crate::latency::Latencies;

/// What a run has come to so far.
pub struct Totals {
    pub migrations: u64,
    pub swaps: u64,
    pub context_switches: u64,
    /// From wake-up to the first instruction, by kind of core.
    pub latency: Vec<Latencies>,
    /// Events of the calendar.
    pub events: u64,
}

impl Totals {
    /// Nothing yet.
    pub fn new(machine: &Machine) -> Self {
        let latency = vec![Latencies::default(); machine.kinds.len()];
        Self { migrations: 0, swaps: 0, context_switches: 0, latency, events: 0 }
    }
}
