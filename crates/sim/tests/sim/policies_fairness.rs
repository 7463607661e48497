//! The fairness policies that are compared with acfs: what each of them promises, seen in what ran
//! where. Constant phases, true speedup factors, free migration.

use crate::support::free_odroid;
use evenkeel_machine::{CoreId, KindId, Machine, Nanos, PerKind, Work};
use evenkeel_model::{Application, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec};
use evenkeel_policy::registry;
use evenkeel_sim::{Config, Entry, Log, Outcome, run};

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
        let thread =
            |i| ThreadSpec { nice: self.nice, ..ThreadSpec::new(format!("t{i}"), ProgramId(0)) };
        Application {
            name: format!("sf{}", self.factor),
            phases: vec![Phase::new("work", Scaling::Factor(self.factor))],
            programs: vec![Program { steps: vec![compute] }],
            threads: (0..self.threads).map(thread).collect(),
            ..Application::default()
        }
    }
}

fn simulate(
    machine: &Machine,
    policy: &str,
    set: &[(&str, &str)],
    specs: &[Spec],
    seconds: u64,
) -> (Outcome, Log) {
    let set: Vec<_> =
        set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
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
            had[thread.index()] +=
                (to - from).as_secs_f64() * speed / (0.03 * weights[thread.index()] / WEIGHT);
            all.push(had.clone());
        }
        all
    }

    #[test]
    fn two_threads_on_one_big_core_and_one_little_have_had_the_same_scaled_time_whenever_a_round_ends()
     {
        let machine = free_odroid("1big+1little");
        let (outcome, log) =
            simulate(&machine, "a-dwrr", &[], &[Spec::new(3.0), Spec::new(3.0)], 20);
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
        for (cores, threads) in
            [("1big+1little", 2), ("2big+2little", 5), ("1big+3little", 4), ("2big+1little", 17)]
        {
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
        let scaled = outcome.threads.iter().map(|thread| {
            3.0 * seconds_on(&thread.time_on, BIG) + seconds_on(&thread.time_on, LITTLE)
        });
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
        let shares: Vec<_> =
            outcome.threads.iter().map(|thread| seconds_on(&thread.time_on, BIG) / 20.0).collect();
        assert!(shares.iter().all(|share| (share - 0.5).abs() < 0.02), "{shares:?}");
    }

    #[test]
    fn it_is_as_fair_when_its_decisions_come_late_by_less_than_the_quota() {
        let machine = free_odroid("2big+2little");
        let late = |ms| {
            let apps: Vec<_> = [4.0; 4].map(Spec::new).iter().map(Spec::build).collect();
            let (duration, decision_latency) = (Some(Nanos::from_secs(20)), Nanos::from_millis(ms));
            let config = Config { duration, decision_latency, ..Config::default() };
            let mut policy = registry::make("a-dwrr", &[]).unwrap();
            let outcome =
                run(&machine, &apps, policy.as_mut(), &config, &mut evenkeel_sim::NoListener)
                    .unwrap();
            let had = outcome.threads.iter().map(|thread| seconds_on(&thread.time_on, BIG));
            had.fold((f64::MAX, f64::MIN), |(least, greatest), had| {
                (had.min(least), had.max(greatest))
            })
        };
        // A thread's quota is 7.5 ms on a big core.
        for ms in [0, 1, 3] {
            let (least, greatest) = late(ms);
            assert!(greatest / least < 1.02, "{ms} ms: {least} to {greatest} s on big cores");
        }
    }

    #[test]
    fn a_thread_bound_to_a_slow_core_keeps_nobody_from_his_share() {
        let machine = free_odroid("2big+1little");
        let mut apps: Vec<_> = [3.0; 4].map(Spec::new).iter().map(Spec::build).collect();
        apps[0].threads[0].affinity = Some(vec![CoreId(2)]);
        let config = Config { duration: Some(Nanos::from_secs(10)), ..Config::default() };
        let mut policy = registry::make("a-dwrr", &[]).unwrap();
        let outcome =
            run(&machine, &apps, policy.as_mut(), &config, &mut evenkeel_sim::NoListener).unwrap();
        let busy = |thread: usize| {
            outcome.threads[thread].time_on.0.iter().copied().sum::<Nanos>().as_secs_f64()
        };
        assert!(
            (1..4).all(|thread| busy(thread) > 6.0),
            "{:?}",
            [busy(0), busy(1), busy(2), busy(3)]
        );
        assert!(busy(0) > 1.0, "{}", busy(0));
    }
}

mod prop_sp {
    use super::*;

    /// Share of the big cores' time that each application had.
    fn shares(outcome: &Outcome, apps: usize) -> Vec<f64> {
        let mut had = vec![0.0; apps];
        for thread in &outcome.threads {
            had[thread.app.index()] += seconds_on(&thread.time_on, BIG);
        }
        let all: f64 = had.iter().sum();
        had.into_iter().map(|had| had / all).collect()
    }

    fn are_proportional(shares: &[f64], values: &[f64], case: &str) {
        let all: f64 = values.iter().sum();
        for (share, value) in shares.iter().zip(values) {
            let due = value / all;
            assert!(
                (share - due).abs() <= 0.02 * due + 1e-9,
                "{case}: {shares:?}, due by {values:?}"
            );
        }
    }

    #[test]
    fn big_core_shares_are_in_proportion_to_weight_times_speedup() {
        for (cores, factors) in [
            ("1big+1little", &[3.0, 2.0][..]),
            ("2big+2little", &[4.0, 3.0, 2.5, 1.5]),
            ("2big+2little", &[4.7, 4.7, 2.9, 2.9]),
            ("1big+3little", &[4.7, 4.0, 2.1, 1.0]),
        ] {
            for nice in [0, NICE_3.0] {
                let mut specs: Vec<_> = factors.iter().copied().map(Spec::new).collect();
                specs[1].nice = nice;
                let (outcome, _) = simulate(&free_odroid(cores), "prop-sp", &[], &specs, 100);
                let weight = if nice == 0 { 1.0 } else { NICE_3.1 / WEIGHT };
                let values: Vec<_> = (0..)
                    .zip(factors)
                    .map(|(i, factor)| if i == 1 { weight * factor } else { *factor })
                    .collect();
                // Whoever is due more than a core is another test's.
                let all: f64 = values.iter().sum();
                let big = f64::from(cores.as_bytes()[0] - b'0');
                if values.iter().all(|value| value / all * big <= 1.0) {
                    are_proportional(&shares(&outcome, factors.len()), &values, cores);
                }
            }
        }
    }

    #[test]
    fn with_net_value_they_are_in_proportion_to_weight_times_what_is_gained() {
        for (cores, factors) in
            [("1big+2little", &[3.0, 2.0, 1.0][..]), ("2big+2little", &[4.0, 3.5, 3.0, 2.5])]
        {
            let specs: Vec<_> = factors.iter().copied().map(Spec::new).collect();
            let (outcome, _) =
                simulate(&free_odroid(cores), "prop-sp", &[("value", "net")], &specs, 100);
            let gains: Vec<_> = factors.iter().map(|factor| factor - 1.0).collect();
            are_proportional(&shares(&outcome, factors.len()), &gains, cores);
        }
    }

    #[test]
    fn an_application_due_more_than_its_threads_can_use_has_a_core_each_and_the_others_the_rest() {
        let specs = [8.0, 2.0, 2.0, 2.0].map(Spec::new);
        let (outcome, _) = simulate(&free_odroid("2big+2little"), "prop-sp", &[], &specs, 100);
        let shares = shares(&outcome, 4);
        assert!(shares[0] > 0.499, "{shares:?}");
        are_proportional(
            &shares[1..].iter().map(|share| share * 2.0).collect::<Vec<_>>(),
            &[1.0; 3],
            "the rest",
        );
    }
}

mod eqp {
    use super::*;
    use evenkeel_policy::bounds;

    /// Slowdown of each thread, by its factor and where it has been.
    fn slowdowns(outcome: &Outcome, factors: &[f64]) -> Vec<f64> {
        let slowdown = |(thread, factor): (&evenkeel_sim::ThreadOutcome, &f64)| {
            let (big, little) =
                (seconds_on(&thread.time_on, BIG), seconds_on(&thread.time_on, LITTLE));
            (big + little) / (big + little / factor)
        };
        outcome.threads.iter().zip(factors).map(slowdown).collect()
    }

    #[test]
    fn threads_whose_phases_do_not_change_are_slowed_down_equally_wherever_that_can_be() {
        for factors in bounds::WORKLOADS {
            let (outcome, _) =
                simulate(&free_odroid("2big+2little"), "eqp", &[], &factors.map(Spec::new), 200);
            let slowdowns = slowdowns(&outcome, &factors);
            let greatest = slowdowns.iter().copied().fold(f64::MIN, f64::max);
            let least = slowdowns.iter().copied().fold(f64::MAX, f64::min);
            let optimum = bounds::opt_unfairness(&factors, 2);
            assert!(
                (greatest / least / optimum.unfairness - 1.0).abs() < 0.01,
                "{factors:?}: {slowdowns:?}, {optimum:?}"
            );
        }
    }

    #[test]
    fn priorities_count_for_nothing() {
        let places = |nice| {
            let specs = [Spec { nice, ..Spec::new(3.0) }, Spec::new(3.0)];
            let (outcome, _) = simulate(&free_odroid("1big+1little"), "eqp", &[], &specs, 20);
            outcome.threads.iter().map(|thread| thread.time_on).collect::<Vec<_>>()
        };
        assert_eq!(places(0), places(-10));
    }

    #[test]
    fn the_threads_of_an_application_count_each_for_itself() {
        let specs = [Spec { threads: 3, ..Spec::new(3.0) }, Spec::new(3.0)];
        let (outcome, _) = simulate(&free_odroid("2big+2little"), "eqp", &[], &specs, 100);
        for thread in &outcome.threads {
            let share = seconds_on(&thread.time_on, BIG) / 100.0;
            assert!((share - 0.5).abs() < 0.01, "{share}");
        }
    }
}
