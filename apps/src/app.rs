//! What an app is, and how one is run.

use std::time::{Duration, Instant};

use evenkeel::{Pool, PoolError};
use serde::Serialize;

use crate::team::{Loops, PinError, Serial, Tasks, Team, pinned};

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
    /// One of three, for this size.
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
    /// One thread
    Serial,
    /// One thread a core and equal parts, or a thread per core for each stage of a pipeline
    Pinned,
    /// Loops of the runtime, shared out in equal parts
    LoopStatic,
    /// Loops of the runtime, shared out as it does unless told otherwise (EVENKEEL_SCHEDULE)
    LoopDynamic,
    /// Tasks of the runtime, with dependences where that spares barriers; for pipelines, its pipeline
    Tasks,
}

impl Version {
    /// As it is written.
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
    /// Workers, on the fastest cores, and round again where they are more than cores. Else one per core.
    pub workers: Option<usize>,
    /// The machine that this is, a preset's name or a file. Else `EVENKEEL_MACHINE`, else what is detected.
    pub machine: Option<String>,
}

impl Setting {
    /// The pool that this asks for.
    fn pool(&self) -> Result<Pool, PoolError> {
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

/// What came of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The same whatever the version and the number of workers.
    pub checksum: u64,
    /// The parallel part: with the starting of its threads where they are the app's own, without the generation of its input.
    pub parallel: Duration,
    /// As many as there were.
    pub workers: usize,
}

/// Why an app was not run.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The app has no such version.
    #[error("{app} has no version {}: its shape is a pipeline, not a loop; expected {}", version.name(), names(.versions))]
    Version {
        /// Of which app.
        app: &'static str,
        /// What was asked for.
        version: Version,
        /// What there is.
        versions: &'static [Version],
    },
    /// There are no such workers.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A worker cannot be kept on its core.
    #[error(transparent)]
    Pin(#[from] PinError),
}

fn names(versions: &[Version]) -> String {
    versions.iter().map(|version| version.name()).collect::<Vec<_>>().join(", ")
}

/// One of the nine.
pub struct App {
    /// Its name in the suite.
    pub name: &'static str,
    /// What it computes, in a line.
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
            return Err(AppError::Version { app: self.name, version: setting.version, versions: self.versions });
        }
        (self.run)(setting)
    }
}

/// An app whose parallel part is phases one after the other, each of them a loop over blocks.
pub trait Phases: Sized + Sync {
    /// Generates the input.
    fn generate(size: Size) -> Self;

    /// The parallel part: the shape of the app's parallelism.
    fn run(&self, team: &impl Team);

    /// The parallel part in tasks: those of each phase wait for the phase before, unless the app knows better.
    fn tasks(&self, pool: &Pool) {
        self.run(&Tasks(pool));
    }

    /// Of the result.
    fn checksum(&self) -> u64;
}

/// An app whose parallel part is stages through which items pass.
pub trait Stages: Sized + Sync {
    /// What comes out at the end.
    type Output: Send;

    /// Generates the input.
    fn generate(size: Size) -> Self;

    /// One item after the other through all stages.
    fn serial(&self) -> Self::Output;

    /// A thread per CPU for each stage in the middle; `None` is wherever the system puts it.
    ///
    /// # Errors
    /// A thread that cannot be pinned.
    fn pinned(&self, cpus: &[Option<u32>]) -> Result<Self::Output, PinError>;

    /// A pipeline of the pool.
    fn tasks(&self, pool: &Pool) -> Self::Output;

    /// Of the output.
    fn checksum(output: &Self::Output) -> u64;
}

/// Runs an app of phases.
pub(crate) fn phases<A: Phases>(setting: &Setting) -> Result<Outcome, AppError> {
    let app = A::generate(setting.size);
    let workers = Workers::of(setting)?;
    let start = Instant::now();
    match (&workers, setting.version) {
        (Workers::None, _) => app.run(&Serial),
        (Workers::Pinned(cpus), _) => pinned(cpus, |member| app.run(member))?,
        (Workers::Pool(pool), Version::Tasks) => pool.run(|| app.tasks(pool)),
        (Workers::Pool(pool), _) => pool.run(|| app.run(&Loops(pool))),
    }
    let parallel = start.elapsed();
    Ok(Outcome { checksum: app.checksum(), parallel, workers: workers.count() })
}

/// Runs an app of stages.
pub(crate) fn stages<A: Stages>(setting: &Setting) -> Result<Outcome, AppError> {
    let app = A::generate(setting.size);
    let workers = Workers::of(setting)?;
    let start = Instant::now();
    let output = match &workers {
        Workers::None => app.serial(),
        Workers::Pinned(cpus) => app.pinned(cpus)?,
        Workers::Pool(pool) => pool.run(|| app.tasks(pool)),
    };
    let parallel = start.elapsed();
    Ok(Outcome { checksum: A::checksum(&output), parallel, workers: workers.count() })
}

/// Those who do the work.
enum Workers {
    /// The calling thread.
    None,
    /// Threads on these CPUs, which the app starts.
    Pinned(Vec<Option<u32>>),
    Pool(Pool),
}

impl Workers {
    fn of(setting: &Setting) -> Result<Self, PoolError> {
        let pool = setting.pool()?;
        Ok(match setting.version {
            Version::Serial => Self::None,
            // The pool knows the cores, and is gone before the threads come.
            Version::Pinned => Self::Pinned(pool.places().iter().map(|place| place.cpu).collect()),
            Version::LoopStatic | Version::LoopDynamic | Version::Tasks => Self::Pool(pool),
        })
    }

    fn count(&self) -> usize {
        match self {
            Self::None => 1,
            Self::Pinned(cpus) => cpus.len(),
            Self::Pool(pool) => pool.workers(),
        }
    }
}
