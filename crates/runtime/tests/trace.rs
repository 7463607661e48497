//! What a trace says is what the pool did.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Barrier;

use evenkeel_perfetto::proto::{EventType, Trace};
use evenkeel_runtime::{Handle, Pool};
use prost::Message;

/// A slice, or an instant (which ends when it begins).
#[derive(Debug)]
struct Slice {
    track: String,
    name: String,
    from: u64,
    to: u64,
    depth: usize,
    numbers: BTreeMap<String, i64>,
}

#[derive(Debug, Default)]
struct Read {
    tracks: Vec<String>,
    slices: Vec<Slice>,
    /// From slice to slice, by name.
    flows: Vec<(String, String)>,
}

fn read(path: &Path) -> Read {
    let mut read = Read::default();
    let (mut now, mut names) = (BTreeMap::<u32, u64>::new(), BTreeMap::new());
    let (mut tracks, mut open) = (BTreeMap::new(), BTreeMap::<u64, Vec<usize>>::new());
    let mut starts = BTreeMap::new();
    for packet in Trace::decode(&std::fs::read(path).unwrap()[..]).unwrap().packet {
        let sequence = packet.trusted_packet_sequence_id.unwrap();
        if let Some(track) = packet.track_descriptor {
            let name = track.name.unwrap();
            read.tracks.push(name.clone());
            assert!(
                tracks.insert(track.uuid.unwrap(), name).is_none(),
                "each track has its own number"
            );
        }
        for name in packet.interned_data.into_iter().flat_map(|data| data.event_names) {
            names.insert((sequence, name.iid.unwrap()), name.name.unwrap());
        }
        let Some(event) = packet.track_event else { continue };
        let now = now.entry(sequence).or_default();
        *now += packet.timestamp.unwrap();
        let open = open.entry(event.track_uuid.unwrap()).or_default();
        if event.r#type() == EventType::SliceEnd {
            let slice: usize = open.pop().unwrap();
            read.slices[slice].to = *now;
            continue;
        }
        let slice = read.slices.len();
        let numbers = event
            .debug_annotations
            .iter()
            .map(|it| (it.name.clone().unwrap(), it.int_value.unwrap()));
        read.slices.push(Slice {
            track: tracks[&event.track_uuid.unwrap()].clone(),
            name: names[&(sequence, event.name_iid.unwrap())].clone(),
            from: *now,
            to: *now,
            depth: open.len(),
            numbers: numbers.collect(),
        });
        if event.r#type() == EventType::SliceBegin {
            open.push(slice);
        }
        for &flow in &event.flow_ids {
            assert!(starts.insert(flow, slice).is_none());
        }
        for flow in &event.terminating_flow_ids {
            let from: usize = starts.remove(flow).unwrap();
            assert!(read.slices[from].to <= *now, "an arrow leads forward in time");
            read.flows.push((read.slices[from].name.clone(), read.slices[slice].name.clone()));
        }
    }
    assert!(open.values().all(Vec::is_empty) && starts.is_empty(), "what begins ends");
    read
}

impl Read {
    fn named(&self, name: &str) -> Vec<&Slice> {
        self.slices.iter().filter(|slice| slice.name == name).collect()
    }

    fn flows(&self, from: &str, to: &str) -> usize {
        self.flows.iter().filter(|flow| flow.0 == from && flow.1 == to).count()
    }
}

/// What is recorded of a pool that does this.
fn traced(workers: usize, f: impl FnOnce(&Pool)) -> Read {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pftrace");
    let pool = Pool::builder().workers(workers).trace(path.to_str().unwrap()).build().unwrap();
    f(&pool);
    drop(pool);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing temporary is left");
    read(&path)
}

#[test]
fn every_task_is_a_slice_under_its_name_with_arrows_from_those_that_it_waited_for() {
    let (a, b) = (Handle::new(), Handle::new());
    let read = traced(2, |pool| {
        pool.scope(|s| {
            s.task().writes(&a).label("make").run(|| ());
            (0..3).for_each(|_| s.task().reads(&a).updates(&b).label("use").run(|| ()));
            s.task().updates(&a).label("end").run(|| ());
            s.spawn(|| ());
            s.spawn_named("alone", || ());
            s.task().label("alone").run(|| ());
        });
    });
    let count = |name| read.named(name).len();
    assert_eq!(
        (count("make"), count("use"), count("end"), count("task"), count("alone")),
        (1, 3, 1, 1, 2)
    );
    assert_eq!(
        (read.flows("make", "use"), read.flows("use", "use"), read.flows("use", "end")),
        (3, 2, 3)
    );
    assert_eq!(read.flows("make", "end"), 0, "it waits for the readers, and they for the writer");
}

#[test]
fn tracks_are_named_by_core_and_kind() {
    let mut expected = vec!["evenkeel, pool 1".to_string()];
    let read = traced(2, |pool| {
        expected.extend(pool.places().iter().enumerate().map(|(worker, place)| {
            let kind = pool.kinds().iter().find(|kind| kind.id == place.kind).unwrap();
            let core = place.cpu.map_or("any core".into(), |cpu| format!("core {cpu}"));
            format!("{core} ({}), worker {worker}", kind.name)
        }));
    });
    assert_eq!(read.tracks, expected);
}

#[test]
fn a_recorded_graph_has_its_arrows_in_every_run() {
    let a = Handle::new();
    let read = traced(2, |pool| {
        let mut graph = pool.record(|g| {
            g.task().writes(&a).label("first").run(|| ());
            g.task().updates(&a).label("second").run(|| ());
        });
        (0..10).for_each(|_| graph.run());
    });
    assert_eq!((read.named("first").len(), read.named("second").len()), (10, 10));
    assert_eq!((read.flows("first", "second"), read.flows("second", "first")), (10, 0));
}

#[test]
fn what_a_policy_behind_a_lock_places_is_seen_as_any_other() {
    for policy in ["fifo", "cats", "heft"] {
        let a = Handle::new();
        let read = traced(2, |pool| {
            let graph = pool.record_with(policy, |g| {
                g.task().writes(&a).label("first").run(|| ());
                (0..3).for_each(|_| g.task().reads(&a).label("second").run(|| ()));
                g.task().run(|| ());
            });
            let mut graph = graph.unwrap();
            (0..10).for_each(|_| graph.run());
            let tasks = pool.summary().workers.iter().map(|it| it.tasks).sum::<u64>();
            assert_eq!(tasks, 50, "{policy}");
        });
        let count = |name| read.named(name).len();
        assert_eq!((count("first"), count("second"), count("task")), (10, 30, 10), "{policy}");
        assert_eq!(read.flows("first", "second"), 30, "{policy}");
    }
}

#[test]
fn chunks_of_a_loop_are_slices_with_their_ranges() {
    for workers in [1, 3] {
        let read = traced(workers, |pool| {
            pool.over(10..100_010_u64).label("sum").for_each(|i| _ = std::hint::black_box(i));
        });
        let mut ranges: Vec<_> =
            read.named("sum").iter().map(|it| (it.numbers["first"], it.numbers["end"])).collect();
        ranges.sort_unstable();
        assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (10, 100_010));
        assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0), "every iteration once");
    }
}

#[test]
fn stages_of_a_pipeline_are_slices_with_the_numbers_of_their_items() {
    let mut sum = 0;
    let read = traced(3, |pool| {
        pool.pipeline(0..50).parallel(|i| i * i).label("square").serial(|i| sum += i).run();
    });
    for stage in ["square", "stage 2"] {
        let items: BTreeSet<_> = read.named(stage).iter().map(|it| it.numbers["item"]).collect();
        assert!(items.into_iter().eq(0..50), "{stage}");
    }
}

#[test]
fn sleeping_and_being_woken_and_stealing_are_seen() {
    let read = traced(2, |pool| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        // Two that meet have to be on two workers: the second is stolen by one that slept.
        let both = Barrier::new(2);
        pool.scope(|s| (0..2).for_each(|_| s.spawn_named("meet", || _ = both.wait())));
        std::thread::sleep(std::time::Duration::from_millis(50));
    });
    let on: BTreeSet<_> = read.named("meet").iter().map(|it| &it.track).collect();
    assert_eq!(on.len(), 2);
    assert!(
        read.named("asleep").len() >= 2
            && !read.named("steal").is_empty()
            && !read.named("looking").is_empty()
    );
    let longest = read.named("asleep").iter().map(|it| it.to - it.from).max().unwrap();
    assert!(longest >= 10_000_000, "{longest} ns");
    let call = read.named("call from outside");
    assert!(call.len() == 1 && call[0].depth == 0);
}

#[test]
fn isolated_work_is_on_the_tracks_of_the_workers_that_do_it() {
    let both = Barrier::new(2);
    let read = traced(2, |pool| {
        pool.isolate(|| {
            pool.scope(|s| {
                for name in ["one", "two"] {
                    let both = &both;
                    s.spawn_named(name, move || {
                        both.wait();
                    });
                }
            });
        });
    });
    let track = |name| {
        read.slices
            .iter()
            .find(|slice| slice.name == name)
            .map(|slice| slice.track.clone())
            .unwrap()
    };
    assert_ne!(track("one"), track("two"));
}

#[test]
fn a_panicking_task_is_a_slice_as_any_other() {
    let read = traced(2, |pool| {
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.scope(|s| s.spawn_named("fails", || panic!("on purpose")));
        }));
        assert!(panicked.is_err());
    });
    assert_eq!(read.named("fails").len(), 1);
}

#[test]
fn pools_that_share_a_file_are_all_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("%p-run.pftrace");
    let pool = || Pool::builder().workers(1).trace(path.to_str().unwrap()).build().unwrap();
    let (first, second) = (pool(), pool());
    second.scope(|s| s.spawn_named("in the second", || ()));
    first.scope(|s| s.spawn_named("in the first", || ()));
    drop(second);
    drop(first);
    let read = read(&folder.path().join(format!("{}-run.pftrace", std::process::id())));
    assert_eq!((read.named("in the first").len(), read.named("in the second").len()), (1, 1));
    assert_eq!(read.tracks.iter().filter(|track| track.starts_with("evenkeel, pool ")).count(), 2);
}

#[test]
fn a_trace_of_another_process_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pftrace");
    for _ in 0..2 {
        drop(Pool::builder().workers(1).trace(path.to_str().unwrap()).build().unwrap());
        assert_eq!(read(&path).tracks.len(), 2);
        // Another process put its own there.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "not ours").unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_written_keeps_no_pool_from_working() {
    for file in ["/proc/no/such/folder/run.pftrace", "/"] {
        let pool = Pool::builder().workers(2).trace(file).build().unwrap();
        assert_eq!(pool.map_reduce(0..100_u64, || 0, |sum, i| sum + i, |a, b| a + b), 4950);
    }
}

#[test]
fn devices_are_written_to_as_they_are() {
    drop(Pool::builder().workers(1).trace("/dev/null").build().unwrap());
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}
