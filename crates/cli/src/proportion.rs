//! Warns of long runs: estimates how much is to be simulated, and roughly how long that takes here.
//!
//! The estimate is made before anything runs. The simulated time is the work over the speed of the
//! cores, or the duration asked for. Each core has a scheduling event every few milliseconds of it,
//! fewer where no thread waits, and each step of a thread is one event. The estimate is right
//! within a factor of about three, which is enough for a warning.

use evenkeel_machine::{KindId, Machine, Nanos};
use evenkeel_model::{Application, Step};

/// Simulated time between two scheduling events of a core for which threads wait: the slice of the
/// fair policies. Ours.
const SLICE_S: f64 = 3e-3;
/// Simulated time between two decisions of a policy that decides at every interval, where no thread
/// waits. Ours.
const LOOK_S: f64 = 10e-3;
/// Time of an event on one host core, s: docs/benchmarks/simulator.md has 2 to 13 million events a
/// second, by policy; events of sparse runs take longer. Ours.
const EVENT_S: f64 = 0.4e-6;
/// Events of making, starting and accounting for a thread. Ours.
const EVENTS_PER_THREAD: f64 = 20.0;
/// Runs that take longer than this are announced. Ours.
const LONG_S: f64 = 30.0;

/// The estimated size of a run of some applications together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// Simulated time; 0 if it is not known beforehand.
    simulated_s: f64,
    /// Steps of threads and tasks of graphs.
    steps: f64,
    threads: f64,
    /// Cores of the machine.
    cores: f64,
}

impl Size {
    /// The size of a run of these applications on a machine.
    pub fn of(apps: &[Application], machine: &Machine, duration: Option<Nanos>) -> Self {
        let cores = machine.cores.len() as f64;
        let longest = apps.iter().map(|app| time_s(app, machine)).fold(0.0, f64::max);
        let sum: f64 = apps.iter().map(|app| alone_s(app, machine)).sum();
        let mut simulated_s = longest.max(sum / speed(machine));
        if let Some(end) = duration.map(Nanos::as_secs_f64) {
            // Applications that never end by themselves, or whose end is not known, go on until
            // then.
            simulated_s = if simulated_s > 0.0 { simulated_s.min(end) } else { end };
        }
        let threads =
            apps.iter().map(|app| app.threads.len() + app.templates.len()).sum::<usize>() as f64;
        Self {
            simulated_s,
            steps: apps.iter().map(|app| steps(app, simulated_s)).sum(),
            threads,
            cores,
        }
    }

    /// Events that time brings, whatever threads do.
    fn of_time(&self) -> f64 {
        self.simulated_s * self.cores / if self.threads > self.cores { SLICE_S } else { LOOK_S }
    }

    fn events(&self) -> f64 {
        self.of_time() + self.steps + self.threads * EVENTS_PER_THREAD
    }
}

/// The warning for runs of these sizes under `policies` policies, `jobs` at a time; `None` if they
/// are short.
pub fn warning(sizes: &[Size], policies: usize, jobs: usize) -> Option<String> {
    let runs = sizes.len() * policies;
    let jobs = jobs.clamp(1, runs.max(1)) as f64;
    let seconds =
        sizes.iter().map(|size| size.events() * EVENT_S).sum::<f64>() * policies as f64 / jobs;
    let largest = sizes
        .iter()
        .max_by(|a, b| a.events().total_cmp(&b.events()))
        .filter(|_| seconds > LONG_S)?;
    let of_time = largest.of_time();
    let of_threads = largest.threads * EVENTS_PER_THREAD;
    let why = if of_time >= largest.steps.max(of_threads) {
        let time = time(largest.simulated_s);
        format!(
            "{time} of {} cores are simulated, with a scheduling event on each every few \
             milliseconds",
            largest.cores
        )
    } else if largest.steps >= of_threads {
        format!("its threads take some {} steps", count(largest.steps))
    } else {
        format!("it has {} threads", largest.threads)
    };
    let several = if runs > 1 { format!(" in the largest of {runs} runs") } else { String::new() };
    Some(format!(
        "this takes roughly {}: {why}{several}; --size 0.1 makes a built-in workload smaller, \
         --duration TIME ends each run",
        time(seconds)
    ))
}

/// Speed of all cores together; a core of the fastest kind has 1.
fn speed(machine: &Machine) -> f64 {
    let fastest = machine.kinds.iter().map(|kind| kind.capacity).max().unwrap_or(1);
    let each =
        machine.cores.iter().map(|core| f64::from(machine.kinds[core.kind.index()].capacity));
    each.sum::<f64>() / f64::from(fastest)
}

/// Time of an application on one core of the fastest kind; 0 if it is not known beforehand.
fn alone_s(app: &Application, machine: &Machine) -> f64 {
    let Some(work) = app.work_by_phase() else { return 0.0 };
    let of_phase = |(work, phase): (&evenkeel_machine::Work, &evenkeel_model::Phase)| {
        work.0 as f64 / phase.top_speed(machine, KindId(0)).max(f64::MIN_POSITIVE)
    };
    work.iter().zip(&app.phases).map(of_phase).sum::<f64>() / 1e9
}

/// A lower bound of its time: with fewer threads than cores it cannot use all.
fn time_s(app: &Application, machine: &Machine) -> f64 {
    let threads = (app.threads.len() + app.templates.len()).max(1) as f64;
    let work = alone_s(app, machine) / threads.min(machine.cores.len() as f64);
    work.max(app.duration.map_or(0.0, Nanos::as_secs_f64))
}

fn steps(app: &Application, simulated_s: f64) -> f64 {
    let of_thread = |program: Option<&evenkeel_model::Program>| {
        program.map_or(0.0, |program| passed(app, &program.steps, simulated_s))
    };
    app.threads.iter().map(|thread| of_thread(app.programs.get(thread.program.index()))).sum()
}

/// The number of steps in a pass through `all`.
fn passed(app: &Application, all: &[Step], simulated_s: f64) -> f64 {
    let one = |step: &Step| match step {
        Step::Loop { times: Some(times), body } => *times as f64 * passed(app, body, simulated_s),
        Step::Loop { times: None, body } => {
            // An endless loop repeats as its timer allows; without a timer the count is not known.
            let period = body.iter().find_map(|step| match step {
                Step::Timer { period, .. } => Some(period.as_secs_f64()),
                _ => None,
            });
            period.map_or(0.0, |period| {
                simulated_s / period.max(1e-9) * passed(app, body, simulated_s)
            })
        }
        Step::RunTasks(id) => {
            let tasks = app.graphs.get(id.index()).map_or(0, |graph| graph.tasks.len());
            // All threads share the tasks.
            tasks as f64 / app.threads.len().max(1) as f64
        }
        _ => 1.0,
    };
    all.iter().map(one).sum()
}

/// `40 s`, `12 min`, `3.2 h`.
fn time(seconds: f64) -> String {
    match seconds {
        ..100.0 => format!("{seconds:.0} s"),
        ..6_000.0 => format!("{:.0} min", seconds / 60.0),
        ..360_000.0 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

fn count(number: f64) -> String {
    if number < 1e9 {
        format!("{:.0} million", number / 1e6)
    } else {
        format!("{:.1} billion", number / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_files::programs::{Context, load};

    use super::*;

    fn size(spec: &str, size: f64, duration: Option<Nanos>) -> Size {
        let machine = evenkeel_files::machines::preset("odroid-xu3-paper").unwrap();
        let ctx = Context { size, ..Context::new(&machine) };
        Size::of(&load(spec, &ctx).unwrap(), &machine, duration)
    }

    #[test]
    fn ordinary_runs_are_not_announced() {
        for spec in evenkeel_files::programs::list() {
            assert_eq!(warning(&[size(spec.name, 1.0, None)], 6, 2), None, "{}", spec.name);
        }
    }

    #[test]
    fn a_run_of_days_is_announced_with_the_reason_and_a_shorter_one_is_not() {
        let long = warning(&[size("swaptions", 1_000.0, None)], 20, 1).unwrap();
        assert!(
            long.contains(" of 8 cores are simulated, ") && long.contains("of 20 runs"),
            "{long}"
        );
        assert_eq!(warning(&[size("swaptions", 1_000.0, Some(Nanos::from_secs(5)))], 20, 1), None);
    }

    #[test]
    fn threads_and_steps_are_reasons_too() {
        let of = |steps, threads| Size { simulated_s: 1.0, steps, threads, cores: 2.0 };
        assert!(warning(&[of(1e9, 2.0)], 1, 1).unwrap().contains("some 1.0 billion steps"));
        assert!(warning(&[of(1e3, 1e7)], 1, 1).unwrap().contains("it has 10000000 threads"));
        assert_eq!(warning(&[of(1e6, 1e4)], 1, 1), None);
    }

    #[test]
    fn hours_in_which_no_thread_waits_are_not_announced() {
        let hours = |threads| Size { simulated_s: 30_000.0, steps: 1e3, threads, cores: 8.0 };
        assert_eq!(warning(&[hours(8.0)], 1, 1), None);
        assert!(warning(&[hours(9.0)], 1, 1).is_some());
    }
}
