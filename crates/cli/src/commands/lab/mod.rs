//! `evenkeel lab`: makes some CPUs slow, for a command or until interrupted.

mod kept;

use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::Context as _;
use evenkeel_linux::here::sysfs;
use evenkeel_linux::lab::{
    BOUND, Calibrated, Control, Cpus, Handout, LAB_VARIABLE, LEAST_WINDOWS, Lab, LabError,
    MACHINE_VARIABLE, Window, equal_cores, parse_slow, slowed_machine,
};
use evenkeel_linux::program::{self, Bond, Program, Signals};
use evenkeel_linux::watch::Cpu;
use evenkeel_machine::discover::{Given, discover};
use evenkeel_machine::{KINDS_VARIABLE, KindList, Machine, write_cpus};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::args::LabArgs;
use crate::error::{Failure, Result, say};
use crate::{output, progress, table};
use kept::Request;

/// `evenkeel lab`. The exit code is the command's.
///
/// # Errors
/// Wrong usage, no leave to slow CPUs, CPUs that do not become as slow as asked, a command that
/// cannot be started.
pub fn run(args: &LabArgs) -> Result<ExitCode> {
    let slow = parse_slow(&args.slow).map_err(failure)?;
    let cpus = Cpus::of_this_process(&sysfs()).map_err(failure)?;
    if let Some(program) = args.command.first() {
        program::find(program, std::env::var_os("PATH"))
            .map_err(|error| Failure::not_started(program, error))?;
    }
    // Signals first: thieves inherit how the first thread handles them.
    let signals = Signals::hold().context("cannot hold back signals").map_err(Failure::Failed)?;
    let mut lab = Lab::new(&slow, &cpus).map_err(failure)?;
    args.period.into_iter().for_each(|period| lab.set_period(period));
    let usable = cpus.usable();
    if slow.len() == usable.len() {
        say("note", "all CPUs are slowed: none is left at full speed");
    }
    let calibrated = calibrate(&mut lab, args, &signals)?;
    if args.measure {
        return measure(&lab, args, &signals).map(|()| ExitCode::SUCCESS);
    }
    for cpu in &calibrated {
        say(&format!("CPU {}", cpu.asked.cpu.0), &summary(cpu));
    }
    insist_on_bounds(&calibrated, args.force)?;
    let machine = slowed_machine(&base(&usable), &lab.slowed()).map_err(failure)?;
    let handout = Handout::write(&machine, &std::env::temp_dir()).map_err(failure)?;
    let environment = [
        (MACHINE_VARIABLE, handout.path().into_os_string()),
        (LAB_VARIABLE, lab.stolen().to_string().into()),
        (KINDS_VARIABLE, KindList::from(&machine).to_string().into()),
    ];
    lab.slow_down();
    match args.command.split_first() {
        Some((program, rest)) => {
            let mut command = Command::new(program);
            command.args(rest).envs(environment);
            let program = Program::start(command, Bond::Tied, &signals)
                .map_err(|error| Failure::not_started(program, error))?;
            let status =
                program.wait().context("cannot wait for the command").map_err(Failure::Failed)?;
            Ok(ExitCode::from(program::exit_code(status)))
        }
        None => hold(&environment, &signals),
    }
}

/// Calibrates, or uses what was found for the same request within the last hour. A calibration
/// within bounds is kept.
fn calibrate(lab: &mut Lab, args: &LabArgs, signals: &Signals) -> Result<Vec<Calibrated>> {
    let asked = lab.asked().to_vec();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let request = Request::new(&asked, args.period);
    if let Some((kept, age_s)) = request.find().filter(|_| !args.recalibrate)
        && lab.take_up(kept.clone())
    {
        let minutes = age_s / 60;
        say(
            "note",
            &format!("a calibration of {minutes} min ago is used; --recalibrate measures anew"),
        );
        return Ok(kept);
    }
    let cpus = write_cpus(asked.iter().map(|slow| slow.cpu.0));
    say(
        "note",
        &format!(
            "calibrating CPU {cpus}: how much must be taken of it is measured, which takes some 5 s"
        ),
    );
    let windows = LEAST_WINDOWS as u64;
    let calibrated = watched(signals, windows, "calibration ", |control| {
        Ok(lab.calibrate(control).map_err(failure)?.to_vec())
    })?;
    if calibrated.iter().all(|cpu| cpu.holds() || cpu.is_as_steady_as_the_machine()) {
        request.keep(&calibrated);
    }
    Ok(calibrated)
}

/// Runs work that takes seconds on a thread of its own, so that a signal ends it at once; a bar
/// shows its progress.
fn watched<T: Send>(
    signals: &Signals,
    windows: u64,
    what: &str,
    work: impl FnOnce(&Control) -> Result<T> + Send,
) -> Result<T> {
    const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let control = Control::default();
    let bar = progress::bar(windows, "windows").with_prefix(what.to_owned());
    let mut ended_by = None;
    let done = thread::scope(|scope| {
        let worker = scope.spawn(|| work(&control));
        while !worker.is_finished() {
            // The signals are checked whatever the poll returns.
            let _ = poll(&mut [PollFd::new(signals, PollFlags::IN)], Some(&LOOK));
            while let Some(caught) =
                signals.poll().context("cannot read signals").map_err(Failure::Failed)?
            {
                if caught.is_to_end() {
                    control.end();
                    ended_by = Some(caught.signal);
                }
            }
            let windows_done = control.windows() as u64;
            bar.set_length(windows.max(windows_done));
            bar.set_position(windows_done);
        }
        worker.join().map_err(|_| failure(LabError::Panicked))?
    });
    bar.finish_and_clear();
    match ended_by {
        Some(signal) => Err(Failure::Interrupted(signal.as_raw())),
        None => done,
    }
}

/// The machine without the lab: as sysfs describes it, or, where that says nothing, with equal
/// CPUs.
fn base(usable: &[Cpu]) -> Machine {
    let allowed = Some(usable.iter().map(|cpu| cpu.0).collect());
    let detected = discover(&sysfs(), &Given { allowed, ..Given::default() });
    detected.map_or_else(|_| equal_cores(usable), |detected| detected.machine)
}

/// Keeps the CPUs slow until a signal.
fn hold(environment: &[(&str, OsString)], signals: &Signals) -> Result<ExitCode> {
    let lines = environment
        .iter()
        .map(|(name, value)| format!("export {name}={}\n", quoted(&value.to_string_lossy())));
    output::print(&lines.collect::<String>())?;
    say("note", "slow until interrupted (Ctrl-C)");
    signals.next().context("cannot wait for signals").map_err(Failure::Failed)?;
    Ok(ExitCode::SUCCESS)
}

/// The measurement of one CPU, as `--measure` prints it.
#[derive(Serialize)]
struct Row {
    cpu: u32,
    asked: f64,
    measured: f64,
    spread: f64,
    p5: f64,
    p95: f64,
    /// The spread of the CPU itself, without the thief.
    unslowed_spread: f64,
    /// What the thief takes.
    share: f64,
    period_us: f64,
    within_bounds: bool,
    /// The ratio in each window.
    windows: Vec<f64>,
}

impl Row {
    fn new(cpu: &Calibrated, windows: &[Window]) -> Self {
        Self {
            cpu: cpu.asked.cpu.0,
            asked: cpu.asked.ratio,
            measured: cpu.ratio.median,
            spread: cpu.ratio.spread,
            p5: cpu.ratio.p5,
            p95: cpu.ratio.p95,
            unslowed_spread: cpu.unslowed.spread,
            share: cpu.share,
            period_us: cpu.period.0 as f64 / 1e3,
            within_bounds: cpu.holds(),
            windows: windows.iter().map(Window::ratio).collect(),
        }
    }
}

/// Measures for as long as asked, and prints the result.
fn measure(lab: &Lab, args: &LabArgs, signals: &Signals) -> Result {
    let windows = lab.windows(args.duration) as u64;
    let (calibrated, windows) = watched(signals, windows, "measurement ", |control| {
        lab.measure(args.duration, control).map_err(failure)
    })?;
    let rows: Vec<Row> =
        calibrated.iter().zip(&windows).map(|(cpu, windows)| Row::new(cpu, windows)).collect();
    if args.json {
        output::print_json(&rows)?;
    } else {
        output::print(&drawn(&rows))?;
    }
    insist_on_bounds(&calibrated, args.force)
}

fn drawn(rows: &[Row]) -> String {
    let header = [
        "CPU",
        "asked",
        "measured",
        "spread %",
        "p5",
        "p95",
        "unslowed spread %",
        "taken %",
        "period us",
    ];
    let mut table = table::figures(header.map(str::to_owned).to_vec(), 0);
    let percent = |share: f64| format!("{:.2}", share * 100.0);
    for row in rows {
        table.add_row([
            row.cpu.to_string(),
            row.asked.to_string(),
            format!("{:.3}", row.measured),
            percent(row.spread),
            format!("{:.3}", row.p5),
            format!("{:.3}", row.p95),
            percent(row.unslowed_spread),
            percent(row.share),
            row.period_us.to_string(),
        ]);
    }
    let windows = rows.first().map_or(0, |row| row.windows.len());
    let note = format!("\nOf {windows} windows; spread: from quartile to quartile.\n");
    table::text(table) + &note
}

/// `asked 3, measured 3.01, spread 0.4 %`.
fn summary(cpu: &Calibrated) -> String {
    let (ratio, spread) = (cpu.ratio.median, cpu.ratio.spread * 100.0);
    format!("asked {}, measured {ratio:.3}, spread {spread:.1} %", cpu.asked.ratio)
}

fn insist_on_bounds(calibrated: &[Calibrated], force: bool) -> Result {
    let mut kept = Ok(());
    for cpu in calibrated.iter().filter(|cpu| !cpu.holds()) {
        let (number, own) = (cpu.asked.cpu.0, cpu.unslowed.spread * 100.0);
        if cpu.is_as_steady_as_the_machine() {
            say(
                "warning",
                &format!(
                    "CPU {number} is unsteady: {}; unslowed, its own speed spreads {own:.1} %",
                    summary(cpu)
                ),
            );
            continue;
        }
        let what = format!(
            "CPU {number} is not held within {:.0} % of what was asked: {}; unslowed, its own \
             speed spreads {own:.1} %: the \
             machine may be busy",
            BOUND * 100.0,
            summary(cpu),
        );
        if force {
            say("warning", &what);
        } else if kept.is_ok() {
            kept = Err(Failure::Failed(anyhow::anyhow!("{what}; --force goes on all the same")));
        }
    }
    kept
}

fn failure(error: LabError) -> Failure {
    if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) }
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=,".contains(c);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(
            quoted("/tmp/evenkeel-lab-a.B_1/machine.toml"),
            "/tmp/evenkeel-lab-a.B_1/machine.toml"
        );
        assert_eq!(quoted("1=3.01,2=2"), "1=3.01,2=2");
        assert_eq!(quoted("/my tmp/it's"), r"'/my tmp/it'\''s'");
    }
}
