//! All policies by name: summary, source, knobs and constructor.

use crate::contract::{Knob, KnobError, Knobs, Policy};
pub use crate::entry::{Entry, Trait};
use crate::os;
use crate::os::combination::Choices;

/// A policy that does not exist, or knobs that do not fit it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MakeError {
    /// No such policy.
    #[error("no policy '{name}'{hint}; `evenkeel policies` lists them")]
    Unknown {
        /// As asked for.
        name: String,
        /// ` (did you mean …?)`, the level that the name belongs to, or nothing.
        hint: String,
    },
    /// Knobs.
    #[error(transparent)]
    Knobs(#[from] KnobError),
}

/// All policies with names of their own, in the order in which `evenkeel policies` lists them.
pub static ENTRIES: &[Entry] = &[
    // Baselines.
    os::pinned::ENTRY,
    os::cfs_unaware::ENTRY,
    os::linux::ENTRY,
    os::gts::ENTRY,
    os::eas::ENTRY,
    os::cs::ENTRY,
    os::iks::ENTRY,
    // Speedup and fairness.
    os::round_robin::ENTRY,
    os::hsp::ENTRY,
    os::acfs::ENTRY,
    os::acfs::STATIC_ENTRY,
    os::a_dwrr::ENTRY,
    os::prop_sp::ENTRY,
    os::eqp::ENTRY,
    os::opt_unfairness::ENTRY,
    // Load.
    os::bfs::ENTRY,
    os::mclas::ENTRY,
    // Threads of one program: assignment, wake-up, balance.
    os::combination::LIN,
    os::combination::SCALED_LOAD,
    os::combination::RR,
    os::combination::FCA_AGE,
    os::combination::AGE,
];

/// Least similarity (Jaro-Winkler, 0 to 1) of a name that is worth a hint.
#[cfg(feature = "hints")]
const SIMILAR: f64 = 0.75;

/// The default seed.
pub const SEED: u64 = 1;

/// Makes a policy with [`SEED`]; see [`make_with_seed`].
///
/// # Errors
/// As [`make_with_seed`].
pub fn make(name: &str, set: &[(String, String)]) -> Result<Box<dyn Policy>, MakeError> {
    make_with_seed(name, set, SEED)
}

/// Makes a policy; its knobs are the defaults, overridden by `set` (name, value). Beside the names
/// of [`ENTRIES`], any assignment-wake-balance name of [`os::combination`] is known.
///
/// # Errors
/// A policy or knob that does not exist, a value that does not fit.
pub fn make_with_seed(
    name: &str,
    set: &[(String, String)],
    seed: u64,
) -> Result<Box<dyn Policy>, MakeError> {
    let (knobs, make) = find(name)?;
    Ok(make(&Knobs::new(name, knobs, set)?, seed))
}

/// The knobs of a policy, as [`make`] sets them.
///
/// # Errors
/// As [`make`].
pub fn knobs(name: &str, set: &[(String, String)]) -> Result<Knobs, MakeError> {
    Ok(Knobs::new(name, find(name)?.0, set)?)
}

type Maker = Box<dyn Fn(&Knobs, u64) -> Box<dyn Policy>>;

fn find(name: &str) -> Result<(&'static [Knob], Maker), MakeError> {
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) {
        return Ok((entry.knobs, Box::new(entry.make)));
    }
    if let Some(choices) = Choices::from_name(name) {
        return Ok((choices.knobs(), Box::new(move |knobs, _| choices.make(knobs))));
    }
    if crate::loops::NAMES.contains(&name) {
        let hint = format!(
            " for threads or tasks: a schedule of loops is part of the workload, as -w \
             swaptions:loop-{name}"
        );
        return Err(MakeError::Unknown { name: name.into(), hint });
    }
    Err(MakeError::Unknown { name: name.into(), hint: hint(name) })
}

/// ` (did you mean …?)`, or nothing.
#[cfg(feature = "hints")]
fn hint(name: &str) -> String {
    let names = ENTRIES.iter().map(|entry| entry.name).chain(crate::graph::names());
    names
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or_else(String::new, |(_, nearest)| format!(" (did you mean {nearest}?)"))
}

#[cfg(not(feature = "hints"))]
const fn hint(_: &str) -> String {
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_can_be_made_with_its_defaults_and_has_a_name_of_its_own() {
        for (i, entry) in ENTRIES.iter().enumerate() {
            assert!(make(entry.name, &[]).is_ok(), "{}", entry.name);
            assert_eq!(
                entry.name,
                entry.name.to_ascii_lowercase(),
                "names in another case are found by their lower case"
            );
            assert!(ENTRIES[..i].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn a_name_with_a_slip_gets_a_hint_and_a_wild_one_gets_none() {
        let message = |name| make(name, &[]).err().map(|error| error.to_string());
        assert_eq!(
            message("pined").as_deref(),
            Some("no policy 'pined' (did you mean pinned?); `evenkeel policies` lists them")
        );
        assert_eq!(
            message("zzzz").as_deref(),
            Some("no policy 'zzzz'; `evenkeel policies` lists them")
        );
        let expected = "no policy 'aid-static' for threads or tasks: a schedule of loops is part \
                        of the workload, as -w swaptions:loop-aid-static; \
                        `evenkeel policies` lists them";
        assert_eq!(message("aid-static").as_deref(), Some(expected));
    }

    #[test]
    fn a_combination_of_three_parts_can_be_made_and_one_of_two_or_four_cannot() {
        assert!(make("aaa-fw-rrb", &[]).is_ok());
        for name in ["aaa-fw", "aaa-fw-rrb-age", "fw-aaa-rrb", "", "--"] {
            assert!(matches!(make(name, &[]), Err(MakeError::Unknown { .. })), "{name}");
        }
    }

    #[test]
    fn a_knob_that_is_not_there_is_named() {
        let error =
            make("pinned", &[("up".into(), "1".into())]).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("pinned has no knob 'up'; it has none"));
    }
}
