//! `sweep --on dask`: what the Python package is given, and what becomes of its end. A script
//! stands for Python.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::sweep::{GRID, Place};
use crate::{Ended, eventually, is_ignored};

/// What a script does that is called as Python is: `-c` asks whether the package is there.
const PYTHON: &str = "#!/bin/sh\n[ \"$1\" = -c ] && { CHECK; }\nRUN\n";

/// A place with a script for Python in it.
fn place_with_python(check: &str, run: &str) -> Place {
    let place = Place::with(GRID);
    let python = place.path("python");
    fs::write(&python, PYTHON.replace("CHECK", check).replace("RUN", run)).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    place
}

fn sweep(place: &Place, more: &[&str]) -> std::process::Command {
    let mut command = place.sweep(more);
    command.env("EVENKEEL_PYTHON", place.path("python"));
    command
}

#[test]
fn the_package_is_given_all_flags_in_order_and_its_exit_code_is_ours() {
    let place = place_with_python("exit 0", "echo \"$@\"; exit 3");
    let more = ["--on", "dask=tcp://head:8786", "--jobs", "4", "--resume", "--json"];
    let more = [&more[..], &["--seeds", "5"]].concat();
    let ended = Ended::of(sweep(&place, &more).output().unwrap());
    let (grid, out) = (place.path("grid.toml"), place.path("out"));
    assert_eq!(
        ended.stdout.trim_end(),
        format!(
            "-m evenkeel.on_dask --grid {grid} --output {out} --address tcp://head:8786 --jobs 4 \
             --resume --json --seeds 5"
        )
    );
    assert_eq!((ended.code, ended.stderr.as_str()), (3, ""));
    let ended = Ended::of(sweep(&place, &["--on", "dask"]).output().unwrap());
    let shortest = format!("-m evenkeel.on_dask --grid {grid} --output {out}");
    assert_eq!(ended.stdout.trim_end(), shortest);
}

#[test]
fn a_grid_on_stdin_is_a_file_for_the_package_as_long_as_it_runs() {
    let place = place_with_python("exit 0", "echo \"$4\"; cat \"$4\"");
    let mut command = crate::command(&["sweep", "-", "-o", "out", "--on", "dask"]);
    command.env("EVENKEEL_PYTHON", place.path("python"));
    command.stdin(fs::File::open(place.path("grid.toml")).unwrap());
    let ended = Ended::of(command.output().unwrap()).done();
    let (file, grid) = ended.stdout.split_once('\n').unwrap();
    assert_eq!(grid, GRID);
    assert!(file.starts_with('/') && !fs::exists(file).unwrap(), "{file}");
}

#[test]
fn without_the_package_one_line_says_what_to_install_and_why() {
    let wanted = "error: --on dask takes Python with the package evenkeel: pip install \
                  \"evenkeel[dask]\" (";
    let none = "ModuleNotFoundError: No module named 'evenkeel'";
    let check = format!("printf 'Traceback:\\n  x\\n%s\\n' \"{none}\" >&2; exit 1");
    for (check, why) in [(check.as_str(), none), ("exit 0", "something that it needs is missing")] {
        let place = place_with_python(check, "exit 97");
        let ended = Ended::of(sweep(&place, &["--on", "dask"]).output().unwrap());
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""));
        assert!(ended.stderr.starts_with(wanted), "{}", ended.stderr);
        assert!(
            ended.stderr.contains(why) && ended.stderr.lines().count() == 1,
            "{}",
            ended.stderr
        );
    }
    let place = Place::with(GRID);
    let ended = Ended::of(sweep(&place, &["--on", "dask"]).output().unwrap());
    assert!(ended.code == 1 && ended.stderr.starts_with(wanted), "{}", ended.stderr);
    // The grid comes first.
    let place = Place::with(&GRID.replace("machine", "mashine"));
    let ended = Ended::of(sweep(&place, &["--on", "dask"]).output().unwrap());
    assert!(ended.code == 2 && ended.stderr.contains("axis 'mashine'"), "{}", ended.stderr);
}

#[test]
fn ctrl_c_is_the_packages_to_answer() {
    const SIGINT: i32 = 2;
    if is_ignored(SIGINT) {
        return;
    }
    let run = "trap 'echo ended; exit 130' INT\ntouch \"$4\".begun\nwhile :; do sleep 0.05; done";
    let place = place_with_python("exit 0", run);
    let child = sweep(&place, &["--on", "dask"]).stdout(Stdio::piped()).spawn().unwrap();
    eventually("it runs", || fs::exists(place.path("grid.toml.begun")).unwrap());
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (130, "ended\n"));
}
