//! What can go wrong in the lab.

use std::io;
use std::path::PathBuf;

use evenkeel_machine::{CpuListError, MAX_KINDS, write_cpus};

use crate::observe::watch::Cpu;

/// How to get leave, in the words of a shell.
const HOW: &str = "run it with sudo, or once sudo setcap cap_sys_nice+ep $(command -v evenkeel), \
                   or sudo systemd-run \
                   --pty --uid=$USER -p AmbientCapabilities=CAP_SYS_NICE evenkeel lab …";

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// What is to be slowed is not said in the right form.
    #[error("'{text}': expected CPUS=RATIO, as 1=3 or 2-3=2,4=4")]
    Form {
        /// All of it.
        text: String,
    },
    /// CPUs that are none.
    #[error("'{text}': {error}")]
    Cpus {
        /// All of it.
        text: String,
        /// What about them.
        error: CpuListError,
    },
    /// Not a ratio.
    #[error(
        "'{text}': '{found}' is no ratio: expected how many times slower, from 1 on, as 3 or 1.5"
    )]
    Ratio {
        /// All of it.
        text: String,
        /// The ratio in it.
        found: String,
    },
    /// One CPU is to be slowed twice.
    #[error("CPU {} is to be slowed twice", cpu.0)]
    Twice {
        /// Which.
        cpu: Cpu,
    },
    /// A CPU that is not there.
    #[error("there is no CPU {} on this machine: it has \
             {}", cpu.0, write_cpus(present.iter().copied()))]
    NotThere {
        /// Which.
        cpu: Cpu,
        /// Those that are.
        present: Vec<u32>,
    },
    /// A CPU that is offline.
    #[error("CPU {} is offline; online are {}", cpu.0, write_cpus(online.iter().copied()))]
    Offline {
        /// Which.
        cpu: Cpu,
        /// Those that are not.
        online: Vec<u32>,
    },
    /// A CPU that this process may not use.
    #[error("CPU {} is not allowed to this process (affinity or cpuset); allowed are \
             {}", cpu.0, write_cpus(allowed.iter().copied()))]
    NotAllowed {
        /// Which.
        cpu: Cpu,
        /// Those that are.
        allowed: Vec<u32>,
    },
    /// Slower than real-time threads may make it.
    #[error("CPU {} cannot be {ratio} times slower: real-time threads may have {:.0} % of a CPU \
             ({}), which allows up to {greatest:.4}", cpu.0, share * 100.0, file.display())]
    TooSlow {
        /// Which.
        cpu: Cpu,
        /// What was asked.
        ratio: f64,
        /// What is allowed, as a ratio.
        greatest: f64,
        /// What is allowed, as a share.
        share: f64,
        /// Which file says so.
        file: PathBuf,
    },
    /// More ratios than a machine may have kinds of core.
    #[error(
        "{kinds} kinds of core: a machine has at most {MAX_KINDS}; give fewer different ratios"
    )]
    TooManyKinds {
        /// How many there would be.
        kinds: usize,
    },
    /// No leave to make threads real-time.
    #[error("slowing a core needs CAP_SYS_NICE, to make a thread real-time (SCHED_FIFO): {HOW}")]
    NoCapability,
    /// No real-time budget.
    #[error("the control group of this process allows it no real-time threads: {} says \
             0", file.display())]
    NoBudget {
        /// Which file says so.
        file: PathBuf,
    },
    /// A thread cannot be made real-time for another reason.
    #[error("cannot make a thread real-time (SCHED_FIFO): {0}")]
    RealTime(io::Error),
    /// A thread cannot be tied to its CPU.
    #[error("cannot run a thread on CPU {}: {error}", cpu.0)]
    Pin {
        /// Which.
        cpu: Cpu,
        /// Why.
        error: io::Error,
    },
    /// No thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// It was told to end ([`super::Control::end`]).
    #[error("interrupted")]
    Interrupted,
    /// A bug of ours.
    #[error("a thread of the lab has panicked")]
    Panicked,
    /// The CPUs that this process may use cannot be told.
    #[error("cannot tell which CPUs there are: {0}")]
    Affinity(io::Error),
    /// The machine file of the lab.
    #[error("cannot write {}: {error}", file.display())]
    Write {
        /// Which.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl LabError {
    /// From what the kernel says to real-time scheduling.
    pub(super) fn real_time(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::NoCapability,
            _ => Self::RealTime(error),
        }
    }

    /// True if what was asked is wrong, and not the circumstances.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Form { .. }
                | Self::Cpus { .. }
                | Self::Ratio { .. }
                | Self::Twice { .. }
                | Self::NotThere { .. }
                | Self::Offline { .. }
                | Self::NotAllowed { .. }
                | Self::TooSlow { .. }
                | Self::TooManyKinds { .. }
        )
    }
}
