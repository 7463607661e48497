//! The settings of a pool, and where they come from: the program, the environment, the machine.

use evenkeel_machine::{KINDS_VARIABLE, KindList};
use evenkeel_policy::graph;

use crate::error::PoolError;
use crate::pool::Pool;
use crate::team::Team;
use crate::trace::Trace;

/// Environment variable: the machine, by a preset's name or a file, in place of what the system
/// says about its kinds. Takes the feature `machine-files`; without it [`KINDS_VARIABLE`] counts.
pub const MACHINE_VARIABLE: &str = "EVENKEEL_MACHINE";
/// Environment variable: the policy for tasks.
pub const POLICY_VARIABLE: &str = "EVENKEEL_POLICY";
/// Environment variable: 1: a summary is written to stderr when a pool is dropped; see
/// [`Builder::summary`].
pub const SUMMARY_VARIABLE: &str = "EVENKEEL_SUMMARY";
/// Environment variable: the file that a trace is written to; see [`Builder::trace`].
pub const TRACE_VARIABLE: &str = "EVENKEEL_TRACE";
/// Environment variable: 0: no worker lends its core; see [`Builder::lend`].
pub const LEND_VARIABLE: &str = "EVENKEEL_LEND";
/// Environment variable: the schedule of loops that do not say theirs.
pub const SCHEDULE_VARIABLE: &str = "EVENKEEL_SCHEDULE";

/// The most workers that a pool may have.
pub const MAX_WORKERS: usize = 4096;

/// What a pool reports about itself.
pub struct Reporting {
    pub trace: Option<Trace>,
    pub prints_summary: bool,
}

/// The settings of a pool. Each that is not set comes from the environment, else from the machine.
#[derive(Clone, Debug)]
pub struct Builder {
    workers: Option<usize>,
    machine: Option<String>,
    policy: Option<String>,
    schedule: Option<String>,
    trace: Option<String>,
    summary: Option<bool>,
    pins: bool,
    lends: Option<bool>,
}

impl Builder {
    /// Nothing is set.
    pub(crate) const fn new() -> Self {
        Self {
            workers: None,
            machine: None,
            policy: None,
            schedule: None,
            trace: None,
            summary: None,
            pins: true,
            lends: None,
        }
    }

    /// The number of workers: on the fastest cores, and round again if there are more workers than
    /// cores. Else one per core, but no more than the CPUs' worth of time that a control group lets
    /// the process have (`cpu.max`, or `cpu.cfs_quota_us`).
    #[must_use]
    pub const fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// The machine, by a preset's name or a file (feature `machine-files`). Else
    /// `EVENKEEL_MACHINE`, else `EVENKEEL_KINDS`, which lists kinds as `P:0-7=1024 E:8-15=512`,
    /// else what the system says.
    #[must_use]
    pub fn machine(mut self, name_or_path: &str) -> Self {
        self.machine = Some(name_or_path.into());
        self
    }

    /// The policy by which tasks find their workers: `steal-kind`, `steal`, `fifo`, `cats`. Else
    /// `EVENKEEL_POLICY`, else `steal-kind`.
    ///
    /// The first two suit all programs; the others keep ready tasks behind one lock, for tasks of
    /// 10 us or more. Policies that plan whole graphs are for recorded ones: [`Pool::record_with`].
    #[must_use]
    pub fn policy(mut self, name: &str) -> Self {
        self.policy = Some(name.into());
        self
    }

    /// The schedule of loops without one of their own, as [`crate::Schedule`] reads it. Else
    /// `EVENKEEL_SCHEDULE`, else `aid-affinity`.
    #[must_use]
    pub fn schedule(mut self, schedule: &str) -> Self {
        self.schedule = Some(schedule.into());
        self
    }

    /// The file that a trace is written to when the pool has been dropped (feature `trace`), for
    /// ui.perfetto.dev. `%p` in its name stands for the process's number. Pools of one process that
    /// name the same file are all in it. Else `EVENKEEL_TRACE`, else there is none.
    ///
    /// A file that cannot be written is reported on stderr, and is no error. A worker records up to
    /// 1,048,576 events (40 MiB); later ones are left out and counted.
    #[must_use]
    pub fn trace(mut self, file: &str) -> Self {
        self.trace = Some(file.into());
        self
    }

    /// True: a summary is written to stderr when the pool is dropped ([`Pool::summary`]); costs of
    /// tasks with names are then learnt on cores of one kind, too. Else `EVENKEEL_SUMMARY` (1 or
    /// 0), else false.
    #[must_use]
    pub const fn summary(mut self, wanted: bool) -> Self {
        self.summary = Some(wanted);
        self
    }

    /// True: each worker is kept on its core (except for [`Builder::lend`]). False: none is, and
    /// none lends another its core. True unless it is set.
    #[must_use]
    pub const fn pin(mut self, pins: bool) -> Self {
        self.pins = pins;
        self
    }

    /// True: a worker that loses its core to another program while it has work is lent the core of
    /// an idle worker until it has done that work. So is a worker on a slower core, once a worker
    /// on a faster one has been idle for a millisecond; slower or shared cores are never lent. Else
    /// `EVENKEEL_LEND` (1 or 0), else true.
    #[must_use]
    pub const fn lend(mut self, lends: bool) -> Self {
        self.lends = Some(lends);
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// A machine, policy or schedule that is not there; no core that may be used; no threads to be
    /// had.
    pub fn build(self) -> Result<Pool, PoolError> {
        let mut team = Team::here(stated(self.machine)?)?;
        if let Some(workers) = self.workers {
            if !(1..=MAX_WORKERS).contains(&workers) {
                return Err(PoolError::Workers { found: workers.to_string(), most: MAX_WORKERS });
            }
            team = team.with_workers(workers);
        } else {
            team =
                team.within(std::thread::available_parallelism().map_or(usize::MAX, usize::from));
        }
        if !self.pins {
            team = team.unpinned();
        }
        team.lends = flag(self.lends, LEND_VARIABLE, true)?;
        let discipline = asked(self.policy, POLICY_VARIABLE, Discipline::named)?
            .unwrap_or(Discipline::StealKind);
        let schedule =
            asked(self.schedule, SCHEDULE_VARIABLE, |it| Ok(it.parse()?))?.unwrap_or_default();
        let trace =
            self.trace.or(from_environment(TRACE_VARIABLE)?).filter(|file| !file.is_empty());
        let prints_summary = flag(self.summary, SUMMARY_VARIABLE, false)?;
        let trace = trace.and_then(|file| Trace::begin(&file));
        Pool::start(team, discipline, schedule, Reporting { trace, prints_summary })
    }
}

/// The kinds of the machine that was asked for, else those that the environment states, and what a
/// message calls them.
#[cfg(feature = "machine-files")]
fn stated(machine: Option<String>) -> Result<Option<(String, KindList)>, PoolError> {
    let load = |it: &str| {
        let machine = evenkeel_files::machines::load(it)?;
        Ok((format!("machine '{}'", machine.name), KindList::from(&machine)))
    };
    match asked(machine, MACHINE_VARIABLE, load)? {
        Some(machine) => Ok(Some(machine)),
        None => stated_kinds(),
    }
}

/// The same without machine files. A program that names a machine in the environment may state its
/// kinds there, too.
#[cfg(not(feature = "machine-files"))]
fn stated(machine: Option<String>) -> Result<Option<(String, KindList)>, PoolError> {
    let refuse = |it: &str| Err(PoolError::NoMachineFiles(it.into()));
    match stated_kinds()? {
        Some(kinds) if machine.is_none() => Ok(Some(kinds)),
        _ => asked(machine, MACHINE_VARIABLE, refuse),
    }
}

fn stated_kinds() -> Result<Option<(String, KindList)>, PoolError> {
    asked(None, KINDS_VARIABLE, |it| Ok((KINDS_VARIABLE.into(), it.parse()?)))
}

/// The value that was asked for, else that of the environment, as `read` understands it.
fn asked<T>(
    asked: Option<String>,
    variable: &'static str,
    read: impl FnOnce(&str) -> Result<T, PoolError>,
) -> Result<Option<T>, PoolError> {
    if let Some(asked) = asked {
        return read(&asked).map(Some);
    }
    let Some(found) = from_environment(variable)? else { return Ok(None) };
    let in_variable = |source| PoolError::Variable { variable, source: Box::new(source) };
    read(&found).map(Some).map_err(in_variable)
}

/// The value that was asked for, else that of the environment, else `unless_said`.
fn flag(asked: Option<bool>, variable: &'static str, unless_said: bool) -> Result<bool, PoolError> {
    if let Some(asked) = asked {
        return Ok(asked);
    }
    match from_environment(variable)?.as_deref() {
        None => Ok(unless_said),
        Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(found) => Err(PoolError::Flag { variable, found: found.into() }),
    }
}

/// An empty variable says nothing.
fn from_environment(variable: &'static str) -> Result<Option<String>, PoolError> {
    match std::env::var(variable) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(PoolError::NoText(variable)),
    }
}

/// The policies of crates/policy that place tasks as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// `steal`.
    Steal,
    /// `steal-kind`.
    StealKind,
    /// `fifo`, `cats`: ready tasks are in one place, in the policy's order.
    Central(&'static str),
}

impl Discipline {
    fn named(name: &str) -> Result<Self, PoolError> {
        const HAS: &str = "fifo, steal, steal-kind, cats";
        let owned = || name.to_owned();
        match name {
            "steal" => Ok(Self::Steal),
            "steal-kind" => Ok(Self::StealKind),
            "fifo" => Ok(Self::Central("fifo")),
            "cats" => Ok(Self::Central("cats")),
            _ if graph::find(name).is_some() => {
                Err(PoolError::PlansGraphs { name: owned(), has: HAS })
            }
            _ => Err(PoolError::NoPolicy { name: owned(), has: HAS }),
        }
    }
}
