//! Which mechanism carries a policy out, and sessions of the sched_ext one.

use evenkeel_linux::live;

use super::Prepared;
use crate::args::live::{Backend, LiveArgs};
use crate::error::{Failure, Result, say};
use crate::plan::Chosen;

/// What `schedule` takes where nothing is said: sched_ext where it can be had.
pub fn for_machine(args: &LiveArgs, prepared: &Prepared, whole: bool) -> Backend {
    if let Some(backend) = args.backend {
        return backend;
    }
    if !whole {
        return Backend::Affinity;
    }
    match obstacle(prepared) {
        None => Backend::SchedExt,
        Some(why) => {
            say("note", &format!("by affinity, for {why}"));
            Backend::Affinity
        }
    }
}

#[cfg(feature = "sched_ext")]
fn obstacle(prepared: &Prepared) -> Option<String> {
    evenkeel_linux::sched_ext::support::check(&prepared.config.sysfs).err().map(|error| error.to_string())
}

#[cfg(not(feature = "sched_ext"))]
fn obstacle(_: &Prepared) -> Option<String> {
    Some("this evenkeel was built without sched_ext (docs/schedule.md says how to build it with)".into())
}

/// Part of a core that the mechanism may cost unless said.
#[cfg(feature = "sched_ext")]
const BUDGET: f64 = 0.04;

/// Begins to schedule: the whole machine, or only threads of SCHED_EXT.
///
/// # Errors
/// The policy refuses the machine, the kernel refuses the scheduler.
#[cfg(feature = "sched_ext")]
pub fn begin_sched_ext(prepared: Prepared, args: &LiveArgs, partial: bool) -> Result<(Box<dyn live::Session>, Chosen)> {
    use evenkeel_linux::sched_ext::Options;
    use evenkeel_linux::sched_ext::session::{Config, Session, SessionError};
    use evenkeel_machine::write_cpus;

    use crate::args::live::SourceName;

    let Prepared { policy, machine, config } = prepared;
    if args.no_park || args.grace.is_some() || args.source != SourceName::Auto {
        say("note", "--source, --no-park and --grace are for --backend affinity, and change nothing under sched_ext");
    }
    let config = Config {
        mechanism: Options { factors: config.mechanism.factors, remembers: config.mechanism.remembers },
        budget: args.budget.unwrap_or(BUDGET),
        partial,
        watchdog: args.watchdog,
        sysfs: config.sysfs,
    };
    let session = Session::begin(machine, (policy.name(), policy.make()?), config).map_err(|error| match error {
        SessionError::Refused { .. } => Failure::input(error),
        _ => Failure::Failed(error.into()),
    })?;
    for note in session.mechanism().notes() {
        say("note", &note);
    }
    let strangers = write_cpus(session.strangers());
    if !strangers.is_empty() {
        say("note", &format!("CPUs {strangers} are not in the machine: only threads that are bound to them run there"));
    }
    Ok((Box::new(session), policy))
}

/// See the other one.
#[cfg(not(feature = "sched_ext"))]
pub fn begin_sched_ext(_: Prepared, _: &LiveArgs, _: bool) -> Result<(Box<dyn live::Session>, Chosen)> {
    Err(Failure::usage(
        "this evenkeel was built without sched_ext: build it with --features sched_ext (docs/schedule.md), or use --backend affinity",
    ))
}

/// Puts a program that has not begun yet, and all that it will fork, under the scheduler.
///
/// # Errors
/// Not allowed.
#[cfg(feature = "sched_ext")]
pub fn adopt(process: evenkeel_linux::watch::Tid) -> Result {
    use anyhow::Context as _;
    evenkeel_linux::sched_ext::support::put_into_sched_ext(process)
        .context("cannot put the program into SCHED_EXT")
        .map_err(Failure::Failed)
}

/// See the other one.
#[cfg(not(feature = "sched_ext"))]
pub fn adopt(_: evenkeel_linux::watch::Tid) -> Result {
    Ok(())
}

/// What ended a session, with all that the kernel had to say about it if so asked.
pub fn trouble(error: Box<dyn std::error::Error + Send + Sync>, verbose: bool) -> Failure {
    #[cfg(feature = "sched_ext")]
    if let Some(evenkeel_linux::sched_ext::session::SessionError::Ended(ended)) = error.downcast_ref() {
        if ended.is_by_hand() {
            return Failure::Dismissed(anyhow::anyhow!(error));
        }
        if !ended.dump.is_empty() {
            use std::io::Write as _;
            if !verbose {
                return Failure::Failed(anyhow::anyhow!("{error}; -v prints what the kernel's queues held then"));
            }
            // Nothing can be done where stderr is gone.
            let _ = writeln!(std::io::stderr(), "{}", ended.dump.trim_end());
        }
    }
    let _ = verbose;
    Failure::Failed(anyhow::anyhow!(error))
}
