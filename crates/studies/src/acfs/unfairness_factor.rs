//! The effect of `uf`: throughput for unfairness, from the fairest setting to hsp.

use evenkeel_machine::Machine;
use evenkeel_metrics::Record;
use evenkeel_model::Application;
use evenkeel_policy::bounds::Optimum;

use super::table::ByPolicy;
use super::told::{Tell, true_and_told};
use super::{MIXES, QUICKIA, asp, bound, mean, unfairness};
use crate::{Case, Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "The nine mixes on quickia under acfs with an unfairness factor \
                                  uf from 1 to 4; hsp and the bound opt-unfairness (solved for the \
                                  whole-run factors) beside. True speedup factors. The promise: \
                                  unfairness \
    is at most uf times the least attainable, and throughput rises with uf towards that of hsp. \
    --quick: uf 1, 1.2, 1.5, 2 and 4.";

const FACTORS: [f64; 11] = [1.0, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 3.0, 4.0];
const QUICK_FACTORS: [f64; 5] = [1.0, 1.2, 1.5, 2.0, 4.0];

/// The end towards which throughput rises.
const END: &str = "hsp";

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let machine = evenkeel_files::machines::preset(QUICKIA)?;
    let mixes =
        MIXES.iter().map(|mix| runs.load(&machine, mix, 1.0)).collect::<Result<Vec<_>, _>>()?;
    true_and_told(&machine, &mixes, runs, |mixes, tell| measure(runs, &machine, mixes, tell))
}

fn measure(
    runs: &Runs,
    machine: &Machine,
    mixes: &[Vec<Application>],
    tell: Tell<'_>,
) -> Result<Vec<Exhibit>, StudyError> {
    let factors: &[f64] = if runs.quick { &QUICK_FACTORS } else { &FACTORS };
    let all_mixes =
        |policy| mixes.iter().map(move |mix| tell(runs.case(machine, mix.clone(), policy)));
    let mut cases: Vec<Case> = all_mixes(END).collect();
    for factor in factors {
        cases.extend(all_mixes("acfs").map(|case| case.with("uf", factor)));
    }
    let records = runs.records(&cases)?;
    let (end, under_acfs) = records.split_at(MIXES.len());
    let bounds: Vec<Optimum> = end.iter().map(|record| bound(machine, record)).collect();
    let acfs_names = factors.iter().map(|factor| format!("acfs uf={factor}"));
    let names: Vec<String> =
        acfs_names.chain([END.to_owned(), "opt-unfairness".to_owned()]).collect();
    // For each scheduler the values by mix.
    let table = |of: fn(&Record) -> f64, of_bound: fn(&Optimum) -> f64| -> Vec<Vec<f64>> {
        let simulated = under_acfs
            .chunks(MIXES.len())
            .chain([end])
            .map(|records| records.iter().map(of).collect());
        simulated.chain([bounds.iter().map(of_bound).collect()]).collect()
    };
    let (fairness, throughput) = (table(unfairness, |it| it.unfairness), table(asp, |it| it.asp));

    let rows =
        names.iter().zip(fairness.iter().zip(&throughput)).map(|(name, (fairness, throughput))| {
            vec![
                name.clone().into(),
                mean(fairness.iter().copied()).into(),
                mean(throughput.iter().copied()).into(),
            ]
        });
    let title = "Unfairness against throughput, means over the mixes";
    let figure = Figure {
        x_title: "unfairness (greatest slowdown / least)".into(),
        ..Figure::new(Shape::Points, title, "unfairness", ["ASP"], "ASP")
    };
    let means = Exhibit {
        ci95: Vec::new(),
        title: title.into(),
        columns: vec![
            Column::new("scheduler", ""),
            Column::new("unfairness", ""),
            Column::new("ASP", ""),
        ],
        rows: rows.collect::<Vec<Vec<Cell>>>(),
        figures: vec![figure],
        remarks: vec![promise(factors, &fairness)],
    };
    let by_mix = |title: &str, measure: &str, table: &[Vec<f64>]| {
        let row = |(mix, name): (usize, &&str)| {
            ((*name).to_owned(), table.iter().map(|of_mixes| of_mixes[mix]).collect())
        };
        let rows = MIXES.iter().enumerate().map(row).collect();
        ByPolicy { title: title.into(), measure: measure.into(), policies: names.clone(), rows }
            .exhibit()
    };
    Ok(vec![
        means,
        by_mix("Unfairness by mix", "unfairness (greatest slowdown / least)", &fairness),
        by_mix("Aggregate speedup by mix", "ASP", &throughput),
    ])
}

/// The worst deviation from the promised unfairness. The last row is that of the bound.
fn promise(factors: &[f64], fairness: &[Vec<f64>]) -> String {
    let Some(bound) = fairness.last() else { return String::new() };
    let over = factors.iter().zip(fairness).flat_map(|(factor, of_mixes)| {
        let over = move |((unfairness, bound), mix)| (unfairness / bound / factor, mix, factor);
        of_mixes.iter().zip(bound).zip(MIXES).map(over)
    });
    let worst = over.max_by(|a: &(f64, &str, &f64), b| a.0.total_cmp(&b.0));
    worst.map_or_else(String::new, |(over, mix, factor)| {
        format!(
            "Unfairness is at most {over:.3} times uf times the least attainable (at uf \
                 {factor}, {mix})."
        )
    })
}
