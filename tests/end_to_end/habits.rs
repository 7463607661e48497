//! Conventions of command-line tools: exit codes, durations, names, files, stdin and stdout.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{
    Ended, MACHINE, SIZE, WORKLOAD, command, copy_of_evenkeel, evenkeel, is_ignored, small,
};

/// Runs with this on stdin.
fn with_stdin(args: &[&str], stdin: &[u8]) -> Ended {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments reads nothing.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    Ended::of(child.wait_with_output().unwrap())
}

#[track_caller]
fn one_line(ended: &Ended, code: i32, says: &str) {
    assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{}", ended.stderr);
    assert!(
        ended.stderr.lines().count() == 1 && ended.stderr.contains(says),
        "'{says}': {}",
        ended.stderr
    );
}

#[test]
fn a_program_that_is_not_there_is_127_and_one_that_may_not_be_executed_126() {
    let folder = tempfile::tempdir().unwrap();
    let locked = folder.path().join("locked");
    fs::write(&locked, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o600)).unwrap();
    let locked = locked.to_str().unwrap();
    let file = folder.path().join("run.json");
    let starters: [&[&str]; 3] = [
        &["run", "-p", "acfs", "--"],
        &["record", "-o", file.to_str().unwrap(), "--"],
        &["lab", "--slow", "0=2", "--"],
    ];
    for starter in starters {
        one_line(
            &evenkeel(&[starter, &["no-such-program"]].concat()),
            127,
            "cannot run 'no-such-program': no such",
        );
        one_line(
            &evenkeel(&[starter, &["/no/such/program"]].concat()),
            127,
            "No such file or directory",
        );
        one_line(&evenkeel(&[starter, &[locked]].concat()), 126, "locked': permission denied");
        one_line(&evenkeel(&[starter, &["/"]].concat()), 126, "cannot run '/': it is a folder");
        let mut in_path = command(&[starter, &["locked"]].concat());
        let in_path = in_path.env("PATH", folder.path()).output().unwrap();
        one_line(&Ended::of(in_path), 126, "cannot run 'locked': permission denied");
    }
}

#[test]
fn a_signal_that_ends_a_command_is_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    for (name, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        if is_ignored(code - 128) {
            println!("skipped: SIG{name} is ignored here");
            continue;
        }
        // Long enough to be interrupted, and quick to begin.
        let args =
            ["simulate", "-m", MACHINE, "-w", "gamess", "-p", "linux", "--size", "1000", "--trace"];
        let mut run = command(&args);
        let mut child = run
            .arg(folder.path().join("x"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while fs::read_dir(folder.path()).unwrap().count() == 0 {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(
            Command::new("kill")
                .args([&format!("-{name}"), &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the temporary is gone");
    }
}

#[test]
fn each_cause_is_said_once() {
    let says = |args: &[&str], cause: &str| {
        let ended = evenkeel(args);
        one_line(&ended, 2, cause);
        assert_eq!(ended.stderr.matches(cause).count(), 1, "{}", ended.stderr);
    };
    says(&["simulate", "-m", MACHINE, "-w", "/", "-p", "gts"], "Is a directory");
    says(&["simulate", "-m", "/", "-w", WORKLOAD, "-p", "gts"], "Is a directory");
    says(&["show", "workload", "/etc/hostname/x"], "no workload '/etc/hostname/x'");
    says(&["record", "--from", "/no/such.data", "-o", "/tmp/x.json"], "No such file or directory");
    says(&["man", "/proc/no"], "No such file or directory");
}

#[test]
fn what_may_not_be_read_is_not_said_to_be_missing() {
    let uid = fs::read_to_string("/proc/self/status").unwrap();
    if !uid.contains("Uid:\t0\t0") || !Path::new("/usr/bin/setpriv").exists() {
        return println!("skipped: needs root to become somebody else, and setpriv");
    }
    // A copy that any user may execute, wherever the build is.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let binary = folder.path().join("evenkeel");
    copy_of_evenkeel(&binary);
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::write(locked.join("file"), "{}").unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    let file = locked.join("file");
    let file = file.to_str().unwrap();
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("/usr/bin/setpriv");
        command
            .args(["--reuid", "65534", "--clear-groups"])
            .arg(&binary)
            .args(args)
            .current_dir(folder.path());
        Ended::of(command.output().unwrap())
    };
    for args in [
        &["simulate", "-m", MACHINE, "-w", file, "-p", "gts"][..],
        &["simulate", "-m", file, "-w", WORKLOAD, "-p", "gts"],
        &["simulate", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts", "--trace", file],
        &["record", "--from", file, "-o", "/tmp/x.json"],
        &["show", file],
    ] {
        let ended = as_nobody(args);
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.stderr);
        assert_eq!(
            ended.stderr.to_lowercase().matches("permission denied").count(),
            1,
            "{args:?}: {}",
            ended.stderr
        );
    }
    let run = as_nobody(&["run", "-p", "acfs", "--", file]);
    assert!(
        run.code == 126 && run.stderr.to_lowercase().contains("permission denied"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_reader_that_leaves_ends_it_as_sigpipe_would() {
    for args in [
        &["policies", "--json"][..],
        &["machines"],
        &["completions", "zsh"],
        &["compare", "--help"],
    ] {
        // The reader is gone before the command begins: a short text would fit the pipe.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = Ended::of(command(args).stdout(writer).output().unwrap());
        assert_eq!((ended.code, ended.stderr.as_str()), (141, ""), "{args:?}");
    }
}

#[test]
fn a_full_device_is_one_line_and_exit_code_1() {
    for args in [
        &["policies", "--json"][..],
        &["machines"],
        &["compare", "--help"],
        &small("simulate", &["-p", "gts"]),
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = Ended::of(command(args).stdout(full).output().unwrap());
        one_line(&ended, 1, "cannot write to stdout: No space left on device");
    }
}

#[test]
fn durations_are_taken_in_the_usual_forms_and_a_negative_one_is_named() {
    let makespan = |duration: &str| {
        let args = [
            "simulate",
            "-m",
            MACHINE,
            "-w",
            "ferret",
            "-p",
            "linux",
            "--json",
            "--duration",
            duration,
        ];
        evenkeel(&args).done().json()["makespan_s"].as_f64().unwrap()
    };
    for (text, seconds) in
        [("0.05", 0.05), ("50ms", 0.05), ("0.001min", 0.06), ("50ms20us", 0.05002)]
    {
        assert_eq!(makespan(text), seconds, "{text}");
    }
    for args in [
        &["simulate", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts", "--duration", "-5s"][..],
        &["simulate", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts", "--decision-latency", "-5us"],
        &["sensors", "--duration", "-1"],
        &["lab", "--slow", "0=2", "--measure", "--duration", "-1s"],
        &["lab", "--slow", "0=2", "--period", "-1ms"],
        &["run", "-p", "acfs", "--grace", "-50ms", "--", "true"],
        &["schedule", "-p", "acfs", "--duration", "-1h"],
        &["schedule", "-p", "acfs", "--stats", "-2"],
        &["vm", "--timeout", "-1h30m", "--", "true"],
    ] {
        one_line(&evenkeel(args), 2, "is a negative duration");
    }
    one_line(
        &evenkeel(&["sensors", "--duration", "soon"]),
        2,
        "expected a duration: 90 (seconds), 500ms,",
    );
    one_line(
        &evenkeel(&["schedule", "-p", "acfs", "--stats", "500ms"]),
        2,
        "expected whole seconds",
    );
}

#[test]
fn output_is_the_result_in_a_file_whatever_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(file(name)).unwrap()).unwrap()
    };
    let table = evenkeel(&small("simulate", &["-p", "gts", "-o", &file("one.json")])).done().stdout;
    assert!(table.contains("makespan") || table.contains("time"), "{table}");
    assert_eq!(read("one.json")["policy"], "gts");
    evenkeel(&small("compare", &["-p", "pinned,gts", "-o", &file("two.json")])).done();
    assert_eq!(read("two.json").as_array().unwrap().len(), 2);
    let csv = evenkeel(&small("compare", &["-p", "pinned,gts", "--csv", "-o", &file("two.csv")]))
        .done()
        .stdout;
    assert_eq!(fs::read_to_string(file("two.csv")).unwrap(), csv);
    evenkeel(&small("advise", &["--among", "pinned,gts", "--output", &file("advice.json")])).done();
    assert!(read("advice.json")["winner"].is_string());
    evenkeel(&["reproduce", "amc-maturity", "--quick", "-e", "1", "-o", &file("study.json")])
        .done();
    assert_eq!(read("study.json")["study"], "amc-maturity");
    for command in ["simulate", "compare"] {
        let ended = evenkeel(&small(command, &["-p", "gts", "-o", &file("page.html")]));
        one_line(&ended, 2, "--html FILE writes a page");
    }
    assert!(!Path::new(&file("page.html")).exists());
}

#[test]
fn advise_writes_a_page_of_what_it_has_run() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    evenkeel(&small("advise", &["--among", "pinned,linux,gts", "--html", page.to_str().unwrap()]))
        .done();
    let page = fs::read_to_string(&page).unwrap();
    assert!(
        page.trim_end().ends_with("</html>") && page.contains("advise -m"),
        "the command is named"
    );
    assert!(["pinned", "linux", "gts"].iter().all(|policy| page.contains(policy)));
}

#[test]
fn a_workload_and_a_machine_come_from_stdin_too() {
    let workload = fs::read("../../workloads/rtapp-mixed.json").unwrap();
    let args = [
        "compare",
        "-m",
        MACHINE,
        "--each",
        "-w",
        "-",
        "-w",
        WORKLOAD,
        "--size",
        SIZE,
        "-p",
        "gts,pinned",
    ];
    let from_stdin = with_stdin(&[&args[..], &["--json"]].concat(), &workload).done().json();
    let from_file = evenkeel(&[
        "simulate",
        "-m",
        MACHINE,
        "-w",
        "workloads/rtapp-mixed.json",
        "-p",
        "gts",
        "--json",
    ]);
    assert_eq!(from_stdin[0]["makespan_s"], from_file.done().json()["makespan_s"]);
    assert_eq!(from_stdin[0]["workloads"], serde_json::json!(["-"]));
    let machine = fs::read("../../machines/pixel6.toml").unwrap();
    let shown = with_stdin(&["show", "machine", "-", "--json"], &machine).done().json();
    assert_eq!(shown["name"], "pixel6");
    let both = with_stdin(&["simulate", "-m", "-", "-w", "-", "-p", "gts"], &machine);
    one_line(&both, 2, "the workload cannot be read from stdin (-): something else is");
    one_line(
        &with_stdin(&["show", "workload", "-"], b"{ \"tasks\": { \"a\": { \"run\": } } }"),
        2,
        "stdin:1:",
    );
    one_line(&with_stdin(&["show", "workload", "-"], b""), 2, "stdin: not a workload");
}

#[test]
fn names_are_found_whatever_their_case() {
    let args = [
        "simulate",
        "-m",
        "Odroid-XU3-Paper",
        "--cores",
        "2BIG+1Little",
        "-w",
        "Swaptions",
        "--size",
        SIZE,
    ];
    let record =
        evenkeel(&[&args[..], &["-p", "GTS:up=600", "--set", "Gts.down=100", "--json"]].concat())
            .done()
            .json();
    let is = |key: &str| record[key].as_str().unwrap().to_owned();
    assert_eq!(
        (is("machine"), is("cores"), is("policy")),
        (MACHINE.into(), "2big+1little".into(), "gts".into())
    );
    assert_eq!(record["workloads"], serde_json::json!([WORKLOAD]));
    assert_eq!((&record["knobs"]["up"], &record["knobs"]["down"]), (&600.0.into(), &100.0.into()));
    assert_eq!(
        evenkeel(&["show", "policy", "AGE-IW-RRB", "--json"]).done().json()["name"],
        "age-iw-rrb"
    );
    assert!(evenkeel(&["reproduce", "ACFS", "--list"]).done().stdout.contains("acfs"));
    let compared = evenkeel(&small("compare", &["-p", "Linux,GTS", "--baseline", "gts", "--json"]))
        .done()
        .json();
    assert_eq!(compared[1]["policy"], "gts");
    one_line(&evenkeel(&small("compare", &["-p", "gts,GTS"])), 2, "asked for twice");
}

#[test]
fn a_kind_in_a_case_that_two_have_is_not_guessed() {
    let machine = tempfile::NamedTempFile::new().unwrap();
    let kind = |name: &str| {
        format!(
            "[[kinds]]\nname = \"{name}\"\ncapacity = 1024\nmax_mhz = 1000\n[[clusters]]\nkind \
             = \"{name}\"\ncores = 1\n"
        )
    };
    let text = format!(
        "name = \"m\"\ndescription = \"d\"\nsource = \"s\"\n{}{}",
        kind("Big"),
        kind("BIG")
    );
    fs::write(machine.path(), text).unwrap();
    let path = machine.path().to_str().unwrap();
    assert_eq!(
        evenkeel(&["show", "machine", path, "--cores", "1BIG", "--json"]).done().json()["cores"],
        "1BIG"
    );
    let refused = evenkeel(&["show", "machine", path, "--cores", "1big"]);
    one_line(&refused, 2, "kind 'big' may be Big or BIG");
}

#[test]
fn show_finds_out_what_a_name_is() {
    let json = |name: &str| evenkeel(&["show", name, "--json"]).done().json();
    assert_eq!(json("pixel6")["cores"], "2prime+2big+4little");
    assert_eq!(json("Pixel6")["name"], "pixel6");
    assert_eq!(json("ferret:tasks")["applications"][0]["name"], "ferret:tasks");
    assert_eq!(json("gts")["chooses"], "threads");
    assert_eq!(json("heft")["chooses"], "tasks");
    assert_eq!(json("machines/pixel6.toml")["name"], "pixel6");
    assert!(json("workloads/rtapp-mixed.json")["applications"].is_array());
    let ended = evenkeel(&["show", "pixl6"]);
    one_line(&ended, 2, "nothing is named 'pixl6' (did you mean machine pixel6");
    one_line(&evenkeel(&["show", "zzzz"]), 2, "nothing is named 'zzzz'; `evenkeel machines`");
    assert_eq!(evenkeel(&["show"]).code, 2);
}
