//! One case, made ready: its machine, workload and policy, and then its run.

use std::sync::Arc;
use std::time::Instant;

use evenkeel_machine::Machine;
use evenkeel_metrics::{Record, Run, Subject};
use evenkeel_policy::{Knobs, Policy, registry};
use evenkeel_sim::{Config, Listener};

use crate::axis::Value;
use crate::case::Case;
use crate::grid::is_knob_of;
use crate::run::{OnMachine, Runs, Workload, machine_key, needed, workload_key};
use crate::words::{self, PolicySpec};

/// Where the policy is that a case names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// In the registry.
    InRegistry,
    /// Nowhere: it is given with each run.
    Elsewhere,
}

/// A case that can be carried out.
pub struct Prepared {
    on: Arc<OnMachine>,
    workload: Arc<Workload>,
    names: Vec<String>,
    policy: PolicySpec,
    /// Of the operating system.
    system: String,
    knobs: Knobs,
    config: Config,
}

/// A case that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Its record.
    pub record: Record,
    /// Sentences for people, of its workloads and its policy.
    pub notes: Vec<String>,
}

impl Prepared {
    /// The part of the machine that it runs on.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.on.used
    }
}

impl Runs {
    /// Makes a case ready.
    ///
    /// # Errors
    /// It cannot be carried out; a sentence says why.
    pub fn prepare(&self, case: &Case, named: Named) -> Result<Prepared, String> {
        let machine = machine_key(case)?;
        let on = self.machine(&machine)?;
        let (policy, knobs) = policy_with_knobs(case, named)?;
        let (system, graph) = match named {
            Named::InRegistry => words::parts(&policy.name),
            Named::Elsewhere => (policy.name.as_str(), None),
        };
        let config = self.config(case)?;
        let key = workload_key(case, machine, &config)?;
        let workload = self.workload(&key, &on)?;
        let apps = &workload.apps;
        evenkeel_sim::check_estimator(&on.used, apps, &config).map_err(|it| it.to_string())?;
        if let Some(graph) = graph
            && apps.iter().all(|app| app.graphs.is_empty())
        {
            return Err(words::no_task_graph(&policy.label, graph, &key.names));
        }
        let config = match graph {
            Some(graph) => Config { graph_policy: graph.to_owned(), ..config },
            None => config,
        };
        let system = system.to_owned();
        Ok(Prepared { on, workload, names: key.names, policy, system, knobs, config })
    }

    /// True if its applications have been run alone, which its measures are relative to.
    #[must_use]
    pub fn knows_alone(&self, of: &Prepared) -> bool {
        self.has_alone(&of.workload, &of.config)
    }

    /// Runs its applications alone, if that has not been done, each with a listener that may end
    /// it. What fails then is told by its own run. False: a listener has ended one.
    pub fn measure_alone<L: Listener>(
        &self,
        of: &Prepared,
        listener: impl Fn() -> L + Sync,
    ) -> bool {
        self.alone_with(&of.workload, &of.on, &of.config, listener)
    }

    /// Carries it out, with a listener. A policy that is given takes the place of the case's own.
    /// `per_thread`: the record has figures of each thread.
    ///
    /// # Errors
    /// The run fails; a sentence says why.
    pub fn carry_out_prepared<L: Listener>(
        &self,
        of: &Prepared,
        given: Option<&mut dyn Policy>,
        per_thread: bool,
        listener: &mut L,
    ) -> Result<Done, String> {
        let Prepared { on, workload, names, policy, system, knobs, config } = of;
        // Runs alone are the same for all policies: they are what these are compared with.
        let alone = self.alone(workload, on, config)?;
        let run = Run {
            subject: Subject {
                machine: &on.used,
                policy: &policy.name,
                knobs,
                workloads: names,
                seed: config.seed,
            },
            system,
            set: &policy.set,
            apps: &workload.apps,
            config,
        };
        let start = Instant::now();
        let outcome = match given {
            Some(given) => run.carry_out_under(given, listener),
            None => run.carry_out(listener),
        };
        let outcome = outcome.map_err(|error| error.to_string())?;
        let of_workloads = workload.apps.iter().flat_map(|app| app.notes.iter().cloned());
        let notes = of_workloads.chain(outcome.notes.iter().cloned()).collect();
        let record = run.record(&outcome, &alone, per_thread, start.elapsed());
        Ok(Done { record, notes })
    }
}

/// The policy of a case, with all of its knobs.
fn policy_with_knobs(case: &Case, named: Named) -> Result<(PolicySpec, Knobs), String> {
    match named {
        Named::InRegistry => {
            let policy = policy(case)?;
            let knobs = registry::knobs(words::parts(&policy.name).0, &policy.set);
            Ok((policy, knobs.map_err(|error| error.to_string())?))
        }
        Named::Elsewhere => {
            let name = needed(case, "policy")?;
            let policy = PolicySpec { label: name.clone(), name, set: Vec::new() };
            Ok((policy, Knobs::default()))
        }
    }
}

/// The policy of a case, with its knobs: those given with its name, then those of axes.
pub(crate) fn policy(case: &Case) -> Result<PolicySpec, String> {
    let named = needed(case, "policy")?;
    let mut policy = words::policy(&named)?;
    let named = Value::Word(named);
    for (axis, value) in case.values() {
        if let Some((_, knob)) = axis.split_once('.')
            && is_knob_of(&named, axis)
        {
            policy.set.push((knob.to_owned(), value.to_string()));
        }
    }
    Ok(policy)
}
