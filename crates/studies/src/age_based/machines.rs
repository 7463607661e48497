//! Experiment 7: more fast cores, and smaller differences between the kinds.

use super::measure::{AGE, AGE_ORACLE, FCA_AGE, RR, Relative, SCALED_LOAD, Way, measure};
use super::programs::{Class, programs};
use super::table::CLASS;
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

/// Fast cores, ratio of the clocks, preset.
const MACHINES: [(u32, u32, &str); 9] = [
    (1, 2, "amp-1f7s-2"),
    (1, 4, "amp-1f7s-4"),
    (1, 8, "amp-1f7s"),
    (2, 2, "amp-2f6s-2"),
    (2, 4, "amp-2f6s-4"),
    (2, 8, "amp-2f6s"),
    (4, 2, "amp-4f4s-2"),
    (4, 4, "amp-4f4s-4"),
    (4, 8, "amp-4f4s"),
];
const WAYS: [Way; 5] = [SCALED_LOAD, RR, FCA_AGE, AGE, AGE_ORACLE];
const FAST: &str = "fast cores";
const RATIO: &str = "ratio of clocks";

/// Means by machine.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let programs = programs(runs.quick);
    let ran = measure(runs, &programs, &MACHINES.map(|(_, _, preset)| preset), &WAYS)?;
    let relative = Relative { ran: &ran, base: (None, SCALED_LOAD) };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for class in Class::ALL {
        for (fast, ratio, preset) in MACHINES {
            let mut row: Vec<Cell> = vec![class.name().into(), fast.into(), ratio.into()];
            row.extend(WAYS.map(|way| Cell::from(relative.mean(&[class], preset, way))));
            rows.push(row);
        }
    }
    let figure = |way: Way| {
        let title = format!("{} by ratio and number of fast cores", way.name);
        Figure {
            x_title: "ratio of clocks, by fast cores".into(),
            panels: Some(CLASS.into()),
            series: Some(FAST.into()),
            ..Figure::new(Shape::Bars, title, RATIO, [way.name], "execution time, scaled-load = 1")
        }
    };
    let names = [CLASS, FAST, RATIO].map(|name| Column::new(name, ""));
    Ok(vec![Exhibit {
        title: "Mean execution time over that under scaled-load".into(),
        columns: names.into_iter().chain(WAYS.map(|way| Column::new(way.name, ""))).collect(),
        rows,
        figures: [FCA_AGE, AGE].map(figure).to_vec(),
        ..Exhibit::default()
    }])
}
