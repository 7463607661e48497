//! Timelines: which thread ran where, small enough to draw.

use std::collections::BTreeMap;

use evenkeel_machine::{Machine, Nanos};
use evenkeel_policy::{AppId, ThreadId};
use evenkeel_sim::{Entry, Log};

use crate::labels;

/// The most stretches that a timeline keeps: a screen cannot show more.
pub const MOST_STRETCHES: usize = 4_000;

/// The most times that the columns of a coarse timeline are halved.
const MOST_DOUBLINGS: u32 = 8;

/// A run's timeline: a lane for each core, with the stretches of time that threads had on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Index of the run's record among those that the timeline is shown with.
    pub record: usize,
    /// Cores, by number and kind.
    pub lanes: Vec<String>,
    /// Names of the applications.
    pub apps: Vec<String>,
    /// Threads that stretches refer to.
    pub threads: Vec<TimelineThread>,
    /// By lane, then by time.
    pub stretches: Vec<Stretch>,
    /// Until when.
    pub end: Nanos,
    /// If there were too many stretches: the width of the columns of time, in each of which only
    /// the thread that ran longest is shown.
    pub column: Option<Nanos>,
}

/// A thread of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineThread {
    /// Name.
    pub name: String,
    /// Index into [`Timeline::apps`].
    pub app: usize,
}

/// Time that a thread had a core without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Index into [`Timeline::lanes`].
    pub lane: usize,
    /// Index into [`Timeline::threads`].
    pub thread: usize,
    /// Start.
    pub from: Nanos,
    /// End.
    pub to: Nanos,
}

impl Timeline {
    /// The timeline of the run whose record has the index `record`. `apps` are the names of the
    /// applications by [`AppId`]; one without a name goes by its number. Cores that `machine` does
    /// not have are left out.
    pub fn new(record: usize, machine: &Machine, apps: &[String], log: &Log) -> Self {
        let mut timeline = Self {
            record,
            lanes: machine.cores.iter().map(|core| labels::core(machine, core.id)).collect(),
            apps: apps.to_vec(),
            threads: vec![],
            stretches: vec![],
            end: Nanos::ZERO,
            column: None,
        };
        let mut places = BTreeMap::<ThreadId, usize>::new();
        for entry in &log.entries {
            match entry {
                Entry::Started { thread, app, name, .. } => {
                    timeline.name_apps(*app);
                    places.insert(*thread, timeline.threads.len());
                    timeline.threads.push(TimelineThread { name: name.clone(), app: app.index() });
                }
                Entry::Ran { thread, core, from, to, .. }
                    if from < to && core.index() < machine.cores.len() =>
                {
                    let Some(&thread) = places.get(thread) else { continue };
                    timeline.end = timeline.end.max(*to);
                    timeline.stretches.push(Stretch {
                        lane: core.index(),
                        thread,
                        from: *from,
                        to: *to,
                    });
                }
                _ => {}
            }
        }
        timeline.stretches.sort_by_key(|stretch| (stretch.lane, stretch.from));
        timeline.stretches = joined(timeline.stretches);
        timeline.limit(MOST_STRETCHES);
        timeline
    }

    /// Gives applications without a name their number, up to this one (or a bound that no run
    /// reaches).
    fn name_apps(&mut self, app: AppId) {
        while self.apps.len() <= app.index() && self.apps.len() < 1 << 16 {
            self.apps.push(format!("application {}", self.apps.len()));
        }
    }

    /// Leaves at most `most` stretches, or one a lane. Time is divided into columns, as many as
    /// possible; each shows the thread that ran longest in it, or nothing if the core idled longer.
    pub(crate) fn limit(&mut self, most: usize) {
        let lanes = self.lanes.len().max(1);
        if self.stretches.len() <= most.max(lanes) {
            return;
        }
        // Neighbouring columns of one thread become one stretch, so there may be more columns than
        // stretches.
        let mut columns = (most / lanes).max(1) as u64;
        let (mut width, mut kept) = self.in_columns(columns);
        for _ in 0..MOST_DOUBLINGS {
            columns *= 2;
            let (finer, more) = self.in_columns(columns);
            if more.len() > most || finer == width {
                break;
            }
            (width, kept) = (finer, more);
        }
        self.stretches = kept;
        self.column = Some(Nanos(width));
    }

    /// The width of each of `columns` columns of time, and what they show.
    fn in_columns(&self, columns: u64) -> (u64, Vec<Stretch>) {
        let width = self.end.0.div_ceil(columns).max(1);
        let mut shown = vec![];
        for lane in self.stretches.chunk_by(|a, b| a.lane == b.lane) {
            for (column, thread) in longest(lane, width) {
                let (from, to) =
                    (Nanos(column * width), Nanos(((column + 1) * width).min(self.end.0)));
                shown.push(Stretch { lane: lane[0].lane, thread, from, to });
            }
        }
        (width, joined(shown))
    }
}

/// Joins neighbours on one lane that touch and belong to one thread.
fn joined(stretches: Vec<Stretch>) -> Vec<Stretch> {
    let mut joined: Vec<Stretch> = vec![];
    for stretch in stretches {
        match joined.last_mut() {
            Some(last)
                if (last.lane, last.thread, last.to)
                    == (stretch.lane, stretch.thread, stretch.from) =>
            {
                last.to = stretch.to;
            }
            _ => joined.push(stretch),
        }
    }
    joined
}

/// For each column of a lane the thread that has most of it; columns that idle longer than that are
/// left out.
fn longest(lane: &[Stretch], width: u64) -> Vec<(u64, usize)> {
    let mut columns = vec![];
    let mut shares: Vec<(usize, u64)> = vec![];
    let mut current = 0;
    let close = |column: u64, shares: &mut Vec<(usize, u64)>, columns: &mut Vec<(u64, usize)>| {
        let busy: u64 = shares.iter().map(|share| share.1).sum();
        // Of equal shares the first.
        let most = shares
            .iter()
            .copied()
            .reduce(|best, share| if share.1 > best.1 { share } else { best });
        if let Some((thread, time)) = most
            && time >= width.saturating_sub(busy)
        {
            columns.push((column, thread));
        }
        shares.clear();
    };
    for stretch in lane {
        let mut from = stretch.from.0;
        while from < stretch.to.0 {
            let column = from / width;
            if column != current {
                close(current, &mut shares, &mut columns);
                current = column;
            }
            let until = stretch.to.0.min((column + 1).saturating_mul(width));
            match shares.iter_mut().find(|share| share.0 == stretch.thread) {
                Some(share) => share.1 += until - from,
                None => shares.push((stretch.thread, until - from)),
            }
            from = until;
        }
    }
    close(current, &mut shares, &mut columns);
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(runs: &[(usize, u64, u64)]) -> Vec<Stretch> {
        runs.iter()
            .map(|&(thread, from, to)| Stretch {
                lane: 0,
                thread,
                from: Nanos(from),
                to: Nanos(to),
            })
            .collect()
    }

    #[test]
    fn a_column_shows_the_thread_that_ran_longest_or_that_the_core_was_idle() {
        let runs = lane(&[(0, 0, 4), (1, 4, 10), (0, 13, 15), (2, 20, 45), (1, 46, 50)]);
        assert_eq!(longest(&runs, 10), [(0, 1), (2, 2), (3, 2), (4, 2)]);
    }

    #[test]
    fn runs_that_touch_become_one() {
        assert_eq!(
            joined(lane(&[(0, 0, 4), (0, 4, 6), (1, 6, 7), (1, 8, 9)])),
            lane(&[(0, 0, 6), (1, 6, 7), (1, 8, 9)])
        );
    }

    #[test]
    fn a_limit_is_kept_and_said() {
        let mut timeline = Timeline {
            record: 0,
            lanes: vec!["core 0 (big)".into()],
            apps: vec!["a".into()],
            threads: (0..2)
                .map(|number| TimelineThread { name: format!("t{number}"), app: 0 })
                .collect(),
            stretches: (0..1000)
                .map(|n| lane(&[(n % 2, 10 * n as u64, 10 * n as u64 + 10)])[0])
                .collect(),
            end: Nanos(10_000),
            column: None,
        };
        timeline.limit(1000);
        assert_eq!((timeline.stretches.len(), timeline.column), (1000, None));
        timeline.limit(70);
        assert!(timeline.stretches.len() <= 70 && timeline.column == Some(Nanos(143)));
        // One long run beside many short ones leaves room for finer columns.
        timeline.stretches =
            lane(&[(0, 0, 9_000), (1, 9_000, 9_400), (0, 9_400, 9_500), (1, 9_500, 10_000)]);
        timeline.limit(3);
        assert!(timeline.stretches.len() <= 3);
        assert!(timeline.column < Some(Nanos(10_000 / 3)), "{:?}", timeline.column);
    }
}
