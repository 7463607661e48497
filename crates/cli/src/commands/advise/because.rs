//! One sentence on why the winner wins, from what the records say: idle time, where the work was
//! done, migrations, power, slowdowns, the critical path.
//!
//! The winner is compared with the median of the policies behind it: the runner-up's schedule is
//! often almost the same, and the last one is of no interest. A difference is a reason only if it
//! favours the winner and exceeds [`TELLING`].

use std::cmp::Ordering;

use evenkeel_metrics::Record;

use super::ranking::{Ranked, Run};
use crate::args::advise::Measure;

/// Differences below this are ignored: of shares as they are, of counts and powers as a part.
const TELLING: f64 = 0.01;

/// Reasons that a sentence has room for.
const MOST: usize = 2;

/// The sentence. `ranking` must not be empty; it is by `measure`.
pub fn sentence(runs: &[Run], ranking: &[Ranked], measure: Measure) -> String {
    let winner = &ranking[0];
    let value = |ranked: &Ranked| ranked.place(measure).map(|place| place.value);
    let Some(best) = value(winner) else { return String::new() };
    let is_behind = |ranked: &&Ranked| {
        measure.order(&runs[winner.run].record, &runs[ranked.run].record) == Some(Ordering::Less)
    };
    let behind: Vec<_> = ranking.iter().filter(is_behind).collect();
    let Some(median) = behind.get(behind.len() / 2) else {
        return match ranking.len() {
            1 => format!("{} is the only one.", winner.policy),
            all => {
                format!("All {all} are equal in {}: it makes no difference here.", measure.flag())
            }
        };
    };
    let (own, other) = (&runs[winner.run].record, &runs[median.run].record);
    let worse = value(median).unwrap_or(best);
    let equals = ranking.len() - behind.len() - 1;
    let shared = match equals {
        0 => String::new(),
        1 => " (with one other)".to_owned(),
        more => format!(" (with {more} others)"),
    };
    let of = if behind.len() > 1 {
        format!("{} (the median of the {} behind it)", median.policy, behind.len())
    } else {
        median.policy.clone()
    };
    let head = format!(
        "{}{shared} {}, {}",
        winner.policy,
        won(measure, best),
        margin(measure, best, worse, &of)
    );
    let mut reasons = reasons(measure, own, other);
    reasons.truncate(MOST);
    if reasons.is_empty() {
        return format!(
            "{head}; idle time, migrations and time on fast cores do not say why.{}",
            path(measure, own)
        );
    }
    format!("{head}: {}.{}", reasons.join(", and "), path(measure, own))
}

fn won(measure: Measure, best: f64) -> String {
    match measure {
        Measure::Time => format!("ends first, after {best:.4} s"),
        Measure::Energy => format!("takes the least energy, {best:.4} J"),
        Measure::Edp => format!("has the least energy-delay product, {best:.4} J s"),
        Measure::Unfairness => format!("is the fairest, with an unfairness of {best:.3}"),
    }
}

fn margin(measure: Measure, best: f64, worse: f64, of: &str) -> String {
    match measure {
        Measure::Unfairness => format!("where {of} has {worse:.3}"),
        _ => format!("{} % less than {of}", percent(1.0 - best / worse)),
    }
}

/// The lower bound of a task graph's makespan, which follows the reasons.
fn path(measure: Measure, record: &Record) -> String {
    match (&record.graph, measure) {
        (Some(graph), Measure::Time) => format!(
            " The critical path alone, each task on the core that is fastest for it, takes {:.4} s \
             ({} % of it).",
            graph.critical_path_s,
            percent(graph.critical_path_s / record.makespan_s)
        ),
        _ => String::new(),
    }
}

/// Differences that favour the winner, the most telling kind first.
fn reasons(measure: Measure, own: &Record, other: &Record) -> Vec<String> {
    match measure {
        Measure::Time => speed(own, other),
        Measure::Energy => [power(own, other), shorter(own, other), on_slower(own, other)]
            .into_iter()
            .flatten()
            .collect(),
        Measure::Edp => [shorter(own, other), power(own, other)].into_iter().flatten().collect(),
        Measure::Unfairness => {
            [slowdowns(own, other), shared(own, other)].into_iter().flatten().collect()
        }
    }
}

fn speed(own: &Record, other: &Record) -> Vec<String> {
    let fast = fastest(own);
    let idle =
        |record: &Record| record.kinds.values().next().map(|kind| share(kind.idle_s, kind.busy_s));
    let all_idle = |record: &Record| {
        let sum =
            |of: fn(&evenkeel_metrics::KindRow) -> f64| record.kinds.values().map(of).sum::<f64>();
        Some(share(sum(|kind| kind.idle_s), sum(|kind| kind.busy_s)))
    };
    let fewer = own.migrations as f64 <= other.migrations as f64 * (1.0 - TELLING);
    [
        less(idle(own), idle(other), |a, b| {
            format!("its {fast} cores idle for {a} % of the time, not {b} %")
        }),
        less(all_idle(own), all_idle(other), |a, b| {
            format!("all cores together idle for {a} % of the time, not {b} %")
        }),
        less(on_fast(other), on_fast(own), |b, a| {
            format!("{a} % of the time that threads ran was on {fast} cores, not {b} %")
        }),
        fewer.then(|| {
            format!("it migrates threads {} times, not {}", own.migrations, other.migrations)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A share that is less, in percent.
fn less(
    own: Option<f64>,
    other: Option<f64>,
    say: impl Fn(String, String) -> String,
) -> Option<String> {
    let (own, other) = (own?, other?);
    (own + TELLING <= other).then(|| say(percent(own), percent(other)))
}

fn power(own: &Record, other: &Record) -> Option<String> {
    let (a, b) = (own.mean_power_w?, other.mean_power_w?);
    (a <= b * (1.0 - TELLING)).then(|| format!("it draws {a:.3} W, not {b:.3} W"))
}

fn shorter(own: &Record, other: &Record) -> Option<String> {
    let (a, b) = (own.makespan_s, other.makespan_s);
    (a <= b * (1.0 - TELLING)).then(|| format!("it runs for {a:.4} s, not {b:.4} s"))
}

fn on_slower(own: &Record, other: &Record) -> Option<String> {
    let fast = fastest(own);
    less(on_fast(own), on_fast(other), |a, b| {
        format!("{a} % of the time that threads ran was on {fast} cores, not {b} %")
    })
}

fn slowdowns(own: &Record, other: &Record) -> Option<String> {
    let range = |record: &Record| {
        let all = || record.apps.iter().filter_map(|app| app.slowdown);
        Some(format!("from {:.2} to {:.2}", all().reduce(f64::min)?, all().reduce(f64::max)?))
    };
    let (a, b) = (range(own)?, range(other)?);
    (a != b).then(|| format!("slowdowns go {a}, not {b}"))
}

/// How much of its time on cores each application had on the fastest kind: least and greatest.
fn shared(own: &Record, other: &Record) -> Option<String> {
    let range = |record: &Record| {
        let of = |app: &evenkeel_metrics::AppRow| {
            let all: f64 = app.time_on_kind_s.values().sum();
            let fast = app.time_on_kind_s.get(fastest(record)).copied().unwrap_or(0.0);
            (all > 0.0).then_some(fast / all)
        };
        let all = || record.apps.iter().filter_map(of);
        Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
    };
    let ((a, b), (c, d)) = (range(own)?, range(other)?);
    let differs = (a - c).abs() > TELLING || (b - d).abs() > TELLING;
    let [a, b, c, d] = [a, b, c, d].map(percent);
    differs.then(|| {
        format!(
            "applications had {a} to {b} % of their time on {} cores, not {c} to {d} %",
            fastest(own)
        )
    })
}

fn fastest(record: &Record) -> &str {
    record.kinds.keys().next().map_or("fast", String::as_str)
}

/// The share of the fastest kind in the time that cores were busy; `None` if there is only one
/// kind.
fn on_fast(record: &Record) -> Option<f64> {
    let all: f64 = record.kinds.values().map(|kind| kind.busy_s).sum();
    let fast = record.kinds.values().next().filter(|_| record.kinds.len() > 1)?;
    (all > 0.0).then_some(fast.busy_s / all)
}

fn share(part: f64, rest: f64) -> f64 {
    if part + rest > 0.0 { part / (part + rest) } else { 0.0 }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::KindRow;

    use super::super::ranking::{rank, tests::record, tests::runs};
    use super::*;

    /// A run of ten seconds in all on two kinds, by how long their cores were busy.
    fn busy(time: f64, energy: f64, big: f64, little: f64, migrations: u64) -> Record {
        let kind = |busy: f64| KindRow {
            busy_s: busy,
            idle_s: 10.0 - busy,
            energy_j: None,
            mean_power_w: None,
        };
        let mut record = record(time, Some(energy), None);
        record.mean_power_w = Some(energy / time);
        record.kinds = [("big".to_owned(), kind(big)), ("little".to_owned(), kind(little))]
            .into_iter()
            .collect();
        record.migrations = migrations;
        record
    }

    fn say(records: impl IntoIterator<Item = Record>, measure: Measure) -> String {
        let runs = runs(records);
        sentence(&runs, &rank(&runs, measure), measure)
    }

    #[test]
    fn the_fastest_is_set_beside_the_median_of_the_others_and_idle_fast_cores_come_first() {
        let said = say(
            [
                busy(9.0, 1.0, 5.0, 8.0, 900),
                busy(8.0, 1.0, 9.5, 8.0, 100),
                busy(10.0, 1.0, 8.0, 8.0, 200),
                busy(12.0, 1.0, 1.0, 1.0, 1),
            ],
            Measure::Time,
        );
        assert_eq!(
            said,
            "b ends first, after 8.0000 s, 20.0 % less than c (the median of the 3 behind it): its \
             big cores idle for 5.0 % of the time, \
             not 20.0 %, and all cores together idle for 12.5 % of the time, not 20.0 %."
        );
    }

    #[test]
    fn what_speaks_against_the_winner_is_no_reason() {
        let said =
            say([busy(8.0, 1.0, 5.0, 8.0, 900), busy(9.0, 1.0, 6.0, 8.0, 100)], Measure::Time);
        assert!(
            said.ends_with(
                "11.1 % less than b; idle time, migrations and time on fast cores do not say why."
            ),
            "{said}"
        );
        let said =
            say([busy(8.0, 1.0, 5.0, 8.0, 90), busy(9.0, 1.0, 5.0, 8.0, 100)], Measure::Time);
        assert!(said.ends_with("less than b: it migrates threads 90 times, not 100."), "{said}");
    }

    #[test]
    fn energy_is_power_and_time() {
        let said =
            say([busy(8.0, 16.0, 5.0, 8.0, 0), busy(6.0, 24.0, 8.0, 8.0, 0)], Measure::Energy);
        assert_eq!(
            said,
            "a takes the least energy, 16.0000 J, 33.3 % less than b: it draws 2.000 W, not 4.000 \
             W, and 38.5 % of the time that threads \
             ran was on big cores, not 50.0 %."
        );
    }

    #[test]
    fn fairness_is_how_far_slowdowns_are_apart() {
        let with = |unfairness: f64, slowdowns: [f64; 2]| {
            let mut record = record(5.0, None, Some(unfairness));
            for (app, slowdown) in record.apps.iter_mut().zip(slowdowns) {
                app.slowdown = Some(slowdown);
            }
            record
        };
        let said = say([with(2.0, [1.5, 3.0]), with(1.1, [2.0, 2.2])], Measure::Unfairness);
        assert_eq!(
            said,
            "b is the fairest, with an unfairness of 1.100, where a has 2.000: slowdowns go from \
             2.00 to 2.20, not from 1.50 to 3.00."
        );
    }

    #[test]
    fn where_all_are_equal_that_is_said_and_where_some_are_how_many() {
        let same = || busy(8.0, 1.0, 5.0, 8.0, 0);
        assert_eq!(
            say([same(), same()], Measure::Time),
            "All 2 are equal in time: it makes no difference here."
        );
        assert_eq!(say([same()], Measure::Time), "a is the only one.");
        assert!(
            say([same(), same(), busy(9.0, 1.0, 5.0, 8.0, 0)], Measure::Time)
                .starts_with("a (with one other) ends first")
        );
    }

    #[test]
    fn of_a_task_graph_the_critical_path_is_said() {
        let mut graph = busy(8.0, 1.0, 5.0, 8.0, 0);
        graph.graph = serde_json::from_value(serde_json::json!({
            "policy": "heft", "tasks": 3, "edges": 2, "critical_path_s": 6.0, "bound_s": 6.0, "serial_s": 20.0,
            "slr": 1.3, "speedup": 2.5, "efficiency": 0.3,
        }))
        .unwrap();
        let said = say([graph, busy(9.0, 1.0, 4.0, 8.0, 0)], Measure::Time);
        assert!(said.ends_with("takes 6.0000 s (75.0 % of it)."), "{said}");
    }
}
