//! Studies carried out again from the command line.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Ended, command, evenkeel};

const STUDY: &str = "amc-maturity";

/// The cheapest experiment, in a quick look.
fn quick<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["reproduce", STUDY, "--quick", "--experiment", "1"];
    args.extend(more);
    args
}

#[test]
fn a_study_is_one_object_with_its_experiments_and_tables() {
    let json = evenkeel(&quick(&["--json", "--seed", "7"])).done().json();
    assert_eq!(
        (&json["study"], &json["quick"], &json["seed"]),
        (&STUDY.into(), &true.into(), &7.into())
    );
    assert!(json["made_by"].as_str().unwrap().starts_with("evenkeel "), "{json:#}");
    for key in ["title", "source"] {
        assert!(!json[key].as_str().unwrap().is_empty(), "{key}");
    }
    let [experiment] = json["experiments"].as_array().unwrap().as_slice() else {
        panic!("one was asked for: {json:#}")
    };
    assert_eq!(experiment["number"], 1);
    let table = &experiment["tables"][0];
    let column = |name: &str| {
        let columns = table["columns"].as_array().unwrap();
        columns
            .iter()
            .position(|column| column["name"] == name)
            .unwrap_or_else(|| panic!("no column {name}"))
    };
    // 4 x 2.18 + 4, computed by hand.
    let all: &Value = table["rows"].as_array().unwrap().last().unwrap();
    assert_eq!(all[column("big+little")], "4+4");
    assert!((all[column("blackscholes")].as_f64().unwrap() - 12.72).abs() < 1e-9, "{all}");
}

#[test]
fn one_job_and_two_give_the_same_bytes() {
    let of = |jobs: &str| evenkeel(&quick(&["--json", "--jobs", jobs])).done().stdout;
    let one = of("1");
    assert_eq!(one, of("2"));
    assert_eq!(one, of("2"), "again");
}

#[test]
fn tables_have_headings_units_and_the_setting() {
    let ended = evenkeel(&quick(&[])).done();
    let text = ended.stdout;
    for part in [
        "On the Maturity",
        "Quick:",
        "1. Ideal speedup",
        "the ratio being the measured speed",
        "streamcluster",
        "time on big",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("2. Four cores"), "only what was asked for: {text}");
    assert_eq!(ended.stderr, "", "no bar in a pipe");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_page_has_the_tables_as_text_and_the_figures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.html");
    let printed = evenkeel(&quick(&["--html", path.to_str().unwrap()])).done().stdout;
    assert!(printed.contains("4+4"), "the tables are printed, too");
    let page = std::fs::read_to_string(&path).unwrap();
    for part in [
        "<td>12.72</td>",
        "streamcluster",
        "data-plot=\"figure\"",
        "reproduce amc-maturity --quick",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary is left");
}

#[test]
fn what_there_is_to_choose_from_is_listed() {
    let list = evenkeel(&["reproduce", "--list"]).done().stdout;
    let json = evenkeel(&["reproduce", "--list", "--json"]).done().json();
    let help = evenkeel(&["reproduce", "--help"]).done().stdout;
    for study in ["amc-maturity", "acfs", "age-based", "mclas"] {
        assert!(list.contains(study) && help.contains(study), "{study}");
        assert!(json.as_array().unwrap().iter().any(|it| it["name"] == study), "{study}");
    }
    assert!(
        list.contains("Threads, loops and tasks") && help.contains("4. Threads, loops and tasks")
    );
    assert_eq!(json[0]["experiments"][3]["number"], 4);
}

#[test]
fn one_study_is_listed_without_the_others() {
    let list = evenkeel(&["reproduce", STUDY, "--list"]).done().stdout;
    assert!(
        list.contains(STUDY)
            && list.contains("Threads, loops and tasks")
            && !list.contains("age-based"),
        "{list}"
    );
    let json = evenkeel(&["reproduce", STUDY, "--list", "--json"]).done().json();
    assert_eq!((json.as_array().unwrap().len(), &json[0]["name"]), (1, &STUDY.into()));
}

#[test]
fn what_is_not_there_is_answered_in_a_line_with_what_is() {
    let cases: [(&[&str], &str); 13] = [
        (&[], "no study: expected one of amc-maturity, acfs, age-based, mclas"),
        (&["acsf"], "no study 'acsf': expected one of amc-maturity, acfs, age-based, mclas"),
        (&[STUDY, "--experiment", "5"], "amc-maturity has no experiment 5: expected 1, 2, 3, 4"),
        (&[STUDY, "--experiment", "0"], "amc-maturity has no experiment 0"),
        (&[STUDY, "--experiment", "-1"], "invalid value '-1'"),
        (&[STUDY, "--experiment", "1-3"], "expected a number, or several, as 1,3"),
        (&[STUDY, "-e", "all"], "expected a number, or several, as 1,3"),
        (
            &[STUDY, "--html", "/no/such/folder/x.html"],
            "cannot write /no/such/folder/x.html: there is no such folder",
        ),
        (
            &["acsf", "--list"],
            "no study 'acsf': expected one of amc-maturity, acfs, age-based, mclas",
        ),
        (&["acfs", "--live"], "acfs has nothing to run live: expected amc-maturity"),
        (
            &[STUDY, "--live", "--program", "x264"],
            "amc-maturity has no program 'x264': expected one of blackscholes, ",
        ),
        (&[STUDY, "--live", "-m", "no-such-machine"], "no-such-machine"),
        (&[STUDY, "--program", "swaptions"], "required"),
    ];
    for (more, said) in cases {
        let ended = evenkeel(&[&["reproduce"], more].concat());
        assert_eq!(ended.code, 2, "{more:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{more:?}");
        assert!(
            ended.stderr.contains(said) && ended.stderr.lines().count() == 1,
            "{more:?}: {}",
            ended.stderr
        );
    }
}

#[test]
fn live_a_program_is_run_in_all_its_versions_and_set_beside_the_simulator() {
    let ended =
        evenkeel(&["reproduce", STUDY, "--live", "--quick", "--program", "swaptions", "--json"])
            .done();
    let json = ended.json();
    let tables = &json["experiments"][0]["tables"];
    assert_eq!(tables[0]["rows"][0][0], "swaptions");
    let versions: Vec<_> =
        tables[1]["rows"].as_array().unwrap().iter().map(|row| row[1].clone()).collect();
    assert_eq!(versions, ["pinned", "loop-static", "loop-dynamic", "tasks"]);
    let speedups = |column: usize| {
        tables[1]["rows"].as_array().unwrap().iter().map(move |row| row[column].as_f64())
    };
    assert!(
        (2..5).all(|column| speedups(column).all(|speedup| speedup.is_some_and(|it| it > 0.0))),
        "{tables}"
    );
    let timed = tables[2]["rows"].as_array().unwrap();
    assert!(
        timed.len() >= 5
            && timed.iter().all(|row| row[3].as_f64().is_some_and(|seconds| seconds > 0.0))
    );
}

#[test]
fn live_the_energy_of_a_run_is_what_a_counter_counted_meanwhile() {
    // This machine's CPUs, and a package sensor that always reads 10 W.
    let root = tempfile::tempdir().unwrap();
    symlink("/sys/devices", root.path().join("devices")).unwrap();
    let zone = root.path().join("class/powercap/intel-rapl:0");
    fs::create_dir_all(&zone).unwrap();
    fs::write(zone.join("name"), "package-0\n").unwrap();
    let counter = File::create(zone.join("energy_uj")).unwrap();
    let (is_over, began) = (AtomicBool::new(false), Instant::now());
    let count = || {
        counter
            .write_at(format!("{:016}\n", 10 * began.elapsed().as_micros()).as_bytes(), 0)
            .unwrap()
    };
    count();
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
                count();
            }
        });
        let mut run =
            command(&["reproduce", STUDY, "--live", "--quick", "--program", "swaptions", "--json"]);
        let output = run.env("EVENKEEL_SYSFS", root.path()).output();
        is_over.store(true, Ordering::Relaxed);
        output
    });
    let json = Ended::of(output.unwrap()).done().json();
    let times = &json["experiments"][0]["tables"][2];
    let names: Vec<_> = times["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    let column = |name: &str| names.iter().position(|it| *it == name).unwrap();
    let of_versions =
        times["rows"].as_array().unwrap().iter().filter(|row| !row[column("power")].is_null());
    let powers: Vec<f64> = of_versions.map(|row| row[column("power")].as_f64().unwrap()).collect();
    // It is read every 20 ms, beside programs that use all CPUs.
    assert!(
        powers.len() >= 5 && powers.iter().all(|power| (7.0..13.0).contains(power)),
        "{powers:?}"
    );
}
