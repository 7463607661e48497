//! Four programs, one of which gets a greater and greater weight. Equal progress is then equal
//! slowdown x weight, as long as a big core can provide it.

use evenkeel_machine::Machine;
use evenkeel_metrics::{Record, measures};
use evenkeel_model::Application;
use evenkeel_policy::weight_of;

use super::told::{Tell, true_and_told};
use super::{QUICKIA, mix};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "gamess, bzip2, h264ref and gobmk on quickia. The weight of one \
                                  of them is raised by nice levels, a quarter more each (nice 0 to \
                                  -8: 1024 to 6100), the others stay at 1024. \
    Speedup: time alone on a small core / completion time. Weighted unfairness: greatest slowdown \
    x weight / least; 1 where slowdowns are in inverse proportion to weights. \
    acfs, prop-sp and a-dwrr go by weights, hsp does not. --quick: every other level.";

const PROGRAMS: [&str; 4] = ["gamess", "bzip2", "h264ref", "gobmk"];

const POLICIES: [&str; 4] = ["acfs", "prop-sp", "a-dwrr", "hsp"];

/// Levels above nice 0: the last weighs six times as much, beyond what a big core gives any of the
/// four.
const LEVELS: i8 = 8;

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let machine = evenkeel_files::machines::preset(QUICKIA)?;
    let programs = mix(runs, &machine, &PROGRAMS, 1.0)?;
    true_and_told(&machine, &[programs], runs, |sets, tell| measure(runs, &machine, sets, tell))
}

fn measure(
    runs: &Runs,
    machine: &Machine,
    sets: &[Vec<Application>],
    tell: Tell<'_>,
) -> Result<Vec<Exhibit>, StudyError> {
    let levels: Vec<i8> = (0..=LEVELS).step_by(if runs.quick { 2 } else { 1 }).collect();
    let points: Vec<(usize, i8)> = (0..PROGRAMS.len())
        .flat_map(|raised| levels.iter().map(move |&level| (raised, -level)))
        .collect();
    let mut cases = Vec::new();
    for &(raised, nice) in &points {
        let mut apps = sets.concat();
        apps[raised].threads.iter_mut().for_each(|thread| thread.nice = nice);
        cases.extend(POLICIES.map(|policy| tell(runs.case(machine, apps.clone(), policy))));
    }
    let records = runs.records(&cases)?;
    let table = |title: &str, y_title: &str, of: fn(&Record, usize, i8) -> f64| {
        let mut columns = vec![Column::new("raised", ""), Column::new("weight", "of the others'")];
        columns.extend(POLICIES.map(|policy| Column::new(policy, "")));
        let row = |(&(raised, nice), records): (&(usize, i8), &[Record])| {
            let mut row: Vec<Cell> = vec![PROGRAMS[raised].into(), relative(nice).into()];
            row.extend(records.iter().map(|record| Cell::from(of(record, raised, nice))));
            row
        };
        let rows = points.iter().zip(records.chunks(POLICIES.len())).map(row).collect();
        let figure = Figure {
            panels: Some("raised".into()),
            ..Figure::new(Shape::Lines, title, "weight", POLICIES, y_title)
        };
        Exhibit { title: title.into(), columns, rows, figures: vec![figure], ..Exhibit::default() }
    };
    Ok(vec![
        table(
            "Speedup of the program whose weight is raised",
            "speedup over a small core",
            |record, raised, _| record.apps[raised].alone_slow_s / record.apps[raised].completion_s,
        ),
        table("Weighted unfairness", "weighted unfairness", weighted_unfairness),
    ])
}

/// A weight, in that of nice 0.
fn relative(nice: i8) -> f64 {
    f64::from(weight_of(nice)) / f64::from(weight_of(0))
}

fn weighted_unfairness(record: &Record, raised: usize, nice: i8) -> f64 {
    let weighted = record.apps.iter().enumerate().filter_map(|(app, row)| {
        Some(row.slowdown? * if app == raised { relative(nice) } else { 1.0 })
    });
    measures::unfairness(&weighted.collect::<Vec<_>>()).unwrap_or(1.0)
}
