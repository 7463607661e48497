//! How far a sweep is, and what it came to.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_sweep::Watch;
use indicatif::ProgressBar;
use serde_json::json;

use super::{about, plural};
use crate::error::{Failure, Result, say};
use crate::output::{print, print_json};
use crate::progress;

/// How often it is said how far a sweep is where no bar is shown.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// How far a sweep is.
pub struct Progress {
    bar: ProgressBar,
    failed: AtomicU64,
    /// Why the first of them did.
    why: Mutex<Option<String>>,
    /// Parts that are written.
    parts: AtomicU64,
    start: Instant,
    /// Cases that there were at the start.
    before: u64,
    /// When it was last said how far it is; `None`: a bar shows it.
    said: Option<Mutex<Instant>>,
}

impl Progress {
    /// At the start, of so many cases, with those and the parts that there are already.
    pub fn new(all: u64, before: u64, parts: usize) -> Self {
        let bar = progress::long_bar(all, "cases").with_position(before);
        bar.reset_eta();
        let start = Instant::now();
        let said = (!io::stderr().is_terminal()).then(|| Mutex::new(start));
        let (failed, parts) = (AtomicU64::new(0), AtomicU64::new(parts as u64));
        Self { bar, failed, why: Mutex::default(), parts, start, before, said }
    }

    /// How many parts are written.
    pub fn parts(&self) -> u64 {
        self.parts.load(Ordering::Relaxed)
    }

    /// How many cases failed, and why the first did.
    pub fn failed(&self) -> (u64, Option<String>) {
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (self.failed.load(Ordering::Relaxed), why)
    }

    /// So many cases and parts are there, as the folder shows.
    pub fn is_at(&self, cases: u64, parts: usize) {
        self.bar.set_position(cases);
        self.parts.store(parts as u64, Ordering::Relaxed);
    }

    /// Shows what an engine does, beside how far the sweep is.
    pub fn state(&self, state: &str) {
        self.bar.set_prefix(format!("{state} "));
        self.say_now_and_then(state);
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// A message that does not tear the bar.
    pub fn say(&self, kind: &str, what: &str) {
        self.bar.suspend(|| say(kind, what));
    }

    /// Says how far it is, if nobody sees the bar and it has not been said for a while.
    fn say_now_and_then(&self, state: &str) {
        let Some(said) = &self.said else { return };
        let Ok(mut said) = said.try_lock() else { return };
        if said.elapsed() < SAID_EVERY {
            return;
        }
        *said = Instant::now();
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let so_far = self.start.elapsed().as_secs_f64();
        let left = match done.saturating_sub(self.before) {
            0 => String::new(),
            here => {
                let left = so_far / here as f64 * all.saturating_sub(done) as f64;
                format!(", about {} left", about(left))
            }
        };
        let state = if state.is_empty() { String::new() } else { format!("; {state}") };
        say("note", &format!("{done} of {all} cases, {} so far{left}{state}", about(so_far)));
    }
}

impl Watch for Progress {
    fn case(&self, error: Option<&str>) {
        if let Some(error) = error {
            self.failed.fetch_add(1, Ordering::Relaxed);
            let mut why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
            why.get_or_insert_with(|| error.to_owned());
        }
        self.bar.inc(1);
        self.say_now_and_then("");
    }

    fn part(&self) {
        self.parts.fetch_add(1, Ordering::Relaxed);
    }
}

/// What was done.
pub struct Done<'a> {
    /// The folder.
    pub output: &'a Path,
    /// Cases of the share.
    pub all: u64,
    /// Those that were carried out now.
    pub cases: u64,
    /// How many of these failed, and why the first did.
    pub failed: (u64, Option<String>),
}

impl Done<'_> {
    /// Prints it.
    ///
    /// # Errors
    /// All cases failed; stdout.
    pub fn report(&self, progress: &Progress, as_json: bool) -> Result {
        let (failed, why) = &self.failed;
        let seconds = progress.start.elapsed().as_secs_f64();
        if let Some(why) = why {
            say("warning", &format!("{} failed, the first: {why}", plural(*failed, "case")));
        }
        if as_json {
            print_json(&json!({
                "folder": self.output,
                "cases": self.all,
                "carried_out": self.cases,
                "failed": failed,
                "parts": progress.parts(),
                "seconds": seconds,
            }))?;
        } else {
            let before = match self.all - self.cases {
                0 => String::new(),
                before => format!(", {before} of them before"),
            };
            let files: PathBuf = self.output.join("results");
            print(&format!(
                "{}{before}, in {}\nread them, for instance, by polars.read_parquet(\"{}\")\n",
                plural(self.all, "case"),
                about(seconds),
                files.display()
            ))?;
        }
        if *failed > 0 && *failed == self.cases { Err(Failure::Said) } else { Ok(()) }
    }
}
