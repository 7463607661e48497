//! Which policies apply to a machine and a workload, and why others do not. Each policy decides
//! itself if it takes the machine.

use evenkeel_machine::Machine;
use evenkeel_policy::registry::{self, Trait};
use evenkeel_policy::{CoreStats, Directives, View, graph};
use serde::Serialize;

use crate::args::RunArgs;
use crate::error::{Failure, Result};
use crate::parse::{self, PolicySpec};
use crate::plan::{Chosen, Plan, choose};

/// Policies that are bounds computed in simulated time, and no schedulers.
fn bounds() -> impl Iterator<Item = &'static str> {
    registry::ENTRIES.iter().filter(|entry| entry.has(Trait::Bound)).map(|entry| entry.name)
}

/// A policy that does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub policy: String,
    pub why: String,
}

/// The plan: the policies named; or all of the operating system's, and for task graphs also all
/// that choose among tasks. Policies that refuse the machine are left out.
///
/// # Errors
/// Bad input; no policy is left.
pub fn plan(args: &RunArgs, among: Vec<PolicySpec>) -> Result<(Plan, Vec<LeftOut>)> {
    let mut left_out = Vec::new();
    let named = !among.is_empty();
    let specs = if named {
        among
    } else {
        let why =
            "it is a bound and no scheduler: it needs true speedup factors; name it with --among \
             to see it"
                .to_owned();
        left_out.extend(bounds().map(|bound| LeftOut { policy: bound.into(), why: why.clone() }));
        specs(
            registry::ENTRIES
                .iter()
                .filter(|entry| !entry.has(Trait::Bound))
                .map(|entry| entry.name),
        )?
    };
    let mut plan = Plan::new(args, specs, false)?;
    if !named && plan.sets.iter().flat_map(|set| &set.apps).any(|app| !app.graphs.is_empty()) {
        plan.policies.extend(choose(specs_of_graphs()?, &[])?);
    }
    let machine = &plan.used;
    plan.policies.retain(|policy| match refusal(policy, machine) {
        Ok(None) => true,
        Ok(Some(why)) => {
            left_out.push(LeftOut { policy: policy.label.clone(), why });
            false
        }
        // A policy that cannot be made fails where it is run, and is reported there.
        Err(_) => true,
    });
    if plan.policies.is_empty() {
        let reasons = left_out
            .iter()
            .map(|LeftOut { policy, why }| format!("{policy}: {why}"))
            .collect::<Vec<_>>();
        return Err(Failure::usage(format!("no policy applies: {}", reasons.join("; "))));
    }
    Ok((plan, left_out))
}

fn specs<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<PolicySpec>> {
    parse::policies(&names.collect::<Vec<_>>().join(",")).map_err(Failure::usage)
}

fn specs_of_graphs() -> Result<Vec<PolicySpec>> {
    specs(graph::names())
}

/// Why a policy refuses a machine; `None` if it does not.
pub fn refusal(policy: &Chosen, machine: &Machine) -> Result<Option<String>> {
    let cores = vec![CoreStats { online: true, ..CoreStats::default() }; machine.cores.len()];
    let view = View {
        now: evenkeel_machine::Nanos::ZERO,
        answer: 0,
        carried_out: 0,
        machine,
        schedutil: false,
        cores: &cores,
        threads: &[],
        live: &[],
        ran: &[],
        waiting: &[],
        affinity: &[],
    };
    Ok(policy.make()?.start(&view, &mut Directives::default()).err().map(|why| why.to_string()))
}
