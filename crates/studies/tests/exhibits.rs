//! Every experiment of every study, in a quick look: its tables are complete, its figures can be
//! drawn, and it gives the same result on any number of threads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use evenkeel_studies::{
    Cell, Exhibit, Figure, Reproduction, Runs, STUDIES, Shape, StudyError, find,
};

fn carried_out(study: &str, threads: usize) -> Reproduction {
    let study = find(study).unwrap();
    let experiments = study.chosen(&[]).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let carry_out =
        || study.carry_out(&experiments, &Runs::new(true, 1, &|_, _| ()), "a test", |_| ());
    pool.install(carry_out).unwrap()
}

#[test]
fn a_study_that_is_not_wanted_any_more_carries_out_no_other_run() {
    let study = find("acfs").unwrap();
    let experiments = study.chosen(&[3]).unwrap();
    let asked = AtomicU32::new(0);
    let goes_on = || asked.fetch_add(1, Ordering::Relaxed) < 2;
    let done = AtomicU32::new(0);
    let count = |_: u64, _: u64| {
        done.fetch_add(1, Ordering::Relaxed);
    };
    let runs = Runs::new(true, 1, &count).while_wanted(&goes_on);
    let ended = study.carry_out(&experiments, &runs, "a test", |_| ());
    assert!(matches!(ended, Err(StudyError::Stopped)));
    assert_eq!(done.into_inner(), 2);
}

#[track_caller]
fn is_whole_and_the_same_on_any_number_of_threads(study: &str) {
    let [one, three] = [1, 3].map(|threads| carried_out(study, threads));
    let text = |it: &Reproduction| serde_json::to_string(it).unwrap();
    assert!(text(&one) == text(&three), "{study}");
    for experiment in one.experiments {
        let what = format!("{study} {}", experiment.number);
        assert!(!experiment.tables.is_empty(), "{what} shows something");
        for exhibit in &experiment.tables {
            let what = format!("{what}, {}", exhibit.title);
            is_whole(exhibit, &what);
            for figure in &exhibit.figures {
                can_be_drawn(exhibit, figure, &format!("{what}, {}", figure.title));
            }
        }
    }
}

#[track_caller]
fn is_whole(exhibit: &Exhibit, what: &str) {
    assert!(!exhibit.title.is_empty() && !exhibit.rows.is_empty(), "{what}: a title, and rows");
    let names: BTreeSet<&str> = exhibit.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names.len(), exhibit.columns.len(), "{what}: columns have names of their own");
    for row in &exhibit.rows {
        assert_eq!(row.len(), exhibit.columns.len(), "{what}: rows are as long as the header");
    }
}

#[track_caller]
fn can_be_drawn(exhibit: &Exhibit, figure: &Figure, what: &str) {
    let column = |name: &String| {
        let place = exhibit.columns.iter().position(|column| column.name == *name);
        place.unwrap_or_else(|| panic!("{what}: there is no column {name}"))
    };
    let y: Vec<usize> = figure.y.iter().map(column).collect();
    assert!(
        !y.is_empty() && !figure.y_title.is_empty(),
        "{what}: something stands along the vertical axis"
    );
    assert!(figure.series.is_none() || y.len() == 1, "{what}: series are rows or columns");
    let figures = exhibit.rows.iter().flat_map(|row| y.iter().map(|&y| &row[y]));
    assert!(
        figures.clone().all(|cell| !matches!(cell, Cell::Text(_))),
        "{what}: what is drawn is figures"
    );
    assert!(
        figures.clone().any(|cell| matches!(cell, Cell::Number(_))),
        "{what}: there is something to draw"
    );

    let place = [Some(&figure.x), figure.panels.as_ref(), figure.series.as_ref()];
    let place: Vec<usize> = place.into_iter().flatten().map(column).collect();
    if figure.shape == Shape::Bars {
        let mut places = BTreeSet::new();
        for row in &exhibit.rows {
            let at = place.iter().map(|&column| format!("{:?}", row[column])).collect::<Vec<_>>();
            assert!(places.insert(at.clone()), "{what}: a bar hides another at {at:?}");
        }
    }
}

#[test]
fn amc_maturity() {
    is_whole_and_the_same_on_any_number_of_threads("amc-maturity");
}

#[test]
fn acfs() {
    is_whole_and_the_same_on_any_number_of_threads("acfs");
}

#[test]
fn age_based() {
    is_whole_and_the_same_on_any_number_of_threads("age-based");
}

#[test]
fn mclas() {
    is_whole_and_the_same_on_any_number_of_threads("mclas");
}

#[test]
fn experiments_are_numbered_from_1_and_say_what_they_are() {
    for study in STUDIES {
        for (place, experiment) in study.experiments.iter().enumerate() {
            assert_eq!(experiment.number as usize, place + 1, "{}", study.name);
            assert!(
                !experiment.title.is_empty() && !experiment.setting.is_empty(),
                "{} {}",
                study.name,
                place + 1
            );
        }
    }
}

#[test]
fn experiments_are_chosen_by_number_each_once_and_in_their_order() {
    let study = find("amc-maturity").unwrap();
    let numbers = |wanted: &[u32]| {
        study.chosen(wanted).map(|all| all.iter().map(|it| it.number).collect::<Vec<_>>())
    };
    assert_eq!(numbers(&[]), Ok(vec![1, 2, 3, 4]));
    assert_eq!(numbers(&[3, 1, 3]), Ok(vec![1, 3]));
    assert_eq!(numbers(&[2, 0]), Err(0));
}

#[test]
fn a_figure_that_is_not_there_is_null() {
    assert_eq!(
        serde_json::to_string(&[Cell::Missing, f64::NAN.into(), 1.5.into(), "a".into()]).unwrap(),
        "[null,null,1.5,\"a\"]"
    );
}
