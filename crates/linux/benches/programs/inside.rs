//! What runs in a lab: one round, each program's turns one after the other, a line of results for
//! each.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::catalog::{PROGRAMS, Program, Threads};
use super::cpus::cpus;
use super::inputs::SCRIPTS;
use super::labs::{Lab, Order};
use super::results::Row;
use super::turn::{Outcome, Stage};
use super::ways::{Candidate, How, Mechanism, turns};

/// What a line begins with that has a row; programs and kernels may print others.
pub const ROW: &str = "row ";
/// Inputs of the turn that is not counted, which has the caches filled, are so many times smaller.
const WARM: f64 = 16.0;
const LIMIT: Duration = Duration::from_secs(600);

/// Has a round of what was ordered, and prints it.
///
/// # Errors
/// The working folder cannot be had.
pub fn round(order: &Order) -> Result<(), String> {
    // Shells of other sessions are not to count as much as this one; kernels without autogroups
    // have no such file.
    let _ = fs::write("/proc/self/autogroup", "-19");
    // Where Python's pool has its locks: Debian has it, the guest does not.
    let _ = fs::create_dir_all("/dev/shm");
    let work = tempfile::Builder::new().prefix("evenkeel-programs").tempdir_in("/dev/shm");
    let work = work.map_err(|error| format!("/dev/shm: {error}"))?;
    for (name, text) in SCRIPTS {
        fs::write(work.path().join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    let stage = Stage {
        evenkeel: PathBuf::from(&order.evenkeel),
        own: env::current_exe().map_err(|error| format!("this program: {error}"))?,
        work: work.path().to_owned(),
        options: if order.lab == Lab::Vm { in_vm } else { |_| Vec::new() },
        more_options: order.options.split_whitespace().map(str::to_owned).collect(),
        limit: LIMIT,
    };
    let cores = env::var("EVENKEEL_LAB").unwrap_or_else(|_| order.cores.clone());
    let mut chosen: Vec<&Program> =
        PROGRAMS.iter().filter(|it| order.programs.iter().any(|name| name == it.name)).collect();
    let number = chosen.len().max(1);
    chosen.rotate_left(order.round % number);
    for (at, program) in chosen.into_iter().enumerate() {
        each_turn(order, &stage, program, order.round + at, &cores);
    }
    Ok(())
}

/// Emulated, a look takes 2 ms of a virtual core, not 20 us: age by sched_ext has to look more
/// often than its budget lets it (docs/labs/virtual-machines.md).
fn in_vm(candidate: &Candidate) -> Vec<String> {
    let is_age = candidate.mechanism == Mechanism::SchedExt
        && candidate.policy.split(':').next() == Some("age");
    if is_age { vec!["--budget".to_owned(), "20".to_owned()] } else { Vec::new() }
}

fn each_turn(order: &Order, stage: &Stage, program: &Program, rotation: usize, cores: &str) {
    let threads: Threads = (!order.counts_itself).then(cpus);
    let size = if order.lab == Lab::Vm { program.size.vm } else { program.size.host };
    let given = |size: f64| (program.given)((size.round() as usize).max(1), threads);
    // What goes wrong in it goes wrong in those that count, too.
    let small = given(size * order.size / WARM);
    if small.inputs.iter().try_for_each(|input| input.make(&stage.work)).is_ok() {
        let _ = stage.turn(&small, program.output, &How::Kernel);
    }
    let given = given(size * order.size);
    let made = given.inputs.iter().try_for_each(|input| input.make(&stage.work));
    let mut expected: Option<String> = None;
    for (place, how) in turns(&order.candidates, rotation).into_iter().enumerate() {
        let outcome = match &made {
            Ok(()) => stage.turn(&given, program.output, &how),
            Err(error) => Err(format!("inputs: {error}")),
        };
        let (outcome, failure) = match outcome {
            Ok(outcome) => {
                if expected.is_none() && how == How::Kernel {
                    expected = Some(outcome.checksum.clone());
                }
                let is_other = expected.as_ref().is_some_and(|it| *it != outcome.checksum);
                (
                    outcome,
                    if is_other { "another output than under the kernel alone" } else { "" }
                        .to_owned(),
                )
            }
            Err(why) => (Outcome::default(), why),
        };
        let row = Row {
            setting: order.setting.clone(),
            lab: order.lab.name().to_owned(),
            cores: cores.to_owned(),
            round: order.round,
            place,
            program: program.name.to_owned(),
            how,
            seconds: outcome.seconds,
            whole: outcome.whole,
            cpu: outcome.cpu,
            checksum: outcome.checksum,
            failure,
        };
        println!("{ROW}{}", row.line());
        let _ = io::stdout().flush();
    }
    clear(&stage.work);
}

/// Whatever a program has left: in the guest all of it is memory.
fn clear(work: &Path) {
    let is_script = |path: &Path| SCRIPTS.iter().any(|(name, _)| path.ends_with(name));
    for entry in fs::read_dir(work).into_iter().flatten().flatten() {
        if !is_script(&entry.path()) {
            let _ = super::inputs::remove(&entry.path());
        }
    }
}
