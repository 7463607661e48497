//! Makes the record of a run from its totals.

use std::time::Duration;

use evenkeel_machine::{FemtoJoules, KindId, Machine, Nanos, PerKind};
use evenkeel_policy::{Knobs, Value};
use evenkeel_sim::{Latencies, Outcome, Periods, ThreadOutcome};
use indexmap::IndexMap;

use crate::alone::Alone;
use crate::measures::{antt, asp, stp, unfairness};
use crate::progress::Progress;
use crate::record::{
    AppRow, KindRow, Knob, LatencySummary, Record, SCHEMA, SensorRow, ThreadRow, TimerRow,
    WakeupLatency,
};

/// The part of a record that is known before the run.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The machine as used, which may be a part of the one that was named.
    pub machine: &'a Machine,
    /// Name of the policy.
    pub policy: &'a str,
    /// Its knobs.
    pub knobs: &'a Knobs,
    /// The workloads as asked for.
    pub workloads: &'a [String],
    /// Seed.
    pub seed: u64,
}

impl Subject<'_> {
    /// The record of a run that failed.
    pub fn failure(&self, error: String, wall: Duration) -> Record {
        Record { error: Some(error), ..self.blank(wall) }
    }

    /// The record of a run that was carried out. `alone` is by application, in the order of the
    /// outcome's.
    pub fn record(
        &self,
        outcome: &Outcome,
        alone: &[Alone],
        per_thread: bool,
        wall: Duration,
    ) -> Record {
        let progress: Vec<Progress> =
            outcome.apps.iter().map(|app| Progress::of(app, outcome)).collect();
        let against = |reference: fn(&Alone) -> &Progress| -> Vec<f64> {
            progress
                .iter()
                .zip(alone)
                .map(|(here, alone)| here.slowdown_over(reference(alone)))
                .collect()
        };
        let slowdowns = against(|alone| &alone.fast);
        let over_slow: Vec<f64> =
            against(|alone| &alone.slow).iter().map(|slowdown| 1.0 / slowdown).collect();
        let speedup = match (progress.as_slice(), alone) {
            ([here], [Alone { one_slow: Some(one), .. }]) => Some(1.0 / here.slowdown_over(one)),
            _ => None,
        };
        let makespan_s = outcome.makespan.as_secs_f64();
        let energy_j = total_energy(outcome).map(FemtoJoules::as_joules_f64);
        let apps = progress.iter().zip(alone).zip(&slowdowns).enumerate();
        Record {
            makespan_s,
            speedup,
            energy_j,
            mean_power_w: energy_j.and_then(|energy| mean(energy, makespan_s)),
            edp_js: energy_j.map(|energy| energy * makespan_s),
            unfairness: unfairness(&slowdowns),
            asp: (!over_slow.is_empty()).then(|| asp(&over_slow)),
            stp: (!slowdowns.is_empty()).then(|| stp(&slowdowns)),
            antt: antt(&slowdowns),
            migrations: outcome.migrations,
            swaps: outcome.swaps,
            context_switches: outcome.context_switches,
            apps: apps
                .map(|(app, ((here, alone), slowdown))| {
                    self.app(outcome, app, here, alone, *slowdown)
                })
                .collect(),
            kinds: self.kinds(outcome, makespan_s),
            threads: per_thread.then(|| {
                outcome.threads.iter().map(|thread| self.thread(outcome, thread)).collect()
            }),
            wakeup_latency_us: self.wakeups(&outcome.wakeup_latency),
            timers: timers(outcome.threads.iter()),
            sensor: outcome.sensors.as_ref().map(|sensors| SensorRow {
                interval_s: sensors.interval.as_secs_f64(),
                readings: sensors.readings() as u64,
                energy_j: sensors.energies().sum::<FemtoJoules>().as_joules_f64(),
                clusters_j: sensors.energies().map(FemtoJoules::as_joules_f64).collect(),
            }),
            ..self.blank(wall)
        }
    }

    /// A record with what was run and no results yet: for runs outside the simulator.
    pub fn blank(&self, wall: Duration) -> Record {
        let knobs = self.knobs.iter().map(|(name, value)| {
            let value = match value {
                Value::Number(number) => Knob::Number(*number),
                Value::Word(word) => Knob::Word((*word).into()),
            };
            (name.to_owned(), value)
        });
        Record {
            schema: SCHEMA.into(),
            machine: self.machine.name.clone(),
            cores: self.machine.cores_label(),
            policy: self.policy.into(),
            knobs: knobs.collect(),
            workloads: self.workloads.to_vec(),
            seed: self.seed,
            seeds: None,
            estimator: None,
            makespan_s: 0.0,
            speedup: None,
            energy_j: None,
            mean_power_w: None,
            edp_js: None,
            unfairness: None,
            asp: None,
            stp: None,
            antt: None,
            migrations: 0,
            swaps: 0,
            context_switches: 0,
            apps: Vec::new(),
            kinds: IndexMap::new(),
            threads: None,
            wakeup_latency_us: None,
            timers: None,
            sensor: None,
            graph: None,
            live: None,
            wall_s: wall.as_secs_f64(),
            error: None,
        }
    }

    /// Ranks and names of the kinds that have a core, fastest first.
    fn kinds_in_use(&self) -> impl Iterator<Item = (KindId, &str)> {
        let kinds = self.machine.kinds.iter().enumerate();
        kinds
            .map(|(rank, kind)| (KindId(rank as u8), kind.name.as_str()))
            .filter(|(rank, _)| self.machine.cores_of(*rank).next().is_some())
    }

    fn times(&self, time_on: impl Fn(KindId) -> Nanos) -> IndexMap<String, f64> {
        self.kinds_in_use()
            .map(|(rank, name)| (name.to_owned(), time_on(rank).as_secs_f64()))
            .collect()
    }

    fn app(
        &self,
        outcome: &Outcome,
        app: usize,
        here: &Progress,
        alone: &Alone,
        slowdown: f64,
    ) -> AppRow {
        let mut time_on = PerKind::all(Nanos::ZERO);
        let (mut waiting, mut blocked, mut migrations) = (Nanos::ZERO, Nanos::ZERO, 0);
        for thread in outcome.threads.iter().filter(|thread| thread.app.index() == app) {
            for (sum, time) in time_on.0.iter_mut().zip(thread.time_on.0) {
                *sum += time;
            }
            waiting += thread.waiting;
            blocked += thread.blocked;
            migrations += thread.migrations;
        }
        AppRow {
            name: outcome.apps[app].name.clone(),
            threads: outcome.apps[app].threads,
            completion_s: here.shown().as_secs_f64(),
            slowdown: Some(slowdown),
            cut_at_s: outcome.apps[app].cut_at.map(Nanos::as_secs_f64),
            alone_fast_s: alone.fast.shown().as_secs_f64(),
            alone_slow_s: alone.slow.shown().as_secs_f64(),
            time_on_kind_s: self.times(|kind| time_on[kind]),
            wait_s: waiting.as_secs_f64(),
            blocked_s: blocked.as_secs_f64(),
            migrations,
            timers: timers(outcome.threads.iter().filter(|thread| thread.app.index() == app)),
        }
    }

    fn thread(&self, outcome: &Outcome, thread: &ThreadOutcome) -> ThreadRow {
        ThreadRow {
            name: thread.name.clone(),
            app: outcome
                .apps
                .get(thread.app.index())
                .map(|app| app.name.clone())
                .unwrap_or_default(),
            started_s: thread.started.as_secs_f64(),
            ended_s: thread.ended.map(Nanos::as_secs_f64),
            time_on_kind_s: self.times(|kind| thread.time_on[kind]),
            wait_s: thread.waiting.as_secs_f64(),
            blocked_s: thread.blocked.as_secs_f64(),
            retired: thread.retired.0,
            migrations: thread.migrations,
            runs: thread.runs,
            timers: timers([thread].into_iter()),
        }
    }

    fn kinds(&self, outcome: &Outcome, makespan_s: f64) -> IndexMap<String, KindRow> {
        let row = |rank: KindId| {
            let (mut busy, mut idle, mut energy) =
                (Nanos::ZERO, Nanos::ZERO, Some(FemtoJoules::ZERO));
            for core in outcome
                .cores
                .iter()
                .filter(|core| self.machine.cores[core.core.index()].kind == rank)
            {
                busy += core.busy;
                idle += core.idle;
                energy = energy.zip(core.energy).map(|(sum, more)| sum + more);
            }
            for (index, cluster) in
                self.machine.clusters.iter().enumerate().filter(|(_, it)| it.kind == rank)
            {
                let more = outcome.cluster_energy.as_ref().and_then(|all| all.get(index)).copied();
                // A cluster of which no core is in use adds no energy to this run.
                energy = if cluster.cores.is_empty() {
                    energy
                } else {
                    energy.zip(more).map(|(sum, more)| sum + more)
                };
            }
            let energy_j = energy.map(FemtoJoules::as_joules_f64);
            KindRow {
                busy_s: busy.as_secs_f64(),
                idle_s: idle.as_secs_f64(),
                energy_j,
                mean_power_w: energy_j.and_then(|energy| mean(energy, makespan_s)),
            }
        };
        self.kinds_in_use().map(|(rank, name)| (name.to_owned(), row(rank))).collect()
    }

    fn wakeups(&self, by_kind: &[Latencies]) -> Option<WakeupLatency> {
        let mut all = Latencies::default();
        by_kind.iter().for_each(|latencies| all.merge(latencies));
        let kinds = by_kind.iter().zip(&self.machine.kinds);
        Some(WakeupLatency {
            all: summary(&all)?,
            kinds: kinds
                .filter_map(|(latencies, kind)| Some((kind.name.clone(), summary(latencies)?)))
                .collect(),
        })
    }
}

/// How well some threads kept their periods.
fn timers<'a>(threads: impl Iterator<Item = &'a ThreadOutcome>) -> Option<TimerRow> {
    let mut all = Periods::default();
    threads.filter_map(|thread| thread.periods.as_ref()).for_each(|periods| all.merge(periods));
    let us = |ns: f64| ns / 1e3;
    (all.waits > 0).then(|| TimerRow {
        waits: all.waits,
        missed: all.missed,
        least_slack_us: us(all.least_slack as f64),
        mean_slack_us: us(all.slack as f64 / all.waits as f64),
        mean_latency_us: (all.woken > 0).then(|| us(all.latency.0 as f64 / all.woken as f64)),
        greatest_latency_us: (all.woken > 0).then(|| us(all.greatest_latency.0 as f64)),
    })
}

/// Energy of all cores and clusters; `None`: no power model.
fn total_energy(outcome: &Outcome) -> Option<FemtoJoules> {
    let clusters: FemtoJoules = outcome.cluster_energy.as_ref()?.iter().copied().sum();
    outcome.cores.iter().try_fold(clusters, |sum, core| Some(sum + core.energy?))
}

/// Power that amounts to this energy, watts; `None` for a run that took no time.
fn mean(energy_j: f64, makespan_s: f64) -> Option<f64> {
    (makespan_s > 0.0).then(|| energy_j / makespan_s)
}

fn summary(latencies: &Latencies) -> Option<LatencySummary> {
    let us = |time: Option<Nanos>| time.map(|time| time.0 as f64 / 1e3);
    Some(LatencySummary {
        p50: us(latencies.quantile(0.5))?,
        p99: us(latencies.quantile(0.99))?,
        max: us(latencies.greatest())?,
        least: us(latencies.least())?,
        mean: us(latencies.mean())?,
    })
}
