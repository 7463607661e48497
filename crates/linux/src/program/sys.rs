//! What happens in a new process before it becomes the program.
#![allow(unsafe_code)]

use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, getppid};

/// Has the program start with this mask of blocked signals, and, where `with_parent`, be sent SIGTERM when the thread that
/// starts it ends, whatever ends it.
pub fn prepare(command: &mut Command, mask: SigSet, with_parent: bool) {
    let parent = Pid::this();
    let before = move || {
        if with_parent {
            prctl::set_pdeathsig(Signal::SIGTERM)?;
            if getppid() != parent {
                // It has ended before it could be asked for.
                return Err(Errno::ESRCH.into());
            }
        }
        mask.thread_set_mask()?;
        Ok(())
    };
    // SAFETY: between fork and exec only calls that are safe in a signal handler are allowed: prctl, getppid and
    // pthread_sigmask are, and no memory is allocated, errors from errno included.
    unsafe { command.pre_exec(before) };
}

/// Has the process tell its number, and wait for a byte, before it becomes the program. Where there will be none, it ends: `let_go`, the end
/// of the pipe from which the byte would come, is closed in the process, or its own copy would keep it waiting.
pub fn hold(command: &mut Command, number: OwnedFd, go: OwnedFd, let_go: RawFd) {
    let before = move || {
        // SAFETY: it is the process's copy of an end that is open in whoever forks it, which nobody uses here.
        unsafe { rustix::io::close(let_go) };
        rustix::io::write(&number, &std::process::id().to_ne_bytes())?;
        match rustix::io::read(&go, &mut [0_u8; 1])? {
            1 => Ok(()),
            _ => Err(Errno::EPIPE.into()),
        }
    };
    // SAFETY: as above: getpid, close, write and read may be called in a signal handler, and nothing is allocated.
    unsafe { command.pre_exec(before) };
}
