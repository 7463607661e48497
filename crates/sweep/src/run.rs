//! Cases carried out: each on its machine, beside runs alone that its measures need.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evenkeel_files::programs::{self, Context};
use evenkeel_machine::Machine;
use evenkeel_metrics::{AloneCache, GraphRow, Record, Subject};
use evenkeel_model::Application;
use evenkeel_model::character::give_characters;
use evenkeel_policy::registry;
use evenkeel_sim::{Config, Estimator, NoListener};

use crate::axis::Value;
use crate::case::Case;
use crate::words::{self, Policy};

/// What cases share: machines, workloads, and runs of applications alone, each made once.
#[derive(Default)]
pub struct Runs {
    machines: Shared<(String, Option<String>), (Machine, Machine)>,
    workloads: Shared<String, Vec<Application>>,
    alone: AloneCache,
}

/// What has been made, by what it was made of. A failure is kept as well.
struct Shared<K, V>(Mutex<HashMap<K, Result<Arc<V>, String>>>);

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V> Shared<K, V> {
    fn get(&self, key: K, make: impl FnOnce() -> Result<V, String>) -> Result<Arc<V>, String> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&key) {
            return known.clone();
        }
        // Made without the lock: two that begin at once make it twice, and no other waits.
        let made = make().map(Arc::new);
        known().entry(key).or_insert(made).clone()
    }
}

impl Runs {
    /// The record of a case. A case that cannot be carried out has a record with the reason.
    #[must_use]
    pub fn carry_out(&self, case: &Case) -> Record {
        self.try_carry_out(case).unwrap_or_else(|error| failed(case, error))
    }

    fn try_carry_out(&self, case: &Case) -> Result<Record, String> {
        let text = |axis: &str| case.get(axis).map(ToString::to_string);
        let needed = |axis: &str| text(axis).ok_or_else(|| format!("no axis '{axis}'"));
        let (name, cores) = (needed("machine")?, text("cores"));
        let machines = self.machines.get((name.clone(), cores.clone()), || {
            let whole = evenkeel_files::machines::load(&name).map_err(|error| error.to_string())?;
            let used = match &cores {
                Some(cores) => whole.subset(cores).map_err(|error| error.to_string())?,
                None => whole.clone(),
            };
            Ok((whole, used))
        })?;
        let (whole, used) = &*machines;
        let mut policy = Policy::parse(&needed("policy")?)?;
        for (axis, value) in case.values() {
            if let Some((of, knob)) = axis.split_once('.')
                && of == policy.name
            {
                policy.set.push((knob.to_owned(), value.to_string()));
            }
        }
        let knobs = registry::knobs(&policy.system, &policy.set).map_err(|it| it.to_string())?;
        let mut config = Config {
            seed: whole_number(case, "seed")?.unwrap_or(Config::default().seed),
            ..Config::default()
        };
        if let Some(estimator) = text("estimator") {
            config.estimator = words::estimator(&estimator)?;
        }
        if let Some(governor) = text("governor") {
            config.governor = words::governor(&governor)?;
        }
        if let Some(graph) = policy.graph {
            graph.clone_into(&mut config.graph_policy);
        }
        let workloads = match case.get("workload") {
            Some(Value::Together(names)) => names.clone(),
            Some(name) => vec![name.to_string()],
            None => return Err("no axis 'workload'".to_owned()),
        };
        let apps = self.load(case, &workloads, (whole, used), &config)?;
        let alone = self.alone.measure(whole, used, &apps, &config).map_err(|it| it.to_string())?;
        let mut made = registry::make_with_seed(&policy.system, &policy.set, config.seed)
            .map_err(|error| error.to_string())?;
        let outcome = evenkeel_sim::run(used, &apps, made.as_mut(), &config, &mut NoListener)
            .map_err(|error| error.to_string())?;
        let subject = Subject {
            machine: used,
            policy: &policy.name,
            knobs: &knobs,
            workloads: &workloads,
            seed: config.seed,
        };
        // Host time would make each run another one.
        let record = subject.record(&outcome, &alone, false, Duration::ZERO);
        let graph = match apps.as_slice() {
            [app] => GraphRow::of(used, app, &config.graph_policy, outcome.makespan),
            _ => None,
        };
        Ok(Record { graph, ..record })
    }

    /// The applications of workloads that run together.
    fn load(
        &self,
        case: &Case,
        workloads: &[String],
        (whole, used): (&Machine, &Machine),
        config: &Config,
    ) -> Result<Arc<Vec<Application>>, String> {
        let size = match case.get("size") {
            None => 1.0,
            Some(Value::Number(size)) => *size,
            Some(Value::Whole(size)) => *size as f64,
            Some(other) => return Err(format!("size {other} found, expected a number")),
        };
        let threads = match whole_number(case, "workers")? {
            Some(workers) => Some(u32::try_from(workers).map_err(|error| error.to_string())?),
            None => None,
        };
        let by_counters = matches!(config.estimator, Estimator::Trained(_));
        let machine = [case.get("machine"), case.get("cores")].map(|it| it.map(Value::to_string));
        let key =
            format!("{machine:?} {workloads:?} {size} {threads:?} {} {by_counters}", config.seed);
        self.workloads.get(key, || {
            let context = Context { size, threads, seed: config.seed, ..Context::new(used) };
            let mut apps = Vec::new();
            for name in workloads {
                apps.extend(programs::load(name, &context).map_err(|error| error.to_string())?);
            }
            if by_counters {
                let given = give_characters(&mut apps, whole, config.seed);
                given.ok_or("not all kinds of the machine say how they are built")?;
            }
            Ok(apps)
        })
    }
}

fn whole_number(case: &Case, axis: &str) -> Result<Option<u64>, String> {
    match case.get(axis) {
        None => Ok(None),
        Some(Value::Whole(number)) if *number >= 0 => Ok(Some(*number as u64)),
        Some(other) => Err(format!("{axis} {other} found, expected a whole number, 0 or more")),
    }
}

/// The record of a case that could not be carried out.
fn failed(case: &Case, error: String) -> Record {
    let text = |axis: &str| case.get(axis).map(ToString::to_string).unwrap_or_default();
    Record {
        machine: text("machine"),
        policy: text("policy"),
        workloads: vec![text("workload")],
        error: Some(error),
        ..Record::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    fn records(text: &str) -> Vec<Record> {
        let grid = Grid::parse(text, "grid.toml").unwrap();
        let runs = Runs::default();
        grid.cases().map(|case| runs.carry_out(&case)).collect()
    }

    #[test]
    fn a_case_is_what_the_same_flags_of_simulate_are() {
        let records = records(
            "[axes]\nmachine = \"quickia\"\nworkload = [[\"mcf\", \"gobmk\"]]\n\
             policy = [\"acfs:uf=1.2\", \"hsp\"]\nsize = 0.05\nseed = 3\n\
             \"acfs.swap\" = [200, 400]\n",
        );
        let of = |record: &Record| (record.policy.clone(), record.knobs.get("swap").cloned());
        assert_eq!(records.len(), 3);
        assert!(records.iter().all(|record| record.error.is_none() && record.seed == 3));
        assert_eq!(records[0].workloads, ["mcf", "gobmk"]);
        assert_ne!(of(&records[0]), of(&records[1]));
        assert!(records[0].knobs.contains_key("uf"));
        assert_ne!(records[0].migrations, records[2].migrations);
    }

    #[test]
    fn a_case_that_cannot_be_carried_out_has_the_reason_in_its_record() {
        let records = records(
            "[axes]\nmachine = [\"quickia\", \"no-such\"]\nworkload = \"mcf\"\n\
             policy = [\"acfs\", \"acfs:swop=1\"]\nsize = 0.01\n",
        );
        let errors: Vec<bool> = records.iter().map(|record| record.error.is_some()).collect();
        assert_eq!(errors, [false, true, true, true]);
        assert!(records[1].error.as_ref().unwrap().contains("swop"));
        assert!(records[2].error.as_ref().unwrap().contains("no-such"));
    }
}
