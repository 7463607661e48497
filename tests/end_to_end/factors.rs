//! `sample`, `train` and `predict`: from a program to a factor that is predicted, and what is said
//! of bad input.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Ended, command, evenkeel, eventually};

/// A trace of one window a kind: the little core takes longer where the cache misses less.
fn trace(program: &str, misses: u64, kinds: [&str; 2]) -> String {
    let window = |time: u64| {
        format!(
            r#"{{"time_ns": {time}, "counts": {{"instructions": 1000000, "cycles": 1000000,
            "cache-misses": {misses}}}}}"#
        )
    };
    let [fast, slow] = kinds;
    format!(
        r#"{{"format": "evenkeel.counters/1", "program": "{program}", "source": "a test",
        "kinds": [{{"name": "{fast}", "counters": 4, "windows": [{}]}},
        {{"name": "{slow}", "counters": 4, "windows": [{}]}}]}}"#,
        window(1_000_000),
        window(3_000_000 - misses * 100)
    )
}

/// Traces of eight programs, whose factors are 3.0 down to 2.3.
fn traces(folder: &Path) -> Vec<String> {
    let file = |i: u64| {
        let path = folder.join(format!("p{i}.json"));
        std::fs::write(&path, trace(&format!("p{i}"), i * 1000, ["big", "little"])).unwrap();
        path.to_str().unwrap().to_owned()
    };
    (0..8).map(file).collect()
}

fn with<'a>(verb: &[&'a str], files: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    verb.iter()
        .copied()
        .chain(files.iter().map(String::as_str))
        .chain(more.iter().copied())
        .collect()
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_model_of_traces_predicts_a_program_that_it_was_not_trained_with() {
    let folder = tempfile::tempdir().unwrap();
    let files = traces(folder.path());
    let [model, page] = ["model.json", "page.html"].map(|name| text(&folder.path().join(name)));
    let (out, html) = (["-o", &model], ["--html", &page]);
    let more = [&out[..], &html[..], &["--rows", "1"]].concat();
    let trained = evenkeel(&with(&["train"], &files, &more)).done();
    assert!(trained.stdout.contains("8 programs"), "{}", trained.stdout);
    assert!(trained.stdout.contains("llc-misses"), "{}", trained.stdout);
    assert!(std::fs::read_to_string(&page).unwrap().contains("Counted by: a test"));
    let new = folder.path().join("new.json");
    std::fs::write(&new, trace("new", 3400, ["big", "little"])).unwrap();
    let predicted = evenkeel(&["predict", &model, &text(&new), "--json"]).done().json();
    let predicted = predicted.as_array().unwrap();
    assert_eq!(predicted.len(), 2);
    for it in predicted {
        let error = it["predicted"].as_f64().unwrap() - it["observed"].as_f64().unwrap();
        assert!(error.abs() < 0.1, "{it}");
    }
}

#[test]
fn training_is_the_same_bytes_by_seed_and_another_seed_is_another_model() {
    let folder = tempfile::tempdir().unwrap();
    let files = traces(folder.path());
    let model = |name: &str, seed: &str| {
        let path = text(&folder.path().join(name));
        evenkeel(&with(&["train"], &files, &["-o", &path, "--seed", seed])).done();
        std::fs::read(path).unwrap()
    };
    assert_eq!(model("a", "1"), model("b", "1"));
    assert_ne!(model("a", "1"), model("c", "2"));
}

#[track_caller]
fn refused(ended: &Ended, what: &str) {
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains(what), "{}", ended.stderr);
}

#[test]
fn bad_input_is_one_line_that_names_the_file_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let files = traces(folder.path());
    let model = text(&folder.path().join("model.json"));
    evenkeel(&with(&["train"], &files, &["-o", &model])).done();
    let put = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        text(&path)
    };
    let good = trace("p", 1, ["big", "little"]);
    let cut = put("cut.json", &good[..good.len() / 2]);
    let unknown = put("unknown.json", &good.replace("cache-misses", "cache-mises"));
    let others = put("others.json", &trace("p", 1, ["P", "E"]));
    let lacks = put("lacks.json", &good.replace("cache-misses", "branches"));
    let never = folder.path().join("never.json");
    let out = text(&never);
    let train = |file: &str| evenkeel(&["train", &files[0], file, "-o", &out]);
    refused(&train(&cut), "cut.json:");
    refused(&train(&unknown), "event 'cache-mises' found, expected one of instructions");
    let phases = evenkeel(&["train", &files[0], &files[1], "--method", "phases"]);
    refused(&phases, "no phase of 3 windows or more in 2 traces");
    refused(
        &train(&others),
        "the trace of p has the kinds P (4 + 0 counters), E (4 + 0 counters), that of p0 big (4",
    );
    let elsewhere = put("elsewhere.json", &good.replace("a test", "another"));
    refused(&train(&elsewhere), "the trace of p is by 'another', that of p0 by 'a test'");
    refused(&train(&text(&folder.path().join("none.json"))), "none.json: No such file");
    assert!(!never.exists());
    let predict = |file: &str| evenkeel(&["predict", &model, file]);
    refused(&predict(&others), "kinds P, E found, expected big, little, those of");
    refused(&predict(&lacks), "kind 'big': llc-misses not found, expected counts of cache-misses");
    refused(&predict(&elsewhere), "elsewhere.json: counted by 'another', expected 'a test' as");
    refused(&evenkeel(&["predict", &files[0], &files[1]]), "'evenkeel.counters/1' found");
    let sample = ["sample", "--by", "cachegrind", "-m", "pixel6", "--", "true"];
    refused(&evenkeel(&sample), "pixel6: kind 'prime': core: nothing found");
}

fn sample(output: &Path, program: &[&str]) -> Command {
    let path = text(output);
    let args = ["sample", "--by", "cachegrind", "-m", "odroid-xu3", "-o", &path, "--json", "--"];
    command(&[&args[..], program].concat())
}

#[test]
fn without_valgrind_one_line_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("trace.json");
    let ended = sample(&output, &["/bin/true"]).env("PATH", folder.path()).output().unwrap();
    let ended = Ended::of(ended);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.ends_with("install it (apt install valgrind)\n"), "{}", ended.stderr);
    assert!(!output.exists());
}

/// False, with a line that says so, where valgrind is not installed.
fn has_valgrind() -> bool {
    let has = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has {
        println!("skipped: valgrind is not installed (make test installs it as root)");
    }
    has
}

#[test]
fn a_program_is_sampled_with_its_output_and_can_be_predicted() {
    if !has_valgrind() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let paths: [PathBuf; 2] = ["a.json", "b.json"].map(|name| folder.path().join(name));
    let programs = [["/bin/echo", "said"], ["/bin/ls", "/"]];
    for (path, program) in paths.iter().zip(&programs) {
        let ended = Ended::of(sample(path, program).output().unwrap()).done();
        let factor = ended.json()["kinds"][0]["factor"].as_f64().unwrap();
        assert!(factor > 1.0, "{factor}");
        // Shown once, of two runs, and stdout is for the JSON.
        let said = ended.stderr.lines().filter(|line| *line == "said").count();
        assert_eq!(said, usize::from(program[1] == "said"), "{}", ended.stderr);
    }
    let [a, b] = paths.map(|path| text(&path));
    let model = text(&folder.path().join("model.json"));
    evenkeel(&["train", &a, &b, "-o", &model]).done();
    assert!(evenkeel(&["predict", &model, &a]).done().stdout.contains("echo"));
}

#[test]
fn a_program_that_fails_or_is_interrupted_leaves_no_trace() {
    if !has_valgrind() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("trace.json");
    let ended = Ended::of(sample(&output, &["sh", "-c", "exit 3"]).output().unwrap());
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("the program failed under cachegrind, in run 1: exit status: 3"));
    let begun = folder.path().join("begun");
    let script = format!("touch {}; sleep 60", begun.display());
    let child = sample(&output, &["sh", "-c", &script]).stderr(Stdio::null()).spawn().unwrap();
    eventually("the program has begun", || begun.exists());
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(128 + 15));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
