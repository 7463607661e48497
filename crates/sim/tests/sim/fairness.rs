//! Fairness policies on the simulated mechanism, against the analytical optimum. Constant phases,
//! true speedup factors, free migration: the model under which the optimum is what it is.

use crate::support::free_odroid;
use evenkeel_machine::{Machine, Nanos, Work};
use evenkeel_model::{
    Application, Phase, PhaseId, Program, ProgramId, Repeat, Scaling, Step, ThreadSpec,
};
use evenkeel_policy::{bounds, registry};
use evenkeel_sim::{Config, NoListener, Outcome, run};

/// An application with a speedup factor and a time alone on a fast core, s.
#[derive(Clone, Copy)]
struct Spec {
    factor: f64,
    alone_s: f64,
    nice: i8,
    threads: usize,
}

impl Spec {
    const fn new(factor: f64, alone_s: f64) -> Self {
        Self { factor, alone_s, nice: 0, threads: 1 }
    }

    fn build(&self, machine: &Machine, repeat: Repeat) -> Application {
        let phase = Phase::new("work", Scaling::Factor(self.factor));
        let capacity = machine.reference.fastest_capacity;
        let work = Work((phase.speed(machine, capacity) * self.alone_s * 1e9) as u64);
        let thread =
            |i| ThreadSpec { nice: self.nice, ..ThreadSpec::new(format!("t{i}"), ProgramId(0)) };
        Application {
            name: format!("sf{}", self.factor),
            phases: vec![phase],
            programs: vec![Program { steps: vec![Step::Compute { work, phase: PhaseId(0) }] }],
            threads: (0..self.threads).map(thread).collect(),
            repeat,
            ..Application::default()
        }
    }
}

fn simulate(
    machine: &Machine,
    policy: &str,
    set: &[(&str, &str)],
    specs: &[Spec],
    repeat: Repeat,
) -> Outcome {
    simulate_with(machine, policy, set, specs, repeat, &Config::default())
}

fn simulate_with(
    machine: &Machine,
    policy: &str,
    set: &[(&str, &str)],
    specs: &[Spec],
    repeat: Repeat,
    config: &Config,
) -> Outcome {
    let set: Vec<_> =
        set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let apps: Vec<_> = specs.iter().map(|spec| spec.build(machine, repeat)).collect();
    let mut policy = registry::make(policy, &set).unwrap();
    run(machine, &apps, policy.as_mut(), config, &mut NoListener).unwrap()
}

/// Slowdown of each application: geometric mean of its completions / time alone on fast cores.
fn slowdowns(outcome: &Outcome, specs: &[Spec]) -> Vec<f64> {
    let mean = |completions: &[Nanos]| {
        let logs: f64 = completions.iter().map(|time| time.as_secs_f64().ln()).sum();
        (logs / completions.len() as f64).exp()
    };
    outcome
        .apps
        .iter()
        .zip(specs)
        .map(|(app, spec)| mean(&app.completions) / spec.alone_s)
        .collect()
}

/// Unfairness and ASP of a run of single-threaded applications.
fn measures(outcome: &Outcome, specs: &[Spec]) -> (f64, f64) {
    let slowdowns = slowdowns(outcome, specs);
    let greatest = slowdowns.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = slowdowns.iter().copied().fold(f64::INFINITY, f64::min);
    let asp =
        slowdowns.iter().zip(specs).map(|(slowdown, spec)| spec.factor / slowdown - 1.0).sum();
    (greatest / least, asp)
}

/// Alone on a fast core, s: equal, and unequal so that applications end and start again at
/// different times.
const LENGTHS_S: [[f64; 4]; 2] = [[300.0; 4], [400.0, 300.0, 200.0, 350.0]];

/// Runs a policy on the ten workloads, and gives for each what it is called, the optimum, and
/// unfairness and ASP reached.
fn on_the_ten_workloads(policy: &str) -> Vec<(String, bounds::Optimum, f64, f64)> {
    let machine = free_odroid("2big+2little");
    let cases =
        bounds::WORKLOADS.iter().flat_map(|factors| LENGTHS_S.map(|lengths| (factors, lengths)));
    let case = |(factors, lengths): (&[f64; 4], [f64; 4])| {
        let specs: Vec<_> = factors
            .iter()
            .zip(lengths)
            .map(|(&factor, alone_s)| Spec::new(factor, alone_s))
            .collect();
        let outcome = simulate(&machine, policy, &[], &specs, Repeat::UntilLongestEnded(3));
        let (unfairness, asp) = measures(&outcome, &specs);
        (
            format!("{policy}, {factors:?}, {lengths:?}"),
            bounds::opt_unfairness(factors, 2),
            unfairness,
            asp,
        )
    };
    cases.map(case).collect()
}

#[test]
fn acfs_is_within_a_percent_of_the_optimum_in_unfairness_and_in_asp_on_all_ten_workloads() {
    for (case, optimum, unfairness, asp) in on_the_ten_workloads("acfs") {
        assert!(
            (unfairness / optimum.unfairness - 1.0).abs() < 0.01,
            "{case}: {unfairness}, {optimum:?}"
        );
        assert!((asp / optimum.asp - 1.0).abs() < 0.01, "{case}: {asp}, {optimum:?}");
    }
}

#[test]
fn the_optimum_played_out_in_time_is_the_optimum() {
    for (case, optimum, unfairness, asp) in on_the_ten_workloads("opt-unfairness") {
        assert!(
            (unfairness / optimum.unfairness - 1.0).abs() < 0.001,
            "{case}: {unfairness}, {optimum:?}"
        );
        assert!((asp / optimum.asp - 1.0).abs() < 0.001, "{case}: {asp}, {optimum:?}");
    }
}

#[test]
fn hsp_reaches_the_greatest_asp_there_is_on_all_ten_workloads() {
    let machine = free_odroid("2big+2little");
    for factors in bounds::WORKLOADS {
        let specs = factors.map(|factor| Spec::new(factor, 100.0));
        let outcome = simulate(&machine, "hsp", &[], &specs, Repeat::Once);
        // While all four run, the two greatest factors have the fast cores.
        let mut sorted = factors;
        sorted.sort_by(|a, b| b.total_cmp(a));
        let slowdowns = slowdowns(&outcome, &specs);
        let asp: f64 =
            slowdowns.iter().zip(factors).map(|(slowdown, factor)| factor / slowdown - 1.0).sum();
        assert!(asp >= sorted[0] + sorted[1] - 2.0 - 0.01, "{factors:?}: {asp}");
    }
}

#[test]
fn round_robin_gives_each_of_four_applications_half_a_fast_core() {
    let machine = free_odroid("2big+2little");
    for factors in bounds::WORKLOADS {
        let specs = factors.map(|factor| Spec::new(factor, 300.0));
        let slowdowns = slowdowns(
            &simulate(&machine, "round-robin", &[], &specs, Repeat::UntilLongestEnded(3)),
            &specs,
        );
        for (slowdown, factor) in slowdowns.into_iter().zip(factors) {
            assert!(
                (slowdown / bounds::slowdown(factor, 0.5) - 1.0).abs() < 0.005,
                "{factors:?}: {factor}, {slowdown}"
            );
        }
    }
}

#[test]
fn acfs_shares_one_fast_core_equally_among_any_number_of_threads() {
    for count in [1, 2, 3, 7] {
        let specs = vec![Spec::new(3.0, 20.0); count];
        let outcome = simulate(&free_odroid("1big"), "acfs", &[], &specs, Repeat::Once);
        for slowdown in slowdowns(&outcome, &specs) {
            assert!((slowdown / count as f64 - 1.0).abs() < 0.005, "{count}: {slowdown}");
        }
    }
}

#[test]
fn acfs_equalises_slowdown_of_two_threads_on_one_big_core_and_one_little() {
    let specs = [Spec::new(4.0, 200.0), Spec::new(2.0, 200.0)];
    let outcome =
        simulate(&free_odroid("1big+1little"), "acfs", &[], &specs, Repeat::UntilLongestEnded(3));
    let optimum = bounds::opt_unfairness(&[4.0, 2.0], 1);
    let (unfairness, asp) = measures(&outcome, &specs);
    assert!((unfairness / optimum.unfairness - 1.0).abs() < 0.01, "{unfairness}, {optimum:?}");
    assert!((asp / optimum.asp - 1.0).abs() < 0.01, "{asp}, {optimum:?}");
}

#[test]
fn acfs_equalises_slowdown_with_more_threads_than_cores_however_they_divide() {
    for (cores, factors) in [
        ("1big+1little", &[1.0; 3][..]),
        ("1big+1little", &[3.0, 2.0, 1.5][..]),
        ("1big+2little", &[4.0, 3.0, 2.0, 2.0][..]),
        ("2big+2little", &[4.0, 4.0, 3.0, 3.0, 2.0, 2.0, 2.0][..]),
        ("4big+4little", &[2.5; 21][..]),
    ] {
        let specs: Vec<_> = factors.iter().map(|&factor| Spec::new(factor, 100.0)).collect();
        // A slice of one tick ends just when the policy looks: it finds nobody running.
        for slice in ["3", "4"] {
            let set = [("slice", slice)];
            let outcome =
                simulate(&free_odroid(cores), "acfs", &set, &specs, Repeat::UntilLongestEnded(3));
            let (unfairness, _) = measures(&outcome, &specs);
            let slowdowns = slowdowns(&outcome, &specs);
            assert!(
                unfairness < 1.01,
                "{cores}, {factors:?}, slice {slice} ms: {unfairness}, {slowdowns:?}"
            );
        }
    }
}

#[test]
fn acfs_slows_threads_down_in_inverse_proportion_to_their_weights() {
    // Linux: nice 0 is 1024, nice -3 is 1991.
    let specs = [Spec { nice: -3, ..Spec::new(3.0, 200.0) }, Spec::new(3.0, 200.0)];
    let outcome =
        simulate(&free_odroid("1big+1little"), "acfs", &[], &specs, Repeat::UntilLongestEnded(3));
    let slowdowns = slowdowns(&outcome, &specs);
    assert!((slowdowns[1] / slowdowns[0] / (1991.0 / 1024.0) - 1.0).abs() < 0.01, "{slowdowns:?}");
}

#[test]
fn unfairness_stays_within_uf_times_the_optimum_and_throughput_rises_with_uf() {
    let machine = free_odroid("2big+2little");
    for factors in [bounds::WORKLOADS[1], bounds::WORKLOADS[3], bounds::WORKLOADS[8]] {
        let specs = factors.map(|factor| Spec::new(factor, 200.0));
        let optimum = bounds::opt_unfairness(&factors, 2);
        let mut before = 0.0;
        for uf in [1.0, 1.1, 1.25, 1.5, 2.0] {
            let set = [("uf", &*uf.to_string())];
            let outcome = simulate(&machine, "acfs", &set, &specs, Repeat::UntilLongestEnded(3));
            let (unfairness, asp) = measures(&outcome, &specs);
            assert!(
                unfairness <= uf * optimum.unfairness * 1.01,
                "{factors:?}, uf {uf}: {unfairness}, {optimum:?}"
            );
            assert!(asp > before, "{factors:?}, uf {uf}: {asp} after {before}");
            before = asp;
        }
    }
}

/// Mean time that a thread stays on a fast core between two swaps, s.
fn stay_s(cores: &str, fast: f64, threads: usize, threshold: &str) -> f64 {
    let specs = vec![Spec::new(3.0, 100.0); threads];
    let outcome =
        simulate(&free_odroid(cores), "acfs", &[("threshold", threshold)], &specs, Repeat::Once);
    outcome.makespan.as_secs_f64() * fast / outcome.swaps as f64
}

#[test]
fn the_adjusted_threshold_keeps_the_swap_period_for_any_share_of_fast_cores_and_the_fixed_one_does_not()
 {
    for (cores, fast, threads) in [
        ("1big+1little", 1.0, 2),
        ("2big+2little", 2.0, 4),
        ("1big+3little", 1.0, 4),
        ("3big+1little", 3.0, 4),
    ] {
        let stay = stay_s(cores, fast, threads, "adjusted");
        assert!((stay / 0.85 - 1.0).abs() < 0.03, "{cores}: {stay} s");
        let fixed = stay_s(cores, fast, threads, "fixed");
        let expected = 0.85 * threads as f64 / (2.0 * (threads as f64 - fast));
        assert!(
            (fixed / expected - 1.0).abs() < 0.03,
            "{cores}, fixed: {fixed} s, not {expected} s"
        );
    }
}

#[test]
fn acfs_static_goes_by_the_whole_run_and_equals_acfs_where_phases_do_not_change() {
    let specs = bounds::WORKLOADS[8].map(|factor| Spec::new(factor, 50.0));
    let outcome =
        |policy| simulate(&free_odroid("2big+2little"), policy, &[], &specs, Repeat::Once);
    assert_eq!(outcome("acfs"), outcome("acfs-static"));
}

#[test]
fn policies_that_trade_places_swap_no_more_and_are_as_fair_when_their_decisions_come_late() {
    for (policy, cores, factors) in [
        ("acfs", "1big+1little", &[4.0, 4.0][..]),
        ("acfs", "2big+2little", &bounds::WORKLOADS[8]),
        ("opt-unfairness", "1big+1little", &[4.0, 4.0]),
        ("round-robin", "2big+2little", &[4.0; 4]),
        ("hsp", "2big+2little", &bounds::WORKLOADS[8]),
        ("prop-sp", "2big+2little", &[4.0; 4]),
        ("eqp", "2big+2little", &bounds::WORKLOADS[8]),
    ] {
        let machine = free_odroid(cores);
        let specs: Vec<_> = factors.iter().map(|&factor| Spec::new(factor, 50.0)).collect();
        let late = |ms| {
            let config = Config { decision_latency: Nanos::from_millis(ms), ..Config::default() };
            let outcome =
                simulate_with(&machine, policy, &[], &specs, Repeat::UntilLongestEnded(2), &config);
            (outcome.swaps as f64, measures(&outcome, &specs).0)
        };
        let (swaps, unfairness) = late(0);
        for ms in [3, 6, 20] {
            let (late_swaps, late_unfairness) = late(ms);
            assert!(
                late_swaps <= 1.1 * swaps + 2.0,
                "{policy}, {cores}, {ms} ms: {late_swaps} swaps after {swaps}"
            );
            assert!(
                late_unfairness <= 1.02 * unfairness,
                "{policy}, {cores}, {ms} ms: {late_unfairness}, {unfairness}"
            );
        }
    }
}

#[test]
fn acfs_newcomers_that_start_behind_all_others_cost_fairness_where_somebody_is_ahead_for_good() {
    let machine = free_odroid("2big+2little");
    for workload in [2, 6, 9] {
        let factors = bounds::WORKLOADS[workload];
        let optimum = bounds::opt_unfairness(&factors, 2);
        let specs: Vec<_> =
            factors.iter().zip(LENGTHS_S[1]).map(|(&sf, alone_s)| Spec::new(sf, alone_s)).collect();
        let [contending, all] = ["contending", "all"].map(|newcomer| {
            let set = [("newcomer", newcomer)];
            let outcome = simulate(&machine, "acfs", &set, &specs, Repeat::UntilLongestEnded(3));
            measures(&outcome, &specs).0 / optimum.unfairness - 1.0
        });
        assert!(contending < 0.01, "{factors:?}: {contending}");
        assert!(all > 0.03, "{factors:?}: {all}");
    }
}
