//! Errors of rt-app files name their exact place, what was found and what was expected.

use evenkeel_files::rtapp;

fn error(text: impl AsRef<[u8]>) -> String {
    match rtapp::parse(text, "x.json") {
        Ok(app) => panic!("read as {app:?}"),
        Err(error) => error.to_string(),
    }
}

/// A fault of a task's body, told after `x.json:2:`.
fn in_task(body: &str) -> String {
    let text = format!("{{\"tasks\": {{\"t\": {{\n{body}}}}}}}");
    let error = error(text);
    error.strip_prefix("x.json:2:").unwrap_or_else(|| panic!("{error}")).to_owned()
}

#[test]
fn a_wrong_value_is_told_with_task_phase_and_key() {
    let text = "{\n \"tasks\": {\n  \"thread0\": {\n   \"phases\": {\n    \"p1\": { \"run\": \"abc\" } } } } }";
    assert_eq!(
        error(text),
        "x.json:5:20: task 'thread0', phase 'p1': run: \"abc\" found, expected a number of \
         microseconds"
    );
}

#[test]
fn values_out_of_type_or_range_are_refused() {
    let cases = [
        ("\"run\": 1.5", "8: task 't': run: 1.5 found, expected a number of microseconds"),
        ("\"sleep\": -1", "10: task 't': sleep: -1 found, expected a number of microseconds"),
        (
            "\"run\": 99999999999",
            "8: task 't': run: 99999999999 found, expected a number of microseconds",
        ),
        ("\"run\"", "1: task 't': run: no value found, expected a number of microseconds"),
        (
            "\"instance\": 4000000000, \"run\": 1",
            "13: task 't': instance: 4000000000 found, expected a number of threads from 0",
        ),
        (
            "\"run\": 1, \"util_min\": 1025",
            "23: task 't': util_min: 1025 found, expected a utilisation from 0 to 1024, or -1 for \
             the system's default",
        ),
        (
            "\"run\": 1, \"util_min\": 9, \"util_max\": 8",
            "23: task 't': util_min: util_min 9 is greater than util_max 8",
        ),
        (
            "\"run\": 1, \"cpus\": [0, \"1\"]",
            "23: task 't': cpus: \"1\" found, expected a CPU number from 0 to 4095",
        ),
        ("\"run\": 1, \"cpus\": []", "19: task 't': cpus: no CPU to run on"),
        (
            "\"run\": 1, \"priority\": 20",
            "23: task 't': priority: 20 found, expected a nice value from -20 to 19",
        ),
        (
            "\"run\": 1, \"policy\": \"SCHED_RR\", \"priority\": 0",
            "45: task 't': priority: 0 found, expected a real-time priority from 1 to 99",
        ),
        (
            "\"run\": 1, \"policy\": \"FIFO\"",
            "21: task 't': policy: \"FIFO\" found, expected SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, \
             SCHED_FIFO, SCHED_RR or SCHED_DEADLINE",
        ),
        (
            "\"run\": 1, \"taskgroup\": \"a\"",
            "24: task 't': taskgroup: \"a\" found, expected a path that begins with '/', or an \
             empty string",
        ),
        (
            "\"resume\"",
            "1: task 't': resume: no value found, expected the name that threads are suspended on",
        ),
        ("\"timer\": 5", "10: task 't': timer: 5 found, expected an object with ref and period"),
        (
            "\"timer\": {\"ref\": \"a\", \"mode\": \"often\"}",
            "31: task 't': mode: \"often\" found, expected relative or absolute",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(in_task(body), expected);
    }
}

#[test]
fn words_that_were_probably_meant_as_known_ones_are_told_with_those() {
    let cases = [
        ("\"Run\": 1", "1: task 't': Run: unknown key or event; do you mean 'run' or 'runtime'?"),
        (
            "\"run\": 1, \"prioritty\": 1",
            "11: task 't': prioritty: unknown key or event; do you mean 'priority'?",
        ),
        (
            "\"run\": 1, \"prio\": 1",
            "11: task 't': prio: unknown key or event; do you mean 'priority'?",
        ),
        (
            "\"run\": 1, \"cpu\": [1]",
            "11: task 't': cpu: unknown key or event; do you mean 'cpus'?",
        ),
        (
            "\"run\": 1, \"util-max\": 1",
            "11: task 't': util-max: unknown key or event; do you mean 'util_max'?",
        ),
        (
            "\"run\": 1, \"fork\": \"tt\"",
            "19: task 't': fork: \"tt\": unknown task; do you mean 't'?",
        ),
        (
            "\"timer\": {\"perod\": 1}",
            "11: task 't': perod: unknown key of a timer; do you mean 'period'?",
        ),
        (
            "\"memrun\": {\"type\": \"read\", \"cnt\": 1}",
            "28: task 't': cnt: unknown key of a memrun; do you mean 'count'?",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(in_task(body), expected);
    }
    assert_eq!(error("{\"task\": {}}"), "x.json:1:2: task: unknown section; do you mean 'tasks'?");
    assert_eq!(
        error("{\"tasks\": {\"t\": {\"run\": 1}}, \"global\": {\"durration\": 1}}"),
        "x.json:1:41: global: durration: unknown key; do you mean 'duration'?"
    );
}

#[test]
fn what_does_not_go_together_is_refused() {
    let cases = [
        ("\"loop\": 1, \"loop\": 2, \"run\": 1", "12: task 't': loop: given twice"),
        (
            "\"run\": 1, \"phases\": {\"p\": {\"run\": 1}}",
            "8: task 't': run: an event beside 'phases' would never run",
        ),
        (
            "\"phases\": {\"p\": {\"run\": 1, \"delay\": 1}}",
            "37: task 't', phase 'p': delay: belongs to a task, not to a phase",
        ),
        (
            "\"run\": 1, \"policy\": \"SCHED_FIFO\", \"taskgroup\": \"/a\"",
            "48: task 't': taskgroup: a taskgroup asks for SCHED_OTHER, SCHED_BATCH or SCHED_IDLE",
        ),
        (
            "\"run\": 1, \"policy\": \"SCHED_DEADLINE\"",
            "21: task 't': SCHED_DEADLINE asks for 0 < dl-runtime <= dl-deadline <= dl-period; \
             found 0, 0 and 0 us",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(in_task(body), expected);
    }
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(error("{\n}"), "x.json:1:1: the section 'tasks' is missing");
    assert_eq!(error(""), "x.json:1:1: the end of the file found, expected a value");
    assert_eq!(error("[]"), "x.json:1:1: another value found, expected an object with 'tasks'");
    assert_eq!(error("{\"tasks\": {}}"), "x.json:1:2: tasks: no task of an instance to start");
    assert_eq!(error("{\"tasks\": {\"t\": {}}}"), "x.json:1:12: task 't': an event is missing");
    assert_eq!(
        error("{\"tasks\": {\"t\": {\"phases\": {}}}}"),
        "x.json:1:12: task 't': a phase in 'phases' is missing"
    );
}

#[test]
fn a_task_that_would_hold_the_clock_still_is_refused() {
    let text = "{\"tasks\": {\"t\": {\"loop\": -1, \"yield\": \"\", \"sleep\": 0}}}";
    assert_eq!(
        error(text),
        "x.json:1:12: task 't': loops for ever and no event of the loop takes time"
    );
}

#[test]
fn a_barrier_that_only_templates_name_is_refused() {
    let text = "{\"tasks\": {\"t\": {\"instance\": 0, \"run\": 1, \"barrier\": \"b\"}, \"u\": {\"loop\": 1, \"fork\": \"t\"}}}";
    assert_eq!(
        error(text),
        "x.json:1:54: b: only tasks of instance 0 name it, so that it would never open"
    );
}

#[test]
fn threads_and_names_are_bounded() {
    let threads = |count: u64| {
        format!("{{\"tasks\": {{\"t\": {{\"instance\": {count}, \"loop\": 1, \"run\": 1}}}}}}")
    };
    let most = rtapp::parse(threads(rtapp::MAX_THREADS), "x.json")
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(most.threads.len() as u64, rtapp::MAX_THREADS);
    let expected = "x.json:1:12: task 't': 65537 threads by now, at most 65536 are read";
    assert_eq!(error(threads(rtapp::MAX_THREADS + 1)), expected);
    let name = "n".repeat(rtapp::MAX_NAME_BYTES + 1);
    assert!(
        error(format!("{{\"tasks\": {{\"{name}\": {{\"run\": 1}}}}}}"))
            .ends_with("257 bytes in its name, at most 256 are read")
    );
}

#[test]
fn text_that_is_not_utf8_is_told_with_its_place() {
    assert_eq!(error(b"{\n \"t\xff\"".as_slice()), "x.json:2:4: not UTF-8 text");
    assert_eq!(error(b"\xff\xfe{\0".as_slice()), "x.json:1:1: not UTF-8 text");
}

#[test]
fn a_byte_order_mark_counts_for_nothing() {
    let text = "\u{feff}{\"tasks\": {\"t\": {\"loop\": 1, \"run\": 1}}}";
    assert!(rtapp::looks_like_rtapp(text));
    assert!(rtapp::parse(text, "x.json").is_ok());
    assert_eq!(error("\u{feff}{]"), "x.json:1:2: ']' found, expected a key in quotes or '}'");
}
