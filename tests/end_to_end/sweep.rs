//! `sweep`: grids as users write them, killed, stopped and shared out, and what is said of bad
//! input.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use parquet::file::reader::{FileReader as _, SerializedFileReader};

use crate::{Ended, command, evenkeel, eventually, is_ignored};

pub const GRID: &str = "[axes]\nmachine = [\"quickia\", \"odroid-xu3\"]\n\
                    workload = [\"ferret\", [\"mcf\", \"gobmk\"]]\n\
                    policy = [\"linux\", \"acfs:uf=1.2\"]\nsize = 0.02\nseed = [3, 4]\n\
                    \"acfs.swap\" = [200, 400]\n";

/// A folder with a grid in it.
pub struct Place {
    home: tempfile::TempDir,
}

impl Place {
    pub fn with(grid: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("grid.toml"), grid).unwrap();
        Self { home }
    }

    pub fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn sweep(&self, more: &[&str]) -> Command {
        let (grid, out) = (self.path("grid.toml"), self.path("out"));
        command(&[&["sweep", &grid, "-o", &out], more].concat())
    }

    pub fn ended(&self, more: &[&str]) -> Ended {
        Ended::of(self.sweep(more).output().unwrap())
    }

    pub fn parts(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files(Path::new(&self.path("out")))
    }
}

/// All files below a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                files.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    files
}

/// The rows of all tables, with the values of folders.
fn rows(folder: &str) -> Vec<BTreeMap<String, String>> {
    let mut rows = Vec::new();
    for name in files(Path::new(folder)).into_keys().filter(|name| name.starts_with("results")) {
        let file = File::open(Path::new(folder).join(&name)).unwrap();
        let of_folders: Vec<(String, String)> = name
            .iter()
            .filter_map(|part| part.to_str()?.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        for row in SerializedFileReader::new(file).unwrap().get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let cells =
                row.get_column_iter().map(|(name, value)| (name.clone(), value.to_string()));
            rows.push(cells.chain(of_folders.iter().cloned()).collect());
        }
    }
    rows
}

#[test]
fn a_row_says_what_simulate_says_of_the_same_run() {
    let place = Place::with(GRID);
    let done = place.ended(&["--json"]).done().json();
    assert_eq!((done["cases"].as_u64(), done["failed"].as_u64()), (Some(24), Some(0)));
    let rows = rows(&place.path("out"));
    // Two applications of each case of the mix, one of each of the other.
    assert_eq!(rows.len(), 12 + 24);
    let row = rows
        .iter()
        .find(|row| {
            row["machine"] == "quickia"
                && row["policy"] == "acfs%3Auf%3D1.2"
                && row["application"].contains("gobmk")
                && (row["seed"].as_str(), row["acfs.swap"].as_str()) == ("3", "400")
        })
        .unwrap();
    let record = evenkeel(&[
        "simulate",
        "-m",
        "quickia",
        "-w",
        "mcf",
        "-w",
        "gobmk",
        "--size",
        "0.02",
        "--seed",
        "3",
        "-p",
        "acfs:uf=1.2,swap=400",
        "--json",
    ]);
    let record = record.done().json();
    for name in ["makespan_s", "unfairness", "stp", "antt", "asp"] {
        assert_eq!(row[name].parse::<f64>().unwrap(), record[name].as_f64().unwrap(), "{name}");
    }
    for name in ["completion_s", "slowdown", "alone_fast_s", "wait_s"] {
        let there = record["apps"][1][name].as_f64().unwrap();
        assert_eq!(row[name].parse::<f64>().unwrap(), there, "{name}");
    }
    assert!(row["cores"] == "\"2big+2small\"" && row["knobs"].contains("swap"), "{row:?}");
}

#[test]
fn a_policy_of_task_graphs_is_compared_with_the_same_runs_alone_as_simulate_does() {
    let place = Place::with(
        "[axes]\nmachine = \"odroid-xu3\"\nworkload = \"stg-twelve\"\n\
         policy = [\"gts\", \"GTS+heft\"]\n",
    );
    place.ended(&[]).done();
    for row in rows(&place.path("out")) {
        let policy = row["policy"].replace("%2B", "+");
        let args = ["simulate", "-m", "odroid-xu3", "-w", "stg-twelve", "-p", &policy, "--json"];
        let record = evenkeel(&args).done().json();
        let app = &record["apps"][0];
        for name in ["slowdown", "alone_fast_s", "alone_slow_s"] {
            assert_eq!(row[name].parse::<f64>().unwrap(), app[name].as_f64().unwrap(), "{name}");
        }
        assert_eq!(row["stp"].parse::<f64>().unwrap(), record["stp"].as_f64().unwrap());
    }
}

#[test]
fn a_case_that_fails_is_a_row_with_the_reason_and_the_others_go_on() {
    let grid = GRID.replace("\"linux\"", "\"linux\", \"heft\"").replace("200, 400", "200");
    let place = Place::with(&grid);
    let ended = place.ended(&[]).done();
    assert!(ended.stderr.contains("8 cases failed, the first: policy heft"), "{}", ended.stderr);
    let rows = rows(&place.path("out"));
    let failed: Vec<_> = rows.iter().filter(|row| row["error"] != "null").collect();
    assert_eq!(failed.len(), 8);
    let is_blank = |row: &&BTreeMap<String, String>| {
        row["policy"] == "heft" && row["makespan_s"] == "null" && row["application"] == "null"
    };
    assert!(failed.iter().all(is_blank));
    let none = Place::with(&none_of(&grid));
    assert_eq!(none.ended(&[]).code, 1);
}

/// Of a grid the cases that fail.
fn none_of(grid: &str) -> String {
    let lines = grid.lines().filter(|line| !line.contains("acfs.swap"));
    let policy = |line: &str| match line.starts_with("policy") {
        true => "policy = \"heft\"\n".to_owned(),
        false => format!("{line}\n"),
    };
    lines.map(policy).collect()
}

#[test]
fn a_sweep_that_is_killed_again_and_again_ends_with_the_bytes_of_one_undisturbed() {
    killed_again_and_again(40, 60);
}

/// For `make sweep-test`.
#[test]
#[ignore = "takes a minute: make sweep-test"]
fn ten_thousand_cases_that_are_killed_again_and_again_have_the_bytes_of_an_undisturbed_sweep() {
    killed_again_and_again(834, 120);
}

/// A sweep of twelve cases for each seed, ended by SIGKILL so many times, or until it is over.
fn killed_again_and_again(seeds: u32, rounds: u64) {
    let seeds = format!("seed = {{ from = 1, to = {seeds}, step = 1 }}");
    let grid = GRID.replace("seed = [3, 4]", &seeds);
    let (calm, killed) = (Place::with(&grid), Place::with(&grid));
    calm.ended(&["--jobs", "1"]).done();
    let mut kills = 0;
    for round in 0..rounds {
        let mut child = killed
            .sweep(&["--resume", "--jobs", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + round * 37 % 150));
        child.kill().unwrap();
        kills += u32::from(child.wait().unwrap().code().is_none());
    }
    assert!(kills > 0, "never killed while it ran");
    killed.ended(&["--resume"]).done();
    // A temporary of the last minute is left where it is.
    let is_result = |name: &Path| !name.to_string_lossy().contains(".evenkeel-");
    let parts: BTreeMap<_, _> =
        killed.parts().into_iter().filter(|(name, _)| is_result(name)).collect();
    assert_eq!(parts, calm.parts());
    let again = killed.ended(&["--resume", "--json"]).done().json();
    assert_eq!(again["carried_out"].as_u64(), Some(0));
}

#[test]
fn after_ctrl_c_it_says_how_to_go_on() {
    const SIGINT: i32 = 2;
    if is_ignored(SIGINT) {
        return;
    }
    let place = Place::with(&GRID.replace("[3, 4]", "{ from = 1, to = 4000, step = 1 }"));
    let child = place.sweep(&[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("a part is written", || place.parts().len() > 1);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(128 + SIGINT));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("parts are written; --resume goes on"), "{said}");
    assert!(place.ended(&[]).stderr.contains("--resume goes on with the others"));
}

#[test]
fn shares_make_one_folder_and_a_dry_run_makes_none() {
    let (whole, shared) = (Place::with(GRID), Place::with(GRID));
    whole.ended(&[]).done();
    for shard in ["2/3", "1/3", "3/3"] {
        shared.ended(&["--shard", shard]).done();
    }
    assert_eq!(shared.parts(), whole.parts());
    let place = Place::with(GRID);
    let plan =
        evenkeel(&["sweep", &place.path("grid.toml"), "--dry-run", "--seeds", "10", "--json"]);
    let plan = plan.done().json();
    assert_eq!((plan["cases"].as_u64(), plan["axes"]["seed"].as_u64()), (Some(120), Some(10)));
    assert!(plan["seconds"].as_f64().unwrap() > 0.0);
    let third = ["sweep", &place.path("grid.toml"), "--dry-run", "--shard", "1/3", "--json"];
    assert_eq!(evenkeel(&third).done().json()["cases"].as_u64(), Some(8));
    let text = evenkeel(&["sweep", &place.path("grid.toml"), "--dry-run"]).done().stdout;
    assert!(text.contains("24 cases in 24 parts, about "), "{text}");
    assert!(place.parts().is_empty());
}

#[test]
fn shares_that_begin_at_the_same_instant_all_begin() {
    for _ in 0..6 {
        let place = Place::with(GRID);
        let share = |number: u32| {
            let shard = format!("{number}/6");
            let mut command = place.sweep(&["--shard", &shard]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let shares: Vec<_> = (1..=6).map(share).collect();
        for child in shares {
            Ended::of(child.wait_with_output().unwrap()).done();
        }
        assert_eq!(rows(&place.path("out")).len(), 36);
    }
}

#[test]
fn bad_input_is_one_line_and_nothing_is_written() {
    let said = |grid: &str, more: &[&str]| {
        let place = Place::with(grid);
        let ended = place.ended(more);
        assert_eq!((ended.code, place.parts().len()), (2, 0), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        ended.stderr
    };
    for (from, to, expected) in [
        ("machine", "mashine", "axis 'mashine' found, expected machine, cores"),
        ("seed = [3, 4]", "seed = []", "axis 'seed': no value found"),
        ("linux", "linus", "axis 'policy': 'linus': no policy 'linus' (did you mean linux?)"),
        ("acfs.swap\" = [200", "acfs.swap\" = [\"x\"", "axis 'acfs.swap': 'x': "),
        ("acfs.swap", "acfs.swop", "axis 'acfs.swop': '200': "),
        ("quickia", "quickie", "axis 'machine': 'quickie': "),
        ("ferret", "ferrit", "axis 'workload': 'ferrit': "),
        (
            "0.02",
            "-1",
            "axis 'size': '-1': size -1 found, expected a number greater than 0, at most 1000",
        ),
        ("0.02", "1001", "axis 'size': '1001': size 1001 found"),
        ("\"acfs.swap\"", "acfs.swap", "the axis of a knob is in quotes"),
        (
            "acfs:uf=1.2",
            "acfs:swap=3",
            "axis 'acfs.swap': knob 'swap' of 'acfs:swap=3' found twice",
        ),
        ("\"linux\",", "\"linux\", \"Linux\",", "axis 'policy': linux found twice"),
        ("seed = [3, 4]", "seed = [3, \"x\"]", "axis 'seed': 'x': "),
        ("size", "governor = \"fast\"\nsize", "axis 'governor': 'fast': expected performance"),
        ("size", "estimator = \"psychic\"\nsize", "axis 'estimator': 'psychic': expected oracle"),
        ("size", "cores = \"9big\"\nsize", "axis 'cores': '9big': "),
        ("size", "free-costs = 1\nsize", "'1' found, expected true or false"),
        ("size = 0.02", "size = ", "grid.toml:5:8: "),
    ] {
        let line = said(&GRID.replace(from, to), &[]);
        assert!(line.contains(expected), "{line}");
    }
    assert!(said(GRID, &["--shard", "4/3"]).contains("expected I/N with I from 1 to N"));
    assert!(evenkeel(&["sweep", "no-such.toml", "-o", "x"]).stderr.contains("no-such.toml: "));
    assert!(evenkeel(&["sweep", "."]).stderr.contains("--output <DIR>"));
}

#[test]
fn a_disk_that_is_full_is_one_line_and_the_rest_is_made_later() {
    let (place, whole) = (Place::with(GRID), Place::with(GRID));
    whole.ended(&[]).done();
    let (grid, out) = (place.path("grid.toml"), place.path("out"));
    // A limit on the length of files is to a program what a full disk is.
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" sweep \"$1\" -o \"$2\"";
    let binary = env!("CARGO_BIN_EXE_evenkeel");
    let ended = Command::new("bash").args(["-c", script, binary, &grid, &out]).output().unwrap();
    let ended = Ended::of(ended);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let line = ended.stderr.trim_end();
    assert!(line.starts_with("error: cannot write ") && line.lines().count() == 1, "{line}");
    assert!(place.parts().keys().all(|file| file.ends_with("manifest.json")));
    place.ended(&["--resume"]).done();
    assert_eq!(place.parts(), whole.parts());
}

#[test]
fn a_page_shows_policies_by_axis_trade_offs_knobs_and_where_each_is_best() {
    let place = Place::with(&format!("{GRID}\nestimator = [\"oracle\", \"modelled=0.3\"]\n"));
    place.ended(&[]).done();
    let (out, page) = (place.path("out"), place.path("page.html"));
    let shown = evenkeel(&["report", &out, "-o", &page, "--json"]).done().json();
    let titles: Vec<&str> = shown["exhibits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["title"].as_str().unwrap())
        .collect();
    for wanted in [
        "Policies, with the knobs",
        "By machine",
        "By workload",
        "By estimator",
        "Trade-offs",
        "How much acfs.swap matters: relative to 200",
        "Which policy is best where",
    ] {
        assert!(titles.iter().any(|title| title.starts_with(wanted)), "{wanted}: {titles:?}");
    }
    let policies = &shown["exhibits"][0];
    assert_eq!(policies["rows"][0][0], "linux");
    assert!(policies["rows"][0].as_array().unwrap()[1..].iter().all(|ratio| *ratio == 1.0));
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        html.contains("48 cases: 8 settings, 3 policies with their knobs"),
        "{}",
        shown["lead"]
    );
    assert!(
        html.contains("Best in time: ")
            && html.contains("2 seeds: policies are compared seed by seed")
    );

    let wrong = evenkeel(&["report", &out, "--baseline", "gts", "--json"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("no policy 'gts' found, expected linux, acfs:uf=1.2"));
    let home = place.path("");
    let none = evenkeel(&["report", &home, "--json"]);
    assert!(none.code == 2 && none.stderr.contains("no folder of a sweep: manifest.json"));
}

#[test]
fn a_page_is_made_of_records_too_and_what_is_none_is_told_with_its_place() {
    let home = tempfile::tempdir().unwrap();
    let [runs, page, other] =
        ["runs.json", "page.html", "other.json"].map(|name| home.path().join(name));
    let [runs, page, other] = [&runs, &page, &other].map(|path| path.to_str().unwrap());
    let args = ["compare", "-m", "quickia", "-w", "mcf", "--size", "0.01", "-p", "linux,hsp"];
    evenkeel(&[&args[..], &["-o", runs]].concat()).done();
    evenkeel(&["report", runs, "-o", page]).done();
    assert!(std::fs::read_to_string(page).unwrap().contains("2 policies on quickia"));
    std::fs::write(other, "[{\"a\": 1}]").unwrap();
    let ended = evenkeel(&["report", runs, other, "-o", page]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("other.json:1:9: expected result records"), "{}", ended.stderr);
}

#[test]
fn several_seeds_are_means_with_intervals_which_a_schema_knows() {
    let args = [
        "compare",
        "-m",
        "quickia",
        "-w",
        "generated",
        "--size",
        "0.01",
        "-p",
        "linux,hsp",
        "--seeds",
        "4",
    ];
    let records = evenkeel(&[&args[..], &["--json"]].concat()).done().json();
    for record in records.as_array().unwrap() {
        crate::assert_valid(record);
        assert_eq!(record["seeds"]["count"], 4);
    }
    let single: Vec<f64> = ["1", "2", "3", "4"]
        .map(|seed| {
            let run = ["simulate", "-m", "quickia", "-w", "generated", "--size", "0.01"];
            let run = [&run[..], &["-p", "linux", "--seed", seed, "--json"]].concat();
            evenkeel(&run).done().json()["makespan_s"].as_f64().unwrap()
        })
        .to_vec();
    let mean = single.iter().sum::<f64>() / 4.0;
    assert!((records[0]["makespan_s"].as_f64().unwrap() / mean - 1.0).abs() < 1e-9);
    assert!(records[0]["seeds"]["ci95"]["makespan_s"].as_f64().unwrap() > 0.0);
    let table = evenkeel(&args).done().stdout;
    assert!(table.contains(" ±"), "{table}");
    let jobs =
        |jobs: &'static str| evenkeel(&[&args[..], &["--jobs", jobs]].concat()).done().stdout;
    assert_eq!(jobs("1"), jobs("3"));

    let alike = ["compare", "-m", "quickia", "-w", "mcf", "--size", "0.01", "-p", "linux,hsp"];
    let alike = evenkeel(&[&alike[..], &["--seeds", "3"]].concat()).done();
    assert!(alike.stderr.contains("no chance plays in these runs"), "{}", alike.stderr);
    let study = ["reproduce", "age-based", "--quick", "-e", "1", "--seeds", "2"];
    let study = evenkeel(&study).done().stdout;
    assert!(study.contains("Figures are means over 2 seeds from 1 on"), "{study}");
    let advice =
        ["advise", "-m", "quickia", "-w", "generated", "--size", "0.01", "-p", "linux,hsp"];
    let advice = evenkeel(&[&advice[..], &["--seeds", "3", "--json"]].concat()).done().json();
    assert!(advice["ranking"][0]["time"]["ci95"].as_f64().is_some(), "{advice}");
}
