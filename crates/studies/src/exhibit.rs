//! The result of an experiment: a table, and figures drawn from its columns.

use serde::{Serialize, Serializer};

/// A table, and how to draw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Exhibit {
    /// Heading.
    pub title: String,
    /// What the columns are.
    pub columns: Vec<Column>,
    /// As long as `columns`, each.
    pub rows: Vec<Vec<Cell>>,
    /// As `rows`, of means over seeds: half the width of the 95 % interval of each figure, 0 of
    /// names. Empty: they are of one seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ci95: Vec<Vec<f64>>,
    /// Drawn from the columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// What readers of the figures must know. It is computed from this run; no result is written
    /// into the code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl Exhibit {
    /// Half the width of a figure's 95 % interval; 0 of names, and of a single seed.
    #[must_use]
    pub fn interval(&self, row: usize, column: usize) -> f64 {
        self.ci95.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0.0)
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Its heading, unique within the table.
    pub name: String,
    /// Unit; empty: names, counts and ratios.
    pub unit: &'static str,
}

impl Column {
    /// A column.
    pub fn new(name: impl Into<String>, unit: &'static str) -> Self {
        Self { name: name.into(), unit }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A name.
    Text(String),
    /// In the unit of its column.
    Number(f64),
    /// There is no such figure: `null` in JSON.
    Missing,
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) if number.is_finite() => serializer.serialize_f64(*number),
            Self::Number(_) | Self::Missing => serializer.serialize_none(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Number(f64::from(number))
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Missing, Self::Number)
    }
}

/// A drawing of a table. It refers to columns by their names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// How values are drawn.
    pub shape: Shape,
    /// The column along the horizontal axis: names or numbers.
    pub x: String,
    /// What the horizontal axis says; empty: the column's name and unit.
    pub x_title: String,
    /// Columns drawn along the vertical axis, a series each.
    pub y: Vec<String>,
    /// What the vertical axis says.
    pub y_title: String,
    /// A column whose values separate the panels. `None`: one panel.
    pub panels: Option<String>,
    /// A column whose values separate the series within a panel, of the first of `y`. `None`: all
    /// rows are one series.
    pub series: Option<String>,
    /// True if the vertical axis is logarithmic.
    pub log_y: bool,
}

impl Figure {
    /// Some columns over another, in one panel, all rows of one series, on linear axes.
    pub fn new<T: Into<String>>(
        shape: Shape,
        title: impl Into<String>,
        x: impl Into<String>,
        y: impl IntoIterator<Item = T>,
        y_title: impl Into<String>,
    ) -> Self {
        Self {
            title: title.into(),
            shape,
            x: x.into(),
            x_title: String::new(),
            y: y.into_iter().map(Into::into).collect(),
            y_title: y_title.into(),
            panels: None,
            series: None,
            log_y: false,
        }
    }
}

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A bar for each value, side by side.
    Bars,
    /// Points joined in the order of the rows.
    Lines,
    /// Points; named by the first column of the table.
    Points,
}

/// A ratio for a remark, as its difference from 1.
pub(crate) fn percent(ratio: f64) -> String {
    // Adding 0 removes the sign of a negative zero.
    format!("{:+.1} %", (1000.0 * (ratio - 1.0)).round() / 10.0 + 0.0)
}
