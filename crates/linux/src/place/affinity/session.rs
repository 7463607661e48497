//! A session: the watcher, the mechanism and the journal at work, at a cost that stays within its
//! budget.
//!
//! The mechanism looks around when a thread starts or ends, when the policy's timer or a slice is
//! due, and otherwise every few milliseconds while there is something to see. Between a look and
//! one for a start or an end there is never less than a *look interval*
//! ([`crate::live::look_interval`]); before any other, four of them.

use std::error::Error;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_estimate::Model;
use evenkeel_machine::{CoreId, Machine, Nanos, parse_cpus};
use evenkeel_policy::Policy;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit, setrlimit};

use super::journal::{Journal, Recovered, directory, make_directory, recover};
use super::kernel::{Kernel, Linux};
use super::sampling::Sampling;
use super::{Mechanism, Options};
use crate::observe::counters::KernelEvents;
use crate::observe::watch::{Seen, WatchError, Watcher, now};
use crate::place::live::estimating::{Estimating, EstimatingError};
use crate::place::live::look_interval::LookInterval;
use crate::place::live::{self, Cost, FactorSource, Finished, Refusal, Totals, stay_on_fast_cores};

/// Time between looks while threads come and go on cores.
const LOOK_INTERVAL: Nanos = Nanos::from_millis(4);
/// Least time between looks that no start or end asks for, in look intervals.
const UNASKED_INTERVALS: u64 = 4;
/// Time between looks when nothing has been seen for a while.
const QUIET_INTERVAL: Nanos = Nanos::from_millis(64);
/// How often the list of online CPUs is read.
const ONLINE_INTERVAL: Nanos = Nanos::from_secs(1);

/// How often, at most, the end looks for threads that were forked while it gave masks back.
const MAX_LAST_LOOKS: usize = 16;

/// Reactions that are kept at most.
const MAX_REACTIONS: usize = 1 << 20;

/// How a session works.
#[derive(Clone, Debug)]
pub struct Config {
    /// The mechanism's.
    pub mechanism: Options,
    /// Part of one core that looking may cost.
    pub budget: f64,
    /// Root of sysfs.
    pub sysfs: PathBuf,
    /// Tells speedup factors from counters.
    pub model: Option<Arc<Model>>,
}

/// A session that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The policy refuses this machine.
    #[error("{policy} on {machine}: {why}")]
    Refused {
        /// Policy.
        policy: String,
        /// Machine.
        machine: String,
        /// Why.
        why: Refusal,
    },
    /// The file of masks.
    #[error("{}: masks cannot be written down there, so none will be changed: \
             {error}", path.display())]
    Journal {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The watcher.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The model, or its counters.
    #[error(transparent)]
    Estimating(#[from] EstimatingError),
    /// Waiting.
    #[error("cannot wait: {0}")]
    Wait(io::Error),
}

/// What the kernel takes to write a switch into perf's ring (docs/decisions/0029-affinity.md).
const SWITCH_RECORD_COST: Nanos = Nanos::from_micros(3);
/// The part of the cores' time that telling switches may cost; beyond it threads are asked how long
/// they have run instead.
const MAX_SWITCH_SHARE: f64 = 0.02;
/// Over how long that is told.
const SWITCH_WINDOW: Nanos = Nanos::from_millis(100);

/// A session by affinity: the watcher, the mechanism and the journal at work.
pub struct Session {
    watcher: Watcher,
    sampling: Sampling,
    estimating: Option<Estimating<KernelEvents>>,
    mechanism: Mechanism<Linux>,
    journal: Journal,
    recovered: Recovered,
    seen: Vec<Seen>,
    config: Config,
    look_interval: LookInterval,
    last: Nanos,
    quiet: Nanos,
    online_read: Nanos,
    online: String,
    reactions: Vec<Nanos>,
    /// How many switches have been told, and since when.
    switches: (Nanos, u64),
}

impl Session {
    /// Begins: whatever killed sessions have left is put back first.
    ///
    /// # Errors
    /// The policy refuses the machine; masks cannot be written down.
    pub fn begin(
        watcher: Watcher,
        machine: Machine,
        (name, policy): (&str, Box<dyn Policy>),
        mut config: Config,
    ) -> Result<Self, SessionError> {
        stay_on_fast_cores(&machine);
        let path = directory();
        let failed = |error| SessionError::Journal { path: path.clone(), error };
        make_directory(&path).map_err(failed)?;
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // Without, some threads are not sampled where the source tells no switches.
        let _ = setrlimit(Resource::Nofile, limit);
        let mut kernel = Linux::new();
        let recovered = recover(&path, &mut kernel).map_err(failed)?;
        let estimating = config
            .model
            .as_deref()
            .map(|model| Estimating::new(KernelEvents, model, &machine, &config.sysfs));
        let estimating = estimating.transpose()?;
        let journal = Journal::create(&path).map_err(failed)?;
        config.mechanism.park &= kernel.can_park();
        let at = now();
        let called = machine.name.clone();
        let sampling =
            Sampling::new(watcher.source(), &config.sysfs, &machine, estimating.is_some());
        let mechanism = Mechanism::new(kernel, machine, policy, config.mechanism.clone(), at)
            .map_err(|why| SessionError::Refused { policy: name.into(), machine: called, why })?;
        Ok(Self {
            watcher,
            sampling,
            estimating,
            mechanism,
            journal,
            recovered,
            seen: Vec::new(),
            look_interval: LookInterval::new(config.budget, at),
            config,
            last: Nanos::ZERO,
            quiet: LOOK_INTERVAL,
            online_read: at,
            online: String::new(),
            reactions: Vec::new(),
            switches: (at, 0),
        })
    }

    fn look(&mut self, within: Nanos, others: &[&dyn AsFd]) -> Result<(), SessionError> {
        self.sleep(within, others)?;
        let at = now();
        self.seen.clear();
        self.watcher.drain(&mut self.seen);
        let stopped = self.limit_switch_cost(at);
        let started = |seen: &Seen| matches!(seen, Seen::Started { .. } | Seen::Found { .. });
        if self.seen.iter().any(started) {
            self.look_interval.started(at);
        }
        self.quiet = if self.seen.is_empty() {
            Nanos((self.quiet.0 * 2).min(QUIET_INTERVAL.0))
        } else {
            LOOK_INTERVAL
        };
        self.last = now();
        self.sampling.sample(&mut self.mechanism, self.last);
        if let Some(estimating) = &mut self.estimating
            && self.last >= estimating.due()
        {
            self.mechanism.estimate_by(estimating, self.last);
        }
        self.mechanism.look(self.last, &self.seen);
        if stopped {
            self.mechanism.forget_cores(self.last);
            self.sampling.begin_to_ask(&self.mechanism);
            self.look_interval.begin_anew(now());
        }
        self.name_programs();
        let path = directory();
        self.journal
            .write(self.mechanism.journal())
            .map_err(|error| SessionError::Journal { path, error })?;
        self.mechanism.enforce();
        let (placed, epoch) = (now(), self.mechanism.on_the_clock(Nanos::ZERO));
        let room = MAX_REACTIONS.saturating_sub(self.reactions.len());
        let started = self.mechanism.newly_placed();
        self.reactions.extend(
            started.take(room).map(|started| placed.saturating_sub(epoch.saturating_add(started))),
        );
        self.look_interval.looked(at);
        self.follow_hotplug(at);
        Ok(())
    }

    /// Ends the telling of switches if it costs too much: true then, and `seen` has the last of
    /// them.
    fn limit_switch_cost(&mut self, at: Nanos) -> bool {
        let taken =
            self.seen.iter().filter(|seen| matches!(seen, Seen::Took { .. })).count() as u64;
        self.switches.1 += taken;
        let (since, told) = self.switches;
        let wall = at.saturating_sub(since);
        if wall < SWITCH_WINDOW {
            return false;
        }
        self.switches = (at, 0);
        let cores = self.mechanism.machine().cores.len() as f64;
        let part = told as f64 * SWITCH_RECORD_COST.0 as f64 / (wall.0 as f64 * cores);
        if part < MAX_SWITCH_SHARE || !self.watcher.stop_switches() {
            return false;
        }
        self.watcher.drain(&mut self.seen);
        true
    }

    fn sleep(&mut self, within: Nanos, others: &[&dyn AsFd]) -> Result<(), SessionError> {
        let at = now();
        let earliest = self.last.saturating_add(self.look_interval.least(at));
        let calm = self.last.saturating_add(self.quiet);
        // Where no switches are told, looking is the only way to see any.
        let intervals = if self.sampling.asks() { 1 } else { UNASKED_INTERVALS };
        let unasked = self.last.saturating_add(self.look_interval.unasked(at, intervals));
        let due = self
            .mechanism
            .due()
            .unwrap_or(Nanos::MAX)
            .min(calm)
            .max(unasked)
            .min(at.saturating_add(within));
        // First until something happens, then, where that was too soon, until the interval allows a
        // look.
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(others.len() + 1);
        fds.push(PollFd::new(&self.watcher, PollFlags::IN));
        fds.extend(
            others.iter().map(|other| PollFd::from_borrowed_fd(other.as_fd(), PollFlags::IN)),
        );
        let woken = wait(&mut fds, due.saturating_sub(at)).map_err(SessionError::Wait)?;
        if woken {
            self.watcher.wait(Duration::ZERO)?;
            let left = earliest.saturating_sub(now());
            let other = fds[1..].iter().any(|fd| !fd.revents().is_empty());
            if left > Nanos::ZERO && !other {
                wait(&mut fds[1..], left).map_err(SessionError::Wait)?;
            }
        }
        Ok(())
    }

    /// Names of programs that have begun.
    fn name_programs(&mut self) {
        for seen in &self.seen {
            let process = match *seen {
                Seen::Exec { tid, .. } => tid,
                Seen::Started { tid, process, parent: None, .. }
                | Seen::Found { tid, process, .. }
                    if tid == process =>
                {
                    process
                }
                _ => continue,
            };
            if let Ok(name) = fs::read_to_string(format!("/proc/{}/comm", process.0)) {
                self.mechanism.name(process, name.trim_end());
            }
        }
    }

    fn follow_hotplug(&mut self, at: Nanos) {
        if at.saturating_sub(self.online_read) < ONLINE_INTERVAL {
            return;
        }
        self.online_read = at;
        let Ok(list) = fs::read_to_string(self.config.sysfs.join("devices/system/cpu/online"))
        else {
            return;
        };
        if list == self.online {
            return;
        }
        if let Ok(online) = parse_cpus(&list) {
            let cores: Vec<(CoreId, u32)> =
                self.mechanism.machine().cores.iter().map(|core| (core.id, core.cpu)).collect();
            for (core, cpu) in cores {
                self.mechanism.set_online(core, online.contains(&cpu));
            }
        }
        self.online = list;
    }

    /// The mechanism.
    pub fn mechanism(&self) -> &Mechanism<Linux> {
        &self.mechanism
    }

    /// What killed sessions had left, and was put back.
    pub fn recovered(&self) -> Recovered {
        self.recovered
    }

    /// True if threads that wait are parked.
    pub fn parks(&self) -> bool {
        self.config.mechanism.park
    }
}

impl live::Session for Session {
    /// # Errors
    /// The kernel refuses to wait; masks can no longer be written down.
    fn step(
        &mut self,
        within: Nanos,
        others: &[&dyn AsFd],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.look(within, others)?)
    }

    /// Takes in what has happened last, and gives every thread that is left its mask back.
    fn end(mut self: Box<Self>) -> Finished {
        let mut at = now();
        for _ in 0..MAX_LAST_LOOKS {
            self.seen.clear();
            self.watcher.drain(&mut self.seen);
            at = now();
            self.mechanism.look(at, &self.seen);
            self.mechanism.restore();
            // A thread that is forked by one not yet restored inherits what that had.
            if !self
                .seen
                .iter()
                .any(|seen| matches!(seen, Seen::Started { .. } | Seen::Found { .. }))
            {
                break;
            }
        }
        let cost = self.look_interval.cost(at);
        let (missed, source, parked) = (self.watcher.missed(), self.source(), self.parks());
        self.reactions.sort_unstable();
        // If it cannot be removed, the next session will find that nothing is left to be put back.
        let _ = self.journal.finish();
        let mechanism = self.mechanism;
        let (apps, stats, tids) =
            mechanism.roster().remembered(mechanism.stats(), &mechanism.tids());
        Finished {
            mechanism: "affinity",
            source,
            parked,
            epoch: mechanism.on_the_clock(Nanos::ZERO),
            machine: mechanism.machine().clone(),
            apps,
            forgotten: mechanism.roster().forgotten(),
            stats,
            tids,
            busy: mechanism.busy().to_vec(),
            totals: mechanism.totals(),
            cost,
            uncounted: self.estimating.as_ref().and_then(Estimating::uncounted),
            missed,
            reactions: self.reactions,
        }
    }

    fn source(&self) -> String {
        self.watcher.describe().to_string()
    }

    fn factors(&self) -> FactorSource {
        match (&self.estimating, self.sampling.counts()) {
            (Some(_), _) => FactorSource::Model,
            (None, true) => FactorSource::Sampled,
            (None, false) => FactorSource::Capacities,
        }
    }

    fn is_over(&self) -> bool {
        self.watcher.alive() == 0
    }

    fn totals(&self) -> Totals {
        self.mechanism.totals()
    }

    fn cost(&self) -> Cost {
        self.look_interval.cost(now())
    }

    fn alive(&self) -> (usize, usize) {
        let stats = self.mechanism.stats();
        self.mechanism.live().fold((0, 0), |(alive, runnable), (thread, _)| {
            (alive + 1, runnable + usize::from(stats[thread.index()].runnable()))
        })
    }
}

/// True if anything was readable before the time was over.
fn wait(fds: &mut [PollFd<'_>], time: Nanos) -> io::Result<bool> {
    let timeout = Timespec {
        tv_sec: (time.0 / 1_000_000_000) as i64,
        tv_nsec: (time.0 % 1_000_000_000) as i64,
    };
    match poll(fds, Some(&timeout)) {
        Ok(readable) => Ok(readable > 0),
        // A signal: its waiter looks now.
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
