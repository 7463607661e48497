//! What must be asked thread by thread: how long it ran, where the source of events tells nothing
//! of switches; and what it retired on each kind of core, where the hardware counts that.

use std::path::Path;

use evenkeel_machine::{KindId, Nanos, PerKind};
use evenkeel_policy::{State, ThreadId};

use super::Mechanism;
use super::kernel::Kernel;
use crate::observe::counters::{
    IpcSampler, OnPmu, Pmu, RunState, ThreadCounters, ThreadTimes, Times, kind_of, pmus,
};
use crate::observe::watch::{Source, Tid};

/// How often counters are read.
const PERIOD: Nanos = Nanos::from_millis(200);
/// What lies so long back, in a thread's own running time, counts half: five of the periods at
/// which acfs asks.
const HALF_LIFE: Nanos = Nanos::from_secs(1);

#[derive(Default)]
struct Sampled {
    /// The thread that this belongs to: its number may have been another's before.
    tid: Tid,
    times: Option<(ThreadTimes, Times)>,
    counts: Option<Counted>,
    /// Not opened, or not readable: it is not tried again.
    given_up: bool,
}

struct Counted {
    counters: ThreadCounters,
    before: [OnPmu; ThreadCounters::MOST_PMUS],
    time_on: PerKind<Nanos>,
    sampler: IpcSampler,
}

/// Counters and run times of threads, read at an interval.
pub struct Sampling {
    /// True if run times must be asked for.
    times: bool,
    pmus: Vec<Pmu>,
    /// By PMU, the kind that all its CPUs are of.
    kinds: Vec<Option<KindId>>,
    /// By thread.
    threads: Vec<Sampled>,
    /// Threads that have files open.
    open: Vec<ThreadId>,
    last_counts: Nanos,
}

impl Sampling {
    /// For a source of events, and the counters that the machine has, unless a model goes by them.
    pub fn new(
        source: Source,
        sysfs: &Path,
        machine: &evenkeel_machine::Machine,
        by_model: bool,
    ) -> Self {
        // No counters: speedup factors are then what capacities, or names of programs, say.
        let mut pmus = if by_model { Vec::new() } else { pmus(sysfs).unwrap_or_default() };
        pmus.truncate(ThreadCounters::MOST_PMUS);
        let own = Tid(rustix::thread::gettid().as_raw_nonzero().get());
        if ThreadCounters::open(&pmus, own).is_err() {
            pmus.clear();
        }
        let kinds = pmus.iter().map(|pmu| kind_of(pmu, machine)).collect();
        Self {
            times: source != Source::Perf,
            pmus,
            kinds,
            threads: Vec::new(),
            open: Vec::new(),
            last_counts: Nanos::ZERO,
        }
    }

    /// True if instructions are counted on each kind.
    pub fn counts(&self) -> bool {
        !self.pmus.is_empty()
    }

    /// True if run times must be asked for.
    pub fn asks(&self) -> bool {
        self.times
    }

    /// From now on run times must be asked for, of the threads that there are too: no switches are
    /// told any more.
    pub fn begin_to_ask<K: Kernel>(&mut self, mechanism: &Mechanism<K>) {
        self.times = true;
        self.threads.resize_with(mechanism.stats().len(), Sampled::default);
        for (thread, tid) in mechanism.live() {
            if self.threads[thread.index()].tid != tid {
                self.threads[thread.index()] = Sampled { tid, ..Sampled::default() };
            }
            self.open_times(mechanism, thread, tid, true);
        }
    }

    /// Opens what tells how long a thread has run. `from_now`: what it ran before does not count.
    fn open_times<K: Kernel>(
        &mut self,
        mechanism: &Mechanism<K>,
        thread: ThreadId,
        tid: Tid,
        from_now: bool,
    ) {
        let process =
            mechanism.roster().apps()[mechanism.stats()[thread.index()].app.index()].process;
        let before = |times: &ThreadTimes| match from_now {
            true => times.times().ok(),
            false => Some(Times::default()),
        };
        let sampled = &mut self.threads[thread.index()];
        sampled.times = ThreadTimes::open(process, tid)
            .ok()
            .and_then(|times| before(&times).map(|ran| (times, ran)));
        sampled.given_up = sampled.times.is_none();
        self.open.push(thread);
    }

    /// Asks for what is due, and tells the mechanism. `at`: `CLOCK_MONOTONIC`.
    pub fn sample<K: Kernel>(&mut self, mechanism: &mut Mechanism<K>, at: Nanos) {
        let count = !self.pmus.is_empty() && at.saturating_sub(self.last_counts) >= PERIOD;
        if !self.times && !count {
            return;
        }
        if count {
            self.last_counts = at;
        }
        let live: Vec<_> = mechanism.live().collect();
        self.threads.resize_with(mechanism.stats().len(), Sampled::default);
        for (thread, tid) in live {
            if self.threads[thread.index()].tid != tid {
                self.threads[thread.index()] = Sampled { tid, ..Sampled::default() };
            }
            if self.times {
                let sampled = &self.threads[thread.index()];
                if sampled.times.is_none() && !sampled.given_up {
                    // What a found thread ran before the session began does not count.
                    let was_found = mechanism.was_found(thread);
                    self.open_times(mechanism, thread, tid, was_found);
                }
                let sampled = &mut self.threads[thread.index()];
                if let Some((account, before)) = &mut sampled.times
                    && let (Ok(times), Ok((state, cpu))) = (account.times(), account.state())
                {
                    let ran = times.run.saturating_sub(before.run);
                    let waited = times.wait.saturating_sub(before.wait);
                    *before = times;
                    mechanism.sampled(tid, cpu, (ran, waited), state == RunState::Runnable, at);
                }
            }
            if count {
                self.count(mechanism, thread, tid);
            }
        }
        // Files of threads that have ended are closed.
        let threads = &mut self.threads;
        self.open.retain(|thread| {
            let ended = mechanism.stats()[thread.index()].state == State::Exited;
            if ended {
                let sampled = &mut threads[thread.index()];
                *sampled = Sampled { tid: sampled.tid, given_up: true, ..Sampled::default() };
            }
            !ended
        });
    }

    fn count<K: Kernel>(&mut self, mechanism: &mut Mechanism<K>, thread: ThreadId, tid: Tid) {
        let sampled = &mut self.threads[thread.index()];
        let time_on = mechanism.stats()[thread.index()].time_on;
        let Some(counted) = &mut sampled.counts else {
            sampled.counts = ThreadCounters::open(&self.pmus, tid).ok().map(|counters| Counted {
                counters,
                before: [OnPmu::default(); ThreadCounters::MOST_PMUS],
                time_on,
                sampler: IpcSampler::new(HALF_LIFE),
            });
            self.open.push(thread);
            return;
        };
        let mut now = counted.before;
        if counted.counters.read(&mut now).is_err() {
            return;
        }
        // Where a PMU spans kinds, only a thread that has been on one of them since is known to
        // have retired its instructions there.
        let mut on = (0..mechanism.machine().kinds.len() as u8)
            .map(KindId)
            .filter(|&kind| time_on[kind] > counted.time_on[kind]);
        let only = match (on.next(), on.next()) {
            (Some(kind), None) => Some(kind),
            _ => None,
        };
        for (index, kind) in self.kinds.iter().enumerate() {
            let (now, before) = (now[index], counted.before[index]);
            let time = now.time.saturating_sub(before.time);
            if let Some(kind) = kind.or(only)
                && time > Nanos::ZERO
            {
                counted.sampler.feed(
                    kind,
                    now.instructions.saturating_sub(before.instructions),
                    time,
                );
            }
        }
        counted.before = now;
        counted.time_on = time_on;
        let slowest = mechanism.machine().slowest();
        let mut factors = mechanism.stats()[thread.index()].speedup;
        let mut known = false;
        for kind in (0..mechanism.machine().kinds.len() as u8).map(KindId) {
            if let Some(speedup) = counted.sampler.speedup(kind, slowest) {
                factors[kind] = speedup as f32;
                known |= kind != slowest;
            }
        }
        if known {
            mechanism.estimate(thread, factors);
        }
    }
}
