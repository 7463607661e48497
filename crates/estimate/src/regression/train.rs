//! Training: see the [module](super).

use evenkeel_model::SplitMix64;

use super::{Additive, StepFunction};

/// Rows of features, and the target of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: usize,
    /// Row by row.
    features: Vec<f64>,
    targets: Vec<f64>,
}

/// Why a row cannot be taken into a table.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TableError {
    /// Another number of features than the table has columns.
    #[error("a row of {found} features, expected {expected}")]
    Columns {
        /// Features of the row.
        found: usize,
        /// Columns of the table.
        expected: usize,
    },
    /// Infinite, or no number.
    #[error("{0} is not finite")]
    NotFinite(f64),
}

impl Table {
    /// Has no row yet.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// If it has another number of features, or something is not finite. Nothing is added then.
    pub fn push(&mut self, features: &[f64], target: f64) -> Result<(), TableError> {
        if features.len() != self.columns {
            return Err(TableError::Columns { found: features.len(), expected: self.columns });
        }
        if let Some(&bad) = features.iter().chain([&target]).find(|it| !it.is_finite()) {
            return Err(TableError::NotFinite(bad));
        }
        self.features.extend_from_slice(features);
        self.targets.push(target);
        Ok(())
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.targets.len()
    }

    /// Number of columns.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Features and target of a row.
    #[must_use]
    pub fn row(&self, row: usize) -> (&[f64], f64) {
        (&self.features[row * self.columns..][..self.columns], self.targets[row])
    }

    fn feature(&self, row: usize, column: usize) -> f64 {
        self.features[row * self.columns + column]
    }
}

/// Settings of the training. The study names none; these are ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Number of stumps.
    pub stumps: usize,
    /// What of a stump is added, above 0 and at most 1.
    pub shrinkage: f64,
    /// Part of the rows that a stump sees, drawn anew for each; above 0 and at most 1.
    pub part: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { stumps: 300, shrinkage: 0.1, part: 0.5, seed: 1 }
    }
}

/// Why nothing could be trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrainError {
    /// The table has no row.
    #[error("nothing to train on: the table has no row")]
    NoRows,
    /// A setting is out of its range.
    #[error("{0} must be above 0 and at most 1")]
    Setting(&'static str),
    /// Targets are so great that their sum is infinite.
    #[error("targets are too great to be added up")]
    Overflow,
}

/// What training has made.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The regression, a term for each column.
    pub regression: Additive,
    /// Part that each column has in the reduction of the squared error; they add up to 1, or are
    /// all 0 where nothing was to be told apart.
    pub influence: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Stump {
    column: usize,
    threshold: f64,
    left: f64,
    right: f64,
    /// By how much it lowers the sum of squares.
    gain: f64,
}

impl Table {
    /// Fits an additive regression to the table. Of splits that are equally good the first is
    /// taken, by column and then threshold.
    ///
    /// # Errors
    ///
    /// If there is no row, or a setting is out of its range.
    pub fn train(&self, settings: &Settings) -> Result<Trained, TrainError> {
        for (value, name) in [(settings.shrinkage, "shrinkage"), (settings.part, "part")] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(TrainError::Setting(name));
            }
        }
        let rows = self.rows();
        if rows == 0 {
            return Err(TrainError::NoRows);
        }
        let base = self.targets.iter().sum::<f64>() / rows as f64;
        let mut left_over: Vec<f64> = self.targets.iter().map(|target| target - base).collect();
        let sorted = self.sorted();
        let mut part = Part::new(rows, settings);
        let mut stumps = Vec::with_capacity(settings.stumps);
        for _ in 0..settings.stumps {
            part.draw();
            // Another draw may have what this one lacks.
            let Some(stump) = self.best_stump(&sorted, &left_over, &part) else { continue };
            for (row, left_over) in left_over.iter_mut().enumerate() {
                let is_left = self.feature(row, stump.column) <= stump.threshold;
                let step = if is_left { stump.left } else { stump.right };
                *left_over -= settings.shrinkage * step;
            }
            stumps.push(stump);
        }
        let terms = (0..self.columns).map(|column| sum(&stumps, column, settings.shrinkage));
        let terms: Option<Vec<StepFunction>> = terms.collect();
        let regression = terms.and_then(|terms| Additive::new(base, terms));
        let regression = regression.ok_or(TrainError::Overflow)?;
        Ok(Trained { regression, influence: influence(&stumps, self.columns) })
    }

    /// Rows by ascending feature, for each column.
    fn sorted(&self) -> Vec<Vec<u32>> {
        let by = |column| {
            let mut rows: Vec<u32> = (0..self.rows() as u32).collect();
            rows.sort_by(|&a, &b| {
                let [a, b] = [a, b].map(|row| self.feature(row as usize, column));
                a.total_cmp(&b)
            });
            rows
        };
        (0..self.columns).map(by).collect()
    }

    fn best_stump(&self, sorted: &[Vec<u32>], left_over: &[f64], part: &Part) -> Option<Stump> {
        let all = part.rows.len() as f64;
        let total: f64 = part.rows.iter().map(|&row| left_over[row as usize]).sum();
        let mut best: Option<Stump> = None;
        for (column, rows) in sorted.iter().enumerate() {
            let (mut count, mut sum, mut last) = (0.0, 0.0, f64::NAN);
            for &row in rows.iter().filter(|&&row| part.has[row as usize]) {
                let value = self.feature(row as usize, column);
                if count > 0.0 && value > last {
                    let (left, right) = (sum / count, (total - sum) / (all - count));
                    let gain = count * (all - count) / all * (left - right) * (left - right);
                    if gain > best.map_or(0.0, |best| best.gain) {
                        let threshold = between(last, value);
                        best = Some(Stump { column, threshold, left, right, gain });
                    }
                }
                count += 1.0;
                sum += left_over[row as usize];
                last = value;
            }
        }
        best
    }
}

/// A threshold that has `below` at its left and `above` at its right.
fn between(below: f64, above: f64) -> f64 {
    let middle = below / 2.0 + above / 2.0;
    if middle < above { middle } else { below }
}

/// The stumps of a column as one function.
fn sum(stumps: &[Stump], column: usize, shrinkage: f64) -> Option<StepFunction> {
    let mut of_column: Vec<&Stump> = stumps.iter().filter(|it| it.column == column).collect();
    // Stable: stumps of one threshold are added as they came.
    of_column.sort_by(|a, b| a.threshold.total_cmp(&b.threshold));
    let mut value: f64 = of_column.iter().map(|it| shrinkage * it.left).sum();
    let (mut thresholds, mut values) = (Vec::new(), vec![value]);
    for same in of_column.chunk_by(|a, b| a.threshold == b.threshold) {
        value += same.iter().map(|it| shrinkage * (it.right - it.left)).sum::<f64>();
        thresholds.push(same[0].threshold);
        values.push(value);
    }
    StepFunction::new(thresholds, values)
}

fn influence(stumps: &[Stump], columns: usize) -> Vec<f64> {
    let mut gains = vec![0.0; columns];
    for stump in stumps {
        gains[stump.column] += stump.gain;
    }
    let all: f64 = gains.iter().sum();
    if all > 0.0 {
        gains.iter_mut().for_each(|gain| *gain /= all);
    }
    gains
}

/// The rows that a stump sees.
struct Part {
    size: usize,
    /// All rows; the first `size` are in the part.
    order: Vec<u32>,
    rows: Vec<u32>,
    has: Vec<bool>,
    random: SplitMix64,
}

impl Part {
    fn new(all: usize, settings: &Settings) -> Self {
        // One row has no split.
        let size = ((all as f64 * settings.part).round() as usize).clamp(all.min(2), all);
        let order: Vec<u32> = (0..all as u32).collect();
        let rows = order.clone();
        Self { size, order, rows, has: vec![true; all], random: SplitMix64(settings.seed) }
    }

    /// Draws rows without putting them back (the first steps of Fisher and Yates).
    fn draw(&mut self) {
        if self.size == self.order.len() {
            return;
        }
        self.has.fill(false);
        for i in 0..self.size {
            let chosen = i + self.random.below(self.order.len() - i);
            self.order.swap(i, chosen);
            self.has[self.order[i] as usize] = true;
        }
        self.rows.clear();
        self.rows.extend((0..self.has.len() as u32).filter(|&row| self.has[row as usize]));
    }
}
