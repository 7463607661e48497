//! Policies over several workloads: geometric means of what they come to in relation to a baseline.
//!
//! Means of ratios, not ratios of means, so that a long workload counts no more than a short one (Fleming and
//! Wallace, CACM 29(3), 1986).

use crate::measures::geometric_mean;
use crate::record::Record;

/// One policy over all workloads. `None`: a measure that not every run of it and of the baseline has.
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
    /// System throughput, likewise.
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
        let ratio = |(here, there): &(&Record, &Record)| Some(measure(here)? / measure(there)?);
        let ratios: Vec<f64> = done.iter().map(ratio).collect::<Option<_>>()?;
        geometric_mean(ratios).filter(|mean| mean.is_finite())
    };
    Relative {
        workloads: done.len(),
        time: mean(|record| Some(record.makespan_s)),
        energy: mean(|record| record.energy_j),
        edp: mean(|record| record.edp_js),
        unfairness: mean(|record| record.unfairness),
        stp: mean(|record| record.stp),
    }
}
