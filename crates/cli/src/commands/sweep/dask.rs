//! A sweep by Dask: the Python package carries it out, in place of this process.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use evenkeel_linux::program::{Bond, Program, Signals, exit_code};

use crate::args::sweep::SweepArgs;
use crate::error::{Failure, Result};
use crate::stdin;

/// What is run, by `python3 -m`.
const MODULE: &str = "evenkeel.on_dask";
/// Names the Python that has the package.
const PYTHON_VARIABLE: &str = "EVENKEEL_PYTHON";
/// The exit code by which the module says that something it needs is not installed.
const NOT_INSTALLED: u8 = 97;

/// Carries out a grid. The exit code is the module's.
///
/// # Errors
/// There is no Python with the package.
pub fn carry_out(
    text: &str,
    output: &Path,
    address: Option<&str>,
    args: &SweepArgs,
) -> Result<ExitCode> {
    let python = std::env::var_os(PYTHON_VARIABLE).filter(|it| !it.is_empty());
    let python = python.unwrap_or_else(|| OsString::from("python3"));
    // Before signals are held back: Ctrl-C ends an import that takes long.
    import(&python)?;
    let signals = Signals::hold().context("cannot hold back signals").map_err(Failure::Failed)?;
    let is_stdin = args.grid == Path::new(stdin::NAME);
    let copy = is_stdin.then(|| copy_of(text)).transpose().map_err(Failure::Failed)?;
    let grid = copy.as_ref().map_or(args.grid.as_path(), |copy| copy.path());
    let grid = std::path::absolute(grid).context("no current folder").map_err(Failure::Failed)?;
    let mut command = Command::new(&python);
    command.args(["-m", MODULE]).args(arguments(&grid, output, address, args));
    let program = Program::start(command, Bond::Tied, &signals)
        .map_err(|error| not_installed(&format!("{}: {error}", python.display())))?;
    let status = program.wait().context("cannot wait for Python").map_err(Failure::Failed)?;
    match exit_code(status) {
        NOT_INSTALLED => Err(not_installed("something that it needs is missing")),
        code => Ok(ExitCode::from(code)),
    }
}

/// What the module is given: an interface, in this order.
fn arguments(grid: &Path, output: &Path, address: Option<&str>, args: &SweepArgs) -> Vec<OsString> {
    let mut all: Vec<OsString> =
        vec!["--grid".into(), grid.into(), "--output".into(), output.into()];
    let mut add = |flag: &str, value: Option<String>| {
        all.push(flag.into());
        all.extend(value.map(OsString::from));
    };
    if let Some(address) = address {
        add("--address", Some(address.to_owned()));
    }
    if let Some(jobs) = args.jobs.jobs {
        add("--jobs", Some(jobs.to_string()));
    }
    if args.resume {
        add("--resume", None);
    }
    if args.json {
        add("--json", None);
    }
    if let Some(seeds) = args.seeds {
        add("--seeds", Some(seeds.to_string()));
    }
    all
}

/// The grid from stdin, in a file that lives as long as this.
fn copy_of(text: &str) -> anyhow::Result<tempfile::NamedTempFile> {
    let copy = tempfile::Builder::new().prefix("evenkeel-grid-").suffix(".toml").tempfile();
    let mut copy = copy.context("no temporary file for the grid")?;
    copy.write_all(text.as_bytes()).context("cannot write the grid to a temporary file")?;
    Ok(copy)
}

/// Tries whether the module is there, so that its absence is one line and no traceback.
fn import(python: &OsStr) -> Result {
    let mut command = Command::new(python);
    command.args(["-c", &format!("import {MODULE}")]).stdin(Stdio::null());
    let ended = command
        .output()
        .map_err(|error| not_installed(&format!("{}: {error}", python.display())))?;
    if ended.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let last = stderr.lines().rfind(|line| !line.trim().is_empty());
    let why = last.map_or_else(|| ended.status.to_string(), str::to_owned);
    Err(not_installed(&format!("{}: {why}", python.display())))
}

fn not_installed(why: &str) -> Failure {
    Failure::Failed(anyhow::anyhow!(
        "--on dask takes Python with the package evenkeel: pip install \"evenkeel[dask]\" ({why})"
    ))
}
