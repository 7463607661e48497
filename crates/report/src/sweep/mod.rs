//! What a sweep has shown, as tables and figures: policies beside a baseline, by axis, what they
//! trade against each other, how much knobs matter, and which policy is best where.

mod means;
#[cfg(test)]
mod tests;

use evenkeel_studies::{Cell, Column, Exhibit, Figure, Shape};
use evenkeel_sweep::{MEASURES, Results};

use means::{Means, Ratio};

/// Most choices that are named in a plane of trade-offs, and most rows of a table of regions.
const MOST_ROWS: usize = 200;

/// What measures are called, as [`MEASURES`], and whether less is better.
const NAMES: [(&str, bool); MEASURES.len()] =
    [("time", true), ("energy", true), ("unfairness", true), ("STP", false)];
const TIME: usize = 0;

/// What a sweep has shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What it was, in some sentences.
    pub lead: String,
    /// Tables with figures.
    pub exhibits: Vec<Exhibit>,
}

/// Why there is nothing to show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShowError {
    /// No case has ended well.
    #[error("no case of the sweep has results")]
    Nothing,
    /// The baseline is not there.
    #[error("no policy '{found}' found, expected {expected}")]
    Baseline {
        /// As asked for.
        found: String,
        /// Policies that there are.
        expected: String,
    },
}

/// Results of a sweep as tables and figures, relative to a baseline: a policy's name, else `linux`,
/// else the first.
///
/// # Errors
/// There is nothing to show, or no such policy.
pub fn show(results: &Results, baseline: Option<&str>) -> Result<Shown, ShowError> {
    let means = Means::new(results);
    if means.is_empty() {
        return Err(ShowError::Nothing);
    }
    let Some(base) = means.baseline(baseline) else {
        let mut policies: Vec<&str> =
            means.choices.iter().map(|choice| choice.policy.as_str()).collect();
        policies.dedup();
        return Err(ShowError::Baseline {
            found: baseline.unwrap_or_default().to_owned(),
            expected: policies.join(", "),
        });
    };
    let of = Of { best: means.best_of_policies(base, TIME), means: &means, base };
    let mut exhibits = vec![of.policies()];
    let axes = (0..means.axes.len()).filter(|&axis| means.axes[axis].1.len() > 1);
    exhibits.extend(axes.map(|axis| of.by_axis(axis)));
    exhibits.extend(of.trade_offs());
    let mut knobs: Vec<&str> = Vec::new();
    for (axis, _) in means.choices.iter().flat_map(|choice| &choice.knobs) {
        if !knobs.contains(&axis.as_str()) {
            knobs.push(axis);
        }
    }
    exhibits.extend(knobs.iter().filter_map(|axis| of.knob(axis)));
    let regions = of.regions();
    let best = regions.remarks.first().cloned().unwrap_or_default();
    exhibits.push(regions);
    Ok(Shown { lead: lead(results, &means, base) + " " + &best, exhibits })
}

fn lead(results: &Results, means: &Means, base: usize) -> String {
    let manifest = &results.manifest;
    let mut lead = format!(
        "{} cases: {} settings, {} policies with their knobs. Figures are relative to {}, geometric \
         means over settings.",
        results.cases.len(),
        means.settings.len(),
        means.choices.len(),
        means.choices[base].label()
    );
    if means.seeds > 1 {
        lead += &format!(
            " {} seeds: policies are compared seed by seed, ± is how far the 95 % interval reaches.",
            means.seeds
        );
    }
    if means.failed > 0 {
        lead += &format!(" {} cases failed and count for nothing.", means.failed);
    }
    if results.parts < manifest.parts {
        lead += &format!(" Only {} of {} parts are there yet.", results.parts, manifest.parts);
    }
    lead
}

/// What exhibits are made of.
struct Of<'a> {
    means: &'a Means,
    /// The choice that others are set beside.
    base: usize,
    /// Of each policy its best choice of knobs.
    best: Vec<usize>,
}

/// Rows of a table, and their intervals.
#[derive(Default)]
struct Rows {
    rows: Vec<Vec<Cell>>,
    ci95: Vec<Vec<f64>>,
}

impl Rows {
    fn push(&mut self, names: Vec<Cell>, figures: impl IntoIterator<Item = Option<Ratio>>) {
        let (mut row, mut halves) = (names, Vec::new());
        halves.resize(row.len(), 0.0);
        for figure in figures {
            row.push(figure.map(|figure| figure.mean).into());
            halves.push(figure.map_or(0.0, |figure| figure.within));
        }
        self.rows.push(row);
        self.ci95.push(halves);
    }

    fn exhibit(
        self,
        title: impl Into<String>,
        columns: impl IntoIterator<Item = String>,
        figures: Vec<Figure>,
    ) -> Exhibit {
        let is_sure = self.ci95.iter().flatten().all(|half| *half == 0.0);
        Exhibit {
            title: title.into(),
            columns: columns.into_iter().map(|name| Column::new(name, "")).collect(),
            rows: self.rows,
            ci95: if is_sure { Vec::new() } else { self.ci95 },
            figures,
            remarks: Vec::new(),
        }
    }
}

impl Of<'_> {
    /// The measures that there are.
    fn measures(&self) -> Vec<usize> {
        (0..MEASURES.len()).filter(|&measure| self.means.has(measure)).collect()
    }

    fn titles(&self) -> Vec<String> {
        self.measures().into_iter().map(|measure| NAMES[measure].0.to_owned()).collect()
    }

    fn label(&self, choice: usize) -> String {
        self.means.choices[choice].label()
    }

    fn all(&self) -> Vec<usize> {
        (0..self.means.settings.len()).collect()
    }

    /// A choice's measures over some settings, relative to the baseline.
    fn ratios(&self, settings: &[usize], choice: usize) -> Vec<Option<Ratio>> {
        let ratio = |measure| self.means.ratio(settings, (choice, self.base), measure);
        self.measures().into_iter().map(ratio).collect()
    }

    /// A choice by its name, with the number of settings that it has if that is not all of them.
    fn name(&self, choice: usize, ratios: &[Option<Ratio>], all: usize) -> String {
        let of = ratios[0].map_or(0, |time| time.settings);
        if of == all { self.label(choice) } else { format!("{} (of {of})", self.label(choice)) }
    }

    /// Policies beside the baseline.
    fn policies(&self) -> Exhibit {
        let settings = self.all();
        let mut rows = Rows::default();
        for &choice in &self.best {
            let ratios = self.ratios(&settings, choice);
            rows.push(vec![self.name(choice, &ratios, settings.len()).into()], ratios);
        }
        let measures = self.titles();
        let title = "Policies, with the knobs that are best in time over all settings";
        let figure =
            Figure::new(Shape::Bars, title, "policy", &measures, "relative to the baseline");
        let columns = std::iter::once("policy".to_owned()).chain(measures);
        rows.exhibit(title, columns, vec![figure])
    }

    /// The same for each value of an axis.
    fn by_axis(&self, axis: usize) -> Exhibit {
        let (name, values) = &self.means.axes[axis];
        let is_number = self.means.numeric[axis];
        let by_value = self.means.by_value(axis);
        let mut rows = Rows::default();
        let shown = spread(values.len());
        for &place in &shown {
            let (value, settings) = (&values[place], &by_value[place]);
            for &choice in &self.best {
                let of_axis = match value.parse::<f64>() {
                    Ok(number) if is_number => Cell::Number(number),
                    _ => value.as_str().into(),
                };
                let names = vec![of_axis, self.label(choice).into()];
                rows.push(names, self.ratios(settings, choice));
            }
        }
        let shape = if is_number { Shape::Lines } else { Shape::Bars };
        let figures = self.titles().into_iter().map(|measure| {
            let y_title = format!("relative {measure}");
            let figure = Figure::new(shape, measure.clone(), name.clone(), [measure], y_title);
            Figure { series: Some("policy".to_owned()), ..figure }
        });
        let columns = [name.clone(), "policy".to_owned()].into_iter().chain(self.titles());
        let figures = figures.collect();
        let mut exhibit = rows.exhibit(format!("By {name}"), columns, figures);
        if shown.len() < values.len() {
            let (some, all) = (shown.len(), values.len());
            exhibit.remarks.push(format!("{some} of {all} values, evenly from first to last."));
        }
        exhibit
    }

    /// What choices trade: time against energy and unfairness, with those that no other beats. Only
    /// choices that have all settings are compared.
    fn trade_offs(&self) -> Option<Exhibit> {
        let measures = self.measures();
        let against: Vec<usize> =
            measures.iter().copied().filter(|&it| it != TIME && NAMES[it].1).collect();
        if against.is_empty() || self.means.choices.len() < 2 {
            return None;
        }
        let settings = self.all();
        let all: Vec<Vec<Option<Ratio>>> =
            (0..self.means.choices.len()).map(|choice| self.ratios(&settings, choice)).collect();
        let of = |choice: usize| all[choice][0].map_or(0, |time| time.settings);
        let most = (0..all.len()).map(of).max().unwrap_or(0);
        let whole: Vec<usize> = (0..all.len()).filter(|&choice| of(choice) == most).collect();
        let mut rows = Rows::default();
        let mut order = whole.clone();
        let time = |choice: usize| all[choice][0].map_or(f64::INFINITY, |time| time.mean);
        order.sort_by(|&a, &b| time(a).total_cmp(&time(b)));
        for &choice in &order {
            let is_beaten = whole.iter().any(|&other| beats(&measures, &all[other], &all[choice]));
            let front = if is_beaten { "no" } else { "yes" };
            if is_beaten && rows.rows.len() >= MOST_ROWS {
                continue;
            }
            let policy = self.means.choices[choice].policy.as_str();
            let names = vec![self.label(choice).into(), policy.into(), front.into()];
            rows.push(names, all[choice].iter().copied());
        }
        let figures = against.iter().map(|&measure| {
            let name = NAMES[measure].0;
            let title = format!("Time against {name}: low and left is better");
            let y_title = format!("relative {name}");
            let figure = Figure::new(Shape::Points, title, "time", [name], y_title);
            let x_title = "relative time".to_owned();
            Figure { x_title, series: Some("policy".to_owned()), ..figure }
        });
        let columns = ["choice", "policy", "Pareto"].map(str::to_owned);
        let columns = columns.into_iter().chain(self.titles());
        let mut exhibit = rows.exhibit(
            "Trade-offs: Pareto is yes where no other is as good in all and better in one",
            columns,
            figures.collect(),
        );
        let left_out: Vec<String> =
            (0..all.len()).filter(|&it| of(it) < most).map(|it| self.label(it)).collect();
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            exhibit.remarks.push(format!("Left out, for want of some settings: {names}."));
        }
        Some(exhibit)
    }

    /// How much a knob matters: its values beside the first, all else equal.
    fn knob(&self, axis: &str) -> Option<Exhibit> {
        let value_of = |choice: usize| {
            let knobs = &self.means.choices[choice].knobs;
            knobs.iter().find(|(name, _)| name == axis).map(|(_, value)| value.clone())
        };
        let with: Vec<usize> =
            (0..self.means.choices.len()).filter(|&it| value_of(it).is_some()).collect();
        let mut values: Vec<String> = Vec::new();
        for value in with.iter().filter_map(|&choice| value_of(choice)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let is_number = values.iter().all(|value| value.parse::<f64>().is_ok());
        let first = values.first()?.clone();
        if values.len() < 2 {
            return None;
        }
        let settings = self.all();
        // Each choice beside the one that differs from it by this knob alone.
        let like = |choice: usize, value: &str| {
            let mut wanted = self.means.choices[choice].clone();
            for knob in wanted.knobs.iter_mut().filter(|(name, _)| name == axis) {
                value.clone_into(&mut knob.1);
            }
            self.means.choices.iter().position(|other| *other == wanted)
        };
        let mut rows = Rows::default();
        let mut range = vec![(f64::INFINITY, 0.0_f64); self.measures().len()];
        for &place in &spread(values.len()) {
            let value = &values[place];
            let pairs: Vec<(usize, usize)> = with
                .iter()
                .filter(|&&it| value_of(it).as_ref() == Some(value))
                .filter_map(|&choice| Some((choice, like(choice, &first)?)))
                .collect();
            let of_measure = |measure: usize| -> Option<Ratio> {
                let of_pair = |pair: &(usize, usize)| self.means.ratio(&settings, *pair, measure);
                let all: Vec<Ratio> = pairs.iter().filter_map(of_pair).collect();
                let count = all.len() as f64;
                let sum = |of: fn(&Ratio) -> f64| all.iter().map(of).sum::<f64>() / count;
                let mean = sum(|it| it.mean.ln()).exp();
                let settings = all.first()?.settings;
                Some(Ratio { mean, within: sum(|it| it.within), settings })
            };
            let figures: Vec<Option<Ratio>> = self.measures().into_iter().map(of_measure).collect();
            // A knob that moves together with another axis is never alone in what differs.
            figures[0]?;
            for (range, figure) in range.iter_mut().zip(&figures) {
                if let Some(figure) = figure {
                    *range = (range.0.min(figure.mean), range.1.max(figure.mean));
                }
            }
            let of_axis = match value.parse::<f64>() {
                Ok(number) if is_number => Cell::Number(number),
                _ => value.as_str().into(),
            };
            rows.push(vec![of_axis], figures);
        }
        let title = format!("How much {axis} matters: relative to {first}, all else equal");
        let shape = if is_number { Shape::Lines } else { Shape::Bars };
        let figure =
            Figure::new(shape, title.clone(), axis, self.titles(), format!("relative to {first}"));
        let moved = self.titles().into_iter().zip(&range).filter(|(_, range)| range.1 > 0.0);
        let moved = moved.map(|(name, (least, greatest))| {
            format!("{name} by {:.1} %", (greatest / least - 1.0) * 100.0)
        });
        let moved = moved.collect::<Vec<_>>().join(", ");
        let columns = std::iter::once(axis.to_owned()).chain(self.titles());
        let exhibit = rows.exhibit(title, columns, vec![figure]);
        let remarks = vec![format!("From least to greatest it moves {moved}.")];
        Some(Exhibit { remarks, ..exhibit })
    }

    /// Which policy is best where: by setting, and how often by each value of an axis.
    fn regions(&self) -> Exhibit {
        let shown: Vec<usize> =
            (0..self.means.axes.len()).filter(|&axis| self.means.axes[axis].1.len() > 1).collect();
        let mut rows = Rows::default();
        let mut wins: Vec<(String, usize)> = Vec::new();
        let policy = |choice: usize| self.means.choices[choice].policy.as_str();
        for (number, setting) in self.means.settings.iter().enumerate() {
            let mut order: Vec<(usize, f64)> = (0..self.means.choices.len())
                .filter_map(|choice| Some((choice, self.means.get(number, choice, TIME)?)))
                .collect();
            order.sort_by(|a, b| a.1.total_cmp(&b.1));
            let Some(&(winner, best)) = order.first() else { continue };
            // Others of the same policy are no rivals; of each rival its best choice is.
            let mut rivals: Vec<usize> = Vec::new();
            for &(other, _) in &order {
                let is_new = rivals.iter().all(|&rival| policy(rival) != policy(other));
                if policy(other) != policy(winner) && is_new {
                    rivals.push(other);
                }
            }
            let ahead_of = |rival: usize| self.means.ratio(&[number], (rival, winner), TIME);
            let is_told = |&rival: &usize| {
                ahead_of(rival).is_some_and(|it| it.mean - 1.0 > it.within.max(EQUAL))
            };
            let said = match rivals.iter().all(is_told) {
                true => policy(winner).to_owned(),
                false => "none is told".to_owned(),
            };
            match wins.iter_mut().find(|(name, _)| *name == said) {
                Some((_, count)) => *count += 1,
                None => wins.push((said.clone(), 1)),
            }
            if rows.rows.len() >= MOST_ROWS {
                continue;
            }
            let value = |axis: usize| {
                let values = &self.means.axes[axis].1;
                setting[axis].map_or("-", |place| values[place as usize].as_str())
            };
            let mut names: Vec<Cell> = shown.iter().map(|&axis| value(axis).into()).collect();
            names.push(said.into());
            names.push(self.label(winner).into());
            names.push(rivals.first().map_or("-".into(), |&rival| self.label(rival).into()));
            let ahead = rivals.first().and_then(|&rival| ahead_of(rival));
            let percent = ahead.map(|it| Ratio {
                mean: (it.mean - 1.0) * 100.0,
                within: it.within * 100.0,
                ..it
            });
            rows.push(names, [Some(Ratio { mean: best, within: 0.0, settings: 1 }), percent]);
        }
        wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all = self.means.settings.len();
        let won: Vec<String> =
            wins.iter().map(|(name, count)| format!("{name} in {count} of {all}")).collect();
        let columns = shown.iter().map(|&axis| self.means.axes[axis].0.clone());
        let more = ["best policy", "least time", "next", "time", "ahead by"].map(str::to_owned);
        let mut exhibit =
            rows.exhibit("Which policy is best where, in time", columns.chain(more), Vec::new());
        let units = exhibit.columns.len();
        exhibit.columns[units - 2].unit = "s";
        exhibit.columns[units - 1].unit = "%";
        exhibit.remarks.push(format!("Best in time: {}.", won.join(", ")));
        exhibit.remarks.push(format!(
            "A policy is best where it is told from all others: by more than {} %, and than the 95 % \
             interval.",
            EQUAL * 100.0
        ));
        if all > MOST_ROWS {
            exhibit.remarks.push(format!("The first {MOST_ROWS} of {all} settings are listed."));
        }
        exhibit
    }
}

/// Most values of an axis that are shown.
const MOST_VALUES: usize = 40;

/// Places of values, evenly from the first to the last: all where there are few.
fn spread(count: usize) -> Vec<usize> {
    let shown = count.min(MOST_VALUES);
    (0..shown).map(|place| place * (count - 1) / (shown - 1).max(1)).collect()
}

/// Times nearer than this part are equal. Ours.
const EQUAL: f64 = 0.005;

/// True if `a` is as good as `b` in all measures, and told to be better in one. The best mean of a
/// measure is beaten by none.
fn beats(measures: &[usize], a: &[Option<Ratio>], b: &[Option<Ratio>]) -> bool {
    let mut is_better = false;
    for ((&measure, a), b) in measures.iter().zip(a).zip(b) {
        let (a, b) = match (a, b) {
            (Some(a), Some(b)) => (a, b),
            (None, None) => continue,
            _ => return false,
        };
        let sign = if NAMES[measure].1 { 1.0 } else { -1.0 };
        let behind = sign * (b.mean - a.mean);
        if behind < 0.0 {
            return false;
        }
        is_better |= behind > a.within + b.within;
    }
    is_better
}
