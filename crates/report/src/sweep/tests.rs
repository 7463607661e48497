//! What is concluded from results that are made up.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_sweep::{Manifest, Measured, Results};
use serde_json::json;

use super::*;

/// Results on a grid of these axes: the time of a case by its places.
fn results(axes: serde_json::Value, time: impl Fn(&[usize]) -> Option<f64>) -> Results {
    let axes = axes.as_object().unwrap();
    let counts: Vec<usize> = axes.values().map(|it| it.as_array().unwrap().len()).collect();
    let mut cases = Vec::new();
    for number in 0..counts.iter().product::<usize>() {
        let mut left = number;
        let mut places: Vec<usize> = Vec::new();
        for &count in counts.iter().rev() {
            places.insert(0, left % count);
            left /= count;
        }
        let time = time(&places);
        cases.push(Measured {
            places: places.iter().map(|&place| Some(place as u32)).collect(),
            measures: [time, None, time.map(|time| 3.0 - time), None],
            has_failed: time.is_none(),
        });
    }
    let manifest = json!({
        "schema": "", "model": 1, "grid": { "axes": axes }, "inputs": {}, "cases": cases.len(),
        "parts": 1,
    });
    Results { manifest: Manifest::parse(&manifest.to_string()).unwrap(), parts: 1, cases }
}

fn titled<'a>(shown: &'a Shown, title: &str) -> &'a Exhibit {
    shown.exhibits.iter().find(|exhibit| exhibit.title.starts_with(title)).unwrap()
}

fn number(exhibit: &Exhibit, row: usize, column: usize) -> f64 {
    match exhibit.rows[row][column] {
        Cell::Number(number) => number,
        ref other => panic!("{other:?}"),
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn policies_are_compared_seed_by_seed_so_that_what_seeds_share_is_no_doubt() {
    // Seeds differ by far more than policies; the ratio is 0.5 for each of them.
    let axes = json!({ "workload": ["a", "b"], "seed": [1, 2, 3], "policy": ["linux", "acfs"] });
    let shown =
        show(&results(axes.clone(), |at| Some([0.1, 0.8, 1.6][at[1]] * [1.0, 0.5][at[2]])), None)
            .unwrap();
    let policies = titled(&shown, "Policies");
    assert!(near(number(policies, 1, 1), 0.5) && policies.interval(1, 1) < 1e-9);
    let best = "Best in time: acfs in 2 of 2.";
    assert!(shown.lead.ends_with(best), "{}", shown.lead);

    // Ratios of 0.5, 1 and 2: the geometric mean is 1, and nothing is told.
    let wild =
        results(axes, |at| Some([1.0, 1.0, 1.0][at[1]] * [1.0, [0.5, 1.0, 2.0][at[1]]][at[2]]));
    let shown = show(&wild, None).unwrap();
    let policies = titled(&shown, "Policies");
    assert!(near(number(policies, 1, 1), 1.0));
    // exp(t(0.975, 2) ln 2 / sqrt(3)) - 1 with t = 4.30265.
    let above = (4.302_652_729_7 * 2.0_f64.ln() / 3.0_f64.sqrt()).exp_m1();
    assert!((policies.interval(1, 1) / above - 1.0).abs() < 1e-6, "{}", policies.interval(1, 1));
    assert!(shown.lead.ends_with("Best in time: none is told in 2 of 2."), "{}", shown.lead);
    let turned = show(&wild, Some("acfs")).unwrap();
    assert!(near(number(titled(&turned, "Policies"), 0, 1), 1.0), "whatever the baseline");
}

#[test]
fn a_seed_that_goes_with_a_size_is_no_chance() {
    let axes = json!({ "size": [1, 2, 3], "seed": [1, 2, 3], "policy": ["linux", "acfs"] });
    let mut zipped = results(axes, |at| Some((at[0] + 1) as f64 * [1.0, 0.9][at[2]]));
    zipped.cases.retain(|case| case.places[0] == case.places[1]);
    let shown = show(&zipped, None).unwrap();
    assert!(titled(&shown, "Policies").ci95.is_empty());
    assert!(!shown.lead.contains("seed by seed"), "{}", shown.lead);
}

#[test]
fn the_least_mean_is_not_told_from_others_within_its_interval_and_of_other_seeds_there_is_none() {
    let axes = json!({ "workload": ["a", "b"], "seed": [1, 2, 3], "policy": ["linux", "acfs"] });
    let time = |at: &[usize]| Some([1.0, [0.5, 1.0, 1.4][at[1]]][at[2]]);
    let all = results(axes, time);
    let shown = show(&all, None).unwrap();
    assert!(number(titled(&shown, "Policies"), 1, 1) < 0.95);
    assert!(shown.lead.ends_with("Best in time: none is told in 2 of 2."), "{}", shown.lead);

    let mut lacking = all;
    for case in &mut lacking.cases {
        if case.places[..2] == [Some(0), Some(1)] {
            (case.has_failed, case.measures) = (true, [None; MEASURES.len()]);
        }
    }
    let policies = show(&lacking, None).unwrap();
    assert!(titled(&policies, "Policies").ci95.is_empty());
}

#[test]
fn a_policy_that_failed_somewhere_says_of_how_many_and_is_in_no_trade_off() {
    let axes = json!({ "workload": ["a", "b"], "policy": ["linux", "heft", "gts"] });
    let time = |at: &[usize]| match at {
        [0, 1] => None,
        [_, policy] => Some([1.0, 0.2, 1.5][*policy]),
        _ => None,
    };
    let shown = show(&results(axes, time), None).unwrap();
    assert_eq!(titled(&shown, "Policies").rows[1][0], Cell::from("heft (of 1)"));
    let trade_offs = titled(&shown, "Trade-offs");
    assert_eq!(trade_offs.rows.len(), 2);
    assert_eq!(trade_offs.remarks, ["Left out, for want of some settings: heft."]);
    assert!(shown.lead.contains("1 cases failed"), "{}", shown.lead);
}

#[test]
fn pareto_has_whom_no_other_beats_and_never_is_empty() {
    // Time and unfairness, which is 3 - time: each trades one for the other.
    let axes = json!({ "seed": [1, 2, 3], "policy": ["linux", "acfs", "hsp"] });
    let trade = results(axes.clone(), |at| Some([1.0, 1.5, 2.0][at[1]]));
    let shown = show(&trade, None).unwrap();
    let all = &titled(&shown, "Trade-offs").rows;
    assert!(all.iter().all(|row| row[2] == Cell::from("yes")), "{all:?}");

    let mut beaten = results(axes, |at| Some([1.0, 1.5, 2.0][at[1]]));
    for case in &mut beaten.cases {
        case.measures[2] = Some([1.0, 1.2, 1.1][case.places[1].unwrap() as usize]);
    }
    let shown = show(&beaten, None).unwrap();
    let front = |row: usize| titled(&shown, "Trade-offs").rows[row][2].clone();
    assert_eq!([front(0), front(1), front(2)], ["yes", "no", "no"].map(Cell::from));
}

#[test]
fn a_knob_is_compared_with_its_first_value_all_else_equal_or_not_at_all() {
    let axes = json!({
        "workload": ["a", "b"], "policy": ["acfs"], "acfs.swap": [200, 400], "acfs.uf": [1, 2],
    });
    let time = |at: &[usize]| Some([1.0, 5.0][at[0]] * [1.0, 1.25][at[2]] * [1.0, 0.5][at[3]]);
    let all = results(axes, time);
    let shown = show(&all, None).unwrap();
    let swap = titled(&shown, "How much acfs.swap matters");
    assert!(near(number(swap, 0, 1), 1.0) && near(number(swap, 1, 1), 1.25));
    assert!(swap.remarks[0].starts_with("From least to greatest it moves time by 25.0 %"));

    let mut zipped = all;
    zipped.cases.retain(|case| case.places[2] == case.places[3]);
    let shown = show(&zipped, None).unwrap();
    assert!(!shown.exhibits.iter().any(|it| it.title.starts_with("How much")));
}

#[test]
fn an_axis_of_many_values_is_shown_in_part() {
    let sizes: Vec<u32> = (1..=500).collect();
    let axes = json!({ "size": sizes, "policy": ["linux", "acfs"] });
    let shown = show(&results(axes, |_| Some(1.0)), None).unwrap();
    let by_size = titled(&shown, "By size");
    assert_eq!(by_size.rows.len(), 2 * MOST_VALUES);
    let last = by_size.rows.last().unwrap();
    assert_eq!((&by_size.rows[0][0], &last[0]), (&Cell::from(1.0), &Cell::from(500.0)));
    assert!(by_size.remarks[0].starts_with("40 of 500 values"));
}
