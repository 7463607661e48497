//! The affinity mechanism beside the kernel alone, on a model of the kernel that believes its CPUs
//! equal: what it costs programs that meet at barriers.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use evenkeel_linux::watch::Tid;
use support::{Fake, Habit, Model, mechanism, run};

const KINDS: &[(f64, u32)] = &[(3.0, 2), (1.0, 2)];
const SPEEDS: &[f64] = &[1.0, 1.0, 1.0 / 3.0, 1.0 / 3.0];

/// Barriers that a program of so many threads passes in `ms`, with a look every `tick`; without a
/// policy the kernel is alone.
fn barriers(policy: Option<&str>, threads: u32, habit: Habit, tick: u64, ms: u64) -> u64 {
    let fake = Fake::new(4, true);
    fake.0.borrow_mut().model = Model::QueuePerCpu;
    let mut mechanism = policy.map(|policy| mechanism(&fake, policy, KINDS, &[]));
    let first = fake.start(10, None, habit, SPEEDS);
    let _: Vec<Tid> = (1..threads).map(|_| fake.start(10, Some(first), habit, SPEEDS)).collect();
    match &mut mechanism {
        Some(mechanism) => run(&fake, mechanism, ms, tick),
        None => (0..ms).for_each(|_| fake.step()),
    }
    fake.worker(first).met
}

/// Threads, work between two barriers in milliseconds of the fastest CPU, and whether they spin
/// while they wait.
///
/// Not more threads than CPUs that spin: a spinning thread uses up slices that others need, longer
/// ones under acfs than the kernel's.
const PROGRAMS: [(u32, f64, bool); 9] = [
    (2, 20.0, false),
    (3, 20.0, false),
    (4, 20.0, false),
    (4, 60.0, false),
    (4, 200.0, false),
    (4, 60.0, true),
    (6, 60.0, false),
    (8, 20.0, false),
    (8, 60.0, false),
];

/// From a quiet machine's looks to those of one where looking is dear.
const LOOKS_MS: [u64; 5] = [4, 16, 32, 64, 100];

#[test]
fn programs_with_barriers_lose_little_under_any_policy_nothing_under_the_best_and_gain_in_the_mean()
{
    let policies = ["acfs", "age", "hsp", "gts"];
    let mut logs = [0.0; 4];
    for (threads, works, spins) in PROGRAMS {
        let habit = Habit::Meets { works, spins };
        let alone = barriers(None, threads, habit, 4, 20_000) as f64;
        for look in LOOKS_MS {
            let times = policies
                .map(|policy| alone / barriers(Some(policy), threads, habit, look, 20_000) as f64);
            let program =
                format!("{threads} threads, {works} ms, spins {spins}, a look every {look} ms");
            let best = times.iter().copied().fold(f64::MAX, f64::min);
            assert!(best <= 1.0, "{program}: {times:.2?} of the kernel's time under {policies:?}");
            assert!(
                times.iter().all(|time| *time <= 1.1),
                "{program}: {times:.2?} under {policies:?}"
            );
            logs.iter_mut().zip(times).for_each(|(sum, time)| *sum += time.ln());
        }
    }
    let means = logs.map(|sum: f64| (sum / (PROGRAMS.len() * LOOKS_MS.len()) as f64).exp());
    assert!(means.iter().all(|mean| *mean < 0.9), "{means:.3?} in the mean under {policies:?}");
}

/// Work that threads of these naps (ms of work, ms of sleep) have done on a fast core and a slow
/// one.
fn naps(policy: Option<&str>, naps: &[(u64, u64)], tick: u64) -> f64 {
    let fake = Fake::new(2, true);
    fake.0.borrow_mut().model = Model::QueuePerCpu;
    let mut mechanism = policy.map(|policy| mechanism(&fake, policy, &[(3.0, 1), (1.0, 1)], &[]));
    let start = |&(works, sleeps): &(u64, u64)| {
        fake.start(10, None, Habit::Naps { works, sleeps }, &[1.0, 1.0 / 3.0])
    };
    let threads: Vec<Tid> = naps.iter().map(start).collect();
    match &mut mechanism {
        Some(mechanism) => run(&fake, mechanism, 20_000, tick),
        None => (0..20_000).for_each(|_| fake.step()),
    }
    threads.iter().map(|&thread| fake.worker(thread).done).sum()
}

#[test]
fn threads_that_nap_do_not_share_a_core_beside_one_that_idles() {
    let cases = [
        ("acfs", vec![(3, 2); 4], [4, 16, 32]),
        ("hsp", vec![(5, 4); 3], [32, 64, 100]),
        ("acfs", vec![(7, 5), (3, 4)], [32, 64, 100]),
    ];
    for (policy, threads, looks) in cases {
        for tick in looks {
            let share = naps(Some(policy), &threads, tick) / naps(None, &threads, tick);
            assert!(
                share > 0.94,
                "{policy}, {threads:?}, a look every {tick} ms: {share:.2} of the kernel's work"
            );
        }
    }
}

#[test]
fn a_thread_that_naps_between_looks_is_called_to_its_core_and_one_that_works_all_the_time_is_bound_to_it()
 {
    for policy in ["acfs", "age", "hsp", "gts"] {
        let fake = Fake::new(2, true);
        fake.0.borrow_mut().model = Model::QueuePerCpu;
        let mut mechanism = mechanism(&fake, policy, &[(3.0, 1), (1.0, 1)], &[]);
        let speed = [1.0, 1.0 / 3.0];
        let naps = fake.start(10, None, Habit::Naps { works: 5, sleeps: 3 }, &speed);
        let works = fake.start(11, None, Habit::Spins, &speed);
        run(&fake, &mut mechanism, 5_000, 64);
        let cpus = [naps, works].map(|thread| fake.worker(thread).mask.count());
        assert_eq!(cpus, [2, 1], "{policy}");
    }
}
