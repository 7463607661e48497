//! Cases carried out: each on its machine, beside runs alone that its measures need.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_files::machines;
use evenkeel_files::programs::{self, Context};
use evenkeel_machine::Machine;
use evenkeel_metrics::{Alone, AloneCache, AloneError, Record};
use evenkeel_model::character::give_characters;
use evenkeel_model::{Application, Step};
use evenkeel_sim::{Config, Estimator, Listener, NoListener, SimError};

use crate::axis::Value;
use crate::case::Case;
use crate::inputs::Inputs;
use crate::prepared::Named;
use crate::shared::Shared;
use crate::words;

/// Most workloads that are kept: parts of all policies go through the same ones side by side, with
/// at most a thousand of them each. A large one counts as several. Ours.
const MOST_WORKLOADS: usize = 2_048;
/// A workload of so many steps counts as one. Ours.
const STEPS: usize = 256;
/// Most results of runs alone that are kept. Ours.
const MOST_ALONE: usize = 2_048;

/// What cases share: machines, workloads, and runs of applications alone, each made once.
pub struct Runs {
    inputs: Inputs,
    machines: Shared<MachineKey, OnMachine>,
    estimators: Shared<String, Estimator>,
    workloads: Shared<WorkloadKey, Arc<Workload>>,
    /// Workloads that are the same for all seeds; `None`: it is not.
    of_any_seed: Shared<WorkloadKey, Option<Arc<Workload>>>,
    alone: Shared<AloneKey, Vec<Alone>>,
    made: AtomicU64,
}

/// Applications that run together.
pub(crate) struct Workload {
    /// Another number for other applications.
    number: u64,
    pub apps: Vec<Application>,
    /// As how many it counts.
    weight: usize,
}

impl Workload {
    fn new(number: u64, apps: Vec<Application>) -> Self {
        fn count(steps: &[Step]) -> usize {
            let of = |step: &Step| match step {
                Step::Loop { body, .. } => 1 + count(body),
                _ => 1,
            };
            steps.iter().map(of).sum()
        }
        let programs = apps.iter().flat_map(|app| &app.programs);
        let steps: usize = programs.map(|program| count(&program.steps)).sum();
        let tasks = apps.iter().flat_map(|app| &app.graphs).map(|graph| graph.tasks.len());
        let threads = apps.iter().map(|app| app.threads.len());
        let all = steps + tasks.sum::<usize>() + threads.sum::<usize>();
        Self { number, apps, weight: 1 + all / STEPS }
    }
}

/// Name, part, and whether costs are taken away.
pub(crate) type MachineKey = (String, Option<String>, bool);

/// A machine, and the part of it that is used.
pub(crate) struct OnMachine {
    whole: Machine,
    pub used: Machine,
}

/// What a workload is made of.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct WorkloadKey {
    machine: MachineKey,
    pub names: Vec<String>,
    size: u64,
    threads: Option<u32>,
    seed: u64,
    has_characters: bool,
}

/// What runs alone depend on: the workload, by its number; governor, link, duration.
type AloneKey = (u64, String);

impl Default for Runs {
    fn default() -> Self {
        Self {
            inputs: Inputs::default(),
            machines: Shared::with_room(MOST_WORKLOADS, |_| 1),
            estimators: Shared::with_room(MOST_WORKLOADS, |_| 1),
            workloads: Shared::with_room(MOST_WORKLOADS, |workload| workload.weight),
            of_any_seed: Shared::with_room(MOST_WORKLOADS, |workload| {
                workload.as_ref().map_or(1, |workload| workload.weight)
            }),
            alone: Shared::with_room(MOST_ALONE, |_| 1),
            made: AtomicU64::new(0),
        }
    }
}

impl Runs {
    /// With machines and workloads in memory.
    #[must_use]
    pub fn with_inputs(inputs: Inputs) -> Self {
        Self { inputs, ..Self::default() }
    }

    /// The record of a case. A case that cannot be carried out has a record with the reason.
    #[must_use]
    pub fn carry_out(&self, case: &Case) -> Record {
        let carry_out = || {
            let prepared = self.prepare(case, Named::InRegistry)?;
            self.carry_out_prepared(&prepared, None, false, &mut NoListener)
        };
        match catch_unwind(AssertUnwindSafe(carry_out)) {
            Ok(Ok(done)) => done.record,
            Ok(Err(error)) => Self::failed(case, error),
            // A fault of ours costs this case, and not the other ones.
            Err(_) => Self::failed(case, "the simulator failed: please report it".to_owned()),
        }
    }

    /// The record of a case that could not be carried out.
    #[must_use]
    pub fn failed(case: &Case, error: String) -> Record {
        let workloads = match case.get("workload") {
            Some(Value::Together(names)) => names.clone(),
            other => other.iter().map(ToString::to_string).collect(),
        };
        Record {
            machine: word(case, "machine").unwrap_or_default(),
            policy: word(case, "policy").unwrap_or_default(),
            workloads,
            seed: whole_number(case, "seed").ok().flatten().unwrap_or(Config::default().seed),
            error: Some(error),
            ..Record::default()
        }
    }

    pub(crate) fn machine(&self, key: &MachineKey) -> Result<Arc<OnMachine>, String> {
        self.machines.get(key.clone(), || {
            let (name, cores, free_costs) = key;
            let named = match self.inputs.machine(name) {
                Some(text) => machines::parse(text, name),
                None => machines::load(name),
            };
            let named = named.map_err(|error| error.to_string())?;
            let whole = if *free_costs { named.with_free_costs() } else { named };
            let used = match cores {
                Some(cores) => whole.subset(cores).map_err(|error| error.to_string())?,
                None => whole.clone(),
            };
            Ok(OnMachine { whole, used })
        })
    }

    /// All that is set by words, but the policy for task graphs.
    pub(crate) fn config(&self, case: &Case) -> Result<Config, String> {
        let mut config = Config::default();
        if let Some(seed) = whole_number(case, "seed")? {
            config.seed = seed;
        }
        if let Some(text) = word(case, "estimator") {
            let estimator = self.estimators.get(text.clone(), || words::estimator(&text))?;
            config.estimator = Estimator::clone(&estimator);
        }
        if let Some(text) = word(case, "governor") {
            config.governor = words::governor(&text)?;
        }
        if let Some(text) = word(case, "decision-latency") {
            config.decision_latency = words::time(&text)?;
        }
        if let Some(text) = word(case, "duration") {
            config.duration = Some(words::time(&text)?);
        }
        if let Some(text) = word(case, "link") {
            config.link = Some(words::rate(&text)?);
        }
        Ok(config)
    }

    pub(crate) fn workload(
        &self,
        key: &WorkloadKey,
        on: &OnMachine,
    ) -> Result<Arc<Workload>, String> {
        let make = || {
            let (apps, has_chance) = self.load(key, on)?;
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            Ok::<_, String>((Arc::new(Workload::new(number, apps)), has_chance))
        };
        let mut of_this_seed = None;
        let any_seed = WorkloadKey { seed: 0, ..key.clone() };
        let of_any_seed = self.of_any_seed.get(any_seed, || {
            let (workload, has_chance) = make()?;
            if !has_chance {
                return Ok(Some(workload));
            }
            of_this_seed = Some(workload);
            Ok(None)
        })?;
        if let Some(workload) = &*of_any_seed {
            return Ok(Arc::clone(workload));
        }
        let workload = self.workloads.get(key.clone(), || match of_this_seed {
            Some(workload) => Ok(workload),
            None => Ok(make()?.0),
        })?;
        Ok(Arc::clone(&workload))
    }

    /// Where the runs alone of a workload are kept.
    fn alone_key(workload: &Workload, config: &Config) -> AloneKey {
        let Config { governor, link, duration, .. } = config;
        (workload.number, format!("{governor:?} {link:?} {duration:?}"))
    }

    /// True if a workload's applications have been run alone, or cannot be.
    pub(crate) fn has_alone(&self, workload: &Workload, config: &Config) -> bool {
        self.alone.has(&Self::alone_key(workload, config))
    }

    pub(crate) fn alone(
        &self,
        workload: &Workload,
        on: &OnMachine,
        config: &Config,
    ) -> Result<Arc<Vec<Alone>>, String> {
        self.alone.get(Self::alone_key(workload, config), || {
            let measured = measured(workload, on, config, || NoListener);
            measured.map_err(|error| error.to_string())
        })
    }

    /// Runs a workload's applications alone, if that has not been done, each with a listener that
    /// may end it. False: one has.
    pub(crate) fn alone_with<L: Listener>(
        &self,
        workload: &Workload,
        on: &OnMachine,
        config: &Config,
        listener: impl Fn() -> L + Sync,
    ) -> bool {
        if self.has_alone(workload, config) {
            return true;
        }
        let measured = measured(workload, on, config, listener);
        if matches!(measured, Err(AloneError::Run { source: SimError::Stopped, .. })) {
            return false;
        }
        let kept = || measured.map_err(|error| error.to_string());
        drop(self.alone.get(Self::alone_key(workload, config), kept));
        true
    }

    /// The applications, and whether chance played in making them.
    fn load(&self, key: &WorkloadKey, on: &OnMachine) -> Result<(Vec<Application>, bool), String> {
        let (size, seed) = (f64::from_bits(key.size), key.seed.into());
        let context = Context { size, threads: key.threads, seed, ..Context::new(&on.used) };
        let mut apps = Vec::new();
        for name in &key.names {
            let of_name = match self.inputs.workload(name) {
                Some(bytes) => programs::parse(bytes, name, &context),
                None => programs::load(name, &context),
            };
            apps.extend(of_name.map_err(|error| error.to_string())?);
        }
        if key.has_characters {
            let given = give_characters(&mut apps, &on.whole, key.seed);
            given.ok_or_else(|| words::no_microarchitecture(&on.whole.name))?;
        }
        Ok((apps, key.has_characters || context.seed.is_used()))
    }
}

/// A workload's applications, run alone. It is one reference for all policies, whichever is first:
/// those for task graphs, too.
fn measured<L: Listener>(
    workload: &Workload,
    on: &OnMachine,
    config: &Config,
    listener: impl Fn() -> L + Sync,
) -> Result<Vec<Alone>, AloneError> {
    let graph_policy = Config::default().graph_policy;
    let config = Config { graph_policy, ..config.clone() };
    let (whole, used) = (&on.whole, &on.used);
    AloneCache::default().measure_with(whole, used, &workload.apps, &config, listener)
}

pub(crate) fn machine_key(case: &Case) -> Result<MachineKey, String> {
    Ok((needed(case, "machine")?, word(case, "cores"), flag(case, "free-costs")?))
}

pub(crate) fn workload_key(
    case: &Case,
    machine: MachineKey,
    config: &Config,
) -> Result<WorkloadKey, String> {
    let size = match case.get("size") {
        None => 1.0,
        Some(Value::Number(size)) => *size,
        Some(Value::Whole(size)) => *size as f64,
        Some(other) => return Err(format!("size {other} found, expected a number")),
    };
    if size <= 0.0 || size > programs::MOST_SIZE {
        let most = programs::MOST_SIZE;
        return Err(format!("size {size} found, expected a number greater than 0, at most {most}"));
    }
    let threads = match whole_number(case, "workers")? {
        Some(workers @ 1..=65_536) => Some(workers as u32),
        Some(workers) => return Err(format!("workers {workers} found, expected 1 to 65536")),
        None => None,
    };
    let names = match case.get("workload") {
        Some(Value::Together(names)) => names.clone(),
        Some(name) => vec![name.to_string()],
        None => return Err("no workload".to_owned()),
    };
    let by_counters = matches!(config.estimator, Estimator::Trained(_));
    let has_characters = by_counters || flag(case, "characters")?;
    let (size, seed) = (size.to_bits(), config.seed);
    Ok(WorkloadKey { machine, names, size, threads, seed, has_characters })
}

fn word(case: &Case, axis: &str) -> Option<String> {
    case.get(axis).map(ToString::to_string)
}

pub(crate) fn needed(case: &Case, axis: &str) -> Result<String, String> {
    word(case, axis).ok_or_else(|| format!("no {axis}"))
}

pub(crate) fn flag(case: &Case, axis: &str) -> Result<bool, String> {
    match case.get(axis) {
        None => Ok(false),
        Some(Value::Flag(flag)) => Ok(*flag),
        Some(other) => Err(format!("{axis} '{other}' found, expected true or false")),
    }
}

fn whole_number(case: &Case, axis: &str) -> Result<Option<u64>, String> {
    match case.get(axis) {
        None => Ok(None),
        Some(Value::Whole(number)) if *number >= 0 => Ok(Some(*number as u64)),
        Some(other) => Err(format!("{axis} '{other}' found, expected a whole number, 0 or more")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::grid::Grid;

    fn records(text: &str) -> Vec<Record> {
        let grid = Grid::parse(text, "grid.toml", None).unwrap();
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
    }

    #[test]
    fn a_case_comes_out_the_same_whichever_case_was_carried_out_before_it() {
        let grid = |policies: &str| {
            let text = format!(
                "[axes]\nmachine = \"odroid-xu3\"\nworkload = \"stg-twelve\"\n\
                 policy = [{policies}]\n"
            );
            let records = records(&text);
            records.into_iter().map(|it| (it.policy.clone(), it.apps)).collect::<BTreeMap<_, _>>()
        };
        let forwards = grid("\"heft\", \"linux\", \"fifo\", \"linux+ldcp\"");
        assert_eq!(forwards, grid("\"linux+ldcp\", \"fifo\", \"linux\", \"heft\""));
        assert!(forwards.values().all(|apps| apps[0].slowdown.is_some()));
    }

    #[test]
    fn a_program_that_chance_makes_is_another_one_with_each_seed_and_the_others_are_not() {
        let records = records(
            "[axes]\nmachine = \"quickia\"\nworkload = [\"generated\", \"mcf\"]\npolicy = \"hsp\"\n\
             size = 0.01\nseed = [1, 2, 1000]\n",
        );
        let times: Vec<f64> = records.iter().map(|record| record.makespan_s).collect();
        assert!(times[0] != times[1] && times[1] != times[2] && times[0] != times[2], "{times:?}");
        assert!(times[3] == times[4] && times[4] == times[5], "{times:?}");
        let alone: Vec<f64> = records.iter().map(|record| record.apps[0].alone_fast_s).collect();
        assert!(alone[0] != alone[1] && alone[1] != alone[2], "{alone:?}");
    }

    #[test]
    fn a_case_that_cannot_be_carried_out_has_the_reason_in_its_record() {
        let records = records(
            "[axes]\nmachine = [\"quickia\", \"no-such\"]\nworkload = \"mcf\"\n\
             policy = [\"acfs\", \"acfs:swop=1\", \"heft\"]\nsize = 0.01\n",
        );
        let errors: Vec<bool> = records.iter().map(|record| record.error.is_some()).collect();
        assert_eq!(errors, [false, true, true, true, true, true]);
        let said = |place: usize| records[place].error.as_ref().unwrap();
        assert!(said(1).contains("swop") && said(3).contains("no-such"));
        assert!(said(2).contains("heft chooses among the tasks of a graph"));
    }
}
