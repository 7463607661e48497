//! The table of all policies relative to the baseline.

use std::fmt::Write;

use super::data::{Against, Data, Point};
use super::escape::text;
use super::parts::{scroll, swatch};
use crate::figure::number;

/// A column of the table of all policies.
struct Glance {
    name: &'static str,
    /// Its unit where it is no ratio, and which way is better.
    hint: String,
    greater: bool,
    /// True if it is about workloads that end at a set time.
    of_timed: bool,
    /// By policy.
    values: Vec<Option<Against>>,
    shown: fn(f64) -> String,
}

impl Glance {
    /// The most workloads that any value covers.
    fn workloads(&self) -> usize {
        self.values.iter().flatten().map(|value| value.workloads).max().unwrap_or(0)
    }

    fn cell(&self, policy: usize) -> Option<String> {
        self.values.get(policy).copied().flatten().map(|value| {
            let ratio = (self.shown)(value.ratio);
            if value.doubt > 0.0 {
                format!("{ratio} ±{}", (self.shown)(value.ratio * value.doubt))
            } else {
                ratio
            }
        })
    }

    /// True if no other is better, and one is worse, as far as is shown and intervals tell.
    fn is_best(&self, policy: usize) -> bool {
        let Some(own) = self.values.get(policy).copied().flatten() else { return false };
        let sign = if self.greater { -1.0 } else { 1.0 };
        let ahead = |other: &Against| {
            let within = own.ratio * own.doubt + other.ratio * other.doubt;
            let by = other.ratio - own.ratio;
            let is_told = (self.shown)(other.ratio) != (self.shown)(own.ratio) && by.abs() > within;
            is_told.then_some(sign * by)
        };
        let told: Vec<f64> = self.values.iter().flatten().filter_map(ahead).collect();
        !told.is_empty() && told.iter().all(|by| *by > 0.0)
    }
}

/// The columns that apply to what ran. Columns of workloads that end at a set time come first if
/// there are no other workloads.
fn glances(data: &Data) -> Vec<Glance> {
    /// Name, and that of its interval; true if more is better; true if it applies to workloads that
    /// end at a set time; value.
    type Measure = (&'static str, &'static str, bool, bool, fn(&Point) -> Option<f64>);
    const MEASURES: [Measure; 4] = [
        ("speedup", "time_s", true, false, |point| {
            Some(1.0 / point.time_s).filter(|rate| rate.is_finite())
        }),
        ("energy", "energy_j", false, true, |point| point.energy_j),
        ("EDP", "edp_js", false, false, |point| point.edp_js),
        ("unfairness", "unfairness", false, true, |point| point.unfairness),
    ];
    const LATENCIES: [Measure; 2] = [
        ("wake-up p99", "wake_p99_us", false, true, |point| point.wake_p99_us),
        ("longest wake-up", "wake_max_us", false, true, |point| point.wake_max_us),
    ];
    let policies = || 0..data.policies.len();
    let ratios = MEASURES.map(|(name, within, greater, always, measure)| Glance {
        name,
        greater,
        of_timed: false,
        hint: if greater { "more is better".into() } else { "less is better".into() },
        values: policies()
            .map(|policy| {
                data.against_baseline(policy, |group| always || !group.timed, within, measure)
            })
            .collect(),
        shown: |value| format!("{value:.3}"),
    });
    let latencies = LATENCIES.map(|(name, within, greater, _, measure)| {
        let timed: Vec<&Point> =
            data.points.iter().filter(|point| data.groups[point.group].timed).collect();
        let only = data.groups.iter().filter(|group| group.timed).count() == 1;
        let of_only = |policy: usize| {
            let point = timed.iter().find(|point| point.policy == policy)?;
            let (ratio, doubt) = (measure(point)?, point.doubt(within));
            Some(Against { ratio, doubt, workloads: 1 })
        };
        let mean =
            |policy: usize| data.against_baseline(policy, |group| group.timed, within, measure);
        let value = |policy: usize| {
            if only { of_only(policy) } else { mean(policy) }
        };
        Glance {
            name,
            greater,
            of_timed: true,
            hint: if only { "µs, less is better".into() } else { "less is better".into() },
            values: policies().map(value).collect(),
            shown: if only { number } else { |value| format!("{value:.3}") },
        }
    });
    let kept = periods(data);
    let mut all: Vec<Glance> = kept.into_iter().chain(latencies).chain(ratios).collect();
    all.retain(|glance| glance.workloads() > 0);
    if data.any_free() {
        // Latencies cover some of the workloads only.
        all.sort_by_key(|glance| glance.of_timed);
    }
    all
}

/// How well the periods of timers were kept in workloads that end at a set time, all of them
/// together. These are no ratios.
fn periods(data: &Data) -> [Glance; 2] {
    let of = |policy: usize| {
        let points = data
            .points
            .iter()
            .filter(move |point| point.policy == policy && data.groups[point.group].timed);
        points.filter(|point| point.timer_waits.is_some()).collect::<Vec<_>>()
    };
    let values = |value: &dyn Fn(&[&Point]) -> Option<f64>| {
        let value = |policy: usize| {
            let workloads = of(policy).len();
            value(&of(policy)).map(|ratio| Against { ratio, doubt: 0.0, workloads })
        };
        (0..data.policies.len()).map(value).collect()
    };
    let missed = |points: &[&Point]| {
        let sum = |part: fn(&Point) -> Option<f64>| {
            points.iter().filter_map(|point| part(point)).sum::<f64>()
        };
        (!points.is_empty())
            .then(|| 100.0 * sum(|point| point.missed) / sum(|point| point.timer_waits))
    };
    let slack =
        |points: &[&Point]| points.iter().filter_map(|point| point.least_slack_us).reduce(f64::min);
    [
        Glance {
            name: "missed deadlines",
            hint: "%, less is better".into(),
            greater: false,
            of_timed: true,
            values: values(&missed),
            shown: number,
        },
        Glance {
            name: "least slack",
            hint: "µs, more is better".into(),
            greater: true,
            of_timed: true,
            values: values(&slack),
            shown: number,
        },
    ]
}

/// Each policy against the baseline in a table; nothing for a single policy.
pub(super) fn summary(data: &Data) -> String {
    let shown = glances(data);
    if data.policies.len() < 2 || shown.is_empty() {
        return String::new();
    }
    let several = data.groups.len() > 1;
    let mut table = String::from("<table class=\"figures\">\n<thead><tr><th>policy</th>");
    for glance in &shown {
        let of = match glance.workloads() {
            _ if !several => String::new(),
            1 => "<br>of 1 workload".into(),
            workloads => format!("<br>of {workloads} workloads"),
        };
        let _ = write!(table, "<th>{}<small>{}{of}</small></th>", glance.name, glance.hint);
    }
    table.push_str("</tr></thead>\n<tbody>\n");
    for (policy, name) in data.policies.iter().enumerate() {
        let _ = write!(table, "<tr><th>{}{}</th>", swatch(data, policy), text(name));
        for glance in &shown {
            let class = if glance.is_best(policy) { " class=\"best\"" } else { "" };
            let fewer = glance.values[policy].filter(|value| value.workloads < glance.workloads());
            let fewer = fewer
                .map_or(String::new(), |value| format!(" <small>of {}</small>", value.workloads));
            let _ = write!(
                table,
                "<td{class}>{}{fewer}</td>",
                glance.cell(policy).unwrap_or("–".into())
            );
        }
        table.push_str("</tr>\n");
    }
    table.push_str("</tbody>\n</table>\n");
    let over = if several { "; geometric means" } else { "" };
    let baseline = text(&data.policies[data.baseline]);
    let absolute = |glance: &Glance| ["µs", "%"].iter().any(|unit| glance.hint.starts_with(unit));
    let but = if shown.iter().any(absolute) { ", but where a unit is given" } else { "" };
    format!(
        "<section>\n<h2>At a glance</h2>\n<p>Relative to {baseline}, which is 1{but}{over}. Best \
         values are bold.</p>\n\
         {}</section>\n",
        scroll(&table)
    )
}
