//! A machine, runs and records made up for the tests of this crate. The figures mean nothing.
#![allow(dead_code, reason = "each test takes what it needs")]
#![allow(clippy::unwrap_used)]

pub mod study;

use evenkeel_machine::{
    Cluster, ClusterId, Core, CoreId, Costs, Kind, KindId, Machine, MicroWatts, Nanos,
    OperatingPoint, Reference, Work,
};
use evenkeel_metrics::{AppRow, KindRow, Knob, Record, SCHEMA};
use evenkeel_policy::{AppId, ThreadId};
use evenkeel_sim::{Entry, Log};

/// Two kinds, `cores` of each, with a power model.
pub fn machine(cores: u32) -> Machine {
    let kind = |name: &str, capacity: u32, khz, busy, shared| Kind {
        name: name.into(),
        capacity,
        opps: vec![OperatingPoint {
            khz,
            capacity: f64::from(capacity),
            busy_power: Some(MicroWatts(busy)),
            cluster_power: Some(MicroWatts(shared)),
        }],
        idle_power: Some(MicroWatts(20_000)),
        source: String::new(),
        core: None,
    };
    let kinds = vec![
        kind("big", 1024, 2_000_000, 1_500_000, 300_000),
        kind("little", 448, 1_400_000, 300_000, 100_000),
    ];
    let numbers = |kind: u32| (kind * cores..(kind + 1) * cores).map(CoreId).collect::<Vec<_>>();
    let cluster = |kind: u32| Cluster {
        kind: KindId(kind as u8),
        cores: numbers(kind),
        cache_bytes: 1 << 20,
        bandwidth: None,
    };
    let core = |number: u32| {
        let rank = number / cores;
        Core {
            id: CoreId(number),
            cpu: number,
            kind: KindId(rank as u8),
            cluster: ClusterId(rank),
            sibling: None,
        }
    };
    Machine {
        name: "made-up".into(),
        description: "a machine made up for tests".into(),
        source: "made up".into(),
        reference: Reference::of(&kinds).unwrap(),
        kinds,
        clusters: vec![cluster(0), cluster(1)],
        cores: (0..2 * cores).map(core).collect(),
        costs: Costs::default(),
        bandwidth: None,
        smt_speed: 1.0,
        sensor_interval: None,
    }
}

/// Pseudo-random numbers, the same every time.
pub struct Dice(pub u64);

impl Dice {
    /// Below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A log in which `threads` threads of `apps` applications trade places every 4 ms or so, waking
/// each other, with changes of clock and power: `rounds` of them.
pub fn log(machine: &Machine, apps: u32, threads: u32, rounds: u64, seed: u64) -> Log {
    let mut dice = Dice(seed);
    let mut log = Log::default();
    for (cluster, of) in machine.clusters.iter().enumerate() {
        let khz = machine.kinds[of.kind.index()].top().khz;
        log.entries.push(Entry::Frequency {
            at: Nanos(0),
            cluster: ClusterId(cluster as u32),
            khz,
        });
    }
    for thread in 0..threads {
        let (thread, app) = (ThreadId(thread), AppId(thread * apps / threads));
        log.entries.push(Entry::Started {
            at: Nanos(0),
            thread,
            app,
            name: format!("worker {}", thread.0),
        });
    }
    let mut order: Vec<u32> = (0..threads).collect();
    let mut retired = vec![0; threads as usize];
    let cores = machine.cores.len();
    let mut from = 0;
    for _ in 0..rounds {
        let step = 2_000_000 + dice.roll(4_000_000);
        let to = from + step;
        for _ in 0..2 {
            let (a, b) =
                (dice.roll(u64::from(threads)) as usize, dice.roll(u64::from(threads)) as usize);
            order.swap(a, b);
        }
        let busy = cores.min(order.len()) - (dice.roll(4) == 0) as usize;
        for core in 0..cores {
            let kind = machine.kind_of(CoreId(core as u32));
            let power = if core < busy { kind.top().busy_power } else { kind.idle_power };
            log.entries.push(Entry::Power {
                at: Nanos(from),
                core: CoreId(core as u32),
                power: power.unwrap(),
            });
        }
        if order.len() > busy {
            let (thread, by) = (ThreadId(order[busy]), Some(ThreadId(order[0])));
            log.entries.push(Entry::Woke { at: Nanos(from + step / 2), thread, by });
            log.entries.push(Entry::Woke {
                at: Nanos(from + step / 2),
                thread: ThreadId(order[busy]),
                by: None,
            });
        }
        for (core, &thread) in order.iter().enumerate().take(busy) {
            let work = &mut retired[thread as usize];
            *work += step * u64::from(machine.kind_of(CoreId(core as u32)).capacity) / 1024;
            let (thread, core) = (ThreadId(thread), CoreId(core as u32));
            log.entries.push(Entry::Ran {
                thread,
                core,
                from: Nanos(from),
                to: Nanos(to),
                retired: Work(*work),
            });
        }
        from = to;
    }
    for thread in 0..threads {
        log.entries.push(Entry::Ended { at: Nanos(from), thread: ThreadId(thread) });
    }
    log
}

/// A record of two applications, or of one where `workloads` has one.
pub fn record(policy: &str, workloads: &[&str], makespan_s: f64, energy_j: Option<f64>) -> Record {
    let app = |(number, name): (usize, &&str)| AppRow {
        name: (*name).into(),
        threads: 8,
        completion_s: makespan_s * (1.0 - 0.15 * number as f64),
        slowdown: Some(1.2 + 0.5 * number as f64),
        cut_at_s: None,
        alone_fast_s: makespan_s / 1.2,
        alone_slow_s: makespan_s * 2.0,
        time_on_kind_s: [
            ("big".to_owned(), makespan_s * 3.0),
            ("little".to_owned(), makespan_s * 2.5),
        ]
        .into_iter()
        .collect(),
        wait_s: makespan_s * 0.25,
        blocked_s: makespan_s * 0.5,
        migrations: 40 + number as u64,
        timers: None,
    };
    let kind = |busy: f64, share: f64| KindRow {
        busy_s: makespan_s * 4.0 * busy,
        idle_s: makespan_s * 4.0 * (1.0 - busy),
        energy_j: energy_j.map(|joules| joules * share),
        mean_power_w: energy_j.map(|joules| joules * share / makespan_s),
    };
    let several = workloads.len() > 1;
    Record {
        schema: SCHEMA.into(),
        machine: "made-up".into(),
        cores: "4big+4little".into(),
        policy: policy.into(),
        knobs: [("uf".to_owned(), Knob::Number(1.05))].into_iter().collect(),
        workloads: workloads.iter().map(|&name| name.into()).collect(),
        seed: 1,
        estimator: None,
        seeds: None,
        makespan_s,
        speedup: (!several).then_some(12.0 / makespan_s),
        energy_j,
        mean_power_w: energy_j.map(|joules| joules / makespan_s),
        edp_js: energy_j.map(|joules| joules * makespan_s),
        unfairness: several.then_some(1.0 + makespan_s / 20.0),
        asp: Some(9.0 / makespan_s),
        stp: Some(8.0 / makespan_s),
        antt: Some(makespan_s / 4.0),
        migrations: (makespan_s * 31.0) as u64,
        swaps: 0,
        context_switches: (makespan_s * 977.0) as u64,
        apps: workloads.iter().enumerate().map(app).collect(),
        kinds: [("big".to_owned(), kind(0.9, 0.8)), ("little".to_owned(), kind(0.7, 0.2))]
            .into_iter()
            .collect(),
        threads: None,
        wakeup_latency_us: None,
        timers: None,
        sensor: None,
        graph: None,
        live: None,
        wall_s: 0.01,
        error: None,
    }
}
