//! A trace agrees with its log: read back with this crate's own messages, and with Perfetto's.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use evenkeel_machine::{CoreId, Nanos, Work};
use evenkeel_policy::{AppId, ThreadId};
use evenkeel_report::perfetto::proto::{EventType, Trace, TrackEvent};
use evenkeel_report::perfetto::{TraceError, write};
use evenkeel_sim::{Entry, Log};
use prost::Message;

/// A trace read back: events with absolute times and names.
struct Read {
    bytes: usize,
    tracks: BTreeMap<u64, String>,
    events: Vec<(u64, String, TrackEvent)>,
}

fn read(cores: u32, log: &Log) -> Read {
    let mut bytes = vec![];
    write(&common::machine(cores), &["alpha".into(), "beta".into()], log, &mut bytes).unwrap();
    let mut read = Read { bytes: bytes.len(), tracks: BTreeMap::new(), events: vec![] };
    let (mut now, mut names) = (0, BTreeMap::new());
    for packet in Trace::decode(&bytes[..]).unwrap().packet {
        if let Some(track) = packet.track_descriptor {
            assert_eq!(
                read.tracks.insert(track.uuid.unwrap(), track.name.unwrap()),
                None,
                "each track has its own number"
            );
        }
        for name in packet.interned_data.into_iter().flat_map(|data| data.event_names) {
            names.insert(name.iid.unwrap(), name.name.unwrap());
        }
        if let Some(event) = packet.track_event {
            now += packet.timestamp.unwrap();
            let name = event.name_iid.map_or(String::new(), |iid| names[&iid].clone());
            read.events.push((now, name, event));
        }
    }
    read
}

impl Read {
    /// (core track, thread, from, to) of each slice.
    fn slices(&self) -> Vec<(String, String, u64, u64)> {
        let mut open = BTreeMap::new();
        let mut slices = vec![];
        for (at, name, event) in &self.events {
            let track = event.track_uuid.unwrap();
            match event.r#type() {
                EventType::SliceBegin => {
                    assert_eq!(
                        open.insert(track, (name.clone(), *at)),
                        None,
                        "a core runs one thread"
                    )
                }
                EventType::SliceEnd => {
                    let (name, from) = open.remove(&track).unwrap();
                    slices.push((self.tracks[&track].clone(), name, from, *at));
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "every slice ends");
        slices.sort();
        slices
    }

    /// Values of a counter with their times.
    fn counter(&self, name: &str) -> Vec<(u64, f64)> {
        let uuid = *self.tracks.iter().find(|track| track.1 == name).unwrap().0;
        let mut values = vec![];
        for (at, _, event) in &self.events {
            if event.r#type() == EventType::Counter && event.track_uuid == Some(uuid) {
                values.push((
                    *at,
                    event
                        .double_counter_value
                        .or(event.counter_value.map(|value| value as f64))
                        .unwrap(),
                ));
            }
            for (extra, value) in
                event.extra_counter_track_uuids.iter().zip(&event.extra_counter_values)
            {
                if *extra == uuid {
                    values.push((*at, *value as f64));
                }
            }
        }
        values
    }

    /// (waker's track, woken thread, when it was woken, when it ran) of each arrow.
    fn arrows(&self) -> Vec<(String, String, u64, u64)> {
        let (mut open, mut arrows) = (BTreeMap::new(), vec![]);
        for (at, name, event) in &self.events {
            for flow in &event.flow_ids {
                let track = self.tracks[&event.track_uuid.unwrap()].clone();
                assert!(open.insert(*flow, (track, name.clone(), *at)).is_none());
            }
            for flow in &event.terminating_flow_ids {
                let (track, woken, woke_at) = open.remove(flow).unwrap();
                assert_eq!(&woken, name, "an arrow ends at the thread that was woken");
                arrows.push((track, woken, woke_at, *at));
            }
        }
        assert!(open.is_empty(), "every arrow ends");
        arrows
    }
}

#[test]
fn every_run_of_the_log_is_a_slice_of_its_core_under_its_threads_name() {
    let log = common::log(&common::machine(2), 2, 7, 500, 3);
    let mut runs = vec![];
    for entry in &log.entries {
        if let Entry::Ran { thread, core, from, to, .. } = entry {
            let kind = if core.0 < 2 { "big" } else { "little" };
            runs.push((
                format!("core {} ({kind})", core.0),
                format!("worker {}", thread.0),
                from.0,
                to.0,
            ));
        }
    }
    runs.sort();
    let read = read(2, &log);
    assert_eq!(read.slices(), runs);
    assert!(read.bytes < 60 * runs.len(), "{} bytes for {} runs", read.bytes, runs.len());
}

#[test]
fn progress_never_falls_and_ends_at_the_work_retired() {
    let log = common::log(&common::machine(2), 2, 5, 100, 9);
    let read = read(2, &log);
    for thread in 0..5 {
        let of_thread = |entry: &Entry| match entry {
            Entry::Ran { thread: ran, retired, .. } if ran.0 == thread => Some(retired.0 as f64),
            _ => None,
        };
        let values = read.counter(&format!("work of worker {thread}"));
        assert!(values.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
        assert_eq!(values.last().map(|last| last.1), log.entries.iter().rev().find_map(of_thread));
    }
}

#[test]
fn the_machines_power_is_that_of_its_cores_and_of_clusters_that_run() {
    let log = common::log(&common::machine(1), 2, 2, 40, 5);
    let read = read(1, &log);
    let (big, little) =
        (read.counter("power of core 0 (big)"), read.counter("power of core 1 (little)"));
    for (at, total) in read.counter("power of the machine") {
        let last = |values: &[(u64, f64)]| values.iter().rfind(|value| value.0 <= at).unwrap().1;
        let runs = |core: &str| {
            read.slices().iter().any(|slice| slice.0 == core && slice.2 <= at && at < slice.3)
        };
        let shared =
            0.3 * f64::from(runs("core 0 (big)")) + 0.1 * f64::from(runs("core 1 (little)"));
        assert!((total - last(&big) - last(&little) - shared).abs() < 1e-9);
    }
    assert_eq!(read.counter("clock of cluster 0 (big)"), [(0, 2e6)]);
}

#[test]
fn an_arrow_leads_from_the_waker_to_the_woken_threads_next_run() {
    let run = |thread, core, from, to| Entry::Ran {
        thread: ThreadId(thread),
        core: CoreId(core),
        from: Nanos(from),
        to: Nanos(to),
        retired: Work(to),
    };
    let woke = |at, thread, by: Option<u32>| Entry::Woke {
        at: Nanos(at),
        thread: ThreadId(thread),
        by: by.map(ThreadId),
    };
    let start = |thread| Entry::Started {
        at: Nanos(0),
        thread: ThreadId(thread),
        app: AppId(0),
        name: format!("t{thread}"),
    };
    let entries = vec![
        start(0),
        start(1),
        start(2),
        start(3),
        // Wake-ups in the middle of a run; by a timer; and by a thread whose last instant it is,
        // for a run at that instant.
        woke(4, 1, Some(0)),
        woke(5, 2, None),
        run(0, 0, 0, 10),
        woke(10, 3, Some(0)),
        // Wake-ups by a thread that begins to run at that instant, on a later core; and of a thread
        // that never runs again.
        woke(20, 2, Some(3)),
        woke(25, 0, Some(2)),
        run(1, 1, 12, 20),
        run(3, 2, 10, 15),
        run(2, 0, 20, 30),
        run(3, 3, 20, 30),
    ];
    let expected = [
        ("core 0 (big)", "t3", 10, 10),
        ("core 0 (big)", "t1", 4, 12),
        ("core 3 (little)", "t2", 20, 20),
    ];
    let arrows = read(2, &Log { entries }).arrows();
    let arrows: Vec<_> =
        arrows.iter().map(|arrow| (&*arrow.0, &*arrow.1, arrow.2, arrow.3)).collect();
    assert_eq!(arrows, expected);
}

#[test]
fn a_log_of_another_machine_is_refused() {
    let log = common::log(&common::machine(4), 2, 9, 3, 1);
    let refused = write(&common::machine(2), &[], &log, std::io::sink());
    assert!(
        matches!(refused, Err(TraceError::UnknownCore { core: 4, cores: 4, .. })),
        "{refused:?}"
    );
}

#[test]
fn same_log_same_bytes() {
    let (machine, mut traces) = (common::machine(2), BTreeSet::new());
    for _ in 0..2 {
        let mut bytes = vec![];
        write(&machine, &[], &common::log(&machine, 2, 6, 50, 2), &mut bytes).unwrap();
        traces.insert(bytes);
    }
    assert_eq!(traces.len(), 1);
}

/// Uses the Python package `perfetto`, which has Google's own message definitions, in a virtual
/// environment that tests/setup-perfetto.sh makes under target/. Without it the test is skipped and
/// says so in a line.
#[test]
fn perfettos_own_definitions_read_the_trace_back() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = here.join("../../target/perfetto/bin/python");
    if !python.exists() {
        eprintln!("skipped: no {}; tests/setup-perfetto.sh makes it", python.display());
        return;
    }
    let machine = common::machine(2);
    let log = common::log(&machine, 2, 7, 200, 4);
    let file = tempfile::NamedTempFile::new().unwrap();
    write(&machine, &["alpha".into(), "beta".into()], &log, file.as_file()).unwrap();
    let script = here.join("../../tests/perfetto_readback.py");
    let mut command = Command::new(python);
    command.arg(script).arg(file.path());
    for core in 0..4 {
        let busy = log.entries.iter().filter_map(|entry| match entry {
            Entry::Ran { core: on, from, to, .. } if on.0 == core => Some(to.0 - from.0),
            _ => None,
        });
        let kind = if core < 2 { "big" } else { "little" };
        command.arg(format!("core {core} ({kind})={}", busy.sum::<u64>()));
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}
