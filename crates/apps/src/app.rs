//! What an app is, and how one is run.

use std::time::{Duration, Instant};

use evenkeel_runtime::{Pool, PoolError};

use crate::setting::{Setting, Size, Version};
use crate::team::{PinError, Tasks, Team, on_cpus};

/// The result of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// When the parallel part began.
    pub began: Instant,
    /// The same for all versions and numbers of workers.
    pub checksum: u64,
    /// Time of the parallel part: it includes the start of the app's own threads and excludes the
    /// generation of its input.
    pub parallel: Duration,
    /// Number of workers that ran.
    pub workers: usize,
}

/// Why an app was not run.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The app has no such version.
    #[error("{app} has no version {}: its shape is a pipeline, not a loop; expected \
             {}", version.name(), names(.versions))]
    Version {
        /// Of which app.
        app: &'static str,
        /// What was asked for.
        version: Version,
        /// What there is.
        versions: &'static [Version],
    },
    /// A slow core was asked for, but the program has no blocks to slow down.
    #[error(
        "a slow core is for the blocks of phases: expected a program of phases, in version serial, \
         pinned, loop-static or loop-dynamic"
    )]
    Slow,
    /// No worker is on the CPU that should be slow.
    #[error("no worker is on CPU {slow}, which is to be slow; they are on {}", list(.cpus))]
    SlowCpu {
        /// Which CPU.
        slow: u32,
        /// Those of the workers.
        cpus: Vec<u32>,
    },
    /// No such pool can be made.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A worker cannot be kept on its core.
    #[error(transparent)]
    Pin(#[from] PinError),
}

impl AppError {
    /// True if the request makes no sense; false if it failed.
    pub const fn is_usage(&self) -> bool {
        !matches!(self, Self::Pool(PoolError::Thread { .. }))
    }
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn names(versions: &[Version]) -> String {
    versions.iter().map(|version| version.name()).collect::<Vec<_>>().join(", ")
}

/// One of the nine.
pub struct App {
    /// Its name in the suite.
    pub name: &'static str,
    /// The computation, in a line.
    pub about: &'static str,
    /// How its parallel part is built, in a line.
    pub shape: &'static str,
    /// The versions that its shape has.
    pub versions: &'static [Version],
    pub(crate) run: fn(&Setting) -> Result<Outcome, AppError>,
}

impl App {
    /// Generates the input and runs the app on it.
    ///
    /// # Errors
    /// A version that the app does not have, or a CPU that cannot be used.
    pub fn run(&self, setting: &Setting) -> Result<Outcome, AppError> {
        if !self.versions.contains(&setting.version) {
            return Err(AppError::Version {
                app: self.name,
                version: setting.version,
                versions: self.versions,
            });
        }
        match &setting.cpus {
            None => (self.run)(setting),
            // The input is generated there, too.
            Some(cpus) => on_cpus(cpus, || (self.run)(setting))?,
        }
    }
}

/// An app whose parallel part is phases one after the other, each of them a loop over blocks.
pub trait Phases: Sized + Sync {
    /// Generates the input.
    fn generate(size: Size) -> Self;

    /// The parallel part: the shape of the app's parallelism.
    fn run(&self, team: &impl Team);

    /// The parallel part in tasks: those of each phase wait for the phase before, unless the app
    /// gives finer dependences.
    fn tasks(&self, pool: &Pool) {
        self.run(&Tasks(pool));
    }

    /// The checksum of the result.
    fn checksum(&self) -> u64;
}

/// An app whose parallel part is stages through which items pass.
pub trait Stages: Sized + Sync {
    /// The result of the last stage.
    type Output: Send;

    /// Generates the input.
    fn generate(size: Size) -> Self;

    /// Passes one item after the other through all stages.
    fn serial(&self) -> Self::Output;

    /// Runs each middle stage with a thread per CPU; `None` leaves the CPU to the system.
    ///
    /// # Errors
    /// A thread cannot be pinned.
    fn pinned(&self, cpus: &[Option<u32>]) -> Result<Self::Output, PinError>;

    /// Runs the stages as a pipeline of the pool.
    fn tasks(&self, pool: &Pool) -> Self::Output;

    /// The checksum of the output.
    fn checksum(output: &Self::Output) -> u64;
}
