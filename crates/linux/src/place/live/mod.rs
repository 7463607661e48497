//! What live mechanisms have in common: they place real threads of a Linux machine, tell a policy
//! of them, and account for what they did.

pub mod estimating;
pub mod governor;
pub mod look_interval;
pub mod milestones;
pub mod roster;
pub mod speedups;

use std::error::Error;
use std::fmt;
use std::os::fd::AsFd;

use evenkeel_machine::{KindId, Machine, Nanos};
use evenkeel_policy::{Interest, StartError, ThreadStats};
pub use roster::{App, Forgotten, Sums};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::observe::watch::Tid;

/// Why a policy cannot run on real threads of a machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The policy does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The policy asks for what only the simulator knows.
    #[error(
        "with these knobs it must be told {what}; of real threads nobody knows, only the simulator \
         does"
    )]
    Unseen {
        /// What it asks for, after "it must be told".
        what: &'static str,
    },
    /// The machine has a CPU with a number beyond what the mechanism has room for.
    #[error("CPU {cpu} is beyond the {room} that there is room for")]
    Beyond {
        /// Number of the CPU.
        cpu: u32,
        /// How many there is room for.
        room: usize,
    },
}

/// Checks that all that a policy asks for can be seen of real threads.
///
/// # Errors
/// [`Refusal::Unseen`]
pub fn check_seen(interest: Interest) -> Result<(), Refusal> {
    let unseen = [
        (Interest::CRITICAL_SECTION, "when critical sections end"),
        (Interest::DISTANCE, "how much work there is left until the next milestone"),
    ];
    match unseen.iter().find(|(asked, _)| interest.wants(*asked)) {
        None => Ok(()),
        Some(&(_, what)) => Err(Refusal::Unseen { what }),
    }
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// A thread got another core than its last.
    pub migrations: u64,
    /// Pairs of threads that traded places.
    pub swaps: u64,
    /// A core took up another thread than it ran before.
    pub context_switches: u64,
    /// Calls of the kernel that changed where or how a thread runs.
    pub calls: u64,
    /// Calls that the kernel refused, for other reasons than that the thread had ended.
    pub refused: u64,
}

/// What a session costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// CPU time of the thread that looks.
    pub cpu: Nanos,
    /// Time since the beginning.
    pub wall: Nanos,
    /// How often it looked.
    pub looks: u64,
    /// Longest look interval that the budget asked for.
    pub slowest_pace: Nanos,
}

/// A session of a live mechanism: it places threads until it is ended.
pub trait Session {
    /// Sleeps until there is something to look at, or one of `others` is readable, and not for
    /// longer than `within`; then looks.
    ///
    /// # Errors
    /// The session cannot go on.
    fn step(
        &mut self,
        within: Nanos,
        others: &[&dyn AsFd],
    ) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Ends: threads are the kernel's again.
    fn end(self: Box<Self>) -> Finished;

    /// Where it learns what threads do, for people.
    fn source(&self) -> String;

    /// True if no thread that it follows is left.
    fn is_over(&self) -> bool;

    /// What has been done so far.
    fn totals(&self) -> Totals;

    /// What it has cost so far.
    fn cost(&self) -> Cost;

    /// Threads that have not ended, and how many of them run or wait for a core.
    fn alive(&self) -> (usize, usize);

    /// Where speedup factors come from.
    fn factors(&self) -> FactorSource;

    /// How often it had to begin anew, because CPUs came or went.
    fn restarts(&self) -> u32 {
        0
    }
}

/// Where a session has the speedup factors of threads from. Those that are given by name hold until
/// counters tell others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorSource {
    /// A model, from counters.
    Model,
    /// Instructions per second on each kind of core.
    Sampled,
    /// The capacities of the cores: there is nothing that counts.
    Capacities,
}

impl fmt::Display for FactorSource {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Model => "what the model tells from counters",
            Self::Sampled => "instructions per second on each kind of core",
            Self::Capacities => {
                "--speedup, else the cores' capacities, the same for all: no counters can be had"
            }
        })
    }
}

/// A session that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Name of the mechanism.
    pub mechanism: &'static str,
    /// Where it learnt what threads did, for people.
    pub source: String,
    /// True if threads that wait were held back by their class.
    pub parked: bool,
    /// When it began: times of threads are since then. `CLOCK_MONOTONIC`.
    pub epoch: Nanos,
    /// The machine.
    pub machine: Machine,
    /// Processes that were there at the end, or are remembered.
    pub apps: Vec<App>,
    /// The others.
    pub forgotten: Forgotten,
    /// Threads that were there at the end, or are remembered; their applications are places in
    /// `apps`.
    pub stats: Vec<ThreadStats>,
    /// By thread, its number in `/proc`, and how often it changed cores.
    pub tids: Vec<(Tid, u64)>,
    /// By core, the time that it had a thread of those that were followed.
    pub busy: Vec<Nanos>,
    /// Counts.
    pub totals: Totals,
    /// What it cost.
    pub cost: Cost,
    /// Threads that could not be counted for, and why, where a model goes by counters.
    pub uncounted: Option<String>,
    /// Records that the kernel had no room for.
    pub missed: u64,
    /// From the start of each thread to its first placement, ascending; without the first threads
    /// of programs, which may be left their CPUs at first.
    pub reactions: Vec<Nanos>,
}

/// Keeps this thread on fast cores: a look is short, and the thread that it interrupts waits
/// several times as long for it on a slow core.
pub fn stay_on_fast_cores(machine: &Machine) {
    let mut fast = CpuSet::new();
    let cores = machine.cores.iter().filter(|core| core.kind == KindId(0));
    cores
        .map(|core| core.cpu as usize)
        .filter(|&cpu| cpu < CpuSet::MAX_CPU)
        .for_each(|cpu| fast.set(cpu));
    // Where that is not allowed, it runs where it may.
    let _ = sched_setaffinity(None, &fast);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_simulator_knows_is_refused_and_what_is_merely_welcome_is_not() {
        for wanted in
            [Interest::CRITICAL_SECTION, Interest::DISTANCE, Interest::WOKE.and(Interest::DISTANCE)]
        {
            assert!(check_seen(wanted).is_err(), "{wanted:?}");
        }
        assert_eq!(
            check_seen(Interest::MILESTONE.and(Interest::LOAD).and(Interest::STALLED)),
            Ok(())
        );
    }
}
