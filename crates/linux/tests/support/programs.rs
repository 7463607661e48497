//! Real programs that tests and benchmarks watch.

#![allow(dead_code, reason = "each test program uses its part")]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use evenkeel_linux::watch::Tid;

/// The example of this name, built.
pub fn example(name: &str) -> PathBuf {
    // target/…/deps/test-…: beside deps are the examples.
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("examples").join(name);
    assert!(
        path.exists(),
        "cargo test builds examples only with all tests: cargo build -p evenkeel-linux --examples"
    );
    path
}

/// Builds the C program `name`, of tests/programs, in a folder; `None`, and says so, where there is
/// no compiler.
pub fn compiled(name: &str, folder: &Path) -> Option<PathBuf> {
    let built = folder.join(name);
    let source = format!("{}/tests/programs/{name}.c", env!("CARGO_MANIFEST_DIR"));
    match Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&built).arg(&source).status() {
        Ok(status) => {
            assert!(status.success(), "{source} cannot be compiled");
            Some(built)
        }
        Err(error) => {
            println!("skipped: cc: {error}");
            None
        }
    }
}

/// A program that has not begun yet: it does when it is let go, by a line on its standard input.
pub fn held(program: &Path, words: &[&str]) -> Child {
    let mut child = Command::new("sh")
        .args(["-c", "echo; read _; exec \"$0\" \"$@\""])
        .arg(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The shell itself has begun, and the kernel has told what it tells of that.
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    child
}

pub fn tid(child: &Child) -> Tid {
    Tid(i32::try_from(child.id()).unwrap())
}
