//! A made-up study, with a figure of every shape.
#![allow(dead_code)]

use evenkeel_studies::{CarriedOut, Cell, Column, Exhibit, Figure, Reproduction, Shape};

use super::Dice;

/// Programs on parts of a machine under policies. All names that come from outside are `name`.
pub fn study(name: &str) -> Reproduction {
    let columns = [
        ("program", ""),
        ("cores", ""),
        ("policy", ""),
        ("speedup", ""),
        ("energy", "J"),
        ("period", "ms"),
    ];
    let mut dice = Dice(5);
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for program in ["blackscholes", "streamcluster", name] {
        for cores in [2_u32, 4, 8] {
            for policy in ["pinned", "gts", name] {
                let figure = |dice: &mut Dice| {
                    Cell::from(1.0 + f64::from(cores) * dice.roll(100) as f64 / 50.0)
                };
                let figures = [figure(&mut dice), figure(&mut dice), figure(&mut dice)];
                rows.push(
                    [program.into(), cores.into(), policy.into()]
                        .into_iter()
                        .chain(figures)
                        .collect(),
                );
            }
        }
    }
    rows[4][4] = Cell::Missing;
    rows[5][4] = Cell::from(0.0);
    let figure =
        |shape, x: &str, y: &[&str], panels: Option<&str>, series: Option<&str>, log_y| Figure {
            title: format!("{shape:?} of {name}"),
            shape,
            x: x.into(),
            x_title: String::new(),
            y: y.iter().map(|y| (*y).to_owned()).collect(),
            y_title: y[0].into(),
            panels: panels.map(str::to_owned),
            series: series.map(str::to_owned),
            log_y,
        };
    let all = Exhibit {
        title: format!("Speedup and energy of {name}"),
        ci95: Vec::new(),
        columns: columns.map(|(name, unit)| Column::new(name, unit)).to_vec(),
        figures: vec![
            figure(Shape::Bars, "cores", &["speedup"], Some("program"), Some("policy"), false),
            figure(Shape::Lines, "cores", &["energy"], Some("policy"), Some("program"), true),
            figure(Shape::Points, "speedup", &["energy"], None, Some("policy"), false),
        ],
        remarks: vec![format!("{name} was made up.")],
        rows: rows.clone(),
    };
    let mut of_one: Vec<Vec<Cell>> = rows.into_iter().skip(9).take(3).collect();
    // For a logarithmic axis: one value that is 0, one below 1, one above.
    of_one[0][4] = Cell::from(0.0);
    of_one[1][4] = Cell::from(0.2);
    let one = Exhibit {
        title: "One program".into(),
        figures: vec![
            figure(Shape::Bars, "policy", &["speedup", "energy"], None, None, false),
            Figure {
                title: "One program".into(),
                ..figure(Shape::Bars, "policy", &["energy"], None, None, true)
            },
            figure(Shape::Bars, "policy", &["no such column"], None, None, true),
        ],
        rows: of_one,
        remarks: Vec::new(),
        ..all.clone()
    };
    Reproduction {
        study: "made-up",
        title: "A study that nobody made",
        source: "Proceedings of Nothing, 2026",
        live: false,
        quick: true,
        seed: 1,
        seeds: None,
        made_by: name.into(),
        experiments: vec![CarriedOut {
            number: 3,
            title: "Speedups",
            setting: "Dice were thrown, once, under a table of the nearest café.",
            tables: vec![all, one],
        }],
    }
}
