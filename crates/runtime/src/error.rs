//! Why there is no pool.

use std::error::Error as _;
use std::fmt;

#[cfg(feature = "machine-files")]
use evenkeel_files::machines::MachineError;
use evenkeel_machine::KindListError;
use evenkeel_policy::graph::UnknownGraphPolicy;
use evenkeel_policy::loops::LoopError;

/// Why a pool could not be made.
///
/// `Debug` says the same as `Display`, and the causes: it is what a `main` that returns it ends
/// with.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The machine asked for is not one.
    #[cfg(feature = "machine-files")]
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A machine is asked for by its name, and names are not known: the feature `machine-files` is
    /// off.
    #[error(
        "machine '{0}': this program was built without evenkeel-runtime's feature machine-files; \
         expected the kinds of core in EVENKEEL_KINDS, as 'P:0-7=1024 E:8-15=512'"
    )]
    NoMachineFiles(String),
    /// The list of kinds of core is not valid.
    #[error(transparent)]
    Kinds(#[from] KindListError),
    /// None of the machine's cores is one that this process may use.
    #[error(
        "{machine}: none of its CPUs ({cpus}) may be used by this process, expected one of \
         {allowed}"
    )]
    Elsewhere {
        /// The machine, by name, or where its kinds are stated.
        machine: String,
        /// CPUs of the machine, as a list.
        cpus: String,
        /// CPUs that this process may use, as a list.
        allowed: String,
    },
    /// No worker, or more than there can be.
    #[error("{found} workers asked for, expected 1 to {most}")]
    Workers {
        /// As asked for.
        found: String,
        /// The most that there can be.
        most: usize,
    },
    /// The value of an environment variable is not valid.
    #[error("{variable}: {source}")]
    Variable {
        /// Which.
        variable: &'static str,
        /// Why.
        source: Box<Self>,
    },
    /// No such policy for tasks as they come.
    #[error("no policy '{name}' for tasks; there are {has}")]
    NoPolicy {
        /// As asked for.
        name: String,
        /// The policies that there are.
        has: &'static str,
    },
    /// No such policy for recorded graphs.
    #[error(transparent)]
    Policy(#[from] UnknownGraphPolicy),
    /// A policy that plans whole graphs, for tasks that come one by one.
    #[error(
        "'{name}' plans whole graphs: record one and name it there (Pool::record_with); for tasks \
         as they come expected one of {has}"
    )]
    PlansGraphs {
        /// As asked for.
        name: String,
        /// The policies that there are for tasks as they come.
        has: &'static str,
    },
    /// No such schedule for loops.
    #[error(transparent)]
    Schedule(#[from] LoopError),
    /// An environment variable (`EVENKEEL_SUMMARY`, `EVENKEEL_LEND`) is neither 0 nor 1.
    #[error("{variable}: '{found}' found, expected 0 or 1")]
    Flag {
        /// Which.
        variable: &'static str,
        /// As found.
        found: String,
    },
    /// An environment variable that is not text.
    #[error("{0}: no text found")]
    NoText(&'static str),
    /// The system gives no thread.
    #[error("worker {worker}: no thread to be had: {source}")]
    Thread {
        /// Which of them.
        worker: usize,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl fmt::Debug for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut said = self.to_string();
        let mut cause = self.source();
        while let Some(it) = cause {
            // Most say their cause themselves.
            let text = it.to_string();
            if !said.contains(&text) {
                write!(f, ": {text}")?;
                said = text;
            }
            cause = it.source();
        }
        Ok(())
    }
}
