//! Runs an app: generates its input, and times its parallel part.

use std::time::Instant;

use evenkeel_runtime::Pool;

use crate::app::{AppError, Outcome, Phases, Stages};
use crate::setting::{Setting, Version};
use crate::team::{Loops, Serial, Slowed, on_cpus, pinned};

/// Runs an app of phases.
pub fn phases<A: Phases>(setting: &Setting) -> Result<Outcome, AppError> {
    if setting.slow.is_some() && setting.version == Version::Tasks {
        return Err(AppError::Slow);
    }
    let (app, slow) = (A::generate(setting.size), setting.slow);
    let workers = Workers::of(setting)?;
    let began = Instant::now();
    match (&workers, setting.version) {
        (Workers::One(cpu), _) => {
            on_cpus(cpu.as_slice(), || app.run(&Slowed { team: &Serial, slow }))?
        }
        (Workers::Pinned(cpus), _) => {
            pinned(cpus, |member| app.run(&Slowed { team: member, slow }))?
        }
        (Workers::Pool(pool), Version::Tasks) => pool.run(|| app.tasks(pool)),
        (Workers::Pool(pool), _) => pool.run(|| app.run(&Slowed { team: &Loops(pool), slow })),
    }
    let parallel = began.elapsed();
    Ok(Outcome { began, checksum: app.checksum(), parallel, workers: workers.count() })
}

/// Runs an app of stages.
pub fn stages<A: Stages>(setting: &Setting) -> Result<Outcome, AppError> {
    if setting.slow.is_some() {
        return Err(AppError::Slow);
    }
    let app = A::generate(setting.size);
    let workers = Workers::of(setting)?;
    let began = Instant::now();
    let output = match &workers {
        Workers::One(cpu) => on_cpus(cpu.as_slice(), || app.serial())?,
        Workers::Pinned(cpus) => app.pinned(cpus)?,
        Workers::Pool(pool) => pool.run(|| app.tasks(pool)),
    };
    let parallel = began.elapsed();
    Ok(Outcome { began, checksum: A::checksum(&output), parallel, workers: workers.count() })
}
/// The threads that do the work.
enum Workers {
    /// A thread on the fastest of the CPUs.
    One(Option<u32>),
    /// Threads on these CPUs, which the app starts.
    Pinned(Vec<Option<u32>>),
    Pool(Pool),
}

impl Workers {
    fn of(setting: &Setting) -> Result<Self, AppError> {
        let pool = setting.pool()?;
        let mut cpus = pool.places().iter().map(|place| place.cpu);
        if let Some(slow) =
            setting.slow.filter(|slow| !cpus.clone().any(|cpu| cpu == Some(slow.cpu)))
        {
            return Err(AppError::SlowCpu { slow: slow.cpu, cpus: cpus.flatten().collect() });
        }
        Ok(match setting.version {
            // The pool, which knows the cores, is dropped before the threads start.
            Version::Serial => Self::One(cpus.next().flatten()),
            Version::Pinned => Self::Pinned(cpus.collect()),
            Version::LoopStatic | Version::LoopDynamic | Version::Tasks => Self::Pool(pool),
        })
    }

    fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Pinned(cpus) => cpus.len(),
            Self::Pool(pool) => pool.workers(),
        }
    }
}
