//! `evenkeel show`: finds out what a name stands for, if the command line does not say.

use std::path::Path;

use evenkeel_files::programs;

use super::{machines, policies, this_machine, workloads};
use crate::args::{MADE_FOR, ScaleArgs, ShowArgs, ShowCommand};
use crate::error::{Failure, Result};

/// Names that are at least so similar (Jaro-Winkler, 0 to 1) are offered for one that is not there.
const SIMILAR: f64 = 0.8;
/// How many near names are offered.
const OFFERED: usize = 4;
/// Names longer than this resemble nothing: no similarity is computed.
const LONGEST_NAME: usize = 64;

/// What a name may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Machine,
    Workload,
    Policy,
}

impl Sort {
    const ALL: [Self; 3] = [Self::Machine, Self::Workload, Self::Policy];

    /// As `evenkeel show` takes it.
    const fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Workload => "workload",
            Self::Policy => "policy",
        }
    }

    fn names(self) -> Vec<&'static str> {
        match self {
            Self::Machine => {
                evenkeel_files::machines::presets().iter().map(|preset| preset.name).collect()
            }
            Self::Workload => programs::list().iter().map(|info| info.name).collect(),
            Self::Policy => policies::names().collect(),
        }
    }

    /// True if something built in has this name, in its own case or in any.
    fn has(self, name: &str, in_any_case: bool) -> bool {
        let head =
            if self == Self::Workload { name.split(':').next().unwrap_or(name) } else { name };
        let is_it = |known: &str| {
            if in_any_case { known.eq_ignore_ascii_case(head) } else { known == head }
        };
        self.names().into_iter().any(is_it)
            || self == Self::Machine && name == this_machine::HERE
            || self == Self::Policy && policies::is_combination(name)
    }

    fn show(self, name: &str, as_json: bool) -> Result {
        match self {
            Self::Machine => machines::show(name, None, as_json),
            Self::Workload => workloads::show(name, MADE_FOR, &ScaleArgs::default(), as_json),
            Self::Policy => policies::show(name, as_json),
        }
    }
}

/// Describes what is named.
///
/// # Errors
/// It is not there, or may be several things.
pub fn run(args: &ShowArgs) -> Result {
    match (&args.what, &args.name) {
        (Some(ShowCommand::Machine { machine, cores, json }), _) => {
            machines::show(machine, cores.as_deref(), *json)
        }
        (Some(ShowCommand::Workload { workload, machine, scale, export: true, .. }), _) => {
            workloads::export(workload, machine, scale)
        }
        (Some(ShowCommand::Workload { workload, machine, scale, json, .. }), _) => {
            workloads::show(workload, machine, scale, *json)
        }
        (Some(ShowCommand::Policy { policy, json }), _) => policies::show(policy, *json),
        (None, Some(name)) => named(name, args.json),
        (None, None) => Err(Failure::usage(
            "nothing to show: give the name of a machine, a workload or a policy",
        )),
    }
}

fn named(name: &str, as_json: bool) -> Result {
    for in_any_case in [false, true] {
        let found: Vec<Sort> =
            Sort::ALL.into_iter().filter(|sort| sort.has(name, in_any_case)).collect();
        match found[..] {
            [] => {}
            [one] => return one.show(name, as_json),
            _ => {
                let each = found.iter().map(|sort| format!("evenkeel show {} {name}", sort.word()));
                return Err(Failure::usage(format!(
                    "'{name}' is several things: expected {}",
                    each.collect::<Vec<_>>().join(" or ")
                )));
            }
        }
        // A file takes precedence over a name in another case.
        if Path::new(name).try_exists().unwrap_or(true) {
            return file(name, as_json);
        }
    }
    Err(Failure::usage(format!(
        "nothing is named '{name}'{}; `evenkeel machines`, `workloads` and `policies` list what is \
         built in",
        hint(name)
    )))
}

/// Shows a file: as a workload if it is one, else as a machine.
fn file(name: &str, as_json: bool) -> Result {
    let machine = machines::load(MADE_FOR)?;
    match workloads::load(name, &ScaleArgs::default(), &machine) {
        Err(Failure::Usage(error)) if is_no_workload(&error) => Sort::Machine.show(name, as_json),
        Err(error) => Err(error),
        Ok(_) => Sort::Workload.show(name, as_json),
    }
}

fn is_no_workload(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(programs::WorkloadError::Format { .. }))
}

/// The names of all sorts that are nearest to one that is not there.
fn hint(name: &str) -> String {
    if name.len() > LONGEST_NAME {
        return String::new();
    }
    let lower = name.to_ascii_lowercase();
    let mut near: Vec<(f64, String)> = Vec::new();
    for sort in Sort::ALL {
        for known in sort.names() {
            let similarity = strsim::jaro_winkler(&lower, &known.to_ascii_lowercase());
            near.extend(
                (similarity >= SIMILAR).then(|| (similarity, format!("{} {known}", sort.word()))),
            );
        }
    }
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names: Vec<String> = near.into_iter().take(OFFERED).map(|(_, name)| name).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" (did you mean {}?)", names.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_of_all_sorts_are_offered() {
        assert!(hint("pixl6").contains("did you mean machine pixel6"), "{}", hint("pixl6"));
        assert!(hint("Feret").contains("workload ferret"), "{}", hint("Feret"));
        assert!(hint("pined").contains("policy pinned"), "{}", hint("pined"));
        assert_eq!(hint("zzzzzz"), "");
    }
}
