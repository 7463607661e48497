//! How a loop is shared out: a policy of crates/policy by name, with a chunk or without.

use std::fmt;
use std::str::FromStr;

use evenkeel_policy::loops::{self, LoopError, LoopPolicy};

/// `static`, `dynamic`, `guided`, `aid-static`, `aid-dynamic` or `aid-affinity` (which is the
/// default), each with `,CHUNK` where wanted.
///
/// Without a chunk, the loop itself finds out how many iterations make one that costs least, in
/// taking chunks and in waiting for the last (but `static`, which gives each worker one block).
///
/// ```
/// let schedule: evenkeel_runtime::Schedule = "dynamic,16".parse()?;
/// assert_eq!(schedule.to_string(), "dynamic,16");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    name: &'static str,
    chunk: Option<u64>,
}

impl Default for Schedule {
    fn default() -> Self {
        Self { name: "aid-affinity", chunk: None }
    }
}

impl FromStr for Schedule {
    type Err = LoopError;

    fn from_str(text: &str) -> Result<Self, LoopError> {
        loops::make(text)?;
        let (name, chunk) = text
            .split_once(',')
            .map_or((text, None), |(name, chunk)| (name, chunk.trim().parse().ok()));
        let known = loops::NAMES.iter().find(|known| **known == name.trim());
        let name = known.ok_or_else(|| LoopError::Unknown { name: name.trim().into() })?;
        Ok(Self { name, chunk })
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chunk {
            None => f.write_str(self.name),
            Some(chunk) => write!(f, "{},{chunk}", self.name),
        }
    }
}

impl Schedule {
    /// True if the loop has to find out how long a chunk is to be.
    pub(super) fn needs_unit(&self) -> bool {
        self.chunk.is_none() && self.name != "static"
    }

    /// True if the policy hands out shares by a ratio that it has sampled.
    pub(super) fn samples(&self) -> bool {
        self.name.starts_with("aid-")
    }

    /// True if what each worker did before counts.
    pub(super) fn is_kept(&self) -> bool {
        self.name == "aid-affinity"
    }

    /// The policy, with chunks of so many iterations where it does not say.
    pub(super) fn policy(&self, unit: u64) -> Box<dyn LoopPolicy> {
        let chunk = if self.needs_unit() { Some(unit) } else { self.chunk };
        // The name is one of those that there are.
        loops::named(self.name, chunk).unwrap_or_else(|| Box::new(loops::Dynamic::new(unit)))
    }
}
