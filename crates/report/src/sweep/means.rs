//! Results of a sweep, put together: policies beside each other where all else is equal, seed by
//! seed. A ratio is of runs with the same seed, so its interval is of what differs, and not of what
//! all of them share.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_metrics::{Interval, measures::geometric_mean};
use evenkeel_sweep::{MEASURES, Results, Value};

/// The axis of seeds: its values are put together.
const SEED: &str = "seed";

/// Values on some axes, by their places.
pub(super) type Places = Vec<Option<u32>>;

/// Measures of the runs of a setting under a choice, by seed.
type BySeed = BTreeMap<Option<u32>, [Option<f64>; MEASURES.len()]>;

/// All results, seeds put together.
pub(super) struct Means {
    /// Axes of the setting: all but policy, knobs and seed; names and values.
    pub settings: Vec<(String, Vec<String>)>,
    /// True for each of them whose values are all numbers.
    pub numeric: Vec<bool>,
    /// Policies with knobs, by name.
    pub choices: Vec<Choice>,
    /// By setting and choice.
    pub of: BTreeMap<(Places, usize), BySeed>,
    /// How many seeds there are.
    pub seeds: usize,
    pub failed: usize,
}

/// A policy, and the values of its knobs that are axes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// As the grid has it.
    pub policy: String,
    /// Knob's axis and value, in the order of axes.
    pub knobs: Vec<(String, String)>,
}

impl Choice {
    /// With the knobs.
    pub fn label(&self) -> String {
        let mut label = self.policy.clone();
        for (number, (axis, value)) in self.knobs.iter().enumerate() {
            let knob = axis.split_once('.').map_or(axis.as_str(), |(_, knob)| knob);
            let between = if number > 0 || label.contains(':') { ',' } else { ':' };
            label.push_str(&format!("{between}{knob}={value}"));
        }
        label
    }
}

impl Means {
    /// Of results.
    pub fn new(results: &Results) -> Self {
        let axes: Vec<(&str, &[Value])> = results.axes().collect();
        let is_choice = |axis: &str| axis == "policy" || axis.contains('.');
        let of_setting: Vec<usize> = (0..axes.len())
            .filter(|&axis| !is_choice(axes[axis].0) && axes[axis].0 != SEED)
            .collect();
        let of_choice: Vec<usize> =
            (0..axes.len()).filter(|&axis| is_choice(axes[axis].0)).collect();
        let part = |places: &[Option<u32>], of: &[usize]| -> Places {
            of.iter().map(|&axis| places[axis]).collect()
        };
        let found: BTreeSet<Places> =
            results.cases.iter().map(|case| part(&case.places, &of_choice)).collect();
        let found: Vec<Places> = found.into_iter().collect();
        let seed = axes.iter().position(|(axis, _)| *axis == SEED);
        let mut of: BTreeMap<(Places, usize), BySeed> = BTreeMap::new();
        let mut failed = 0;
        for case in &results.cases {
            if case.has_failed {
                failed += 1;
                continue;
            }
            let choice = found.binary_search(&part(&case.places, &of_choice)).unwrap_or_default();
            let setting = part(&case.places, &of_setting);
            let seed = seed.and_then(|axis| case.places[axis]);
            of.entry((setting, choice)).or_default().insert(seed, case.measures);
        }
        let texts = |axis: usize| axes[axis].1.iter().map(Value::to_string).collect::<Vec<_>>();
        let is_number = |value: &Value| matches!(value, Value::Whole(_) | Value::Number(_));
        let choice = |places: &Places| {
            let mut choice = Choice { policy: String::new(), knobs: Vec::new() };
            for (&axis, place) in of_choice.iter().zip(places) {
                let Some(place) = *place else { continue };
                let (name, value) = (axes[axis].0, axes[axis].1[place as usize].to_string());
                match name {
                    "policy" => choice.policy = value,
                    _ => choice.knobs.push((name.to_owned(), value)),
                }
            }
            choice
        };
        Self {
            settings: of_setting
                .iter()
                .map(|&axis| (axes[axis].0.to_owned(), texts(axis)))
                .collect(),
            numeric: of_setting.iter().map(|&axis| axes[axis].1.iter().all(is_number)).collect(),
            choices: found.iter().map(choice).collect(),
            of,
            seeds: axes
                .iter()
                .find(|(axis, _)| *axis == SEED)
                .map_or(1, |(_, values)| values.len()),
            failed,
        }
    }

    /// All settings.
    pub fn all_settings(&self) -> BTreeSet<&Places> {
        self.of.keys().map(|(setting, _)| setting).collect()
    }

    /// A measure of a setting under a choice: the mean over seeds.
    pub fn get(&self, setting: &Places, choice: usize, measure: usize) -> Option<Interval> {
        let runs = self.of.get(&(setting.clone(), choice))?;
        let all: Option<Vec<f64>> = runs.values().map(|run| run[measure]).collect();
        Some(Interval::of(&all?))
    }

    /// True if any case has a measure.
    pub fn has(&self, measure: usize) -> bool {
        self.of.values().flat_map(BTreeMap::values).any(|run| run[measure].is_some())
    }

    /// Over some settings the geometric mean of one choice's measure over another's, for each seed
    /// that both have; of these the mean. `None` where no setting has both.
    pub fn ratio<'a>(
        &self,
        settings: impl IntoIterator<Item = &'a Places>,
        (choice, base): (usize, usize),
        measure: usize,
    ) -> Option<Interval> {
        let mut of_seeds: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
        for setting in settings {
            let runs = |of: usize| self.of.get(&(setting.clone(), of));
            let Some((here, there)) = runs(choice).zip(runs(base)) else { continue };
            for (seed, run) in here {
                let value = |runs: &BySeed| runs.get(seed)?[measure].filter(|value| *value > 0.0);
                let above = run[measure].filter(|value| *value > 0.0);
                if let Some((a, b)) = above.zip(value(there)) {
                    of_seeds.entry(*seed).or_default().push(a / b);
                }
            }
        }
        let means = of_seeds.values().map(|ratios| geometric_mean(ratios.iter().copied()));
        let means: Vec<f64> = means.collect::<Option<_>>()?;
        (!means.is_empty()).then(|| Interval::of(&means))
    }

    /// The first choice of a policy: the baseline of others.
    pub fn baseline(&self, wanted: Option<&str>) -> Option<usize> {
        let of = |name: &str| self.choices.iter().position(|choice| choice.policy == name);
        match wanted {
            Some(name) => of(name),
            None => of(crate::BASELINE).or(if self.choices.is_empty() { None } else { Some(0) }),
        }
    }

    /// Of each policy the choice of knobs that is best in a measure over all settings, in the order
    /// of policies.
    pub fn best_of_policies(&self, base: usize, measure: usize) -> Vec<usize> {
        let settings = self.all_settings();
        let mut best: Vec<(usize, f64)> = Vec::new();
        for (number, choice) in self.choices.iter().enumerate() {
            let ratio = self.ratio(settings.iter().copied(), (number, base), measure);
            let ratio = ratio.map_or(f64::INFINITY, |ratio| ratio.mean);
            match best.iter_mut().find(|(other, _)| self.choices[*other].policy == choice.policy) {
                Some(known) if ratio < known.1 => *known = (number, ratio),
                Some(_) => {}
                None => best.push((number, ratio)),
            }
        }
        best.into_iter().map(|(number, _)| number).collect()
    }
}
