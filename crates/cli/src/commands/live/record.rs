//! The result record of a live run.

use std::cmp::Reverse;
use std::time::Duration;

use evenkeel_linux::live::{Finished, Sums};
use evenkeel_machine::{KindId, Nanos, PerKind};
use evenkeel_metrics::{AppRow, KindRow, LatencySummary, LiveRow, Record, Subject, ThreadRow};
use evenkeel_policy::ThreadStats;
use indexmap::IndexMap;

use crate::plan::Chosen;

/// Rows of applications that are printed: a build starts thousands.
const SHOWN: usize = 12;

/// What a record needs besides the session.
pub struct Run<'a> {
    /// The names of what ran, for people.
    pub workloads: Vec<String>,
    /// Under which policy.
    pub policy: &'a Chosen,
    /// True for a row for every thread.
    pub threads: bool,
    /// What the record's time is the time of.
    pub time: Of,
}

/// What a record's time is the time of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The program's: until the last of its processes ended.
    Program,
    /// The session: some of the threads go on after it.
    Session,
}

impl Run<'_> {
    /// The record of a session that has ended.
    pub fn record(&self, finished: &Finished) -> Record {
        let machine = &finished.machine;
        let (totals, wall) = (finished.totals, finished.cost.wall);
        let last_end =
            || finished.apps.iter().filter_map(|app| app.ended).max().filter(|end| *end <= wall);
        let makespan = match self.time {
            Of::Program => last_end().unwrap_or(wall),
            Of::Session => wall,
        };
        let kinds = machine.kinds.iter().enumerate().map(|(rank, kind)| {
            let cores: Vec<_> = machine.cores_of(KindId(rank as u8)).collect();
            let busy: f64 =
                cores.iter().map(|core| finished.busy[core.index()].as_secs_f64()).sum();
            let idle = (cores.len() as f64 * makespan.as_secs_f64() - busy).max(0.0);
            (
                kind.name.clone(),
                KindRow { busy_s: busy, idle_s: idle, energy_j: None, mean_power_w: None },
            )
        });
        let subject = Subject {
            machine,
            policy: self.policy.name(),
            knobs: self.policy.knobs(),
            workloads: &self.workloads,
            // A live run draws no random numbers.
            seed: 0,
        };
        Record {
            makespan_s: makespan.as_secs_f64(),
            migrations: totals.migrations,
            swaps: totals.swaps,
            context_switches: totals.context_switches,
            apps: self.apps(finished, wall),
            kinds: kinds.collect(),
            threads: self.threads.then(|| self.rows(finished)),
            live: Some(LiveRow {
                mechanism: finished.mechanism.into(),
                source: finished.source.clone(),
                parked: finished.parked,
                cost: finished.cost.cpu.0 as f64 / wall.0.max(1) as f64,
                looks: finished.cost.looks,
                changes: totals.calls,
                refused: totals.refused,
                missed: finished.missed,
                reaction_us: summary(&finished.reactions),
                energy_measured: None,
            }),
            ..subject.blank(Duration::from_nanos(wall.0))
        }
    }

    fn apps(&self, finished: &Finished, wall: Nanos) -> Vec<AppRow> {
        let row = |name: String, threads: u32, took: Nanos, had: &Sums| AppRow {
            name,
            threads,
            completion_s: took.as_secs_f64(),
            slowdown: None,
            cut_at_s: None,
            alone_fast_s: 0.0,
            alone_slow_s: 0.0,
            time_on_kind_s: on_kinds(finished, &had.time_on),
            wait_s: had.waiting.as_secs_f64(),
            blocked_s: had.blocked.as_secs_f64(),
            migrations: had.migrations,
            timers: None,
        };
        let mut rows: Vec<AppRow> = finished
            .apps
            .iter()
            .map(|app| {
                let name = if app.name.is_empty() {
                    format!("process {}", app.process.0)
                } else {
                    app.name.clone()
                };
                let took = app.ended.unwrap_or(wall).saturating_sub(app.started);
                row(name, app.threads, took, &app.forgotten)
            })
            .collect();
        for (index, stats) in finished.stats.iter().enumerate() {
            let row = &mut rows[stats.app.index()];
            row.wait_s += stats.waiting.as_secs_f64();
            row.blocked_s += stats.blocked.as_secs_f64();
            row.migrations += finished.tids[index].1;
            for (kind, time) in on_kinds(finished, &stats.time_on) {
                *row.time_on_kind_s.entry(kind).or_insert(0.0) += time;
            }
        }
        let forgotten = &finished.forgotten;
        if forgotten.apps > 0 {
            let threads = u32::try_from(forgotten.threads).unwrap_or(u32::MAX);
            rows.push(row(
                format!("{} that ended before", forgotten.apps),
                threads,
                forgotten.longest,
                &forgotten.sums,
            ));
        }
        rows
    }

    fn rows(&self, finished: &Finished) -> Vec<ThreadRow> {
        let row = |(index, stats): (usize, &ThreadStats)| {
            let (tid, migrations) = finished.tids[index];
            let ended = stats.state == evenkeel_policy::State::Exited;
            ThreadRow {
                name: tid.0.to_string(),
                app: finished.apps[stats.app.index()].name.clone(),
                started_s: stats.started.as_secs_f64(),
                ended_s: ended.then(|| stats.since.as_secs_f64()),
                time_on_kind_s: on_kinds(finished, &stats.time_on),
                wait_s: stats.waiting.as_secs_f64(),
                blocked_s: stats.blocked.as_secs_f64(),
                retired: stats.retired.0,
                migrations,
                runs: stats.runs,
                timers: None,
            }
        };
        finished.stats.iter().enumerate().map(row).collect()
    }
}

/// Of times in ascending order.
fn summary(times: &[Nanos]) -> Option<LatencySummary> {
    let us = |time: Nanos| time.0 as f64 / 1e3;
    // The nearest rank.
    let percentile = |percent: usize| us(times[(times.len() * percent).div_ceil(100).max(1) - 1]);
    let (least, max) = (us(*times.first()?), us(*times.last()?));
    let mean = times.iter().copied().map(us).sum::<f64>() / times.len() as f64;
    Some(LatencySummary { p50: percentile(50), p99: percentile(99), max, least, mean })
}

fn on_kinds(finished: &Finished, time_on: &PerKind<Nanos>) -> IndexMap<String, f64> {
    let kinds = finished.machine.kinds.iter().enumerate();
    kinds
        .map(|(rank, kind)| (kind.name.clone(), time_on[KindId(rank as u8)].as_secs_f64()))
        .collect()
}

/// The record as it is printed: the applications that ran longest, the others in one row.
pub fn shortened(record: &Record) -> Record {
    let mut record = record.clone();
    if record.apps.len() > SHOWN {
        let on_cores = |app: &AppRow| app.time_on_kind_s.values().sum::<f64>();
        record.apps.sort_by_key(|app| Reverse((on_cores(app) * 1e9) as u64));
        let rest = record.apps.split_off(SHOWN - 1);
        let mut others = rest[0].clone();
        others.name = format!("{} others", rest.len());
        for app in &rest[1..] {
            others.threads += app.threads;
            others.completion_s = others.completion_s.max(app.completion_s);
            others.wait_s += app.wait_s;
            others.blocked_s += app.blocked_s;
            others.migrations += app.migrations;
            for (kind, time) in &app.time_on_kind_s {
                *others.time_on_kind_s.entry(kind.clone()).or_insert(0.0) += time;
            }
        }
        record.apps.push(others);
    }
    record
}
