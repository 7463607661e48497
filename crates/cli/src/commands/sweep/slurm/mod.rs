//! A sweep by Slurm: array jobs, each task of which is a share of the sweep by this very binary.
//!
//! ```text
//! look what lacks -> job there already? -> no: submit -> watch -> look what lacks -> ...
//!                                       -> yes ------------^
//! ```
//!
//! What is done is what is in the folder. The job's name tells the grid and the folder, so a job is
//! found again by another process, and nothing is to be remembered.

mod client;
mod task;
mod tasks;
mod watch;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use evenkeel_sweep::{Begin, Folder, Shard, Sweep};

use super::dry_run::Tried;
use super::failure;
use super::progress::{Done, Progress};
use crate::args::sweep::SweepArgs;
use crate::error::{Failure, Result};
use client::{Client, Queue, Submission};
use task::Place;
pub use tasks::Tasks;
use watch::Watched;

/// So often a job may end without a part written before the sweep is given up. Ours.
const FRUITLESS: u32 = 3;

/// Carries out a sweep, of the grid in a text.
///
/// # Errors
/// Slurm is not there, cannot be reached or refuses the job; tasks write nothing; a folder with
/// something else; all cases failed.
pub fn carry_out(sweep: &Sweep, text: &str, output: &Path, args: &SweepArgs) -> Result {
    let place = Place::new(output).map_err(Failure::Failed)?;
    let client = Client::new(place.job(sweep.manifest())).map_err(Failure::Failed)?;
    // Before anything is written: a controller that is not there is found out here.
    let queue = client.queue().map_err(Failure::Failed)?;
    let traces = Traces::before(output);
    let begin = if args.resume { Begin::Resume } else { Begin::Anew };
    let folder = sweep.folder(output, begin).map_err(failure)?;
    let share = sweep.share(Shard::WHOLE);
    let lacking = sweep.lacking(&folder, &share);
    let (all, cases) = (sweep.cases_of(&share), sweep.cases_of(&lacking));
    let progress = Arc::new(Progress::new(all, all - cases, share.len() - lacking.len()));
    let mut watched = Watched::new(sweep, &folder, &client, &progress, lacking.clone());
    watched.say_when_interrupted();
    let case_s = OnceCell::new();
    let job = Job { sweep, text, args, client: &client, place: &place, folder: &folder, case_s };
    if let Err(error) = job.rounds(&mut watched, &queue) {
        progress.end();
        if !watched.has_had_job() {
            traces.remove();
        }
        return Err(error);
    }
    watched.wait_for_the_last();
    progress.end();
    // Nothing depends on it.
    let _ = std::fs::remove_dir_all(place.path());
    folder.sweep_up();
    let failed = sweep.failed(&folder, &lacking);
    let failed = failed.map_err(|error| Failure::Failed(error.into()))?;
    Done { output, all, cases, failed }.report(&progress, args.json)
}

/// What is submitted again and again.
struct Job<'a> {
    sweep: &'a Sweep,
    text: &'a str,
    args: &'a SweepArgs,
    client: &'a Client,
    place: &'a Place,
    folder: &'a Folder,
    /// Seconds of a case, in the mean, once that has been tried.
    case_s: OnceCell<f64>,
}

impl Job<'_> {
    /// Submits what lacks and watches it until nothing lacks.
    fn rounds(&self, watched: &mut Watched, queue: &Queue) -> Result {
        let mut fruitless = 0;
        let mut is_to_submit = queue.is_empty();
        if !is_to_submit {
            watched.has_found(queue);
        }
        while !watched.lacking().is_empty() {
            let before = watched.lacking().len();
            if is_to_submit {
                match self.submit(watched.lacking()) {
                    Ok((number, tasks)) => watched.has_begun(number, tasks),
                    // A busy controller may take a job and be late with its answer.
                    Err(error) => match self.client.queue() {
                        Ok(queue) if !queue.is_empty() => watched.has_found(&queue),
                        _ => return Err(error),
                    },
                }
            }
            watched.until_over().map_err(Failure::Failed)?;
            is_to_submit = true;
            let left = watched.lacking().len();
            fruitless = if left < before { 0 } else { fruitless + 1 };
            if fruitless == FRUITLESS {
                return Err(self.given_up());
            }
        }
        Ok(())
    }

    /// Submits the tasks whose share lacks something. Gives the number of the job.
    fn submit(&self, lacking: &[usize]) -> Result<(String, Tasks)> {
        let seconds = || {
            let case_s = self.case_s.get_or_init(|| Tried::some_of(self.sweep).mean_s);
            case_s * self.sweep.cases_of(lacking) as f64
        };
        let tasks = Tasks::of(self.args, lacking.len(), seconds);
        self.place.clear();
        let written = self.folder.write(&self.place.grid_in_folder(), self.text.as_bytes());
        written.map_err(|error| failure(error.into()))?;
        let script = self.place.script(tasks, self.args.seeds).map_err(Failure::Failed)?;
        let flags = self.args.sbatch.clone().unwrap_or_default().0;
        let here = std::env::current_dir().context("no current folder").map_err(Failure::Failed)?;
        let job = Submission {
            flags: &flags,
            indices: &tasks::indices(lacking, tasks.count),
            cpus: tasks.cpus,
            output: &self.place.output(),
            folder: &task::text_of(&here).map_err(Failure::Failed)?,
            script: &script,
        };
        let number = self.client.submit(&job).map_err(Failure::Failed)?;
        Ok((number, tasks))
    }

    fn given_up(&self) -> Failure {
        let what = format!("{FRUITLESS} jobs ended and no part was written");
        Failure::Failed(match self.place.last_words() {
            Some(words) => anyhow::anyhow!("{what}; the last output of a task: {words}"),
            None => anyhow::anyhow!(
                "{what}, nor any output of a task; {} must be where nodes see it",
                self.place.path().display()
            ),
        })
    }
}

/// What was there before the sweep began, so that what comes of nothing can be removed.
struct Traces {
    folder: PathBuf,
    is_new: bool,
    has_begun: bool,
}

impl Traces {
    fn before(folder: &Path) -> Self {
        let has_begun = folder.join("manifest.json").exists();
        Self { folder: folder.to_owned(), is_new: !folder.exists(), has_begun }
    }

    /// Takes back what has been begun. Nothing is removed of a sweep that was there.
    fn remove(&self) {
        // What cannot be removed is no harm.
        let _ = std::fs::remove_dir_all(self.folder.join(task::FOLDER));
        if !self.has_begun && !self.folder.join("results").exists() {
            let _ = std::fs::remove_file(self.folder.join("manifest.json"));
            if self.is_new {
                let _ = std::fs::remove_dir(&self.folder);
            }
        }
    }
}
