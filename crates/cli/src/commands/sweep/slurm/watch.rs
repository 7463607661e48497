//! An array job under way: what is in the folder, and what Slurm still has.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_sweep::{Folder, Sweep};

use super::super::about;
use super::super::progress::Progress;
use super::Tasks;
use super::client::{Client, Queue};
use crate::error::say;
use crate::output::when_interrupted;

/// Slurm is asked again after so long, first and at the longest. Ours: centres ask for moderation.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A pause is so much longer than the one before.
const LONGER: f64 = 1.25;
/// A controller may be away for so long: it is started anew now and then. Ours.
const OUTAGE: Duration = Duration::from_secs(600);
/// Tasks that have written their last part are gone within this. Ours.
const LAST: Duration = Duration::from_secs(30);

/// A sweep whose job is watched.
pub struct Watched<'a> {
    sweep: &'a Sweep,
    folder: &'a Folder,
    client: &'a Client,
    progress: &'a Arc<Progress>,
    lacking: Vec<usize>,
    /// Jobs that may still have tasks.
    jobs: Arc<Mutex<Vec<String>>>,
    has_had_job: bool,
}

impl<'a> Watched<'a> {
    /// Of a sweep that lacks some parts.
    pub fn new(
        sweep: &'a Sweep,
        folder: &'a Folder,
        client: &'a Client,
        progress: &'a Arc<Progress>,
        lacking: Vec<usize>,
    ) -> Self {
        let jobs = Arc::default();
        Self { sweep, folder, client, progress, lacking, jobs, has_had_job: false }
    }

    /// Parts that were not there when it was last looked.
    pub fn lacking(&self) -> &[usize] {
        &self.lacking
    }

    /// True if a job was submitted, or was there.
    pub fn has_had_job(&self) -> bool {
        self.has_had_job
    }

    /// Has Ctrl-C say that the job goes on.
    pub fn say_when_interrupted(&self) {
        let (jobs, progress) = (Arc::clone(&self.jobs), Arc::clone(self.progress));
        when_interrupted(move || {
            progress.end();
            let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner).join(" ");
            let line = match jobs.as_str() {
                "" => "--on slurm --resume goes on".to_owned(),
                jobs => format!(
                    "job {jobs} goes on; --on slurm --resume watches it again, scancel {jobs} \
                     ends it"
                ),
            };
            say("note", &line);
        });
    }

    /// A job has been submitted.
    pub fn has_begun(&mut self, number: String, tasks: Tasks) {
        // Ctrl-C may come while it is said.
        self.set_jobs(vec![number.clone()]);
        let what = if self.has_had_job { "what lacks is submitted again as job" } else { "job" };
        let each = tasks.seconds.map(|seconds| format!(", about {} each", about(seconds)));
        let each = each.unwrap_or_default();
        self.progress.say("note", &format!("{what} {number}: {tasks}{each}"));
        self.has_had_job = true;
    }

    /// A job of this sweep is there already.
    pub fn has_found(&mut self, queue: &Queue) {
        self.set_jobs(queue.jobs.clone());
        self.has_had_job = true;
        self.progress.say("note", &format!("watching what was submitted before: {queue}"));
    }

    /// Waits until no task is left, or no part lacks.
    ///
    /// # Errors
    /// Slurm has not answered for long.
    pub fn until_over(&mut self) -> anyhow::Result<()> {
        let (mut pause, mut silent_since) = (PAUSE.0, None::<Instant>);
        loop {
            let queue = self.client.queue();
            // After Slurm: what a task wrote before it was gone is seen.
            self.look();
            if self.lacking.is_empty() {
                return Ok(());
            }
            match queue {
                Ok(queue) if queue.is_empty() => {
                    self.look_closer();
                    return Ok(());
                }
                Ok(queue) => {
                    silent_since = None;
                    self.progress.state(&queue.to_string());
                    self.set_jobs(queue.jobs);
                }
                Err(error) => {
                    let since = silent_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > OUTAGE {
                        let jobs = self.jobs().join(" ");
                        return Err(error.context(format!(
                            "Slurm does not answer any more; job {jobs} may go on, \
                             --on slurm --resume watches it again"
                        )));
                    }
                    let jobs = self.jobs().join(", ");
                    self.progress.state(&format!("job {jobs}: Slurm does not answer"));
                }
            }
            std::thread::sleep(pause);
            pause = pause.mul_f64(LONGER).min(PAUSE.1);
        }
    }

    /// All parts are there: waits for tasks to end that have just written the last ones, and ends
    /// such as have nothing to do.
    pub fn wait_for_the_last(&self) {
        let (since, mut pause) = (Instant::now(), PAUSE.0);
        while let Ok(queue) = self.client.queue() {
            if queue.running + queue.waiting == 0 {
                return;
            }
            if queue.running == 0 || since.elapsed() > LAST {
                self.client.cancel(&queue.jobs);
                return;
            }
            std::thread::sleep(pause);
            pause = pause.mul_f64(LONGER);
        }
    }

    /// Looks which parts have come.
    fn look(&mut self) {
        self.lacking = self.sweep.lacking(self.folder, &self.lacking);
        let left = self.sweep.cases_of(&self.lacking);
        let parts = self.sweep.parts() - self.lacking.len();
        self.progress.is_at(self.sweep.grid().len() - left, parts);
    }

    /// Looks once more where it matters: a network file system may take a while to show what
    /// another node wrote, but shows it where a folder is listed.
    fn look_closer(&mut self) {
        let mut folders = vec![self.folder.path().join("results")];
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            folders.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
        }
        self.look();
    }

    fn jobs(&self) -> Vec<String> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_jobs(&self, jobs: Vec<String>) {
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = jobs;
    }
}
