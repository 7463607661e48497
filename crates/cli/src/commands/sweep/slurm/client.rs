//! Slurm's own commands: an array job is submitted, looked for, ended. Accounting is not needed.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use evenkeel_linux::program::find;
use rustix::process::getuid;

/// Lines of what a command of Slurm said on stderr that are passed on.
const MOST_LINES: usize = 3;

/// What Slurm still has of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Jobs, by their numbers; more than one where it was submitted twice at the same time.
    pub jobs: Vec<String>,
    /// Tasks that are to be started.
    pub waiting: usize,
    /// Why the first of these is not, where Slurm says so.
    pub reason: Option<String>,
    /// Tasks that are under way.
    pub running: usize,
    /// Tasks that are over, and not yet cleared away. They may be put back into the queue.
    pub ending: usize,
}

impl Queue {
    /// From lines of JOB|STATE|REASON, a task each.
    fn parse(text: &str) -> Self {
        let mut queue = Self::default();
        for line in text.lines() {
            let mut fields = line.trim().splitn(3, '|');
            let (Some(job), Some(state)) = (fields.next(), fields.next()) else { continue };
            match state {
                "BOOT_FAIL" | "CANCELLED" | "COMPLETED" | "DEADLINE" | "FAILED" | "NODE_FAIL"
                | "OUT_OF_MEMORY" | "PREEMPTED" | "REVOKED" | "TIMEOUT" => continue,
                "COMPLETING" => queue.ending += 1,
                "PENDING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "RESV_DEL_HOLD"
                | "SPECIAL_EXIT" => {
                    queue.waiting += 1;
                    let reason = fields.next().filter(|it| !it.is_empty() && *it != "None");
                    queue.reason = queue.reason.or(reason.map(str::to_owned));
                }
                _ => queue.running += 1,
            }
            if !queue.jobs.iter().any(|known| known == job) {
                queue.jobs.push(job.to_owned());
            }
        }
        queue
    }

    /// True if there is no task any more.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

impl std::fmt::Display for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "job {}: {} running", self.jobs.join(", "), self.running + self.ending)?;
        match (self.waiting, &self.reason) {
            (0, _) => Ok(()),
            (waiting, None) => write!(f, ", {waiting} waiting"),
            (waiting, Some(reason)) => write!(f, ", {waiting} waiting ({reason})"),
        }
    }
}

/// An array job to be submitted.
pub struct Submission<'a> {
    /// The user's own flags, which ours come after.
    pub flags: &'a [String],
    /// Indices of tasks: `1-3,7`.
    pub indices: &'a str,
    /// CPUs of a task.
    pub cpus: usize,
    /// Where the output of a task goes, with Slurm's patterns in it.
    pub output: &'a str,
    /// The working folder of tasks.
    pub folder: &'a str,
    /// What a task runs.
    pub script: &'a str,
}

/// Slurm, as far as jobs of one name go.
pub struct Client {
    sbatch: PathBuf,
    squeue: PathBuf,
    name: String,
}

impl Client {
    /// For jobs of that name.
    ///
    /// # Errors
    /// Its commands are not there.
    pub fn new(name: String) -> anyhow::Result<Self> {
        let path = std::env::var_os("PATH");
        let of = |command: &str| {
            find(OsStr::new(command), path.clone())
                .with_context(|| format!("--on slurm takes Slurm's own commands: '{command}'"))
        };
        Ok(Self { sbatch: of("sbatch")?, squeue: of("squeue")?, name })
    }

    /// What Slurm still has of these jobs.
    ///
    /// # Errors
    /// Slurm cannot be reached.
    pub fn queue(&self) -> anyhow::Result<Queue> {
        let mut command = Command::new(&self.squeue);
        command.args(["--noheader", "--array", "--format=%F|%T|%r"]);
        command.arg(format!("--name={}", self.name));
        command.arg(format!("--user={}", getuid().as_raw()));
        // The user's own defaults would hide tasks.
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("SQUEUE_") {
                command.env_remove(variable);
            }
        }
        Ok(Queue::parse(&output(command, "")?))
    }

    /// Submits an array job. Gives its number.
    ///
    /// # Errors
    /// Slurm cannot be reached, or refuses it.
    pub fn submit(&self, job: &Submission) -> anyhow::Result<String> {
        let mut command = Command::new(&self.sbatch);
        // It would not return before the job ends.
        command.env_remove("SBATCH_WAIT");
        command.args(job.flags).arg("--parsable");
        command.arg(format!("--job-name={}", self.name));
        command.arg(format!("--array={}", job.indices));
        command.arg(format!("--cpus-per-task={}", job.cpus));
        command.arg(format!("--output={}", job.output));
        command.arg(format!("--chdir={}", job.folder));
        let said = output(command, job.script).map_err(|error| {
            // As it says where the array is larger than its MaxArraySize.
            let is_array = error.to_string().contains("job array");
            if is_array { anyhow!("{error}; --tasks N makes a smaller one") } else { error }
        })?;
        let job = said.lines().last().unwrap_or_default();
        // NUMBER, or NUMBER;CLUSTER.
        let number = job.split(';').next().unwrap_or_default().trim();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            bail!("sbatch: '{}' found, expected the number of a job", job.trim());
        }
        Ok(number.to_owned())
    }

    /// Ends jobs, as far as they are there.
    pub fn cancel(&self, jobs: &[String]) {
        let mut command = Command::new("scancel");
        command.arg("--quiet").args(jobs);
        // What is over cannot be ended, and need not.
        let _ = output(command, "");
    }
}

/// Runs a command with a text as its input; gives its output.
fn output(mut command: Command, input: &str) -> anyhow::Result<String> {
    let path = PathBuf::from(command.get_program());
    let name = path.file_name().map_or_else(OsString::new, OsStr::to_owned);
    let name = name.to_string_lossy();
    // Ctrl-C is ours to answer: a submission ends as it would have.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = command.spawn().and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            // A command that ends early says why, and how.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output()
    });
    let ended = started.with_context(|| format!("cannot run '{name}'"))?;
    if !ended.status.success() {
        let why = said(&String::from_utf8_lossy(&ended.stderr));
        let why = if why.is_empty() { ended.status.to_string() } else { why };
        return Err(anyhow!("{name}: {why}"));
    }
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}

/// What a command of Slurm said on stderr, in one line, without its name before each.
fn said(stderr: &str) -> String {
    let lines = stderr.lines().map(|line| match line.split_once(": error: ") {
        Some((command, what)) if !command.contains(' ') => what.trim(),
        _ => line.trim(),
    });
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(MOST_LINES)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_told_apart_by_what_they_wait_for() {
        let queue = Queue::parse(
            "7|PENDING|Resources\n7|PENDING|Priority\n7|RUNNING|None\n7|COMPLETING|None\n",
        );
        assert_eq!((queue.waiting, queue.running, queue.ending), (2, 1, 1));
        assert_eq!(queue.jobs, ["7"]);
        assert_eq!(queue.to_string(), "job 7: 2 running, 2 waiting (Resources)");
        assert!(!queue.is_empty());
    }

    #[test]
    fn what_is_over_is_no_longer_there_and_what_is_new_counts_as_running() {
        assert!(Queue::parse("").is_empty());
        assert!(Queue::parse("7|FAILED|NonZeroExitCode\n7|TIMEOUT|TimeLimit\n").is_empty());
        let queue = Queue::parse("7|PENDING|None\n8|SOMETHING_NEW|None\n7|REQUEUE_HOLD|x|y\n");
        assert_eq!((queue.waiting, queue.running), (2, 1));
        assert_eq!(queue.jobs, ["7", "8"]);
        assert_eq!(queue.reason.as_deref(), Some("x|y"));
    }

    #[test]
    fn what_slurm_says_is_one_line() {
        let stderr = "sbatch: error: invalid partition specified: x\n\
                      sbatch: error: Batch job submission failed: Invalid partition\n";
        assert_eq!(
            said(stderr),
            "invalid partition specified: x; Batch job submission failed: Invalid partition"
        );
        let other = "slurm_load_jobs error: Unable to contact slurm controller\n";
        assert_eq!(said(other), "slurm_load_jobs error: Unable to contact slurm controller");
        assert_eq!(said("\n"), "");
    }
}
