//! The input of the generator: a row of the study's table, and what the table leaves open about a
//! program.

/// Counts of a whole run, as the age-based study has them (SC 2009).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Instructions of all threads.
    pub(super) instructions: u64,
    /// Lock acquisitions of all threads.
    pub(super) locks: u64,
    /// Barriers entered, all threads together.
    pub(super) barriers: u64,
    /// The main thread included.
    pub(super) threads: u32,
    /// Thread groups, the main thread's included.
    pub(super) groups: u32,
}

impl Row {
    /// From the table's columns: instructions, locks, barriers, threads, groups.
    pub(super) const fn new([instructions, locks, barriers, threads, groups]: [u64; 5]) -> Self {
        Self { instructions, locks, barriers, threads: threads as u32, groups: groups as u32 }
    }
}

/// What the main thread does while its workers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Main {
    /// Waits for them.
    Waits,
    /// Does a share of their work, of their mean length.
    Works,
}

/// What the table does not say of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Manner {
    /// Degree of symmetry: standard deviation of the lengths of a group's threads / their mean.
    pub(super) symmetry: f64,
    /// Share of the instructions that the main thread retires alone, half before its workers and
    /// half after.
    pub(super) serial: f64,
    pub(super) main: Main,
    /// Workers that run at once: the next starts when one of so many has ended.
    pub(super) at_once: u32,
}

/// A thread group: places of its workers among all workers.
pub(super) type Group = std::ops::Range<u32>;

impl Row {
    /// True if the main thread belongs to the only group, and is no group of its own.
    pub(super) fn one_group(&self) -> bool {
        self.groups == 1
    }

    /// Threads beside the main one.
    pub(super) fn workers(&self) -> u32 {
        self.threads - 1
    }

    /// The groups of the workers, as equal in size as can be, larger ones first.
    pub(super) fn worker_groups(&self) -> Vec<Group> {
        let (workers, groups) =
            (self.workers(), if self.one_group() { 1 } else { self.groups - 1 });
        let size = |group: u32| workers / groups + u32::from(group < workers % groups);
        let mut first = 0;
        (0..groups)
            .map(|group| {
                first += size(group);
                first - size(group)..first
            })
            .collect()
    }
}
