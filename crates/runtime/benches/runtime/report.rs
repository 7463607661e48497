//! Tables of the page, as Markdown.

use std::fmt::Write as _;

use super::cases::Family;
use super::demands::{Bound, Demand, Verdict, shares};
use super::measured::{Measured, median};

/// Medians: a row a case, a column a system.
pub fn medians(measured: &Measured, families: &[&Family]) -> String {
    let mut text = head(measured, "unit");
    for family in families {
        for case in family.cases {
            let cells = measured
                .systems
                .iter()
                .map(|system| measured.median(system, case).map_or_else(String::new, figure));
            row(&mut text, case, cells, family.unit);
        }
    }
    text.push_str("\nThe cases:\n\n");
    for family in families {
        let _ = writeln!(text, "- `{}`: {}", family.name, family.what);
    }
    text
}

/// Medians of the shares of the ideal, in percent.
pub fn shares_of_the_ideal(measured: &Measured, families: &[&Family], ratio: f64) -> String {
    let mut text = head(measured, "ideal");
    for family in families {
        for case in family.cases.iter().filter(|case| !case.ends_with("-serial")) {
            let share = |system: &String| {
                shares(measured, system, case, ratio).map(|values| 100.0 * median(&values))
            };
            let cells = measured
                .systems
                .iter()
                .map(|system| share(system).map_or_else(String::new, |it| format!("{it:.0}")));
            row(&mut text, case, cells, "100");
        }
    }
    text
}

fn head(measured: &Measured, last: &str) -> String {
    let mut text = format!("| case | {} | {last} |\n| --- |", measured.systems.join(" | "));
    measured.systems.iter().for_each(|_| text.push_str(" ---: |"));
    text.push_str(" --- |\n");
    text
}

fn row(text: &mut String, case: &str, cells: impl Iterator<Item = String>, last: &str) {
    let _ = writeln!(text, "| {case} | {} | {last} |", cells.collect::<Vec<_>>().join(" | "));
}

/// What is asked for.
pub fn demands(demands: &[Demand]) -> String {
    let mut text = String::from(
        "| evenkeel, round by round | median | least | greatest | asked for | rounds beyond it | \
         |\n| --- | ---: | ---: | ---: | --- | ---: | --- |\n",
    );
    for demand in demands {
        let (least, greatest) = extremes(&demand.values);
        let bound = match demand.bound {
            Bound::AtMost(bound) => format!("at most {bound}"),
            Bound::AtLeast(bound) => format!("at least {bound:.2}"),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {bound} | {} of {} | {} |",
            demand.what,
            figure(median(&demand.values)),
            figure(least),
            figure(greatest),
            demand.beyond(),
            demand.values.len(),
            match demand.verdict() {
                Verdict::Holds => "holds",
                Verdict::NotToldApart => "not told apart",
                Verdict::Missed => "**missed**",
            }
        );
    }
    text
}

/// How far apart the CPUs were.
pub fn travels(measured: &Measured) -> String {
    let (least, greatest) = extremes(&measured.travels);
    format!(
        "Before a round a cache line took {:.0} ns from one CPU to the other (median; {least:.0} \
         to {greatest:.0}).",
        median(&measured.travels)
    )
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), &it| {
        (least.min(it), greatest.max(it))
    })
}

fn figure(value: f64) -> String {
    match value.abs() {
        v if v < 10.0 => format!("{value:.2}"),
        v if v < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The page's first lines.
pub fn title(systems: &str, rounds: usize) -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or(": an unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    // The flag that x86 processors show to guests.
    let virtual_machine = if info.contains(" hypervisor") { " of a virtual machine" } else { "" };
    format!(
        "# Benchmarks of the runtime\n\nWritten by `make bench-runtime` on {}, on {} ({cores} \
         cores{virtual_machine}). {systems}. Two workers in all systems, each kept on a core of \
         its own \
         unless said otherwise. Medians of rounds in one run ({rounds} on equal cores), the \
         systems in turn, case by case; who is not measured stands still. These machines are \
         noisy: compare ratios, not figures of different runs.\n",
        today(),
        model.trim_start_matches([' ', '\t', ':']),
    )
}

fn today() -> String {
    let output = std::process::Command::new("date").arg("+%Y-%m-%d").output();
    output.map_or_else(
        |_| "an unknown day".into(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
