//! Profiles of smaller runs, as policies use them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use evenkeel_files::machines;
use evenkeel_files::programs::{Context, load};
use evenkeel_machine::{Machine, Nanos};
use evenkeel_metrics::profile;
use evenkeel_model::Application;
use evenkeel_policy::{AppId, registry};
use evenkeel_sim::{Config, NoListener, Profile, run};

fn machine() -> Machine {
    machines::preset("amp-1f7s").unwrap()
}

fn made(spec: &str, size: f64) -> Vec<Application> {
    let machine = machine();
    load(spec, &Context { size, ..Context::new(&machine) }).unwrap()
}

fn profiled(spec: &str, size: f64) -> Profile {
    profile(&machine(), &made(spec, size), &Config::default()).unwrap()
}

fn makespan(spec: &str, prediction: &str, profile: Option<Profile>) -> Nanos {
    let mut policy =
        registry::make("age", &[("prediction".to_owned(), prediction.to_owned())]).unwrap();
    let config = Config { profile: profile.map(Arc::new), ..Config::default() };
    run(&machine(), &made(spec, 1.0), policy.as_mut(), &config, &mut NoListener).unwrap().makespan
}

#[test]
fn a_smaller_run_has_the_ratios_of_the_whole_one() {
    for spec in ["generated:symmetry=0.5", "generated:symmetry=0.5,barriers=8000"] {
        let (small, whole) = (profiled(spec, 0.1), profiled(spec, 1.0));
        let ratio = |thread: u32| {
            let of = |profile: &Profile| profile.distance(AppId(0), thread).unwrap().0 as f64;
            of(&small) / of(&whole)
        };
        for thread in 2..9 {
            assert!((ratio(thread) / ratio(1) - 1.0).abs() < 0.02, "{spec}: thread {thread}");
        }
        assert_eq!(small.distance(AppId(0), 9), None);
        assert_eq!(small.distance(AppId(1), 0), None);
    }
}

#[test]
fn distances_between_barriers_do_not_depend_on_how_many_there_are() {
    let [small, whole] =
        [0.1, 1.0].map(|size| profiled("generated:symmetry=0.5,barriers=8000", size));
    let of = |profile: &Profile| profile.distance(AppId(0), 3).unwrap().0 as f64;
    assert!((of(&small) / of(&whole) - 1.0).abs() < 0.02, "{} {}", of(&small), of(&whole));
}

#[test]
fn age_with_the_profile_of_a_tenth_comes_close_to_the_oracle_where_threads_differ() {
    let spec = "generated:threads=9,symmetry=0.5";
    let [equal, oracle] = ["equal", "oracle"].map(|prediction| makespan(spec, prediction, None));
    let with_profile = makespan(spec, "profile", Some(profiled(spec, 0.1)));
    assert!(oracle < equal, "{oracle} {equal}");
    assert!(
        with_profile.0 - oracle.0 < (equal.0 - oracle.0) / 2,
        "{with_profile}: {oracle} to {equal}"
    );
    assert_eq!(
        with_profile,
        makespan(spec, "profile", Some(profiled(spec, 0.1))),
        "the same twice"
    );
}

#[test]
fn a_profile_is_told_to_nobody_who_goes_by_the_true_distance() {
    let spec = "generated:threads=9,symmetry=0.5";
    let far_off = profiled("generated:threads=9,symmetry=0", 1.0);
    assert_eq!(makespan(spec, "oracle", Some(far_off)), makespan(spec, "oracle", None));
}
