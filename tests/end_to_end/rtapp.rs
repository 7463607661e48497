//! rt-app files as they exist: what rt-app accepts is accepted, and means the same.

use serde_json::Value;

use crate::{Ended, evenkeel};

/// Runs under gts, which starts threads on big cores.
fn simulate(text: &str, more: &[&str]) -> Ended {
    let workload = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(workload.path(), text).unwrap();
    let path = workload.path().to_str().unwrap();
    evenkeel(&[&["simulate", "-m", "odroid-xu3", "-w", path, "-p", "gts"], more].concat())
}

fn record(text: &str, more: &[&str]) -> Value {
    simulate(text, &[more, &["--json"]].concat()).done().json()
}

#[track_caller]
fn assert_near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found / expected - 1.0).abs() < 0.01, "{found} s, expected {expected} s");
}

#[test]
fn a_phase_that_names_cpus_runs_and_is_measured_alone_on_parts_of_the_machine_without_them() {
    let text = r#"{"tasks": {"a": {"loop": 1, "phases": {"p": {"cpus": [1], "loop": 5, "run": 8000,
        "timer": {"ref": "t", "period": 16000}}}}}, "global": {"duration": -1, "calibration": "CPU1"}}"#;
    assert_near(&record(text, &[])["makespan_s"], 0.080);
    let shipped = evenkeel(&[
        "simulate",
        "-m",
        "pixel6",
        "-w",
        "workloads/rtapp-policies.json",
        "-p",
        "linux",
    ]);
    assert_eq!(shipped.code, 0, "{}", shipped.stderr);
}

#[test]
fn the_delay_of_a_forked_thread_counts_from_the_start_of_the_run() {
    let text = r#"{"tasks": {"f": {"instance": 0, "loop": 2, "delay": 20000, "runtime": 1000,
        "timer": {"ref": "unique", "period": 10000}},
        "a": {"loop": 1, "phases": {"p": {"sleep": 50000}, "q": {"fork": "f"}}}},
        "global": {"duration": 2, "calibration": 100}}"#;
    assert_near(&record(text, &["--free-costs"])["makespan_s"], 0.061);
}

#[test]
fn memory_accesses_may_share_a_buffer_by_its_name() {
    let of = |part: &str| {
        let memrun = |size: u32| {
            format!(
                r#"{{"loop": 1, "memrun": {{"type": "read", "size": {size}, "count": 1000000{part}}}}}"#
            )
        };
        (
            format!(
                r#"{{"tasks": {{"a": {}, "b": {}}}, "global": {{"duration": 1}}}}"#,
                memrun(1000),
                memrun(1000)
            ),
            format!(
                r#"{{"tasks": {{"a": {}, "b": {}}}, "global": {{"duration": 1}}}}"#,
                memrun(1000),
                memrun(2000)
            ),
        )
    };
    let (shared, disagreeing) = of(r#", "ref": "shared""#);
    let (own, _) = of("");
    assert_eq!(record(&shared, &[])["makespan_s"], record(&own, &[])["makespan_s"]);
    assert_near(&record(&shared, &["--cores", "2big"])["makespan_s"], 0.001);
    let ended = simulate(&disagreeing, &[]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("'shared' is shared, and was of another size"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_follows_the_files_first_value_is_noted() {
    let text = "{\"tasks\":{\"a\":{\"loop\":1,\"run\":1000}},\"global\":{\"duration\":1}},\n";
    let ended = simulate(text, &["--json"]).done();
    assert_near(&ended.json()["makespan_s"], 0.001);
    assert!(ended.stderr.contains("from line 1, column 62 on, is ignored"), "{}", ended.stderr);
}

#[test]
fn keys_that_rt_app_does_not_know_are_noted_and_those_that_look_like_known_ones_refused() {
    let with = |task: &str, global: &str| {
        format!(
            r#"{{"tasks": {{"a": {{"loop": 1, "run": 1000{task}}}}}, "global": {{"duration": 1{global}}}, "_made_by": "x"}}"#
        )
    };
    let ended =
        simulate(&with(r#", "_comment": {"any": [1]}"#, r#", "logstats": false"#), &["--json"])
            .done();
    assert_near(&ended.json()["makespan_s"], 0.001);
    assert!(
        ended
            .stderr
            .contains("ignored, as by rt-app: _made_by, global: logstats, task 'a': _comment"),
        "{}",
        ended.stderr
    );
    // An unknown key that resembles one without effect is ignored.
    simulate(&with("", r#", "ftraces": "none""#), &[]).done();
    let ended = simulate(&with(r#", "prioritty": 3"#, ""), &[]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("prioritty: unknown key or event; do you mean 'priority'?"),
        "{}",
        ended.stderr
    );
}

/// The rows of a log, as numbers.
fn rows(log: &str) -> Vec<Vec<i64>> {
    let lines = log.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().map(|it| it.parse().unwrap()).collect()).collect()
}

#[test]
fn rt_apps_own_output_comes_out() {
    let text = r#"{"tasks": {
        "a": {"loop": 2, "phases": {"p": {"loop": 3, "run": 2000, "timer": {"ref": "t", "period": 10000}},
                                    "q": {"loop": 1, "runtime": 14000, "timer": {"ref": "t", "period": 10000}}}},
        "b/c": {"loop": 1, "policy": "SCHED_FIFO", "priority": 7, "cpus": [5], "sleep": 1000}}}"#;
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("made/logs");
    let args = ["--free-costs", "--rtapp-log", into.to_str().unwrap(), "--threads", "--json"];
    let of_run = simulate(text, &args).done().json();
    let log = std::fs::read_to_string(into.join("rt-app-a-0.log")).unwrap();
    let header = "#idx     perf      run   period           start             end          \
                  rel_st      slack \
                  c_duration   c_period     wu_lat";
    assert_eq!(
        log.lines().take(2).collect::<Vec<_>>(),
        ["# Policy : SCHED_OTHER priority : 0", header]
    );
    let rows = rows(&log);
    assert_eq!(rows.len(), 8);
    // idx perf run period start end rel_st slack c_duration c_period wu_lat
    assert_eq!(rows[0], [0, 2000, 2000, 10000, 0, 10000, 0, 8000, 2000, 10000, 0]);
    assert_eq!(rows[3], [0, 14000, 14000, 14000, 30000, 44000, 30000, -4000, 14000, 10000, 0]);
    // A thread that is late goes on at once, and its next period counts from then.
    assert_eq!(rows[4][3..6], [10000, 44000, 54000]);
    let other = std::fs::read_to_string(into.join("rt-app-b_c-1.log")).unwrap();
    assert!(other.starts_with("# Policy : SCHED_FIFO priority : 7\n"), "{other}");
    let trace = std::fs::read_to_string(into.join("trace.txt")).unwrap();
    let marks: Vec<&str> = trace.lines().filter(|line| line.contains(" a-0-")).collect();
    let of = |mark: &str| {
        marks.iter().filter(|line| line.contains(&format!("tracing_mark_write: {mark}"))).count()
    };
    assert_eq!(
        (of("rtapp_task: event="), of("rtapp_stats: "), of("rtapp_loop: event=start")),
        (2, 8, 8)
    );
    assert_eq!(of("rtapp_loop: event=end thread_loop=1 phase=1 phase_loop=0"), 1);
    assert_eq!((of("rtapp_phase: event=start"), of("rtapp_phase: event=end")), (4, 4));
    assert_eq!(
        of("rtapp_stats: period=14000 run=14000 wu_lat=0 slack=-4000 c_period=10000 c_run=14000"),
        2
    );
    assert!(marks[1].ends_with(": rtapp_phase: event=start thread_loop=0 phase=0"), "{}", marks[1]);

    let timers = &of_run["timers"];
    assert_eq!(
        (&timers["waits"], &timers["missed"], &timers["least_slack_us"]),
        (&8.into(), &2.into(), &(-4000.0).into())
    );
    assert_eq!(of_run["threads"][0]["timers"], *timers);
    assert!(of_run["threads"][1].get("timers").is_none());
    crate::assert_valid(&of_run);

    // A thread that wakes while another runs on its core waits for the core.
    let task =
        r#"{"loop": 20, "cpus": [4], "run": 3000, "timer": {"ref": "unique", "period": 10000}}"#;
    let crowded =
        record(&format!(r#"{{"tasks": {{"a": {task}, "b": {task}}}}}"#), &["--free-costs"]);
    let latency = |of: &str| crowded["timers"][of].as_f64().unwrap();
    assert!(
        latency("mean_latency_us") > 500.0 && latency("greatest_latency_us") <= 3000.0,
        "{crowded:#}"
    );

    let table = simulate(text, &["--free-costs", "--threads"]).done().stdout;
    assert!(table.contains("missed") && table.contains("2 of 8"), "{table}");
    let refused = evenkeel(&[
        "simulate",
        "-m",
        "odroid-xu3",
        "-w",
        "swaptions",
        "-p",
        "gts",
        "--rtapp-log",
        "/tmp/no",
    ]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("none of the workloads is an rt-app file"),
        "{}",
        refused.stderr
    );
}

/// Files whose times follow from rt-app's semantics, with our seconds and rt-app's own.
const FIXED_TIMES: [(&str, f64, f64); 10] = [
    ("barrier_of_two", 0.700, 0.701),
    ("busy_and_sleep", 0.600, 0.601),
    ("delayed_start", 0.550, 0.551),
    ("ends_by_duration", 1.000, 1.000),
    ("forked_child", 0.450, 0.451),
    ("late_for_a_timer", 0.550, 0.550),
    ("mutex_in_turn", 0.500, 0.501),
    ("periodic_timer", 0.500, 0.500),
    ("phases_on_cores", 0.700, 0.701),
    ("suspend_and_resume", 0.520, 0.521),
];

#[test]
fn times_that_the_semantics_fix_are_those_of_rt_app_within_two_percent() {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/rtapp_times");
    for (name, ours, of_rt_app) in FIXED_TIMES {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let found = record(&text, &[])["makespan_s"].as_f64().unwrap();
        assert!((found / ours - 1.0).abs() < 0.001, "{name}: {found} s, expected {ours} s");
        assert!((found / of_rt_app - 1.0).abs() < 0.02, "{name}: {found} s, rt-app {of_rt_app} s");
    }
}

#[test]
fn logs_of_forked_threads_are_called_as_by_rt_app() {
    let text = r#"{"tasks": {"slow": {"instance": 0, "loop": 1, "delay": 20000, "run": 1000},
        "fast": {"instance": 0, "loop": 1, "run": 1000}, "a": {"loop": 2, "phases": {
            "p": {"loop": 1, "fork": "slow"}, "q": {"loop": 1, "fork": "fast", "sleep": 1000}}}}}"#;
    let folder = tempfile::tempdir().unwrap();
    simulate(text, &["--rtapp-log", folder.path().to_str().unwrap()]).done();
    let files = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let logs = ["a-0", "fast-2-0000", "fast-4-0001", "slow-1-0000", "slow-3-0001"]
        .map(|it| format!("rt-app-{it}.log"));
    assert_eq!(names, [&logs[..], &["trace.txt".to_owned()]].concat());
    let child = std::fs::read_to_string(folder.path().join(&logs[2])).unwrap();
    assert_eq!(rows(&child)[0][0], 4, "{child}");
}
