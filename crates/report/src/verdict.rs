//! The result of a comparison of policies in one sentence: the last line of `compare`, the first of
//! a page.

use std::collections::BTreeMap;

use evenkeel_metrics::{Mean, Record, Relative, relative};

use crate::labels;

/// The default baseline, if it is among the policies.
pub const BASELINE: &str = "linux";

/// Ratios that are nearer to 1 than this count as equal. Ours.
const TELLING: f64 = 0.005;

/// What a ratio must differ from 1 by to count: beyond the intervals of means over seeds, too.
fn telling(mean: Mean) -> f64 {
    mean.doubt.max(TELLING)
}

/// What two policies must differ by to be told apart; 0 of single runs.
fn between(a: Mean, b: Mean) -> f64 {
    a.ratio * a.own + b.ratio * b.own
}

/// The default baseline: [`BASELINE`] if it is among the policies, else the first.
pub fn default_baseline(records: &[Record]) -> Option<String> {
    let labels = labels::policies(records);
    let among = |wanted: &str| named(records, &labels, wanted).map(str::to_owned);
    among(BASELINE).or_else(|| labels.first().cloned())
}

/// The label that equals `wanted`, or else the first label of a policy of that name.
fn named<'a>(records: &[Record], labels: &'a [String], wanted: &str) -> Option<&'a str> {
    let by_label = labels.iter().find(|label| *label == wanted);
    let by_name = || {
        records
            .iter()
            .zip(labels)
            .find(|(record, _)| record.policy == wanted)
            .map(|(_, label)| label)
    };
    by_label.or_else(by_name).map(String::as_str)
}

/// The result of a comparison: `acfs: 12 % less time than linux, 4 % more energy, fairest.`
///
/// `baseline` is a label or the name of a policy; without one it is [`default_baseline`]. The
/// sentence names the policy that takes the least time of those that ran everything, or that has
/// the least wake-up latency if a set duration ended every run. If no policy is better than the
/// baseline by that measure, it names one that is better by another, or says that none is. `None`:
/// there are no two policies to compare.
pub fn verdict(records: &[Record], baseline: Option<&str>) -> Option<String> {
    let labels = labels::policies(records);
    let default = default_baseline(records);
    let base = baseline.and_then(|wanted| named(records, &labels, wanted)).or(default.as_deref())?;
    let runs = by_policy(records, &labels);
    let (_, base_runs) = runs.iter().find(|(label, _)| *label == base)?;
    let others: Vec<Compared<'_>> = runs
        .iter()
        .filter(|(label, _)| *label != base)
        .map(|(label, runs)| Compared { label, of: relative(pairs(runs, base_runs)) })
        .collect();
    if others.is_empty() {
        return None;
    }
    let workloads = others.iter().map(|other| other.of.workloads).max().unwrap_or(0);
    let failed = failures(&runs);
    if workloads == 0 {
        return Some(format!("No policy can be set beside {base}{failed}."));
    }
    // A mean over fewer workloads, because others failed, is not compared with one over all.
    let whole: Vec<Compared<'_>> =
        others.into_iter().filter(|other| other.of.workloads == workloads).collect();
    Some(Contest { base, whole, workloads }.sentence() + &failed + ".")
}

/// A policy relative to the baseline.
struct Compared<'a> {
    label: &'a str,
    of: Relative,
}

type Key<'a> = (&'a str, &'a str, &'a [String], u64);

/// The runs of each policy, by what was run, policies in order of first appearance.
fn by_policy<'a>(
    records: &'a [Record],
    labels: &'a [String],
) -> Vec<(&'a str, BTreeMap<Key<'a>, &'a Record>)> {
    let mut all: Vec<(&str, BTreeMap<Key<'_>, &Record>)> =
        labels::distinct(labels.iter().map(String::as_str))
            .into_iter()
            .map(|label| (label, BTreeMap::new()))
            .collect();
    for (record, label) in records.iter().zip(labels) {
        let key = (
            record.machine.as_str(),
            record.cores.as_str(),
            record.workloads.as_slice(),
            record.seed,
        );
        if let Some((_, runs)) = all.iter_mut().find(|(known, _)| known == label) {
            runs.entry(key).or_insert(record);
        }
    }
    all
}

fn pairs<'a>(
    policy: &BTreeMap<Key<'a>, &'a Record>,
    baseline: &BTreeMap<Key<'a>, &'a Record>,
) -> Vec<(&'a Record, &'a Record)> {
    policy.iter().filter_map(|(key, here)| Some((*here, *baseline.get(key)?))).collect()
}

/// The policies that failed, and on how many runs, after a semicolon; empty if none did.
fn failures(runs: &[(&str, BTreeMap<Key<'_>, &Record>)]) -> String {
    let failed = runs.iter().filter_map(|(label, runs)| {
        let failed = runs.values().filter(|run| run.error.is_some()).count();
        (failed > 0).then(|| format!("; {label} failed on {failed} of {}", runs.len()))
    });
    failed.collect()
}

/// A measure that is compared. Less is better of each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Time,
    Wakeup,
    Energy,
    Unfairness,
}

impl Measure {
    /// The order in which measures are tried until a policy is better by one.
    const ALL: [Self; 4] = [Self::Time, Self::Wakeup, Self::Energy, Self::Unfairness];

    fn of(self, relative: &Relative) -> Option<Mean> {
        match self {
            Self::Time => relative.time,
            Self::Wakeup => relative.wake_p99,
            Self::Energy => relative.energy,
            Self::Unfairness => relative.unfairness,
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Wakeup => "wake-up latency",
            Self::Energy => "energy",
            Self::Unfairness => "unfairness",
        }
    }
}

/// Policies that ran all that the baseline ran.
struct Contest<'a> {
    base: &'a str,
    whole: Vec<Compared<'a>>,
    workloads: usize,
}

impl Contest<'_> {
    /// The sentence without its full stop.
    fn sentence(&self) -> String {
        let has =
            |measure: &Measure| self.whole.iter().any(|other| measure.of(&other.of).is_some());
        let measures: Vec<Measure> = Measure::ALL.into_iter().filter(has).collect();
        let base = self.base;
        let differs = |measure: &Measure| {
            let mut all = self.whole.iter().filter_map(|other| measure.of(&other.of));
            all.any(|mean| (mean.ratio - 1.0).abs() > telling(mean))
        };
        if !measures.iter().any(differs) {
            let nouns: Vec<&str> = measures.iter().map(|measure| measure.noun()).collect();
            let all = measures
                .iter()
                .flat_map(|measure| self.whole.iter().filter_map(|other| measure.of(&other.of)));
            let beyond = if all.into_iter().any(|mean| mean.doubt > TELLING) {
                "its 95 % interval".to_owned()
            } else {
                format!("{} %", TELLING * 100.0)
            };
            return format!(
                "No policy differs from {base} by more than {beyond} in {}",
                either(&nouns)
            );
        }
        let better = |measure: &Measure| {
            let mut all = self.whole.iter().filter_map(|other| measure.of(&other.of));
            all.any(|mean| mean.ratio < 1.0 - telling(mean))
        };
        let Some(by) = measures.iter().position(better) else {
            let nouns: Vec<&str> = measures.iter().map(|measure| measure.noun()).collect();
            return format!("No policy has less {} than {base}{}", either(&nouns), self.over());
        };
        let not_by: Vec<&str> = measures[..by].iter().map(|measure| measure.noun()).collect();
        let head = if not_by.is_empty() {
            String::new()
        } else {
            format!("No policy has less {} than {base}; ", either(&not_by))
        };
        let (winner, ties) = self.winner(measures[by]);
        let mut clauses = vec![self.clause(measures[by], winner, true)];
        let rest = measures.iter().filter(|measure| **measure != measures[by]);
        clauses.extend(rest.map(|measure| self.clause(*measure, winner, false)));
        clauses.retain(|clause| !clause.is_empty());
        format!("{head}{}{ties}: {}{}", winner.label, clauses.join(", "), self.over())
    }

    /// The best policy by `measure` of those that are better than the baseline, of equals the one
    /// with the least energy, and which others equal it.
    fn winner(&self, measure: Measure) -> (&Compared<'_>, String) {
        let ratio = |other: &Compared<'_>, measure: Measure| {
            measure.of(&other.of).map_or(f64::MAX, |mean| mean.ratio)
        };
        let is_better = |other: &&Compared<'_>| {
            measure.of(&other.of).is_some_and(|mean| mean.ratio < 1.0 - telling(mean))
        };
        let better = || self.whole.iter().filter(is_better);
        let first = better().min_by(|a, b| ratio(a, measure).total_cmp(&ratio(b, measure)));
        let first = first.and_then(|first| measure.of(&first.of));
        let is_equal = |other: &&Compared<'_>| {
            let both = measure.of(&other.of).zip(first);
            both.is_some_and(|(mean, first)| {
                mean.ratio - first.ratio <= between(mean, first).max(TELLING * first.ratio)
            })
        };
        let mut equals: Vec<&Compared<'_>> = better().filter(is_equal).collect();
        equals.sort_by(|a, b| {
            let by = |of: Measure| ratio(a, of).total_cmp(&ratio(b, of));
            by(Measure::Energy).then(by(measure))
        });
        let ties: Vec<&str> = equals[1..].iter().map(|other| other.label).collect();
        let ties = if ties.is_empty() {
            String::new()
        } else {
            format!(" (and, as good, {})", ties.join(", "))
        };
        (equals[0], ties)
    }

    /// The winner's measure relative to the baseline; empty if it has none, or if the difference
    /// does not count.
    fn clause(&self, measure: Measure, winner: &Compared<'_>, first: bool) -> String {
        let Some(mean) = measure.of(&winner.of) else { return String::new() };
        let than = if first { format!(" than {}", self.base) } else { String::new() };
        let on = self.on(measure, mean);
        let telling = telling(mean);
        if measure == Measure::Unfairness {
            let is_ahead = |other: &Compared<'_>| {
                let there = measure.of(&other.of).filter(|_| other.label != winner.label);
                there.is_none_or(|there| there.ratio - mean.ratio >= between(there, mean))
            };
            let fairest = self.whole.iter().all(is_ahead) && mean.ratio < 1.0 - telling;
            return match mean.ratio {
                _ if fairest => format!("fairest{on}"),
                ratio if ratio > 1.0 + telling => format!("less fair{than}{on}"),
                ratio if ratio < 1.0 - telling => format!("fairer{than}{on}"),
                _ => String::new(),
            };
        }
        let noun = measure.noun();
        match mean.ratio {
            ratio if ratio < 1.0 - telling => {
                format!("{} % less {noun}{than}{on}", percent(1.0 - ratio))
            }
            ratio if ratio >= 2.0 => format!("{} times the {noun}{on}", factor(ratio)),
            ratio if ratio > 1.0 + telling => {
                format!("{} % more {noun}{than}{on}", percent(ratio - 1.0))
            }
            _ => format!("the same {noun}{on}"),
        }
    }

    /// The workloads that a measure covers, if not all.
    fn on(&self, measure: Measure, mean: Mean) -> String {
        if mean.workloads == self.workloads {
            return String::new();
        }
        let which = match measure {
            Measure::Unfairness => "with several applications",
            Measure::Wakeup => "of a set duration",
            Measure::Time | Measure::Energy => "that have it",
        };
        format!(" on the {} {which}", mean.workloads)
    }

    fn over(&self) -> String {
        if self.workloads == 1 {
            String::new()
        } else {
            format!(" (geometric means of {} workloads)", self.workloads)
        }
    }
}

/// `a`, `a or b`, `a, b or c`.
fn either(nouns: &[&str]) -> String {
    match nouns {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// Two significant figures, and no decimal that is 0.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        ..9.95 => format!("{percent:.1}").trim_end_matches(".0").to_owned(),
        // Less than 100 must not read as 100.
        99.5..100.0 => "over 99".to_owned(),
        _ => format!("{percent:.0}"),
    }
}

fn factor(ratio: f64) -> String {
    if ratio < 9.95 {
        format!("{ratio:.1}").trim_end_matches(".0").to_owned()
    } else {
        format!("{ratio:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn less_than_all_is_not_said_to_be_all() {
        let shares = [0.0123, 0.12, 0.994, 0.9975, 1.0, 1.5];
        assert_eq!(shares.map(percent), ["1.2", "12", "99", "over 99", "100", "150"]);
    }
}
