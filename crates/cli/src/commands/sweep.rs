//! `evenkeel sweep`: a grid of runs.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_sweep::{Begin, Grid, Shard, Sweep, SweepError, Value, Watch};
use indicatif::ProgressBar;
use serde_json::json;

use crate::args::sweep::SweepArgs;
use crate::commands::runs::threads;
use crate::error::{Failure, Result, say};
use crate::output::{print, print_json, when_interrupted};
use crate::{progress, stdin, table};

/// The longest grid.
const MOST_BYTES: u64 = 16 << 20;
/// How often it is said how far a sweep is where no bar is shown.
const SAID_EVERY: Duration = Duration::from_secs(60);
/// Cases that a dry run tries, and how long it does.
const TRIED: (u64, Duration) = (60, Duration::from_secs(3));

/// Carries it out, or says what it would be.
///
/// # Errors
/// Bad input; a folder with something else; a part cannot be written; all cases failed.
pub fn run(args: &SweepArgs) -> Result {
    let (text, file) = read(&args.grid)?;
    let grid = Grid::parse(&text, &file, args.seeds).map_err(Failure::input)?;
    let sweep = Sweep::new(grid).map_err(failure)?;
    let checked = sweep.runs().check(sweep.grid());
    checked.map_err(|error| Failure::usage(format!("{file}: {error}")))?;
    let threads = threads(args.jobs)?;
    let Some(output) = args.output.as_deref().filter(|_| !args.dry_run) else {
        let share = sweep.share(args.shard.unwrap_or(Shard::WHOLE));
        return dry_run(&sweep, &share, threads.current_num_threads(), args.json);
    };
    // Shards are begun side by side, and one of them is first.
    let goes_on = args.resume || args.shard.is_some();
    let begin = if goes_on { Begin::Resume } else { Begin::Anew };
    let folder = sweep.folder(output, begin).map_err(failure)?;
    folder.sweep_up();
    let share = sweep.share(args.shard.unwrap_or(Shard::WHOLE));
    let lacking = sweep.lacking(&folder, &share);
    let (all, cases) = (sweep.cases_of(&share), sweep.cases_of(&lacking));
    let progress = Arc::new(Progress::new(all, all - cases, share.len() - lacking.len()));
    let last = (Arc::clone(&progress), share.len());
    when_interrupted(move || {
        let done = last.0.parts.load(Ordering::Relaxed);
        say("note", &format!("{done} of {} parts are written; --resume goes on", last.1));
    });
    let start = Instant::now();
    let done = sweep.carry_out(&folder, &lacking, &threads, &*progress);
    progress.bar.finish_and_clear();
    done.map_err(failure)?;
    folder.sweep_up();
    report(&Done { output, all, cases, seconds: start.elapsed().as_secs_f64() }, &progress, args)
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

/// Says how many cases there are, and about how long they take.
fn dry_run(sweep: &Sweep, share: &[usize], jobs: usize, as_json: bool) -> Result {
    let (cases, parts) = (sweep.cases_of(share), share.len());
    let tried = Tried::some_of(sweep);
    let seconds = tried.mean_s * cases as f64 / jobs as f64;
    if let Some(why) = &tried.why {
        let (failed, all) = (tried.failed, plural(tried.cases, "case"));
        say("warning", &format!("of {all} tried {failed} failed, the first: {why}"));
    }
    if as_json {
        let axes: serde_json::Map<String, serde_json::Value> =
            sweep.grid().axes().map(|(axis, values)| (axis.into(), values.len().into())).collect();
        return print_json(&json!({
            "name": sweep.grid().name(),
            "axes": axes,
            "cases": cases,
            "parts": parts,
            "jobs": jobs,
            "seconds": seconds,
            "tried": tried.cases,
            "failed": tried.failed,
        }));
    }
    let mut rows = table::plain(["AXIS", "VALUES", "WHICH"]);
    for (axis, values) in sweep.grid().axes() {
        rows.add_row([axis, &values.len().to_string(), &which(values)]);
    }
    let text = format!(
        "\n{} in {}, about {} with {}\n",
        plural(cases, "case"),
        plural(parts as u64, "part"),
        about(seconds),
        plural(jobs as u64, "job")
    );
    print(&(table::text(rows) + &text))
}

/// The first values of an axis, and the last.
fn which(values: &[Value]) -> String {
    const SHOWN: usize = 6;
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    match words.as_slice() {
        [first, second, third, .., last] if words.len() > SHOWN => {
            format!("{first}, {second}, {third} ... {last}")
        }
        all => all.join(", "),
    }
}

/// What came of some cases.
struct Tried {
    cases: u64,
    failed: u64,
    /// Why the first of them did.
    why: Option<String>,
    /// Seconds of a case, in the mean. What cases share is made before the clock starts.
    mean_s: f64,
}

impl Tried {
    /// Tries cases from all over the grid.
    fn some_of(sweep: &Sweep) -> Self {
        let (most, budget) = TRIED;
        let (start, mut seconds) = (Instant::now(), 0.0);
        let mut tried = Self { cases: 0, failed: 0, why: None, mean_s: 0.0 };
        for case in sweep.sample(most) {
            let mut last = 0.0;
            let mut error = None;
            for _ in 0..2 {
                let before = Instant::now();
                error = sweep.runs().carry_out(&case).error;
                last = before.elapsed().as_secs_f64();
                if start.elapsed() > budget {
                    break;
                }
            }
            seconds += last;
            tried.cases += 1;
            if let Some(error) = error {
                tried.failed += 1;
                tried.why.get_or_insert(error);
            }
            if start.elapsed() > budget {
                break;
            }
        }
        tried.mean_s = seconds / tried.cases.max(1) as f64;
        tried
    }
}

/// How far a sweep is.
struct Progress {
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
    fn new(all: u64, before: u64, parts: usize) -> Self {
        let bar = progress::long_bar(all, "cases").with_position(before);
        bar.reset_eta();
        let start = Instant::now();
        let said = (!io::stderr().is_terminal()).then(|| Mutex::new(start));
        let (failed, parts) = (AtomicU64::new(0), AtomicU64::new(parts as u64));
        Self { bar, failed, why: Mutex::default(), parts, start, before, said }
    }

    /// Says how far it is, if nobody sees the bar and it has not been said for a while.
    fn say_now_and_then(&self) {
        let Some(said) = &self.said else { return };
        let Ok(mut said) = said.try_lock() else { return };
        if said.elapsed() < SAID_EVERY {
            return;
        }
        *said = Instant::now();
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let here = (done - self.before).max(1) as f64;
        let left = self.start.elapsed().as_secs_f64() / here * all.saturating_sub(done) as f64;
        let so_far = about(self.start.elapsed().as_secs_f64());
        let left = about(left);
        say("note", &format!("{done} of {all} cases, {so_far} so far, about {left} left"));
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
        self.say_now_and_then();
    }

    fn part(&self) {
        self.parts.fetch_add(1, Ordering::Relaxed);
    }
}

/// What was done.
struct Done<'a> {
    output: &'a Path,
    /// Cases of the share.
    all: u64,
    /// Those that were carried out now.
    cases: u64,
    seconds: f64,
}

fn report(done: &Done, progress: &Progress, args: &SweepArgs) -> Result {
    let failed = progress.failed.load(Ordering::Relaxed);
    let why = progress.why.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(why) = &why {
        say("warning", &format!("{} failed, the first: {why}", plural(failed, "case")));
    }
    if args.json {
        print_json(&json!({
            "folder": done.output,
            "cases": done.all,
            "carried_out": done.cases,
            "failed": failed,
            "parts": progress.parts.load(Ordering::Relaxed),
            "seconds": done.seconds,
        }))?;
    } else {
        let before = match done.all - done.cases {
            0 => String::new(),
            before => format!(", {before} of them before"),
        };
        let files: PathBuf = done.output.join("results");
        print(&format!(
            "{}{before}, in {}\nread them, for instance, by polars.read_parquet(\"{}\")\n",
            plural(done.all, "case"),
            about(done.seconds),
            files.display()
        ))?;
    }
    if failed > 0 && failed == done.cases { Err(Failure::Said) } else { Ok(()) }
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
