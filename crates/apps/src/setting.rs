//! What an app is run with.

use evenkeel_runtime::{Pool, PoolError};
use serde::Serialize;

use crate::team::Slow;

/// How much there is to do, serially and in a release build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// A few milliseconds: for tests.
    Small,
    /// About a second.
    Medium,
    /// About ten seconds.
    Large,
}

impl Size {
    /// Its word on the command line.
    pub fn name(self) -> &'static str {
        self.pick("small", "medium", "large")
    }

    /// The one of three values for this size.
    pub fn pick<T>(self, small: T, medium: T, large: T) -> T {
        match self {
            Self::Small => small,
            Self::Medium => medium,
            Self::Large => large,
        }
    }
}

/// How the work of an app comes to the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Version {
    /// One thread, on the fastest core
    Serial,
    /// One thread a core and equal parts, or a thread per core for each stage of a pipeline
    Pinned,
    /// Loops of the runtime, shared out in equal parts
    LoopStatic,
    /// Loops of the runtime, shared out as it does unless told otherwise (EVENKEEL_SCHEDULE)
    LoopDynamic,
    /// Tasks of the runtime, with dependences where that spares barriers; for pipelines, its
    /// pipeline
    Tasks,
}

impl Version {
    /// Its word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Pinned => "pinned",
            Self::LoopStatic => "loop-static",
            Self::LoopDynamic => "loop-dynamic",
            Self::Tasks => "tasks",
        }
    }
}

/// What an app is run with.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How much there is to do.
    pub size: Size,
    /// How it comes to the cores.
    pub version: Version,
    /// Number of workers, on the fastest cores; beyond the number of cores they start again with
    /// the fastest. `None`: one per core.
    pub workers: Option<usize>,
    /// The machine, a preset's name or a file. `None`: `EVENKEEL_MACHINE`, else the detected one.
    pub machine: Option<String>,
    /// The CPUs to use, by the operating system's numbers. `None`: all that the process may use.
    pub cpus: Option<Vec<u32>>,
    /// A CPU on which the blocks of phases take longer.
    pub slow: Option<Slow>,
}

impl Setting {
    /// The pool of these settings, on the cores that the calling thread may use.
    pub(crate) fn pool(&self) -> Result<Pool, PoolError> {
        let mut builder = Pool::builder();
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        if let Some(machine) = &self.machine {
            builder = builder.machine(machine);
        }
        if self.version == Version::LoopStatic {
            builder = builder.schedule("static");
        }
        builder.build()
    }
}
