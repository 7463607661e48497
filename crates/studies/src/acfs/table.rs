//! Tables with a row for each workload and a column for each policy, the mean below; and bars drawn
//! from them.

use super::mean;
use crate::{Cell, Column, Exhibit, Figure, Shape};

/// A measure of every workload under every policy.
pub(super) struct ByPolicy {
    /// Heading.
    pub title: String,
    /// What the vertical axis says.
    pub measure: String,
    /// Headings of the columns.
    pub policies: Vec<String>,
    /// Name of a workload, and the measure under each policy.
    pub rows: Vec<(String, Vec<f64>)>,
}

/// Heading of the column of names.
const NAMES: &str = "workload";

impl ByPolicy {
    /// Mean of each policy over the workloads.
    pub(super) fn means(&self) -> Vec<f64> {
        (0..self.policies.len())
            .map(|policy| mean(self.rows.iter().map(|(_, row)| row[policy])))
            .collect()
    }

    /// The table with its means, and the bars.
    pub(super) fn exhibit(&self) -> Exhibit {
        let mut exhibit = self.without_means(NAMES);
        exhibit.rows.push(row("mean", &self.means()));
        exhibit
    }

    /// The table of rows that have no mean, whose names are those of something else than workloads;
    /// and the bars.
    pub(super) fn without_means(&self, names: &str) -> Exhibit {
        let mut columns = vec![Column::new(names, "")];
        columns.extend(self.policies.iter().map(|policy| Column::new(policy, "")));
        let rows = self.rows.iter().map(|(name, values)| row(name, values)).collect();
        let figure = Figure::new(Shape::Bars, &self.title, names, &self.policies, &self.measure);
        Exhibit {
            title: self.title.clone(),
            columns,
            rows,
            figures: vec![figure],
            ..Exhibit::default()
        }
    }
}

fn row(name: &str, values: &[f64]) -> Vec<Cell> {
    std::iter::once(Cell::from(name)).chain(values.iter().map(|&value| Cell::from(value))).collect()
}
