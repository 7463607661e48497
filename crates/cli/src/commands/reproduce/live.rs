//! `evenkeel reproduce amc-maturity --live`: runs the mini-apps on this machine.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use evenkeel_apps::{APPS, App, AppError, Outcome, Setting, Size, Version};
use evenkeel_linux::here::sysfs;
use evenkeel_linux::sensors::{Meter, Sampler, find};
use evenkeel_machine::{KindId, Machine, Nanos};
use evenkeel_studies::live::{self, Cores, SERIAL, Timed};
use evenkeel_studies::{Runs, Study};
use rustix::time::{ClockId, clock_gettime};

use super::{Files, MADE_BY, tell};
use crate::args::reproduce::ReproduceArgs;
use crate::commands::live::machine;
use crate::commands::runs;
use crate::error::{Failure, Result, say};
use crate::progress;

/// The study whose programs the mini-apps are.
const STUDY: &str = "amc-maturity";
/// Runs of each case. All cases are run once, then all again, since a machine's speed drifts.
const REPETITIONS: u32 = 5;
const REPETITIONS_QUICK: u32 = 1;
/// How often sensors are read: runs take some tenths of a second.
const INTERVAL: Nanos = Nanos::from_millis(20);

/// Runs the apps and reports the results.
///
/// # Errors
/// Another study, a program or a machine that is not there; a run failed, or its checksum is not
/// that of the others; an output could not be written.
pub fn run(study: &Study, args: &ReproduceArgs) -> Result {
    if study.name != STUDY {
        return Err(Failure::usage(format!(
            "{} has nothing to run live: expected {STUDY}",
            study.name
        )));
    }
    let apps = chosen(&args.programs)?;
    let machine = machine(args.machine.as_deref())?;
    let files = Files::begin(args)?;
    let repetitions = if args.quick { REPETITIONS_QUICK } else { REPETITIONS };
    let timed = time_all(&apps, &machine, args.size, repetitions)?;
    let runs_of_study = Runs::new(args.quick, args.seed, &|_, _| ());
    let threads = runs::threads(args.jobs)?;
    let reproduction = threads.install(|| {
        live::reproduction(&machine, &timed, args.size.name(), &runs_of_study, MADE_BY)
    });
    tell(&reproduction.map_err(|error| Failure::Failed(error.into()))?, args.json, files)
}

fn chosen(names: &[String]) -> Result<Vec<&'static App>> {
    let unknown = |name: &String| {
        let expected = APPS.iter().map(|app| app.name).collect::<Vec<_>>().join(", ");
        Failure::usage(format!("{STUDY} has no program '{name}': expected one of {expected}"))
    };
    if let Some(name) = names.iter().find(|name| evenkeel_apps::find(name).is_none()) {
        return Err(unknown(name));
    }
    Ok(APPS
        .iter()
        .filter(|app| names.is_empty() || names.iter().any(|name| name == app.name))
        .collect())
}

/// An app to be run.
struct Case {
    app: &'static App,
    on: Cores,
    setting: Setting,
    outcomes: Vec<Outcome>,
}

/// All cases: each app serially on a core of each kind, and its other versions on all cores. `file`
/// has the machine.
fn cases(apps: &[&'static App], machine: &Machine, size: Size, file: &str) -> Vec<Case> {
    let case = |app, version, on, cpus| {
        let setting = Setting {
            size,
            version,
            workers: None,
            machine: Some(file.to_owned()),
            cpus,
            slow: None,
        };
        Case { app, on, setting, outcomes: Vec::new() }
    };
    let mut cases = Vec::new();
    for &app in apps {
        for kind in (0..machine.kinds.len()).map(|rank| KindId(rank as u8)) {
            // Not the first core: systems tend to handle interrupts there.
            let core =
                machine.cores_of(kind).last().map(|core| vec![machine.cores[core.index()].cpu]);
            cases.push(case(app, Version::Serial, Cores::One(kind), core));
        }
        let all = || Some(machine.cores.iter().map(|core| core.cpu).collect());
        let versions = app.versions.iter().filter(|&&version| version != Version::Serial);
        cases.extend(versions.map(|&version| case(app, version, Cores::All, all())));
    }
    cases
}

fn time_all(
    apps: &[&'static App],
    machine: &Machine,
    size: Size,
    repetitions: u32,
) -> Result<Vec<Timed>> {
    // Apps read the machine from a file, as any program of the runtime does.
    let mut file = tempfile::NamedTempFile::with_suffix(".toml")
        .context("a file for the machine")
        .map_err(Failure::Failed)?;
    file.write_all(evenkeel_files::machines::to_toml(machine).as_bytes())
        .context("a file for the machine")
        .map_err(Failure::Failed)?;
    let file = file.path().to_string_lossy();
    let mut cases = cases(apps, machine, size, &file);
    let mut copies: Vec<Copies> =
        apps.iter().map(|app| Copies::of(app, machine, size, &file)).collect();
    let sampler = sensors();
    let bar = progress::bar(u64::from(repetitions) * (cases.len() + copies.len()) as u64, "runs");
    for _ in 0..repetitions {
        for copies in &mut copies {
            for case in cases.iter_mut().filter(|case| case.app.name == copies.app.name) {
                bar.set_prefix(format!("{} {} ", case.app.name, case.setting.version.name()));
                case.outcomes.push(case.app.run(&case.setting).map_err(failure)?);
                bar.inc(1);
            }
            bar.set_prefix(format!("{} copies ", copies.app.name));
            copies.run()?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let of_cases = cases.iter().flat_map(|case| {
        case.outcomes.iter().map(|outcome| (case.app.name, case.setting.version.name(), outcome))
    });
    let of_copies = copies.iter().flat_map(|it| {
        it.outcomes.iter().flatten().map(|outcome| (it.app.name, "copies", outcome))
    });
    insist_on_checksums(of_cases.chain(of_copies))?;
    let meter = sampler.and_then(|sampler| sampler.finish().ok());
    let of_cases = cases.into_iter().map(|case| case.timed(meter.as_ref()));
    Ok(of_cases.chain(copies.iter().flat_map(Copies::timed)).collect())
}

fn failure(error: AppError) -> Failure {
    if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) }
}

/// Fails unless all outcomes of an app have the same checksum.
fn insist_on_checksums<'a>(
    outcomes: impl Iterator<Item = (&'static str, &'static str, &'a Outcome)>,
) -> Result {
    let mut of_app = HashMap::new();
    for (app, what, outcome) in outcomes {
        let first = *of_app.entry(app).or_insert(outcome.checksum);
        if first != outcome.checksum {
            let what = format!(
                "{app} {what} computed something else than its first run: checksums differ"
            );
            return Err(Failure::Failed(anyhow!(what)));
        }
    }
    Ok(())
}

impl Case {
    fn timed(self, meter: Option<&Meter>) -> Timed {
        let run = |outcome: &Outcome| live::Run {
            seconds: outcome.parallel.as_secs_f64(),
            joules: meter.and_then(|meter| joules(meter, outcome)),
        };
        Timed {
            program: self.app.name,
            version: self.setting.version.name(),
            on: self.on,
            runs: self.outcomes.iter().map(run).collect(),
        }
    }
}

/// Copies of a serial app, one on each core, all at once: what the cores achieve together without
/// waiting.
struct Copies {
    app: &'static App,
    /// The kind and the setting of each core's copy.
    settings: Vec<(KindId, Setting)>,
    /// The outcomes on each core.
    outcomes: Vec<Vec<Outcome>>,
    /// The mean time for each repetition and core, s.
    seconds: Vec<Vec<f64>>,
}

impl Copies {
    fn of(app: &'static App, machine: &Machine, size: Size, file: &str) -> Self {
        let setting = |cpu| Setting {
            size,
            version: Version::Serial,
            workers: None,
            machine: Some(file.to_owned()),
            cpus: Some(vec![cpu]),
            slow: None,
        };
        let settings: Vec<_> =
            machine.cores.iter().map(|core| (core.kind, setting(core.cpu))).collect();
        Self { app, outcomes: vec![Vec::new(); settings.len()], settings, seconds: Vec::new() }
    }

    /// Runs the copies once; faster cores repeat theirs until the slowest is done.
    fn run(&mut self) -> Result {
        let (app, unfinished) = (self.app, AtomicUsize::new(self.settings.len()));
        let again_and_again = |setting: &Setting| {
            let mut outcomes = vec![app.run(setting)];
            unfinished.fetch_sub(1, Ordering::Relaxed);
            while unfinished.load(Ordering::Relaxed) > 0
                && outcomes.iter().all(std::result::Result::is_ok)
            {
                outcomes.push(app.run(setting));
            }
            outcomes.into_iter().collect::<std::result::Result<Vec<_>, AppError>>()
        };
        let outcomes = thread::scope(|scope| {
            let again_and_again = &again_and_again;
            let start = |(_, setting)| scope.spawn(move || again_and_again(setting));
            let threads: Vec<_> =
                self.settings.iter().map(|(kind, setting)| (kind, setting)).map(start).collect();
            let join = |thread: thread::ScopedJoinHandle<
                '_,
                std::result::Result<Vec<Outcome>, AppError>,
            >| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                    .map_err(failure)
            };
            threads.into_iter().map(join).collect::<Result<Vec<_>>>()
        })?;
        let mean = |outcomes: &Vec<Outcome>| {
            outcomes.iter().map(|outcome| outcome.parallel.as_secs_f64()).sum::<f64>()
                / outcomes.len() as f64
        };
        self.seconds.push(outcomes.iter().map(mean).collect());
        self.outcomes.iter_mut().zip(outcomes).for_each(|(all, more)| all.extend(more));
        Ok(())
    }

    /// The times on each core.
    fn timed(&self) -> impl Iterator<Item = Timed> + '_ {
        let run = |seconds| live::Run { seconds, joules: None };
        self.settings.iter().enumerate().map(move |(core, &(kind, _))| Timed {
            program: self.app.name,
            version: SERIAL,
            on: Cores::Copy(kind),
            runs: self.seconds.iter().map(|by_core| run(by_core[core])).collect(),
        })
    }
}

/// Samples the sensors, if the machine has some.
fn sensors() -> Option<Sampler> {
    let found = find(&sysfs());
    for (sensor, error) in &found.refused {
        say("note", &format!("{}: {error}", sensor.name));
    }
    let counted: Vec<_> =
        found.sensors.iter().filter(|sensor| found.counts(sensor)).cloned().collect();
    if counted.is_empty() {
        return None;
    }
    Sampler::start(counted, INTERVAL)
        .map_err(|error| say("note", &format!("sensors: {error}")))
        .ok()
}

/// The energy of the machine in the parallel part of a run, J; `None` if no sample covers it.
fn joules(meter: &Meter, outcome: &Outcome) -> Option<f64> {
    let ago = |moment: Instant| Nanos(moment.elapsed().as_nanos() as u64);
    let time = clock_gettime(ClockId::Monotonic);
    let now = Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs());
    let from = now.saturating_sub(ago(outcome.began));
    let to = from.saturating_add(Nanos(outcome.parallel.as_nanos() as u64));
    let energies = meter.series.iter().map(|series| series.energy(from, to));
    energies.map(|energy| (energy.covered > Nanos::ZERO).then_some(energy.joules)).sum()
}
