//! Policies for task graphs: which worker runs which ready task.
//!
//! They are sequential code over plain data, as all policies: the simulator calls them directly,
//! the runtime behind its own concurrency. *Online* policies learn of tasks as they are created and
//! become ready. *Static* ones make a whole [`schedule::Schedule`] from a [`problem::Problem`]
//! beforehand, which [`planned`] then carries out as an online policy.

use evenkeel_machine::{KindId, Machine, Nanos, PerKind};
use evenkeel_model::{Phase, TaskGraph, TaskId};

pub mod bound;
mod cats;
pub mod cpop;
mod deques;
pub mod dls;
mod fifo;
pub mod hed;
pub mod heft;
mod lanes;
pub mod ldcp;
pub mod lmt;
pub mod peft;
pub mod planned;
pub mod problem;
mod ranks;
mod roster;
pub mod schedule;
mod steal;
pub mod steal_kind;
pub mod victims;
mod waiting;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod testing;

pub use cats::Cats;
pub use fifo::Fifo;
pub use steal::Steal;
pub use steal_kind::StealKind;

use planned::{Planned, Scheduler};
use problem::Problem;

/// A worker of one graph's execution, dense from 0 in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u32);

impl WorkerId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The workers that run a graph, and their speeds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Team {
    /// The kind of core that each worker is expected on, fastest first. Workers report their actual
    /// kind when they ask for a task.
    pub kinds: Vec<KindId>,
    /// By phase, nanoseconds per unit of work on each kind: from the machine's model, or learnt.
    pub pace: Vec<PerKind<f64>>,
    /// Bytes per nanosecond over the link between any two workers. `None`: they share memory, and
    /// transfers take no time.
    pub link: Option<f64>,
}

impl Team {
    /// A team of `workers` for work of these phases on a machine: worker `i` on its `i`-th fastest
    /// core, starting over if there are more workers than cores. Paces are those of the highest
    /// operating points, without contention for memory.
    pub fn on(machine: &Machine, phases: &[Phase], workers: u32) -> Self {
        let mut cores: Vec<_> = machine.cores.iter().map(|core| core.kind).collect();
        cores.sort_unstable();
        let mut kinds: Vec<_> = cores.into_iter().cycle().take(workers as usize).collect();
        kinds.sort_unstable();
        let pace = |phase: &Phase| {
            let mut pace = PerKind::all(1.0);
            for rank in 0..machine.kinds.len() {
                let kind = KindId(rank as u8);
                pace[kind] = 1.0 / phase.top_speed(machine, kind);
            }
            pace
        };
        Self { kinds, pace: phases.iter().map(pace).collect(), link: None }
    }
}

/// What a policy knows in every call.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The graph, as far as it has been created if it is online.
    pub graph: &'a TaskGraph,
    /// The workers that run it.
    pub team: &'a Team,
    /// The time.
    pub now: Nanos,
}

impl<'a> Situation<'a> {
    /// At time 0.
    pub fn at_start(graph: &'a TaskGraph, team: &'a Team) -> Self {
        Self { graph, team, now: Nanos::ZERO }
    }

    /// Time of a task on a kind of core, including the time to take it. A phase without a pace
    /// takes a nanosecond per unit of work.
    pub fn cost(&self, task: TaskId, kind: KindId) -> Nanos {
        let it = &self.graph.tasks[task.index()];
        let pace = self.team.pace.get(it.phase.index()).map_or(1.0, |pace| pace[kind]);
        Nanos((self.graph.take_cost.saturating_add(it.work).0 as f64 * pace).round() as u64)
    }

    /// Time of a transfer of so many bytes between two workers.
    pub fn transfer(&self, bytes: u64) -> Nanos {
        self.team.link.map_or(Nanos::ZERO, |link| Nanos((bytes as f64 / link).round() as u64))
    }

    /// The whole graph on the team, for static policies.
    pub fn problem(&self) -> Problem {
        let kind =
            |worker: WorkerId| self.team.kinds.get(worker.index()).copied().unwrap_or_default();
        let workers = self.team.kinds.len() as u32;
        let cost = |task, worker| self.cost(task, kind(worker));
        Problem::new(self.graph, workers, cost, |bytes| self.transfer(bytes))
    }
}

/// A policy that chooses among ready tasks.
pub trait GraphPolicy: Send {
    /// A graph is about to run; the policy forgets earlier ones.
    fn start(&mut self, at: &Situation<'_>);

    /// The last graph runs again at about the same costs; its plan may be kept.
    fn again(&mut self, at: &Situation<'_>) {
        self.start(at);
    }

    /// A task has been created that waits for these tasks (including those that are done).
    fn created(&mut self, _at: &Situation<'_>, _task: TaskId, _predecessors: &[TaskId]) {}

    /// A task has become ready: it is created, and all that it waits for is done. `by`: the worker
    /// that finished its last predecessor.
    fn ready(&mut self, at: &Situation<'_>, task: TaskId, by: Option<WorkerId>);

    /// A worker on a core of this kind asks for a task. None: there is no task for it now, and it
    /// waits until [`GraphPolicy::would_take`] or the end of the graph.
    fn take(&mut self, at: &Situation<'_>, worker: WorkerId, kind: KindId) -> Option<TaskId>;

    /// True if a worker that waits would get a task now. If no task runs and one is ready, this is
    /// true of some worker.
    fn would_take(&self, at: &Situation<'_>, worker: WorkerId) -> bool;

    /// The worker to wake for a task, of those that wait (the longest waiting first). None: none of
    /// them would get a task.
    fn wake(
        &self,
        at: &Situation<'_>,
        mut waiting: &mut dyn Iterator<Item = WorkerId>,
    ) -> Option<WorkerId> {
        Iterator::find(&mut waiting, |&worker| self.would_take(at, worker))
    }

    /// Number of times that a task runs: more than once if transferring its data takes longer than
    /// making them again ([`Team::link`]; thus in the simulator only).
    fn copies(&self, _task: TaskId) -> u32 {
        1
    }

    /// A worker has done a task on a kind of core in this time. Costs are learnt from this.
    fn done(
        &mut self,
        _at: &Situation<'_>,
        _worker: WorkerId,
        _task: TaskId,
        _kind: KindId,
        _time: Nanos,
    ) {
    }
}

/// How a graph policy decides, and its constructor.
#[derive(Clone, Copy)]
pub enum Family {
    /// From the ready tasks. Made from a seed.
    Online(fn(u64) -> Box<dyn GraphPolicy>),
    /// From the whole graph and its costs.
    Static(Scheduler),
}

/// A graph policy.
pub struct Entry {
    /// Name, as in `-p name`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Paper or system that it comes from.
    pub source: &'static str,
    /// Family and constructor.
    pub family: Family,
}

/// All graph policies, in the order in which `evenkeel policies` lists them.
pub static ENTRIES: &[Entry] = &[
    Entry {
        name: "fifo",
        summary: "first ready, first served, whatever the core",
        source: "Duran, Corbalán and Ayguadé, IWOMP 2008 (breadth first)",
        family: Family::Online(|_| Box::new(Fifo::default())),
    },
    Entry {
        name: "steal",
        summary: "a deque per worker; who has nothing steals the oldest task of a random victim",
        source: "Blumofe and Leiserson, JACM 46(5), 1999",
        family: Family::Online(|seed| Box::new(Steal::new(seed))),
    },
    Entry {
        name: "steal-kind",
        summary: "steal, but fast cores from slow ones first, and slow cores leave what fast ones \
                  would end sooner",
        source: "Evenkeel, after Bender and Rabin, Theory of Computing Systems 35, 2002",
        family: Family::Online(|seed| Box::new(StealKind::new(seed))),
    },
    Entry {
        name: "cats",
        summary: "the longest path, counted in tasks as they are created, goes to the fast cores",
        source: "Chronaki et al., ICS 2015",
        family: Family::Online(|_| Box::new(Cats::default())),
    },
    Entry {
        name: "heft",
        summary: "longest way to the end first, each where it ends first, into gaps",
        source: "Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002",
        family: Family::Static(heft::schedule),
    },
    Entry {
        name: "cpop",
        summary: "the critical path on the one core that is fastest for it, the rest as heft",
        source: "Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002",
        family: Family::Static(cpop::schedule),
    },
    Entry {
        name: "dls",
        summary: "at each step the pair of ready task and core with the greatest dynamic level",
        source: "Sih and Lee, IEEE TPDS 4(2), 1993",
        family: Family::Static(dls::schedule),
    },
    Entry {
        name: "ldcp",
        summary: "the longest path, found anew after each task that is placed, goes first",
        source: "Daoud and Kharma, JPDC 68(4), 2008",
        family: Family::Static(ldcp::schedule),
    },
    Entry {
        name: "lmt",
        summary: "level by level, the largest task to the core that costs it least",
        source: "Iverson, Özgüner and Follen, Heterogeneous Computing Workshop 1995",
        family: Family::Static(lmt::schedule),
    },
    Entry {
        name: "hed",
        summary: "heft, with tasks done again where their data would be waited for",
        source: "Agarwal and Kumar, IEEE IACC 2009",
        family: Family::Static(hed::schedule),
    },
    Entry {
        name: "peft",
        summary: "heft with a table of what comes after on each core at best",
        source: "Arabnejad and Barbosa, IEEE TPDS 25(3), 2014",
        family: Family::Static(peft::schedule),
    },
];

/// A graph policy that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no graph policy '{name}'; there are {}", names().collect::<Vec<_>>().join(", "))]
pub struct UnknownGraphPolicy {
    /// As asked for.
    pub name: String,
}

/// Names of the graph policies.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// A graph policy by name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// Makes a graph policy by name. `seed` is for random choices.
///
/// # Errors
/// A name that does not exist.
pub fn make(name: &str, seed: u64) -> Result<Box<dyn GraphPolicy>, UnknownGraphPolicy> {
    match find(name).map(|entry| entry.family) {
        Some(Family::Online(make)) => Ok(make(seed)),
        Some(Family::Static(scheduler)) => Ok(Box::new(Planned::new(scheduler))),
        None => Err(UnknownGraphPolicy { name: name.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_a_policy_and_another_is_named_in_the_error() {
        for (i, name) in names().enumerate() {
            assert_eq!(name, name.to_ascii_lowercase());
            assert!(
                make(name, 1).is_ok() && names().skip(i + 1).all(|other| other != name),
                "{name}"
            );
        }
        let error = make("lifo", 1).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with("no graph policy 'lifo'; there are fifo, steal, "), "{error}");
    }
}
