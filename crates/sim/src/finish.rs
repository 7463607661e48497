//! The end of a run: totals, or why there was none.

use evenkeel_machine::{CoreId, MicroWatts, Nanos, Work};
use evenkeel_policy::{AppId, Directives, State, ThreadId, ThreadStats};

use crate::SimError;
use crate::calendar::slots::Calendar;
use crate::mechanism::{Mechanism, NONE};
use crate::outcome::{AppOutcome, CoreOutcome, Outcome, ThreadOutcome};
use crate::programs::execute::square;
use crate::programs::thread::{Thread, WaitsFor};
use crate::queues::policy_queues::Queues;
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    /// Ends threads that still run, and adds up.
    pub fn finish(mut self) -> Outcome {
        for core in 0..self.cores.len() {
            if self.cores[core].running != NONE {
                self.account(core);
                self.hear_run(core);
            }
            self.cores[core].meter.set(self.now, MicroWatts::ZERO);
        }
        for cluster in &mut self.clusters {
            cluster.meter.set(self.now, MicroWatts::ZERO);
        }
        let now = self.now;
        self.give_back();
        let threads = self.tell_threads();
        let apps = self
            .specs
            .iter()
            .zip(&self.apps)
            .enumerate()
            .map(|(i, (spec, app))| AppOutcome {
                name: spec.name.clone(),
                threads: if app.threads_at_first > 0 { app.threads_at_first } else { app.threads },
                completions: app.completions.clone(),
                cut_at: app.completions.is_empty().then_some(app.cut_at.unwrap_or(now)),
                retired: threads
                    .iter()
                    .filter(|thread| thread.app == AppId(i as u32))
                    .map(|thread| thread.retired)
                    .sum(),
            })
            .collect();
        Outcome {
            makespan: now,
            apps,
            threads,
            cores: self
                .cores
                .iter()
                .enumerate()
                .map(|(i, core)| CoreOutcome {
                    core: CoreId(i as u32),
                    busy: core.busy_time,
                    idle: now - core.busy_time,
                    energy: self.energy.is_modelled.then_some(core.meter.energy()),
                })
                .collect(),
            cluster_energy: self
                .energy
                .is_modelled
                .then(|| self.clusters.iter().map(|cluster| cluster.meter.energy()).collect()),
            migrations: self.totals.migrations,
            swaps: self.totals.swaps,
            context_switches: self.totals.context_switches,
            wakeup_latency: self.totals.latency,
            sensors: self.energy.sensors.filter(|_| self.energy.is_modelled),
            events: self.totals.events,
            notes: self.policy.notes(),
        }
    }

    /// Gives back whatever was needed to get here and totals are not made of: they take its place.
    fn give_back(&mut self) {
        self.calendar = Calendar::default();
        self.queues = Queues::default();
        self.live = Vec::new();
        self.affinity = Vec::new();
        self.events = Vec::new();
        self.arrivals = Vec::new();
        self.say = Directives::default();
    }

    /// Totals by thread. What is told is given back portion by portion, so that a run needs no more
    /// memory at its end than in its course.
    fn tell_threads(&mut self) -> Vec<ThreadOutcome> {
        const PORTION: usize = 1024;
        let mut told = Vec::with_capacity(self.threads.len());
        while !self.threads.is_empty() {
            let rest = self.threads.len().saturating_sub(PORTION);
            for index in (rest..self.threads.len()).rev() {
                told.push(self.tell_thread(ThreadId(index as u32)));
            }
            self.threads.truncate(rest);
            self.threads.shrink_to_fit();
            // Statistics stay until the end: what is aligned to lines of the cache is shrunk by way
            // of a copy (std::alloc, `realloc` beyond the least alignment).
        }
        told.reverse();
        told
    }

    fn tell_thread(&self, id: ThreadId) -> ThreadOutcome {
        let (thread, stats) = (&self.threads[id.index()], &self.stats[id.index()]);
        let since = self.now.saturating_sub(stats.since);
        let more =
            |state: State| if stats.state == state && thread.started { since } else { Nanos::ZERO };
        ThreadOutcome {
            name: self.name_of(id),
            app: stats.app,
            started: stats.started,
            ended: (stats.state == State::Exited).then_some(stats.since),
            time_on: stats.time_on,
            waiting: stats.waiting + more(State::Ready),
            blocked: stats.blocked + more(State::Blocked),
            retired: stats.retired,
            distance: Work(
                ((thread.squares + square(stats.since_milestone)) / (stats.retired.0.max(1) as f64))
                    as u64,
            ),
            migrations: thread.migrations,
            runs: stats.runs,
            periods: self.periods.get(&id).copied().map(Box::new),
        }
    }

    /// Why no thread can go on: what each waits for.
    pub fn stuck(&self) -> SimError {
        let of = |thread: &Thread, stats: &ThreadStats| match (stats.state, thread.waits_for) {
            (State::Ready, _) => "a core, which the policy serves it nowhere".to_owned(),
            (_, WaitsFor::Barrier(i)) => format!("barrier {i}"),
            (_, WaitsFor::Lock(i)) => format!("lock {i}"),
            (_, WaitsFor::Condition(i)) => format!("condition {i}"),
            (_, WaitsFor::Semaphore(i)) => format!("semaphore {i}"),
            (_, WaitsFor::Room(i)) => format!("room in queue {i}"),
            (_, WaitsFor::Item(i)) => format!("an item in queue {i}"),
            (_, WaitsFor::Children) => "its children".to_owned(),
            (_, WaitsFor::Resume) => "being resumed".to_owned(),
            (_, WaitsFor::Task(i)) => format!("a task of graph {i}"),
            (_, other) => format!("{other:?}"),
        };
        let waiting: Vec<_> = (0..self.threads.len())
            .filter(|&index| self.stats[index].state != State::Exited)
            .map(|index| {
                let name = self.name_of(ThreadId(index as u32));
                format!("{name} waits for {}", of(&self.threads[index], &self.stats[index]))
            })
            .collect();
        const SHOWN: usize = 5;
        let more = match waiting.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        SimError::Deadlock {
            at: self.now.to_string(),
            waiting: format!("{}{more}", waiting[..waiting.len().min(SHOWN)].join(", ")),
        }
    }

    pub fn timeless(&self) -> SimError {
        let busiest =
            self.cores.iter().find(|core| core.running != NONE).map(|core| core.running as usize);
        SimError::Workload {
            app: busiest
                .map_or_else(String::new, |t| self.specs[self.stats[t].app.index()].name.clone()),
            what: format!(
                "at {} threads go round without taking time: a loop of steps that last nothing",
                self.now
            ),
        }
    }
}
