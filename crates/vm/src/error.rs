//! What can go wrong in a lab.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::cores::CoresError;

/// What a guest is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// From its start until its first process talks to the host.
    Boot,
    /// It sleeps a moment on each core.
    Clocks,
    /// The command runs.
    Command,
    /// Files are sent back.
    WayBack,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boot => "the boot",
            Self::Clocks => "a sleep of a millisecond on each core",
            Self::Command => "the command",
            Self::WayBack => "the way back of files",
        })
    }
}

/// Why there is no lab, or why it ended before its command.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// The cores asked for are none.
    #[error(transparent)]
    Cores(#[from] CoresError),
    /// More than the host has.
    #[error(
        "the cores {cores} take {asked} % of a host core together, and there are {available} %: \
         {HOW_TO_FIT}"
    )]
    DoesNotFit {
        /// Those asked for.
        cores: String,
        /// Their sum, percent.
        asked: u32,
        /// What CPUs there are for this process, percent.
        available: u32,
    },
    /// A kernel's name that is none.
    #[error(
        "kernel '{text}': expected a series as 6.18, a release as 6.18.15+deb13, or the path of a \
         vmlinuz"
    )]
    KernelName {
        /// What was asked for.
        text: String,
    },
    /// A kernel that is not to be had.
    #[error("there is no kernel {wanted} for amd64 in {place}; series to be had: {series}")]
    NoKernel {
        /// What was asked for.
        wanted: String,
        /// The place that was searched.
        place: String,
        /// The series that it has.
        series: String,
    },
    /// A kernel's file without its configuration.
    #[error("no configuration beside {}: expected {expected}, or --config FILE", vmlinuz.display())]
    NoConfig {
        /// The kernel.
        vmlinuz: PathBuf,
        /// The name under which it was searched.
        expected: String,
    },
    /// A file that is no kernel.
    #[error("{} is no kernel image for x86 (bzImage)", vmlinuz.display())]
    NotAKernel {
        /// The file.
        vmlinuz: PathBuf,
    },
    /// A kernel that the lab cannot talk to.
    #[error("kernel {release} is built without {missing}=y, which the lab needs")]
    UnfitKernel {
        /// Which.
        release: String,
        /// The option of its configuration.
        missing: &'static str,
    },
    /// The archive cannot be reached, or a package not be read.
    #[error("{what}: {said}")]
    Archive {
        /// What was tried.
        what: String,
        /// The first line of what apt or dpkg-deb said.
        said: String,
    },
    /// A program of the host is missing.
    #[error("{program} is not installed: apt install {package}")]
    NotInstalled {
        /// Its name.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A program that is to run in the guest is not there, or may not be executed.
    #[error("no program '{}' for the guest: {error}", program.display())]
    NoProgram {
        /// Its name or path.
        program: OsString,
        /// Why.
        error: io::Error,
    },
    /// A program that is to run in the guest cannot be had.
    #[error("no program '{program}' for the guest: {why}")]
    Program {
        /// Its name or path.
        program: String,
        /// Why.
        why: String,
    },
    /// A shared library of a program is missing.
    #[error("{} needs {library}, which is in no folder of libraries", needed_by.display())]
    NoLibrary {
        /// The library.
        library: String,
        /// What needs it.
        needed_by: PathBuf,
    },
    /// Two things for one place in the guest.
    #[error("'{}' and '{}' are both to be {} in the \
             guest", first.display(), second.display(), guest.display())]
    Twice {
        /// One.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// The place.
        guest: PathBuf,
    },
    /// The image is too large for the guest's memory.
    #[error(
        "an image of {image_mib} MiB does not fit a memory of {memory_mib} MiB: --memory \
         {needed_mib}M"
    )]
    Memory {
        /// Its size.
        image_mib: u64,
        /// The memory.
        memory_mib: u64,
        /// What would do.
        needed_mib: u64,
    },
    /// No cgroup to throttle cores with.
    #[error(
        "cannot throttle cores: {what}; {way_out}, or --cores with @100 only, which throttles \
         nothing"
    )]
    NoCgroup {
        /// The missing thing.
        what: String,
        /// What to do.
        way_out: &'static str,
    },
    /// A cgroup file that cannot be written.
    #[error("cannot write {}: {error}", file.display())]
    Cgroup {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file of the host.
    #[error("{}: {error}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A system call that fails on something other than a file.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// The guest ended by itself, before its command did.
    #[error("the guest died during {stage}: {why}")]
    Died {
        /// The stage that it had reached.
        stage: Stage,
        /// A line of its log, or of the emulator's.
        why: String,
        /// The kernel's log.
        log: String,
    },
    /// Time is over.
    #[error("time-out: {stage} did not end within {} s", after.as_secs_f64())]
    TimedOut {
        /// What.
        stage: Stage,
        /// After how long.
        after: Duration,
        /// The kernel's log.
        log: String,
    },
    /// A signal asked to end.
    #[error("interrupted")]
    Interrupted {
        /// Which.
        signal: i32,
    },
    /// The reader of the command's output has gone.
    #[error("nobody reads the output any more")]
    OutputGone,
    /// What was to be brought back is not there.
    #[error("cannot bring {} back from the guest: {why}", guest.display())]
    Fetch {
        /// Its place in the guest.
        guest: PathBuf,
        /// Why.
        why: String,
    },
}

const HOW_TO_FIT: &str = "smaller shares, or --force, with which cores are slower than asked";

impl VmError {
    /// True if the request is wrong, or something on the host is missing, and nothing was run.
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            Self::Archive { .. }
                | Self::Cgroup { .. }
                | Self::System { .. }
                | Self::Died { .. }
                | Self::TimedOut { .. }
                | Self::Interrupted { .. }
                | Self::OutputGone
                | Self::Fetch { .. }
        )
    }

    /// The kernel's log, if the guest came that far.
    pub fn log(&self) -> Option<&str> {
        match self {
            Self::Died { log, .. } | Self::TimedOut { log, .. } => Some(log),
            _ => None,
        }
    }

    pub(crate) fn file(file: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |error| Self::File { file, error }
    }

    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::System { what, error }
    }
}
