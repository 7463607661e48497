//! Policies over several workloads: geometric means of their measures relative to a baseline.
//!
//! Means of ratios, not ratios of means, so that a long workload counts no more than a short one
//! (Fleming and Wallace, CACM 29(3), 1986).

use crate::measures::geometric_mean;
use crate::record::Record;

/// A geometric mean of ratios, and how many workloads it is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Measure of the policy / measure of the baseline.
    pub ratio: f64,
    /// Workloads to which the measure applies and on which both runs ended well.
    pub workloads: usize,
    /// A ratio that is nearer to 1 is not told from it: the intervals of the two, relative to their
    /// means, in the mean over workloads. 0 of single runs.
    pub doubt: f64,
    /// The policy's part of that: what tells it from others than the baseline.
    pub own: f64,
}

/// One policy over all workloads, each measure over those to which it applies. `None`: it applies
/// to none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relative {
    /// Workloads on which the runs of both this policy and the baseline ended well.
    pub workloads: usize,
    /// Time of the policy / time of the baseline; not where a set duration ended both.
    pub time: Option<Mean>,
    /// Energy, likewise; also where a set duration ended both.
    pub energy: Option<Mean>,
    /// Energy-delay product, where the time counts.
    pub edp: Option<Mean>,
    /// Unfairness, of several applications that run together.
    pub unfairness: Option<Mean>,
    /// System throughput, of several applications: with one it equals the inverse of the slowdown.
    pub stp: Option<Mean>,
    /// Wake-up latency that 99 % do not exceed, where a set duration ended both.
    pub wake_p99: Option<Mean>,
}

/// Compares a policy with a baseline by pairs of runs of the same workload, the policy's first. A
/// workload on which either failed counts for neither.
pub fn relative<'a>(pairs: impl IntoIterator<Item = (&'a Record, &'a Record)>) -> Relative {
    let done: Vec<(&Record, &Record)> = pairs
        .into_iter()
        .filter(|(here, there)| here.error.is_none() && there.error.is_none())
        .collect();
    let mean = |path: &str,
                counts: fn(&Record, &Record) -> bool,
                measure: fn(&Record) -> Option<f64>|
     -> Option<Mean> {
        let counted = done.iter().filter(|(here, there)| counts(here, there));
        let (mut ratios, mut doubt, mut own) = (Vec::new(), 0.0, 0.0);
        for (here, there) in counted {
            let Some((a, b)) = measure(here).zip(measure(there)) else { continue };
            let Some(ratio) = ratio(a, b) else { continue };
            let of = |record: &Record, mean: f64| match record.interval(path) {
                0.0 => 0.0,
                interval => interval / mean.abs(),
            };
            ratios.push(ratio);
            own += of(here, a);
            // A policy beside itself is not in doubt.
            doubt += if here == there { 0.0 } else { of(here, a) + of(there, b) };
        }
        let workloads = ratios.len();
        let count = workloads.max(1) as f64;
        Some(Mean {
            ratio: geometric_mean(ratios.iter().copied())?,
            workloads,
            doubt: doubt / count,
            own: own / count,
        })
    };
    let always = |_: &Record, _: &Record| true;
    let timed = |here: &Record, there: &Record| here.is_timed() && there.is_timed();
    let untimed = |here: &Record, there: &Record| !(here.is_timed() && there.is_timed());
    let several = |here: &Record, _: &Record| here.apps.len() > 1;
    Relative {
        workloads: done.len(),
        time: mean("makespan_s", untimed, |record| Some(record.makespan_s)),
        energy: mean("energy_j", always, |record| record.energy_j),
        edp: mean("edp_js", untimed, |record| record.edp_js),
        unfairness: mean("unfairness", several, |record| record.unfairness),
        stp: mean("stp", several, |record| record.stp),
        wake_p99: mean("wakeup_latency_us.p99", timed, |record| {
            record.wakeup_latency_us.as_ref().map(|wake| wake.all.p99)
        }),
    }
}

/// `None` if there is no ratio for a geometric mean. Equal values have the ratio 1, also if they
/// are 0.
fn ratio(here: f64, there: f64) -> Option<f64> {
    match here / there {
        _ if here == there => Some(1.0),
        ratio if ratio > 0.0 && ratio.is_finite() => Some(ratio),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evenkeel_policy::Knobs;

    use super::*;
    use crate::build::Subject;
    use crate::record::AppRow;

    fn app(cut_at_s: Option<f64>) -> AppRow {
        AppRow {
            cut_at_s,
            ..serde_json::from_str(r#"{"name":"a","threads":1,"completion_s":1,"slowdown":1}"#)
                .unwrap()
        }
    }

    fn records(times_s: &[f64]) -> Vec<Record> {
        let machine = evenkeel_files::machines::preset("quickia").unwrap();
        let subject = Subject {
            machine: &machine,
            policy: "p",
            knobs: &Knobs::default(),
            workloads: &[],
            seed: 1,
        };
        let record = |&makespan_s: &f64| Record {
            makespan_s,
            error: None,
            apps: vec![app(None)],
            ..subject.failure(String::new(), Duration::ZERO)
        };
        times_s.iter().map(record).collect()
    }

    fn compared(here: &[Record], there: &[Record]) -> Relative {
        relative(here.iter().zip(there))
    }

    #[test]
    fn a_long_workload_counts_no_more_than_a_short_one() {
        let means = compared(&records(&[200.0, 1.0]), &records(&[100.0, 2.0]));
        let time = means.time.unwrap();
        assert_eq!((means.workloads, time.workloads), (2, 2));
        assert!((time.ratio - 1.0).abs() < 1e-12);
        assert_eq!(means.energy, None, "quickia has no power model");
    }

    #[test]
    fn a_workload_on_which_one_failed_counts_for_neither() {
        let (mut here, there) = (records(&[3.0, 0.0]), records(&[1.0, 5.0]));
        here[1].error = Some("deadlock".into());
        let time = compared(&here, &there).time.unwrap();
        assert_eq!(time.workloads, 1);
        assert!((time.ratio - 3.0).abs() < 1e-12);
    }

    #[test]
    fn what_weighs_applications_is_of_those_workloads_that_have_several() {
        let (mut here, mut there) = (records(&[1.0, 1.0]), records(&[1.0, 1.0]));
        for (record, unfairness) in [(&mut here[1], 1.5), (&mut there[1], 3.0)] {
            record.apps.push(app(None));
            (record.unfairness, record.stp) = (Some(unfairness), Some(1.0));
        }
        (here[0].stp, there[0].stp) = (Some(9.0), Some(1.0));
        let means = compared(&here, &there);
        assert_eq!(means.unfairness, Some(Mean { ratio: 0.5, workloads: 1, doubt: 0.0, own: 0.0 }));
        assert_eq!(means.stp, Some(Mean { ratio: 1.0, workloads: 1, doubt: 0.0, own: 0.0 }));
        assert_eq!(means.time.unwrap().workloads, 2);
    }

    #[test]
    fn a_run_that_its_duration_ended_says_nothing_by_its_time_unless_another_was_done_before() {
        let (mut here, mut there) = (records(&[10.0, 9.0]), records(&[10.0, 10.0]));
        for record in here[..1].iter_mut().chain(&mut there) {
            record.apps = vec![app(Some(10.0))];
        }
        let time = compared(&here, &there).time.unwrap();
        assert_eq!(time.workloads, 1);
        assert!((time.ratio - 0.9).abs() < 1e-12);
        assert_eq!(compared(&here[..1], &there[..1]).time, None);
    }
}
