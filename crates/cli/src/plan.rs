//! From the command line to runs: plans which workloads run on which machine under which policies,
//! and carries runs out.

use std::sync::Arc;
use std::time::Instant;

use evenkeel_files::programs;
use evenkeel_machine::Machine;
use evenkeel_metrics::{AloneCache, Record, Run, Subject, profile};
use evenkeel_model::Application;
use evenkeel_model::character::give_characters;
use evenkeel_policy::{Interest, Knobs, Policy, registry};
use evenkeel_sim::{Config, Estimator, Listener, Profile};
use evenkeel_sweep::words::{self, parts};
use indexmap::IndexSet;
use rayon::prelude::*;

use crate::args::{RunArgs, ScaleArgs};
use crate::commands::{machines, workloads};
use crate::error::{Failure, Result, causes, say};
use crate::parse::{PolicySpec, Setting};
use crate::proportion::{self, Size};

/// Everything that one command runs: each set of applications under each policy.
pub struct Plan {
    /// The machine as named.
    whole: Machine,
    /// The part of it that is used.
    pub used: Machine,
    /// Applications that run together.
    pub sets: Vec<Set>,
    /// The policies to run them under.
    pub policies: Vec<Chosen>,
    config: Config,
    per_thread: bool,
    /// True if every workload is run for itself.
    each: bool,
    alone: Arc<AloneCache>,
}

/// Applications that run together.
pub struct Set {
    /// As asked for.
    pub workloads: Vec<String>,
    /// What they are.
    pub apps: Vec<Application>,
    /// The profile of a run of them with other inputs, if one was asked for.
    profile: Option<Arc<Profile>>,
}

/// A policy with its knobs.
#[derive(Clone)]
pub struct Chosen {
    /// As asked for.
    pub label: String,
    /// Name without knobs.
    name: String,
    /// The policy of the operating system.
    system: String,
    /// The policy by which workers choose tasks of graphs, if one was asked for.
    graph: Option<&'static str>,
    set: Vec<(String, String)>,
    knobs: Knobs,
}

impl Chosen {
    /// Its name, without knobs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The policy for task graphs that it names.
    pub fn graph(&self) -> Option<&'static str> {
        self.graph
    }

    /// The policy of the operating system.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Its knobs, all of them.
    pub fn knobs(&self) -> &Knobs {
        &self.knobs
    }

    /// Makes the policy.
    ///
    /// # Errors
    /// None for a policy from [`choose`], which has checked it.
    pub fn make(&self) -> Result<Box<dyn Policy>> {
        registry::make(&self.system, &self.set).map_err(Failure::input)
    }
}

/// A run that is over.
pub struct Finished {
    /// The run's record.
    pub record: Record,
    /// The policy's notes for people.
    pub notes: Vec<String>,
}

/// The name of the machine.
///
/// # Errors
/// None is given.
fn named_machine(args: &RunArgs) -> Result<&str> {
    let Some(name) = &args.machine else {
        let known = evenkeel_files::machines::presets()
            .iter()
            .map(|preset| preset.name)
            .collect::<Vec<_>>()
            .join(", ");
        return Err(Failure::usage(format!(
            "no machine: give -m with a file, here for this machine, or one of {known}"
        )));
    };
    Ok(name)
}

/// Checks that workloads are named, each for itself.
///
/// # Errors
/// None is named, or a name lists several.
fn check_named(workloads: &[String]) -> Result {
    if workloads.is_empty() {
        return Err(Failure::usage(
            "no workload: give -w with a name or a file; `evenkeel workloads` lists what is built \
             in",
        ));
    }
    let listed = |name: &&String| {
        name.contains(',') && !name.contains(':') && !std::path::Path::new(name).exists()
    };
    if let Some(list) = workloads.iter().find(listed) {
        let each =
            list.split(',').map(|name| format!("-w {}", name.trim())).collect::<Vec<_>>().join(" ");
        return Err(Failure::usage(format!("no workload '{list}': for several give {each}")));
    }
    Ok(())
}

/// The applications of workloads by name, made for a machine.
fn load(names: &[String], scale: &ScaleArgs, machine: &Machine) -> Result<Vec<Application>> {
    let apps = names
        .iter()
        .map(|name| workloads::load(name, scale, machine))
        .collect::<Result<Vec<_>>>()?;
    Ok(apps.into_iter().flatten().collect())
}

/// How far a factor may be from what a phase states before it is said.
const FAR: f64 = 0.05;
/// The same for a speed.
const FAR_SPEED: f64 = 0.5;

/// Gives phases without a character one of the same factor; what is to be said where none is near.
fn characterise(apps: &mut [Application], machine: &Machine, seed: u64) -> Result<Option<String>> {
    let nearness = give_characters(apps, machine, seed)
        .ok_or_else(|| Failure::usage(words::no_microarchitecture(&machine.name)))?;
    let is_far = nearness.factor > FAR || nearness.speed > FAR_SPEED;
    Ok(is_far.then(|| {
        format!(
            "--characters: no generated program is nearer to some of {} phases: factors are up to \
             {:.0} %, speeds on the slowest kind up to {:.0} % off what they state",
            nearness.phases,
            nearness.factor * 100.0,
            nearness.speed * 100.0
        )
    }))
}

impl Plan {
    /// Reads what the command line names. With `each` every workload is run for itself.
    ///
    /// # Errors
    /// A name that does not exist, or things that do not fit together.
    pub fn new(args: &RunArgs, specs: Vec<PolicySpec>, each: bool) -> Result<Self> {
        let name = named_machine(args)?;
        check_named(&args.workloads)?;
        let policies = choose(specs, &args.settings)?;
        let named = machines::load(name)?;
        let whole = if args.free_costs { named.with_free_costs() } else { named };
        let used = machines::part(&whole, args.cores.as_deref())?;
        let config = Config {
            seed: args.scale.seed,
            estimator: args.estimator.clone(),
            governor: args.governor,
            decision_latency: args.decision_latency,
            link: args.link,
            duration: args.duration,
            ..Config::default()
        };
        // The model first, before anything is said of workloads.
        evenkeel_sim::check_estimator(&used, &[], &config).map_err(Failure::input)?;
        let mut plan = Self {
            whole,
            used,
            sets: Vec::new(),
            policies,
            config,
            per_thread: args.threads,
            each,
            alone: Arc::default(),
        };
        let mut said = IndexSet::new();
        if let Estimator::Trained(model) = &plan.config.estimator {
            said.insert(format!("speedup factors: {model}"));
        }
        plan.sets = plan.load_sets(args, &mut said)?;
        say_notes(&said);
        Ok(plan)
    }

    /// The same with other seeds, this one first: so many, counted up.
    ///
    /// # Errors
    /// A seed beyond what there is; a workload that cannot be made with it.
    pub fn with_seeds(self, args: &RunArgs, seeds: Option<u32>) -> Result<Vec<Self>> {
        let mut plans = vec![self];
        for more in 1..u64::from(seeds.unwrap_or(1)) {
            let first = &plans[0];
            let seed = first.config.seed.checked_add(more).ok_or_else(|| {
                Failure::usage(format!("--seeds: no seed is greater than {}", u64::MAX))
            })?;
            let mut args = args.clone();
            args.scale.seed = seed;
            let mut plan = Self {
                whole: first.whole.clone(),
                used: first.used.clone(),
                sets: Vec::new(),
                policies: first.policies.clone(),
                config: Config { seed, ..first.config.clone() },
                per_thread: first.per_thread,
                each: first.each,
                alone: Arc::clone(&first.alone),
            };
            // What there is to say has been said of the first.
            plan.sets = plan.load_sets(&args, &mut IndexSet::new())?;
            plans.push(plan);
        }
        Ok(plans)
    }

    /// Applications that run together, as many sets as there are.
    fn load_sets(&self, args: &RunArgs, said: &mut IndexSet<String>) -> Result<Vec<Set>> {
        let names: Vec<String> =
            args.workloads.iter().map(|name| programs::canonical(name)).collect();
        if !self.each {
            return Ok(vec![self.load_set(args, &names, said)?]);
        }
        names.iter().map(|name| self.load_set(args, std::slice::from_ref(name), said)).collect()
    }

    fn load_set(
        &self,
        args: &RunArgs,
        names: &[String],
        said: &mut IndexSet<String>,
    ) -> Result<Set> {
        let has_characters =
            args.characters || matches!(self.config.estimator, Estimator::Trained(_));
        let mut load = |scale: &ScaleArgs| -> Result<Vec<Application>> {
            let mut apps = load(names, scale, &self.used)?;
            if has_characters {
                said.extend(characterise(&mut apps, &self.whole, scale.seed)?);
            }
            Ok(apps)
        };
        let apps = load(&args.scale)?;
        evenkeel_sim::check_estimator(&self.used, &apps, &self.config).map_err(Failure::input)?;
        let set = Set { workloads: names.to_vec(), apps, profile: None };
        check_graphs(&set, &self.policies)?;
        let Some(size) = args.profile_from else { return Ok(set) };
        let small = load(&ScaleArgs { size, ..args.scale.clone() })?;
        let profile = profile(&self.used, &small, &self.config);
        let profile = profile.map_err(|error| Failure::Failed(error.into()))?;
        Ok(Set { profile: Some(Arc::new(profile)), ..set })
    }

    /// Says on stderr if the runs of so many such plans, `jobs` at a time, take long, and why.
    pub fn warn_of_length(&self, plans: usize, jobs: usize) {
        let sizes: Vec<Size> = self
            .sets
            .iter()
            .map(|set| Size::of(&set.apps, &self.used, self.config.duration))
            .collect();
        if let Some(warning) = proportion::warning(&sizes, self.policies.len() * plans, jobs) {
            say("warning", &warning);
        }
    }

    /// Carries out the runs alone that all sets need, as many at a time as there are threads. A run
    /// that fails is repeated where it is needed, and reported there.
    pub fn measure_alone(&self) {
        self.sets.par_iter().for_each(|set| {
            drop(self.alone.measure(&self.whole, &self.used, &set.apps, &self.config))
        });
    }

    /// Carries out one run, and beside it those runs alone that its measures need and that are not
    /// yet done.
    pub fn carry_out<L: Listener + Send>(
        &self,
        set: &Set,
        policy: &Chosen,
        listener: &mut L,
    ) -> Finished {
        let mut config = Config { profile: set.profile.clone(), ..self.config.clone() };
        if let Some(graph) = policy.graph {
            graph.clone_into(&mut config.graph_policy);
        }
        let run = Run {
            subject: Subject {
                machine: &self.used,
                policy: &policy.name,
                knobs: &policy.knobs,
                workloads: &set.workloads,
                seed: self.config.seed,
            },
            system: &policy.system,
            set: &policy.set,
            apps: &set.apps,
            config: &config,
        };
        let (alone, (outcome, wall)) = rayon::join(
            || self.alone.measure(&self.whole, &self.used, &set.apps, &self.config),
            || {
                let start = Instant::now();
                (run.carry_out(listener), start.elapsed())
            },
        );
        let done = outcome.and_then(|outcome| Ok((outcome, alone?)));
        match done {
            Ok((outcome, alone)) => Finished {
                record: run.record(&outcome, &alone, self.per_thread, wall),
                notes: outcome.notes.iter().map(|note| of(&policy.name, note)).collect(),
            },
            Err(error) => {
                let error = causes(&error.into());
                Finished { record: run.failure(error, wall), notes: Vec::new() }
            }
        }
    }

    /// Notes on what was accepted but has no meaning here, or another one than it may seem to have;
    /// each once.
    pub fn notes(&self) -> IndexSet<String> {
        let apps = self.sets.iter().flat_map(|set| &set.apps);
        let of_workloads = apps.flat_map(|app| app.notes.iter().map(|note| of(&app.name, note)));
        of_workloads.chain(self.notes_of_profiles()).collect()
    }

    /// Notes on a profile that no policy uses, and on policies that lack their profile.
    fn notes_of_profiles(&self) -> Vec<String> {
        let takes_one =
            |policy: &&Chosen| policy.make().is_ok_and(|it| it.interest().wants(Interest::PROFILE));
        let takers: Vec<_> = self.policies.iter().filter(takes_one).collect();
        if self.sets.iter().any(|set| set.profile.is_some()) {
            let idle = takers.is_empty();
            return idle
                .then(|| "--profile-from: no policy here goes by a profile".to_owned())
                .into_iter()
                .collect();
        }
        let knows_all = self.config.estimator == Estimator::Oracle;
        let without = takers.into_iter().filter(|_| knows_all);
        without
            .map(|it| of(&it.label, "goes by true distances: a profile is made by --profile-from"))
            .collect()
    }
}

/// Refuses policies that choose among tasks if no application has a task graph.
fn check_graphs(set: &Set, policies: &[Chosen]) -> Result {
    let Some((policy, name)) = policies.iter().find_map(|policy| Some((policy, policy.graph?)))
    else {
        return Ok(());
    };
    if set.apps.iter().any(|app| !app.graphs.is_empty()) {
        return Ok(());
    }
    Err(Failure::usage(words::no_task_graph(&policy.label, name, &set.workloads)))
}

/// A note with the name of its subject in front, unless the note has it already.
fn of(name: &str, note: &str) -> String {
    if note.starts_with(name) { note.to_owned() } else { format!("{name}: {note}") }
}

/// Says each note once on stderr, in the order in which they came up.
pub fn say_notes(notes: &IndexSet<String>) {
    notes.iter().for_each(|note| say("note", note));
}

/// Policies with their knobs. A knob set for one policy overrides one set for all, and a knob given
/// with the policy overrides both.
///
/// # Errors
/// A policy or a knob that is not there.
pub fn choose(specs: Vec<PolicySpec>, settings: &[Setting]) -> Result<Vec<Chosen>> {
    let names: Vec<_> = specs.iter().map(|spec| spec.name.clone()).collect();
    let mut chosen = Vec::with_capacity(specs.len());
    let mut used = vec![false; settings.len()];
    for PolicySpec { label, name, set: in_place } in specs {
        let (system, graph) = parts(&name);
        let system = system.to_owned();
        let known = registry::knobs(&system, &[]).map_err(Failure::input)?;
        let has = |knob: &str| known.iter().any(|(name, _)| name == knob);
        let mut set = Vec::new();
        for for_one in [false, true] {
            for (index, setting) in settings.iter().enumerate() {
                let meant = match &setting.policy {
                    // With a single policy no check is needed here: it refuses knobs that it does
                    // not have.
                    None => !for_one && (names.len() == 1 || has(&setting.knob)),
                    Some(policy) => for_one && (*policy == name || *policy == system),
                };
                if meant {
                    used[index] = true;
                    set.push((setting.knob.clone(), setting.value.clone()));
                }
            }
        }
        set.extend(in_place);
        let knobs = registry::knobs(&system, &set).map_err(Failure::input)?;
        chosen.push(Chosen { label, name, system, graph, set, knobs });
    }
    let Some((setting, _)) = settings.iter().zip(used).find(|(_, used)| !used) else {
        return Ok(chosen);
    };
    let asked = names.join(", ");
    Err(Failure::usage(match &setting.policy {
        Some(policy) => {
            format!("--set {policy}.{}: {policy} is not among the policies {asked}", setting.knob)
        }
        None => format!("--set {}: none of the policies {asked} has such a knob", setting.knob),
    }))
}
