//! Speedup factors of real threads from a model and their counters, for both mechanisms.
//!
//! Every [`PERIOD`] each thread's counters are read, on each kind of core that it has run on since,
//! and the next set of events counts there. What is told holds until the next whole round.

use std::fmt;
use std::io;
use std::path::Path;

use evenkeel_estimate::{
    Counters, Event, LEAST_TIME, MachineModel, Model, ModelError, PERIOD, Watched,
};
use evenkeel_machine::{Kind, Machine, Nanos, PerKind};
use evenkeel_policy::{ThreadId, ThreadStats};

use crate::observe::counters::{
    Groups, Look, PerfEvents, Pmu, PmuError, Refused, fit, kind_of, pmus, stated_counters,
};
use crate::observe::watch::{Cpu, Tid};

/// A kind's groups that are lost so often between two whole rounds are given up.
const MOST_LOSSES: u32 = 3;

/// Why a model cannot go by the counters of a machine.
#[derive(Debug, thiserror::Error)]
pub enum EstimatingError {
    /// The machine has no counters.
    #[error(transparent)]
    Pmu(#[from] PmuError),
    /// The model says nothing of it.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No PMU counts for the cores of one kind alone.
    #[error("no PMU counts for {0} alone, so counters do not tell its share")]
    NoPmu(String),
    /// The kernel does not count.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// Counters of threads, and the model that goes by them.
#[derive(Debug)]
pub struct Estimating<P: PerfEvents> {
    perf: P,
    model: MachineModel,
    /// By the kinds' rank on the machine.
    pmus: Vec<Pmu>,
    threads: Vec<Option<Thread<P::Event>>>,
    last: Nanos,
    told: u64,
    begun: u64,
    uncounted: Uncounted,
}

/// Threads that could not be counted for.
#[derive(Debug, Default)]
struct Uncounted {
    threads: u64,
    /// What the kernel said of the first.
    first: Option<String>,
}

impl Uncounted {
    fn note(&mut self, why: impl FnOnce() -> String) {
        self.threads += 1;
        self.first.get_or_insert_with(why);
    }
}

impl fmt::Display for Uncounted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let why = self.first.as_deref().unwrap_or_default();
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        write!(f, "no counters for {} {threads}: {why}", self.threads)
    }
}

/// What is known of a thread.
#[derive(Debug)]
struct Thread<E> {
    tid: Tid,
    /// By kind; none where they were lost too often.
    groups: Vec<Option<Groups<E>>>,
    /// By kind, since the last whole round.
    losses: Vec<u32>,
    time_on: PerKind<Nanos>,
    watched: Watched,
    /// True if it has been noted as one that could not be counted for, on some kind.
    is_uncounted: bool,
    is_there: bool,
}

impl<P: PerfEvents> Estimating<P> {
    /// For a machine, whose PMUs `sysfs` names. Tries all events on the calling thread.
    ///
    /// # Errors
    /// See [`EstimatingError`].
    pub fn new(
        perf: P,
        model: &Model,
        machine: &Machine,
        sysfs: &Path,
    ) -> Result<Self, EstimatingError> {
        let stated = |kind: &'_ Kind| (kind.name.clone(), stated_counters(kind));
        let mut kinds: Vec<(String, Counters)> = machine.kinds.iter().map(stated).collect();
        // For its errors: a model for other kinds is refused before counters are looked for.
        on_machine(model, &kinds)?;
        let found = pmus(sysfs)?;
        let (mut perf, mut of_kinds) = (perf, Vec::new());
        for (rank, kind) in kinds.iter_mut().enumerate() {
            let is_of = |pmu: &&Pmu| kind_of(pmu, machine).is_some_and(|it| it.index() == rank);
            let pmu = found.iter().find(is_of).cloned();
            let pmu = pmu.ok_or_else(|| EstimatingError::NoPmu(kind.0.clone()))?;
            let cpus = machine.cores.iter().filter(|core| core.kind.index() == rank);
            let place = model.kinds.iter().position(|name| *name == kind.0).unwrap_or_default();
            let metrics = model.metrics(place);
            if let Some(cpu) = cpus.map(|core| Cpu(core.cpu)).next() {
                kind.1 = fit(&mut perf, &pmu, cpu, &metrics, kind.1.clone())?.0;
            }
            of_kinds.push(pmu);
        }
        Ok(Self {
            perf,
            model: on_machine(model, &kinds)?,
            pmus: of_kinds,
            threads: Vec::new(),
            last: Nanos::ZERO,
            told: 0,
            begun: 0,
            uncounted: Uncounted::default(),
        })
    }

    fn open(&mut self, tid: Tid, kind: usize) -> Result<Groups<P::Event>, (Event, io::Error)> {
        Groups::open(&mut self.perf, &self.pmus[kind], self.model.sets(kind), tid)
    }

    /// When counters are to be read next.
    #[must_use]
    pub fn due(&self) -> Nanos {
        self.last.saturating_add(PERIOD)
    }

    /// How many whole rounds have told factors.
    #[must_use]
    pub fn told(&self) -> u64 {
        self.told
    }

    /// Threads that could not be counted for, and why, or that nothing was told; `None` where
    /// there is nothing to say.
    #[must_use]
    pub fn uncounted(&self) -> Option<String> {
        match (self.uncounted.threads, self.begun, self.told) {
            (1.., _, _) => Some(self.uncounted.to_string()),
            (0, 1.., 0) => {
                Some("the model told no factor: no thread was counted for a whole round".to_owned())
            }
            _ => None,
        }
    }

    /// Reads the counters of these threads, which are all that there are, each with its time on the
    /// kinds so far; tells the factors of those whose round is whole. Counters of others are
    /// closed.
    pub fn read(
        &mut self,
        at: Nanos,
        threads: impl Iterator<Item = (ThreadId, Tid, PerKind<Nanos>)>,
        mut tell: impl FnMut(ThreadId, PerKind<f32>),
    ) {
        self.last = at;
        for (thread, tid, time_on) in threads {
            if self.threads.len() <= thread.index() {
                self.threads.resize_with(thread.index() + 1, || None);
            }
            match self.threads[thread.index()].take().filter(|known| known.tid == tid) {
                Some(mut known) => {
                    known.is_there = true;
                    if let Some(factors) = self.look(&mut known, time_on) {
                        self.told += 1;
                        tell(thread, factors);
                    }
                    self.threads[thread.index()] = Some(known);
                }
                None => self.threads[thread.index()] = Some(self.begin(tid)),
            }
        }
        for slot in &mut self.threads {
            if slot.as_mut().is_some_and(|thread| !std::mem::take(&mut thread.is_there)) {
                *slot = None;
            }
        }
    }

    fn begin(&mut self, tid: Tid) -> Thread<P::Event> {
        self.begun += 1;
        let mut refused = None;
        let mut groups = Vec::with_capacity(self.pmus.len());
        for kind in 0..self.pmus.len() {
            let opened = self.open(tid, kind);
            groups.push(opened.map_err(|error| refused = Some(error)).ok());
        }
        // One that has ended meanwhile is not missed.
        let refused = refused.filter(|(_, error)| error.raw_os_error() != Some(libc::ESRCH));
        if let Some((event, error)) = &refused {
            self.uncounted.note(|| format!("{event}: {error}"));
        }
        Thread {
            tid,
            groups,
            losses: vec![0; self.pmus.len()],
            time_on: PerKind::all(Nanos::ZERO),
            watched: Watched::default(),
            is_uncounted: refused.is_some(),
            is_there: true,
        }
    }

    fn look(
        &mut self,
        thread: &mut Thread<P::Event>,
        time_on: PerKind<Nanos>,
    ) -> Option<PerKind<f32>> {
        let before = std::mem::replace(&mut thread.time_on, time_on);
        let mut told = None;
        for kind in 0..self.pmus.len() {
            let Some(groups) = &mut thread.groups[kind] else { continue };
            // A system call saved: there is nothing new.
            if time_on.0[kind] == before.0[kind] {
                continue;
            }
            let events = self.model.set(&thread.watched, kind);
            let turned = match groups.take(&mut self.perf, events) {
                Look::TooShort => continue,
                Look::Counts(counts) => {
                    if let Some(factors) = self.model.sample(&mut thread.watched, kind, &counts) {
                        told = Some(factors);
                        thread.losses[kind] = 0;
                    }
                    let next = thread.watched.set(kind);
                    next == groups.counting() || groups.turn(&mut self.perf, next).is_ok()
                }
                Look::Lost => false,
            };
            if !turned {
                thread.losses[kind] += 1;
                thread.watched.begin_anew(kind);
                thread.groups[kind] = None;
                let again = thread.losses[kind] < MOST_LOSSES;
                let opened = again.then(|| self.open(thread.tid, kind).ok()).flatten();
                if opened.is_none() && !std::mem::replace(&mut thread.is_uncounted, true) {
                    self.uncounted.note(|| "its counters were lost".to_owned());
                }
                thread.groups[kind] = opened;
            }
        }
        told
    }
}

/// True if a thread has run for long enough to be counted for: most threads of a machine sleep.
#[must_use]
pub fn has_run(stats: &ThreadStats) -> bool {
    stats.time_on.0.iter().map(|time| time.0).sum::<u64>() >= LEAST_TIME.0
}

fn on_machine(model: &Model, kinds: &[(String, Counters)]) -> Result<MachineModel, ModelError> {
    let named = kinds.iter().map(|(name, counters)| (name.as_str(), counters.clone()));
    MachineModel::new(model, &named.collect::<Vec<_>>())
}
