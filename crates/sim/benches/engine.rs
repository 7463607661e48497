//! Speed of the simulator beside its peers, in one run: `make bench` prints the table and writes it
//! to docs/benchmarks/simulator.md.
//!
//! Every case runs several times, the cases in turn, so that a noisy neighbour hits all alike;
//! medians count, and ratios to the peers rather than absolute figures: taken in each round, of
//! cases that ran one after the other. A machine whose speed changes by half from one second to the
//! next then still tells them apart.

mod peers;
mod report;

use std::time::Instant;

use evenkeel_machine::{
    Cluster, ClusterId, Core, CoreId, Costs, Kind, KindId, Machine, MicroWatts, OperatingPoint,
    Reference, Work,
};
use evenkeel_model::{Application, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec};
use evenkeel_policy::registry;
use evenkeel_sim::{Config, NoListener, Outcome, run};

/// Rounds over all cases.
const ROUNDS: usize = 11;

/// Rounds over all policies.
const POLICY_ROUNDS: usize = 3;

fn main() {
    // `cargo test --benches` asks a bench for a trial run: the peers are left out of it.
    let quick = !std::env::args().any(|arg| arg == "--bench");
    if let Some(threads) =
        std::env::args().find_map(|arg| arg.strip_prefix("--memory=").map(str::to_owned))
    {
        return print_memory(threads.parse().unwrap_or(0));
    }
    // For a profiler, or to compare policies: one of them, nothing else.
    if let Some(policy) =
        std::env::args().find_map(|arg| arg.strip_prefix("--profile=").map(str::to_owned))
    {
        return println!("{:.0} turns/s", Case::small(2_000).rate(&policy));
    }
    if let Some(policy) =
        std::env::args().find_map(|arg| arg.strip_prefix("--profile-large=").map(str::to_owned))
    {
        return println!("{:.0} turns/s", Case::large(8).rate(&policy));
    }
    if let Some(list) =
        std::env::args().find_map(|arg| arg.strip_prefix("--policies=").map(str::to_owned))
    {
        return under_each_policy(quick, |policy| list.split(',').any(|named| named == policy))
            .print();
    }
    let rounds = if quick { 1 } else { ROUNDS };
    let small = Case::small(if quick { 20 } else { 2_000 });
    let large = Case::large(8);
    let mut table = report::Table::default();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        table.add("64 threads on 8 cores, acfs", "turns/s", small.rate("acfs"));
        if !quick {
            table.add(
                "simcore 0.1, its authors' ping-pong",
                "events/s",
                peers::simcore_events_per_second(),
            );
        }
        for policy in ["cfs-unaware", "hsp"] {
            table.add(&format!("64 threads on 8 cores, {policy}"), "turns/s", small.rate(policy));
        }
        table.add("10,000 threads on 1,024 cores, acfs", "turns/s", large.rate("acfs"));
        if quick {
            continue;
        }
        match peers::simpy_switches_per_second() {
            Ok(rate) => table.add("SimPy, 64 processes round-robin on 8 cores", "turns/s", rate),
            Err(why) => eprintln!("SimPy left out: {why}"),
        }
        match peers::first_result_ms() {
            Ok(ms) => table.add("evenkeel simulate, start to first result", "ms", ms),
            Err(why) => eprintln!("start-up left out: {why}"),
        }
    }
    if let (false, Some(bytes)) = (quick, peers::bytes_per_thread()) {
        table.add("memory per thread, 10,000 threads against none", "bytes", bytes);
    }
    let policies = under_each_policy(quick, |_| true);
    table.print();
    policies.print();
    if !quick && let Err(error) = table.write(&policies) {
        eprintln!("docs/benchmarks/simulator.md: {error}");
        std::process::exit(1);
    }
}

/// Each policy on both cases, and acfs right before it: what slows one down slows both.
fn under_each_policy(quick: bool, wanted: impl Fn(&str) -> bool) -> report::Policies {
    let rounds = if quick { 1 } else { POLICY_ROUNDS };
    let cases = [Case::small(if quick { 20 } else { 500 }), Case::large(if quick { 1 } else { 8 })];
    let mut policies = report::Policies::default();
    for round in 0..rounds {
        eprintln!("policies, round {} of {rounds}", round + 1);
        for entry in registry::ENTRIES.iter().filter(|entry| wanted(entry.name)) {
            let runs = cases.each_ref().map(|case| [case.timed("acfs"), case.timed(entry.name)]);
            policies.add(entry.name, runs);
        }
    }
    policies
}

struct Case {
    machine: Machine,
    app: Application,
}

impl Case {
    /// 64 CPU-bound threads on the 8 cores of odroid-xu3, energy on.
    fn small(seconds: u64) -> Self {
        let machine = evenkeel_files::machines::preset("odroid-xu3")
            .unwrap_or_else(|error| fail(&error.to_string()));
        Self { machine, app: spinners(64, seconds) }
    }

    /// 10,000 CPU-bound threads on 1,024 cores, half of them big.
    fn large(seconds: u64) -> Self {
        Self { machine: grid(512, 512), app: spinners(10_000, seconds) }
    }

    fn run(&self, policy: &str) -> Outcome {
        let mut policy =
            registry::make(policy, &[]).unwrap_or_else(|error| fail(&error.to_string()));
        run(
            &self.machine,
            std::slice::from_ref(&self.app),
            policy.as_mut(),
            &Config::default(),
            &mut NoListener,
        )
        .unwrap_or_else(|error| fail(&error.to_string()))
    }

    fn timed(&self, policy: &str) -> Timed {
        let start = Instant::now();
        let outcome = self.run(policy);
        let (turns, simulated) = (outcome.events as f64, outcome.makespan.as_secs_f64());
        Timed { turns, simulated, seconds: start.elapsed().as_secs_f64() }
    }

    /// Turns per second of one host core.
    fn rate(&self, policy: &str) -> f64 {
        self.timed(policy).rate()
    }
}

/// A whole run of a case.
struct Timed {
    /// Ends of a thread's turn on a core, whether or not another has the next: the run's events,
    /// but some thousands of timers.
    turns: f64,
    /// Seconds, from beginning to end.
    simulated: f64,
    /// Of one host core.
    seconds: f64,
}

impl Timed {
    /// Turns per second.
    fn rate(&self) -> f64 {
        self.turns / self.seconds
    }

    /// Simulated seconds per second.
    fn pace(&self) -> f64 {
        self.simulated / self.seconds
    }
}

fn fail(why: &str) -> ! {
    eprintln!("{why}");
    std::process::exit(1)
}

/// Equal threads of different speedup factors that do nothing but compute, for so many seconds of a
/// big core each, divided by eight.
fn spinners(threads: usize, seconds: u64) -> Application {
    let factors = [4.0, 3.0, 2.0, 1.5];
    let phases =
        factors.iter().map(|&factor| Phase::new("spin", Scaling::Factor(factor))).collect();
    let program = |phase: u32| Program {
        steps: vec![Step::Compute { work: Work(seconds * 250_000_000), phase: PhaseId(phase) }],
    };
    Application {
        name: "spin".into(),
        phases,
        programs: (0..4).map(program).collect(),
        threads: (0..threads)
            .map(|i| ThreadSpec::new(format!("spin-{i}"), ProgramId(i as u32 % 4)))
            .collect(),
        ..Application::default()
    }
}

/// A machine of clusters of four cores, big ones first, with the Odroid's figures.
fn grid(big: u32, little: u32) -> Machine {
    let kind = |name: &str, capacity: u32, mw: u64| Kind {
        name: name.into(),
        source: String::new(),
        core: None,
        capacity,
        opps: vec![OperatingPoint {
            khz: 2_000_000,
            capacity: f64::from(capacity),
            busy_power: Some(MicroWatts(mw * 1000)),
            cluster_power: Some(MicroWatts(100_000)),
        }],
        idle_power: Some(MicroWatts(10_000)),
    };
    let kinds = vec![kind("big", 1024, 1190), kind("little", 377, 49)];
    let cores: Vec<Core> = (0..big + little)
        .map(|id| Core {
            id: CoreId(id),
            cpu: id,
            kind: KindId(u8::from(id >= big)),
            cluster: ClusterId(id / 4),
            sibling: None,
        })
        .collect();
    let clusters = cores
        .chunks(4)
        .map(|cores| Cluster {
            kind: cores[0].kind,
            cores: cores.iter().map(|core| core.id).collect(),
            cache_bytes: 1 << 20,
            bandwidth: None,
        })
        .collect();
    let Some(reference) = Reference::of(&kinds) else { fail("a machine has kinds") };
    Machine {
        name: "grid".into(),
        description: String::new(),
        source: String::new(),
        kinds,
        clusters,
        cores,
        costs: Costs::default(),
        bandwidth: None,
        smt_speed: 1.0,
        sensor_interval: None,
        reference,
    }
}

/// Runs with so many threads and says how much memory the process came to hold at its greatest.
fn print_memory(threads: usize) {
    let case = Case { machine: grid(512, 512), app: spinners(threads.max(1), 1) };
    let outcome = case.run("acfs");
    assert!(outcome.makespan.0 > 0);
    println!("{}", peers::peak_bytes().unwrap_or(0));
}
