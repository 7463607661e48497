//! What the sources have in common: one thing that happened, to a followed thread or not; and how
//! perf's bytes say it.

use evenkeel_machine::Nanos;

use super::{Cpu, Tid, Waker};
use crate::observe::perf_event::{
    MISC_COMM_EXEC, MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT, RECORD_COMM, RECORD_EXIT,
    RECORD_FORK, RECORD_LOST, RECORD_SAMPLE, RECORD_SWITCH, RECORD_SWITCH_CPU_WIDE,
};

/// What happened, as a source says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A thread was forked. `parent` is not always known, `parent_process` is.
    Fork { tid: Tid, process: Tid, parent: Option<Tid>, parent_process: Tid },
    /// A process began another program; its one thread has the process's number from now on.
    Exec { process: Tid },
    /// A thread ended.
    Exit { tid: Tid },
    /// A thread got the core.
    In { tid: Tid, process: Tid, cpu: Cpu },
    /// A thread left the core.
    Out { tid: Tid, process: Tid, cpu: Cpu, preempted: bool },
    /// A thread was woken.
    Wake { tid: Tid, by: Waker },
    /// This many records were dropped for want of room.
    Lost(u64),
}

/// Something that happened, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub at: Nanos,
    pub what: What,
}

/// The longest record that says something to us: a sample of a wake-up. A name (`comm`) is shorter.
pub const LONGEST: usize = 256;

/// Bytes at the end of every record but a sample: pid, tid, time, CPU and a filler.
const TRAILER: usize = 24;

/// Where the fields of a wake-up's sample lie: from the tracepoint's format file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeFormat {
    /// Offset of the woken thread's number within the tracepoint's fields.
    pub tid: usize,
    /// Offset of `common_flags`, which tells an interrupt.
    pub flags: usize,
}

/// `TRACE_FLAG_HARDIRQ`, `_SOFTIRQ` and `_NMI`: the tracepoint was met in an interrupt, not in what
/// the thread itself did.
const IN_INTERRUPT: u8 = 0x08 | 0x10 | 0x40;

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Reads a record of perf, header and all. `None` for those that say nothing to us, among them all
/// about the idle thread and about threads that have no number any more.
#[must_use]
pub fn decode(bytes: &[u8], wakes: Option<&WakeFormat>) -> Option<Record> {
    let kind = u32_at(bytes, 0)?;
    let misc = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let trailer = bytes.len().checked_sub(TRAILER)?;
    let numbered = |tid: i32| (tid > 0).then_some(Tid(tid));
    let record = |at: u64, what: What| Some(Record { at: Nanos(at), what });
    match kind {
        RECORD_SWITCH | RECORD_SWITCH_CPU_WIDE => {
            let process = Tid(i32_at(bytes, trailer)?);
            let tid = numbered(i32_at(bytes, trailer + 4)?)?;
            let at = u64_at(bytes, trailer + 8)?;
            let cpu = Cpu(u32_at(bytes, trailer + 16)?);
            if misc & MISC_SWITCH_OUT == 0 {
                record(at, What::In { tid, process, cpu })
            } else {
                record(
                    at,
                    What::Out { tid, process, cpu, preempted: misc & MISC_SWITCH_OUT_PREEMPT != 0 },
                )
            }
        }
        RECORD_FORK => {
            let (process, parent_process) = (Tid(i32_at(bytes, 8)?), Tid(i32_at(bytes, 12)?));
            let tid = numbered(i32_at(bytes, 16)?)?;
            let parent = numbered(i32_at(bytes, 20)?);
            record(u64_at(bytes, 24)?, What::Fork { tid, process, parent, parent_process })
        }
        RECORD_EXIT => {
            record(u64_at(bytes, 24)?, What::Exit { tid: numbered(i32_at(bytes, 16)?)? })
        }
        RECORD_COMM if misc & MISC_COMM_EXEC != 0 => record(
            u64_at(bytes, trailer + 8)?,
            What::Exec { process: numbered(i32_at(bytes, 8)?)? },
        ),
        RECORD_SAMPLE => {
            let format = wakes?;
            let waker = i32_at(bytes, 12)?;
            let fields = 8 + 8 + 8 + 8 + 4;
            let tid = numbered(i32_at(bytes, fields + format.tid)?)?;
            let by = if bytes.get(fields + format.flags)? & IN_INTERRUPT != 0 {
                Waker::Interrupt
            } else {
                numbered(waker).map_or(Waker::Interrupt, Waker::Thread)
            };
            record(u64_at(bytes, 16)?, What::Wake { tid, by })
        }
        RECORD_LOST => record(u64_at(bytes, trailer + 8)?, What::Lost(u64_at(bytes, 16)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as the kernel writes it.
    fn bytes(kind: u32, misc: u16, body: &[u32]) -> Vec<u8> {
        let size = u16::try_from(8 + body.len() * 4).unwrap();
        let mut all = kind.to_ne_bytes().to_vec();
        all.extend(misc.to_ne_bytes());
        all.extend(size.to_ne_bytes());
        all.extend(body.iter().flat_map(|word| word.to_ne_bytes()));
        all
    }

    /// Two words that are one 64-bit number.
    const fn halves(number: u64) -> [u32; 2] {
        let b = number.to_ne_bytes();
        [u32::from_ne_bytes([b[0], b[1], b[2], b[3]]), u32::from_ne_bytes([b[4], b[5], b[6], b[7]])]
    }

    fn trailer(pid: u32, tid: u32, at: u64, cpu: u32) -> Vec<u32> {
        [&[pid, tid], &halves(at)[..], &[cpu, 0]].concat()
    }

    #[test]
    fn a_switch_says_who_where_when_and_whether_it_was_preempted() {
        let out = bytes(
            RECORD_SWITCH,
            MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT,
            &trailer(10, 11, 5_000_000_000, 3),
        );
        let expected = What::Out { tid: Tid(11), process: Tid(10), cpu: Cpu(3), preempted: true };
        assert_eq!(decode(&out, None), Some(Record { at: Nanos(5_000_000_000), what: expected }));
        // Of a whole CPU: the other thread's numbers come first, and say nothing more.
        let wide =
            bytes(RECORD_SWITCH_CPU_WIDE, 0, &[&[7, 7], &trailer(10, 11, 5, 3)[..]].concat());
        let expected = What::In { tid: Tid(11), process: Tid(10), cpu: Cpu(3) };
        assert_eq!(decode(&wide, None), Some(Record { at: Nanos(5), what: expected }));
    }

    #[test]
    fn the_idle_thread_and_those_without_a_number_are_not_told() {
        assert_eq!(
            decode(
                &bytes(RECORD_SWITCH_CPU_WIDE, 0, &[&[7, 7], &trailer(0, 0, 5, 3)[..]].concat()),
                None
            ),
            None
        );
        assert_eq!(
            decode(&bytes(RECORD_SWITCH, 0, &trailer(u32::MAX, u32::MAX, 5, 3)), None),
            None
        );
    }

    #[test]
    fn forks_exits_and_execs_are_told_and_mere_renaming_is_not() {
        let body = [&[20, 10, 21, 11], &halves(9)[..], &trailer(10, 11, 9, 0)[..]].concat();
        let fork = What::Fork {
            tid: Tid(21),
            process: Tid(20),
            parent: Some(Tid(11)),
            parent_process: Tid(10),
        };
        assert_eq!(
            decode(&bytes(RECORD_FORK, 0, &body), None),
            Some(Record { at: Nanos(9), what: fork })
        );
        let exit = What::Exit { tid: Tid(21) };
        assert_eq!(
            decode(&bytes(RECORD_EXIT, 0, &body), None),
            Some(Record { at: Nanos(9), what: exit })
        );
        let comm = [&[20, 20, 0x6162, 0], &trailer(20, 20, 12, 0)[..]].concat();
        let exec = What::Exec { process: Tid(20) };
        assert_eq!(
            decode(&bytes(RECORD_COMM, MISC_COMM_EXEC, &comm), None),
            Some(Record { at: Nanos(12), what: exec })
        );
        assert_eq!(decode(&bytes(RECORD_COMM, 0, &comm), None), None);
    }

    #[test]
    fn a_wake_up_in_an_interrupt_is_nobodys_doing() {
        let format = WakeFormat { tid: 24, flags: 2 };
        let mut fields = vec![0u8; 36];
        fields[24..28].copy_from_slice(&77i32.to_ne_bytes());
        let sample = |fields: &[u8]| {
            let words: Vec<u32> =
                fields.chunks(4).map(|c| u32::from_ne_bytes(c.try_into().unwrap())).collect();
            let size = u32::try_from(fields.len()).unwrap();
            bytes(
                RECORD_SAMPLE,
                0,
                &[&[10, 11], &halves(8)[..], &[1, 0, size], &words[..]].concat(),
            )
        };
        let woken = |by| Some(Record { at: Nanos(8), what: What::Wake { tid: Tid(77), by } });
        assert_eq!(decode(&sample(&fields), Some(&format)), woken(Waker::Thread(Tid(11))));
        fields[2] = 0x10;
        assert_eq!(decode(&sample(&fields), Some(&format)), woken(Waker::Interrupt));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes, Some(&WakeFormat { tid: 24, flags: 2 }));
        }
    }
}
