//! Files are complete or absent.

use std::process::Stdio;

use crate::{command, evenkeel, small};

#[test]
fn output_files_appear_whole_and_alone() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let trace = folder.path().join("run.pftrace");
    evenkeel(&small("compare", &["-p", "pinned,linux", "--html", page.to_str().unwrap()])).done();
    evenkeel(&small("simulate", &["-p", "pinned", "--trace", trace.to_str().unwrap()])).done();
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!") && html.trim_end().ends_with("</html>"));
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["page.html", "run.pftrace"], "and nothing else");
}

#[test]
fn a_run_that_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let workload = folder.path().join("stuck.json");
    // The thread waits for a resume that never comes.
    std::fs::write(&workload, r#"{ "tasks": { "stuck": { "loop": 1, "suspend": "stuck" } } }"#)
        .unwrap();
    let trace = folder.path().join("run.pftrace");
    let ended = evenkeel(&[
        "simulate",
        "-m",
        crate::MACHINE,
        "-w",
        workload.to_str().unwrap(),
        "-p",
        "linux",
        "--trace",
        trace.to_str().unwrap(),
    ]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("deadlock"), "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the workload");
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_temporary() {
    if crate::is_ignored(2) {
        println!("skipped: SIGINT is ignored here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("run.pftrace");
    // Long enough to be interrupted, and quick to begin.
    let args = [
        "simulate",
        "-m",
        crate::MACHINE,
        "-w",
        "gamess",
        "-p",
        "linux",
        "--size",
        "1000",
        "--trace",
    ];
    let mut child = command(&args).arg(&trace).stdout(Stdio::null()).spawn().unwrap();
    let begun = || std::fs::read_dir(folder.path()).unwrap().count() > 0;
    while !begun() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!begun(), "the temporary is gone");
}
