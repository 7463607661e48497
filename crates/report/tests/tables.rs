//! Tables and CSV, against golden files in tests/golden/. `UPDATE_GOLDEN=1` writes them anew.
#![allow(clippy::unwrap_used)]

mod common;

use evenkeel_metrics::{Record, SeedsRow};
use evenkeel_report::{csv, table};

fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{name}");
}

fn csv_of(records: &[Record]) -> String {
    let mut bytes = vec![];
    csv::write(records, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn pair() -> Vec<Record> {
    let both = ["mcf", "povray"];
    vec![
        common::record("linux", &both, 6.25, Some(31.0)),
        common::record("acfs", &both, 5.5, Some(33.125)),
        common::record("hsp", &both, 5.25, Some(32.5)),
    ]
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn policies_side_by_side() {
    golden(
        "compare.txt",
        &table::compare(&pair(), table::Style { width: 100, ..table::Style::default() }),
    );
    golden(
        "compare80.txt",
        &table::compare(&pair(), table::Style { width: 80, ..table::Style::default() }),
    );
}

#[test]
fn one_run() {
    golden("simulate.txt", &table::simulate(&pair()[0], table::Style::default()));
}

#[test]
fn a_table_fits_its_width() {
    for width in [60, 80, 100] {
        let text = table::compare(&pair(), table::Style { width, ..table::Style::default() });
        assert!(widest(&text) <= width, "{width}:\n{text}");
        assert!(
            widest(&table::simulate(&pair()[0], table::Style { width, ..table::Style::default() }))
                <= width
        );
    }
}

#[test]
fn columns_without_a_value_and_those_that_weigh_applications_where_there_is_one_are_left_out() {
    let records =
        [common::record("linux", &["ep"], 2.0, None), common::record("gts", &["ep"], 1.5, None)];
    let text = table::compare(&records, table::Style::default());
    for missing in ["energy", "EDP", "unfairness", "ASP", "STP", "ANTT", "swaps"] {
        assert!(!text.contains(missing), "{missing}:\n{text}");
    }
    assert!(text.contains("speedup"));
}

#[test]
fn the_best_of_each_measure_is_marked_and_ties_of_all_are_not() {
    let mut records = pair();
    records.iter_mut().for_each(|record| record.antt = Some(1.5));
    let text = table::compare(&records, table::Style { width: 200, ..table::Style::default() });
    let row = |name: &str| {
        text.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned()
    };
    assert!(row("hsp").contains("5.250*") && row("linux").contains("31.00*"));
    assert!(!text.contains("1.500*"));
    records[1].antt = Some(1.5 + 1e-9);
    assert!(
        !table::compare(&records, table::Style { width: 200, ..table::Style::default() })
            .contains("1.500*"),
        "no difference that shows"
    );
}

#[test]
fn a_run_that_failed_says_why_and_is_never_best() {
    let mut records = pair();
    records[1].error = Some("deadlock after 3 s: a waits for b".into());
    records[1].makespan_s = 0.0;
    records[2].makespan_s = 5.111;
    records[0].energy_j = Some(31.11);
    let text = table::compare(&records, table::Style::default());
    assert!(text.contains("acfs failed: deadlock after 3 s: a waits for b"));
    assert!(!text.contains("0*") && text.contains(" -"), "{text}");
}

#[test]
fn records_of_one_policy_are_told_apart_by_the_knobs_that_differ() {
    let mut records = pair();
    records[0].policy = "acfs".into();
    records[0].knobs.insert("uf".into(), evenkeel_metrics::Knob::Number(1.5));
    let text = table::compare(&records, table::Style::default());
    assert!(
        text.contains("acfs uf=1.5 ") && text.contains("acfs uf=1.05 ") && !text.contains("hsp uf"),
        "{text}"
    );
}

#[test]
fn a_row_for_each_record() {
    let mut records = pair();
    records.push(common::record("linux", &["ep"], 2.0, None));
    golden("compare.csv", &csv_of(&records));
}

#[test]
fn csv_quotes_what_would_break_a_row() {
    let name = "a,\"b\"\nc";
    let text = csv_of(&[common::record("linux", &[name], 1.0, None)]);
    assert!(text.contains("\"a,\"\"b\"\"\nc\""), "{text}");
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let column = reader.headers().unwrap().iter().position(|column| column == "workloads").unwrap();
    let rows: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
    assert_eq!((rows.len(), &rows[0][column]), (1, name));
}

#[test]
fn no_records_no_rows() {
    assert_eq!(csv_of(&[]), "");
    assert_eq!(table::compare(&[], table::Style::default()), "");
}

#[test]
fn names_cannot_move_the_cursor() {
    let text = table::compare(
        &[common::record("li\u{1b}[2Jnux", &["e\u{7}p"], 1.0, None)],
        table::Style::default(),
    );
    assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
}

#[test]
fn means_over_seeds_have_their_intervals_and_what_lies_within_is_not_best() {
    let with = |within: f64| -> Vec<Record> {
        let ci95 = || [("makespan_s".to_owned(), within)].into_iter().collect();
        let of = |record| Record { seeds: Some(SeedsRow { count: 4, ci95: ci95() }), ..record };
        pair().into_iter().map(of).collect()
    };
    golden(
        "seeds.txt",
        &table::compare(&with(0.1), table::Style { width: 80, ..table::Style::default() }),
    );
    let all = table::compare(&with(3.0), table::Style { width: 80, ..table::Style::default() });
    let best = |line: &str| line.contains("5.250 ±3.000*");
    assert!(all.contains("5.250 ±3.000") && !all.lines().any(best), "{all}");
    assert!(csv_of(&with(0.1)).contains("seeds.ci95.makespan_s"));
}
