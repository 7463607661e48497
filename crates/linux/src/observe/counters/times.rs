//! What the kernel's scheduler counts for a thread. Needs no privilege for one's own threads, and
//! for others no more than that `/proc` shows them (`hidepid`).

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use evenkeel_machine::Nanos;

use crate::observe::watch::{Cpu, Tid};

/// A thread's account since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// On a core. Of a thread that is on one now, up to the scheduler's last look: a tick at most,
    /// 1 to 10 ms.
    pub run: Nanos,
    /// Runnable, and waiting for a core; waits that have not ended do not count yet.
    pub wait: Nanos,
    /// How often it got a core.
    pub runs: u64,
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// On a core, or waiting for one.
    Runnable,
    /// Waiting for something else than a core.
    Blocked,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// It has ended.
    Ended,
}

/// The open files of one thread's account: two descriptors.
#[derive(Debug)]
pub struct ThreadTimes {
    times: File,
    state: File,
}

/// A text of numbers that is longer than any that these files hold.
const LONGEST: usize = 1024;

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

fn read(file: &File, buffer: &mut [u8; LONGEST]) -> io::Result<usize> {
    match file.read_at(buffer, 0)? {
        0 => Err(gone()),
        length => Ok(length),
    }
}

/// `run wait runs`, nanoseconds and a count. See `Documentation/scheduler/sched-stats.rst`.
fn parse_times(text: &str) -> Option<Times> {
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(Times { run: Nanos(next()?), wait: Nanos(next()?), runs: next()? })
}

/// `tid (name) state …`, and as the 39th field the CPU. The name may hold blanks and parentheses.
/// See `proc_pid_stat(5)`.
fn parse_state(text: &str) -> Option<(RunState, Cpu)> {
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = match fields.next()? {
        "R" => RunState::Runnable,
        "T" | "t" => RunState::Stopped,
        "Z" | "X" | "x" => RunState::Ended,
        _ => RunState::Blocked,
    };
    Some((state, Cpu(fields.nth(35)?.parse().ok()?)))
}

impl ThreadTimes {
    /// Opens the account of a thread of a process.
    ///
    /// # Errors
    /// If there is no such thread, or the kernel keeps no accounts (`CONFIG_SCHED_INFO`).
    pub fn open(process: Tid, tid: Tid) -> io::Result<Self> {
        Self::under(Path::new("/proc"), process, tid)
    }

    fn under(proc: &Path, process: Tid, tid: Tid) -> io::Result<Self> {
        let thread: PathBuf = proc.join(process.0.to_string()).join("task").join(tid.0.to_string());
        Ok(Self {
            times: File::open(thread.join("schedstat"))?,
            state: File::open(thread.join("stat"))?,
        })
    }

    /// Its account now: one system call, no allocation, about a microsecond.
    ///
    /// # Errors
    /// `ESRCH` once the thread is gone.
    pub fn times(&self) -> io::Result<Times> {
        let mut buffer = [0; LONGEST];
        let length = read(&self.times, &mut buffer)?;
        let text = std::str::from_utf8(&buffer[..length]).ok();
        text.and_then(parse_times).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// What it is doing now, and the CPU where it is or was last: one system call, no allocation,
    /// some microseconds.
    ///
    /// # Errors
    /// `ESRCH` once the thread is gone.
    pub fn state(&self) -> io::Result<(RunState, Cpu)> {
        let mut buffer = [0; LONGEST];
        let length = read(&self.state, &mut buffer)?;
        // A thread's name is bytes; what follows its last parenthesis is ASCII.
        let after = buffer[..length].iter().rposition(|&byte| byte == b')').unwrap_or(0);
        let text = std::str::from_utf8(&buffer[after..length]).ok();
        text.and_then(parse_state).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_what_the_format_does() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 \
                    29 30 31 32 33 34 35 7 0 0";
        assert_eq!(parse_state(&format!("12 (a) R (b) {rest}")), Some((RunState::Blocked, Cpu(7))));
        assert_eq!(parse_state("12 (a) R 1"), None);
    }

    #[test]
    fn an_account_has_three_numbers() {
        let times = Times { run: Nanos(10), wait: Nanos(20), runs: 3 };
        assert_eq!(parse_times("10 20 3\n"), Some(times));
        assert_eq!(parse_times("10 20\n"), None);
        assert_eq!(parse_times("10 x 3\n"), None);
    }

    #[test]
    fn ones_own_account_grows_with_what_one_runs() {
        let own = Tid(rustix::thread::gettid().as_raw_nonzero().get());
        let process = Tid(rustix::process::getpid().as_raw_nonzero().get());
        let account = ThreadTimes::open(process, own).unwrap();
        let before = account.times().unwrap();
        // A yield brings the account up to date.
        while account.times().unwrap().run < Nanos(before.run.0 + 5_000_000) {
            std::thread::yield_now();
        }
        assert_eq!(account.state().unwrap().0, RunState::Runnable);
    }

    #[test]
    fn the_account_of_a_thread_that_is_gone_says_so() {
        let process = Tid(rustix::process::getpid().as_raw_nonzero().get());
        let own = || Tid(rustix::thread::gettid().as_raw_nonzero().get());
        let account =
            std::thread::spawn(move || ThreadTimes::open(process, own()).unwrap()).join().unwrap();
        // Joined is not yet gone: the kernel takes it off the list a moment later.
        let error = loop {
            if let Err(error) = account.times() {
                break error;
            }
        };
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    }
}
