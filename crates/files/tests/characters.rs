//! Characters for phases that state a factor alone, on the machines that ship.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines;
use evenkeel_files::programs::{self, Context};
use evenkeel_model::character::give_characters;
use evenkeel_model::{Application, Phase};

fn phases(apps: &[Application]) -> impl Iterator<Item = &Phase> {
    apps.iter().flat_map(|app| &app.phases)
}

#[test]
fn the_fairness_studys_programs_keep_their_factors_and_their_speeds_on_quickia() {
    let machine = machines::preset("quickia").unwrap();
    let slow = machine.slowest();
    for name in ["4STH", "2STH-2STL_B", "mcf", "libquantum", "astar", "lbm", "gcc"] {
        let stated = programs::load(name, &Context::new(&machine)).unwrap();
        let mut given = stated.clone();
        let nearness = give_characters(&mut given, &machine, 1).unwrap();
        assert_eq!(nearness.phases, phases(&given).count());
        for (stated, given) in phases(&stated).zip(phases(&given)) {
            let ratio = given.speedup_factor(&machine) / stated.speedup_factor(&machine);
            let slower = given.top_speed(&machine, slow) / stated.top_speed(&machine, slow);
            assert!((ratio - 1.0).abs() < 0.0204, "{}: {ratio}", stated.name);
            assert!((ratio - 1.0).abs() <= nearness.factor + 1e-9);
            assert!((slower - 1.0).abs() <= nearness.speed + 1e-9);
            assert!(nearness.speed < 0.4, "{}: {slower}", stated.name);
        }
    }
}

#[test]
fn a_factor_that_no_program_has_is_told_as_far_off() {
    let machine = machines::preset("amd-2b10s").unwrap();
    let mut apps = programs::load("W1", &Context::new(&machine)).unwrap();
    let nearness = give_characters(&mut apps, &machine, 1).unwrap();
    assert!((0.4..1.0).contains(&nearness.factor), "{nearness:?}");
}

#[test]
fn work_in_time_is_given_no_character() {
    let machine = machines::preset("quickia").unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/rtapp-mixed.json");
    let mut apps = programs::load(path, &Context::new(&machine)).unwrap();
    let before = apps.clone();
    assert_eq!(give_characters(&mut apps, &machine, 1).unwrap().phases, 0);
    assert_eq!(apps, before);
}

#[test]
fn a_phase_with_a_character_keeps_it_and_a_machine_that_says_nothing_gives_none() {
    let machine = machines::preset("quickia").unwrap();
    let mut apps = programs::load("mcf", &Context::new(&machine)).unwrap();
    give_characters(&mut apps, &machine, 1).unwrap();
    let before = apps.clone();
    assert_eq!(give_characters(&mut apps, &machine, 2).unwrap().phases, 0);
    assert_eq!(apps, before);
    let silent = machines::preset("pixel6").unwrap();
    let mut apps = programs::load("mcf", &Context::new(&silent)).unwrap();
    assert_eq!(give_characters(&mut apps, &silent, 1), None);
    assert!(phases(&apps).all(|phase| phase.character.is_none()));
}
