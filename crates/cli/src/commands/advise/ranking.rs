//! Places by each measure, ties, and the Pareto set.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use evenkeel_metrics::Record;
use serde::Serialize;

use crate::args::advise::Measure;

/// A policy, as it was asked for, and the record of its run.
pub struct Run {
    pub label: String,
    pub record: Record,
}

impl Measure {
    /// In the order of the table, and of ties.
    pub const ALL: [Self; 4] = [Self::Time, Self::Energy, Self::Edp, Self::Unfairness];

    /// The measures of the Pareto set. The energy-delay product follows from the first two: a
    /// policy that is worse in it is worse in one of them.
    const PARETO: [Self; 3] = [Self::Time, Self::Energy, Self::Unfairness];

    /// The flag's word.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Energy => "energy",
            Self::Edp => "edp",
            Self::Unfairness => "unfairness",
        }
    }

    /// Name and unit.
    pub fn title(self) -> String {
        match self {
            Self::Time => "time s",
            Self::Energy => "energy J",
            Self::Edp => "EDP J s",
            Self::Unfairness => "unfairness",
        }
        .to_owned()
    }

    /// A record's value; `None` if the record has no such measure.
    pub fn value(self, record: &Record) -> Option<f64> {
        match self {
            Self::Time => Some(record.makespan_s),
            Self::Energy => record.energy_j,
            Self::Edp => record.edp_js,
            // With one application there is nothing to be unfair to.
            Self::Unfairness => record.unfairness.filter(|_| record.apps.len() > 1),
        }
    }

    /// Half the width of the value's 95 % interval; 0 of a single run.
    fn interval(self, record: &Record) -> f64 {
        record.interval(match self {
            Self::Time => "makespan_s",
            Self::Energy => "energy_j",
            Self::Edp => "edp_js",
            Self::Unfairness => "unfairness",
        })
    }

    /// The order of two records, as far as their intervals tell; `None`: one has no such measure.
    pub fn order(self, a: &Record, b: &Record) -> Option<Ordering> {
        let (one, other) = (self.value(a)?, self.value(b)?);
        let within = self.interval(a) + self.interval(b);
        if within > 0.0 && (one - other).abs() <= within {
            return Some(Ordering::Equal);
        }
        Some(one.total_cmp(&other))
    }
}

/// A value, and its place among all: 1 and one more for each that is better, so that equals share a
/// place. Means over seeds whose intervals overlap are equals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Place {
    pub value: f64,
    /// Half the width of its 95 % interval; `None`: it is of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<f64>,
    pub rank: usize,
}

/// One policy in the ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    pub policy: String,
    /// Its place by the measure that is ranked by.
    pub rank: usize,
    pub pareto: bool,
    #[serde(flatten)]
    places: BTreeMap<Measure, Place>,
    /// Which run it is.
    #[serde(skip)]
    pub run: usize,
}

impl Ranked {
    /// Its place by a measure, if it has that.
    pub fn place(&self, measure: Measure) -> Option<Place> {
        self.places.get(&measure).copied()
    }
}

/// Ranks the runs that did not fail, the best by `measure` first; equals by the other measures,
/// then in the order given.
pub fn rank(runs: &[Run], measure: Measure) -> Vec<Ranked> {
    let done: Vec<(usize, &Run)> =
        runs.iter().enumerate().filter(|(_, run)| run.record.error.is_none()).collect();
    let place = |measure: Measure, record: &Record| {
        let value = measure.value(record)?;
        let is_better = |(_, other): &&(usize, &Run)| {
            measure.order(&other.record, record) == Some(Ordering::Less)
        };
        let ci95 = record.seeds.as_ref().map(|_| measure.interval(record));
        Some(Place { value, ci95, rank: 1 + done.iter().filter(is_better).count() })
    };
    let is_in_pareto_set =
        |record: &Record| !done.iter().any(|(_, other)| dominates(&other.record, record));
    let mut ranking: Vec<Ranked> = done
        .iter()
        .map(|&(index, run)| {
            let places: BTreeMap<_, _> = Measure::ALL
                .into_iter()
                .filter_map(|each| Some((each, place(each, &run.record)?)))
                .collect();
            let rank = places.get(&measure).map_or(done.len(), |place| place.rank);
            Ranked {
                policy: run.label.clone(),
                rank,
                pareto: is_in_pareto_set(&run.record),
                places,
                run: index,
            }
        })
        .collect();
    // Runs that are equal in all measures stay in the order given: the sort is stable.
    let value = |ranked: &Ranked, of: Measure| ranked.place(of).map_or(f64::MAX, |it| it.value);
    ranking.sort_by(|a, b| {
        let others = |ranked: &Ranked| {
            Measure::ALL.map(|each| ranked.place(each).map_or(usize::MAX, |place| place.rank))
        };
        let by_rank = a.rank.cmp(&b.rank);
        by_rank
            .then(value(a, measure).total_cmp(&value(b, measure)))
            .then_with(|| others(a).cmp(&others(b)))
    });
    ranking
}

/// True if `a` is as good as `b` in all measures of the Pareto set, and better in one. Of means
/// over seeds it must be told from `b` there; the best mean of a measure is beaten by none.
fn dominates(a: &Record, b: &Record) -> bool {
    let mut better = false;
    for measure in Measure::PARETO {
        let (Some(one), Some(other)) = (measure.value(a), measure.value(b)) else { continue };
        if one > other {
            return false;
        }
        better |= measure.order(a, b) == Some(Ordering::Less);
    }
    better
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A record with only the measures that rank.
    pub fn record(time: f64, energy: Option<f64>, unfairness: Option<f64>) -> Record {
        let app =
            serde_json::json!({ "name": "a", "threads": 1, "completion_s": time, "slowdown": 1.0 });
        let apps = if unfairness.is_some() { vec![app.clone(), app] } else { vec![app] };
        serde_json::from_value(serde_json::json!({
            "schema": "", "machine": "m", "cores": "1big", "policy": "p", "workloads": ["w"], "seed": 1,
            "makespan_s": time, "energy_j": energy, "mean_power_w": null, "edp_js": energy.map(|energy| energy * time),
            "unfairness": unfairness, "asp": null, "stp": null, "antt": null, "migrations": 0, "swaps": 0,
            "context_switches": 0, "apps": apps, "kinds": {}, "wall_s": 0.0,
        }))
        .unwrap()
    }

    /// Runs named a, b, c, …
    pub fn runs(records: impl IntoIterator<Item = Record>) -> Vec<Run> {
        let label = |i: usize| char::from(b'a' + i as u8).to_string();
        records.into_iter().enumerate().map(|(i, record)| Run { label: label(i), record }).collect()
    }

    fn order(ranking: &[Ranked]) -> String {
        ranking.iter().map(|ranked| ranked.policy.as_str()).collect()
    }

    fn pareto(ranking: &[Ranked]) -> String {
        let mut marked: Vec<_> =
            ranking.iter().filter(|it| it.pareto).map(|it| it.policy.clone()).collect();
        marked.sort();
        marked.concat()
    }

    #[test]
    fn less_is_better_and_equals_share_a_place_that_the_next_does_not_take_up() {
        let runs = runs([3.0, 1.0, 3.0, 4.0].map(|time| record(time, None, None)));
        let ranking = rank(&runs, Measure::Time);
        assert_eq!(order(&ranking), "bacd");
        assert_eq!(ranking.iter().map(|ranked| ranked.rank).collect::<Vec<_>>(), [1, 2, 2, 4]);
        assert_eq!(ranking[0].place(Measure::Energy), None);
    }

    #[test]
    fn equals_are_told_apart_by_the_other_measures() {
        let runs = runs([
            record(1.0, Some(9.0), None),
            record(1.0, Some(5.0), None),
            record(2.0, Some(5.0), None),
        ]);
        assert_eq!(order(&rank(&runs, Measure::Time)), "bac");
        assert_eq!(order(&rank(&runs, Measure::Energy)), "bca");
    }

    #[test]
    fn the_pareto_set_has_whom_nobody_beats_in_one_and_matches_in_all() {
        let energy = |time, energy| record(time, Some(energy), None);
        let all = runs([
            energy(1.0, 9.0),
            energy(2.0, 5.0),
            energy(2.0, 6.0),
            energy(3.0, 5.0),
            energy(4.0, 1.0),
        ]);
        assert_eq!(pareto(&rank(&all, Measure::Time)), "abe");
        assert_eq!(pareto(&rank(&all, Measure::Edp)), "abe", "whatever it is ranked by");
        let fair = |time, energy, unfairness| record(time, Some(energy), Some(unfairness));
        let all = runs([
            fair(1.0, 1.0, 2.0),
            fair(2.0, 2.0, 1.5),
            fair(2.0, 2.0, 1.5),
            fair(3.0, 3.0, 1.5),
        ]);
        assert_eq!(pareto(&rank(&all, Measure::Time)), "abc", "two that are equal are both in it");
    }

    #[test]
    fn with_nothing_but_time_the_fastest_are_the_pareto_set() {
        let all = runs([2.0, 1.0, 1.0].map(|time| record(time, None, None)));
        assert_eq!(pareto(&rank(&all, Measure::Time)), "bc");
    }

    #[test]
    fn means_within_each_others_intervals_share_a_place_the_least_of_them_first() {
        let mean = |time: f64, within: f64| {
            let ci95 = [("makespan_s".to_owned(), within)].into_iter().collect();
            let seeds = Some(evenkeel_metrics::SeedsRow { count: 5, ci95 });
            Record { seeds, ..record(time, None, None) }
        };
        let all = runs([mean(3.0, 0.1), mean(2.5, 2.0), mean(2.0, 0.1)]);
        let ranking = rank(&all, Measure::Time);
        assert_eq!(order(&ranking), "cba");
        assert_eq!(ranking.iter().map(|ranked| ranked.rank).collect::<Vec<_>>(), [1, 1, 2]);
        assert_eq!(ranking[1].place(Measure::Time).unwrap().ci95, Some(2.0));
        assert_eq!(pareto(&ranking), "bc", "the least mean is beaten by none");
    }

    #[test]
    fn who_failed_has_no_place_and_beats_nobody() {
        let mut all = runs([0.0, 1.0].map(|time| record(time, None, None)));
        all[0].record.error = Some("deadlock".into());
        let ranking = rank(&all, Measure::Time);
        assert_eq!((order(&ranking).as_str(), ranking[0].rank, ranking[0].pareto), ("b", 1, true));
    }
}
