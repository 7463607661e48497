//! The data of a study's figure: its table, divided into panels and series.

use evenkeel_studies::{Cell, Exhibit, Figure, Shape};
use serde::Serialize;

use crate::exhibit::cells;
use crate::labels::distinct;

/// Most bars or names in a panel that is still narrow enough to stand beside another.
const BARS_BESIDE: usize = 20;

/// A figure.
#[derive(Debug, Serialize)]
pub(super) struct Drawing {
    shape: Shape,
    log_y: bool,
    x_title: String,
    y_title: String,
    /// The series, the same and in this order in all panels.
    pub series: Vec<String>,
    /// At least one.
    pub panels: Vec<Panel>,
    /// True if there are values that its axis cannot show and that it has no bar to write below.
    #[serde(skip)]
    pub leaves_out: bool,
}

/// One system of axes.
#[derive(Debug, Serialize)]
pub(super) struct Panel {
    /// Empty where there is only one.
    pub title: String,
    /// The names along the horizontal axis, place by place; `None`: numbers.
    names: Option<Vec<String>>,
    /// By series.
    points: Vec<Vec<Point>>,
}

/// A value.
#[derive(Debug, Serialize)]
struct Point {
    /// Along the horizontal axis: a number, or the index of a name.
    x: f64,
    y: f64,
    /// Half the width of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<f64>,
    /// What a single point is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl Drawing {
    /// `None` if a column that it names is missing from the table, or there is nothing to draw.
    pub fn new(exhibit: &Exhibit, figure: &Figure) -> Option<Self> {
        let column = |name: &String| exhibit.columns.iter().position(|column| column.name == *name);
        let x = column(&figure.x)?;
        let y = figure.y.iter().map(column).collect::<Option<Vec<_>>>()?;
        let parted = |by: &Option<String>| {
            by.as_ref().map(column).map_or(Some(None), |found| found.map(Some))
        };
        let (panel_column, series_column) = (parted(&figure.panels)?, parted(&figure.series)?);
        let cells = cells(exhibit);
        let text = |row: usize, column: usize| cells[row].get(column).map_or("", String::as_str);
        let rows = || 0..cells.len();
        let values = |column: usize| distinct(rows().map(|row| text(row, column)));

        let series: Vec<String> = match series_column {
            Some(column) => values(column).into_iter().map(str::to_owned).collect(),
            None => figure.y.clone(),
        };
        let panels = panel_column.map_or_else(|| vec![""], values);
        let numeric = figure.shape != Shape::Bars
            && rows().all(|row| matches!(exhibit.rows[row].get(x), Some(Cell::Number(_))));

        let value = |row: usize, column: usize| match exhibit.rows[row].get(column) {
            Some(Cell::Number(value)) if value.is_finite() => Some(*value),
            _ => None,
        };
        // A bar chart has room to write a value that a logarithmic axis cannot show.
        let has_place = |y: f64| figure.shape == Shape::Bars || !figure.log_y || y > 0.0;
        let leaves_out =
            rows().any(|row| y.iter().filter_map(|&y| value(row, y)).any(|y| !has_place(y)));
        let panel = |title: &&str| {
            let rows: Vec<usize> = rows()
                .filter(|&row| panel_column.is_none_or(|column| text(row, column) == *title))
                .collect();
            let names = (!numeric).then(|| distinct(rows.iter().map(|&row| text(row, x))));
            let point = |row: usize, y: usize| {
                let x = match &names {
                    None => value(row, x)?,
                    Some(names) => names.iter().position(|name| *name == text(row, x))? as f64,
                };
                let within = Some(exhibit.interval(row, y)).filter(|within| *within > 0.0);
                let y = value(row, y).filter(|y| has_place(*y))?;
                let name = (figure.shape == Shape::Points).then(|| text(row, 0).to_owned());
                Some(Point { x, y, within, name })
            };
            let of_series = |(index, name): (usize, &String)| match series_column {
                Some(column) => {
                    let of = rows.iter().filter(|&&row| text(row, column) == name);
                    of.filter_map(|&row| point(row, *y.first()?)).collect()
                }
                None => rows.iter().filter_map(|&row| point(row, *y.get(index)?)).collect(),
            };
            let points: Vec<Vec<Point>> = series.iter().enumerate().map(of_series).collect();
            let names = names.map(|names| names.into_iter().map(str::to_owned).collect());
            Panel { title: (*title).to_owned(), names, points }
        };
        let panels: Vec<Panel> = panels.iter().map(panel).filter(Panel::has_points).collect();
        let x_title =
            if figure.x_title.is_empty() { titled(exhibit, x) } else { figure.x_title.clone() };
        let (shape, log_y, y_title) = (figure.shape, figure.log_y, figure.y_title.clone());
        (!panels.is_empty()).then_some(Self {
            shape,
            log_y,
            x_title,
            y_title,
            series,
            panels,
            leaves_out,
        })
    }

    /// True if a panel takes the whole width of a page.
    pub fn is_wide(&self) -> bool {
        let stacks = if self.shape == Shape::Bars { self.series.len() } else { 1 };
        let bars = |panel: &Panel| panel.names.as_ref().map_or(0, |names| names.len() * stacks);
        self.panels.iter().any(|panel| bars(panel) > BARS_BESIDE)
    }
}

impl Panel {
    fn has_points(&self) -> bool {
        self.points.iter().any(|points| !points.is_empty())
    }
}

fn titled(exhibit: &Exhibit, column: usize) -> String {
    let column = &exhibit.columns[column];
    if column.unit.is_empty() {
        column.name.clone()
    } else {
        format!("{} ({})", column.name, column.unit)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use evenkeel_studies::Column;

    fn exhibit() -> Exhibit {
        let row = |program: &str, cores: u32, policy: &str, speedup: Option<f64>| {
            vec![program.into(), Cell::from(cores), policy.into(), speedup.into()]
        };
        Exhibit {
            columns: ["program", "cores", "policy", "speedup"]
                .map(|name| Column::new(name, ""))
                .to_vec(),
            rows: vec![
                row("a", 2, "gts", Some(2.0)),
                row("a", 4, "gts", Some(3.0)),
                row("a", 4, "linux", None),
                row("b", 4, "linux", Some(0.0)),
            ],
            ..Exhibit::default()
        }
    }

    fn figure(shape: Shape) -> Figure {
        Figure {
            title: String::new(),
            shape,
            x: "cores".into(),
            x_title: String::new(),
            y: vec!["speedup".into()],
            y_title: "speedup".into(),
            panels: Some("program".into()),
            series: Some("policy".into()),
            log_y: false,
        }
    }

    #[test]
    fn rows_are_parted_into_panels_and_series() {
        let drawing = Drawing::new(&exhibit(), &figure(Shape::Lines)).unwrap();
        assert_eq!(drawing.series, ["gts", "linux"]);
        assert_eq!(
            drawing.panels.iter().map(|panel| panel.title.as_str()).collect::<Vec<_>>(),
            ["a", "b"]
        );
        let xy = |panel: usize, series: usize| -> Vec<(f64, f64)> {
            drawing.panels[panel].points[series].iter().map(|point| (point.x, point.y)).collect()
        };
        assert_eq!(xy(0, 0), [(2.0, 2.0), (4.0, 3.0)]);
        assert_eq!(xy(0, 1), [], "what is missing is not drawn");
        assert_eq!(xy(1, 1), [(4.0, 0.0)]);
    }

    #[test]
    fn bars_stand_at_names_and_lines_at_numbers() {
        let bars = Drawing::new(&exhibit(), &figure(Shape::Bars)).unwrap();
        assert_eq!(bars.panels[0].names, Some(vec!["2".into(), "4".into()]));
        assert_eq!(bars.panels[0].points[0][1].x, 1.0);
        assert_eq!(Drawing::new(&exhibit(), &figure(Shape::Lines)).unwrap().panels[0].names, None);
    }

    #[test]
    fn on_a_logarithmic_axis_lines_have_no_zero_and_that_is_known() {
        assert!(!Drawing::new(&exhibit(), &figure(Shape::Lines)).unwrap().leaves_out);
        let drawing =
            Drawing::new(&exhibit(), &Figure { log_y: true, ..figure(Shape::Lines) }).unwrap();
        assert_eq!(drawing.panels.len(), 1, "the panel of b has nothing else");
        assert!(drawing.leaves_out);
    }

    #[test]
    fn bars_of_a_logarithmic_axis_keep_their_zeros_apart_from_what_is_missing() {
        let drawing =
            Drawing::new(&exhibit(), &Figure { log_y: true, ..figure(Shape::Bars) }).unwrap();
        let linux = |panel: usize| {
            drawing.panels[panel].points[1].iter().map(|point| point.y).collect::<Vec<_>>()
        };
        assert_eq!((linux(0), linux(1)), (vec![], vec![0.0]));
        assert!(!drawing.leaves_out);
    }

    #[test]
    fn a_figure_of_a_column_that_is_not_there_is_not_drawn() {
        assert!(
            Drawing::new(&exhibit(), &Figure { x: "time".into(), ..figure(Shape::Bars) }).is_none()
        );
        assert!(
            Drawing::new(&exhibit(), &Figure { series: Some("x".into()), ..figure(Shape::Bars) })
                .is_none()
        );
    }
}
