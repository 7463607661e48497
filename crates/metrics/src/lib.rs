//! From a finished run to numbers: slowdown, unfairness, ASP, STP, ANTT, energy, latencies, as one result record.

mod record;

pub use record::{AppRow, KindRow, Knob, LatencySummary, Record, SCHEMA, SensorRow, ThreadRow, WakeupLatency};
