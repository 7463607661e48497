//! What a session decides about threads that were there before it began: recordings of `/proc`,
//! every policy, every source.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeMap;

use evenkeel_linux::affinity::Mechanism;
use evenkeel_linux::watch::{Cpu, Doing, Seen, Source, Tid};
use evenkeel_machine::Nanos;
use evenkeel_policy::State;
use evenkeel_policy::registry::{self, Trait};
use support::{Fake, Habit, all, mechanism};

/// Fast cores, then slow ones of a third of their speed.
const KINDS: &[(f64, u32)] = &[(3.0, 2), (1.0, 2)];
const SPEEDS: &[f64] = &[1.0, 1.0, 1.0 / 3.0, 1.0 / 3.0];

/// Programs a second after their start: of each thread its process and
/// `/proc/PROCESS/task/THREAD/stat`.
const RECORDINGS: [(&str, &str); 4] = [
    ("one busy and one sleeping thread", include_str!("attach/busy-and-sleeper.stat")),
    ("eight threads of which half sleep", include_str!("attach/half-asleep.stat")),
    ("a pipeline", include_str!("attach/pipeline.stat")),
    ("a shell with children", include_str!("attach/shell.stat")),
];

/// Process, thread and what it was doing.
fn recorded(text: &str) -> Vec<(Tid, Tid, Doing)> {
    let thread = |line: &str| {
        let (process, stat) = line.split_once(' ').unwrap();
        let tid = stat.split(' ').next().unwrap();
        (Tid(process.parse().unwrap()), Tid(tid.parse().unwrap()), Doing::parse(stat).unwrap())
    };
    text.lines().map(thread).collect()
}

/// Policies that place real threads.
fn policies() -> impl Iterator<Item = &'static str> {
    registry::ENTRIES.iter().filter(|entry| !entry.has(Trait::Bound)).map(|entry| entry.name)
}

/// A mechanism that has attached to recorded threads, and is told of them as a source tells.
struct Attached {
    fake: Fake,
    mechanism: Mechanism<Fake>,
    source: Source,
    /// By thread, how long it had run when it was last asked.
    asked: BTreeMap<Tid, u64>,
}

impl Attached {
    fn to(recording: &str, policy: &str, source: Source) -> Self {
        let fake = Fake::new(4, true);
        for (process, tid, doing) in recorded(recording) {
            fake.find(tid, process, doing, SPEEDS);
        }
        let mechanism = mechanism(&fake, policy, KINDS, &[]);
        Self { fake, mechanism, source, asked: BTreeMap::new() }
    }

    fn look(&mut self) {
        let mut seen = self.fake.seen();
        if self.source != Source::Perf {
            seen.retain(|seen| {
                !matches!(seen, Seen::Took { .. } | Seen::Left { .. } | Seen::Woke { .. })
            });
            let live: Vec<Tid> = self.mechanism.live().map(|(_, tid)| tid).collect();
            for tid in live {
                let worker = self.fake.worker(tid);
                let before = self.asked.insert(tid, worker.ran).unwrap_or(0);
                let ran = Nanos::from_millis(worker.ran - before);
                let runnable = matches!(worker.habit, Habit::Spins);
                self.mechanism.sampled(
                    tid,
                    Cpu(worker.on.unwrap_or(0)),
                    (ran, Nanos::ZERO),
                    runnable,
                    self.fake.now(),
                );
            }
        }
        self.mechanism.look(self.fake.now(), &seen);
        drop(self.mechanism.journal());
        self.mechanism.enforce();
    }

    fn run(&mut self, ms: u64) {
        for step in 0..ms {
            self.fake.step();
            if step % 4 == 0 {
                self.look();
            }
        }
    }

    fn runnable(&self) -> Vec<Tid> {
        let stats = self.mechanism.stats();
        let live = self.mechanism.live();
        live.filter(|(thread, _)| stats[thread.index()].runnable()).map(|(_, tid)| tid).collect()
    }
}

#[test]
fn a_thread_that_sleeps_at_attach_is_blocked_and_keeps_its_cpus_under_every_policy_and_source() {
    for source in [Source::Perf, Source::Connector, Source::Poll] {
        for (name, recording) in RECORDINGS {
            let threads = recorded(recording);
            let of = |runnable: bool| {
                threads.iter().filter(move |(_, _, doing)| doing.runnable == runnable)
            };
            let busy: Vec<Tid> = of(true).map(|(_, tid, _)| *tid).collect();
            for policy in policies() {
                let mut attached = Attached::to(recording, policy, source);
                attached.look();
                assert_eq!(attached.runnable(), busy, "{policy}, {source:?}: {name}, at attach");
                attached.run(1_000);
                assert_eq!(
                    attached.runnable(),
                    busy,
                    "{policy}, {source:?}: {name}, a second later"
                );
                for (_, tid, _) in of(false) {
                    let sleeper = attached.fake.worker(*tid);
                    assert_eq!(
                        (sleeper.masks_set, sleeper.mask),
                        (0, all(4)),
                        "{policy}, {source:?}: {name}, {tid:?}"
                    );
                }
                let stats = attached.mechanism.stats();
                for (thread, tid) in
                    attached.mechanism.live().filter(|(_, tid)| !busy.contains(tid))
                {
                    let stats = &stats[thread.index()];
                    assert_eq!(
                        stats.state,
                        State::Blocked,
                        "{policy}, {source:?}: {name}, {tid:?}"
                    );
                    assert_eq!(stats.waiting, Nanos::ZERO, "{policy}, {source:?}: {name}, {tid:?}");
                }
                let placed =
                    busy.iter().filter(|&&tid| attached.fake.worker(tid).masks_set > 0).count();
                assert_eq!(
                    placed,
                    busy.len(),
                    "{policy}, {source:?}: {name}: the others are placed"
                );
            }
        }
    }
}

#[test]
fn the_only_busy_thread_at_attach_has_a_fast_core_from_then_on() {
    for source in [Source::Perf, Source::Connector, Source::Poll] {
        for policy in ["acfs", "hsp", "age", "gts"] {
            for recording in [RECORDINGS[0], RECORDINGS[2]] {
                let mut attached = Attached::to(recording.1, policy, source);
                attached.run(2_000);
                let busy = attached.runnable();
                let [tid] = busy[..] else { panic!("{}: {busy:?}", recording.0) };
                let worker = attached.fake.worker(tid);
                // In milliseconds of the fastest core: a slow one would get a third done.
                assert!(
                    worker.done > 1_950.0,
                    "{policy}, {source:?}: {}: {}",
                    recording.0,
                    worker.done
                );
            }
        }
    }
}

#[test]
fn a_thread_that_slept_at_attach_is_kept_to_its_queues_cpus_once_it_wakes_however_shortly() {
    let fake = Fake::new(4, true);
    let asleep = Doing { runnable: false, cpu: Cpu(3) };
    // Never at work when it is looked at.
    fake.find_with(Habit::Naps { works: 1, sleeps: 20 }, Tid(70), Tid(70), asleep, SPEEDS);
    let mut attached = Attached {
        mechanism: mechanism(&fake, "pinned", KINDS, &[]),
        fake,
        source: Source::Perf,
        asked: BTreeMap::new(),
    };
    attached.look();
    assert_eq!(attached.fake.worker(Tid(70)).masks_set, 0, "it sleeps");
    attached.run(100);
    assert_eq!(attached.fake.worker(Tid(70)).mask.count(), 1, "its queue is a core's");
}

#[test]
fn what_is_slept_between_two_samples_is_no_waiting_though_both_find_the_thread_runnable() {
    let fake = Fake::new(4, true);
    let napper = Tid(20);
    fake.find(napper, Tid(10), Doing { runnable: true, cpu: Cpu(0) }, SPEEDS);
    let mut mechanism = mechanism(&fake, "age", KINDS, &[]);
    mechanism.look(fake.now(), &fake.seen());
    (0..40).for_each(|_| fake.step());
    let (ran, waited) = (Nanos::from_millis(3), Nanos::from_millis(2));
    mechanism.sampled(napper, Cpu(0), (ran, waited), true, fake.now());
    let stats = &mechanism.stats()[0];
    assert_eq!((stats.waiting, stats.blocked), (waited, Nanos::from_millis(35)));
}

#[test]
fn a_wait_between_two_samples_counts_as_waiting() {
    let fake = Fake::new(4, true);
    let sleeper = Tid(20);
    fake.find(sleeper, Tid(10), Doing { runnable: false, cpu: Cpu(0) }, SPEEDS);
    let mut mechanism = mechanism(&fake, "age", KINDS, &[]);
    mechanism.look(fake.now(), &fake.seen());
    (0..10).for_each(|_| fake.step());
    let (ran, waited) = (Nanos::from_millis(3), Nanos::from_millis(2));
    mechanism.sampled(sleeper, Cpu(0), (ran, waited), false, fake.now());
    let stats = &mechanism.stats()[0];
    assert_eq!((stats.time_on.0.iter().copied().sum::<Nanos>(), stats.waiting), (ran, waited));
}
