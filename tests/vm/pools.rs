//! The runtime on cores of two kinds: crates/runtime/examples/long_tasks.rs.

use std::path::PathBuf;

use crate::booted;

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn long_tasks_end_on_the_fast_cores_which_have_nothing_to_do() {
    let program =
        PathBuf::from(env!("CARGO_BIN_EXE_evenkeel")).with_file_name("examples").join("long_tasks");
    assert!(program.exists(), "cargo build -p evenkeel-runtime --examples");
    let args =
        ["--cores", "2@40+2@10", "--with", &program.display().to_string(), "--", "long_tasks"];
    let Some(ended) = booted(&args) else { return };
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = ended.text();
    // The last CPU of each long task.
    let lasts = text.lines().filter_map(|line| {
        line.strip_prefix("worker ")?.strip_suffix(']')?.rsplit([' ', '[']).next()
    });
    let mut lasts: Vec<u32> = lasts.map(|cpu| cpu.parse().unwrap()).collect();
    assert_eq!(lasts.len(), 4, "{text}");
    lasts[2..].sort_unstable();
    assert_eq!(lasts, [2, 3, 0, 1], "{text}");
}
