//! Every command works.

use serde_json::Value;

use crate::{MACHINE, WORKLOAD, assert_valid, evenkeel, small};

fn names(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_listed_thing_can_be_shown_by_its_name() {
    for (list, what) in [("machines", "machine"), ("policies", "policy"), ("workloads", "workload")]
    {
        let json = evenkeel(&[list, "--json"]).done().json();
        let text = evenkeel(&[list]).done().stdout;
        assert!(!names(&json).is_empty());
        for entry in json.as_array().unwrap() {
            assert!(!entry["source"].as_str().unwrap().is_empty(), "{entry} has a source");
        }
        for name in names(&json) {
            assert!(text.contains(&name), "{name} is in the table of {list}");
            // With full parallelism some workloads are large; one worker is enough to describe
            // them.
            assert!(evenkeel(&["show", what, &name]).done().stdout.contains(&name));
            assert!(evenkeel(&["show", what, &name, "--json"]).done().json().is_object());
        }
    }
}

#[test]
fn threads_that_others_fork_are_shown_with_those_that_are_there_from_the_start() {
    let shown = evenkeel(&["show", "workload", "generated:threads=5,groups=2"]).done().stdout;
    assert!(
        shown.contains("threads      1: main") && shown.contains("they fork  4: 4 like "),
        "{shown}"
    );
    let json =
        evenkeel(&["show", "workload", "generated:threads=5,groups=2", "--json"]).done().json();
    let app = &json["applications"][0];
    let count = |what: &str| app[what].as_array().unwrap().len();
    assert_eq!((count("threads"), count("templates")), (1, 4));
}

#[test]
fn a_combination_without_a_name_of_its_own_can_be_shown_and_run() {
    let shown = evenkeel(&["show", "policy", "age-iw-rrb", "--json"]).done().json();
    assert_eq!(shown["name"], "age-iw-rrb");
    let record =
        evenkeel(&small("simulate", &["-p", "age-iw-rrb:interval=5", "--json"])).done().json();
    assert_eq!(record["knobs"]["interval"], 5.0);
}

#[test]
fn simulate_prints_one_record_that_fits_the_schema() {
    let record = evenkeel(&small("simulate", &["-p", "gts", "--json", "--threads"])).done().json();
    assert_valid(&record);
    assert_eq!(record["cores"], "4big+4little");
    assert!(record["knobs"]["up"].is_number(), "defaults are said, too: {record:#}");
    assert!(record["makespan_s"].as_f64().unwrap() > 0.0);
    assert!(record["energy_j"].as_f64().unwrap() > 0.0);
    assert!(record["speedup"].as_f64().unwrap() > 1.0, "eight cores beat one little: {record:#}");
    assert!(record["unfairness"].is_null());
    assert!(!record["threads"].as_array().unwrap().is_empty());
    let plain = evenkeel(&small("simulate", &["-p", "gts", "--json"])).done().json();
    assert!(plain.get("threads").is_none());
}

#[test]
fn graph_policies_are_compared_on_a_task_graph_by_its_own_measures() {
    let args = [
        "compare",
        "-m",
        MACHINE,
        "-w",
        "workloads/wfcommons-mosaic.json",
        "-p",
        "heft,cpop,cats,steal,gts+cats,gts",
    ];
    let json = evenkeel(&[&args[..], &["--json"]].concat()).done().json();
    for record in json.as_array().unwrap() {
        assert_valid(record);
        let of = |key: &str| record["graph"][key].as_f64().unwrap();
        let time = record["makespan_s"].as_f64().unwrap();
        assert!(time >= of("bound_s") && of("bound_s") >= of("critical_path_s"), "{record:#}");
        assert!((of("slr") * of("critical_path_s") / time - 1.0).abs() < 1e-9, "{record:#}");
        assert!((of("speedup") * time / of("serial_s") - 1.0).abs() < 1e-9, "{record:#}");
        assert!((of("efficiency") * 8.0 / of("speedup") - 1.0).abs() < 1e-9, "{record:#}");
    }
    let policies: Vec<_> =
        (0..6).map(|row| json[row]["graph"]["policy"].as_str().unwrap()).collect();
    assert_eq!(policies, ["heft", "cpop", "cats", "steal", "cats", "fifo"]);
    let text = evenkeel(&args).done().stdout;
    assert!(
        ["SLR", "over serial", "efficiency", "path", "gts+cats"].iter().all(|it| text.contains(it)),
        "{text}"
    );
}

#[test]
fn energy_is_that_of_the_kinds_and_time_that_of_the_cores() {
    let record = evenkeel(&small("simulate", &["-p", "linux", "--json"])).done().json();
    let kinds: Vec<&Value> = record["kinds"].as_object().unwrap().values().collect();
    let sum = |key: &str| kinds.iter().map(|kind| kind[key].as_f64().unwrap()).sum::<f64>();
    assert!(
        (sum("energy_j") / record["energy_j"].as_f64().unwrap() - 1.0).abs() < 1e-9,
        "{record:#}"
    );
    let core_time = 8.0 * record["makespan_s"].as_f64().unwrap();
    assert!(((sum("busy_s") + sum("idle_s")) / core_time - 1.0).abs() < 1e-9, "{record:#}");
}

#[test]
fn a_machine_without_a_power_model_has_no_energy() {
    let args =
        ["simulate", "-m", "quickia", "-w", WORKLOAD, "--size", "0.05", "-p", "linux", "--json"];
    let record = evenkeel(&args).done().json();
    assert_valid(&record);
    assert!(record["energy_j"].is_null() && record["edp_js"].is_null());
}

#[test]
fn a_part_of_a_machine_is_as_fast_as_it_is_in_the_whole() {
    let run = |cores: &str| {
        let more = ["-p", "pinned", "--json", "--free-costs", "--workers", "1", "--cores", cores];
        evenkeel(&small("simulate", &more)).done().json()
    };
    let (whole, part) = (run("4big+4little"), run("1big"));
    assert_eq!(part["cores"], "1big");
    assert_eq!(whole["makespan_s"], part["makespan_s"], "one worker does not notice the others");
    assert_eq!(whole["speedup"], part["speedup"], "and is set against the same little core");
}

#[test]
fn two_workloads_run_together_and_each_alone() {
    let both = ["-w", "ferret", "-p", "linux,pinned", "--json"];
    let together = evenkeel(&small("compare", &both)).done().json();
    let each = evenkeel(&small("compare", &[&both[..], &["--each"]].concat())).done().json();
    together.as_array().unwrap().iter().chain(each.as_array().unwrap()).for_each(assert_valid);
    assert_eq!((together.as_array().unwrap().len(), each.as_array().unwrap().len()), (2, 4));
    let record = &together[0];
    assert_eq!(record["workloads"], serde_json::json!([WORKLOAD, "ferret"]));
    let slowdowns: Vec<f64> = record["apps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|app| app["slowdown"].as_f64().unwrap())
        .collect();
    let ratio = slowdowns[0].max(slowdowns[1]) / slowdowns[0].min(slowdowns[1]);
    assert!((record["unfairness"].as_f64().unwrap() - ratio).abs() < 1e-12);
    assert!(
        slowdowns.iter().all(|&slowdown| slowdown > 1.0),
        "they are in each other's way: {slowdowns:?}"
    );
}

#[test]
fn compare_keeps_the_order_asked_for_in_every_form() {
    let policies = "pinned,gts:up=600,linux";
    let names = ["pinned", "gts", "linux"];
    let json = evenkeel(&small("compare", &["-p", policies, "--json"])).done().json();
    let from_json: Vec<_> =
        json.as_array().unwrap().iter().map(|record| record["policy"].as_str().unwrap()).collect();
    assert_eq!(from_json, names);
    assert_eq!(json[1]["knobs"]["up"], 600.0);
    for form in [&["-p", policies][..], &["-p", policies, "--csv"]] {
        let text = evenkeel(&small("compare", form)).done().stdout;
        let places: Vec<_> =
            names.iter().map(|name| text.find(name).unwrap_or_else(|| panic!("{text}"))).collect();
        assert!(places.is_sorted(), "{text}");
    }
}

#[test]
fn over_several_workloads_policies_are_set_in_relation_to_the_baseline() {
    let policies = "linux,gts:up=600,gts:up=900";
    let args =
        small("compare", &["-w", "ferret", "--each", "-p", policies, "--baseline", "gts:up=900"]);
    let text = evenkeel(&args).done().stdout;
    let means = means(&text, "gts up=900");
    assert_eq!(
        means[0].split_whitespace().collect::<Vec<_>>(),
        ["policy", "time", "energy", "EDP"]
    );
    assert_eq!(means[1].split_whitespace().collect::<Vec<_>>(), ["of", "2", "of", "2", "of", "2"]);
    let row = |policy: &str| -> Vec<String> {
        let line = means.iter().find_map(|line| line.strip_prefix(policy)).expect(&text);
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("gts up=900"), ["1.000", "1.000", "1.000"], "time, energy, EDP");
    let records = evenkeel(&[&args[..], &["--json"]].concat()).done().json();
    let time = |index: usize| records[index]["makespan_s"].as_f64().unwrap();
    let mean = (time(0) / time(2) * time(3) / time(5)).sqrt();
    assert_eq!(row("linux")[0], format!("{mean:.3}"));
}

/// The lines of the table of means.
fn means<'a>(text: &'a str, baseline: &str) -> Vec<&'a str> {
    let title =
        format!("Geometric means over the workloads to which a measure applies, {baseline} = 1\n");
    text.split_once(&title).expect(text).1.lines().collect()
}

#[test]
fn a_mean_says_of_how_many_workloads_it_is_and_what_does_not_apply_is_left_out() {
    let beat = tempfile::NamedTempFile::new().unwrap();
    let endless = r#"{ "tasks": { "beat": { "loop": -1, "run": 2000, "timer": { "ref": "t", "period": 10000 } } },
                       "global": { "duration": 1 } }"#;
    std::fs::write(beat.path(), endless).unwrap();
    let beat = beat.path().to_str().unwrap();
    let mix = "2STH-2STL";
    let args = small("compare", &["-w", mix, "-w", beat, "--each", "-p", "pinned,linux,acfs"]);
    let text = evenkeel(&args).done().stdout;
    let means = means(&text, "linux");
    let heads = ["policy", "time", "energy", "EDP", "wake", "p99", "unfairness", "STP"];
    assert_eq!(means[0].split_whitespace().collect::<Vec<_>>(), heads, "{text}");
    let of: Vec<&str> = means[1].split_whitespace().filter(|word| *word != "of").collect();
    assert_eq!(
        of,
        ["2", "3", "2", "1", "1", "1"],
        "a set duration has no time, one application no unfairness\n{text}"
    );
    let row = |policy: &str| means.iter().find_map(|line| line.strip_prefix(policy)).expect(&text);
    assert!(row("linux").split_whitespace().all(|cell| cell == "1.000"), "{text}");
}

#[test]
fn the_last_line_says_in_a_sentence_what_the_comparison_comes_to() {
    let last = |more: &[&str]| {
        let text = evenkeel(&small("compare", more)).done().stdout;
        text.rsplit("\n\n").next().unwrap().replace('\n', " ").trim().to_owned()
    };
    let said = last(&["-p", "pinned,gts,linux", "-w", "ferret"]);
    assert!(said.contains("than linux") && said.ends_with('.'), "{said}");
    let said = last(&["-p", "pinned,gts", "--baseline", "gts"]);
    assert!(said.contains("gts") && said.ends_with('.'), "{said}");
    let said = last(&["-p", "linux,gts", "--workers", "1", "--cores", "1big"]);
    assert!(said.starts_with("No policy differs from linux by more than 0.5 %"), "{said}");
    assert!(
        !evenkeel(&small("compare", &["-p", "linux,gts", "--csv"]))
            .done()
            .stdout
            .contains("than linux")
    );
}

#[test]
fn runs_of_a_set_duration_are_not_compared_by_time() {
    let beat = tempfile::NamedTempFile::new().unwrap();
    let endless =
        r#"{ "tasks": { "beat": { "instance": 3, "loop": -1, "run": 2000, "sleep": 5000 } } }"#;
    std::fs::write(beat.path(), endless).unwrap();
    let path = beat.path().to_str().unwrap();
    let args = ["compare", "-m", MACHINE, "-w", path, "-p", "linux,pinned,gts", "--duration", "1s"];
    let text = evenkeel(&args).done().stdout;
    let said = text.rsplit("\n\n").next().unwrap();
    assert!(!said.contains("time,") && !said.contains("less time"), "{text}");
    assert!(said.contains("latency") || said.contains("energy"), "{text}");
    let json = evenkeel(&[&args[..], &["--json"]].concat()).done().json();
    json.as_array().unwrap().iter().for_each(assert_valid);
    assert_eq!(json[0]["apps"][0]["cut_at_s"], 1.0);
}

#[test]
fn a_knob_reaches_the_policies_that_have_it() {
    let run = |set: &str| {
        evenkeel(&small("compare", &["-p", "linux,gts", "--set", set, "--json"])).done().json()
    };
    for set in ["up=600", "gts.up=600"] {
        let records = run(set);
        assert!(records[0]["knobs"].get("up").is_none());
        assert_eq!(records[1]["knobs"]["up"], 600.0);
    }
}

#[test]
fn a_run_that_fails_is_a_record_and_the_others_go_on() {
    // The thread waits for a resume that never comes.
    let workload = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        workload.path(),
        r#"{ "tasks": { "stuck": { "loop": 1, "suspend": "stuck" } } }"#,
    )
    .unwrap();
    let path = workload.path().to_str().unwrap();
    let ended = evenkeel(&small("compare", &["-w", path, "--each", "-p", "pinned", "--json"]));
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let records = ended.json();
    records.as_array().unwrap().iter().for_each(assert_valid);
    assert!(records[0].get("error").is_none());
    assert!(records[1]["error"].as_str().unwrap().contains("deadlock"), "{records:#}");
    let figures = ["makespan_s", "energy_j", "edp_js", "migrations", "swaps", "context_switches"];
    assert!(
        figures.iter().all(|name| records[1][name].is_null()),
        "what it does not have is null: {records:#}"
    );
    let csv = evenkeel(&small("compare", &["-w", path, "--each", "-p", "pinned", "--csv"])).stdout;
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (header, _, failed) = (lines.next().unwrap(), lines.next().unwrap(), lines.next().unwrap());
    for name in figures {
        let column = header.iter().position(|title| *title == name).unwrap();
        assert_eq!(failed[column], "", "{name} of a run that failed is empty: {csv}");
    }
    let alone = evenkeel(&["simulate", "-m", MACHINE, "-w", path, "-p", "pinned", "--json"]);
    assert_eq!(alone.code, 1);
    assert_valid(&alone.json());
}

#[test]
fn a_duration_ends_what_never_ends() {
    let workload = tempfile::NamedTempFile::new().unwrap();
    let endless = r#"{ "tasks": { "beat": { "loop": -1, "run": 2000, "timer": { "ref": "t", "period": 10000 } } } }"#;
    std::fs::write(workload.path(), endless).unwrap();
    let path = workload.path().to_str().unwrap();
    let args = ["simulate", "-m", MACHINE, "-w", path, "-p", "linux", "--json"];
    assert_eq!(evenkeel(&args).code, 1);
    let record = evenkeel(&[&args[..], &["--duration", "1s"]].concat()).done().json();
    assert_valid(&record);
    assert_eq!(record["makespan_s"], 1.0);
    let latency = &record["wakeup_latency_us"];
    assert!(latency["p50"].as_f64().unwrap() <= latency["max"].as_f64().unwrap(), "{record:#}");
}

#[test]
fn what_a_workload_asks_in_vain_is_noted_once() {
    let workload = tempfile::NamedTempFile::new().unwrap();
    let asks =
        r#"{ "tasks": { "a": { "instance": 3, "loop": 1, "nodes_membind": [0], "run": 1000 } } }"#;
    std::fs::write(workload.path(), asks).unwrap();
    let path = workload.path().to_str().unwrap();
    let ended =
        evenkeel(&["compare", "-m", MACHINE, "-w", path, "-p", "pinned,linux", "--json"]).done();
    let notes: Vec<_> =
        ended.stderr.lines().filter(|line| line.contains("nodes_membind")).collect();
    assert_eq!(notes.len(), 1, "{}", ended.stderr);
    assert!(notes[0].starts_with("note: "));
}

#[test]
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = evenkeel(&["completions", shell]).done().stdout;
        assert!(script.contains("simulate") && script.contains("decision-latency"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    evenkeel(&["man", folder.path().to_str().unwrap()]).done();
    for page in
        ["evenkeel.1", "evenkeel-simulate.1", "evenkeel-compare.1", "evenkeel-show-machine.1"]
    {
        let text = std::fs::read_to_string(folder.path().join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    for name in [
        "machines",
        "policies",
        "workloads",
        "show",
        "simulate",
        "compare",
        "advise",
        "completions",
        "man",
    ] {
        let help = evenkeel(&[name, "--help"]).done().stdout;
        assert!(help.contains("Examples:") && help.contains(&format!("evenkeel {name}")), "{help}");
    }
}
