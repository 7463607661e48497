//! A sweep by the threads of this process.

use std::path::Path;
use std::sync::Arc;

use evenkeel_sweep::{Begin, Shard, Sweep};

use super::failure;
use super::progress::{Done, Progress};
use crate::args::sweep::SweepArgs;
use crate::commands::runs::threads;
use crate::error::{Result, say};
use crate::output::when_interrupted;

/// Carries out a sweep, or a share of it.
///
/// # Errors
/// A folder with something else; a part cannot be written; all cases failed.
pub fn carry_out(sweep: &Sweep, output: &Path, args: &SweepArgs) -> Result {
    let threads = threads(args.jobs)?;
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
        last.0.end();
        say(
            "note",
            &format!("{} of {} parts are written; --resume goes on", last.0.parts(), last.1),
        );
    });
    let done = sweep.carry_out(&folder, &lacking, &threads, &*progress);
    progress.end();
    done.map_err(failure)?;
    folder.sweep_up();
    Done { output, all, cases, failed: progress.failed() }.report(&progress, args.json)
}
