//! What a session has done at one instant, and what that comes to per second between two: for
//! `--stats`, and for `--monitor` in another process.

use std::time::Duration;

use evenkeel_linux::live::Session;
use serde::{Deserialize, Serialize};

/// Which process schedules, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The process.
    pub pid: u32,
    /// Policy, with the knobs that were set.
    pub policy: String,
    /// Name of the machine.
    pub machine: String,
    /// Description of the threads that it schedules.
    pub scope: String,
    /// `affinity` or `sched_ext`.
    pub mechanism: String,
    /// Its source of what threads do, for people.
    pub source: String,
}

/// A session at one instant. Counts are since its beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    #[serde(flatten)]
    pub identity: Identity,
    /// Since it began to schedule.
    pub uptime_s: f64,
    /// Threads that have not ended.
    pub threads: usize,
    /// Of these, the threads that run or wait for a core.
    pub runnable: usize,
    pub switches: u64,
    pub migrations: u64,
    pub swaps: u64,
    /// System calls that changed where or how a thread runs.
    pub changes: u64,
    pub refused: u64,
    pub looks: u64,
    /// CPU time of looking at threads.
    pub cpu_s: f64,
}

impl Snapshot {
    pub fn of(identity: Identity, session: &dyn Session, uptime: Duration) -> Self {
        let (totals, cost, (threads, runnable)) =
            (session.totals(), session.cost(), session.alive());
        Self {
            identity,
            uptime_s: uptime.as_secs_f64(),
            threads,
            runnable,
            switches: totals.context_switches,
            migrations: totals.migrations,
            swaps: totals.swaps,
            changes: totals.calls,
            refused: totals.refused,
            looks: cost.looks,
            cpu_s: cost.cpu.as_secs_f64(),
        }
    }
}

/// What was done between two snapshots, per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    pub switches: f64,
    pub migrations: f64,
    pub swaps: f64,
    pub changes: f64,
    pub looks: f64,
}

/// A snapshot, and what has been done since one before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics<'a> {
    #[serde(flatten)]
    now: &'a Snapshot,
    /// Time between the two.
    interval_s: f64,
    /// CPU time of looking at threads, part of one core.
    cost: f64,
    per_second: Rates,
}

impl<'a> Statistics<'a> {
    /// What was done since `before`: a snapshot of the same session, or an empty one for the whole
    /// time.
    pub fn since(before: &Snapshot, now: &'a Snapshot) -> Self {
        let interval_s = (now.uptime_s - before.uptime_s).max(0.0);
        // Over no time there is no rate.
        let over = |amount: f64| if interval_s > 0.0 { amount / interval_s } else { 0.0 };
        let rate = |now: u64, before: u64| over(now.saturating_sub(before) as f64);
        let per_second = Rates {
            switches: rate(now.switches, before.switches),
            migrations: rate(now.migrations, before.migrations),
            swaps: rate(now.swaps, before.swaps),
            changes: rate(now.changes, before.changes),
            looks: rate(now.looks, before.looks),
        };
        Self { now, interval_s, cost: over((now.cpu_s - before.cpu_s).max(0.0)), per_second }
    }

    /// One line for people, with its end of line.
    pub fn line(&self) -> String {
        let Rates { switches, migrations, swaps, changes, looks } = self.per_second;
        format!(
            "{:8.1} s  threads {}, runnable {}; per second: {switches:.0} switches, \
             {migrations:.1} migrations, {swaps:.1} swaps, \
             {changes:.1} changes; cost {:.2} %, {looks:.0} looks/s\n",
            self.now.uptime_s,
            self.now.threads,
            self.now.runnable,
            100.0 * self.cost,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(uptime_s: f64, switches: u64, cpu_s: f64) -> Snapshot {
        Snapshot { uptime_s, switches, cpu_s, threads: 7, runnable: 2, ..Snapshot::default() }
    }

    #[test]
    fn rates_are_of_the_time_between_two_snapshots() {
        let (before, now) = (at(10.0, 1000, 0.1), at(12.0, 3000, 0.12));
        let statistics = Statistics::since(&before, &now);
        assert_eq!(statistics.per_second.switches, 1000.0);
        assert!((statistics.cost - 0.01).abs() < 1e-9);
        let line = statistics.line();
        assert!(
            line.starts_with("    12.0 s  threads 7, runnable 2; per second: 1000 switches"),
            "{line}"
        );
        assert!(line.contains("cost 1.00 %"), "{line}");
    }

    #[test]
    fn no_time_between_two_snapshots_has_no_rates() {
        let now = at(10.0, 1000, 0.1);
        let statistics = Statistics::since(&now, &now);
        assert_eq!((statistics.per_second.switches, statistics.cost), (0.0, 0.0));
    }

    #[test]
    fn a_snapshot_survives_its_way_through_json() {
        let before = at(10.0, 1000, 0.1);
        let text = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), before);
    }
}
