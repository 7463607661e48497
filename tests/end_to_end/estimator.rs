//! A model at work: in the simulator, and by counters of a program on this machine. It has no
//! hardware counters, most likely, so software events stand for them.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Ended, command, evenkeel, eventually};

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A model of generated programs.
fn model(folder: &Path) -> String {
    let path = text(&folder.join("model.json"));
    let how = ["train", "--generated", "20", "-m", "quickia", "--stumps", "50", "-o", &path];
    evenkeel(&how).done();
    path
}

fn refused(ended: &Ended, what: &str) {
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains(what), "{}", ended.stderr);
}

#[test]
fn a_model_of_generated_programs_decides_in_the_simulator_the_same_on_any_number_of_workers() {
    let folder = tempfile::tempdir().unwrap();
    let model = model(folder.path());
    let compare = |jobs: &str, estimator: &str| {
        let what = ["compare", "-m", "quickia", "-w", "2STH-2STL", "--size", "0.1", "--csv"];
        let how = ["-p", "acfs,hsp,linux", "--jobs", jobs, "--estimator", estimator];
        let all = [&what[..], &how[..], &["--characters"]].concat();
        let csv = evenkeel(&all).done().stdout;
        // The last column is the time that a run took here.
        csv.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    let told = compare("1", &model);
    assert_eq!(told, compare("2", &model));
    let oracle = compare("2", "oracle");
    assert_ne!(told[1], oracle[1], "acfs decides by other factors");
    // Where factors come from is said of each run, and makes none of linux another one.
    let said = "\"a model of 20 programs (generated, modelled for quickia)\",";
    assert!(told[1].contains(said) && !oracle[1].contains("model of"), "{}", told[1]);
    assert_eq!(told[3].replace(said, ""), oracle[3], "linux goes by none");
}

#[test]
fn a_model_that_says_nothing_of_a_machine_or_of_its_work_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let model = model(folder.path());
    let simulate = |machine: &str, estimator: &str| {
        evenkeel(&["simulate", "-m", machine, "-w", "mcf", "-p", "acfs", "--estimator", estimator])
    };
    refused(&simulate("alder-lake", &model), "for the kinds big, small, and the machine has");
    refused(&simulate("pixel6", &model), "does not say how it is built");
    let bad = folder.path().join("bad.json");
    std::fs::write(&bad, "{}").unwrap();
    refused(&simulate("quickia", &text(&bad)), "bad.json:1:2: missing field `format`");
    refused(&simulate("quickia", "none.json"), "none.json: No such file");
    refused(&simulate("quickia", "none"), "or the file of a model (`evenkeel train`)");
    let run = evenkeel(&["run", "-q", "-p", "acfs", "--estimator", &model, "--", "true"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("the model is for the kinds big, small, and"), "{}", run.stderr);
    let train = evenkeel(&["train", "--generated", "4"]);
    assert_eq!(train.code, 2, "{}", train.stderr);
    let both = evenkeel(&["train", "a.json", "--generated", "4", "-m", "quickia"]);
    assert_eq!(both.code, 2, "{}", both.stderr);
    refused(&evenkeel(&["train", "--generated", "4", "-m", "pixel6"]), "kind 'prime': core:");
}

#[test]
fn a_model_that_is_worth_less_than_a_mean_is_told_so_and_no_other() {
    let train = |machine: &str| {
        let how = ["train", "--generated", "40", "-m", machine, "--stumps", "50"];
        evenkeel(&how).done().stderr
    };
    let poor = train("odroid-xu3");
    assert!(poor.contains("seen on little, the factor of big is told with an error of"), "{poor}");
    assert_eq!(train("alder-lake"), "");
}

/// A sysfs whose two PMUs count software events, for a machine of two kinds: both CPU 0.
fn two_kinds(folder: &Path) -> String {
    for name in ["cpu_core", "cpu_atom"] {
        let device = folder.join("bus/event_source/devices").join(name);
        std::fs::create_dir_all(device.join("events")).unwrap();
        std::fs::create_dir_all(device.join("format")).unwrap();
        let cpus = if name == "cpu_core" { "0" } else { "1" };
        // PERF_TYPE_SOFTWARE; task clock, CPU clock, page faults, migrations.
        for (file, what) in [("type", "1"), ("cpus", cpus), ("format/event", "config:0-7")] {
            std::fs::write(device.join(file), what).unwrap();
        }
        let events = [("instructions", 1), ("cpu-cycles", 0), ("cache-misses", 2)];
        for (event, number) in events {
            std::fs::write(device.join("events").join(event), format!("event={number}")).unwrap();
        }
    }
    let kind = |name: &str, capacity: u32| {
        format!("[[kinds]]\nname = \"{name}\"\ncapacity = {capacity}\nmax_mhz = {capacity}\n")
    };
    let cluster = |name: &str| format!("[[clusters]]\nkind = \"{name}\"\ncores = 1\n");
    let head = "name = \"two\"\ndescription = \"made for a test\"\nsource = \"a test\"\n";
    let all = [head.into(), kind("P", 1024), kind("E", 512), cluster("P"), cluster("E")].concat();
    let machine = folder.join("two.toml");
    std::fs::write(&machine, all).unwrap();
    text(&machine)
}

/// False, with a line that says so, where software events cannot be counted, or on one CPU.
fn can_count(folder: &Path, machine: &str) -> bool {
    let ended = sample(folder, machine, &["--", "true"]);
    let refusals = ["does not count", "cannot bind it", "and this process may use"];
    let is_refused = refusals.iter().any(|refusal| ended.stderr.contains(refusal));
    if is_refused {
        println!("skipped: {}", ended.stderr.trim());
    }
    !is_refused
}

fn sampling(folder: &Path, machine: &str, more: &[&str]) -> Command {
    let mut command = command(&[&["sample", "-m", machine], more].concat());
    command.env("EVENKEEL_SYSFS", folder);
    command
}

fn sample(folder: &Path, machine: &str, more: &[&str]) -> Ended {
    Ended::of(sampling(folder, machine, more).output().unwrap())
}

#[test]
fn a_program_is_counted_on_each_kind_in_turn_in_windows_of_equal_work() {
    let folder = tempfile::tempdir().unwrap();
    let machine = two_kinds(folder.path());
    if !can_count(folder.path(), &machine) {
        return;
    }
    let trace = folder.path().join("trace.json");
    let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo said";
    let more = ["--window", "20000000", "-o", &text(&trace), "--", "sh", "-c", busy];
    let ended = sample(folder.path(), &machine, &more).done();
    assert!(ended.stdout.starts_with("said\nsh: "), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("said").count(), 1);
    assert!(ended.stdout.contains("counters of cpu_core, cpu_atom"), "{}", ended.stdout);
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&trace).unwrap()).unwrap();
    for kind in written["kinds"].as_array().unwrap() {
        let windows = kind["windows"].as_array().unwrap();
        assert!(windows.len() > 1, "{kind}");
        for window in windows {
            assert_eq!(window["counts"]["instructions"], 20_000_000);
            assert!(window["counts"]["cycles"].as_u64().unwrap() > 1_000_000);
        }
    }
    let predictions = folder.path().join("model.json");
    evenkeel(&["train", &text(&trace), "-o", &text(&predictions)]).done();
}

#[test]
fn a_program_that_fails_or_is_interrupted_is_no_trace_of_counters() {
    let folder = tempfile::tempdir().unwrap();
    let machine = two_kinds(folder.path());
    if !can_count(folder.path(), &machine) {
        return;
    }
    let trace = folder.path().join("trace.json");
    let begun = folder.path().join("begun");
    let failed =
        sample(folder.path(), &machine, &["-o", &text(&trace), "--", "sh", "-c", "exit 3"]);
    assert_eq!(failed.code, 1);
    assert!(failed.stderr.ends_with("the program failed, in run 1: exit status: 3\n"));
    assert_eq!(sample(folder.path(), &machine, &["--", "no-such-program"]).code, 127);
    let script = format!("touch {}; sleep 60", begun.display());
    let more = ["-o", &text(&trace), "--", "sh", "-c", &script];
    let child = sampling(folder.path(), &machine, &more).stderr(Stdio::null()).spawn().unwrap();
    eventually("the program has begun", || begun.exists());
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(128 + 15));
    assert!(!trace.exists());
}

#[test]
fn a_machine_of_one_kind_or_without_counters_is_told_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let machine = two_kinds(folder.path());
    let without = tempfile::tempdir().unwrap();
    let none = sample(without.path(), &machine, &["--", "true"]);
    assert_eq!(none.code, 1, "{}", none.stderr);
    assert!(none.stderr.contains("--by cachegrind needs none"), "{}", none.stderr);
    let unnamed = evenkeel(&["sample", "--by", "cachegrind", "--", "true"]);
    refused(&unnamed, "--by cachegrind models the cores of a machine: name one with -m");
}
