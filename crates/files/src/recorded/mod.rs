//! Turns a recording of what a machine did into a workload that does it again.
//!
//! ```text
//! facts --timeline--> what each thread did --barriers, joins--> what it meant
//!       --build, fold--> Application
//! ```
//!
//! Time on a core becomes work. A block that a timer or another program ended becomes a sleep of
//! that length. A block that another thread ended becomes a meeting with that thread: a barrier or
//! a join where it can be recognised, else a semaphore that the waker posts to where it woke.
//! docs/simulate/record.md says what cannot be seen.
//!
//! **The workload ends.** Whatever facts are missing, it runs to its end on any machine under any
//! policy that lets every thread run. All that happened has a place in one order, and a wait stands
//! behind what it waits for: the post to its pair's semaphore, of which there are as many before it
//! as waits; the fork of its thread; the arrival of all others at a barrier; the end of the threads
//! that are joined. So the first thing in that order that is not yet done can always be done.

mod barriers;
mod build;
mod facts;
mod fold;
mod joins;
mod system;
mod timeline;

pub use facts::{Cpu, Fact, Places, Tid, What};
pub use fold::{SLACK_NS, TOLERANCE};
pub use system::{Event, Follower, Seen, Selection};

use evenkeel_model::Application;
use timeline::Builder;

/// What was found in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Threads.
    pub threads: u64,
    /// Times that a thread was on a core.
    pub bursts: u64,
    /// Times that a thread left a core with nothing to go on with.
    pub blocks: u64,
    /// Blocks that ended from outside: timers, devices, other programs.
    pub sleeps: u64,
    /// Blocks that another thread ended and that are neither a barrier's nor a join.
    pub wakes: u64,
    /// Threads that another forked.
    pub forks: u64,
    /// Waits for all forked threads.
    pub joins: u64,
    /// Barriers.
    pub barriers: u64,
    /// Times that threads met at barriers.
    pub meetings: u64,
    /// Semaphores: pairs of threads of which one woke the other.
    pub semaphores: u64,
    /// Work of all, in nanoseconds on the fastest core.
    pub work_ns: u64,
}

/// The workload of a recording, and what was found in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The workload.
    pub application: Application,
    /// What was found.
    pub summary: Summary,
}

/// Infers what a program did. `facts` are about its threads only, and facts of the same time are in
/// order; `name` becomes the application's.
///
/// The application is valid and runs to its end whatever the facts are, and its work is the time
/// that its threads were seen on CPUs, each times the speed of `places`, less than a nanosecond a
/// thread. Without facts it has no threads.
pub fn infer(facts: impl IntoIterator<Item = Fact>, places: &Places, name: &str) -> Recorded {
    let mut facts: Vec<Fact> = facts.into_iter().collect();
    facts.sort_by_key(|fact| fact.at);
    let mut builder = Builder::new(places);
    facts.iter().for_each(|fact| builder.take(fact));
    let mut timeline = builder.finish();
    let barriers = barriers::find(&mut timeline);
    joins::find(&mut timeline);
    let application = build::application(&timeline, places, name, &barriers.parties);
    let summary =
        Summary { meetings: barriers.episodes, ..build::summary(&timeline, &application) };
    Recorded { application, summary }
}
