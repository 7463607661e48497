//! The package as users have it, by tests in Python: the module that cargo has built, beside the
//! package's own files.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The interpreter of tests/setup-python.sh; `None`: it is not there, and a line says so.
fn python(root: &Path) -> Option<PathBuf> {
    let python = root.join("target/python/venv/bin/python");
    if python.is_file() {
        return Some(python);
    }
    let is_required = env::var_os("EVENKEEL_VM").is_some_and(|it| it == "required");
    assert!(!is_required, "no {}: tests/setup-python.sh makes it", python.display());
    eprintln!("skipped: no Python with polars and the like (tests/setup-python.sh makes it)");
    None
}

/// A folder with the package, the module in it.
fn package(root: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("evenkeel");
    fs::create_dir(&to).unwrap();
    for file in fs::read_dir(root.join("crates/python/python/evenkeel")).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    let tests = env::current_exe().unwrap();
    let built = tests.parent().unwrap().join("lib_evenkeel.so");
    fs::copy(built, to.join("_evenkeel.abi3.so")).unwrap();
    folder
}

#[test]
fn the_package_does_what_its_tests_in_python_claim() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let Some(python) = python(&root) else { return };
    let package = package(&root);
    let mut tests = Command::new(python);
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir"]);
    tests.arg(root.join("crates/python")).arg(root.join("crates/python/tests"));
    tests.env("PYTHONPATH", package.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    let said = tests.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(said.status.success(), "{}{}", text(&said.stdout), text(&said.stderr));
    // How many there are, and which were skipped.
    println!("{}", text(&said.stdout).lines().last().unwrap_or_default());
}
