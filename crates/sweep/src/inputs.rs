//! Machines and workloads that a grid names and that are in memory, in place of files.

use evenkeel_files::{machines, programs};
use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

use crate::case::hex;

/// Machines and workloads in memory, by the name that a grid has for them. They come before files
/// and built-in ones of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    machines: IndexMap<String, String>,
    workloads: IndexMap<String, Vec<u8>>,
}

impl Inputs {
    /// With a machine, in the format of machine files.
    #[must_use]
    pub fn with_machine(mut self, name: &str, text: String) -> Self {
        self.machines.insert(machines::canonical(name), text);
        self
    }

    /// With a workload, in any format that files have.
    #[must_use]
    pub fn with_workload(mut self, name: &str, bytes: Vec<u8>) -> Self {
        self.workloads.insert(programs::canonical(name), bytes);
        self
    }

    /// A machine's text.
    pub(crate) fn machine(&self, name: &str) -> Option<&str> {
        if self.machines.is_empty() {
            return None;
        }
        self.machines.get(&machines::canonical(name)).map(String::as_str)
    }

    /// A workload's bytes.
    pub(crate) fn workload(&self, name: &str) -> Option<&[u8]> {
        if self.workloads.is_empty() {
            return None;
        }
        self.workloads.get(&programs::canonical(name)).map(Vec::as_slice)
    }

    /// What a name of an axis is called in messages, and its SHA-256; `None`: it is not in memory.
    pub(crate) fn digest(&self, axis: &str, name: &str) -> Option<(String, String)> {
        let bytes = match axis {
            "machine" => self.machine(name).map(str::as_bytes),
            "workload" => self.workload(name),
            _ => None,
        };
        bytes.map(|bytes| (format!("{axis} {name}"), hex(&Sha256::digest(bytes))))
    }
}
