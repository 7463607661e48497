//! Kinds of core in a line: `P:0-7=1024 E:8-15=512`.

use std::fmt;
use std::str::FromStr;

use crate::cpus::{CpuListError, parse_cpus, write_cpus};
use crate::model::{FULL_CAPACITY, MAX_KINDS, Machine};

/// Environment variable with such a line, for programs that do not read machine files.
pub const KINDS_VARIABLE: &str = "EVENKEEL_KINDS";

/// Kinds of core, fastest first, each with its speed and its CPUs.
///
/// Written and read as `name:cpus=capacity`, separated by blanks; the name and its colon are
/// optional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindList(pub Vec<ListedKind>);

/// A kind of core, as far as a line describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKind {
    /// `big`, `little`, `P`, `E`, …
    pub name: String,
    /// Speed relative to the fastest kind (1024), from 1.
    pub capacity: u32,
    /// Its CPUs, as numbered by the operating system, in the order of the machine.
    pub cpus: Vec<u32>,
}

/// Reason why a line is not a list of kinds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KindListError {
    /// Nothing, or more kinds than a machine may have.
    #[error("{0} kinds found, expected 1 to {MAX_KINDS}")]
    Kinds(usize),
    /// Not of the form.
    #[error("'{0}' found, expected name:cpus=capacity, as P:0-7=1024")]
    Form(String),
    /// Not a capacity.
    #[error("capacity '{0}' found, expected a whole number from 1 to {FULL_CAPACITY}")]
    Capacity(String),
    /// Not a list of CPUs.
    #[error(transparent)]
    Cpus(#[from] CpuListError),
}

impl FromStr for KindList {
    type Err = KindListError;

    fn from_str(line: &str) -> Result<Self, KindListError> {
        let form = |item: &str| KindListError::Form(item.to_owned());
        let mut all = String::new();
        let read = |(rank, item): (usize, &str)| {
            let (named, capacity) = item.rsplit_once('=').ok_or_else(|| form(item))?;
            let (name, list) = named.rsplit_once(':').unwrap_or(("", named));
            let cpus = parse_cpus(list)?;
            if cpus.is_empty() {
                return Err(form(item));
            }
            // All lists together reveal a CPU of two kinds.
            all.push_str(if all.is_empty() { "" } else { "," });
            all.push_str(list);
            let in_range = |capacity: &u32| (1..=FULL_CAPACITY).contains(capacity);
            let read = capacity.parse().ok().filter(in_range);
            let capacity = read.ok_or_else(|| KindListError::Capacity(capacity.to_owned()))?;
            let name = if name.is_empty() { format!("kind-{rank}") } else { name.to_owned() };
            Ok(ListedKind { name, capacity, cpus })
        };
        let mut kinds =
            line.split_ascii_whitespace().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        if !(1..=MAX_KINDS).contains(&kinds.len()) {
            return Err(KindListError::Kinds(kinds.len()));
        }
        parse_cpus(&all)?;
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.capacity));
        Ok(Self(kinds))
    }
}

impl fmt::Display for KindList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, ListedKind { name, capacity, cpus }) in self.0.iter().enumerate() {
            let between = if rank == 0 { "" } else { " " };
            let name: String =
                name.chars().map(|c| if c.is_whitespace() { '-' } else { c }).collect();
            write!(f, "{between}{name}:{}={capacity}", write_cpus(cpus.iter().copied()))?;
        }
        Ok(())
    }
}

impl From<&Machine> for KindList {
    fn from(machine: &Machine) -> Self {
        let kinds = machine.kinds.iter().enumerate().map(|(rank, kind)| {
            let cores = machine.cores.iter().filter(|core| core.kind.index() == rank);
            let cpus = cores.map(|core| core.cpu).collect();
            ListedKind { name: kind.name.clone(), capacity: kind.capacity, cpus }
        });
        Self(kinds.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<String, String> {
        line.parse::<KindList>().map(|kinds| kinds.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_that_is_written_reads_as_the_same_with_the_fastest_first() {
        assert_eq!(read("P:0-7=1024 E:8-15=512").as_deref(), Ok("P:0-7=1024 E:8-15=512"));
        assert_eq!(read(" 1=341   0=1024 ").as_deref(), Ok("kind-1:0=1024 kind-0:1=341"));
        assert_eq!(read("a:b:0=7").as_deref(), Ok("a:b:0=7"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = [
            ("", "0 kinds found, expected 1 to 8"),
            ("0-3", "'0-3' found, expected name:cpus=capacity, as P:0-7=1024"),
            ("P:=9", "'P:=9' found, expected name:cpus=capacity, as P:0-7=1024"),
            ("0=0", "capacity '0' found, expected a whole number from 1 to 1024"),
            ("0=1025", "capacity '1025' found, expected a whole number from 1 to 1024"),
            ("x=1024", "'x' found, expected CPU numbers and ranges, as 0-3,8"),
            ("0-1=1024 1=512", "CPU 1 twice found, expected each once"),
        ];
        wrong.iter().for_each(|(line, error)| assert_eq!(read(line), Err((*error).to_owned())));
    }
}
