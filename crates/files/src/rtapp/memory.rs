//! What rt-app's memory and I/O events cost.
//!
//! rt-app gives these events in bytes, and their time depends on the machine. The model needs a
//! time, so it takes the round figures below, of a mobile machine of the 2020s. They are
//! assumptions and no measurements: where the cost of memory matters to a study, give it as a phase
//! of its own. Work is in nanoseconds on the machine's fastest core.

use evenkeel_machine::Nanos;

use evenkeel_model::{Phase, Scaling};

/// `mem`: bytes that a core fills per nanosecond. A bulk write streams at the pace of memory, on
/// any kind of core.
pub const FILL_BYTES_PER_NS: u64 = 8;

/// `memrun` of type `read` and `write`: nanoseconds for each byte, which is touched by an
/// instruction of its own. Bound by the core.
pub const TOUCH_NS_PER_BYTE: u64 = 1;

/// `memrun` of type `chase`: nanoseconds for a load that depends on the one before, in a buffer of
/// at most so many bytes.
pub const CHASE_NS: [(u64, u64); 3] = [(32 << 10, 2), (512 << 10, 5), (4 << 20, 15)];

/// The same in a buffer that no cache holds. Waits for memory at the same pace on any kind of core.
pub const CHASE_MEMORY_NS: u64 = 100;

/// Bytes that come from memory with one such load: a cache line.
pub const LINE_BYTES: u64 = 64;

/// `iorun` to a device: nanoseconds for each byte (200 MB/s), during which the thread is off its
/// core.
pub const DEVICE_NS_PER_BYTE: u64 = 5;

/// `iorun` to `/dev/null`, rt-app's default: nanoseconds for each call of write, which keeps
/// nothing.
pub const NULL_WRITE_NS: u64 = 1_000;

/// Size of a thread's buffer unless `mem_buffer_size` says otherwise: rt-app's default.
pub const DEFAULT_BUFFER_BYTES: u64 = 4 << 20;

/// How `memrun` goes through its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Every byte in turn, read or written.
    Touch,
    /// From load to load, each of which gives the address of the next. `prefetched`: in order, so
    /// that the hardware prefetches.
    Chase { prefetched: bool },
}

/// The phase and the nanoseconds of filling `bytes` of a buffer.
pub fn fill(bytes: u64, buffer_bytes: u64) -> (Phase, u64) {
    let phase = Phase {
        bytes_per_instruction: FILL_BYTES_PER_NS as f64,
        working_set: buffer_bytes,
        reference_time: true,
        ..Phase::new("mem", Scaling::Factor(1.0))
    };
    (phase, bytes.div_ceil(FILL_BYTES_PER_NS))
}

/// The phase and the nanoseconds of `count` accesses to a buffer.
pub fn access(access: Access, buffer_bytes: u64, count: u64) -> (Phase, u64) {
    let in_cache = CHASE_NS.iter().find(|(bytes, _)| buffer_bytes <= *bytes).map(|&(_, ns)| ns);
    let (ns, bytes, scaling) = match (access, in_cache) {
        (Access::Touch, Some(_)) => (TOUCH_NS_PER_BYTE, 0, Scaling::Capacity),
        (Access::Touch, None) => (TOUCH_NS_PER_BYTE, 1, Scaling::Capacity),
        (Access::Chase { .. }, Some(ns)) => (ns, 0, Scaling::Capacity),
        // A prefetcher hides all of memory but its bandwidth: a line at the pace of a fill.
        (Access::Chase { prefetched: true }, None) => {
            (LINE_BYTES / FILL_BYTES_PER_NS, LINE_BYTES, Scaling::Factor(1.0))
        }
        (Access::Chase { prefetched: false }, None) => {
            (CHASE_MEMORY_NS, LINE_BYTES, Scaling::Factor(1.0))
        }
    };
    let name = match access {
        Access::Touch => "memrun",
        Access::Chase { .. } => "memrun-chase",
    };
    let phase = Phase {
        bytes_per_instruction: bytes as f64 / ns as f64,
        working_set: buffer_bytes,
        reference_time: true,
        ..Phase::new(name, scaling)
    };
    (phase, count.saturating_mul(ns))
}

/// The nanoseconds that calls of write take which move `bytes` out of a buffer to nowhere.
pub fn write_to_null(bytes: u64, buffer_bytes: u64) -> u64 {
    bytes.div_ceil(buffer_bytes.max(1)).saturating_mul(NULL_WRITE_NS)
}

/// The time that a device takes for `bytes`.
pub fn write_to_device(bytes: u64) -> Nanos {
    Nanos(bytes.saturating_mul(DEVICE_NS_PER_BYTE))
}
