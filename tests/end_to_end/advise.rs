//! `advise`: what it ranks, leaves out, and prints.

use serde_json::Value;

use crate::{MACHINE, assert_valid, evenkeel, small};

const FEW: &str = "pinned,linux,gts,cs";

fn policies(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|it| it["policy"].as_str().unwrap()).collect()
}

#[test]
fn the_best_comes_first_and_the_pareto_set_is_whom_nobody_beats() {
    let advice = evenkeel(&small("advise", &["--among", FEW, "--json"])).done().json();
    let ranking = advice["ranking"].as_array().unwrap();
    let value = |it: &Value, measure: &str| it[measure]["value"].as_f64().unwrap();
    assert_eq!(ranking.len(), 4, "{advice:#}");
    assert!(
        ranking.windows(2).all(|pair| value(&pair[0], "time") <= value(&pair[1], "time")),
        "{ranking:#?}"
    );
    assert_eq!(
        (&advice["winner"], &advice["ranking"][0]["rank"]),
        (&ranking[0]["policy"], &Value::from(1))
    );
    for one in ranking {
        let beats = |other: &&Value| {
            let [less, equal] = [f64::lt, f64::le].map(|is| {
                ["time", "energy"].map(|measure| is(&value(other, measure), &value(one, measure)))
            });
            equal == [true; 2] && less != [false; 2]
        };
        assert_eq!(one["pareto"], !ranking.iter().any(|other| beats(&other)), "{one:#}");
        assert!(one.get("unfairness").is_none(), "one application has none: {one:#}");
    }
    advice["records"].as_array().unwrap().iter().for_each(assert_valid);
    let why = advice["why"].as_str().unwrap();
    assert!(why.starts_with(ranking[0]["policy"].as_str().unwrap()) && why.ends_with('.'), "{why}");
}

#[test]
fn the_table_the_csv_and_the_object_tell_the_same_for_any_number_of_jobs() {
    let rank_by = ["--among", FEW, "--rank-by", "energy"];
    let run = |more: &[&str]| evenkeel(&small("advise", &[&rank_by[..], more].concat())).done();
    let advice = run(&["--json", "--jobs", "2"]).json();
    let order = policies(&advice["ranking"]).join(" ");
    let table = run(&["--jobs", "1"]).stdout;
    let rows: Vec<_> = table
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter(|word| FEW.split(',').any(|it| it == *word))
        .collect();
    assert_eq!(rows.join(" "), order, "{table}");
    assert!(table.trim_end().ends_with(advice["why"].as_str().unwrap()), "{table}");
    let csv = run(&["--csv"]).stdout;
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert_eq!(advice["rank_by"], "energy");
}

#[test]
fn policies_are_given_as_compare_has_them_too() {
    let ranked = |flag: &str| {
        policies(&evenkeel(&small("advise", &[flag, FEW, "--json"])).done().json()["ranking"])
            .join(" ")
    };
    let among = ranked("--among");
    assert_eq!((ranked("-p"), ranked("--policy")), (among.clone(), among));
}

#[test]
fn all_policies_are_tried_and_those_that_do_not_apply_are_left_out_with_a_reason() {
    // A machine without a power model.
    let args =
        ["advise", "-m", "quickia", "-w", "spin:threads=3,seconds=0.05", "--cores", "2big+1small"];
    let advice = evenkeel(&[&args[..], &["--json"]].concat()).done().json();
    let left_out = policies(&advice["left_out"]);
    assert_eq!(left_out, ["opt-unfairness", "eas"], "{advice:#}");
    let text = evenkeel(&args).done().stdout;
    assert!(text.contains("eas left out: eas goes by a power model"), "{text}");
    assert!(!policies(&advice["ranking"]).contains(&"heft"), "there is no task graph");
}

#[test]
fn on_a_task_graph_policies_for_graphs_compete_and_its_critical_path_is_said() {
    let advice = evenkeel(&["advise", "-m", MACHINE, "-w", "workloads/stg-twelve.stg", "--json"])
        .done()
        .json();
    let ranked = policies(&advice["ranking"]);
    assert!(["heft", "cats", "gts", "age"].iter().all(|it| ranked.contains(it)), "{ranked:?}");
    assert!(advice["why"].as_str().unwrap().contains("critical path"), "{advice:#}");
}

#[test]
fn a_run_that_fails_is_listed_and_the_command_fails_only_where_all_do() {
    // The thread waits for a resume that never comes, under every policy.
    let workload = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        workload.path(),
        r#"{ "tasks": { "stuck": { "loop": 1, "suspend": "stuck" } } }"#,
    )
    .unwrap();
    let ended = evenkeel(&[
        "advise",
        "-m",
        MACHINE,
        "-w",
        workload.path().to_str().unwrap(),
        "--among",
        FEW,
        "--json",
    ]);
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("error: gts: ") && ended.stderr.contains("deadlock"),
        "{}",
        ended.stderr
    );
}

#[test]
fn several_applications_have_an_unfairness_to_rank_by() {
    let args = ["-w", "ferret", "--among", "linux,acfs", "--rank-by", "unfairness"];
    let advice = evenkeel(&small("advise", &[&args[..], &["--json"]].concat())).done().json();
    assert!(
        advice["ranking"]
            .as_array()
            .unwrap()
            .iter()
            .all(|it| it["unfairness"]["value"].as_f64().unwrap() >= 1.0)
    );
    assert!(evenkeel(&small("advise", &args)).done().stdout.contains("is the fairest"));
}

#[test]
fn what_cannot_be_ranked_or_run_is_one_line() {
    let refuses = |args: &[&str], says: &str| {
        let ended = evenkeel(args);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{args:?}: {}", ended.stderr);
        assert!(
            ended.stderr.lines().count() == 1 && ended.stderr.contains(says),
            "{args:?}: {}",
            ended.stderr
        );
    };
    refuses(&["advise", "-w", "ferret"], "no machine: give -m");
    refuses(&["advise", "-m", MACHINE], "no workload: give -w");
    refuses(&small("advise", &["--rank-by", "speed"]), "unfairness");
    refuses(
        &small("advise", &["--among", "linux", "--rank-by", "unfairness"]),
        "give -w more than once",
    );
    refuses(&small("advise", &["--among", "linux,linux"]), "asked for twice");
    refuses(&small("advise", &["--among", "heft"]), "expected a task graph");
    refuses(
        &["advise", "-m", "quickia", "-w", "ferret", "--size", "0.01", "--among", "eas"],
        "no policy applies: eas: ",
    );
    refuses(
        &[
            "advise",
            "-m",
            "quickia",
            "-w",
            "ferret",
            "--size",
            "0.01",
            "--among",
            "linux",
            "--rank-by",
            "edp",
        ],
        "no power model",
    );
}
