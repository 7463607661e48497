//! The fairness policies that are compared with acfs: what each of them promises, seen in what ran where. Constant phases, true speedup factors,
//! free migration.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use evenkeel_machine::{CoreId, KindId, Machine, Nanos, PerKind, Work};
use evenkeel_policy::registry;
use evenkeel_sim::{Config, Entry, Log, Outcome, run};
use evenkeel_workload::{Application, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec};
use support::free_odroid;

const BIG: KindId = KindId(0);
const LITTLE: KindId = KindId(1);

/// An application whose threads do nothing but compute, and longer than anybody looks.
#[derive(Clone, Copy)]
struct Spec {
    factor: f64,
    nice: i8,
    threads: usize,
}

impl Spec {
    const fn new(factor: f64) -> Self {
        Self { factor, nice: 0, threads: 1 }
    }

    fn build(&self) -> Application {
        let compute = Step::Compute { work: Work(1 << 50), phase: PhaseId(0) };
        let thread = |i| ThreadSpec { nice: self.nice, ..ThreadSpec::new(format!("t{i}"), ProgramId(0)) };
        Application {
            name: format!("sf{}", self.factor),
            phases: vec![Phase::new("work", Scaling::Factor(self.factor))],
            programs: vec![Program { steps: vec![compute] }],
            threads: (0..self.threads).map(thread).collect(),
            ..Application::default()
        }
    }
}

fn simulate(machine: &Machine, policy: &str, set: &[(&str, &str)], specs: &[Spec], seconds: u64) -> (Outcome, Log) {
    let set: Vec<_> = set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let apps: Vec<_> = specs.iter().map(Spec::build).collect();
    let config = Config { duration: Some(Nanos::from_secs(seconds)), ..Config::default() };
    let mut policy = registry::make(policy, &set).unwrap();
    let mut log = Log::default();
    let outcome = run(machine, &apps, policy.as_mut(), &config, &mut log).unwrap();
    (outcome, log)
}

fn seconds_on(time_on: &PerKind<Nanos>, kind: KindId) -> f64 {
    time_on[kind].as_secs_f64()
}

/// Nice values and their weights in Linux's table.
const WEIGHT: f64 = 1024.0;
const NICE_3: (i8, f64) = (-3, 1991.0);

mod a_dwrr {
    use super::*;

    /// Scaled time of each thread at each end of a stretch, in quotas of its weight.
    fn quotas(machine: &Machine, log: &Log, scale: f64, weights: &[f64]) -> Vec<Vec<f64>> {
        let mut had = vec![0.0; weights.len()];
        let mut all = Vec::new();
        let mut stretches: Vec<_> = log
            .entries
            .iter()
            .filter_map(|entry| match *entry {
                Entry::Ran { thread, core, from, to, .. } => Some((to, from, core, thread)),
                _ => None,
            })
            .collect();
        stretches.sort_unstable();
        for (to, from, core, thread) in stretches {
            let speed = if machine.cores[core.index()].kind == BIG { scale } else { 1.0 };
            had[thread.index()] += (to - from).as_secs_f64() * speed / (0.03 * weights[thread.index()] / WEIGHT);
            all.push(had.clone());
        }
        all
    }

    #[test]
    fn two_threads_on_one_big_core_and_one_little_have_had_the_same_scaled_time_whenever_a_round_ends() {
        let machine = free_odroid("1big+1little");
        let (outcome, log) = simulate(&machine, "a-dwrr", &[], &[Spec::new(3.0), Spec::new(3.0)], 20);
        let quotas = quotas(&machine, &log, 3.0, &[WEIGHT; 2]);
        for had in &quotas {
            assert!((had[0] - had[1]).abs() < 1.01, "{had:?}");
        }
        let scaled = |thread: usize| {
            let time_on = &outcome.threads[thread].time_on;
            3.0 * seconds_on(time_on, BIG) + seconds_on(time_on, LITTLE)
        };
        assert!((scaled(0) / scaled(1) - 1.0).abs() < 0.001, "{} {}", scaled(0), scaled(1));
    }

    #[test]
    fn nobody_gets_two_rounds_ahead_however_threads_and_cores_divide() {
        for (cores, threads) in [("1big+1little", 2), ("2big+2little", 5), ("1big+3little", 4), ("2big+1little", 17)] {
            let machine = free_odroid(cores);
            let (_, log) = simulate(&machine, "a-dwrr", &[], &vec![Spec::new(2.0); threads], 10);
            for had in quotas(&machine, &log, 2.0, &vec![WEIGHT; threads]) {
                let greatest = had.iter().copied().fold(f64::MIN, f64::max);
                let least = had.iter().copied().fold(f64::MAX, f64::min);
                assert!(greatest - least < 2.01, "{cores}, {threads}: {had:?}");
            }
        }
    }

    #[test]
    fn scaled_time_is_in_proportion_to_weights() {
        let machine = free_odroid("1big+1little");
        let specs = [Spec { nice: NICE_3.0, ..Spec::new(3.0) }, Spec::new(3.0), Spec::new(3.0)];
        let (outcome, _) = simulate(&machine, "a-dwrr", &[], &specs, 20);
        let scaled = outcome
            .threads
            .iter()
            .map(|thread| 3.0 * seconds_on(&thread.time_on, BIG) + seconds_on(&thread.time_on, LITTLE));
        let scaled: Vec<_> = scaled.collect();
        for other in &scaled[1..] {
            assert!((scaled[0] / other / (NICE_3.1 / WEIGHT) - 1.0).abs() < 0.01, "{scaled:?}");
        }
    }

    #[test]
    fn it_does_not_ask_who_gains_most_nor_whose_threads_they_are() {
        let machine = free_odroid("2big+2little");
        let specs = [Spec { threads: 3, ..Spec::new(4.0) }, Spec::new(1.0)];
        let (outcome, _) = simulate(&machine, "a-dwrr", &[], &specs, 20);
        let shares: Vec<_> = outcome.threads.iter().map(|thread| seconds_on(&thread.time_on, BIG) / 20.0).collect();
        assert!(shares.iter().all(|share| (share - 0.5).abs() < 0.02), "{shares:?}");
    }

    #[test]
    fn a_thread_bound_to_a_slow_core_keeps_nobody_from_his_share() {
        let machine = free_odroid("2big+1little");
        let mut apps: Vec<_> = [3.0; 4].map(Spec::new).iter().map(Spec::build).collect();
        apps[0].threads[0].affinity = Some(vec![CoreId(2)]);
        let config = Config { duration: Some(Nanos::from_secs(10)), ..Config::default() };
        let mut policy = registry::make("a-dwrr", &[]).unwrap();
        let outcome = run(&machine, &apps, policy.as_mut(), &config, &mut evenkeel_sim::Deaf).unwrap();
        let busy = |thread: usize| outcome.threads[thread].time_on.0.iter().copied().sum::<Nanos>().as_secs_f64();
        assert!((1..4).all(|thread| busy(thread) > 6.0), "{:?}", [busy(0), busy(1), busy(2), busy(3)]);
        assert!(busy(0) > 1.0, "{}", busy(0));
    }
}
