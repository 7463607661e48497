//! What a sweep would be: how many cases, in which tasks, and about how long they take.

use std::time::{Duration, Instant};

use evenkeel_sweep::{Shard, Sweep, Value};
use serde_json::json;

use super::slurm::Tasks;
use super::{about, plural};
use crate::args::sweep::{On, SweepArgs};
use crate::commands::runs::threads;
use crate::error::{Result, say};
use crate::output::{print, print_json};
use crate::table;

/// Cases that are tried, and for how long.
const TRIED: (u64, Duration) = (60, Duration::from_secs(3));

/// Says how many cases there are, and about how long they take.
///
/// # Errors
/// Threads cannot be made; stdout.
pub fn say_what_it_would_be(sweep: &Sweep, args: &SweepArgs) -> Result {
    let share = sweep.share(args.shard.unwrap_or(Shard::WHOLE));
    let (cases, parts) = (sweep.cases_of(&share), share.len());
    let tried = Tried::some_of(sweep);
    if let Some(why) = &tried.why {
        let (failed, all) = (tried.failed, plural(tried.cases, "case"));
        say("warning", &format!("of {all} tried {failed} failed, the first: {why}"));
    }
    let tasks = (args.on == Some(On::Slurm))
        .then(|| Tasks::of(args, parts, || tried.mean_s * cases as f64));
    let jobs = match &tasks {
        Some(tasks) => tasks.count * tasks.cpus,
        None => threads(args.jobs)?.current_num_threads(),
    };
    let seconds = tried.mean_s * cases as f64 / jobs as f64;
    if args.json {
        let axes: serde_json::Map<String, serde_json::Value> =
            sweep.grid().axes().map(|(axis, values)| (axis.into(), values.len().into())).collect();
        let mut plan = json!({
            "name": sweep.grid().name(),
            "axes": axes,
            "cases": cases,
            "parts": parts,
            "jobs": jobs,
            "seconds": seconds,
            "tried": tried.cases,
            "failed": tried.failed,
        });
        if let Some(tasks) = tasks {
            plan["tasks"] = tasks.count.into();
        }
        return print_json(&plan);
    }
    let mut rows = table::plain(["AXIS", "VALUES", "WHICH"]);
    for (axis, values) in sweep.grid().axes() {
        rows.add_row([axis, &values.len().to_string(), &which(values)]);
    }
    let with = match tasks {
        Some(tasks) => tasks.to_string(),
        None => plural(jobs as u64, "job"),
    };
    let text = format!(
        "\n{} in {}, about {} with {with}\n",
        plural(cases, "case"),
        plural(parts as u64, "part"),
        about(seconds),
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
pub struct Tried {
    cases: u64,
    failed: u64,
    /// Why the first of them did.
    why: Option<String>,
    /// Seconds of a case, in the mean. What cases share is made before the clock starts.
    pub mean_s: f64,
}

impl Tried {
    /// Tries cases from all over the grid.
    pub fn some_of(sweep: &Sweep) -> Self {
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
