//! What a grid names, tried before any case is carried out: a word misspelt is one message, and not
//! a table of failures.

use evenkeel_policy::registry;
use evenkeel_sim::Config;

use crate::axis::Value;
use crate::case::Case;
use crate::grid::{Grid, is_knob_of};
use crate::prepared::policy;
use crate::run::{Runs, flag, workload_key};
use crate::words;

/// A value of an axis that no case can be carried out with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("axis '{axis}': '{value}': {why}")]
pub struct CheckError {
    /// Axis.
    pub axis: String,
    /// Value.
    pub value: String,
    /// Why not.
    pub why: String,
}

impl Runs {
    /// What a grid names, tried value by value before any case is carried out.
    ///
    /// # Errors
    /// The first value that no case can be carried out with: its axis, the value, and why.
    pub fn check(&self, grid: &Grid) -> Result<(), CheckError> {
        for (axis, values) in grid.axes() {
            for value in values {
                self.check_value(grid, axis, value).map_err(|why| CheckError {
                    axis: axis.to_owned(),
                    value: value.to_string(),
                    why,
                })?;
            }
        }
        Ok(())
    }

    fn check_value(&self, grid: &Grid, axis: &str, value: &Value) -> Result<(), String> {
        let one = |axis: &str, value: &Value| {
            Case::new(std::iter::once((axis.to_owned(), value.clone())).collect())
        };
        let case = one(axis, value);
        match axis {
            "machine" => self.machine(&(value.to_string(), None, false)).map(drop),
            "cores" => self.on_any_machine(grid, |machine| {
                self.machine(&(machine, Some(value.to_string()), false)).map(drop)
            }),
            "workload" => self.on_any_machine(grid, |machine| {
                let key = (machine, None, false);
                let on = self.machine(&key)?;
                let key = workload_key(&case, key, &Config::default())?;
                self.workload(&key, &on).map(drop)
            }),
            "size" | "workers" => {
                let mut values = case.values().map(|(axis, it)| (axis.to_owned(), it.clone()));
                let workload = ("workload".to_owned(), Value::Word(String::new()));
                let case = Case::new(values.by_ref().chain([workload]).collect());
                let nowhere = (String::new(), None, false);
                workload_key(&case, nowhere, &Config::default()).map(drop)
            }
            "policy" => {
                let policy = policy(&case)?;
                let (system, _) = words::parts(&policy.name);
                registry::knobs(system, &policy.set).map(drop).map_err(|it| it.to_string())
            }
            "free-costs" | "characters" => flag(&case, axis).map(drop),
            _ if axis.contains('.') => {
                let of = |policy: &&Value| is_knob_of(policy, axis);
                for policy in grid.values("policy").iter().filter(of) {
                    let name = words::policy(&policy.to_string())?.name;
                    let knob = axis.split_once('.').map_or(axis, |(_, knob)| knob);
                    let set = [(knob.to_owned(), value.to_string())];
                    let known = registry::knobs(words::parts(&name).0, &set);
                    known.map_err(|error| error.to_string())?;
                }
                Ok(())
            }
            _ => self.config(&case).map(drop),
        }
    }

    /// Tries the machines of a grid until something works on one of them; else it is the first
    /// one's error.
    fn on_any_machine(
        &self,
        grid: &Grid,
        works: impl Fn(String) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut first = None;
        for machine in grid.values("machine") {
            match works(machine.to_string()) {
                Ok(()) => return Ok(()),
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Ok(()), Err)
    }
}
