//! Performance counters of threads, few at a time, and what a model tells from them.
//!
//! Every [`PERIOD`] each thread's counters are read, on each kind that it has run on since. They
//! show what its work implies there, by the interval model, with noise. What it loses to others, of
//! the bandwidth or of its cache after a move, shows as cycles in which it waits.

use std::sync::Arc;

use evenkeel_estimate::{
    Counters, Counts, Event, EventSet, LEAST_TIME, MachineModel, Model, PERIOD, Watched,
    generated::NOISE, modelled,
};
use evenkeel_machine::{Machine, Nanos, PerKind};
use evenkeel_model::character::CpiStack;
use evenkeel_model::{Application, Phase, SplitMix64};
use evenkeel_policy::State;

use crate::SimError;
use crate::calendar::owners::Owners;
use crate::config::{Config, Estimator};
use crate::mechanism::{Mechanism, NONE, priority};
use crate::trace::Listener;

/// Work whose counts are taken for one instruction's, in that many: rounding does not matter.
const MANY: u64 = 1_000_000_000;
/// Number of events.
const EVENTS: usize = Event::ALL.len();

/// Counters, and the model that goes by them.
#[derive(Debug)]
pub struct Counting {
    model: MachineModel,
    /// By character of work, then by kind.
    rates: Vec<Rates>,
    kinds: usize,
    /// By thread; none where it has not run yet, or has ended.
    threads: Vec<Option<Box<Counted>>>,
    /// Factors of a thread that has shown nothing yet, by capacity.
    pub prior: PerKind<f32>,
    seed: u64,
}

/// What an instruction of a character shows on a kind.
#[derive(Debug)]
struct Rates {
    per_instruction: [f64; EVENTS],
    /// Cycles in which the back end works.
    unstalled: f64,
}

#[derive(Debug)]
struct Counted {
    watched: Watched,
    random: SplitMix64,
    /// By kind.
    shown: Vec<Shown>,
}

/// What counters of a kind have shown of a thread since they were read.
#[derive(Clone, Debug, Default)]
struct Shown {
    time: Nanos,
    counts: [f64; EVENTS],
}

impl Counting {
    /// Counters of a machine, for the applications of a run; `None` where no model goes by them.
    ///
    /// # Errors
    /// If a kind does not say how it is built, work has no character, or the model is for other
    /// kinds: counters would show nothing.
    pub fn new(
        machine: &Machine,
        apps: &[Application],
        config: &Config,
    ) -> Result<Option<Self>, SimError> {
        let Estimator::Trained(model) = &config.estimator else { return Ok(None) };
        let model = model_of(model, machine)?;
        let mut rates = Vec::new();
        for app in apps {
            for phase in &app.phases {
                let character = phase.character.as_deref().ok_or_else(|| SimError::Workload {
                    app: app.name.clone(),
                    what: uncounted(phase),
                })?;
                for kind in &machine.kinds {
                    let Some(core) = &kind.core else { continue };
                    let ghz = kind.top().khz as f64 / 1e6;
                    let counts = modelled::window(character, core, ghz, MANY).counts;
                    let of = |event| counts.get(event).unwrap_or_default() as f64 / MANY as f64;
                    let stack = CpiStack::of(character, core, ghz);
                    rates.push(Rates {
                        per_instruction: Event::ALL.map(of),
                        unstalled: stack.base + stack.branches + stack.code,
                    });
                }
            }
        }
        Ok(Some(Self {
            model,
            rates,
            kinds: machine.kinds.len(),
            threads: Vec::new(),
            prior: machine.capacity_factors(),
            seed: config.seed,
        }))
    }
}

impl Counted {
    fn new(seed: u64, thread: usize, kinds: usize) -> Self {
        Self {
            watched: Watched::default(),
            random: SplitMix64::named(seed, &format!("counters of thread {thread}")),
            shown: vec![Shown::default(); kinds],
        }
    }

    /// Reads the counters of a kind, with noise on all but the instructions.
    fn read(&mut self, kind: usize, set: &EventSet) -> Counts {
        let shown = std::mem::take(&mut self.shown[kind]);
        let mut counts = Counts::default();
        for &event in set.events() {
            let count = shown.counts[event as usize];
            let is_exact = event == Event::Instructions;
            let noise = if is_exact { 0.0 } else { NOISE * self.random.normal() };
            counts.set(event, (count * (1.0 + noise)).round() as u64);
        }
        counts
    }
}

impl Shown {
    fn add(&mut self, rates: &Rates, time: Nanos, cycles: f64, instructions: f64) {
        self.time = self.time.saturating_add(time);
        for (count, rate) in self.counts.iter_mut().zip(rates.per_instruction) {
            *count += rate * instructions;
        }
        // Of the modelled ones these two are of a core that has the machine to itself.
        let modelled = [Event::Cycles, Event::BackendStalls];
        let stalled = (cycles - rates.unstalled * instructions).max(0.0);
        for (event, count) in modelled.into_iter().zip([cycles, stalled]) {
            let of_model = rates.per_instruction[event as usize] * instructions;
            self.counts[event as usize] += count - of_model;
        }
    }
}

/// Why counters show nothing of a phase.
fn uncounted(phase: &Phase) -> String {
    let why = match phase.reference_time {
        true => "states its work in time, not in instructions, of which counters tell nothing",
        false => "has no character, by which counters are told",
    };
    format!("phase '{}' {why}; expected another estimator", phase.name)
}

/// The model on this machine.
fn model_of(model: &Arc<Model>, machine: &Machine) -> Result<MachineModel, SimError> {
    let mut kinds: Vec<(&str, Counters)> = Vec::new();
    for kind in &machine.kinds {
        let core = kind.core.as_ref().ok_or_else(|| {
            SimError::Estimator(format!(
                "kind '{}' of {} does not say how it is built ([kinds.core]), by which counters \
                 are told",
                kind.name, machine.name
            ))
        })?;
        kinds.push((&kind.name, modelled::counters(core)));
    }
    MachineModel::new(model, &kinds).map_err(|error| SimError::Estimator(error.to_string()))
}

impl<L: Listener> Mechanism<'_, L> {
    /// Counters count from now on, if a model goes by them.
    pub fn start_counters(&mut self) {
        if self.counting.is_some() {
            self.passive_events += 1;
            self.calendar.set(Owners::COUNTERS, PERIOD, priority::COUNTERS);
        }
    }

    /// A core's thread has been on it for a while, and has done so much.
    #[cold]
    pub fn count(&mut self, core: usize, time: Nanos, work: u64) {
        let Some(Counting { rates, kinds, threads, seed, .. }) = &mut self.counting else { return };
        let state = &self.cores[core];
        let (thread, kind) = (state.running as usize, state.kind.index());
        if threads.len() <= thread {
            threads.resize_with(thread + 1, || None);
        }
        let counted =
            threads[thread].get_or_insert_with(|| Box::new(Counted::new(*seed, thread, *kinds)));
        let khz = self.machine.kinds[kind].opps[self.clusters[state.cluster].opp].khz;
        let cycles = time.0 as f64 * (khz as f64 / 1e6);
        let rates = &rates[self.threads[thread].row as usize * *kinds + kind];
        counted.shown[kind].add(rates, time, cycles, work as f64);
    }

    /// Reads the counters of all threads, and asks the model.
    pub fn read_counters(&mut self) {
        for core in 0..self.cores.len() {
            if self.cores[core].running != NONE {
                self.account(core);
            }
        }
        let Some(Counting { model, kinds, threads, .. }) = &mut self.counting else { return };
        for (stats, slot) in self.stats.iter_mut().zip(threads) {
            let Some(counted) = slot else { continue };
            for kind in 0..*kinds {
                if counted.shown[kind].time < LEAST_TIME {
                    continue;
                }
                let counts = counted.read(kind, model.set(&counted.watched, kind));
                if let Some(factors) = model.sample(&mut counted.watched, kind, &counts) {
                    stats.speedup = factors;
                }
            }
            if stats.state == State::Exited {
                *slot = None;
            }
        }
        self.calendar.set(Owners::COUNTERS, self.now + PERIOD, priority::COUNTERS);
    }
}
