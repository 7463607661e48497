//! A process that waits before it becomes the program, so that it can be followed from its first
//! instruction.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command};
use std::thread::JoinHandle;

use rustix::pipe::{PipeFlags, pipe_with};

use super::{Program, Signals, sys};

/// A process that waits before it begins its program. Dropped, it never begins.
pub struct Held<'a> {
    pid: u32,
    go: Option<OwnedFd>,
    /// None once it has begun.
    spawner: Option<JoinHandle<io::Result<Child>>>,
    signals: &'a Signals,
}

impl<'a> Held<'a> {
    /// Makes the process. It goes on if its parent is killed.
    ///
    /// # Errors
    /// No process, no thread or no pipe can be made.
    pub fn new(mut command: Command, signals: &'a Signals) -> io::Result<Self> {
        let ((number_out, number_in), (go_out, go_in)) =
            (pipe_with(PipeFlags::CLOEXEC)?, pipe_with(PipeFlags::CLOEXEC)?);
        sys::prepare(&mut command, signals.before, false);
        sys::hold(&mut command, number_in, go_out, go_in.as_raw_fd());
        // `spawn` returns when the program has begun, or could not: it waits in a thread of its
        // own. The command goes with it, and our copies of the child's ends of the pipes.
        let spawner =
            std::thread::Builder::new().name("spawn".into()).spawn(move || command.spawn())?;
        let mut number = [0; 4];
        if rustix::io::read(&number_out, &mut number)? == number.len() {
            let pid = u32::from_ne_bytes(number);
            return Ok(Self { pid, go: Some(go_in), spawner: Some(spawner), signals });
        }
        // There is no process: `spawn` knows why.
        Err(begun(spawner).err().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// Lets it begin.
    ///
    /// # Errors
    /// The program is not there, or cannot be executed.
    pub fn begin(mut self) -> io::Result<Program<'a>> {
        let (Some(go), Some(spawner)) = (self.go.take(), self.spawner.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        rustix::io::write(&go, &[1])?;
        Ok(Program { child: begun(spawner)?, signals: self.signals })
    }
}

impl Drop for Held<'_> {
    /// Waits until the process is gone: it tells `spawn` that it never began, and aborts, loudly,
    /// where nobody is there any more to be told.
    fn drop(&mut self) {
        drop(self.go.take());
        if let Some(spawner) = self.spawner.take() {
            drop(begun(spawner));
        }
    }
}

fn begun(spawner: JoinHandle<io::Result<Child>>) -> io::Result<Child> {
    spawner.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it has failed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_process_begins_when_let_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        let signals = Signals::hold().unwrap();
        let mut command = Command::new("touch");
        command.arg(&made);
        let held = Held::new(command, &signals).unwrap();
        assert!(std::path::Path::new(&format!("/proc/{}", held.id())).exists());
        assert!(!made.exists());
        // Not `Program::wait`: the threads of other tests hold no signals back, and may be the ones
        // to get SIGCHLD.
        assert!(held.begin().unwrap().child.wait().unwrap().success());
        assert!(made.exists());
    }

    #[test]
    fn a_held_process_ends_when_it_is_not_to_begin() {
        let signals = Signals::hold().unwrap();
        let held = Held::new(Command::new("true"), &signals).unwrap();
        let process = std::path::PathBuf::from(format!("/proc/{}", held.id()));
        drop(held);
        assert!(!process.exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_told_when_it_should_begin() {
        let signals = Signals::hold().unwrap();
        // Not by name: a folder of `PATH` that we may not look into would be another error.
        let held = Held::new(Command::new("/no-such-program"), &signals).unwrap();
        assert_eq!(held.begin().err().unwrap().kind(), io::ErrorKind::NotFound);
    }
}
