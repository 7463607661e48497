//! A guest, and the conversation with it until it ends.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use evenkeel_linux::program::Signals;

use super::{Channels, Emulator};
use crate::error::{Stage, VmError};
use crate::relay::Kept;

/// How often events other than on the control channel are checked.
const LOOK: Duration = Duration::from_millis(20);

/// A guest that runs, and its first process.
pub struct Conversation<'a> {
    emulator: Emulator<'a>,
    signals: &'a Signals,
    control: UnixStream,
    /// The part of a line that has been read.
    begun: Vec<u8>,
    console: Kept,
    complaints: Kept,
}

/// Channels that only go one way.
pub struct Output {
    /// The command's.
    pub stdout: UnixStream,
    /// The command's.
    pub stderr: UnixStream,
    /// Files brought back.
    pub files: UnixStream,
}

impl<'a> Conversation<'a> {
    /// Begins the conversation with a guest that has just started.
    ///
    /// # Errors
    /// The channel is no channel.
    pub fn new(
        emulator: Emulator<'a>,
        channels: Channels,
        signals: &'a Signals,
    ) -> Result<(Self, Output), VmError> {
        let Channels { console, complaints, control, files, stdout, stderr } = channels;
        control
            .set_read_timeout(Some(LOOK))
            .map_err(VmError::system("cannot talk to the guest"))?;
        let conversation = Self {
            emulator,
            signals,
            control,
            begun: Vec::new(),
            console: Kept::start(console),
            complaints: Kept::start(complaints),
        };
        Ok((conversation, Output { stdout, stderr, files }))
    }

    /// The emulator's process.
    pub fn process(&self) -> u32 {
        self.emulator.id()
    }

    /// Waits for the next line of the guest's first process, which writes one at the end of each
    /// stage.
    ///
    /// # Errors
    /// The guest dies, takes longer than `timeout`, a signal asks to end, or `is_refused`: the
    /// output has no reader.
    pub fn line(
        &mut self,
        stage: Stage,
        timeout: Option<Duration>,
        is_refused: &dyn Fn() -> bool,
    ) -> Result<String, VmError> {
        let began = Instant::now();
        loop {
            if let Some(end) = self.begun.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            while let Some(caught) =
                self.signals.poll().map_err(VmError::system("cannot wait for signals"))?
            {
                if caught.is_to_end() {
                    return Err(VmError::Interrupted { signal: caught.signal.as_raw() });
                }
            }
            if is_refused() {
                return Err(VmError::OutputGone);
            }
            if let Some(after) = timeout.filter(|timeout| began.elapsed() > *timeout) {
                return Err(VmError::TimedOut { stage, after, log: self.console.text() });
            }
            let mut chunk = [0; 256];
            match self.control.read(&mut chunk) {
                Ok(0) => return Err(self.died(stage)),
                Ok(some) => self.begun.extend(&chunk[..some]),
                Err(error) if is_for_nothing(&error) => {}
                Err(error) => {
                    return Err(VmError::System { what: "cannot talk to the guest", error });
                }
            }
        }
    }

    /// Tells the guest's first process to go on.
    ///
    /// # Errors
    /// The process has ended.
    pub fn go_on(&mut self) -> Result<(), VmError> {
        self.control.write_all(b"go\n").map_err(VmError::system("cannot talk to the guest"))
    }

    /// Ends the guest, and returns its kernel's log.
    pub fn end(self) -> String {
        drop(self.emulator);
        self.console.whole()
    }

    /// Why the guest died: the last message of the kernel, or else of the emulator.
    pub fn died(&mut self, stage: Stage) -> VmError {
        // Ends the emulator whatever its state, so that its channels close.
        self.emulator.end();
        let log = std::mem::take(&mut self.console).whole();
        let complaints = std::mem::take(&mut self.complaints).whole();
        VmError::Died { stage, why: last_word(&log, &complaints), log }
    }
}

/// True for the error of a read that timed out.
fn is_for_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

fn last_word(log: &str, complaints: &str) -> String {
    let panic = log.lines().rfind(|line| line.contains("Kernel panic"));
    let complaint = || complaints.lines().rfind(|line| !line.trim().is_empty());
    let said = log.lines().rfind(|line| !line.trim().is_empty());
    let word = panic.or_else(complaint).or(said).unwrap_or("the emulator has ended");
    // The message without its time.
    let word = word.trim();
    word.strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .map_or(word, |(_, word)| word)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_the_kernels_where_it_panicked_and_else_the_emulators() {
        let log = "[    1.0] x\n[    4.48] Kernel panic - not syncing: Fatal exception\n[    4.49] \
                   Kernel Offset: 0\n";
        assert_eq!(last_word(log, "qemu: y\n"), "Kernel panic - not syncing: Fatal exception");
        assert_eq!(last_word("[  1.0] x\n", "qemu: no memory\n"), "qemu: no memory");
        assert_eq!(last_word("[  1.0] x\n\n", ""), "x");
        assert_eq!(last_word("", ""), "the emulator has ended");
    }
}
