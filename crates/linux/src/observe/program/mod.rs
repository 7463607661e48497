//! A program that a command of ours runs on someone's behalf, as if they had run it: on the same
//! terminal, in the same process group, with its exit code and with the signals that are meant for
//! it.
//!
//! What is typed (Ctrl-C, Ctrl-\, the end of the terminal) the kernel sends to the whole foreground
//! group, the program included: we have nothing to pass on, and only must not die of it. What
//! someone sends to us alone, with `kill`, is passed on. The two are told apart by their sender
//! (`si_code`: the kernel, or a process). Ctrl-Z stops us both, and `fg` continues us both.

mod held;
mod sys;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, kill_process, waitid};

use sys::{Mask, Queue};

pub use held::Held;
pub use rustix::process::Signal;

/// Signals that would end us, and are the program's to answer.
const PASSED: [Signal; 6] =
    [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// Signals to this process, held back for us to look at. To be made before any thread is, since a
/// thread that does not hold them back would die of them for all.
pub struct Signals {
    queue: Queue,
    before: Mask,
}

/// A signal that was waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caught {
    /// Which.
    pub signal: Signal,
    /// Sent by a process to us, and not by the kernel to everyone on the terminal.
    pub is_sent: bool,
}

impl Caught {
    /// True if it asks its receiver to end.
    pub fn is_to_end(&self) -> bool {
        matches!(self.signal, Signal::INT | Signal::TERM | Signal::HUP | Signal::QUIT)
    }
}

impl Signals {
    /// Holds them back from now on.
    ///
    /// # Errors
    /// No more files may be open.
    pub fn hold() -> io::Result<Self> {
        Self::hold_with(&[])
    }

    /// As [`Signals::hold`], and these, too.
    ///
    /// # Errors
    /// No more files may be open.
    pub fn hold_with(more: &[Signal]) -> io::Result<Self> {
        let held: Mask = PASSED.iter().chain(more).chain(&[Signal::CHILD]).copied().collect();
        let queue = Queue::of(&held)?;
        Ok(Self { queue, before: held.block()? })
    }

    /// The next, if there is one by now.
    ///
    /// # Errors
    /// As [`Signals::next`].
    pub fn poll(&self) -> io::Result<Option<Caught>> {
        let mut fds = [PollFd::new(self, PollFlags::IN)];
        match poll(&mut fds, Some(&Timespec::default())) {
            Ok(0) | Err(Errno::INTR) => Ok(None),
            Ok(_) => self.next().map(Some),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the next.
    ///
    /// # Errors
    /// The kernel takes the queue away.
    pub fn next(&self) -> io::Result<Caught> {
        loop {
            match self.queue.read() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl AsFd for Signals {
    /// Readable where [`Signals::next`] would not wait.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.0.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // It is a mask that was in force before: it cannot be wrong.
        let _ = self.before.set();
    }
}

/// What becomes of a program when its parent is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// It goes on.
    Loose,
    /// It is sent SIGTERM: what it does would no longer be what it was started for.
    Tied,
}

/// What becomes of a program's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// It keeps stdout and stderr.
    AsItIs,
    /// Stdout is for other things: the program's goes to stderr.
    OnStderr,
    /// Stdout is discarded.
    Nowhere,
}

impl Output {
    /// Has a command's output go there.
    pub fn of(self, command: &mut Command) {
        match self {
            Self::AsItIs => {}
            Self::OnStderr => {
                command.stdout(Stdio::from(io::stderr()));
            }
            Self::Nowhere => {
                command.stdout(Stdio::null());
            }
        }
    }
}

/// A program that runs.
pub struct Program<'a> {
    child: Child,
    signals: &'a Signals,
}

impl<'a> Program<'a> {
    /// Starts it. It must be started by a thread that stays until it ends.
    ///
    /// # Errors
    /// As [`find`] says them, and whatever else keeps a process from starting.
    pub fn start(mut command: Command, bond: Bond, signals: &'a Signals) -> io::Result<Self> {
        sys::prepare(&mut command, signals.before, bond == Bond::Tied);
        Ok(Self { child: command.spawn()?, signals })
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has by now; what is meant for it is passed on.
    ///
    /// # Errors
    /// As [`Program::wait`].
    pub fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        let mut children = false;
        while let Some(caught) = self.signals.poll()? {
            children |= caught.signal == Signal::CHILD;
            self.pass(caught);
        }
        let status = self.child.try_wait()?;
        if status.is_none() && children {
            self.bury_others();
        }
        Ok(status)
    }

    /// Where we are a subreaper, processes whose parents have ended are our children, and would
    /// stay zombies.
    fn bury_others(&self) {
        let own = Pid::from_child(&self.child);
        while let Some(pid) = sys::ended_child().filter(|&pid| pid != own) {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }

    fn pass(&self, Caught { signal, is_sent }: Caught) {
        if signal != Signal::CHILD && is_sent {
            // It may have ended in the meantime; a wait shows that.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }

    /// Ends it at once, whatever it does, and waits for that.
    pub fn kill(&mut self) {
        // It may have ended by itself, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end, and passes on what is meant for it.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            let caught = self.signals.next()?;
            self.pass(caught);
        }
    }
}

/// The exit code by which a shell would tell this end: the program's own, or 128 and the signal
/// that ended it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Exit code of shells for a program that is not there.
pub const NOT_FOUND: u8 = 127;
/// Exit code of shells for a program that is there and cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;

/// The exit code by which a shell would tell that a program could not be started.
pub fn not_started(error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE }
}

/// Looks whether there is such a program, before long preparations for it: a path, or a name in one
/// of the folders of `PATH`. A file of that name which may not be executed counts only if no other
/// folder has one that may. Returns its path.
///
/// # Errors
/// There is none, or it cannot be executed.
pub fn find(program: &OsStr, path: Option<OsString>) -> io::Result<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return check(Path::new(program)).map(|()| program.into());
    }
    let folders = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "no such program in PATH");
    for folder in std::env::split_paths(&folders) {
        let file = folder.join(program);
        match check(&file) {
            Ok(()) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && file.is_file() => {
                refused = error
            }
            Err(_) => {}
        }
    }
    Err(refused)
}

/// Checks that this process may execute a file.
fn check(file: &Path) -> io::Result<()> {
    if fs::metadata(file)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    access(file, Access::EXEC_OK).map_err(|error| match error {
        Errno::ACCESS => io::Error::new(io::ErrorKind::PermissionDenied, "permission denied"),
        error => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        let path = || std::env::var_os("PATH");
        assert!(find("sh".as_ref(), path()).is_ok());
        assert!(find("/bin/sh".as_ref(), None).is_ok());
        assert_eq!(
            find("no-such-program".as_ref(), path()).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert_eq!(find("/".as_ref(), None).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(
            find("/proc/self/status".as_ref(), None).unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
        // In PATH, what may not be executed is told from what is not there.
        let refused = find("status".as_ref(), Some("/nowhere:/proc/self".into())).unwrap_err();
        assert_eq!(
            (refused.kind(), not_started(&refused)),
            (io::ErrorKind::PermissionDenied, NOT_EXECUTABLE)
        );
        assert!(find("sh".as_ref(), Some("/proc/self:/bin".into())).is_ok());
    }

    #[test]
    fn an_end_is_told_as_shells_do() {
        assert_eq!(exit_code(ExitStatus::from_raw(0x0300)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(15)), 143);
    }
}
