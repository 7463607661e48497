//! Policies over several workloads: geometric means of what they come to in relation to a baseline.
//!
//! Means of ratios, not ratios of means, so that a long workload counts no more than a short one (Fleming and
//! Wallace, CACM 29(3), 1986).

use crate::measures::geometric_mean;
use crate::record::Record;

/// One policy over all workloads, each measure over those where both it and the baseline have it. `None`: there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relative {
    /// Workloads that count: those on which both this policy and the baseline came to an end.
    pub workloads: usize,
    /// Time of the policy / time of the baseline.
    pub time: Option<f64>,
    /// Energy, likewise.
    pub energy: Option<f64>,
    /// Energy-delay product, likewise.
    pub edp: Option<f64>,
    /// Unfairness, likewise.
    pub unfairness: Option<f64>,
    /// System throughput, likewise; of an application by itself it would only say the time again.
    pub stp: Option<f64>,
}

/// Compares `policy` with `baseline`: runs on the same workloads in the same order. A workload on which either failed
/// counts for neither.
pub fn relative(policy: &[&Record], baseline: &[&Record]) -> Relative {
    let done: Vec<(&Record, &Record)> = policy
        .iter()
        .zip(baseline)
        .filter(|(here, there)| here.error.is_none() && there.error.is_none())
        .map(|(here, there)| (*here, *there))
        .collect();
    let mean = |measure: fn(&Record) -> Option<f64>| -> Option<f64> {
        let of = |record| measure(record).filter(|value| *value > 0.0);
        geometric_mean(done.iter().filter_map(|(here, there)| Some(of(here)? / of(there)?)))
    };
    Relative {
        workloads: done.len(),
        time: mean(|record| Some(record.makespan_s)),
        energy: mean(|record| record.energy_j),
        edp: mean(|record| record.edp_js),
        unfairness: mean(|record| record.unfairness),
        stp: mean(|record| record.stp.filter(|_| record.apps.len() > 1)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evenkeel_machine::Machine;
    use evenkeel_policy::Knobs;

    use super::*;
    use crate::build::Subject;

    fn records(times_s: &[f64]) -> Vec<Record> {
        let machine = Machine::preset("quickia").unwrap();
        let subject = Subject { machine: &machine, policy: "p", knobs: &Knobs::default(), workloads: &[], seed: 1 };
        let record =
            |&makespan_s: &f64| Record { makespan_s, error: None, ..subject.failure(String::new(), Duration::ZERO) };
        times_s.iter().map(record).collect()
    }

    #[test]
    fn a_long_workload_counts_no_more_than_a_short_one() {
        let (here, there) = (records(&[200.0, 1.0]), records(&[100.0, 2.0]));
        let means = relative(&here.iter().collect::<Vec<_>>(), &there.iter().collect::<Vec<_>>());
        assert_eq!(means.workloads, 2);
        assert!((means.time.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(means.energy, None, "quickia has no power model");
    }

    #[test]
    fn a_workload_on_which_one_failed_counts_for_neither() {
        let (mut here, there) = (records(&[3.0, 0.0]), records(&[1.0, 5.0]));
        here[1].error = Some("deadlock".into());
        let means = relative(&here.iter().collect::<Vec<_>>(), &there.iter().collect::<Vec<_>>());
        assert_eq!(means.workloads, 1);
        assert!((means.time.unwrap() - 3.0).abs() < 1e-12);
    }
}
