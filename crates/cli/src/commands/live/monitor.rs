//! `evenkeel schedule --monitor`: asks another `schedule` at its socket for what it does
//! ([`super::listener`]).

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use evenkeel_linux::affinity::journal::directory;
use evenkeel_linux::program::Signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::listener::place;
use super::statistics::{Snapshot, Statistics};
use crate::error::{Failure, Result, say};
use crate::output::print;

/// Longest wait for an answer: while CPUs come and go a scheduler reloads itself, on a slow machine
/// for seconds.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Longest answer that is read.
const LONGEST: usize = 1 << 16;

/// The outcome of a question.
enum Answer {
    Snapshot(Box<Snapshot>),
    /// No process listens, or it has ended.
    NoListener,
    /// A signal interrupted the wait.
    Interrupted,
}

/// Shows a line every so many seconds until interrupted, or until no process listens any more.
///
/// # Errors
/// No process schedules, or this user may not ask it.
pub fn run(seconds: u32, json: bool) -> Result<ExitCode> {
    let signals = Signals::hold().context("cannot hold back signals").map_err(Failure::Failed)?;
    let path = place(&directory());
    let every = Duration::from_secs(u64::from(seconds));
    let mut before = match ask(&path, &signals)? {
        Answer::Snapshot(first) => first,
        Answer::NoListener => return Err(no_listener(&path)),
        Answer::Interrupted => return Ok(ExitCode::SUCCESS),
    };
    let of = &before.identity;
    say(
        "note",
        &format!("process {} schedules {} under {}; {}", of.pid, of.scope, of.policy, of.source),
    );
    let mut next = Instant::now() + every;
    loop {
        if sleep_until(next, &signals)? {
            return Ok(ExitCode::SUCCESS);
        }
        next += every;
        let now = match ask(&path, &signals)? {
            Answer::Snapshot(now) => now,
            Answer::NoListener => {
                say("note", &format!("process {} has ended", before.identity.pid));
                return Ok(ExitCode::SUCCESS);
            }
            Answer::Interrupted => return Ok(ExitCode::SUCCESS),
        };
        if now.identity.pid != before.identity.pid {
            let of = &now.identity;
            say(
                "note",
                &format!("process {} has ended; {} schedules now", before.identity.pid, of.pid),
            );
            *before = Snapshot::default();
        }
        let statistics = Statistics::since(&before, &now);
        if json {
            let line = serde_json::to_string(&statistics)
                .map_err(|error| Failure::Failed(error.into()))?;
            print(&(line + "\n"))?;
        } else {
            print(&statistics.line())?;
        }
        before = now;
    }
}

fn no_listener(path: &Path) -> Failure {
    let hint = if rustix::process::geteuid().is_root() {
        ""
    } else {
        "; one that root has started takes sudo"
    };
    Failure::Failed(anyhow::anyhow!(
        "no `evenkeel schedule` runs (nobody listens at {}){hint}",
        path.display()
    ))
}

/// Asks for a snapshot.
fn ask(path: &Path, signals: &Signals) -> Result<Answer> {
    let failed = |error: io::Error| {
        Failure::Failed(anyhow::Error::from(error).context(path.display().to_string()))
    };
    let mut stream = match UnixStream::connect(path) {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(Answer::NoListener);
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(Failure::Failed(anyhow::anyhow!(
                "{}: only who started that evenkeel may ask it, or root (sudo)",
                path.display()
            )));
        }
        Err(error) => return Err(failed(error)),
    };
    stream.set_nonblocking(true).map_err(failed)?;
    let end = Instant::now() + TIMEOUT;
    let mut text = Vec::new();
    let mut portion = [0; 4096];
    while text.len() < LONGEST {
        match stream.read(&mut portion) {
            Ok(0) => break,
            Ok(read) => text.extend_from_slice(&portion[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut fds = [
                    PollFd::new(&stream, PollFlags::IN),
                    PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
                ];
                wait(&mut fds, end)?;
                if is_to_end(signals)? {
                    return Ok(Answer::Interrupted);
                }
                if Instant::now() >= end {
                    return Err(failed(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "the evenkeel there does not answer",
                    )));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The scheduler ended before it accepted the connection.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Ok(Answer::NoListener);
            }
            Err(error) => return Err(failed(error)),
        }
    }
    if text.is_empty() {
        return Ok(Answer::NoListener);
    }
    let snapshot = serde_json::from_slice(&text)
        .with_context(|| {
            format!(
                "{}: not what this evenkeel understands, another version may run there",
                path.display()
            )
        })
        .map_err(Failure::Failed)?;
    Ok(Answer::Snapshot(Box::new(snapshot)))
}

/// True if a signal asks this process to end before then.
fn sleep_until(then: Instant, signals: &Signals) -> Result<bool> {
    while Instant::now() < then {
        wait(&mut [PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)], then)?;
        if is_to_end(signals)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_to_end(signals: &Signals) -> Result<bool> {
    let caught = signals.poll().context("cannot read signals").map_err(Failure::Failed)?;
    Ok(caught.is_some_and(|caught| caught.is_to_end()))
}

fn wait(fds: &mut [PollFd<'_>], end: Instant) -> Result {
    let left = end.saturating_duration_since(Instant::now());
    let timeout =
        Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    match poll(fds, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(Failure::Failed(anyhow::Error::from(error).context("cannot wait"))),
    }
}
