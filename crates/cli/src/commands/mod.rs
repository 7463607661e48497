//! One room a command.

pub mod advise;
pub mod compare;
pub mod detect;
pub mod generate;
pub mod lab;
pub mod live;
pub mod machines;
mod page;
pub mod policies;
pub mod record;
pub mod reproduce;
mod runs;
pub mod sensors;
pub mod simulate;
pub mod vm;
pub mod workloads;

use crate::args::ShowCommand;
use crate::error::Result;

/// `evenkeel show`.
///
/// # Errors
/// What is asked for is not there.
pub fn show(what: &ShowCommand) -> Result {
    match what {
        ShowCommand::Machine { machine, cores, json } => machines::show(machine, cores.as_deref(), *json),
        ShowCommand::Workload { workload, machine, scale, export: true, .. } => {
            workloads::export(workload, machine, scale)
        }
        ShowCommand::Workload { workload, machine, scale, json, .. } => {
            workloads::show(workload, machine, scale, *json)
        }
        ShowCommand::Policy { policy, json } => policies::show(policy, *json),
    }
}
