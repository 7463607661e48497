//! `evenkeel sensors`: the power sensors of this machine, and what they read.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use evenkeel_linux::here;
use evenkeel_linux::sensors::{Energy, Found, Meter, Reading, Sensor, Source, find};
use serde::Serialize;

use crate::args::SensorsArgs;
use crate::error::{Failure, Result, say};
use crate::{output, table};

/// A sensor, as `--json` prints it.
#[derive(Serialize)]
struct Row {
    name: String,
    source: Source,
    file: PathBuf,
    /// One of those whose sum is the machine's energy.
    in_total: bool,
    /// The present power, watts; null for counters.
    power_w: Option<f64>,
    /// The counted energy, joules; null for sensors that do not count.
    counter_j: Option<f64>,
    /// Over the duration asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
    /// Why it cannot be read.
    error: Option<String>,
}

/// What a sensor measured over a time.
#[derive(Clone, Copy, Serialize)]
struct Measured {
    duration_s: f64,
    energy_j: f64,
    mean_power_w: Option<f64>,
}

impl Measured {
    fn new(energy: Energy) -> Self {
        let duration_s = energy.covered.as_secs_f64();
        Self { duration_s, energy_j: energy.joules, mean_power_w: energy.mean_w() }
    }
}

/// `evenkeel sensors`.
///
/// # Errors
/// A duration is asked for, and there is no sensor.
pub fn run(args: &SensorsArgs) -> Result {
    let sysfs = here::sysfs();
    let found = find(&sysfs);
    if !args.json {
        for (sensor, error) in &found.refused {
            say("note", &format!("{}: {error}", sensor.name));
        }
    }
    let measured = match args.duration {
        None => Vec::new(),
        Some(_) if found.sensors.is_empty() => {
            return Err(Failure::Failed(anyhow::anyhow!(
                "no power sensor can be read under {}: nothing to measure",
                sysfs.display()
            )));
        }
        Some(duration) => {
            let interval = Duration::from_nanos(args.interval.0);
            measure(&found.sensors, interval, Duration::from_nanos(duration.0), !args.json)?
        }
    };
    let rows = rows(&found, &measured);
    if args.json {
        return output::print_json(&rows);
    }
    if rows.is_empty() {
        return output::print(&format!("no power sensor under {}\n", sysfs.display()));
    }
    output::print(&drawn(&rows, !measured.is_empty()))
}

fn rows(found: &Found, measured: &[Measured]) -> Vec<Row> {
    let row = |sensor: &Sensor,
               reading: Option<Reading>,
               error: Option<String>,
               measured: Option<Measured>| Row {
        name: sensor.name.clone(),
        source: sensor.source,
        file: sensor.file().to_owned(),
        in_total: found.counts(sensor),
        power_w: reading.and_then(|reading| match reading {
            Reading::Power(watts) => Some(watts),
            Reading::Counter { .. } => None,
        }),
        counter_j: reading.and_then(|reading| match reading {
            Reading::Counter { uj, .. } => Some(uj as f64 / 1e6),
            Reading::Power(_) => None,
        }),
        measured,
        error,
    };
    let readable = found.sensors.iter().enumerate().map(|(index, sensor)| {
        let measured = measured.get(index).copied();
        match sensor.read() {
            Ok(reading) => row(sensor, Some(reading), None, measured),
            Err(error) => row(sensor, None, Some(error.to_string()), measured),
        }
    });
    let refused = found
        .refused
        .iter()
        .map(|(sensor, error)| row(sensor, None, Some(error.to_string()), None));
    readable.chain(refused).collect()
}

/// Samples for a time. With an interval, prints a line of watts at each.
fn measure(
    sensors: &[Sensor],
    interval: Duration,
    duration: Duration,
    live: bool,
) -> Result<Vec<Measured>> {
    let mut meter = Meter::new(sensors.to_vec());
    let began = Instant::now();
    meter.sample();
    if live {
        let names: Vec<&str> = sensors.iter().map(|sensor| sensor.name.as_str()).collect();
        output::print(&format!("{:>9}  {}\n", "s", names.join("  ")))?;
    }
    let mut due = Duration::ZERO;
    while due < duration {
        due = (due + interval).min(duration);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        meter.sample();
        if live {
            output::print(&live_line(&meter, began.elapsed()))?;
        }
    }
    let energy = |series: &evenkeel_linux::sensors::Series| {
        let (from, to) = series.range().unwrap_or_default();
        Measured::new(series.energy(from, to))
    };
    Ok(meter.series.iter().map(energy).collect())
}

/// Mean watts between the last two samples, each under its sensor's name.
fn live_line(meter: &Meter, at: Duration) -> String {
    let mut line = format!("{:>9.3}", at.as_secs_f64());
    for (sensor, series) in meter.sensors.iter().zip(&meter.series) {
        let watts = series.last_power_w().map_or("-".to_owned(), |watts| format!("{watts:.3}"));
        line.push_str(&format!("  {watts:>width$}", width = sensor.name.chars().count()));
    }
    line + "\n"
}

fn drawn(rows: &[Row], is_measured: bool) -> String {
    let mut header = vec!["SENSOR", "SOURCE", "TOTAL", "NOW"];
    if is_measured {
        header.extend(["s", "J", "MEAN W"]);
    }
    let mut table = table::figures(header.into_iter().map(str::to_owned).collect(), 3);
    for row in rows {
        let now = match (row.power_w, row.counter_j) {
            (Some(watts), _) => format!("{watts:.3} W"),
            (_, Some(joules)) => format!("{joules:.1} J so far"),
            _ => "-".to_owned(),
        };
        let mut cells =
            vec![row.name.clone(), row.source.to_string(), yes(row.in_total).to_owned(), now];
        if is_measured {
            let cell = |of: fn(&Measured) -> Option<f64>| {
                row.measured
                    .as_ref()
                    .and_then(of)
                    .map_or("-".to_owned(), |value| format!("{value:.3}"))
            };
            cells.extend([
                cell(|it| Some(it.duration_s)),
                cell(|it| Some(it.energy_j)),
                cell(|it| it.mean_power_w),
            ]);
        }
        table.add_row(cells);
    }
    let mut text = table::text(table);
    let total: f64 = rows
        .iter()
        .filter(|row| row.in_total)
        .filter_map(|row| row.measured)
        .map(|it| it.energy_j)
        .sum();
    if is_measured {
        text.push_str(&format!("\nTotal, of those that count: {total:.3} J\n"));
    }
    text
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}
