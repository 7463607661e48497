//! Measures of task graphs.
//!
//! ```text
//! SLR         schedule length ratio: makespan / critical path, each task on the core that is
//!             fastest for it
//! speedup     all tasks one after the other on the best single core / makespan
//! efficiency  speedup / cores
//! ```
//!
//! Source: Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002, section 5.1. On uneven cores an
//! efficiency of 1 is out of reach: the best single core stands for all.

use evenkeel_machine::{KindId, Machine, Nanos};
use evenkeel_model::{Application, TaskId};
use evenkeel_policy::graph::bound::Bound;
use evenkeel_policy::graph::{Situation, Team};

use crate::record::GraphRow;

impl GraphRow {
    /// Of an application that does nothing but run task graphs, run alone on a machine in this
    /// time; `None` of any other.
    pub fn of(machine: &Machine, app: &Application, policy: &str, makespan: Nanos) -> Option<Self> {
        let rounds = app.graph_rounds()?;
        let cores = machine.cores.len();
        let team = Team::on(machine, &app.phases, app.threads.len().min(cores) as u32);
        let kinds: Vec<KindId> = (0..machine.kinds.len() as u8).map(KindId).collect();
        let mut serial = vec![0.0; kinds.len()];
        let (mut path, mut bound, mut tasks, mut edges) = (0.0, 0.0, 0, 0);
        for (graph, rounds) in app.graphs.iter().zip(rounds).filter(|(_, rounds)| *rounds > 0) {
            let at = Situation::at_start(graph, &team);
            let least = Bound::of(&at.problem());
            let times = rounds as f64;
            path += times * least.path.as_secs_f64();
            bound += times * least.makespan().as_secs_f64();
            for (sum, &kind) in serial
                .iter_mut()
                .zip(&kinds)
                .filter(|(_, kind)| machine.cores_of(**kind).next().is_some())
            {
                let costs = (0..graph.tasks.len() as u32)
                    .map(|task| at.cost(TaskId(task), kind).as_secs_f64());
                *sum += times * costs.sum::<f64>();
            }
            tasks += rounds * graph.tasks.len() as u64;
            edges += rounds * graph.edges() as u64;
        }
        let serial_s = serial.into_iter().filter(|&sum| sum > 0.0).reduce(f64::min).unwrap_or(0.0);
        let makespan_s = makespan.as_secs_f64();
        let over = |time: f64, by: f64| (by > 0.0).then(|| time / by);
        let speedup = over(serial_s, makespan_s);
        Some(Self {
            policy: policy.into(),
            tasks,
            edges,
            critical_path_s: path,
            bound_s: bound,
            serial_s,
            slr: over(makespan_s, path),
            speedup,
            efficiency: speedup.map(|speedup| speedup / cores as f64),
        })
    }
}
