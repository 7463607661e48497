//! Effects of errors of the speedup factors: the means over the mixes on quickia, by estimator.

use evenkeel_metrics::Record;
use evenkeel_sim::Estimator;

use super::table::ByPolicy;
use super::{MIXES, QUICKIA, asp, mean, unfairness};
use crate::{Exhibit, Runs, StudyError};

/// The schedulers that use an estimate of each thread's speedup factor.
const POLICIES: [&str; 4] = ["hsp", "prop-sp", "eqp", "acfs"];

/// Standard deviations of the relative error.
const ERRORS: [f64; 4] = [0.05, 0.1, 0.2, 0.4];

/// Draws of the errors; the mean over them is shown.
const DRAWS: u64 = 10;

/// The same for a first look.
const QUICK_DRAWS: u64 = 2;

/// An estimator with its name, and the number of its draws.
struct Row {
    name: String,
    estimator: Estimator,
    draws: u64,
}

pub(super) fn exhibits(runs: &Runs) -> Result<[Exhibit; 2], StudyError> {
    let machine = evenkeel_files::machines::preset(QUICKIA)?;
    let mixes =
        MIXES.iter().map(|mix| runs.load(&machine, mix, 1.0)).collect::<Result<Vec<_>, _>>()?;
    let rows = rows(runs);
    let mut cases = Vec::new();
    for row in &rows {
        for policy in POLICIES {
            for (draw, mix) in
                (0..row.draws).flat_map(|draw| mixes.iter().map(move |mix| (draw, mix)))
            {
                let mut case = runs.case(&machine, mix.clone(), policy);
                case.config.estimator = row.estimator.clone();
                case.config.seed = runs.seed + draw;
                cases.push(case);
            }
        }
    }
    let records = runs.records(&cases)?;
    let of = |title: &str, measure: &str, of: fn(&Record) -> f64| {
        let mut records = records.iter();
        let mut means_of = |row: &Row| {
            let runs = row.draws as usize * MIXES.len();
            POLICIES.map(|_| mean(records.by_ref().take(runs).map(of))).to_vec()
        };
        let rows = rows.iter().map(|row| (row.name.clone(), means_of(row))).collect();
        let policies = POLICIES.map(str::to_owned).to_vec();
        ByPolicy { title: title.into(), measure: measure.into(), policies, rows }
            .without_means("estimator")
    };
    Ok([
        of(
            "Unfairness on quickia by estimator, mean over the mixes",
            "unfairness (greatest slowdown / least)",
            unfairness,
        ),
        of("Aggregate speedup on quickia by estimator, mean over the mixes", "ASP", asp),
    ])
}

fn rows(runs: &Runs) -> Vec<Row> {
    let exact = [
        ("oracle", Estimator::Oracle),
        ("offline", Estimator::Offline),
        ("sampled", Estimator::Sampled),
    ];
    let exact = exact.map(|(name, estimator)| Row { name: name.into(), estimator, draws: 1 });
    let draws = if runs.quick { QUICK_DRAWS } else { DRAWS };
    let modelled = ERRORS.map(|error| Row {
        name: format!("modelled {:.0} %", error * 100.0),
        estimator: Estimator::Modelled { error },
        draws,
    });
    exact.into_iter().chain(modelled).collect()
}
