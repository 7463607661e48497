//! Chooses the mechanism that carries a policy out, and runs sessions of the sched_ext one.

use evenkeel_linux::live;

use super::Prepared;
use crate::args::live::{Backend, LiveArgs};
#[cfg(feature = "sched_ext")]
use crate::error::say;
use crate::error::{Failure, Result};
use crate::plan::Chosen;

/// What a session places the threads of.
#[derive(Clone, Debug)]
pub enum Scope {
    /// The whole machine, or threads that ask for SCHED_EXT by themselves.
    Machine,
    /// A program that has not begun yet.
    Program,
    /// Running programs; the sched_ext mechanism puts these into SCHED_EXT.
    Running(Whose),
}

/// A mechanism, and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A process beside the threads, which sets their CPU masks.
    Affinity(String),
    /// The kernel's scheduler itself.
    SchedExt(String),
}

impl Choice {
    /// Name of the mechanism, as `--backend` has it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Affinity(_) => "affinity",
            Self::SchedExt(_) => "sched_ext",
        }
    }

    /// For the first line of messages.
    pub fn sentence(&self) -> String {
        let (Self::Affinity(why) | Self::SchedExt(why)) = self;
        format!("by {}: {why}", self.name())
    }
}

/// The mechanism that was asked for, or the better one of those available.
pub fn choose(args: &LiveArgs, prepared: &Prepared, scope: &Scope) -> Choice {
    let asked = || "--backend asks for it".to_owned();
    match args.backend {
        Backend::Affinity => Choice::Affinity(asked()),
        Backend::SchedExt => Choice::SchedExt(asked()),
        Backend::Auto => match obstacle(prepared).or_else(|| busy(scope)) {
            None => {
                Choice::SchedExt("this kernel has it, and this user may load a scheduler".into())
            }
            Some(why) => Choice::Affinity(why),
        },
    }
}

#[cfg(feature = "sched_ext")]
fn obstacle(prepared: &Prepared) -> Option<String> {
    evenkeel_linux::sched_ext::support::check(&prepared.config.sysfs)
        .err()
        .map(|error| error.cause())
}

#[cfg(not(feature = "sched_ext"))]
fn obstacle(_: &Prepared) -> Option<String> {
    Some("this evenkeel was built without sched_ext (docs/live/sched-ext.md)".into())
}

/// Why other programs would keep a program in SCHED_EXT waiting, if they would: the kernel serves
/// threads of its own class first.
#[cfg(feature = "sched_ext")]
fn busy(scope: &Scope) -> Option<String> {
    let whose = match scope {
        Scope::Machine => return None,
        Scope::Program => None,
        Scope::Running(whose) => Some(whose),
    };
    evenkeel_linux::sched_ext::support::others_run(whose).then(|| {
        "other programs are at work, and the kernel would serve them before those in SCHED_EXT"
            .into()
    })
}

#[cfg(not(feature = "sched_ext"))]
fn busy(scope: &Scope) -> Option<String> {
    // Only sched_ext depends on the scope.
    match scope {
        Scope::Machine
        | Scope::Program
        | Scope::Running(Whose::Processes(_) | Whose::Cgroup(_)) => None,
    }
}

/// Default limit of the mechanism's cost, part of a core.
#[cfg(feature = "sched_ext")]
const BUDGET: f64 = 0.04;

/// Begins to schedule: the whole machine, or only threads of SCHED_EXT. `None`: the mechanism was
/// chosen automatically and the kernel refuses it; a message has said so.
///
/// # Errors
/// The policy refuses the machine; the kernel refuses the scheduler that was asked for.
#[cfg(feature = "sched_ext")]
pub fn begin_sched_ext(
    prepared: &Prepared,
    args: &LiveArgs,
    partial: bool,
) -> Result<Option<(Box<dyn live::Session>, Chosen)>> {
    use evenkeel_linux::sched_ext::Options;
    use evenkeel_linux::sched_ext::session::{Config, Session, SessionError};
    use evenkeel_machine::write_cpus;

    use crate::args::live::SourceName;

    let Prepared { policy, machine, config } = prepared;
    if args.no_park || args.grace.is_some() || args.source != SourceName::Auto {
        say(
            "note",
            "--source, --no-park and --grace are for --backend affinity, and change nothing under \
             sched_ext",
        );
    }
    let config = Config {
        mechanism: Options {
            factors: config.mechanism.factors.clone(),
            remembers: config.mechanism.remembers,
            schedutil: config.mechanism.schedutil,
        },
        budget: args.budget.unwrap_or(BUDGET),
        partial,
        watchdog: args.watchdog,
        sysfs: config.sysfs.clone(),
        model: config.model.clone(),
    };
    let session = match Session::begin(machine.clone(), (policy.name(), policy.make()?), config) {
        Ok(session) => session,
        Err(SessionError::Load(error)) if args.backend == Backend::Auto => {
            say("note", &format!("by affinity: {}", error.cause()));
            return Ok(None);
        }
        Err(error @ SessionError::Refused { .. }) => return Err(Failure::input(error)),
        Err(error) => return Err(Failure::Failed(error.into())),
    };
    for note in session.mechanism().notes() {
        say("note", &note);
    }
    let strangers = write_cpus(session.strangers());
    if !strangers.is_empty() {
        say(
            "note",
            &format!(
                "CPUs {strangers} are not in the machine: only threads that are bound to them run \
                 there"
            ),
        );
    }
    Ok(Some((Box::new(session), policy.clone())))
}

/// A build without the feature has no such mechanism.
///
/// # Errors
/// Always.
#[cfg(not(feature = "sched_ext"))]
pub fn begin_sched_ext(
    _: &Prepared,
    _: &LiveArgs,
    _: bool,
) -> Result<Option<(Box<dyn live::Session>, Chosen)>> {
    Err(Failure::usage(super::BUILT_WITHOUT))
}

/// Puts running threads, and all that they will fork, under the scheduler.
#[cfg(feature = "sched_ext")]
pub use evenkeel_linux::sched_ext::members::{Members, Whose};

/// A build without the feature has no members.
#[cfg(not(feature = "sched_ext"))]
pub use without::{Members, Whose};

/// Stand-ins for a build without sched_ext. None is reached: [`begin_sched_ext`] refuses before
/// that.
#[cfg(not(feature = "sched_ext"))]
mod without {
    use std::io;
    use std::path::PathBuf;

    use evenkeel_linux::watch::Tid;

    #[derive(Clone, Debug)]
    #[allow(dead_code, reason = "nothing reads them")]
    pub enum Whose {
        Processes(Vec<Tid>),
        Cgroup(PathBuf),
    }

    pub struct Members;

    impl Members {
        pub fn adopt(_: Whose) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn refused(&self) -> u64 {
            0
        }

        pub fn follow(&mut self) {}

        pub fn release(&self) {}
    }
}

/// The failure for what ended a session. With `verbose` it prints all that the kernel reported.
pub fn trouble(error: Box<dyn std::error::Error + Send + Sync>, verbose: bool) -> Failure {
    #[cfg(feature = "sched_ext")]
    if let Some(evenkeel_linux::sched_ext::session::SessionError::Ended(ended)) =
        error.downcast_ref()
    {
        if ended.is_by_hand() {
            return Failure::Dismissed(anyhow::anyhow!(error));
        }
        if !ended.dump.is_empty() {
            use std::io::Write as _;
            if !verbose {
                return Failure::Failed(anyhow::anyhow!(
                    "{error}; -v prints what the kernel's queues held then"
                ));
            }
            // If stderr is gone, nothing can be done.
            let _ = writeln!(std::io::stderr(), "{}", ended.dump.trim_end());
        }
    }
    let _ = verbose;
    Failure::Failed(anyhow::anyhow!(error))
}
