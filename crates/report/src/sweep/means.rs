//! Results of a sweep, put together: policies beside each other where all else is equal, seed by
//! seed. A ratio is of runs with the same seed, so its interval is of what differs, and not of what
//! all of them share.

use std::collections::BTreeSet;

use evenkeel_metrics::Interval;
use evenkeel_sweep::{MEASURES, Results, Value};

/// The axis of seeds: its values are put together.
const SEED: &str = "seed";

/// Values on some axes, by their places.
pub(super) type Places = Vec<Option<u32>>;

/// Measures of a run, after its seed.
type OfSeed = (Option<u32>, [Option<f64>; MEASURES.len()]);

/// A ratio over some settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub mean: f64,
    /// How far the 95 % interval reaches above the mean; 0 where seeds do not tell.
    pub within: f64,
    /// How many settings it is of.
    pub settings: usize,
}

/// All results, seeds put together.
pub(super) struct Means {
    /// Axes of the setting: all but policy, knobs and seed; names and values.
    pub axes: Vec<(String, Vec<String>)>,
    /// True for each of them whose values are all numbers.
    pub numeric: Vec<bool>,
    /// Policies with knobs, by name.
    pub choices: Vec<Choice>,
    /// All settings, in order.
    pub settings: Vec<Places>,
    /// By setting and choice the runs that ended well, in the order of seeds.
    runs: Vec<Vec<Vec<OfSeed>>>,
    /// The most runs that a setting has under one choice.
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
        let all = |of: &[usize]| -> Vec<Places> {
            let all = results.cases.iter().map(|case| part(&case.places, of));
            all.collect::<BTreeSet<Places>>().into_iter().collect()
        };
        let (found, settings) = (all(&of_choice), all(&of_setting));
        let seed = axes.iter().position(|(axis, _)| *axis == SEED);
        let mut runs = vec![vec![Vec::new(); found.len()]; settings.len()];
        let mut failed = 0;
        for case in &results.cases {
            let choice = found.binary_search(&part(&case.places, &of_choice));
            let setting = settings.binary_search(&part(&case.places, &of_setting));
            let (Ok(choice), Ok(setting), false) = (choice, setting, case.has_failed) else {
                failed += usize::from(case.has_failed);
                continue;
            };
            let seed = seed.and_then(|axis| case.places[axis]);
            runs[setting][choice].push((seed, case.measures));
        }
        for runs in runs.iter_mut().flatten() {
            runs.sort_by_key(|(seed, _)| *seed);
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
            axes: of_setting.iter().map(|&axis| (axes[axis].0.to_owned(), texts(axis))).collect(),
            numeric: of_setting.iter().map(|&axis| axes[axis].1.iter().all(is_number)).collect(),
            choices: found.iter().map(choice).collect(),
            seeds: runs.iter().flatten().map(Vec::len).max().unwrap_or(0),
            settings,
            runs,
            failed,
        }
    }

    /// True if no case has ended well.
    pub fn is_empty(&self) -> bool {
        self.seeds == 0
    }

    /// Settings by the place of their value on an axis.
    pub fn by_value(&self, axis: usize) -> Vec<Vec<usize>> {
        let mut by_value = vec![Vec::new(); self.axes[axis].1.len()];
        for (number, setting) in self.settings.iter().enumerate() {
            if let Some(place) = setting[axis] {
                by_value[place as usize].push(number);
            }
        }
        by_value
    }

    /// A measure of a setting under a choice, in the mean over seeds; `None` where it has fewer
    /// runs than others there.
    pub fn get(&self, setting: usize, choice: usize, measure: usize) -> Option<f64> {
        let most = self.runs[setting].iter().map(Vec::len).max().unwrap_or(0);
        let runs = Some(&self.runs[setting][choice]).filter(|runs| runs.len() == most)?;
        let all: Option<Vec<f64>> = runs.iter().map(|(_, run)| run[measure]).collect();
        Some(Interval::of(&all.filter(|all| !all.is_empty())?).mean)
    }

    /// True if any case has a measure.
    pub fn has(&self, measure: usize) -> bool {
        self.runs.iter().flatten().flatten().any(|(_, run)| run[measure].is_some())
    }

    /// The logarithms of one choice's measure over another's in a setting, for each seed that both
    /// have.
    fn logs(
        &self,
        setting: usize,
        pair: (usize, usize),
        measure: usize,
    ) -> Vec<(Option<u32>, f64)> {
        let [here, there] = [pair.0, pair.1].map(|choice| &self.runs[setting][choice]);
        let log = |(seed, run): &OfSeed| {
            let other = there.binary_search_by_key(seed, |(seed, _)| *seed).ok()?;
            let above = run[measure].filter(|value| *value > 0.0)?;
            let below = there[other].1[measure].filter(|value| *value > 0.0)?;
            Some((*seed, (above / below).ln()))
        };
        here.iter().filter_map(log).collect()
    }

    /// The geometric mean over settings and seeds of one choice's measure over another's. It has an
    /// interval where all settings have the same seeds: then each seed gives one such mean, and
    /// these are what chance makes differ. `None` where no setting has both.
    pub fn ratio(&self, settings: &[usize], pair: (usize, usize), measure: usize) -> Option<Ratio> {
        let all: Vec<Vec<(Option<u32>, f64)>> = settings
            .iter()
            .map(|&setting| self.logs(setting, pair, measure))
            .filter(|logs| !logs.is_empty())
            .collect();
        let first = all.first()?;
        let mean = |logs: &[f64]| Interval::of(logs).mean;
        let of_settings: Vec<f64> = all
            .iter()
            .map(|logs| mean(&logs.iter().map(|(_, log)| *log).collect::<Vec<_>>()))
            .collect();
        let has_the_same = |logs: &Vec<(Option<u32>, f64)>| {
            logs.iter().map(|(seed, _)| seed).eq(first.iter().map(|(seed, _)| seed))
        };
        let half_width = if first.len() > 1 && all.iter().all(has_the_same) {
            let of_seed =
                |seed: usize| mean(&all.iter().map(|logs| logs[seed].1).collect::<Vec<_>>());
            Interval::of(&(0..first.len()).map(of_seed).collect::<Vec<_>>()).half_width
        } else {
            0.0
        };
        let mean = mean(&of_settings).exp();
        Some(Ratio { mean, within: mean * half_width.exp_m1(), settings: all.len() })
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
    /// of policies: first of those that have the most settings.
    pub fn best_of_policies(&self, base: usize, measure: usize) -> Vec<usize> {
        let settings: Vec<usize> = (0..self.settings.len()).collect();
        let mut best: Vec<(usize, usize, f64)> = Vec::new();
        for (number, choice) in self.choices.iter().enumerate() {
            let ratio = self.ratio(&settings, (number, base), measure);
            let (of, mean) = ratio.map_or((0, f64::INFINITY), |it| (it.settings, it.mean));
            let is_same = |(other, ..): &&mut (usize, usize, f64)| {
                self.choices[*other].policy == choice.policy
            };
            match best.iter_mut().find(is_same) {
                Some(known) if (of, -mean) > (known.1, -known.2) => *known = (number, of, mean),
                Some(_) => {}
                None => best.push((number, of, mean)),
            }
        }
        best.into_iter().map(|(number, ..)| number).collect()
    }
}
