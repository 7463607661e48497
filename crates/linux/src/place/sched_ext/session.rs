//! A session: the kernel side and the mechanism at work, at a cost that stays within its budget.
//!
//! The session looks when the policy's timer is due; when the kernel side rings, which it does for
//! new threads and for cores that found nothing to do (if the policy cares), never sooner than an
//! interval after the last look ([`crate::live::look_interval`]); and otherwise every few
//! milliseconds while there is something to see, and seldom when there is not. Where the policy
//! says that it will have nothing to say before some time unless something changes, it looks at
//! that time, and has the kernel side ring for whatever changes.
//!
//! It ends when the kernel ends it. If that was because CPUs came or went, the kernel side is
//! loaded anew: threads keep their numbers and what has been counted, and the policy is told that
//! they left and came back.

use std::error::Error;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use evenkeel_estimate::Model;
use evenkeel_machine::{CoreId, Machine, Nanos};
use evenkeel_policy::{Interest, Policy};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit, setrlimit};

use super::load::{Ended, KernelSide, Setup};
use super::mechanism::{Mechanism, Options};
use super::restarts::Restarts;
use super::shared::pending;
use super::support::hotplug_sequence;
use super::{LoadError, counters, support};
use crate::observe::counters::KernelEvents;
use crate::observe::watch::now;
use crate::place::live::estimating::{Estimating, EstimatingError};
use crate::place::live::look_interval::LookInterval;
use crate::place::live::{self, Cost, FactorSource, Finished, Refusal, Totals, stay_on_fast_cores};

/// Time between looks while there is something to see.
const LOOK_INTERVAL: Nanos = Nanos::from_millis(4);
/// Time between looks when nothing has been seen for a while.
const QUIET_INTERVAL: Nanos = Nanos::from_millis(64);

/// Time between looks at most: a second without a sign of us, and CPUs take from all queues
/// (queues.bpf.h).
const HEARTBEAT_INTERVAL: Nanos = Nanos::from_millis(500);

/// How a session works.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The mechanism's.
    pub mechanism: Options,
    /// Part of one core that looking may cost.
    pub budget: f64,
    /// Only threads of SCHED_EXT.
    pub partial: bool,
    /// See [`Setup::watchdog`].
    pub watchdog: Option<Nanos>,
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
        /// Its words.
        why: Refusal,
    },
    /// The kernel side.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The model, or its counters.
    #[error(transparent)]
    Estimating(#[from] EstimatingError),
    /// The kernel has ended it.
    #[error("the kernel has ended the scheduler: \
             {}{}{}", .0.reason, colon(&.0.message), .0.message)]
    Ended(Box<Ended>),
    /// Waiting, or commands.
    #[error("cannot go on: {0}")]
    Io(#[from] io::Error),
}

fn colon(text: &str) -> &'static str {
    if text.is_empty() { "" } else { ": " }
}

/// A session over sched_ext: the kernel side and the mechanism at work.
pub struct Session {
    mechanism: Mechanism,
    estimating: Option<Estimating<KernelEvents>>,
    config: Config,
    look_interval: LookInterval,
    last: Nanos,
    quiet: Nanos,
    restarts: Restarts,
}

impl Session {
    /// Begins: from now on the machine, or in partial mode each thread that asks for SCHED_EXT, is
    /// scheduled by the policy.
    ///
    /// # Errors
    /// The policy refuses the machine; the kernel cannot have the scheduler, and why.
    pub fn begin(
        machine: Machine,
        (name, policy): (&str, Box<dyn Policy>),
        config: Config,
    ) -> Result<Self, SessionError> {
        support::check(&config.sysfs)?;
        // The scheduler must not wait for its own pages; where locking them is not allowed it may
        // have to.
        let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE);
        stay_on_fast_cores(&machine);
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // Without, some threads have no counters, which is said.
        let _ = setrlimit(Resource::Nofile, limit);
        let estimating = config
            .model
            .as_deref()
            .map(|model| Estimating::new(KernelEvents, model, &machine, &config.sysfs));
        let estimating = estimating.transpose()?;
        let setup = setup(&config, &machine);
        let kernel = KernelSide::load(setup)?;
        let at = now();
        let called = machine.name.clone();
        let mut mechanism =
            Mechanism::new(kernel, machine, policy, config.mechanism.clone(), at).map_err(
                |why| SessionError::Refused { policy: name.into(), machine: called, why },
            )?;
        mechanism.set_online(support::online(&config.sysfs).as_deref());
        mechanism.attach()?;
        support::drop_privileges();
        // Threads that were there before are told of at once. What that costs is not what looking
        // costs.
        mechanism.look(now())?;
        let at = now();
        Ok(Self {
            mechanism,
            estimating,
            look_interval: LookInterval::new(config.budget, at),
            config,
            last: at,
            quiet: LOOK_INTERVAL,
            restarts: Restarts::default(),
        })
    }

    fn look(&mut self, within: Nanos, others: &[&dyn AsFd]) -> Result<(), SessionError> {
        self.sleep(within, others)?;
        if let Some(ended) = self.mechanism.kernel().ended() {
            return self.restart(ended);
        }
        let at = now();
        self.last = at;
        let unseen = self.mechanism.kernel().globals().unseen.load(Relaxed);
        if let Some(estimating) = &mut self.estimating
            && at >= estimating.due()
        {
            self.mechanism.estimate_by(estimating, at);
        }
        let seen = self.mechanism.look(at)?;
        if unseen & pending::STARTED != 0 {
            self.look_interval.started(at);
        } else if unseen & pending::WOKE != 0 {
            self.look_interval.woke(at);
        }
        self.quiet =
            if seen { LOOK_INTERVAL } else { Nanos((self.quiet.0 * 2).min(QUIET_INTERVAL.0)) };
        self.look_interval.looked(at);
        Ok(())
    }

    fn sleep(&mut self, within: Nanos, others: &[&dyn AsFd]) -> io::Result<()> {
        let at = now();
        let mut earliest = self.last.saturating_add(self.look_interval.least(at));
        let is_quiet = self.mechanism.is_quiet();
        let calm = self.last.saturating_add(if is_quiet { HEARTBEAT_INTERVAL } else { self.quiet });
        let counters = self.estimating.as_ref().map_or(Nanos::MAX, Estimating::due);
        let due = self
            .mechanism
            .due()
            .unwrap_or(Nanos::MAX)
            .min(calm)
            .min(counters)
            .max(self.last.saturating_add(self.look_interval.unasked(at, 1)))
            .min(at.saturating_add(within));
        let globals = self.mechanism.kernel().globals();
        let mut urgent = pending::STARTED | pending::OVER;
        if self.mechanism.interest().wants(Interest::CORE_IDLE) {
            urgent |= pending::CORE_IDLE;
        }
        let worth = match (is_quiet, self.quiet > LOOK_INTERVAL) {
            (true, _) => urgent | pending::CHANGES,
            (false, true) => urgent | pending::WOKE,
            (false, false) => urgent,
        };
        // The order matters: an event that is posted at this moment either wakes us or is seen
        // here.
        globals.wake_mask.store(worth, SeqCst);
        globals.asleep.store(1, SeqCst);
        let unseen = globals.unseen.load(SeqCst) & worth != 0;
        let doorbell = self.mechanism.kernel().doorbell();
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(others.len() + 1);
        fds.push(PollFd::from_borrowed_fd(doorbell, PollFlags::IN));
        fds.extend(
            others.iter().map(|other| PollFd::from_borrowed_fd(other.as_fd(), PollFlags::IN)),
        );
        let woken =
            unseen || self.look_interval.sleep(|| wait(&mut fds, due.saturating_sub(at)))?;
        globals.asleep.store(0, Relaxed);
        let other = fds[1..].iter().any(|fd| !fd.revents().is_empty());
        if is_quiet && globals.unseen.load(Relaxed) & urgent == 0 {
            // What is not urgent is seen as soon as it would be if the policy were not quiet.
            earliest = earliest.max(self.last.saturating_add(LOOK_INTERVAL));
        }
        let left = earliest.saturating_sub(now());
        if woken && !other && left > Nanos::ZERO {
            self.look_interval.sleep(|| wait(&mut fds[1..], left))?;
        }
        Ok(())
    }

    /// The kernel has ended it: anew if that was because CPUs came or went.
    fn restart(&mut self, ended: Ended) -> Result<(), SessionError> {
        if !ended.is_hotplug() || !self.restarts.once_more(now()) {
            return Err(SessionError::Ended(Box::new(ended)));
        }
        let (mechanism, config) = (&mut self.mechanism, &self.config);
        self.look_interval.leave_out(|| {
            mechanism.detach();
            support::check_cpus(&config.sysfs)?;
            let kernel = KernelSide::load(setup(config, mechanism.machine()))?;
            mechanism.begin_anew(kernel, now());
            mechanism.set_online(support::online(&config.sysfs).as_deref());
            Ok(mechanism.attach()?)
        })
    }

    /// CPUs that are online and not in the machine.
    pub fn strangers(&self) -> Vec<u32> {
        let known = |cpu: u32| self.mechanism.machine().cores.iter().any(|core| core.cpu == cpu);
        support::online(&self.config.sysfs)
            .unwrap_or_default()
            .into_iter()
            .filter(|&cpu| !known(cpu))
            .collect()
    }

    /// The mechanism.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }
}

impl live::Session for Session {
    /// # Errors
    /// The kernel has ended the scheduler, or refuses what is asked for.
    fn step(
        &mut self,
        within: Nanos,
        others: &[&dyn AsFd],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.look(within, others)?)
    }

    /// The kernel's own scheduler takes over.
    fn end(mut self: Box<Self>) -> Finished {
        let at = now();
        // What is refused now has no consequences any more.
        let _ = self.mechanism.look(at);
        let missed = self.mechanism.kernel().globals().dropped_events.load(Relaxed);
        let (totals, busy, source) =
            (self.mechanism.totals(), self.mechanism.busy(), self.source());
        self.mechanism.detach();
        let mechanism = self.mechanism;
        let (apps, stats, tids) =
            mechanism.roster().remembered(mechanism.stats(), &mechanism.tids());
        Finished {
            mechanism: "sched_ext",
            source,
            parked: false,
            epoch: mechanism.epoch(),
            machine: mechanism.machine().clone(),
            apps,
            forgotten: mechanism.roster().forgotten(),
            stats,
            tids,
            busy,
            totals,
            cost: self.look_interval.cost(at),
            uncounted: self.estimating.as_ref().and_then(Estimating::uncounted),
            missed,
            reactions: Vec::new(),
        }
    }

    fn source(&self) -> String {
        let counts =
            if self.mechanism.kernel().counts() { ", with counters of instructions" } else { "" };
        format!("the kernel's scheduler, sched_ext{counts}")
    }

    fn factors(&self) -> FactorSource {
        match (&self.estimating, self.mechanism.kernel().counts()) {
            (Some(_), _) => FactorSource::Model,
            (None, true) => FactorSource::Sampled,
            (None, false) => FactorSource::Capacities,
        }
    }

    fn is_over(&self) -> bool {
        self.mechanism.live().is_empty()
    }

    fn totals(&self) -> Totals {
        self.mechanism.totals()
    }

    fn cost(&self) -> Cost {
        self.look_interval.cost(now())
    }

    fn alive(&self) -> (usize, usize) {
        let stats = self.mechanism.stats();
        let live = self.mechanism.live();
        (live.len(), live.iter().filter(|thread| stats[thread.index()].runnable()).count())
    }

    fn restarts(&self) -> u32 {
        self.restarts.all()
    }
}

fn setup(config: &Config, machine: &Machine) -> Setup {
    Setup {
        partial: config.partial,
        watchdog: config.watchdog,
        hotplug: hotplug_sequence(&config.sysfs),
        // A model goes by counters of its own.
        counters: match config.model {
            Some(_) => None,
            None => counters::open(&config.sysfs, machine),
        },
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

impl Mechanism {
    /// Which of its cores are online.
    fn set_online(&mut self, online: Option<&[u32]>) {
        let Some(online) = online else { return };
        for index in 0..self.machine.cores.len() {
            let is = online.contains(&self.machine.cores[index].cpu);
            if std::mem::replace(&mut self.cores[index].online, is) != is {
                let core = CoreId(index as u32);
                let event = if is {
                    evenkeel_policy::Event::CoreOnline(core)
                } else {
                    evenkeel_policy::Event::CoreOffline(core)
                };
                self.events.push(event);
            }
        }
    }
}
