//! What a folder of results is of.

use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::axis::Value;
use crate::case::hex;
use crate::grid::{Grid, Written};
use crate::inputs::Inputs;

/// The version of the tables' columns and of the folder's layout.
pub const SCHEMA: &str = "evenkeel.sweep/1";

/// All that the results in a folder depend on: equal for two sweeps that make the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of what is simulated.
    pub model: u64,
    /// The grid, ranges written out.
    pub grid: Written,
    /// SHA-256 of each file that the grid names, by its name, and of what it names in memory.
    pub inputs: IndexMap<String, String>,
    /// How many cases there are.
    pub cases: u64,
    /// How many parts they are cut into.
    pub parts: u64,
}

impl Manifest {
    /// Of a grid, with the files that it names as they are now.
    ///
    /// # Errors
    /// The name of a file that cannot be read, and why.
    pub fn of(
        grid: &Grid,
        parts: usize,
        in_memory: &Inputs,
    ) -> Result<Self, (String, std::io::Error)> {
        let mut inputs = IndexMap::new();
        for axis in ["machine", "workload", "estimator"] {
            for name in grid.values(axis).iter().flat_map(names) {
                if let Some((name, digest)) = in_memory.digest(axis, &name) {
                    inputs.insert(name, digest);
                } else if Path::new(&name).is_file() {
                    let bytes = std::fs::read(&name).map_err(|error| (name.clone(), error))?;
                    inputs.insert(name, hex(&Sha256::digest(bytes)));
                }
            }
        }
        inputs.sort_keys();
        Ok(Self {
            schema: SCHEMA.to_owned(),
            model: evenkeel_sim::MODEL,
            grid: grid.written.clone(),
            inputs,
            cases: grid.len(),
            parts: parts as u64,
        })
    }

    /// The grid's name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.grid.name.as_deref()
    }

    /// The manifest in a text.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// As a file has it.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers are finite and keys are text: there is nothing to fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// A digest of all of it.
    pub(crate) fn digest(&self) -> String {
        hex(&Sha256::digest(self.to_json().as_bytes()))
    }

    /// A digest of all of it and of where it is carried out, 12 hexadecimal digits: a name for that
    /// work.
    #[must_use]
    pub fn digest_at(&self, place: &str) -> String {
        hex(&Sha256::digest(format!("{} {place}", self.digest()))[..6])
    }

    /// What differs from another one, for a message; `None`: nothing.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self == other {
            return None;
        }
        if self.schema != other.schema {
            return Some(format!("its columns are {}, and here {}", other.schema, self.schema));
        }
        if self.model != other.model {
            let (there, here) = (other.model, self.model);
            return Some(format!("it is of version {there} of the model, and this is {here}"));
        }
        let axes = |of: &Self| of.grid.axes.clone();
        let (ours, theirs) = (axes(self), axes(other));
        for (axis, values) in &ours {
            match theirs.get(axis) {
                None => return Some(format!("its grid has no axis '{axis}'")),
                Some(there) if there != values => {
                    return Some(format!("its grid has other values of axis '{axis}'"));
                }
                Some(_) => {}
            }
        }
        if let Some(axis) = theirs.keys().find(|axis| !ours.contains_key(*axis)) {
            return Some(format!("its grid has an axis '{axis}'"));
        }
        let changed = |(name, digest): (&String, &String)| other.inputs.get(name) != Some(digest);
        if let Some((name, _)) = self.inputs.iter().find(|&(name, digest)| changed((name, digest)))
        {
            return Some(format!("{name} has changed since"));
        }
        Some("its grid has another name, or other zips or conditions".to_owned())
    }
}

fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Together(names) => names.clone(),
        other => vec![other.to_string()],
    }
}
