//! Additive regression: against scikit-learn, and its laws.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use evenkeel_estimate::{Settings, Table, TableError, TrainError};
use proptest::prelude::*;

/// What `scikit_learn.py` has written: features, target, and scikit-learn's prediction.
const SCIKIT_LEARN: &str = include_str!("scikit_learn.csv");
/// Rows that it was trained on; the others are predicted alone.
const TRAINED_ON: usize = 200;
const WHOLE: Settings = Settings { stumps: 150, shrinkage: 0.1, part: 1.0, seed: 0 };

fn table(rows: &[(Vec<f64>, f64)]) -> Table {
    let mut table = Table::new(rows[0].0.len());
    for (features, target) in rows {
        table.push(features, *target).unwrap();
    }
    table
}

#[test]
fn predictions_are_those_of_scikit_learn() {
    let rows: Vec<(Vec<f64>, f64, f64)> = SCIKIT_LEARN
        .lines()
        .skip(1)
        .map(|line| {
            let values: Vec<f64> = line.split(',').map(|it| it.parse().unwrap()).collect();
            (values[..5].to_vec(), values[5], values[6])
        })
        .collect();
    let trained_on: Vec<_> = rows[..TRAINED_ON].iter().map(|it| (it.0.clone(), it.1)).collect();
    let trained = table(&trained_on).train(&WHOLE).unwrap();
    assert!(rows.len() > TRAINED_ON);
    for (features, _, expected) in &rows {
        let predicted = trained.regression.predict(features.iter().copied());
        assert!((predicted - expected).abs() < 1e-9, "{predicted} for {expected}");
    }
    // Two of the five columns have no part in the target.
    let influence = trained.influence;
    assert!(influence[0] > influence[2] && influence[2] > influence[3].max(influence[4]));
}

/// On a full grid: where rows lie at random, steps of several features are hard to tell apart, and
/// stumps come near the family slowly.
#[test]
fn a_family_that_stumps_represent_is_learned_to_a_millionth_of_its_range() {
    const STEPS: [(usize, usize, f64); 4] = [(0, 3, 1.0), (0, 7, -0.5), (1, 5, 2.0), (2, 2, 0.25)];
    let target = |x: [usize; 3]| {
        let steps = STEPS.iter().filter(|&&(column, above, _)| x[column] > above);
        1.0 + steps.map(|step| step.2).sum::<f64>()
    };
    let grid = (0..1000).map(|i| [i / 100, i / 10 % 10, i % 10]);
    let rows: Vec<_> = grid.map(|x| (x.map(|x| x as f64).to_vec(), target(x))).collect();
    for (shrinkage, part) in [(1.0, 1.0), (0.1, 1.0), (0.1, 0.5)] {
        let settings = Settings { stumps: 2000, shrinkage, part, seed: 7 };
        let regression = table(&rows).train(&settings).unwrap().regression;
        let worst = rows
            .iter()
            .map(|(x, target)| (regression.predict(x.iter().copied()) - target).abs())
            .fold(0.0, f64::max);
        assert!(worst < 1e-6 * 3.25, "{worst} with {settings:?}");
    }
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let mut table = Table::new(2);
    assert_eq!(table.train(&WHOLE), Err(TrainError::NoRows));
    assert_eq!(table.push(&[1.0], 1.0), Err(TableError::Columns { found: 1, expected: 2 }));
    assert_eq!(table.push(&[1.0, f64::INFINITY], 1.0), Err(TableError::NotFinite(f64::INFINITY)));
    assert_eq!(table.rows(), 0);
    table.push(&[1.0, 2.0], f64::MAX).unwrap();
    table.push(&[2.0, 2.0], f64::MAX).unwrap();
    assert_eq!(table.train(&WHOLE), Err(TrainError::Overflow));
    let settings = Settings { shrinkage: 0.0, ..WHOLE };
    assert_eq!(table.train(&settings), Err(TrainError::Setting("shrinkage")));
    let settings = Settings { part: f64::NAN, ..WHOLE };
    assert_eq!(table.train(&settings), Err(TrainError::Setting("part")));
}

#[test]
fn two_rows_can_be_told_apart_by_the_default_settings() {
    let trained = table(&[(vec![1.0], 1.0), (vec![2.0], 3.0)]).train(&Settings::default()).unwrap();
    assert!((trained.regression.predict([1.0]) - 1.0).abs() < 1e-6);
    assert_eq!(trained.influence, [1.0]);
    assert_eq!(trained.regression.terms()[0].thresholds(), [1.5]);
}

#[test]
fn rows_that_cannot_be_told_apart_are_predicted_by_their_mean() {
    let rows = [(vec![1.0, 2.0], 1.0), (vec![1.0, 2.0], 3.0)];
    let trained = table(&rows).train(&WHOLE).unwrap();
    assert_eq!(trained.regression.predict([1.0, 2.0]), 2.0);
    assert_eq!(trained.influence, [0.0, 0.0]);
}

fn any_rows() -> impl Strategy<Value = Vec<(Vec<f64>, f64)>> {
    prop::collection::vec((prop::collection::vec(-1e3_f64..1e3, 3), -1e3_f64..1e3), 1..60)
}

proptest! {
    #[test]
    fn the_same_seed_gives_the_same_bits_and_all_rows_need_none(
        rows in any_rows(),
        part in 0.1_f64..=1.0,
        seed: u64,
    ) {
        let settings = Settings { stumps: 40, shrinkage: 0.3, part, seed };
        let table = table(&rows);
        let trained = table.train(&settings).unwrap();
        prop_assert_eq!(&trained, &table.train(&settings).unwrap());
        let whole = Settings { part: 1.0, ..settings };
        let other = Settings { seed: !seed, ..whole };
        prop_assert_eq!(table.train(&whole).unwrap(), table.train(&other).unwrap());
    }

    #[test]
    fn more_stumps_never_fit_the_table_worse(rows in any_rows(), shrinkage in 0.05_f64..=1.0) {
        let table = table(&rows);
        let error = |stumps| {
            let settings = Settings { stumps, shrinkage, part: 1.0, seed: 0 };
            let regression = table.train(&settings).unwrap().regression;
            rows.iter()
                .map(|(x, target)| (regression.predict(x.iter().copied()) - target).powi(2))
                .sum::<f64>()
        };
        let errors = [0, 1, 5, 25].map(error);
        prop_assert!(errors.is_sorted_by(|a, b| b <= &(a * (1.0 + 1e-9) + 1e-9)), "{errors:?}");
    }
}
