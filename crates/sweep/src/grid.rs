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

use indexmap::IndexMap;
use serde::Deserialize;

use crate::axis::{Axis, AxisError, Value};
use crate::case::Case;

/// Axes that a grid may have, beside knobs of policies (`acfs.swap`).
pub const AXES: [&str; 9] =
    ["machine", "cores", "workload", "size", "workers", "policy", "estimator", "governor", "seed"];
/// The order of axes, whatever that of the file: the last one moves first. Knobs come before seeds,
/// by name.
fn rank(axis: &str) -> (usize, &str) {
    let seed = AXES.len() - 1;
    match AXES.iter().position(|known| *known == axis) {
        Some(place) if place < seed => (place, ""),
        Some(_) => (seed + 1, ""),
        None => (seed, axis),
    }
}

/// Axes that a grid must have.
const NEEDED: [&str; 3] = ["machine", "workload", "policy"];
/// Most cases of a grid, before any are left out.
const MOST_CASES: u64 = 1_000_000_000;

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
    #[error("{file}: no axis '{0}' found, expected {needed}", needed = NEEDED.join(", "), file = .1)]
    Lacking(&'static str, String),
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
    /// Axes that do not go together.
    #[error("{file}: zip: {what}")]
    Zip {
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
    name: Option<String>,
    axes: IndexMap<String, Vec<Value>>,
    /// Axes by what moves together: places in `axes`, and how many values.
    wheels: Vec<(Vec<usize>, usize)>,
    exclude: Vec<IndexMap<String, Vec<Value>>>,
}

impl Grid {
    /// Reads a file. `file` is for messages.
    ///
    /// # Errors
    /// The first fault, with its place, what was found and what was expected.
    pub fn parse(text: &str, file: &str) -> Result<Self, GridError> {
        let document: Document = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = &text[..at];
            GridError::Syntax {
                file: file.to_owned(),
                line: before.matches('\n').count() + 1,
                column: at - before.rfind('\n').map_or(0, |end| end + 1) + 1,
                what: error.message().to_owned(),
            }
        })?;
        let file = file.to_owned();
        let values = |axis: &str, of: &Axis| {
            let error =
                |error| GridError::Axis { file: file.clone(), axis: axis.to_owned(), error };
            of.values().map_err(error)
        };
        let mut axes = IndexMap::new();
        for (axis, of) in &document.axes {
            check_name(axis, &file)?;
            axes.insert(axis.clone(), values(axis, of)?);
        }
        axes.sort_by(|a, _, b, _| rank(a).cmp(&rank(b)));
        if let Some(lacking) = NEEDED.into_iter().find(|&needed| !axes.contains_key(needed)) {
            return Err(GridError::Lacking(lacking, file));
        }
        let mut exclude = Vec::new();
        for condition in &document.exclude {
            let mut of = IndexMap::new();
            for (axis, wanted) in condition {
                check_known(axis, &axes, &file)?;
                of.insert(axis.clone(), values(axis, wanted)?);
            }
            if of.is_empty() {
                let what = "exclude: no axis found, expected one or more".to_owned();
                return Err(GridError::Cases { file, what });
            }
            exclude.push(of);
        }
        let wheels = wheels(&axes, &document.zip, &file)?;
        let grid = Self { name: document.name, axes, wheels, exclude };
        let all: u64 = grid
            .wheels
            .iter()
            .map(|(_, count)| *count as u64)
            .try_fold(1, |all: u64, of| all.checked_mul(of).filter(|&all| all <= MOST_CASES))
            .ok_or_else(|| GridError::Cases {
                file: file.clone(),
                what: format!("more than {MOST_CASES} cases found"),
            })?;
        if all == 0 || grid.cases().next().is_none() {
            return Err(GridError::Cases {
                file,
                what: "no case is left by what is excluded, expected one or more".to_owned(),
            });
        }
        Ok(grid)
    }

    /// Its name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its axes with their values, in an order that does not depend on that of the file.
    pub fn axes(&self) -> impl Iterator<Item = (&str, &[Value])> {
        self.axes.iter().map(|(axis, values)| (axis.as_str(), values.as_slice()))
    }

    /// Its cases, each once: the last axis moves first. A knob's axis applies to cases of its
    /// policy alone.
    pub fn cases(&self) -> impl Iterator<Item = Case> + '_ {
        let mut places = Some(vec![0; self.wheels.len()]);
        std::iter::from_fn(move || {
            let now = places.take()?;
            places = self.next(&now);
            Some(now)
        })
        .filter_map(|places| self.case(&places))
    }

    fn next(&self, places: &[usize]) -> Option<Vec<usize>> {
        let mut next = places.to_vec();
        for (place, (_, count)) in next.iter_mut().zip(&self.wheels).rev() {
            *place += 1;
            if *place < *count {
                return Some(next);
            }
            *place = 0;
        }
        None
    }

    /// The case at these places; `None` where it is left out, or is one that has been before.
    fn case(&self, places: &[usize]) -> Option<Case> {
        let mut chosen: Vec<Option<&Value>> = vec![None; self.axes.len()];
        for (&place, (axes, _)) in places.iter().zip(&self.wheels) {
            for &axis in axes {
                chosen[axis] = Some(&self.axes[axis][place]);
            }
        }
        let policy = self.axes.get_index_of("policy").and_then(|axis| chosen[axis]);
        let policy = policy.map_or(String::new(), |value| base(&value.to_string()));
        let applies = |axis: usize| {
            let name = self.axes.get_index(axis).map_or("", |(name, _)| name.as_str());
            name.split_once('.').is_none_or(|(of, _)| of == policy)
        };
        // Knobs of another policy: once, and not for each of their values.
        let again = |(&place, (axes, _)): (&usize, &(Vec<usize>, usize))| {
            place > 0 && !axes.iter().any(|&axis| applies(axis))
        };
        if places.iter().zip(&self.wheels).any(again) {
            return None;
        }
        let of_axis = |(axis, name): (usize, &String)| {
            let value = chosen[axis].filter(|_| applies(axis))?;
            Some((name.clone(), value.clone()))
        };
        let values = self.axes.keys().enumerate().filter_map(of_axis).collect();
        let case = Case::new(values);
        let is_excluded = self.exclude.iter().any(|condition| {
            condition
                .iter()
                .all(|(axis, wanted)| case.get(axis).is_some_and(|value| wanted.contains(value)))
        });
        (!is_excluded).then_some(case)
    }
}

/// The policy that a label is of: `acfs` of `acfs:uf=1.2`.
fn base(label: &str) -> String {
    label.split(':').next().unwrap_or(label).to_owned()
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

/// Axes by what moves together, in the order of the file.
fn wheels(
    axes: &IndexMap<String, Vec<Value>>,
    zips: &[Zip],
    file: &str,
) -> Result<Vec<(Vec<usize>, usize)>, GridError> {
    let error = |what: String| GridError::Zip { file: file.to_owned(), what };
    let mut with: Vec<Option<usize>> = vec![None; axes.len()];
    for (number, zip) in zips.iter().enumerate() {
        let [first, others @ ..] = zip.axes.as_slice() else {
            return Err(error("no axis found, expected two or more".to_owned()));
        };
        if others.is_empty() {
            return Err(error(format!("'{first}' alone found, expected two axes or more")));
        }
        for axis in &zip.axes {
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
    let mut wheels: Vec<(Vec<usize>, usize)> = Vec::new();
    let mut of_zip: Vec<Option<usize>> = vec![None; zips.len()];
    for (place, values) in axes.values().enumerate() {
        match with[place].and_then(|number| of_zip[number]) {
            Some(wheel) => wheels[wheel].0.push(place),
            None => {
                if let Some(number) = with[place] {
                    of_zip[number] = Some(wheels.len());
                }
                wheels.push((vec![place], values.len()));
            }
        }
    }
    Ok(wheels)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const SMALL: &str = "[axes]\nmachine = \"quickia\"\nworkload = [\"4STH\", \"mcf\"]\n";

    fn grid(text: &str) -> Grid {
        Grid::parse(text, "grid.toml").unwrap()
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
                "quickia 4STH hsp",
                "quickia mcf acfs 200",
                "quickia mcf acfs 400",
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
                "quickia mcf 1 hsp",
                "quickia mcf 2 acfs 400",
                "quickia mcf 2 hsp",
            ]
        );
    }

    #[test]
    fn what_is_excluded_is_where_all_of_a_condition_holds() {
        let grid = grid(&format!(
            "{SMALL}policy = [\"acfs\", \"hsp\"]\n[[exclude]]\nworkload = \"mcf\"\n\
             policy = [\"hsp\", \"linux\"]\n"
        ));
        assert_eq!(lines(&grid), ["quickia 4STH acfs", "quickia 4STH hsp", "quickia mcf acfs"]);
    }

    #[test]
    fn what_is_no_grid_is_told_with_its_place() {
        let error = |text: &str| Grid::parse(text, "g.toml").unwrap_err().to_string();
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
        assert_eq!(many, "g.toml: more than 1000000000 cases found");
    }

    fn axis(name: &'static str, most: u32) -> impl Strategy<Value = String> {
        (1..=most).prop_map(move |count| {
            let values: Vec<String> = (0..count).map(|i| format!("\"{name}{i}\"")).collect();
            format!("{name} = [{}]\n", values.join(", "))
        })
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
