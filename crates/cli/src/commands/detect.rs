//! `evenkeel detect`: what this machine is, and where each figure comes from.

use std::fmt::Write as _;

use evenkeel_linux::calibrate::Calibration;
use evenkeel_linux::here::{Here, Measure};
use evenkeel_machine::Machine;
use evenkeel_machine::discover::{CacheRow, EvidenceRow, KindReport, Report};
use serde_json::json;

use crate::args::DetectArgs;
use crate::commands::machines;
use crate::commands::this_machine::find;
use crate::error::{Result, say};
use crate::output::{OutputFile, print, print_json};
use crate::table;

/// Finds it and says what was found.
///
/// # Errors
/// There is no machine to be found, it cannot be measured, or the output cannot be written.
pub fn run(args: &DetectArgs) -> Result {
    let file = args.output.as_deref().map(OutputFile::begin).transpose()?;
    let found = find(match (args.calibrate, args.force) {
        (false, _) => Measure::No,
        (true, false) => Measure::Beyond,
        (true, true) => Measure::Forced,
    })?;
    let (machine, report) = (&found.detected.machine, &found.detected.report);
    let warnings = found.calibration.as_ref().map_or_else(Vec::new, Calibration::warnings);
    for warning in &warnings {
        say("warning", warning);
    }
    let written = file.is_some();
    if let Some(file) = file {
        file.finish_with(machine_file(machine, report).as_bytes())?;
    }
    if args.json {
        let calibration =
            found.calibration.as_ref().map(|calibration| calibration_json(calibration, &warnings));
        print_json(
            &json!({ "machine": machines::describe(machine), "report": report, "calibration": calibration }),
        )
    } else if args.toml {
        print(&machine_file(machine, report))
    } else {
        print(&text(&found, args.output.as_deref().filter(|_| written)))
    }
}

/// The machine file, with the sources of its figures at its head.
fn machine_file(machine: &Machine, report: &Report) -> String {
    let mut text = "# Written by `evenkeel detect`.\n".to_owned();
    let sections = [
        ("Note", &report.notes),
        ("Not trusted", &report.untrusted),
        ("Missing", &report.missing),
        ("Problem", &report.problems),
    ];
    for (title, lines) in sections {
        for line in lines {
            // A comment ends with its line, so control characters in sysfs files become blanks.
            let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let _ = writeln!(text, "# {title}: {line}");
        }
    }
    text + &evenkeel_files::machines::to_toml(machine)
}

fn calibration_json(calibration: &Calibration, warnings: &[String]) -> serde_json::Value {
    let cpus = calibration.cpus.iter().map(
        |cpu| json!({ "cpu": cpu.cpu, "steps_per_us": cpu.speed, "spread": cpu.spread, "share_of_time": cpu.share }),
    );
    json!({
        "rounds": calibration.rounds,
        "window_s": calibration.window.as_secs_f64(),
        "cpus": cpus.collect::<Vec<_>>(),
        "warnings": warnings,
    })
}

fn text(found: &Here, file: Option<&std::path::Path>) -> String {
    let (machine, report) = (&found.detected.machine, &found.detected.report);
    let model = report.model.as_deref().unwrap_or("not named by its firmware");
    let mut text = table::facts(&[
        ("machine", &model),
        ("cores", &machine.cores_label()),
        ("CPUs", &cpus(report)),
    ]);
    text.push('\n');
    text.push_str(&kinds(&report.kinds));
    let evidence: Vec<String> = report.evidence.iter().map(evidence).collect();
    text.push_str(&section("Evidence for the kinds", &evidence));
    let sensors: Vec<String> = report
        .sensors
        .iter()
        .map(|sensor| format!("{} {} ({})", sensor.source, sensor.name, sensor.path))
        .collect();
    text.push_str(&section("Power sensors", &sensors));
    if let Some(calibration) = &found.calibration {
        text.push_str(&measured(calibration));
    }
    text.push_str(&section("To know", &report.notes));
    text.push_str(&section("Found and not trusted", &report.untrusted));
    text.push_str(&section("Missing", &report.missing));
    text.push_str(&section("Not readable or not understood", &report.problems));
    match file {
        Some(file) => {
            let _ = writeln!(text, "\nWritten to {}: -m takes it.", file.display());
        }
        None => text.push_str(&table::wrapped(
            "\nevenkeel detect -o FILE writes a machine file; -m here is this machine wherever one \
             is named.\n",
            0,
        )),
    }
    text
}

/// CPUs in use, and the others by why they are not.
fn cpus(report: &Report) -> String {
    let sets = &report.cpus;
    let mut text = sets.used.clone();
    let others = [
        ("not allowed", &sets.not_allowed),
        ("offline", &sets.offline),
        ("isolated", &sets.isolated),
    ];
    for (what, cpus) in others.into_iter().filter(|(_, cpus)| !cpus.is_empty()) {
        let _ = write!(text, "; {what}: {cpus}");
    }
    text
}

fn kinds(kinds: &[KindReport]) -> String {
    let mut rows = table::plain([
        "KIND",
        "CORES",
        "CPUS",
        "CAPACITY",
        "MHZ",
        "CACHES",
        "NAME BY",
        "CAPACITY BY",
        "CLOCKS BY",
    ]);
    for kind in kinds {
        // Of a part of a machine some cores may have both threads and others one.
        let cores = match kind.cores - kind.physical_cores {
            0 => kind.cores.to_string(),
            second if second == kind.physical_cores => {
                format!("{} x 2 threads", kind.physical_cores)
            }
            second => format!("{} + {second} second threads", kind.physical_cores),
        };
        let clocks = match (kind.min_mhz, kind.max_mhz) {
            (Some(min), Some(max)) if min < max => format!("{min} to {max}"),
            (_, Some(max)) => max.to_string(),
            (_, None) => "-".to_owned(),
        };
        let caches = kind.caches.iter().map(cache).collect::<Vec<_>>().join(", ");
        rows.add_row([
            kind.name.clone(),
            cores,
            kind.cpus.clone(),
            kind.capacity.to_string(),
            clocks,
            if caches.is_empty() { "-".to_owned() } else { caches },
            kind.name_source.to_string(),
            kind.capacity_source.to_string(),
            kind.clock_source.to_string(),
        ]);
    }
    table::fitted(rows, &[8, 6, 5], "--json has them")
}

/// `MIDR: Cortex-A55 on 0-3; Cortex-A76 on 4-7 (agrees)`.
fn evidence(row: &EvidenceRow) -> String {
    let groups: Vec<String> =
        row.groups.iter().map(|group| format!("{} on {}", group.value, group.cpus)).collect();
    format!("{}: {} ({})", row.source, groups.join("; "), row.verdict)
}

fn cache(cache: &CacheRow) -> String {
    let shared =
        if cache.cores > 1 { format!(" for {} cores", cache.cores) } else { String::new() };
    format!("L{} {} KiB{shared}", cache.level, cache.kib)
}

fn measured(calibration: &Calibration) -> String {
    let fastest = calibration.cpus.iter().map(|cpu| cpu.speed).fold(f64::MIN_POSITIVE, f64::max);
    let mut rows =
        table::figures(["CPU", "speed", "spread %", "time had %"].map(str::to_owned).to_vec(), 0);
    for cpu in &calibration.cpus {
        rows.add_row([
            cpu.cpu.to_string(),
            format!("{:.3}", cpu.speed / fastest),
            format!("{:.1}", cpu.spread * 1e2),
            format!("{:.0}", cpu.share * 1e2),
        ]);
    }
    let how = format!(
        "\nMeasured by an integer spin, {} rounds of {} ms on each CPU in turn; medians, the \
         fastest is 1:\n",
        calibration.rounds,
        calibration.window.as_millis(),
    );
    table::wrapped(&how, 0) + &table::text(rows)
}

fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String =
        lines.iter().map(|line| table::wrapped(&format!("  {line}\n"), 4)).collect();
    format!("\n{title}:\n{lines}")
}
