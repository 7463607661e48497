//! How a sweep is cut into tasks of an array job.

use std::collections::BTreeSet;
use std::fmt;

use evenkeel_sweep::Shard;

use super::super::plural;
use crate::args::sweep::SweepArgs;

/// Seconds that a task should take: centres ask for no swarms of short jobs. Ours.
const SECONDS: f64 = 600.0;
/// Most tasks by default: Slurm's own default of MaxArraySize allows indices up to 1000.
const MOST: usize = 1_000;

/// The tasks of a sweep, or of what is left of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tasks {
    /// How many.
    pub count: usize,
    /// CPUs of each.
    pub cpus: usize,
    /// Seconds that each takes, about; `None`: not looked for.
    pub seconds: Option<f64>,
}

impl Tasks {
    /// For so many parts, which take a number of seconds on one CPU: as many tasks as the user
    /// wants, or else such as are worth being scheduled.
    pub fn of(args: &SweepArgs, parts: usize, seconds: impl FnOnce() -> f64) -> Self {
        let cpus = args.jobs.jobs.unwrap_or(1) as usize;
        if let Some(wanted) = args.tasks {
            return Self { count: (wanted as usize).clamp(1, parts.max(1)), cpus, seconds: None };
        }
        let seconds = seconds() / cpus as f64;
        let count = count(seconds, parts);
        Self { count, cpus, seconds: Some(seconds / count as f64) }
    }
}

impl fmt::Display for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tasks, cpus) = (self.count as u64, self.cpus as u64);
        write!(f, "{} of {}", plural(tasks, "task"), plural(cpus, "CPU"))
    }
}

/// How many tasks share some seconds of work, in so many parts.
fn count(seconds: f64, parts: usize) -> usize {
    // A float that is too large saturates.
    let wanted = (seconds / SECONDS).ceil() as usize;
    wanted.clamp(1, parts.clamp(1, MOST))
}

/// The indices of those of `count` tasks whose share lacks something, as sbatch takes them:
/// `1-3,7`.
pub fn indices(lacking: &[usize], count: usize) -> String {
    let indices: BTreeSet<usize> =
        lacking.iter().map(|&part| Shard::number_of(part, count)).collect();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for index in indices {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    let texts: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_takes_ten_minutes_where_there_is_enough_for_that() {
        assert_eq!(count(0.0, 24), 1);
        assert_eq!(count(600.0, 24), 1);
        assert_eq!(count(601.0, 24), 2);
        assert_eq!(count(6_000.0, 24), 10);
        assert_eq!(count(60_000.0, 24), 24, "a part is not cut");
        assert_eq!(count(1e12, 100_000), MOST);
        assert_eq!(count(f64::INFINITY, 3), 3);
        assert_eq!(count(1.0, 0), 1);
    }

    #[test]
    fn only_tasks_whose_share_lacks_something_are_submitted_in_compact_ranges() {
        let all: Vec<usize> = (0..100).collect();
        assert_eq!(indices(&all, 20), "1-20");
        assert_eq!(indices(&all, 1), "1");
        assert_eq!(indices(&[2, 6, 8], 10), "3,7,9");
        // Part 22 is in the share of part 2.
        assert_eq!(indices(&[22, 3, 4, 19, 2], 20), "3-5,20");
        assert_eq!(indices(&[], 20), "");
    }

    #[test]
    fn indices_are_those_by_which_shares_are_asked_for() {
        for (part, count) in [(0, 1), (7, 3), (99, 100), (100, 100)] {
            let shard: Shard = format!("{}/{count}", indices(&[part], count)).parse().unwrap();
            assert_eq!(shard, format!("{}/{count}", part % count + 1).parse().unwrap());
        }
    }
}
