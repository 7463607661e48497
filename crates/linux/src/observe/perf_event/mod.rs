//! `perf_event_open(2)`: what to ask for, and a ring to read records from. Used to watch threads
//! and to count for them.

mod sys;

use std::io;
use std::os::fd::BorrowedFd;

pub use sys::{Ring, Target, disable, enable, open, set_output};

/// `PERF_TYPE_SOFTWARE`.
pub const TYPE_SOFTWARE: u32 = 1;
/// `PERF_TYPE_TRACEPOINT`.
pub const TYPE_TRACEPOINT: u32 = 2;
/// `PERF_COUNT_SW_DUMMY`: counts nothing; exists for the records that come with it.
pub const SOFTWARE_DUMMY: u64 = 9;

/// `PERF_FORMAT_*`: what reading an event gives beside its count: the times in which it was enabled
/// and running.
pub const FORMAT_TIMES: u64 = 1 | 2;
/// The counts of its whole group, after how many they are and the times.
pub const FORMAT_GROUP: u64 = 8;

/// Reads an event's words; how many there were.
///
/// # Errors
/// Those of `read(2)`.
pub fn read_words<const N: usize>(event: BorrowedFd<'_>, into: &mut [u64; N]) -> io::Result<usize> {
    let mut bytes = [[0; 8]; N];
    let length = rustix::io::read(event, bytes.as_flattened_mut())?;
    *into = bytes.map(u64::from_ne_bytes);
    Ok(length / 8)
}

/// `PERF_SAMPLE_*`: what each record, or its trailer, says.
pub const SAMPLE_TID: u64 = 1 << 1;
/// When.
pub const SAMPLE_TIME: u64 = 1 << 2;
/// On which CPU.
pub const SAMPLE_CPU: u64 = 1 << 7;
/// The fields of a tracepoint.
pub const SAMPLE_RAW: u64 = 1 << 10;

/// `PERF_RECORD_*` (`enum perf_event_type`), what a record is about: so many records were lost.
pub const RECORD_LOST: u32 = 2;
/// A new name.
pub const RECORD_COMM: u32 = 3;
/// The end of a thread.
pub const RECORD_EXIT: u32 = 4;
/// The start of a thread.
pub const RECORD_FORK: u32 = 7;
/// An event, with what [`Attr::sample_type`] asks for.
pub const RECORD_SAMPLE: u32 = 9;
/// So many samples were lost.
pub const RECORD_LOST_SAMPLES: u32 = 13;
/// A thread that gets or leaves a core.
pub const RECORD_SWITCH: u32 = 14;
/// The same, by an event that follows a CPU: with the other thread of the switch.
pub const RECORD_SWITCH_CPU_WIDE: u32 = 15;

/// `PERF_RECORD_MISC_*`, bits in `misc`, the same bit with a meaning of its own in each type of
/// record. Of [`RECORD_COMM`]: the name came by exec.
pub const MISC_COMM_EXEC: u16 = 1 << 13;
/// Of a switch: the thread leaves.
pub const MISC_SWITCH_OUT: u16 = 1 << 13;
/// Of a switch: the thread leaves, and could have gone on.
pub const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// The one-bit fields of `struct perf_event_attr`, by their order in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Flag {
    /// Not counting until told to.
    Disabled = 0,
    /// Children of the thread are followed too.
    Inherit = 1,
    /// Not what the kernel does: needs no privilege then.
    ExcludeKernel = 5,
    /// Not what the hypervisor does.
    ExcludeHypervisor = 6,
    /// Records of new names, and of exec.
    Comm = 9,
    /// Counts from exec on.
    EnableOnExec = 12,
    /// Records of fork and exit.
    Task = 13,
    /// Wake the reader by bytes written, not by samples.
    Watermark = 14,
    /// Every record ends with thread, time and CPU.
    SampleIdAll = 18,
    /// New names by exec are marked.
    CommExec = 24,
    /// The clock is named, not the scheduler's own.
    UseClockId = 25,
    /// Records of threads that get and leave a core.
    ContextSwitch = 26,
}

/// `struct perf_event_attr`, up to `PERF_ATTR_SIZE_VER3` (Linux 4.1 and later).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Attr {
    /// Which PMU.
    pub kind: u32,
    size: u32,
    /// Which of its events.
    pub config: u64,
    /// Every how many events a sample is written. 0: none.
    pub sample_period: u64,
    /// What records say: `SAMPLE_*`.
    pub sample_type: u64,
    /// What reading the event gives.
    pub read_format: u64,
    flags: u64,
    /// With [`Flag::Watermark`]: bytes in the ring that wake the reader.
    pub wakeup: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    /// With [`Flag::UseClockId`]: `CLOCK_*`.
    pub clock: i32,
}

impl Attr {
    /// Event `config` of PMU `kind`, with `flags` set.
    #[must_use]
    pub fn new(kind: u32, config: u64, flags: &[Flag]) -> Self {
        // C puts the first bit-field into the lowest bit on little-endian machines, into the
        // highest on big-endian ones.
        let bit = |flag: &Flag| {
            let place = *flag as u32;
            if cfg!(target_endian = "little") { 1u64 << place } else { 1 << (63 - place) }
        };
        Self {
            kind,
            config,
            size: u32::try_from(size_of::<Self>()).unwrap_or(0),
            flags: flags.iter().map(bit).fold(0, |all, one| all | one),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attribute_has_the_size_that_the_kernel_knows() {
        assert_eq!(size_of::<Attr>(), 96);
    }
}
