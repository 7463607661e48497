//! What the tests of the simulator share: machines, workloads, runs.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines;
use evenkeel_machine::{
    Cluster, ClusterId, Core, CoreId, Costs, Kind, KindId, Machine, MicroWatts, Nanos,
    OperatingPoint, Reference, Work,
};
use evenkeel_model::{
    Application, BarrierId, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec,
};
use evenkeel_policy::{Policy, registry};

/// A policy by name, with its defaults.
pub fn policy(name: &str) -> Box<dyn Policy> {
    registry::make(name, &[]).unwrap()
}

/// A part of the Odroid with the clocks of the maturity study, where scheduling costs nothing.
pub fn free_odroid(cores: &str) -> Machine {
    free("odroid-xu3-paper", cores)
}

/// A part of a preset, where scheduling costs nothing.
pub fn free(preset: &str, cores: &str) -> Machine {
    machines::preset(preset).unwrap().subset(cores).unwrap().with_free_costs()
}

/// A kind of core for [`machine`]: cores per cluster, capacities of its operating points.
pub struct KindPlan {
    pub clusters: Vec<u32>,
    pub capacities: Vec<u32>,
    pub smt: bool,
}

/// A machine to order. Kinds must come fastest first.
pub fn machine(kinds: &[KindPlan], costs: Costs, bandwidth: Option<u64>) -> Machine {
    let mut built = Machine {
        name: "made".into(),
        description: String::new(),
        source: String::new(),
        kinds: Vec::new(),
        clusters: Vec::new(),
        cores: Vec::new(),
        costs,
        bandwidth,
        smt_speed: 0.6,
        sensor_interval: Some(Nanos::from_millis(10)),
        reference: Reference { slowest_khz: 1, slowest_capacity: 1.0, fastest_capacity: 1.0 },
    };
    for (rank, plan) in kinds.iter().enumerate() {
        let opps = plan.capacities.iter().map(|&capacity| OperatingPoint {
            khz: u64::from(capacity) * 2_000,
            capacity: f64::from(capacity),
            busy_power: Some(MicroWatts(u64::from(capacity) * 1_003)),
            cluster_power: Some(MicroWatts(u64::from(capacity) * 101)),
        });
        built.kinds.push(Kind {
            name: format!("kind{rank}"),
            source: String::new(),
            core: None,
            capacity: *plan.capacities.last().unwrap(),
            opps: opps.collect(),
            idle_power: Some(MicroWatts(7_001)),
        });
        for &count in &plan.clusters {
            let cluster = ClusterId(built.clusters.len() as u32);
            let first = built.cores.len() as u32;
            let kind = KindId(rank as u8);
            for id in first..first + count {
                let sibling = plan.smt.then(|| CoreId(first + ((id - first) ^ 1)));
                built.cores.push(Core {
                    id: CoreId(id),
                    cpu: id,
                    kind,
                    cluster,
                    sibling: sibling.filter(|s| s.0 < first + count),
                });
            }
            let cores = (first..first + count).map(CoreId).collect();
            built.clusters.push(Cluster { kind, cores, cache_bytes: 1 << 20, bandwidth });
        }
    }
    built.reference = Reference::of(&built.kinds).unwrap();
    built
}

/// Threads that all run the same steps, with one phase of a speedup factor and one barrier for all.
pub fn threads(count: usize, factor: f64, steps: Vec<Step>) -> Application {
    Application {
        name: "test".into(),
        phases: vec![Phase::new("work", Scaling::Factor(factor))],
        programs: vec![Program { steps }],
        threads: (0..count).map(|i| ThreadSpec::new(format!("t{i}"), ProgramId(0))).collect(),
        barriers: vec![count as u32],
        ..Application::default()
    }
}

/// Work in the application's only phase.
pub fn compute(work: u64) -> Step {
    Step::Compute { work: Work(work), phase: PhaseId(0) }
}

/// So many rounds of steps.
pub fn rounds(times: u64, body: Vec<Step>) -> Step {
    Step::Loop { times: Some(times), body }
}

/// The application's only barrier.
pub fn barrier() -> Step {
    Step::Barrier(BarrierId(0))
}
