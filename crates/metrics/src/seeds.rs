//! Runs of several seeds as one record: means, with 95 % intervals.
//!
//! ```text
//! half-width of the interval = t(0.975, n - 1) s / sqrt(n)
//! ```
//!
//! with the sample's standard deviation s of n runs and Student's t. Two means whose intervals
//! overlap are not told apart.

use serde_json::{Map, Value};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use crate::record::{Record, SeedsRow};

/// Measures that have an interval, by their path in a record; those of applications and task graphs
/// below.
const MEASURES: [&str; 14] = [
    "makespan_s",
    "speedup",
    "energy_j",
    "mean_power_w",
    "edp_js",
    "unfairness",
    "asp",
    "stp",
    "antt",
    "migrations",
    "swaps",
    "context_switches",
    "timers.missed",
    "timers.least_slack_us",
];
/// The same by what their path begins and ends with.
const OF_PARTS: [(&str, &[&str]); 3] = [
    ("apps.", &[".completion_s", ".slowdown"]),
    ("graph.", &[".slr", ".speedup", ".efficiency"]),
    ("wakeup_latency_us.", &[".p50", ".p99", ".max", ".mean"]),
];

/// The mean of runs that differ by their seeds alone, in the order of seeds; counts are rounded.
/// Where one failed so has all. `None`: of nothing.
#[must_use]
pub fn over_seeds(records: &[Record]) -> Option<Record> {
    let first = records.first()?;
    if let Some(failed) = records.iter().find(|record| record.error.is_some()) {
        let why = failed.error.as_deref().unwrap_or_default();
        return Some(Record {
            seed: first.seed,
            error: Some(format!("seed {}: {why}", failed.seed)),
            ..failed.clone()
        });
    }
    let values: Vec<Value> =
        records.iter().map(serde_json::to_value).collect::<Result<_, _>>().ok()?;
    let mut row = SeedsRow { count: records.len() as u64, ci95: Default::default() };
    let merged = merge("", &values.iter().collect::<Vec<_>>(), &mut row);
    let merged = serde_json::from_value::<Record>(merged).ok()?;
    Some(Record { seed: first.seed, seeds: Some(row), knobs: first.knobs.clone(), ..merged })
}

/// The mean of what stands at a path of all records: of numbers the mean, else the first.
fn merge(path: &str, values: &[&Value], row: &mut SeedsRow) -> Value {
    let below = |key: &str| {
        if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
    };
    match values[0] {
        Value::Number(_) => mean(path, values, row),
        Value::Object(fields) => {
            let of = |key: &String| -> Option<(String, Value)> {
                let all: Option<Vec<&Value>> = values.iter().map(|value| value.get(key)).collect();
                Some((key.clone(), merge(&below(key), &all?, row)))
            };
            Value::Object(fields.keys().filter_map(of).collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            let of = |(place, _): (usize, &Value)| -> Option<Value> {
                let all: Option<Vec<&Value>> =
                    values.iter().map(|value| value.get(place)).collect();
                Some(merge(&below(&place.to_string()), &all?, row))
            };
            Value::Array(items.iter().enumerate().filter_map(of).collect())
        }
        other => other.clone(),
    }
}

fn mean(path: &str, values: &[&Value], row: &mut SeedsRow) -> Value {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.as_f64()).collect();
    // A measure that one of the runs does not have has no mean.
    let Some(numbers) = numbers else { return Value::Null };
    let Interval { mean, half_width } = Interval::of(&numbers);
    if has_interval(path) {
        row.ci95.insert(path.to_owned(), half_width);
    }
    if values.iter().all(|value| value.is_u64()) {
        Value::from(mean.round() as u64)
    } else {
        Value::from(mean)
    }
}

/// True if the mean of a measure has an interval, by its path in a record.
#[must_use]
pub fn has_interval(path: &str) -> bool {
    MEASURES.contains(&path)
        || OF_PARTS.iter().any(|(begin, ends)| {
            path.starts_with(begin) && ends.iter().any(|end| path.ends_with(end))
        })
}

/// A mean, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The arithmetic mean.
    pub mean: f64,
    /// Half the width of its 95 % interval; 0 of a single number, and of numbers all alike.
    pub half_width: f64,
}

impl Interval {
    /// Of some numbers, one or more.
    #[must_use]
    pub fn of(numbers: &[f64]) -> Self {
        let first = numbers.first().copied().unwrap_or(f64::NAN);
        if numbers.iter().all(|number| *number == first) {
            // A sum of equal numbers may be off by the last digit.
            return Self { mean: first, half_width: 0.0 };
        }
        let (count, freedom) = (numbers.len() as f64, numbers.len() as f64 - 1.0);
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        // Two numbers or more are a sample: there is such a distribution.
        let t = StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |it| it.inverse_cdf(0.975));
        Self { mean, half_width: t * (squares / freedom / count).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, makespan_s: f64, energy_j: Option<f64>, migrations: u64) -> Record {
        Record { seed, makespan_s, energy_j, migrations, ..Record::default() }
    }

    #[test]
    fn a_mean_has_the_interval_of_students_t() {
        // s = 0.49497, and t(0.975, 4) = 2.77645 of any table: 2.77645 x 0.49497 / sqrt(5).
        let times = [5.1, 4.9, 5.6, 5.8, 6.1];
        let runs: Vec<Record> =
            (1..).zip(times).map(|(seed, time)| run(seed, time, Some(2.0), seed)).collect();
        let mean = over_seeds(&runs).unwrap();
        assert!((mean.makespan_s - 5.5).abs() < 1e-12);
        assert!((mean.interval("makespan_s") - 0.61459).abs() < 1e-5, "{mean:?}");
        assert_eq!((mean.energy_j, mean.interval("energy_j")), (Some(2.0), 0.0));
        assert_eq!((mean.migrations, mean.seed), (3, 1));
        assert_eq!(mean.seeds.unwrap().count, 5);
    }

    #[test]
    fn a_measure_that_one_run_lacks_has_no_mean_and_a_failure_is_all_of_theirs() {
        let mut runs = vec![run(1, 1.0, Some(1.0), 0), run(2, 1.0, None, 0)];
        assert_eq!(over_seeds(&runs).unwrap().energy_j, None);
        runs[1].error = Some("no power".into());
        assert_eq!(over_seeds(&runs).unwrap().error.as_deref(), Some("seed 2: no power"));
        assert_eq!(over_seeds(&[]), None);
    }
}
