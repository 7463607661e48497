//! A file of a grid: axes, axes that go together, and what is left out.
//!
//! ```toml
//! [axes]
//! machine = ["odroid-xu3", "pixel6"]
//! workload = ["ferret", ["mcf", "gobmk"]]      # the latter two run together
//! policy = ["acfs", "hsp", "linux"]
//! "acfs.swap" = { from = 200, to = 1000, step = 200 }
//! size = { from = 0.1, to = 10, count = 5, log = true }
//! seed = { from = 1, to = 10, step = 1 }
//!
//! [[zip]]                                      # n-th value with n-th value
//! axes = ["machine", "cores"]
//!
//! [[exclude]]                                  # where all of it holds
//! machine = "pixel6"
//! policy = ["hsp", "linux"]
//! ```

use evenkeel_files::{machines, programs};
use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};

use crate::axis::{Axis, AxisError, Value};
use crate::cells::Block;
use crate::words;

/// Axes that a grid may have, beside knobs of policies (`acfs.swap`). They are called as the flags
/// of `evenkeel simulate` are.
const AXES: [&str; 14] = [
    "machine",
    "cores",
    "free-costs",
    "workload",
    "size",
    "workers",
    "characters",
    "duration",
    "link",
    "governor",
    "seed",
    "policy",
    "estimator",
    "decision-latency",
];

/// The order of axes, whatever that of the file: the last one moves first, and what workloads are
/// made of moves last, so that cases that share one are near each other. Knobs are last, by name.
fn rank(axis: &str) -> (usize, &str) {
    match AXES.iter().position(|known| *known == axis) {
        Some(place) => (place, ""),
        None => (AXES.len(), axis),
    }
}

/// Axes that a grid must have.
const NEEDED: [&str; 3] = ["machine", "workload", "policy"];
/// Most cases of a grid, before any are left out.
const MOST_CASES: u64 = 100_000_000;

/// Why a file is no grid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GridError {
    /// Not TOML, or not what a grid has in this place.
    #[error("{file}:{line}:{column}: {what}")]
    Syntax {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What was found and expected.
        what: String,
    },
    /// An axis that is not one.
    #[error("{file}: axis '{found}' found, expected {expected}")]
    Unknown {
        /// File.
        file: String,
        /// Its name.
        found: String,
        /// What would do.
        expected: String,
    },
    /// An axis that is not there.
    #[error("{file}: no axis '{axis}' found, expected {needed}", needed = NEEDED.join(", "))]
    Lacking {
        /// File.
        file: String,
        /// Its name.
        axis: &'static str,
    },
    /// An axis without values.
    #[error("{file}: axis '{axis}': {error}")]
    Axis {
        /// File.
        file: String,
        /// Its name.
        axis: String,
        /// Why.
        error: AxisError,
    },
    /// The same value of an axis, or of axes that go together, twice.
    #[error("{file}: axis '{axis}': {value} found twice")]
    Twice {
        /// File.
        file: String,
        /// Its name, or those that go together.
        axis: String,
        /// The value.
        value: String,
    },
    /// Axes that do not go together.
    #[error("{file}: zip: {what}")]
    Zip {
        /// File.
        file: String,
        /// Why not.
        what: String,
    },
    /// A condition that nothing meets.
    #[error("{file}: exclude: {what}")]
    Exclude {
        /// File.
        file: String,
        /// Why not.
        what: String,
    },
    /// No case is left, or too many are.
    #[error("{file}: {what}")]
    Cases {
        /// File.
        file: String,
        /// What is wrong.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    name: Option<String>,
    axes: IndexMap<String, Axis>,
    #[serde(default)]
    zip: Vec<Zip>,
    #[serde(default)]
    exclude: Vec<IndexMap<String, Axis>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Zip {
    axes: Vec<String>,
}

/// A grid of cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    pub(crate) written: Written,
    /// Axes by what moves together; those of the machine and of the policy come first.
    pub(crate) wheels: Vec<Wheel>,
    pub(crate) exclude: Vec<Condition>,
    pub(crate) blocks: Vec<Block>,
}

/// What a grid says, ranges written out: what two equal grids have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) name: Option<String>,
    pub(crate) axes: IndexMap<String, Vec<Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) zip: Vec<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) exclude: Vec<IndexMap<String, Vec<Value>>>,
}

/// Axes that move together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wheel {
    /// Places in the axes.
    pub axes: Vec<usize>,
    /// How many values each has.
    pub values: usize,
}

/// What is left out where it holds on all of its axes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    /// Axes by their place, and for each of its values whether it is meant.
    pub wanted: Vec<(usize, Vec<bool>)>,
}

impl Grid {
    /// Reads a file. `file` is for messages. With `seeds` the axis of seeds is 1 to that number,
    /// whatever the file says.
    ///
    /// # Errors
    /// The first fault, with its place, what was found and what was expected.
    pub fn parse(text: &str, file: &str, seeds: Option<u32>) -> Result<Self, GridError> {
        let mut document: Document = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = &text[..at];
            GridError::Syntax {
                file: file.to_owned(),
                line: before.matches('\n').count() + 1,
                column: at - before.rfind('\n').map_or(0, |end| end + 1) + 1,
                what: error.message().to_owned(),
            }
        })?;
        if let Some(seeds) = seeds {
            let values = (1..=i64::from(seeds)).map(Value::Whole).collect();
            document.axes.insert("seed".to_owned(), Axis::List(values));
        }
        let mut axes = IndexMap::new();
        for (axis, of) in &document.axes {
            check_name(axis, file)?;
            let name = canonical_axis(axis);
            if axes.insert(name.clone(), canonical(&name, values(axis, of, file)?)).is_some() {
                let (file, value) = (file.to_owned(), format!("'{axis}'"));
                return Err(GridError::Twice { file, axis: name, value });
            }
        }
        axes.sort_by(|a, _, b, _| rank(a).cmp(&rank(b)));
        if let Some(axis) = NEEDED.into_iter().find(|&needed| !axes.contains_key(needed)) {
            return Err(GridError::Lacking { file: file.to_owned(), axis });
        }
        check_knobs(&axes, file)?;
        let (exclude, conditions) = conditions(&document.exclude, &axes, file)?;
        let names = |zip: Zip| zip.axes.iter().map(|axis| canonical_axis(axis)).collect();
        let zip: Vec<Vec<String>> = document.zip.into_iter().map(names).collect();
        let wheels = wheels(&axes, &zip, file)?;
        let written = Written { name: document.name, axes, zip, exclude };
        Self { written, wheels, exclude: conditions, blocks: Vec::new() }.counted(file)
    }

    /// With its cases counted, for each machine and policy.
    fn counted(self, file: &str) -> Result<Self, GridError> {
        let error = |what: String| GridError::Cases { file: file.to_owned(), what };
        let mut blocks = self.make_blocks();
        let mut all = 0_u64;
        for block in &blocks {
            let more = block.places().filter(|&more| more <= MOST_CASES);
            all = all.saturating_add(more.unwrap_or(u64::MAX));
        }
        if all > MOST_CASES {
            return Err(error(format!("more than {MOST_CASES} cases found")));
        }
        for block in &mut blocks {
            block.cases = self.count(block);
        }
        blocks.retain(|block| block.cases > 0);
        if blocks.is_empty() {
            let what = "no case is left by what is excluded, expected one or more";
            return Err(error(what.to_owned()));
        }
        Ok(Self { blocks, ..self })
    }

    /// Its name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.written.name.as_deref()
    }

    /// Its axes with their values, in an order that does not depend on that of the file.
    pub fn axes(&self) -> impl Iterator<Item = (&str, &[Value])> {
        self.written.axes.iter().map(|(axis, values)| (axis.as_str(), values.as_slice()))
    }

    /// The values of an axis; none where it is not there.
    #[must_use]
    pub fn values(&self, axis: &str) -> &[Value] {
        self.written.axes.get(axis).map_or(&[], Vec::as_slice)
    }

    /// How many cases it has.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.blocks.iter().map(|block| block.cases).sum()
    }

    /// False: a grid has a case or more.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// True if a knob's axis, `acfs.swap`, is meant for a policy: `acfs`, `acfs:uf=1.2`, `acfs+heft`.
pub(crate) fn is_knob_of(policy: &Value, axis: &str) -> bool {
    let Some((of, _)) = axis.split_once('.') else { return false };
    let label = policy.to_string().to_ascii_lowercase();
    let name = label.split(':').next().unwrap_or(&label);
    of == name || of == words::parts(name).0
}

fn values(axis: &str, of: &Axis, file: &str) -> Result<Vec<Value>, GridError> {
    of.values().map_err(|error| {
        let (file, axis) = (file.to_owned(), axis.to_owned());
        GridError::Axis { file, axis, error }
    })
}

/// An axis as it is called everywhere: names of policies are in lower case.
fn canonical_axis(axis: &str) -> String {
    match axis.split_once('.') {
        Some((policy, knob)) => format!("{}.{knob}", policy.to_ascii_lowercase()),
        None => axis.to_owned(),
    }
}

/// Values as they are called everywhere, so that a name in another case is the same one.
fn canonical(axis: &str, values: Vec<Value>) -> Vec<Value> {
    let word = |word: String| match axis {
        "workload" => programs::canonical(&word),
        "machine" => machines::canonical(&word),
        "policy" => words::policy(&word).map_or(word, |policy| policy.label),
        _ => word,
    };
    let value = |value: Value| match value {
        Value::Word(text) => Value::Word(word(text)),
        Value::Together(names) => Value::Together(names.into_iter().map(word).collect()),
        other => other,
    };
    values.into_iter().map(value).collect()
}

fn check_name(axis: &str, file: &str) -> Result<(), GridError> {
    let is_knob = axis.split_once('.').is_some_and(|(of, knob)| !of.is_empty() && !knob.is_empty());
    if AXES.contains(&axis) || is_knob {
        return Ok(());
    }
    Err(GridError::Unknown {
        file: file.to_owned(),
        found: axis.to_owned(),
        expected: format!("{}, or a policy's knob as acfs.swap", AXES.join(", ")),
    })
}

fn check_known(
    axis: &str,
    axes: &IndexMap<String, Vec<Value>>,
    file: &str,
) -> Result<(), GridError> {
    if axes.contains_key(axis) {
        return Ok(());
    }
    Err(GridError::Unknown {
        file: file.to_owned(),
        found: axis.to_owned(),
        expected: axes.keys().cloned().collect::<Vec<_>>().join(", "),
    })
}

/// Refuses a knob of a policy that is not on the axis of policies, and one that is set twice.
fn check_knobs(axes: &IndexMap<String, Vec<Value>>, file: &str) -> Result<(), GridError> {
    let policies = &axes["policy"];
    let knobs: Vec<(&String, &str)> =
        axes.keys().filter_map(|axis| Some((axis, axis.split_once('.')?.1))).collect();
    for &(axis, _) in &knobs {
        if !policies.iter().any(|policy| is_knob_of(policy, axis)) {
            let all: Vec<String> = policies.iter().map(ToString::to_string).collect();
            return Err(GridError::Unknown {
                file: file.to_owned(),
                found: axis.clone(),
                expected: format!("a knob of the policies {}", all.join(", ")),
            });
        }
    }
    for policy in policies {
        // What is no policy is told where values are tried.
        let named = words::policy(&policy.to_string()).map(|it| it.set).unwrap_or_default();
        let mut set: Vec<&str> = named.iter().map(|(knob, _)| knob.as_str()).collect();
        for &(axis, knob) in knobs.iter().filter(|(axis, _)| is_knob_of(policy, axis)) {
            if set.contains(&knob) {
                let (file, axis) = (file.to_owned(), axis.clone());
                let value = format!("knob '{knob}' of '{policy}'");
                return Err(GridError::Twice { file, axis, value });
            }
            set.push(knob);
        }
    }
    Ok(())
}

/// Conditions as written, and by the places of values.
#[expect(clippy::type_complexity, reason = "a pair, for one caller")]
fn conditions(
    written: &[IndexMap<String, Axis>],
    axes: &IndexMap<String, Vec<Value>>,
    file: &str,
) -> Result<(Vec<IndexMap<String, Vec<Value>>>, Vec<Condition>), GridError> {
    let error = |what: String| GridError::Exclude { file: file.to_owned(), what };
    let (mut exclude, mut conditions) = (Vec::new(), Vec::new());
    for condition in written {
        let (mut of, mut wanted) = (IndexMap::new(), Vec::new());
        for (axis, meant) in condition {
            let axis = &canonical_axis(axis);
            check_known(axis, axes, file)?;
            let (known, meant) = (&axes[axis], canonical(axis, values(axis, meant, file)?));
            if let Some(other) = meant.iter().find(|&value| !known.contains(value)) {
                return Err(error(format!("'{other}' is no value of axis '{axis}'")));
            }
            let mask = known.iter().map(|value| meant.contains(value)).collect();
            wanted.push((axes.get_index_of(axis).unwrap_or_default(), mask));
            of.insert(axis.clone(), meant);
        }
        if of.is_empty() {
            return Err(error("no axis found, expected one or more".to_owned()));
        }
        exclude.push(of);
        conditions.push(Condition { wanted });
    }
    Ok((exclude, conditions))
}

/// Axes by what moves together: that of machines first, then that of policies, then in order.
fn wheels(
    axes: &IndexMap<String, Vec<Value>>,
    zips: &[Vec<String>],
    file: &str,
) -> Result<Vec<Wheel>, GridError> {
    let error = |what: String| GridError::Zip { file: file.to_owned(), what };
    let mut with: Vec<Option<usize>> = vec![None; axes.len()];
    for (number, zip) in zips.iter().enumerate() {
        let [first, others @ ..] = zip.as_slice() else {
            return Err(error("no axis found, expected two or more".to_owned()));
        };
        if others.is_empty() {
            return Err(error(format!("'{first}' alone found, expected two axes or more")));
        }
        for axis in zip {
            check_known(axis, axes, file)?;
            let place = axes.get_index_of(axis).unwrap_or_default();
            if with[place].replace(number).is_some() {
                return Err(error(format!("axis '{axis}' found twice")));
            }
            let (found, expected) = (axes[place].len(), axes[first].len());
            if found != expected {
                return Err(error(format!(
                    "{found} values of '{axis}' found, expected {expected} as of '{first}'"
                )));
            }
        }
    }
    let mut wheels: Vec<Wheel> = Vec::new();
    let mut of_zip: Vec<Option<usize>> = vec![None; zips.len()];
    for (place, values) in axes.values().enumerate() {
        match with[place].and_then(|number| of_zip[number]) {
            Some(wheel) => wheels[wheel].axes.push(place),
            None => {
                if let Some(number) = with[place] {
                    of_zip[number] = Some(wheels.len());
                }
                wheels.push(Wheel { axes: vec![place], values: values.len() });
            }
        }
    }
    for wheel in &wheels {
        check_once(wheel, axes, file)?;
    }
    let first = |axis: &str| axes.get_index_of(axis).unwrap_or_default();
    let (machine, policy) = (first("machine"), first("policy"));
    wheels.sort_by_key(|wheel| {
        let has = |axis: usize| wheel.axes.contains(&axis);
        // A stable sort: all others stay as they are.
        if has(machine) { 0 } else { 2 - u8::from(has(policy)) }
    });
    Ok(wheels)
}

/// Refuses the same values of a wheel twice: two cases would be one.
fn check_once(
    wheel: &Wheel,
    axes: &IndexMap<String, Vec<Value>>,
    file: &str,
) -> Result<(), GridError> {
    let mut known = IndexSet::new();
    for place in 0..wheel.values {
        let of = wheel.axes.iter().map(|&axis| axes[axis][place].to_string());
        let value = of.collect::<Vec<_>>().join(", ");
        if !known.insert(value.clone()) {
            let names: Vec<&str> = wheel
                .axes
                .iter()
                .filter_map(|&axis| Some(axes.get_index(axis)?.0.as_str()))
                .collect();
            let (file, axis) = (file.to_owned(), names.join(", "));
            return Err(GridError::Twice { file, axis, value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::case::Case;

    const SMALL: &str = "[axes]\nmachine = \"quickia\"\nworkload = [\"4STH\", \"mcf\"]\n";

    fn grid(text: &str) -> Grid {
        Grid::parse(text, "grid.toml", None).unwrap()
    }

    fn lines(grid: &Grid) -> Vec<String> {
        let of =
            |case: Case| case.values().map(|(_, it)| it.to_string()).collect::<Vec<_>>().join(" ");
        grid.cases().map(of).collect()
    }

    #[test]
    fn the_last_axis_moves_first_and_a_knob_is_its_policys_alone() {
        let grid =
            grid(&format!("{SMALL}policy = [\"acfs\", \"hsp\"]\n\"acfs.swap\" = [200, 400]\n"));
        assert_eq!(
            lines(&grid),
            [
                "quickia 4STH acfs 200",
                "quickia 4STH acfs 400",
                "quickia mcf acfs 200",
                "quickia mcf acfs 400",
                "quickia 4STH hsp",
                "quickia mcf hsp",
            ]
        );
    }

    #[test]
    fn axes_that_are_zipped_move_together_also_a_knob_with_another_axis() {
        let grid = grid(&format!(
            "{SMALL}policy = [\"acfs\", \"hsp\"]\nsize = [1, 2]\n\"acfs.swap\" = [200, 400]\n\
             [[zip]]\naxes = [\"size\", \"acfs.swap\"]\n[[exclude]]\nworkload = \"4STH\"\n"
        ));
        assert_eq!(
            lines(&grid),
            [
                "quickia mcf 1 acfs 200",
                "quickia mcf 2 acfs 400",
                "quickia mcf 1 hsp",
                "quickia mcf 2 hsp",
            ]
        );
    }

    #[test]
    fn a_value_may_come_again_where_another_axis_goes_with_it() {
        let grid = grid(
            "[axes]\nmachine = [\"quickia\", \"quickia\", \"amd-2b10s\"]\n\
             cores = [\"1big\", \"2big\", \"2big\"]\nworkload = \"mcf\"\npolicy = \"hsp\"\n\
             [[zip]]\naxes = [\"machine\", \"cores\"]\n",
        );
        assert_eq!(
            lines(&grid),
            ["quickia 1big mcf hsp", "quickia 2big mcf hsp", "amd-2b10s 2big mcf hsp"]
        );
    }

    #[test]
    fn what_is_excluded_is_where_all_of_a_condition_holds() {
        let grid = grid(&format!(
            "{SMALL}policy = [\"acfs\", \"hsp\"]\n[[exclude]]\nworkload = \"mcf\"\n\
             policy = \"hsp\"\n"
        ));
        assert_eq!(lines(&grid), ["quickia 4STH acfs", "quickia mcf acfs", "quickia 4STH hsp"]);
    }

    #[test]
    fn what_is_no_grid_is_told_with_its_place() {
        let error = |text: &str| Grid::parse(text, "g.toml", None).unwrap_err().to_string();
        assert!(
            error("[axes]\nmachine = [").starts_with("g.toml:2:"),
            "{}",
            error("[axes]\nm = [")
        );
        let unknown = error("[axes]\nmashine = \"x\"");
        assert!(unknown.starts_with("g.toml: axis 'mashine' found, expected machine, cores"));
        assert_eq!(
            error(SMALL),
            "g.toml: no axis 'policy' found, expected machine, workload, policy"
        );
        let with = |more: &str| error(&format!("{SMALL}policy = \"acfs\"\n{more}"));
        assert_eq!(with("seed = []"), "g.toml: axis 'seed': no value found, expected one or more");
        let zip = with("seed = [1, 2]\n[[zip]]\naxes = [\"workload\", \"machine\"]");
        assert_eq!(zip, "g.toml: zip: 1 values of 'machine' found, expected 2 as of 'workload'");
        let none = with("[[exclude]]\npolicy = \"acfs\"");
        assert_eq!(none, "g.toml: no case is left by what is excluded, expected one or more");
        let other = with("[[exclude]]\nseed = 1");
        assert_eq!(other, "g.toml: axis 'seed' found, expected machine, workload, policy");
        let many = with(
            "seed = { from = 1, to = 999999, step = 1 }\nsize = { from = 1, to = 2, count = 9999 }",
        );
        assert_eq!(many, "g.toml: more than 100000000 cases found");
        let twice = with("seed = [1, 2, 1]");
        assert_eq!(twice, "g.toml: axis 'seed': 1 found twice");
        let knob = with("\"hsp.swap\" = [1, 2]");
        assert_eq!(knob, "g.toml: axis 'hsp.swap' found, expected a knob of the policies acfs");
        let typo = with("[[exclude]]\nworkload = \"mfc\"");
        assert_eq!(typo, "g.toml: exclude: 'mfc' is no value of axis 'workload'");
    }

    fn axis(name: &'static str, most: u32) -> impl Strategy<Value = String> {
        (1..=most).prop_map(move |count| {
            let values: Vec<String> = (0..count).map(|i| format!("\"{name}{i}\"")).collect();
            format!("{name} = [{}]\n", values.join(", "))
        })
    }

    #[test]
    fn a_machine_or_a_policy_that_another_ones_knob_goes_with_is_there_once() {
        let grid = grid(
            "[axes]\nmachine = [\"quickia\", \"quickia\"]\nworkload = \"mcf\"\n\
             policy = [\"acfs\", \"hsp\"]\n\"acfs.swap\" = [200, 400]\n\
             [[zip]]\naxes = [\"machine\", \"acfs.swap\"]\n",
        );
        assert_eq!(
            lines(&grid),
            ["quickia mcf acfs 200", "quickia mcf hsp", "quickia mcf acfs 400"]
        );
    }

    #[test]
    fn names_in_another_case_are_the_same_ones() {
        let other = |text: &str| grid(text).cases().next().unwrap().identity();
        let grid = |machine: &str, workload: &str, policy: &str, axis: &str| {
            other(&format!(
                "[axes]\nmachine = \"{machine}\"\nworkload = \"{workload}\"\n\
                 policy = \"{policy}\"\n\"{axis}\" = 200\n"
            ))
        };
        assert_eq!(
            grid("quickia", "mcf", "acfs", "acfs.swap"),
            grid("Quickia", "MCF", "ACFS", "ACFS.swap")
        );
    }

    /// Some values of an axis, as a grid has them.
    fn some(name: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
        prop::sample::subsequence(values, 1..=values.len())
            .prop_map(move |some| format!("\"{name}\" = [{}]\n", some.join(", ")))
    }

    proptest! {
        #[test]
        fn whatever_is_zipped_and_excluded_no_two_cases_are_the_same_and_parts_have_all(
            policy in some("policy", &["\"linux\"", "\"hsp\""]),
            size in some("size", &["1", "2", "3"]),
            knobs in prop::sample::subsequence(vec!["200", "400", "600"], 2..=2),
            with in prop::sample::select(vec!["machine", "workload", "seed"]),
            left_out in prop::option::of(prop::sample::select(vec![
                "policy = \"acfs\"\nseed = 1\n", "machine = \"quickia\"\nworkload = \"mcf\"\n",
                "\"acfs.swap\" = 200\n",
            ])),
            twice: bool,
        ) {
            let policy = policy.replace('[', "[\"acfs\", ");
            let machine = if twice && with == "machine" {
                "\"quickia\", \"quickia\""
            } else {
                "\"quickia\", \"pixel6\""
            };
            let exclude = left_out.map_or(String::new(), |it| format!("[[exclude]]\n{it}"));
            let text = format!(
                "[axes]\nmachine = [{machine}]\nworkload = [\"mcf\", \"4STH\"]\nseed = [1, 2]\n\
                 {policy}{size}\"acfs.swap\" = [{}]\n[[zip]]\naxes = [\"{with}\", \"acfs.swap\"]\n\
                 {exclude}",
                knobs.join(", ")
            );
            let Ok(grid) = Grid::parse(&text, "grid.toml", None) else { return Ok(()) };
            let cases: Vec<String> = grid.cases().map(|case| case.canonical()).collect();
            let once: BTreeSet<&String> = cases.iter().collect();
            prop_assert_eq!((once.len(), grid.len()), (cases.len(), cases.len() as u64), "{}", text);
            let parts = grid.parts();
            prop_assert_eq!(parts.iter().map(|part| part.cases).sum::<u64>(), grid.len());
            let is_left_out = |case: &String| {
                exclude.contains("200") && case.contains("200")
                    || exclude.contains("policy") && case.contains("acfs") && case.contains("\"seed\":1")
                    || exclude.contains("machine") && case.contains("quickia") && case.contains("mcf")
            };
            prop_assert!(!cases.iter().any(is_left_out), "{}", text);
        }
    }

    proptest! {
        #[test]
        fn cases_are_all_combinations_each_with_an_identity_of_its_own_that_the_order_of_axes_does_not_change(
            axes in (axis("machine", 3), axis("workload", 4), axis("policy", 3), axis("governor", 3)),
            order in Just([0_usize, 1, 2, 3]).prop_shuffle(),
        ) {
            let axes = [axes.0, axes.1, axes.2, axes.3];
            let text = |order: [usize; 4]| {
                let lines: String = order.iter().map(|&i| axes[i].as_str()).collect();
                format!("[axes]\n{lines}")
            };
            let identities = |text: &str| -> Vec<String> {
                grid(text).cases().map(|case| case.identity()).collect()
            };
            let straight = identities(&text([0, 1, 2, 3]));
            let product: usize = grid(&text(order)).axes().map(|(_, values)| values.len()).product();
            prop_assert_eq!(straight.len(), product);
            let one: BTreeSet<_> = straight.iter().collect();
            prop_assert_eq!(one.len(), product);
            let shuffled = identities(&text(order));
            prop_assert_eq!(straight, shuffled);
        }
    }
}
