//! The ten workloads of four applications with constant speedup factors on two big and two small
//! cores, in the study's model.
//!
//! In the model each application has one thread and a core to itself, and a policy is a fraction
//! `F_i` of big-core time for each of them (`evenkeel_policy::bounds`):
//!
//! ```text
//! hsp              F = 1 for the B greatest factors (of equal ones: the first), 0 for the rest
//! round-robin      F = B / n for all
//! opt-unfairness   solved exactly
//! acfs             its rule carried out tick by tick on four numbers v:
//!                  F = share of ticks on a big core
//! ```
//!
//! Without its threshold acfs has a closed form. It keeps the `v` of all contending threads equal,
//! so they grow at one rate `r`, and `F + (1 - F) / SF = r` is a slowdown of `1 / r` for each of
//! them, which is the optimum. The iteration shows the effect of the threshold. A further column
//! has the policy itself in the simulator, with programs that end and start again.

use evenkeel_machine::{KindId, Machine};
use evenkeel_metrics::Record;
use evenkeel_policy::{Knobs, bounds, registry};

use super::table::ByPolicy;
use super::{QUICKIA, asp, unfairness};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "Four single-threaded applications W1 to W10 of constant speedup \
                                  factors (SF), 2 big and 2 small \
    cores. hsp, round-robin and opt-unfairness are shares of big-core time by their rules in the \
    study's model; acfs is its rule carried out for an hour \
    of 4 ms ticks. 'acfs simulated' is the policy on quickia with free migration, each application \
    running again until the longest has ended three times. \
    Normalised: ASP / ((4.7 - 1) 2), (unfairness - 1) / (4.7 - 1). --quick simulates applications \
    of a tenth of the length.";

/// The greatest speedup factor of the platform, by which the study normalises.
const GREATEST_FACTOR: f64 = 4.7;

/// Big cores.
const FAST: usize = 2;

/// How long the rule is iterated.
const HOUR_MS: f64 = 3_600_000.0;

/// Factor on the 120 s of an application of W1 to W10 on a small core.
const SIZE: f64 = 10.0;

/// Columns of the tables.
const COLUMNS: [&str; 5] = ["hsp", "round-robin", "opt-unfairness", "acfs", "acfs simulated"];

/// The results of each policy on one workload.
struct Answer {
    /// Unfairness and ASP, by column.
    measures: [(f64, f64); COLUMNS.len()],
    /// Shares of big-core time by application: of opt-unfairness, acfs, acfs simulated.
    shares: [[f64; 4]; 3],
}

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let answers = answers(runs)?;
    let table = |title: &str, measure: &str, of: fn(&(f64, f64)) -> f64| {
        let rows = (1..).zip(&answers).map(|(number, answer)| {
            (format!("W{number}"), answer.measures.iter().map(of).collect())
        });
        let policies = COLUMNS.map(str::to_owned).to_vec();
        ByPolicy { title: title.into(), measure: measure.into(), policies, rows: rows.collect() }
            .exhibit()
    };
    let mut throughput = table("Normalised ASP", "normalised ASP", |(_, asp)| {
        asp / ((GREATEST_FACTOR - 1.0) * FAST as f64)
    });
    throughput.remarks = vec![deviation(&answers)];
    let fairness = table("Normalised unfairness", "normalised unfairness", |(unfairness, _)| {
        // A value below 10^-12 is a rounding error of 0.
        ((unfairness - 1.0) / (GREATEST_FACTOR - 1.0) * 1e12).round() / 1e12
    });
    Ok(vec![throughput, fairness, shares(&answers)])
}

fn answers(runs: &Runs) -> Result<Vec<Answer>, StudyError> {
    let machine = evenkeel_files::machines::preset(QUICKIA)?.with_free_costs();
    let size = if runs.quick { SIZE / 10.0 } else { SIZE };
    let case = |number: usize| {
        Ok(runs.case(&machine, runs.load(&machine, &format!("W{number}"), size)?, "acfs"))
    };
    let cases = (1..=bounds::WORKLOADS.len()).map(case).collect::<Result<Vec<_>, StudyError>>()?;
    let knobs = registry::knobs("acfs", &[])?;
    let answer = |(factors, record): (&[f64; 4], Record)| {
        let optimum = bounds::opt_unfairness(factors, FAST);
        let acfs = acfs_by_its_rule(factors, &knobs);
        let of = |fractions: &[f64]| {
            (bounds::unfairness(factors, fractions), bounds::asp(factors, fractions))
        };
        Answer {
            measures: [
                of(&hsp(factors)),
                of(&[FAST as f64 / factors.len() as f64; 4]),
                of(&optimum.fractions),
                of(&acfs),
                (unfairness(&record), asp(&record)),
            ],
            shares: [
                std::array::from_fn(|i| optimum.fractions[i]),
                acfs,
                simulated_shares(&machine, &record),
            ],
        }
    };
    Ok(bounds::WORKLOADS.iter().zip(runs.records(&cases)?).map(answer).collect())
}

/// The applications with the greatest factors have a big core all the time.
fn hsp(factors: &[f64; 4]) -> [f64; 4] {
    let mut order = [0, 1, 2, 3];
    order.sort_by(|&a: &usize, &b| factors[b].total_cmp(&factors[a]));
    std::array::from_fn(|i| if order[..FAST].contains(&i) { 1.0 } else { 0.0 })
}

/// Shares of big-core time by the rule of acfs. `v` grows by the tick on big cores and by a
/// factor's part of it on small ones. The greatest `v` of the big cores and the least of the small
/// ones swap while they are further apart than the threshold.
fn acfs_by_its_rule(factors: &[f64; 4], knobs: &Knobs) -> [f64; 4] {
    let (swap_ms, tick_ms) = (knobs.number("swap"), knobs.number("tick"));
    let n = factors.len() as f64;
    let base = swap_ms / 2.0 * (1.0 - n / factors.iter().sum::<f64>());
    let threshold = base * 2.0 * (n - FAST as f64) / n;
    let mut v = [0.0; 4];
    let mut on_big = [true, true, false, false];
    let mut ticks_on_big = [0_u32; 4];
    let ticks = (HOUR_MS / tick_ms) as u32;
    for _ in 0..ticks {
        for i in 0..v.len() {
            v[i] += if on_big[i] { tick_ms } else { tick_ms / factors[i] };
            ticks_on_big[i] += u32::from(on_big[i]);
        }
        let places = 0..v.len();
        while let (Some(a), Some(b)) = (
            places.clone().filter(|&i| on_big[i]).max_by(|&i, &j| v[i].total_cmp(&v[j])),
            places.clone().filter(|&i| !on_big[i]).min_by(|&i, &j| v[i].total_cmp(&v[j])),
        ) && v[a] - v[b] > threshold
        {
            on_big.swap(a, b);
        }
    }
    ticks_on_big.map(|on_big| f64::from(on_big) / f64::from(ticks))
}

fn simulated_shares(machine: &Machine, record: &Record) -> [f64; 4] {
    let big = &machine.kinds[KindId(0).index()].name;
    std::array::from_fn(|app| {
        let times = &record.apps[app].time_on_kind_s;
        times.get(big).copied().unwrap_or_default() / times.values().sum::<f64>()
    })
}

/// The greatest distance of the simulated policy from the bound.
fn deviation(answers: &[Answer]) -> String {
    let (optimum, simulated) = (2, 4);
    let greatest = |of: fn(&(f64, f64)) -> f64| {
        let relative = |answer: &Answer| {
            (of(&answer.measures[simulated]) / of(&answer.measures[optimum]) - 1.0).abs()
        };
        answers.iter().map(relative).fold(0.0, f64::max) * 100.0
    };
    format!(
        "acfs simulated is within {:.2} % of opt-unfairness in unfairness and {:.2} % in ASP on \
         all ten.",
        greatest(|(unfairness, _)| *unfairness),
        greatest(|(_, asp)| *asp)
    )
}

fn shares(answers: &[Answer]) -> Exhibit {
    let title = "Share of its time that each application has a big core";
    let names = ["opt-unfairness", "acfs", "acfs simulated"];
    let mut columns =
        vec![Column::new("workload", ""), Column::new("application", ""), Column::new("SF", "")];
    columns.extend(names.map(|name| Column::new(name, "")));
    let mut rows = Vec::new();
    for ((number, factors), answer) in (1..).zip(bounds::WORKLOADS).zip(answers) {
        for app in 0..factors.len() {
            let mut row: Vec<Cell> = vec![
                format!("W{number}").into(),
                format!("app{}", app + 1).into(),
                factors[app].into(),
            ];
            row.extend(answer.shares.iter().map(|shares| Cell::from(shares[app])));
            rows.push(row);
        }
    }
    let figure = Figure {
        panels: Some("workload".into()),
        ..Figure::new(Shape::Bars, title, "application", names, "share of time on a big core")
    };
    Exhibit { title: title.into(), columns, rows, figures: vec![figure], ..Exhibit::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_acfs_and_the_simulated_policy_are_within_a_percent_of_the_bound_on_all_ten() {
        let answers = answers(&Runs::new(false, 1, &|_, _| {})).unwrap();
        for (number, answer) in (1..).zip(&answers) {
            let [_, _, (unfairness, asp), rule, simulated] = answer.measures;
            for (here, their_asp) in [rule, simulated] {
                assert!(
                    (here / unfairness - 1.0).abs() < 0.01,
                    "W{number}: {here}, not {unfairness}"
                );
                assert!((their_asp / asp - 1.0).abs() < 0.01, "W{number}: {their_asp}, not {asp}");
            }
        }
    }

    #[test]
    fn hsp_leaves_small_cores_to_those_who_gain_least() {
        assert_eq!(hsp(&[4.0, 2.5, 2.5, 2.5]), [1.0, 1.0, 0.0, 0.0]);
        assert_eq!(hsp(&[1.0, 1.7, 3.2, 2.5]), [0.0, 0.0, 1.0, 1.0]);
    }
}
