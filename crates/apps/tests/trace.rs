//! Traces of mini-apps, queried in SQL: what the runtime records of real programs. Skipped, with a
//! line that says so, if tests/setup-perfetto.sh has made no Python environment under target/.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Runs a version of an app with this number of workers, and queries its trace. `None`: there is no
/// Python environment.
fn ask(app: &str, version: &str, queries: &[&str]) -> Option<Vec<Value>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/perfetto/bin/python");
    if !python.exists() {
        eprintln!("skipped: no {}; tests/setup-perfetto.sh makes it", python.display());
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("run.pftrace");
    let mut run = Command::new(env!("CARGO_BIN_EXE_evenkeel-apps"));
    run.args([app, "--size", "small", "--version", version, "--workers", "2"])
        .env("EVENKEEL_TRACE", &trace);
    assert!(run.output().unwrap().status.success());
    let output = Command::new(python)
        .arg(root.join("tests/perfetto_sql.py"))
        .arg(&trace)
        .args(queries)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = String::from_utf8(output.stdout).unwrap();
    Some(answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Tasks that begin before a task that they wait for has ended.
const TOO_EARLY: &str = "select before.name, after.name from flow join slice before on before.id = \
                         slice_out \
     join slice after on after.id = slice_in where before.ts + before.dur > after.ts";

#[test]
fn a_graph_of_tasks_has_a_slice_for_each_and_flows_from_those_it_waited_for() {
    let phases = "'leave', 'arrive', 'densities'";
    let Some(answers) = ask(
        "fluidanimate",
        "tasks",
        &[
            "select count(*), sum(name like '%(%), worker %') from track where parent_id is not \
             null",
            &format!(
                "select count(distinct times) from (select count(*) times from slice where name in \
                 ({phases}) group by name)"
            ),
            "select count(*) from slice where name = 'arrive'",
            "select count(*) from slice s where name = 'arrive' and not exists (select 1 from flow \
             join slice p on p.id = slice_out \
             where slice_in = s.id and p.name = 'leave')",
            TOO_EARLY,
        ],
    ) else {
        return;
    };
    assert_eq!(answers[0], json!([[2, 2]]), "a track per worker");
    assert_eq!(answers[1], json!([[1]]), "as many of each phase");
    assert!(answers[2][0][0].as_u64().unwrap() > 0 && answers[3] == json!([[0]]), "{answers:?}");
    assert_eq!(answers[4], json!([]));
}

#[test]
fn a_pipeline_has_a_slice_for_each_item_in_each_stage_and_the_serial_one_has_them_in_order() {
    let Some(answers) = ask(
        "dedup",
        "tasks",
        &[
            "select name, count(*) = count(distinct int_value), count(*) = max(int_value) + 1 from \
             slice join args on arg_set_id = slice.id \
             where key = 'debug.item' group by name order by name",
            "select count(*) from (select int_value - lag(int_value) over (order by ts) step from \
             slice join args on arg_set_id = slice.id \
             where name = 'archive' and key = 'debug.item') where step != 1",
        ],
    ) else {
        return;
    };
    let stages = ["archive", "compress", "look up", "refine"];
    assert_eq!(answers[0], json!(stages.map(|stage| json!([stage, 1, 1]))));
    assert_eq!(answers[1], json!([[0]]));
}

#[test]
fn a_loop_has_chunks_that_do_not_overlap_and_are_all_of_it() {
    let chunks = "select slice.ts, slice.dur, f.int_value first, e.int_value end from slice join \
                  args f on f.arg_set_id = slice.id \
         and f.key = 'debug.first' join args e on e.arg_set_id = slice.id and e.key = 'debug.end' \
         where name = 'loop'";
    let Some(answers) = ask(
        "blackscholes",
        "loop-dynamic",
        &[
            // The loops of the app have one length, and their number is that of the chunks that
            // begin at 0.
            &format!(
                "select count(*) > 0, sum(end <= first), sum(end - first) = max(end) * sum(first = \
                 0) from ({chunks})"
            ),
            // Chunks that run at the same time belong to one loop: the app has a barrier after
            // each.
            &format!(
                "with chunk as ({chunks}) select count(*) from chunk a join chunk b on a.first < \
                 b.first and b.first < a.end \
                 and a.ts < b.ts + b.dur and b.ts < a.ts + a.dur"
            ),
            TOO_EARLY,
        ],
    ) else {
        return;
    };
    assert_eq!(
        (&answers[0], &answers[1], &answers[2]),
        (&json!([[1, 0, 1]]), &json!([[0]]), &json!([]))
    );
}
