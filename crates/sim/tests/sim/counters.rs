//! Factors that a model tells from counters: what it is asked with, when, and what policies see.

use std::sync::{Arc, LazyLock};

use evenkeel_estimate::training::{Method, Plan, train};
use evenkeel_estimate::{Model, Settings, generated};
use evenkeel_files::machines;
use evenkeel_files::programs::{self, Context};
use evenkeel_machine::{KindId, Machine, Nanos};
use evenkeel_model::Application;
use evenkeel_model::character::give_characters;
use evenkeel_policy::registry::{self, Trait};
use evenkeel_policy::{Directive, Directives, Event, Interest, Policy, StartError, View};
use evenkeel_sim::{Config, Estimator, Log, NoListener, Outcome, SimError, run};
use proptest::prelude::*;

use crate::support::free;

const SECOND: Nanos = Nanos(1_000_000_000);

/// Of generated programs, in so many sets of events.
fn model(sets: usize) -> Arc<Model> {
    let machine = free("quickia", "2big+2small");
    let plan = Plan {
        method: Method::Overall,
        most_sets: sets,
        most_metrics: usize::MAX,
        settings: Settings { stumps: 50, ..Settings::default() },
    };
    Arc::new(train(&generated::traces(&machine, 1, 30), &plan).unwrap().model)
}

static IN_ONE_SET: LazyLock<Arc<Model>> = LazyLock::new(|| model(1));
static IN_THREE_SETS: LazyLock<Arc<Model>> = LazyLock::new(|| model(3));

fn mix(machine: &Machine, name: &str, size: f64) -> Vec<Application> {
    let context = Context { size, ..Context::new(machine) };
    let mut apps = programs::load(name, &context).unwrap();
    give_characters(&mut apps, machine, 1).unwrap();
    apps
}

fn config(model: &Arc<Model>, duration: Nanos) -> Config {
    Config {
        estimator: Estimator::Trained(Arc::clone(model)),
        duration: Some(duration),
        ..Config::default()
    }
}

/// Does nothing but note the factors of the first thread, every 50 ms.
#[derive(Default)]
struct Notes {
    factors: Vec<f32>,
}

impl Policy for Notes {
    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn start(&mut self, _: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        say.say(Directive::Timer(Nanos::from_millis(50)));
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, _: &mut Directives) {
        if event == Event::Timer {
            self.factors.push(view.threads[0].speedup[KindId(0)]);
        }
    }
}

fn factors(cores: &str, app: &str, model: &Arc<Model>) -> Vec<f32> {
    let machine = free("quickia", cores);
    let mut notes = Notes::default();
    let apps = mix(&machine, app, 0.2);
    run(&machine, &apps, &mut notes, &config(model, Nanos(2 * SECOND.0)), &mut NoListener).unwrap();
    notes.factors
}

#[test]
fn a_thread_has_the_ratio_of_capacities_until_a_whole_round_has_been_counted() {
    let machine = free("quickia", "2big+2small");
    let capacities = (machine.kinds[0].top().capacity / machine.kinds[1].top().capacity) as f32;
    for (model, sets) in [(&IN_ONE_SET, 1), (&IN_THREE_SETS, 3)] {
        // The timer of an instant comes after its counters.
        let factors = factors("2big+2small", "hmmer", model);
        let first = factors.iter().position(|&it| it != capacities).unwrap();
        assert_eq!(first, sets * 4 - 1, "{factors:?}");
    }
}

#[test]
fn a_model_tells_the_same_of_a_steady_program_again_and_again_but_for_noise() {
    let factors = factors("2big+2small", "hmmer", &IN_ONE_SET);
    let told = &factors[4..];
    let mean = told.iter().sum::<f32>() / told.len() as f32;
    assert!(told.iter().all(|factor| (factor / mean - 1.0).abs() < 0.3), "{told:?}");
    assert!(told.iter().any(|factor| factor != &told[0]), "there is no noise: {told:?}");
}

#[test]
fn where_all_cores_are_of_one_kind_there_is_nothing_to_tell() {
    assert!(factors("2big", "hmmer", &IN_ONE_SET).iter().all(|&factor| factor == 1.0));
}

fn outcome(apps: &[Application], config: &Config, policy: &str) -> Result<Outcome, SimError> {
    let machine = free("quickia", "2big+2small");
    let mut policy = registry::make(policy, &[]).unwrap();
    run(&machine, apps, policy.as_mut(), config, &mut NoListener)
}

#[test]
fn work_without_a_character_and_a_model_for_other_kinds_are_refused_before_the_run() {
    let machine = free("quickia", "2big+2small");
    let with = |apps: &[Application], model: &Arc<Model>| {
        outcome(apps, &config(model, SECOND), "acfs").unwrap_err().to_string()
    };
    let plain = programs::load("hmmer", &Context::new(&machine)).unwrap();
    let expected = "hmmer: phase 'hmmer-1' has no character, by which counters are told; expected \
                    another estimator";
    assert_eq!(with(&plain, &IN_ONE_SET), expected);
    let mut other = Model::clone(&IN_ONE_SET);
    other.kinds = ["P", "E"].map(str::to_owned).to_vec();
    let expected = "the model is for the kinds P, E, and the machine has big, small";
    assert_eq!(with(&mix(&machine, "hmmer", 1.0), &Arc::new(other)), expected);
    let odd = machines::preset("pixel6").unwrap();
    let mut linux = registry::make("linux", &[]).unwrap();
    let config = config(&IN_ONE_SET, SECOND);
    let error = run(&odd, &plain, linux.as_mut(), &config, &mut NoListener).unwrap_err();
    assert!(error.to_string().contains("does not say how it is built"), "{error}");
}

#[test]
fn who_needs_no_factors_decides_as_if_nothing_was_counted() {
    let machine = free("quickia", "2big+2small");
    let apps = mix(&machine, "2STH-2STL", 0.1);
    let plain = Config { duration: Some(SECOND), ..Config::default() };
    let but_for_events = |outcome| format!("{:?}", Outcome { events: 0, ..outcome });
    let mut compared = 0;
    for entry in registry::ENTRIES.iter().filter(|entry| !entry.has(Trait::NeedsFactors)) {
        let Ok(told) = outcome(&apps, &config(&IN_ONE_SET, SECOND), entry.name) else { continue };
        compared += 1;
        let without = outcome(&apps, &plain, entry.name).unwrap();
        assert_eq!(but_for_events(told), but_for_events(without), "{}", entry.name);
    }
    assert!(compared >= 5, "{compared}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_run_that_counts_is_the_same_with_every_tick_and_again(
        name in prop::sample::select(vec!["4STH", "2STH-2STL", "soplex"]),
        policy in prop::sample::select(vec!["acfs", "hsp", "prop-sp", "eqp", "linux"]),
        seed: u64,
        in_turn: bool,
    ) {
        let machine = free("quickia", "2big+2small");
        let apps = mix(&machine, name, 0.02);
        let model = if in_turn { &IN_THREE_SETS } else { &IN_ONE_SET };
        let run = |every_tick| {
            let config = Config { seed, every_tick, ..config(model, Nanos(3 * SECOND.0)) };
            let mut log = Log::default();
            let mut policy = registry::make(policy, &[]).unwrap();
            let outcome = run(&machine, &apps, policy.as_mut(), &config, &mut log).unwrap();
            format!("{:?}", (Outcome { events: 0, ..outcome }, log))
        };
        let once = run(false);
        prop_assert_eq!(&once, &run(true));
        prop_assert_eq!(&once, &run(false));
    }
}
