//! The machine that this runs on, as a machine that can be named.

use evenkeel_linux::here::{self, Here, HereError, Measure};
use evenkeel_machine::Machine;
use evenkeel_machine::discover::SpeedSource;

use crate::error::{Failure, Result, say};
use crate::progress;

/// The name by which commands know the machine that they run on.
pub const HERE: &str = "here";

/// The machine that this runs on, not measured. If its speeds are a guess, a note on stderr says
/// so.
///
/// # Errors
/// There is no machine to be found.
pub fn here() -> Result<Machine> {
    let Here { detected, .. } = find(Measure::No)?;
    if detected.report.kinds.iter().any(|kind| kind.capacity_source == SpeedSource::Assumption) {
        say(
            "note",
            "nothing tells how fast the cores of this machine are: taken as equal; see `evenkeel \
             detect --calibrate`",
        );
    }
    Ok(detected.machine)
}

/// Finds it, and measures its CPUs where that is asked for.
///
/// # Errors
/// There is no machine to be found, or it cannot be measured.
pub fn find(measure: Measure) -> Result<Here> {
    let progress = (measure != Measure::No)
        .then(|| progress::line("measuring how fast each CPU is, up to some 12 s"));
    let found = here::detect(measure);
    progress.inspect(indicatif::ProgressBar::finish_and_clear);
    found.map_err(|error| match error {
        HereError::Calibrate(_) | HereError::Mask(_) => Failure::Failed(error.into()),
        _ => Failure::input(error),
    })
}
