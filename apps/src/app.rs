//! What an app is, and how one is run.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::team::{PinError, Serial, Team, pinned};

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
    /// One thread.
    Serial,
    /// One thread a core and equal parts, or a thread per core for each stage of a pipeline.
    Pinned,
}

impl Version {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Pinned => "pinned",
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
    /// The CPU of each worker, by the operating system's number; one at least. A CPU may be there more than once.
    pub cpus: Vec<u32>,
}

/// What came of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The same whatever the version and the number of workers.
    pub checksum: u64,
    /// The parallel part: with the starting of its threads, without the generation of its input.
    pub parallel: Duration,
}

/// Why an app was not run.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The app has no such version.
    #[error("{app} has no version {}: {why}; expected {}", version.name(), names(.versions))]
    Version {
        /// Of which app.
        app: &'static str,
        /// What was asked for.
        version: Version,
        /// What keeps it from having one.
        why: &'static str,
        /// What there is.
        versions: &'static [Version],
    },
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
            let why = "its shape is a pipeline, not a loop";
            return Err(AppError::Version { app: self.name, version: setting.version, why, versions: self.versions });
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

    /// Of the result.
    fn checksum(&self) -> u64;
}

/// Runs an app of phases.
pub(crate) fn phases<A: Phases>(setting: &Setting) -> Result<Outcome, AppError> {
    let app = A::generate(setting.size);
    let start = Instant::now();
    match setting.version {
        Version::Serial => app.run(&Serial),
        Version::Pinned => pinned(&setting.cpus, |member| app.run(member))?,
    }
    let parallel = start.elapsed();
    Ok(Outcome { checksum: app.checksum(), parallel })
}

/// An app whose parallel part is stages through which items pass.
pub trait Stages: Sized + Sync {
    /// What comes out at the end.
    type Output;

    /// Generates the input.
    fn generate(size: Size) -> Self;

    /// One item after the other through all stages.
    fn serial(&self) -> Self::Output;

    /// A thread per CPU for each stage in the middle.
    ///
    /// # Errors
    /// A thread that cannot be pinned.
    fn pinned(&self, cpus: &[u32]) -> Result<Self::Output, PinError>;

    /// Of the output.
    fn checksum(output: &Self::Output) -> u64;
}

/// Runs an app of stages.
pub(crate) fn stages<A: Stages>(setting: &Setting) -> Result<Outcome, AppError> {
    let app = A::generate(setting.size);
    let start = Instant::now();
    let output = match setting.version {
        Version::Serial => app.serial(),
        Version::Pinned => app.pinned(&setting.cpus)?,
    };
    let parallel = start.elapsed();
    Ok(Outcome { checksum: A::checksum(&output), parallel })
}
