//! Any wrong input gives exit code 2, nothing on stdout, and one line that says what is expected.

use crate::{MACHINE, WORKLOAD, evenkeel};

/// Asserts that the command is refused, with these words in its line.
#[track_caller]
fn refuses(args: &[&str], says: &str) {
    let ended = evenkeel(args);
    assert_eq!(ended.code, 2, "{args:?}: {}", ended.stderr);
    assert_eq!(ended.stdout, "", "{args:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{args:?}: {}", ended.stderr);
    assert!(ended.stderr.starts_with("error: "), "{args:?}: {}", ended.stderr);
    assert!(ended.stderr.contains(says), "{args:?}: '{says}' is not in: {}", ended.stderr);
}

/// Asserts that `simulate` of a valid run with these changes is refused.
#[track_caller]
fn simulate_refuses(more: &[&str], says: &str) {
    let mut args = vec!["simulate", "-m", MACHINE, "-w", WORKLOAD, "-p", "pinned"];
    args.extend(more);
    refuses(&args, says);
}

fn file(content: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    file
}

#[test]
fn what_is_missing_is_asked_for() {
    refuses(&["simulate", "-w", WORKLOAD, "-p", "pinned"], "no machine: give -m");
    refuses(&["simulate", "-w", WORKLOAD, "-p", "pinned"], MACHINE);
    refuses(&["simulate", "-m", MACHINE, "-p", "pinned"], "no workload: give -w");
    refuses(&["simulate", "-m", MACHINE, "-w", WORKLOAD], "no policy: give -p");
    refuses(&["compare", "-m", MACHINE, "-w", WORKLOAD], "no policies: give -p");
    refuses(&["completions"], "required");
}

#[test]
fn names_that_are_not_there_are_named() {
    refuses(&["simulate", "-m", "odroid-xu33", "-w", WORKLOAD, "-p", "pinned"], "odroid-xu33");
    refuses(&["simulate", "-m", MACHINE, "-w", "swoptions", "-p", "pinned"], "swoptions");
    refuses(&["simulate", "-m", MACHINE, "-w", WORKLOAD, "-p", "pined"], "did you mean pinned");
    refuses(&["compare", "-m", MACHINE, "-w", WORKLOAD, "-p", "pinned,nobody"], "nobody");
    refuses(&["show", "machine", "nowhere"], "nowhere");
    refuses(&["show", "workload", "nothing"], "nothing");
    refuses(&["show", "policy", "nobody"], "nobody");
    refuses(
        &["simulate", "-m", "/no/such/file.toml", "-w", WORKLOAD, "-p", "pinned"],
        "/no/such/file.toml",
    );
    refuses(
        &["simulate", "-m", MACHINE, "-w", "/no/such/file.json", "-p", "pinned"],
        "/no/such/file.json",
    );
    refuses(
        &["compare", "-m", MACHINE, "-w", "ferret,dedup", "-p", "pinned"],
        "for several give -w ferret -w dedup",
    );
    refuses(&["list"], "expected machines, policies, workloads");
    refuses(&["simulat"], "unrecognized subcommand 'simulat'");
    simulate_refuses(&["--polcy", "x"], "--polcy");
}

#[test]
fn flags_say_what_they_take() {
    simulate_refuses(&["--size", "-1"], "greater than 0");
    simulate_refuses(&["--size", "0"], "greater than 0");
    simulate_refuses(&["--size", "nan"], "greater than 0");
    simulate_refuses(&["--workers", "0"], "1..=65536");
    simulate_refuses(&["--workers", "-3"], "1..=65536");
    simulate_refuses(&["--seed", "-1"], "-1");
    simulate_refuses(
        &["--seed", "abc"],
        "'abc' found, expected a whole number from 0 to 18446744073709551615",
    );
    simulate_refuses(&["--duration", "0s"], "more than 0");
    simulate_refuses(&["--decision-latency", "soon"], "expected a duration");
    simulate_refuses(&["--estimator", "guess"], "expected oracle");
    simulate_refuses(&["--estimator", "modelled=-0.1"], "expected oracle");
    simulate_refuses(&["--governor", "fixed=fast"], "expected performance");
    refuses(&["compare", "-m", MACHINE, "-w", WORKLOAD, "-p", "pinned", "--jobs", "0"], "1..=4096");
    refuses(
        &["compare", "-m", MACHINE, "-w", WORKLOAD, "-p", "pinned", "--json", "--csv"],
        "--csv",
    );
    refuses(&["completions", "tcsh"], "bash");
}

#[test]
fn cores_must_be_there() {
    simulate_refuses(&["--cores", "9big"], "9");
    simulate_refuses(&["--cores", "2huge"], "huge");
    simulate_refuses(&["--cores", "0big+0little"], "0");
    simulate_refuses(&["--cores", "big"], "big");
    simulate_refuses(&["--cores", ""], "cores");
    simulate_refuses(&["--cores", "99999999999999999999big"], "99999999999999999999");
}

#[test]
fn knobs_must_fit() {
    simulate_refuses(&["--set", "up=1"], "pinned has no knob 'up'");
    simulate_refuses(&["--set", "up"], "KNOB=VALUE");
    simulate_refuses(&["--set", "gts.up=1"], "gts is not among the policies");
    refuses(&["simulate", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts:up=lots"], "expected a number");
    refuses(
        &["simulate", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts:upp=1"],
        "gts has no knob 'upp'",
    );
    refuses(&["simulate", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts,linux"], "use compare");
    refuses(&["compare", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts,linux,gts"], "twice");
    refuses(
        &["compare", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts,linux", "--set", "nothing=1"],
        "has such a knob",
    );
    refuses(
        &["compare", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts,linux", "--baseline", "pinned"],
        "pinned",
    );
}

#[test]
fn graph_policies_want_a_task_graph() {
    let wants = "policy heft: heft chooses among the tasks of a graph, and swaptions has none";
    refuses(&["simulate", "-m", MACHINE, "-w", WORKLOAD, "-p", "heft"], wants);
    refuses(
        &["compare", "-m", MACHINE, "-w", WORKLOAD, "-p", "gts,gts+cats"],
        "policy gts+cats: cats chooses among",
    );
    refuses(
        &["simulate", "-m", MACHINE, "-w", "dot-build", "-p", "nobody+heft"],
        "no policy 'nobody'",
    );
    refuses(&["simulate", "-m", MACHINE, "-w", "dot-build", "-p", "htef"], "did you mean heft");
    refuses(&["run", "-p", "cats", "--", "true"], "a running program shows its threads only");
}

#[test]
fn a_broken_file_is_named_with_the_place() {
    let machine = file("name = \"x\"\ncolour = \"red\"\n");
    let path = machine.path().to_str().unwrap();
    refuses(&["simulate", "-m", path, "-w", WORKLOAD, "-p", "pinned"], path);
    let workload = file("{ \"tasks\": { \"a\": { \"run\": } } }");
    let path = workload.path().to_str().unwrap();
    refuses(&["simulate", "-m", MACHINE, "-w", path, "-p", "pinned"], path);
    let graph = file("digraph {\n  a [weight=often]\n}");
    let path = graph.path().to_str().unwrap();
    refuses(
        &["simulate", "-m", MACHINE, "-w", path, "-p", "heft"],
        &format!("{path}:2:13: weight 'often' found"),
    );
    let neither = file("\u{0}\u{1}\u{2}");
    let path = neither.path().to_str().unwrap();
    refuses(&["simulate", "-m", path, "-w", WORKLOAD, "-p", "pinned"], path);
    refuses(&["simulate", "-m", MACHINE, "-w", path, "-p", "pinned"], path);
    refuses(&["simulate", "-m", "/", "-w", WORKLOAD, "-p", "pinned"], "/");
}

#[test]
fn a_file_that_cannot_be_written_is_known_before_the_run() {
    // At this size the run would take longer than any test may.
    simulate_refuses(
        &["--size", "1000", "--trace", "/no/such/folder/out"],
        "cannot write /no/such/folder/out",
    );
    simulate_refuses(&["--size", "1000", "--trace", "/"], "it is a folder");
    refuses(
        &[
            "compare",
            "-m",
            MACHINE,
            "-w",
            WORKLOAD,
            "-p",
            "pinned",
            "--size",
            "1000",
            "--html",
            "/proc/x.html",
        ],
        "cannot write /proc/x.html",
    );
    refuses(&["man", "/proc/no"], "/proc/no");
}
