//! The affinity mechanism beside the kernel alone, on a model of the kernel that believes its CPUs equal: what it costs programs
//! that meet at barriers.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use evenkeel_linux::watch::Tid;
use support::{Fake, Habit, Model, mechanism, run};

const KINDS: &[(f64, u32)] = &[(3.0, 2), (1.0, 2)];
const SPEEDS: &[f64] = &[1.0, 1.0, 1.0 / 3.0, 1.0 / 3.0];

/// Barriers that a program of so many threads passes in `ms`, with a look every `tick`; without a policy the kernel is alone.
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

#[test]
fn table() {
    for (threads, works, spins) in
        [(4, 20.0, false), (4, 60.0, false), (4, 200.0, false), (4, 60.0, true), (6, 60.0, false), (8, 20.0, false), (3, 20.0, false), (2, 20.0, false)]
    {
        for tick in [4, 16, 100] {
            let habit = Habit::Meets { works, spins };
            let alone = barriers(None, threads, habit, tick, 20_000);
            let by: Vec<String> = ["acfs", "age", "hsp", "gts", "pinned"]
                .iter()
                .map(|policy| {
                    let met = barriers(Some(policy), threads, habit, tick, 20_000);
                    format!("{policy} {:.2}", alone as f64 / met as f64)
                })
                .collect();
            println!("{threads} threads, {works} ms, spins {spins}, look {tick}: alone {alone}; time over it: {}", by.join(", "));
        }
    }
}
