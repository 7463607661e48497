//! Records of perf's rings: bytes to what was seen.
//!
//! Layout: `include/uapi/linux/perf_event.h`, `enum perf_event_type`, for events that sample
//! thread, time, CPU and raw data, with thread, time and CPU behind every record that is no sample.

use evenkeel_files::perf_sched::Tracepoints;
use evenkeel_files::recorded::{Cpu, Event, Seen, Tid};
use evenkeel_machine::Nanos;

use crate::observe::perf_event::{
    MISC_COMM_EXEC, MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT, RECORD_COMM, RECORD_EXIT,
    RECORD_FORK, RECORD_LOST, RECORD_LOST_SAMPLES, RECORD_SAMPLE, RECORD_SWITCH_CPU_WIDE,
};

const HEADER: usize = 8;
/// Process and thread, time, and CPU behind a record, each eight bytes.
const TRAILER: usize = 24;

/// What a record tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded {
    Seen(Seen),
    /// So many records could not be written.
    Lost(u64),
}

fn bytes<const N: usize>(record: &[u8], at: usize) -> Option<[u8; N]> {
    record.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn tid(record: &[u8], at: usize) -> Option<Tid> {
    bytes(record, at).map(|it| Tid(i32::from_ne_bytes(it)))
}

fn word(record: &[u8], at: usize) -> Option<u64> {
    bytes(record, at).map(u64::from_ne_bytes)
}

/// Reads one record, header and all. `None`: it says nothing that we ask for, or is too short for
/// what it is.
pub fn decode(record: &[u8], tracepoints: &Tracepoints) -> Option<Decoded> {
    let kind = u32::from_ne_bytes(bytes(record, 0)?);
    let misc = u16::from_ne_bytes(bytes(record, 4)?);
    let trailer = record.len().checked_sub(TRAILER);
    let told_at = || word(record, trailer? + 8);
    let (at, event) = match kind {
        RECORD_LOST => return Some(Decoded::Lost(word(record, HEADER + 8)?)),
        RECORD_LOST_SAMPLES => return Some(Decoded::Lost(word(record, HEADER)?)),
        RECORD_FORK => {
            let (process, child, parent) =
                (tid(record, HEADER)?, tid(record, HEADER + 8)?, tid(record, HEADER + 12)?);
            (word(record, HEADER + 16)?, Event::Fork { tid: child, process, parent: Some(parent) })
        }
        RECORD_EXIT => (word(record, HEADER + 16)?, Event::Exit { tid: tid(record, HEADER + 8)? }),
        RECORD_COMM => {
            let name = record.get(HEADER + 8..trailer?)?;
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            let (process, tid) = (tid(record, HEADER)?, tid(record, HEADER + 4)?);
            (told_at()?, Event::Name { tid, process, name, exec: misc & MISC_COMM_EXEC != 0 })
        }
        RECORD_SWITCH_CPU_WIDE if misc & MISC_SWITCH_OUT != 0 => {
            let (from, to) = (tid(record, trailer? + 4)?, tid(record, HEADER + 4)?);
            let cpu = Cpu(u32::from_ne_bytes(bytes(record, trailer? + 16)?));
            (
                told_at()?,
                Event::Switch { cpu, from, preempted: misc & MISC_SWITCH_OUT_PREEMPT != 0, to },
            )
        }
        RECORD_SAMPLE => {
            let cpu = Cpu(u32::from_ne_bytes(bytes(record, HEADER + 16)?));
            let size = usize::try_from(u32::from_ne_bytes(bytes(record, HEADER + 24)?)).ok()?;
            let raw = record.get(HEADER + 28..(HEADER + 28).checked_add(size)?)?;
            // Every tracepoint's first field is its number.
            let id = u16::from_ne_bytes(bytes(raw, 0)?);
            let little_endian = cfg!(target_endian = "little");
            (word(record, HEADER + 8)?, tracepoints.decode(id.into(), raw, cpu, little_endian)?)
        }
        _ => return None,
    };
    Some(Decoded::Seen(Seen { at: Nanos(at), event }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMATS: &str = "name: sched_waking\nID: 314\nformat:\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";

    fn record(kind: u32, misc: u16, words: &[u32]) -> Vec<u8> {
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let size = (HEADER + body.len()) as u16;
        [&kind.to_ne_bytes()[..], &misc.to_ne_bytes(), &size.to_ne_bytes(), &body].concat()
    }

    fn seen(record: &[u8]) -> Option<Decoded> {
        decode(record, &Tracepoints::parse(FORMATS))
    }

    #[test]
    fn starts_names_and_ends_are_told_with_their_times() {
        let at = |at, event| Some(Decoded::Seen(Seen { at: Nanos(at), event }));
        let trailer = [0, 0, 77, 0, 0, 0];
        let fork = record(RECORD_FORK, 0, &[&[5, 4, 6, 4, 99, 0][..], &trailer].concat());
        assert_eq!(
            seen(&fork),
            at(99, Event::Fork { tid: Tid(6), process: Tid(5), parent: Some(Tid(4)) })
        );
        let exit = record(RECORD_EXIT, 0, &[&[5, 4, 6, 4, 99, 0][..], &trailer].concat());
        assert_eq!(seen(&exit), at(99, Event::Exit { tid: Tid(6) }));
        let name = u32::from_ne_bytes(*b"ab\0\0");
        let comm = record(RECORD_COMM, MISC_COMM_EXEC, &[&[5, 6, name, 0][..], &trailer].concat());
        let event = Event::Name { tid: Tid(6), process: Tid(5), name: "ab".into(), exec: true };
        assert_eq!(seen(&comm), at(77, event));
        assert_eq!(seen(&record(RECORD_LOST, 0, &[0, 0, 12, 0])), Some(Decoded::Lost(12)));
    }

    #[test]
    fn a_wake_up_is_told_with_its_waker() {
        let mut raw = [0_u32; 8];
        (raw[0], raw[1], raw[6]) = (u32::from_ne_bytes([58, 1, 0, 0]), 7, 9);
        let sample = record(RECORD_SAMPLE, 0, &[&[7, 7, 55, 0, 1, 0, 32][..], &raw].concat());
        let event = Event::Waking { tid: Tid(9), by: Some(Tid(7)) };
        assert_eq!(seen(&sample), Some(Decoded::Seen(Seen { at: Nanos(55), event })));
    }

    #[test]
    fn a_switch_is_told_once_with_who_left_and_who_came() {
        let words = [4, 5, 8, 9, 66, 0, 3, 0];
        let event = |preempted| Event::Switch { cpu: Cpu(3), from: Tid(9), preempted, to: Tid(5) };
        let told = |misc| match seen(&record(RECORD_SWITCH_CPU_WIDE, misc, &words)) {
            Some(Decoded::Seen(Seen { at: Nanos(66), event })) => Some(event),
            _ => None,
        };
        assert_eq!(
            [told(MISC_SWITCH_OUT), told(MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT), told(0)],
            [Some(event(false)), Some(event(true)), None]
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            kind in prop::sample::select(vec![
                RECORD_LOST, RECORD_COMM, RECORD_EXIT, RECORD_FORK, RECORD_SAMPLE, RECORD_LOST_SAMPLES, RECORD_SWITCH_CPU_WIDE,
            ]),
            rest: Vec<u8>,
        ) {
            let mut bytes = kind.to_ne_bytes().to_vec();
            bytes.extend(rest);
            let _ = seen(&bytes);
        }
    }
}
