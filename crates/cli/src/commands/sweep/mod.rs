//! `evenkeel sweep`: a grid of runs, by this process or on another engine.

mod dask;
mod dry_run;
mod local;
mod progress;
mod slurm;

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use evenkeel_sweep::{Grid, Sweep, SweepError};

use crate::args::sweep::{On, SweepArgs};
use crate::error::{Failure, Result};
use crate::stdin;

/// The longest grid.
const MOST_BYTES: u64 = 16 << 20;

/// Carries it out, or says what it would be.
///
/// # Errors
/// Bad input; a folder with something else; a part cannot be written; all cases failed; the engine
/// cannot be reached, or gives up.
pub fn run(args: &SweepArgs) -> Result<ExitCode> {
    if args.on != Some(On::Slurm) && (args.tasks.is_some() || args.sbatch.is_some()) {
        return Err(Failure::usage("--tasks and --sbatch are for --on slurm"));
    }
    let (text, file) = read(&args.grid)?;
    let grid = Grid::parse(&text, &file, args.seeds).map_err(Failure::input)?;
    let sweep = Sweep::new(grid).map_err(failure)?;
    let checked = sweep.runs().check(sweep.grid());
    checked.map_err(|error| Failure::usage(format!("{file}: {error}")))?;
    let Some(output) = args.output.as_deref().filter(|_| !args.dry_run) else {
        return dry_run::say_what_it_would_be(&sweep, args).map(|()| ExitCode::SUCCESS);
    };
    match &args.on {
        None => local::carry_out(&sweep, output, args).map(|()| ExitCode::SUCCESS),
        Some(On::Slurm) => {
            slurm::carry_out(&sweep, &text, output, args).map(|()| ExitCode::SUCCESS)
        }
        Some(On::Dask(address)) => dask::carry_out(&text, output, address.as_deref(), args),
    }
}

/// The grid's text, and what it is called in messages.
fn read(path: &Path) -> Result<(String, String)> {
    if path == Path::new(stdin::NAME) {
        let bytes = stdin::read("grid", MOST_BYTES)?;
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Failure::usage(format!("{}: {error}", stdin::CALLED)))?;
        return Ok((text.to_owned(), stdin::CALLED.to_owned()));
    }
    let called = path.display().to_string();
    let unread = |what: String| Failure::usage(format!("{called}: {what}"));
    let file = std::fs::File::open(path).map_err(|error| unread(error.to_string()))?;
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| unread(error.to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(unread(format!("more than {} MiB found", MOST_BYTES >> 20)));
    }
    Ok((text, called))
}

/// A folder that is something else's is bad input; one that cannot be written to is not.
fn failure(error: SweepError) -> Failure {
    use evenkeel_sweep::FolderError;
    match error {
        SweepError::Folder(FolderError::Write { .. }) | SweepError::Table { .. } => {
            Failure::Failed(error.into())
        }
        SweepError::Folder(_) | SweepError::Input { .. } => Failure::input(error),
    }
}

fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A time for people.
fn about(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1.0 => format!("{:.0} ms", (seconds * 1e3).max(1.0)),
        _ if seconds < 120.0 => format!("{seconds:.0} s"),
        _ if seconds < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        _ if seconds < 172_800.0 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}
