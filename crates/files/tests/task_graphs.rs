//! Task graphs from files: what is read, and how faults are told.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::task_graphs::{Format, looks_like, parse};
use evenkeel_model::{Application, TaskId};
use proptest::prelude::*;

fn read(text: &str) -> Application {
    let format = looks_like(text.as_bytes()).unwrap();
    let app = parse(text.as_bytes(), format, "dir/graph.txt", 3).unwrap();
    assert_eq!((app.validate(), app.threads.len(), app.name.as_str()), (Ok(()), 3, "graph"));
    app
}

fn refused(text: &str) -> String {
    parse(text.as_bytes(), looks_like(text.as_bytes()).unwrap(), "graph.txt", 1)
        .unwrap_err()
        .to_string()
}

/// Times in microseconds.
fn times(app: &Application) -> Vec<u64> {
    app.graphs[0].tasks.iter().map(|task| task.work.0 / 1_000).collect()
}

/// Before, after and bytes.
fn edges(app: &Application) -> Vec<(u32, u32, Option<u64>)> {
    let graph = &app.graphs[0];
    let of = |task| {
        let volumes = graph.volumes(TaskId(task));
        let after = graph.successors(TaskId(task)).iter().enumerate();
        after.map(move |(place, next)| (task, next.0, volumes.get(place).copied()))
    };
    (0..graph.tasks.len() as u32).flat_map(of).collect()
}

#[test]
fn stg_has_a_task_a_line_with_or_without_its_dummies() {
    let app = read("2\n 0 0 0\n 1 5 1 0  # the first\n\n 2 7 1 0\n 3 0 2 1 2\n# end\n");
    assert_eq!(times(&app), [0, 5_000, 7_000, 0]);
    assert_eq!(edges(&app), [(0, 1, None), (0, 2, None), (1, 3, None), (2, 3, None)]);
    assert_eq!(times(&read("2\n0 3 0\n1 4 1 0\n")), [3_000, 4_000]);
    let with_processors = read("# made by hand\n2 4\n0 3 0\n1 4 1 0\n");
    assert_eq!(times(&with_processors), [3_000, 4_000]);
    assert_eq!(
        with_processors.notes,
        ["STG: the machine says how many cores there are, not the file (4)"]
    );
}

#[test]
fn stg_faults_have_a_place() {
    assert_eq!(
        refused("1\n0 3 1 x\n"),
        "graph.txt:2:7: 'x' found, expected a whole number of 0 or more"
    );
    assert_eq!(refused("1\n0 3 2 0\n"), "graph.txt:2:5: 2 predecessors announced and 1 found");
    assert_eq!(
        refused("1\n1 3 0\n"),
        "graph.txt:2:1: task 1 found, expected 0: tasks are numbered from 0"
    );
    assert_eq!(
        refused("1\n0 3 1 7\n"),
        "graph.txt:2:7: predecessor 7 found, expected a task from 0 to 0"
    );
    assert_eq!(
        refused("5\n0 3 0\n"),
        "graph.txt: 1 tasks found, expected 5 as the first line says, or 7 with the two dummies"
    );
    let cycle = refused("2\n0 3 1 1\n1 3 1 0\n");
    assert!(
        cycle.starts_with("graph.txt: task '1' waits for itself")
            || cycle.starts_with("graph.txt: task '0' waits"),
        "{cycle}"
    );
}

#[test]
fn dot_has_weights_on_nodes_and_edges_chains_and_groups() {
    let app = read(
        "/* first */ strict digraph \"g\" \
         {\n# a line for a preprocessor\n node [shape=box, weight=2] a -> {b; c [cost=\"5us\"]} -> d [weight=64]\n\
         d [runtime=1s label=<x <b>y</b>>]; a:port:n -> d // last\n a -> d [size=9] rankdir=LR; \
         graph [bgcolor=\"a\" + \"b\"] edge [bytes=1] }",
    );
    assert_eq!(times(&app), [2_000, 2_000, 5, 1_000_000]);
    let expected =
        [(0, 1, Some(64)), (0, 2, Some(64)), (0, 3, Some(9)), (1, 3, Some(64)), (2, 3, Some(64))];
    assert_eq!(edges(&app), expected);
}

#[test]
fn dot_numbers_tasks_in_an_order_in_which_they_can_run() {
    let app = read(
        "digraph { node [weight=1] last -> none [weight=0]; first [weight=3]; first -> last }",
    );
    assert_eq!(
        (times(&app), edges(&app)),
        (vec![3_000, 1_000, 1_000], vec![(0, 1, Some(0)), (1, 2, Some(0))])
    );
}

#[test]
fn several_edges_of_a_graph_that_is_not_strict_add_up() {
    let app = read("digraph { node [weight=1] a -> b [weight=3]; a -> b [weight=4] }");
    assert_eq!(edges(&app), [(0, 1, Some(7))]);
}

#[test]
fn dot_faults_have_a_place() {
    let starts = |text: &str, message: &str| {
        assert!(refused(text).starts_with(message), "{}", refused(text))
    };
    starts(
        "digraph {\n  a -> b\n}",
        "graph.txt:2:3: node 'a': no weight found, expected weight=TIME",
    );
    starts(
        "digraph { a [weight=x] }",
        "graph.txt:1:21: weight 'x' found, expected a time of 0 to 30 years",
    );
    starts("digraph { a [weight=-1] }", "graph.txt:1:21: weight '-1' found");
    starts(
        "graph { a -- b }",
        "graph.txt:1:1: 'graph' found, expected digraph: edges of a task graph have a direction",
    );
    starts("digraph { a -- b }", "graph.txt:1:13: -- found, expected ->");
    starts("digraph { a [weight 5] }", "graph.txt:1:21: '5' found, expected =");
    starts(
        "digraph { a [weight=5]",
        "graph.txt:1:23: the end of the file found, expected a node, an edge or }",
    );
    starts("digraph { a [label=\"x] }", "graph.txt:1:20: a string without an end");
    starts(
        "digraph { } digraph { }",
        "graph.txt:1:13: 'digraph' found, expected the end: one graph a file",
    );
    starts("digraph { }", "graph.txt: no tasks found, expected at least one");
    starts("digraph { a [weight=1] a -> a }", "graph.txt: task 'a' waits for itself");
    starts("digraph { node [weight=1] x -> a -> b -> a b -> c }", "graph.txt: task '");
    starts(
        &format!("digraph {{ {}", "{".repeat(1000)),
        "graph.txt:1:75: nested deeper than 64 groups",
    );
}

fn workflow(tasks: &str, files: &str, executed: &str) -> String {
    format!(
        r#"{{"name": "w", "schemaVersion": "1.5", "workflow": {{"specification": {{"tasks": [{tasks}], "files": [{files}]}},
            "execution": {{"makespanInSeconds": 1, "executedAt": "", "tasks": [{executed}]}}}}}}"#
    )
}

#[test]
fn a_workflow_hands_over_the_files_that_one_task_puts_out_and_the_next_takes_in() {
    let app = read(&workflow(
        r#"{"id": "b", "name": "b", "parents": ["a"], "children": [], "inputFiles": ["f", "g"]},
           {"id": "a", "name": "a", "parents": [], "children": ["b", "c"], "outputFiles": ["f", "h"]},
           {"id": "c", "name": "c"}"#,
        r#"{"id": "f", "sizeInBytes": 100}, {"id": "g", "sizeInBytes": 7}, {"id": "h", "sizeInBytes": 9}"#,
        r#"{"id": "a", "runtimeInSeconds": 0.5, "coreCount": 4}, {"id": "b", "runtimeInSeconds": 2}, {"id": "c", "runtimeInSeconds": 1}"#,
    ));
    assert_eq!(times(&app), [500_000, 2_000_000, 1_000_000]);
    assert_eq!(edges(&app), [(0, 1, Some(100)), (0, 2, Some(0))]);
    assert_eq!(app.notes.len(), 1);
}

/// A workflow as before version 1.5.
fn older(version: &str, tasks: &str) -> String {
    format!(
        r#"{{"schemaVersion": "{version}", "workflow": {{"executedAt": "x", "tasks": [{tasks}]}}}}"#
    )
}

#[test]
fn workflows_of_older_versions_have_all_of_a_task_in_one_place() {
    let parts = |time: &str, size: &str| {
        format!(
            r#"{{"name": "a_1", "id": "1", "type": "compute", "parents": [], "{time}": 2.5, "cores": 4,
                "files": [{{"name": "in", "link": "input", "{size}": 7}}, {{"name": "out", "link": "output", "{size}": 9}}]}},
               {{"name": "b_2", "id": "2", "type": "compute", "parents": ["a_1"], "{time}": 1,
                "files": [{{"name": "out", "link": "input", "{size}": 9}}]}}"#
        )
    };
    for text in [
        older("1.3", &parts("runtime", "size")),
        older("1.4", &parts("runtimeInSeconds", "sizeInBytes")),
    ] {
        let app = read(&text);
        assert_eq!((times(&app), edges(&app)), (vec![2_500_000, 1_000_000], vec![(0, 1, Some(9))]));
        assert_eq!(
            app.notes,
            ["WfFormat: a task that had several cores (coreCount) has one here, for as long"]
        );
    }
}

#[test]
fn faults_of_a_workflow_name_the_key() {
    let a = r#"{"id": "a", "runtimeInSeconds": 1}"#;
    assert_eq!(
        refused(&workflow(r#"{"id": "a", "parents": ["x"]}"#, "", a)),
        "graph.txt: workflow.specification.tasks[0].parents[0]: 'x' found, expected the id of a \
         task"
    );
    assert_eq!(
        refused(&workflow(r#"{"id": "b"}"#, "", a)),
        "graph.txt: workflow.specification.tasks[0].id: 'b' found, expected one of \
         workflow.execution.tasks"
    );
    assert_eq!(
        refused(&workflow(r#"{"id": "a"}"#, "", r#"{"id": "a", "runtimeInSeconds": -1}"#)),
        "graph.txt: workflow.execution.tasks[0].runtimeInSeconds: -1 found, expected 0 to 1e9"
    );
    assert_eq!(
        refused(&workflow(r#"{"id": "a"}, {"id": "a"}"#, "", a)),
        "graph.txt: workflow.specification.tasks[1].id: 'a' found twice"
    );
    let old = workflow("", "", "").replace("1.5", "1.2");
    assert_eq!(
        refused(&old),
        "graph.txt: schemaVersion: '1.2' found, expected 1.3, 1.4, 1.5 or 1.6"
    );
    let none = older("1.4", r#"{"name": "a", "files": []}"#);
    assert_eq!(
        refused(&none),
        "graph.txt: workflow.tasks[0]: neither 'runtimeInSeconds' nor 'runtime' found"
    );
    let twice = older("1.3", r#"{"name": "a", "runtime": 1}, {"name": "a", "runtime": 1}"#);
    assert_eq!(refused(&twice), "graph.txt: workflow.tasks[1].id: 'a' found twice");
    assert!(
        refused("{\"schemaVersion\": \"1.5\",\n \"workflow\": {}}").starts_with("graph.txt:2:")
    );
}

#[test]
fn other_texts_are_not_taken_for_task_graphs() {
    for text in [
        "",
        "5",
        "5\n",
        "{}",
        r#"{"workflow": 1}"#,
        "digraph",
        "digraphs {",
        "graph g h {",
        "1 2\n3 4 5\n",
        "5\na b\n",
    ] {
        assert_eq!(looks_like(text.as_bytes()), None, "{text}");
    }
    assert_eq!(looks_like(b"\xff\xfe digraph {}"), None);
    assert_eq!(looks_like("\u{feff}Digraph G {".as_bytes()), Some(Format::Dot));
}

/// Words of the three formats, strung together.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "digraph",
        "strict",
        "graph",
        "node",
        "edge",
        "subgraph",
        "{",
        "}",
        "[",
        "]",
        "->",
        "--",
        "=",
        ";",
        ",",
        ":",
        "+",
        "a",
        "b",
        "weight",
        "5",
        "5ms",
        "-1",
        "1e300",
        "\"",
        "\\",
        "<",
        ">",
        "/*",
        "*/",
        "//",
        "\n",
        "# x\n",
        " ",
        "0",
        "1",
        "2",
        "18446744073709551616",
        "é",
        "\"workflow\"",
        "\"tasks\"",
        "\"id\"",
        "null",
        "\u{0}",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_to_a_valid_application_or_refused(
        text in prop_oneof![words(), words().prop_map(|rest| format!("digraph {{ node [weight=1] \
                                                                      {rest}")), ".*"],
    ) {
        for format in [Format::WfCommons, Format::Stg, Format::Dot] {
            match parse(text.as_bytes(), format, "x", 2) {
                Ok(app) => prop_assert_eq!(app.validate(), Ok(())),
                Err(error) => prop_assert!(error.to_string().starts_with("x:")),
            }
        }
        let _ = looks_like(text.as_bytes());
    }
}
