//! The simulator's prediction for the study's programs on the machine at hand.

use evenkeel_machine::Machine;
use evenkeel_model::Scaling;

use super::super::measure::{NOT_SMALLER, QUICK_SIZE};
use super::{Measured, VERSIONS};
use crate::{Runs, StudyError};

/// Speedups over one slowest core.
pub(super) struct Predicted {
    /// With the ratio of fastest to slowest core that the study has for the program, carried over
    /// to this machine.
    pub by_own_ratio: f64,
    /// With the ratio measured here.
    pub by_measured_ratio: f64,
}

/// Predictions for the programs that were measured, by version in the order of [`VERSIONS`].
pub(super) fn all(
    runs: &Runs,
    machine: &Machine,
    measured: &[Measured],
) -> Result<Vec<[Option<Predicted>; VERSIONS.len()]>, StudyError> {
    let wanted: Vec<(&Measured, Option<f64>)> =
        measured.iter().flat_map(|it| [(it, None), (it, Some(it.ratio().max(1.0)))]).collect();
    let speedups = runs.each(&wanted, |&(it, ratio)| speedups(runs, machine, it, ratio))?;
    let of_program = |both: &[[Option<f64>; VERSIONS.len()]]| {
        std::array::from_fn(|version| {
            let [by_own_ratio, by_measured_ratio] = [both[0][version]?, both[1][version]?];
            Some(Predicted { by_own_ratio, by_measured_ratio })
        })
    };
    Ok(speedups.chunks_exact(2).map(of_program).collect())
}

/// Of each version; `ratio`: of fastest to slowest core, in place of the program's own.
fn speedups(
    runs: &Runs,
    machine: &Machine,
    measured: &Measured,
    ratio: Option<f64>,
) -> Result<[Option<f64>; VERSIONS.len()], StudyError> {
    let program = measured.program;
    let size = if runs.quick && program != NOT_SMALLER { QUICK_SIZE } else { 1.0 };
    let time = |version: &str, part: &Machine| {
        let mut apps = runs.load(part, &format!("{program}:{version}"), size)?;
        let phases = apps.iter_mut().flat_map(|app| &mut app.phases);
        if let Some(ratio) = ratio {
            phases.for_each(|phase| phase.scaling = Scaling::Factor(ratio));
        }
        Ok::<f64, StudyError>(
            runs.case(machine, apps, "pinned").on(part.clone()).record_by_itself()?.makespan_s,
        )
    };
    let one_slow = time("pinned", &machine.one_core(machine.slowest()))?;
    let mut speedups = [None; VERSIONS.len()];
    for (index, version) in VERSIONS.into_iter().enumerate() {
        if measured.speedups[index].is_some() {
            speedups[index] = Some(one_slow / time(version, machine)?);
        }
    }
    Ok(speedups)
}
