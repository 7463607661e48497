//! Masks and queues of signals, which rustix leaves to the C library, and what happens in a new
//! process before it becomes the program.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

use super::Caught;

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl FromIterator<Signal> for Mask {
    fn from_iter<T: IntoIterator<Item = Signal>>(signals: T) -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: it makes the set an empty one, and cannot fail.
        let mut set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            set.assume_init()
        };
        for signal in signals {
            // SAFETY: the set lives through the call, which fails for no signal that has a name.
            unsafe { libc::sigaddset(&raw mut set, signal.as_raw()) };
        }
        Self(set)
    }
}

impl Mask {
    /// Has the calling thread block these signals, too. Returns what it blocked before.
    ///
    /// # Errors
    /// None that Linux has.
    pub fn block(&self) -> io::Result<Self> {
        let mut before = *self;
        // SAFETY: both sets live through the call.
        match unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const self.0, &raw mut before.0)
        } {
            0 => Ok(before),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Has the calling thread block these signals and no others.
    ///
    /// # Errors
    /// None that Linux has.
    pub fn set(&self) -> io::Result<()> {
        // SAFETY: the set lives through the call, and no other is asked for.
        match unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut())
        } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Signals to this process that all its threads block, to be read.
pub struct Queue(pub OwnedFd);

impl Queue {
    /// Of these signals.
    ///
    /// # Errors
    /// No more files may be open.
    pub fn of(signals: &Mask) -> io::Result<Self> {
        // SAFETY: the set lives through the call; -1 asks for a new file.
        match unsafe { libc::signalfd(-1, &raw const signals.0, libc::SFD_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the file is new, and nothing else owns it.
            file => Ok(Self(unsafe { OwnedFd::from_raw_fd(file) })),
        }
    }

    /// Waits for the next.
    ///
    /// # Errors
    /// A signal that this thread does not block came first; the kernel takes the queue away.
    pub fn read(&self) -> io::Result<Caught> {
        let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
        if rustix::io::read(&self.0, &mut bytes)? != bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: it is of numbers alone, for which all bytes will do, and read wherever they lie.
        let told = unsafe { ptr::read_unaligned(bytes.as_ptr().cast::<libc::signalfd_siginfo>()) };
        let signal = Signal::from_named_raw(told.ssi_signo as i32).ok_or(Errno::INVAL)?;
        Ok(Caught { signal, is_sent: told.ssi_code <= 0 })
    }
}

/// A child of this process that has ended and has not been waited for, if there is one. It stays
/// so.
pub fn ended_child() -> Option<Pid> {
    let mut told = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: what it writes to lives through the call.
    if unsafe { libc::waitid(libc::P_ALL, 0, told.as_mut_ptr(), flags) } != 0 {
        return None;
    }
    // SAFETY: all zero bytes are one, in which the number is 0, as where no child has ended.
    Pid::from_raw(unsafe { told.assume_init().si_pid() })
}

/// Has the program start with this mask of blocked signals, and, where `with_parent`, be sent
/// SIGTERM when the thread that starts it ends, whatever ends it.
pub fn prepare(command: &mut Command, mask: Mask, with_parent: bool) {
    let parent = getpid();
    let before = move || {
        if with_parent {
            set_parent_process_death_signal(Some(Signal::TERM))?;
            if getppid() != Some(parent) {
                // It has ended before it could be asked for.
                return Err(Errno::SRCH.into());
            }
        }
        mask.set()
    };
    // SAFETY: between fork and exec only calls that are safe in a signal handler are allowed:
    // prctl, getppid and pthread_sigmask are, and no memory is allocated, errors from errno
    // included.
    unsafe { command.pre_exec(before) };
}

/// Has the process tell its number, and wait for a byte, before it becomes the program. Where there
/// will be none, it ends: `let_go`, the end of the pipe from which the byte would come, is closed
/// in the process, or its own copy would keep it waiting.
pub fn hold(command: &mut Command, number: OwnedFd, go: OwnedFd, let_go: RawFd) {
    let before = move || {
        // SAFETY: it is the process's copy of an end that is open in its parent, and nothing uses
        // it here.
        unsafe { rustix::io::close(let_go) };
        rustix::io::write(&number, &std::process::id().to_ne_bytes())?;
        match rustix::io::read(&go, &mut [0_u8; 1])? {
            1 => Ok(()),
            _ => Err(Errno::PIPE.into()),
        }
    };
    // SAFETY: as above: getpid, close, write and read may be called in a signal handler, and
    // nothing is allocated.
    unsafe { command.pre_exec(before) };
}
