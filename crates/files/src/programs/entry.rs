//! A built-in workload as the registry has it.

use super::args::Args;
use super::build::Context;
use super::error::WorkloadError;
use evenkeel_model::Application;

/// The description of a built-in workload, as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadInfo {
    /// Name, as in `-w name`.
    pub name: &'static str,
    /// One line of description.
    pub summary: String,
    /// Program, paper or system that it comes from.
    pub source: &'static str,
    /// Shapes, the default first; empty where there is only one.
    pub shapes: &'static [&'static str],
    /// Knobs.
    pub knobs: &'static [KnobInfo],
}

/// A knob of a built-in workload, as in `-w name:knob=value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnobInfo {
    /// Name.
    pub name: &'static str,
    /// Its default value.
    pub default: &'static str,
    /// Its effect, with its unit or its words.
    pub meaning: &'static str,
}

/// A built-in workload: its description and its builder.
pub(super) struct Entry {
    pub(super) info: WorkloadInfo,
    pub(super) build: Build,
}

/// Makes the applications of a built-in workload.
pub(super) type Build = fn(&Args, &Context) -> Result<Vec<Application>, WorkloadError>;
