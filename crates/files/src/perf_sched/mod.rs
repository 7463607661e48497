//! What `perf sched record` wrote: bytes to what a system was seen to do.

mod format;
mod sections;

use std::io::Cursor;

use evenkeel_machine::Nanos;
use linux_perf_data::linux_perf_event_reader::{
    Endianness, EventRecord, PerfEventType, RawEventRecord, RecordType,
};
use linux_perf_data::{Error, Feature, PerfFileReader, PerfFileRecord};

pub use format::{NEEDED, Tracepoints};

use crate::recorded::{self, Cpu, Event, Follower, Places, Recorded, Seen, Selection, Tid};

/// How a file of perf begins, on machines of either byte order.
const MAGIC: [&[u8; 8]; 2] = [b"PERFILE2", b"2ELIFREP"];

/// The types of records that this reader uses.
const UNDERSTOOD: [RecordType; 5] =
    [RecordType::SAMPLE, RecordType::FORK, RecordType::EXIT, RecordType::COMM, RecordType::LOST];

/// Why a file of perf could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PerfDataError {
    /// It is no such file, or a broken one.
    #[error("{file}: not perf data that can be read: {what}")]
    Broken {
        /// File.
        file: String,
        /// The fault.
        what: String,
    },
    /// The program that was asked for is not in it.
    #[error("{file}: nothing of {wanted} in it: --comm NAME or --pid PID says what to take")]
    Nothing {
        /// File.
        file: String,
        /// What was asked for.
        wanted: String,
    },
    /// It was recorded with other events.
    #[error("{file}: no events {tracepoint}: expected what `perf sched record` writes")]
    Lacks {
        /// File.
        file: String,
        /// The missing tracepoint.
        tracepoint: &'static str,
    },
}

/// What a file of perf says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfSched {
    /// What was seen, in the order of time.
    pub seen: Vec<Seen>,
    /// Events that perf could not write down.
    pub lost: u64,
}

/// True if a file is one of perf, told from its content.
#[must_use]
pub fn looks_like_perf_data(bytes: &[u8]) -> bool {
    MAGIC.iter().any(|magic| bytes.starts_with(*magic))
}

/// Reads a file of `perf sched record`. `file` is for messages.
///
/// # Errors
/// A file that is broken, or has no scheduler events.
pub fn read(bytes: &[u8], file: &str) -> Result<PerfSched, PerfDataError> {
    let broken = |what: String| PerfDataError::Broken { file: file.to_owned(), what };
    sections::check(bytes).map_err(broken)?;
    let fault = |error: Error| broken(error.to_string().lines().collect::<Vec<_>>().join(" "));
    let PerfFileReader { mut perf_file, mut record_iter } =
        PerfFileReader::parse_file(Cursor::new(bytes)).map_err(fault)?;
    let formats = perf_file.feature_section_data(Feature::TRACING_DATA).unwrap_or_default();
    let tracepoints = Tracepoints::parse(&String::from_utf8_lossy(formats));
    if let Some(tracepoint) = NEEDED.into_iter().find(|name| tracepoints.id(name).is_none()) {
        return Err(PerfDataError::Lacks { file: file.to_owned(), tracepoint });
    }
    let kinds: Vec<_> =
        perf_file.event_attributes().iter().map(|it| it.attributes().type_).collect();
    let little_endian = perf_file.endian() == Endianness::LittleEndian;
    let mut found = PerfSched::default();
    // A file that ends within a record, as after its writer was killed, is read up to there.
    while let Ok(Some(record)) = record_iter.next_record(&mut perf_file) {
        let PerfFileRecord::EventRecord { attr_index, record } = record else { continue };
        let id = match kinds.get(attr_index) {
            Some(PerfEventType::Tracepoint(id)) => Some(*id),
            _ => None,
        };
        take(&record, |raw, cpu| tracepoints.decode(id?, raw, cpu, little_endian), &mut found);
    }
    found.seen.sort_by_key(|seen| seen.at);
    Ok(found)
}

/// Infers the workload of one program of a file. `places` says how fast the machine's cores are.
///
/// # Errors
/// Nothing of that program was seen.
pub fn program(
    data: PerfSched,
    selection: Selection,
    places: &Places,
    file: &str,
) -> Result<Recorded, PerfDataError> {
    let wanted = match &selection {
        Selection::Command => "a command that perf ran".to_owned(),
        Selection::Name(name) => format!("threads named {name}"),
        Selection::Process(process) | Selection::Program(process) => {
            format!("process {}", process.0)
        }
    };
    let (mut follower, mut facts) = (Follower::new(selection), Vec::new());
    data.seen.into_iter().for_each(|seen| follower.take(seen, &mut facts));
    let Some(name) = follower.name() else {
        return Err(PerfDataError::Nothing { file: file.to_owned(), wanted });
    };
    Ok(recorded::infer(facts, places, name))
}

/// Adds the event of a record, if the record has one.
fn take(
    record: &RawEventRecord<'_>,
    decode: impl Fn(&[u8], Cpu) -> Option<Event>,
    found: &mut PerfSched,
) {
    // The library asserts what it expects of other records, and a broken file need not keep to
    // that.
    if !UNDERSTOOD.contains(&record.record_type) {
        return;
    }
    let Ok(parsed) = record.parse() else { return };
    let mut at = record.timestamp().unwrap_or(0);
    let event = match parsed {
        EventRecord::Sample(sample) => {
            let cpu = Cpu(sample.cpu.unwrap_or(0));
            sample.raw.and_then(|raw| decode(&raw.as_slice(), cpu))
        }
        EventRecord::Fork(fork) => {
            at = fork.timestamp;
            // Threads that were there before perf are reported by perf itself, at time 0.
            let parent = (at > 0).then_some(Tid(fork.ptid));
            Some(Event::Fork { tid: Tid(fork.tid), process: Tid(fork.pid), parent })
        }
        EventRecord::Exit(exit) => {
            at = exit.timestamp;
            Some(Event::Exit { tid: Tid(exit.tid) })
        }
        EventRecord::Comm(comm) => {
            let name = String::from_utf8_lossy(&comm.name.as_slice()).into_owned();
            Some(Event::Name {
                tid: Tid(comm.tid),
                process: Tid(comm.pid),
                name,
                exec: comm.is_execve,
            })
        }
        EventRecord::Lost(lost) => {
            found.lost = found.lost.saturating_add(lost.count);
            None
        }
        _ => None,
    };
    found.seen.extend(event.map(|event| Seen { at: Nanos(at), event }));
}
