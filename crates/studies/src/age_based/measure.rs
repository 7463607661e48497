//! What all experiments measure: programs on machines under schedulers.

use std::sync::Arc;

use evenkeel_machine::Machine;
use evenkeel_metrics::measures::geometric_mean;
use evenkeel_metrics::profile;
use evenkeel_sim::Outcome;

use super::programs::{Class, Program};
use crate::{Case, Runs, StudyError};

/// The study's machine.
pub(super) const MACHINE: &str = "amp-1f7s";

/// Size of the run that is profiled.
const PROFILED_SIZE: f64 = 0.1;

/// A scheduler, with its name in tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) policy: &'static str,
    pub(super) knobs: &'static [(&'static str, &'static str)],
    /// True if it gets a profile.
    pub(super) profiled: bool,
}

const fn way(
    name: &'static str,
    policy: &'static str,
    knobs: &'static [(&'static str, &'static str)],
) -> Way {
    Way { name, policy, knobs, profiled: false }
}

pub(super) const LIN: Way = way("lin", "lin", &[]);
pub(super) const SCALED_LOAD: Way = way("scaled-load", "scaled-load", &[]);
pub(super) const RR: Way = way("rr", "rr", &[]);
pub(super) const FCA_AGE: Way = way("fca-age", "fca-age", &[]);
pub(super) const AGE: Way = way("age", "age", &[]);
pub(super) const AGE_PROFILE: Way =
    Way { profiled: true, ..way("age profile", "age", &[("prediction", "profile")]) };
pub(super) const AGE_ORACLE: Way = way("age oracle", "age", &[("prediction", "oracle")]);
pub(super) const SHORTEST: Way = way("age shortest first", "age", &[("order", "shortest")]);
pub(super) const AGE_IW: Way = way("age-iw-age", "age-iw-age", &[]);
pub(super) const BCJT: Way = way("age bcjt", "age", &[("milestones", "bcjt")]);

/// A workload on a machine under a scheduler, with a profile of a smaller run if the scheduler gets
/// one.
pub(super) fn case(
    runs: &Runs,
    workload: &str,
    machine: &Machine,
    way: Way,
) -> Result<Case, StudyError> {
    let mut case = runs.case(machine, runs.load(machine, workload, 1.0)?, way.policy);
    for (knob, value) in way.knobs {
        case = case.with(knob, value);
    }
    if way.profiled {
        let small = runs.load(machine, workload, PROFILED_SIZE)?;
        case.config.profile = Some(Arc::new(profile(machine, &small, &case.config)?));
    }
    Ok(case)
}

/// A run of a program.
pub(super) struct Ran {
    pub(super) program: Program,
    pub(super) machine: &'static str,
    pub(super) way: Way,
    pub(super) outcome: Outcome,
}

/// Programs on machines under schedulers, in this order.
pub(super) fn measure(
    runs: &Runs,
    programs: &[Program],
    machines: &[&'static str],
    ways: &[Way],
) -> Result<Vec<Ran>, StudyError> {
    let mut wanted = Vec::new();
    for &program in programs {
        for &machine in machines {
            wanted.extend(ways.iter().map(|&way| (program, machine, way)));
        }
    }
    runs.each(&wanted, |&(program, machine, way)| {
        let outcome =
            case(runs, &program.workload(), &evenkeel_files::machines::preset(machine)?, way)?
                .carry_out()?;
        Ok(Ran { program, machine, way, outcome })
    })
}

/// Execution times of programs over those on another machine or under another scheduler.
pub(super) struct Relative<'a> {
    pub(super) ran: &'a [Ran],
    /// The runs that count as 1: their machine, or `None` for that of each run, and their
    /// scheduler.
    pub(super) base: (Option<&'static str>, Way),
}

impl Relative<'_> {
    /// The time of one program itself, seconds.
    pub(super) fn time_s(&self, program: Program, machine: &str, way: Way) -> Option<f64> {
        let same = |ran: &&Ran| (ran.program, ran.machine, ran.way) == (program, machine, way);
        self.ran.iter().find(same).map(|ran| ran.outcome.makespan.as_secs_f64())
    }

    /// The relative time of one program.
    pub(super) fn program(&self, program: Program, machine: &str, way: Way) -> Option<f64> {
        let (of, under) = (self.base.0.unwrap_or(machine), self.base.1);
        Some(self.time_s(program, machine, way)? / self.time_s(program, of, under)?)
    }

    /// The geometric mean over the programs of some classes.
    pub(super) fn mean(&self, classes: &[Class], machine: &str, way: Way) -> Option<f64> {
        let here = |ran: &&Ran| {
            classes.contains(&ran.program.class) && (ran.machine, ran.way) == (machine, way)
        };
        let of = self.ran.iter().filter(here).map(|ran| self.program(ran.program, machine, way));
        geometric_mean(of.collect::<Option<Vec<_>>>()?)
    }
}
