//! What is published: the columns, and the version of what is simulated.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_policy::registry;
use evenkeel_sweep::{Grid, Runs, SCHEMA, columns};
use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The schema file is written anew with `EVENKEEL_UPDATE=1`.
#[test]
fn the_schema_file_lists_the_columns_that_tables_have() {
    let columns: Vec<_> = columns().collect();
    let schema = serde_json::json!({
        "title": SCHEMA,
        "description": "DIR/results/machine=M/policy=P/part-*.parquet of evenkeel sweep: a row for \
                        each application of a case, or one with the error of a case that failed",
        "folders": [
            { "name": "machine", "type": "text", "about": "name or file of the machine" },
            { "name": "policy", "type": "text", "about": "policy, with knobs given with its name" },
        ],
        "columns": columns,
        "further": "a column for each other axis of the grid, of the name of the axis with _ for \
                    -: acfs.swap, decision_latency; cores_asked for cores; null where it does not \
                    apply",
    });
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let file = root().join("schema/sweep.schema.json");
    if std::env::var_os("EVENKEEL_UPDATE").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(there, text, "EVENKEEL_UPDATE=1 cargo test -p evenkeel-sweep --test published");
}

/// For each policy a digest of what it comes to on some machines and workloads. Figures are
/// rounded: the last digits are the platform's.
fn digests() -> String {
    let policies: Vec<String> =
        registry::ENTRIES.iter().map(|entry| format!("\"{}\"", entry.name)).collect();
    let grid = format!(
        "[axes]\nmachine = [\"odroid-xu3-paper\", \"quickia\", \"pixel6\"]\n\
         workload = [\"ferret\", [\"mcf\", \"gobmk\"], \"wfcommons-mosaic\", \"hackbench\"]\n\
         size = 0.02\ngovernor = [\"performance\", \"schedutil\"]\n\
         estimator = [\"oracle\", \"sampled\"]\npolicy = [{}]\n",
        policies.join(", ")
    );
    let runs = Runs::default();
    let mut lines: IndexMap<String, String> = IndexMap::new();
    for case in Grid::parse(&grid, "grid.toml", None).unwrap().cases() {
        let run = runs.carry_out(&case);
        let of_policy = lines.entry(case.get("policy").unwrap().to_string()).or_default();
        let (energy, swaps) = (run.energy_j.unwrap_or(0.0), run.swaps);
        writeln!(of_policy, "{:.4e} {energy:.4e} {swaps} {:?}", run.makespan_s, run.error).unwrap();
    }
    let digest = |text: &String| -> String {
        Sha256::digest(text.as_bytes())[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    };
    lines.iter().map(|(policy, text)| format!("{policy} {}\n", digest(text))).collect()
}

/// The file has the version and the digests. `EVENKEEL_UPDATE=1` writes it anew, but no other
/// digests of policies that are there for the same version.
#[test]
fn a_run_that_comes_out_differently_is_of_another_version_of_the_model() {
    let (version, digests) = (format!("version {}\n", evenkeel_sim::MODEL), digests());
    let file = root().join("tests/golden/model-version.txt");
    let there = fs::read_to_string(&file).unwrap_or_default();
    let is_known = |line: &&str| there.lines().any(|known| known == *line);
    let only_more = there.lines().skip(1).all(|known| digests.lines().any(|line| line == known));
    let may_change = !is_known(&version.trim_end()) || only_more;
    if std::env::var_os("EVENKEEL_UPDATE").is_some() && may_change {
        fs::write(&file, version + &digests).unwrap();
        return;
    }
    assert_eq!(
        there,
        version + &digests,
        "runs come out differently: raise evenkeel_sim::MODEL, then \
         EVENKEEL_UPDATE=1 cargo test -p evenkeel-sweep --test published"
    );
}
