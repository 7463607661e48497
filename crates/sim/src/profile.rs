//! What a run shows of each of its threads that a later run of the same program, with another
//! input, can go by: how far it is from one milestone to the next. The later run sees no more than
//! these figures, one for each thread; what counts of them is their ratios.

use evenkeel_machine::Work;
use evenkeel_policy::AppId;

use crate::outcome::Outcome;

/// Distances between milestones, as a run has shown them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// By application, by thread in the order in which it made them.
    distances: Vec<Vec<Work>>,
}

impl Profile {
    /// From a run, by the place of an application among those that ran. Where one ran several
    /// times, its first run counts.
    pub fn of(outcome: &Outcome) -> Self {
        let mut distances = vec![Vec::new(); outcome.apps.len()];
        for thread in &outcome.threads {
            let (known, app) =
                (&mut distances[thread.app.index()], &outcome.apps[thread.app.index()]);
            if known.len() < app.threads as usize {
                known.push(thread.distance);
            }
        }
        Self { distances }
    }

    /// The distance of a thread by its number in its application; `None`: the run that was profiled
    /// had no such thread.
    pub fn distance(&self, app: AppId, index_in_app: u32) -> Option<Work> {
        self.distances.get(app.index())?.get(index_in_app as usize).copied()
    }
}
