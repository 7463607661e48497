//! The table that most experiments have: a row for each program and for the mean of each class, a
//! column for each scheduler.

use super::measure::{Relative, Way};
use super::programs::{Class, Program};
use crate::{Cell, Column, Exhibit, Figure, Shape};

pub(super) const PROGRAM: &str = "program";
pub(super) const CLASS: &str = "class";

/// Relative execution times on one machine.
pub(super) fn relative_times(
    title: &str,
    axis: &str,
    relative: &Relative,
    programs: &[Program],
    machine: &str,
    ways: &[Way],
) -> Exhibit {
    let names = [PROGRAM, CLASS].map(|name| Column::new(name, ""));
    let row = |names: [&str; 2], value: &dyn Fn(Way) -> Option<f64>| -> Vec<Cell> {
        names.into_iter().map(Cell::from).chain(ways.iter().map(|&way| value(way).into())).collect()
    };
    let each = programs.iter().map(|&program| {
        row([program.name, program.class.name()], &|way| relative.program(program, machine, way))
    });
    let present = |class: &Class| programs.iter().any(|program| program.class == *class);
    let means = Class::ALL
        .into_iter()
        .filter(present)
        .map(|class| row(["mean", class.name()], &|way| relative.mean(&[class], machine, way)));
    let all = row(["mean", "all"], &|way| relative.mean(&Class::ALL, machine, way));
    let rows: Vec<_> = each.chain(means).chain([all]).collect();
    Exhibit {
        title: title.into(),
        columns: names
            .into_iter()
            .chain(ways.iter().map(|way| Column::new(way.name, "")))
            .collect(),
        rows,
        figures: vec![Figure {
            panels: Some(CLASS.into()),
            ..Figure::new(
                Shape::Bars,
                "Execution time",
                PROGRAM,
                ways.iter().map(|way| way.name),
                axis,
            )
        }],
        ..Exhibit::default()
    }
}
