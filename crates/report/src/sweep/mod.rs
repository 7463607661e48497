//! What a sweep has shown, as tables and figures: policies beside a baseline, by axis, what they
//! trade against each other, how much knobs matter, and which policy is best where.

mod means;

use evenkeel_metrics::Interval;
use evenkeel_metrics::measures::geometric_mean;
use evenkeel_studies::{Cell, Column, Exhibit, Figure, Shape};
use evenkeel_sweep::{MEASURES, Results};

use means::{Means, Places};

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
    if means.of.is_empty() {
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
    let axes = (0..means.settings.len()).filter(|&axis| means.settings[axis].1.len() > 1);
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
        means.all_settings().len(),
        means.choices.len(),
        means.choices[base].label()
    );
    if means.seeds > 1 {
        lead += &format!(
            " Means over {} seeds, each policy beside the others with the same seed, and 95 % intervals.",
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
    fn push(&mut self, names: Vec<Cell>, figures: impl IntoIterator<Item = Option<Interval>>) {
        let (mut row, mut halves) = (names, Vec::new());
        halves.resize(row.len(), 0.0);
        for figure in figures {
            row.push(figure.map(|figure| figure.mean).into());
            halves.push(figure.map_or(0.0, |figure| figure.half_width));
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

    /// A choice's measures over some settings, relative to the baseline.
    fn ratios(&self, settings: &[&Places], choice: usize) -> Vec<Option<Interval>> {
        let ratio =
            |measure| self.means.ratio(settings.iter().copied(), (choice, self.base), measure);
        self.measures().into_iter().map(ratio).collect()
    }

    /// Policies beside the baseline.
    fn policies(&self) -> Exhibit {
        let settings: Vec<&Places> = self.means.all_settings().into_iter().collect();
        let mut rows = Rows::default();
        for &choice in &self.best {
            rows.push(vec![self.label(choice).into()], self.ratios(&settings, choice));
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
        let (name, values) = &self.means.settings[axis];
        let is_number = self.means.numeric[axis];
        let mut rows = Rows::default();
        for (place, value) in values.iter().enumerate() {
            let is_there = |setting: &&Places| setting[axis] == Some(place as u32);
            let settings: Vec<&Places> =
                self.means.all_settings().into_iter().filter(is_there).collect();
            for &choice in &self.best {
                let of_axis = match value.parse::<f64>() {
                    Ok(number) if is_number => Cell::Number(number),
                    _ => value.as_str().into(),
                };
                let names = vec![of_axis, self.label(choice).into()];
                rows.push(names, self.ratios(&settings, choice));
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
        rows.exhibit(format!("By {name}"), columns, figures)
    }

    /// What choices trade: time against energy and unfairness, with those that no other beats.
    fn trade_offs(&self) -> Option<Exhibit> {
        let measures = self.measures();
        let against: Vec<usize> =
            measures.iter().copied().filter(|&it| it != TIME && NAMES[it].1).collect();
        if against.is_empty() || self.means.choices.len() < 2 {
            return None;
        }
        let settings: Vec<&Places> = self.means.all_settings().into_iter().collect();
        let all: Vec<Vec<Option<Interval>>> =
            (0..self.means.choices.len()).map(|choice| self.ratios(&settings, choice)).collect();
        let mut rows = Rows::default();
        let mut order: Vec<usize> = (0..all.len()).collect();
        let time = |choice: usize| all[choice][0].map_or(f64::INFINITY, |time| time.mean);
        order.sort_by(|&a, &b| time(a).total_cmp(&time(b)));
        for &choice in &order {
            let is_beaten = (0..all.len()).any(|other| beats(&measures, &all[other], &all[choice]));
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
        Some(rows.exhibit(
            "Trade-offs: Pareto is yes where no other is as good in all and better in one",
            columns,
            figures.collect(),
        ))
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
        let settings: Vec<&Places> = self.means.all_settings().into_iter().collect();
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
        for value in &values {
            let figures: Vec<Option<Interval>> = self
                .measures()
                .into_iter()
                .map(|measure| {
                    let pairs = with.iter().filter(|&&it| value_of(it).as_ref() == Some(value));
                    let of_pairs: Vec<Interval> = pairs
                        .filter_map(|&choice| {
                            let base = like(choice, &first)?;
                            self.means.ratio(settings.iter().copied(), (choice, base), measure)
                        })
                        .collect();
                    let count = of_pairs.len().max(1) as f64;
                    let half_width = of_pairs.iter().map(|it| it.half_width).sum::<f64>() / count;
                    let ratios = of_pairs.iter().map(|it| it.mean);
                    let mean = geometric_mean(ratios)?;
                    Some(Interval { mean, half_width })
                })
                .collect();
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
        Some(Exhibit {
            remarks: vec![format!("From least to greatest it moves {moved}.")],
            ..exhibit
        })
    }

    /// Which policy is best where: by setting, and how often by each value of an axis.
    fn regions(&self) -> Exhibit {
        let shown: Vec<usize> = (0..self.means.settings.len())
            .filter(|&axis| self.means.settings[axis].1.len() > 1)
            .collect();
        let mut rows = Rows::default();
        let mut wins: Vec<(String, usize)> = Vec::new();
        let settings = self.means.all_settings();
        for setting in &settings {
            let time = |choice: usize| self.means.get(setting, choice, TIME);
            let mut order: Vec<(usize, Interval)> = (0..self.means.choices.len())
                .filter_map(|choice| Some((choice, time(choice)?)))
                .collect();
            order.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
            let Some(&(winner, best)) = order.first() else { continue };
            // Others of the same policy are no rivals.
            let policy = &self.means.choices[winner].policy;
            let rival =
                order.iter().find(|(other, _)| self.means.choices[*other].policy != *policy);
            let ratio =
                rival.and_then(|(other, _)| self.means.ratio([*setting], (*other, winner), TIME));
            let is_told = ratio.is_none_or(|it| it.mean - 1.0 > it.half_width.max(EQUAL));
            let said = if is_told { policy.clone() } else { "not told apart".to_owned() };
            match wins.iter_mut().find(|(name, _)| *name == said) {
                Some((_, count)) => *count += 1,
                None => wins.push((said.clone(), 1)),
            }
            if rows.rows.len() >= MOST_ROWS {
                continue;
            }
            let value = |axis: usize| {
                let values = &self.means.settings[axis].1;
                setting[axis].map_or("-", |place| values[place as usize].as_str())
            };
            let mut names: Vec<Cell> = shown.iter().map(|&axis| value(axis).into()).collect();
            names.push(said.into());
            names.push(self.label(winner).into());
            let ahead = ratio.map(|it| Interval {
                mean: (it.mean - 1.0) * 100.0,
                half_width: it.half_width * 100.0,
            });
            names.push(rival.map_or("-".into(), |(other, _)| self.label(*other).into()));
            rows.push(names, [Some(best), ahead]);
        }
        wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all = settings.len();
        let won: Vec<String> =
            wins.iter().map(|(name, count)| format!("{name} in {count} of {all}")).collect();
        let columns = shown.iter().map(|&axis| self.means.settings[axis].0.clone());
        let more = ["best policy", "with", "next", "time", "ahead by"].map(str::to_owned);
        let mut exhibit =
            rows.exhibit("Which policy is best where, in time", columns.chain(more), Vec::new());
        let units = exhibit.columns.len();
        exhibit.columns[units - 2].unit = "s";
        exhibit.columns[units - 1].unit = "%";
        exhibit.remarks.push(format!("Best in time: {}.", won.join(", ")));
        if all > MOST_ROWS {
            exhibit.remarks.push(format!("The first {MOST_ROWS} of {all} settings are listed."));
        }
        exhibit
    }
}

/// Times nearer than this part are equal. Ours.
const EQUAL: f64 = 0.005;

/// True if `a` is as good as `b` in all measures, as far as intervals tell, and better in one.
fn beats(measures: &[usize], a: &[Option<Interval>], b: &[Option<Interval>]) -> bool {
    let mut is_better = false;
    for ((&measure, a), b) in measures.iter().zip(a).zip(b) {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let sign = if NAMES[measure].1 { 1.0 } else { -1.0 };
        let behind = sign * (b.mean - a.mean);
        let within = a.half_width + b.half_width;
        if behind < -within {
            return false;
        }
        is_better |= behind > within;
    }
    is_better
}
