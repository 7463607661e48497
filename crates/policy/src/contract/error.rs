//! Reasons why a policy does not start.

/// Reason why a policy does not start on this machine or with these knobs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StartError {
    /// The thresholds overlap: load above one may be below the other.
    #[error("{policy} needs down below up; they are {down} and {up}")]
    Thresholds {
        /// Name of the policy.
        policy: &'static str,
        /// The knob `up`.
        up: f64,
        /// The knob `down`, not less than `up`.
        down: f64,
    },
    /// The machine has no power model.
    #[error(
        "{policy} goes by a power model, and {machine} has none: the power of idle cores, of busy \
         ones and of clusters at every operating point"
    )]
    NoPowerModel {
        /// Name of the policy.
        policy: &'static str,
        /// Name of the machine.
        machine: String,
    },
    /// The machine has cores of one kind.
    #[error("{policy} pairs cores of different kinds; {machine} has one kind only")]
    OneKind {
        /// Name of the policy.
        policy: &'static str,
        /// Name of the machine.
        machine: String,
    },
    /// Ends of critical sections cannot be milestones whose distances are predicted.
    #[error(
        "milestones=bcjt goes with prediction=equal only: profiles and oracles tell distances to \
         barriers, joins and ends, not to the end of a critical section"
    )]
    MilestonesUnpredicted,
    /// The number of slices in a row is not whole.
    #[error("{policy} has a whole number of slices in a row; batch is {batch}")]
    PartOfASlice {
        /// Name of the policy.
        policy: &'static str,
        /// The knob `batch`.
        batch: f64,
    },
}
