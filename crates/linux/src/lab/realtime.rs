//! Real-time threads, and the system calls that they take.
#![allow(unsafe_code)]

use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evenkeel_machine::Nanos;
use rustix::thread::{CpuSet, clock_nanosleep_absolute, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::observe::watch::Cpu;

/// How long a thread may take until it is on its CPU: others may have that for themselves.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// Why there is no such thread.
#[derive(Debug)]
pub enum StartError {
    /// It cannot be made, or does not get its CPU.
    Thread(io::Error),
    /// It cannot be real-time.
    Fifo(io::Error),
    /// It cannot be tied to its CPU.
    Pin(io::Error),
}

impl From<StartError> for io::Error {
    fn from(error: StartError) -> Self {
        let (StartError::Thread(error) | StartError::Fifo(error) | StartError::Pin(error)) = error;
        error
    }
}

/// A thread that is `SCHED_FIFO` at `priority` and tied to one CPU, and then lives its life.
///
/// # Errors
/// It cannot be, and has ended, or will.
pub fn start(
    name: String,
    cpu: Cpu,
    priority: i32,
    life: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StartError> {
    let (tell, told) = channel();
    let whole = move || {
        let ready = become_fifo(priority).map_err(StartError::Fifo);
        let ready = ready.and_then(|()| pin_to(cpu).map_err(StartError::Pin));
        let is_ready = ready.is_ok();
        if tell.send(ready).is_ok() && is_ready {
            life();
        }
    };
    let thread = thread::Builder::new().name(name).spawn(whole).map_err(StartError::Thread)?;
    match told.recv_timeout(START_TIMEOUT) {
        Ok(ready) => ready.map(|()| thread),
        Err(RecvTimeoutError::Timeout) => Err(StartError::Thread(io::ErrorKind::TimedOut.into())),
        Err(RecvTimeoutError::Disconnected) => {
            Err(StartError::Thread(io::Error::other("it has ended")))
        }
    }
}

/// Makes the calling thread `SCHED_FIFO` at `priority`, 1 to 99.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE` and with an `RLIMIT_RTPRIO` below `priority`, and in a control
/// group without real-time budget.
pub fn become_fifo(priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: `param` lives through the call, which only reads it; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ties the calling thread to one CPU.
///
/// # Errors
/// A CPU that is not there, is offline, or that the cpuset leaves out.
pub fn pin_to(cpu: Cpu) -> io::Result<()> {
    let cpu = cpu.0 as usize;
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// `CLOCK_MONOTONIC`.
pub fn now() -> Nanos {
    read(ClockId::Monotonic)
}

/// `CLOCK_BOOTTIME`: as [`now`], and what the machine was suspended for beside.
pub fn since_boot() -> Nanos {
    read(ClockId::Boottime)
}

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// Sleeps until the monotonic clock reads `time`, or a little less where a signal comes.
pub fn sleep_until(time: Nanos) {
    let tv_sec = i64::try_from(time.0 / 1_000_000_000).unwrap_or(i64::MAX);
    let then = Timespec { tv_sec, tv_nsec: (time.0 % 1_000_000_000) as i64 };
    // Sleepers look at the clock afterwards: an early end does no harm.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &then);
}
