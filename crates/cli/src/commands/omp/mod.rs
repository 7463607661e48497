//! `evenkeel omp`: an OpenMP program, with its loops divided by the speed of cores.

mod explain;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use evenkeel_linux::program::{Bond, Program, Signals, exit_code, find};
use evenkeel_machine::Machine;
use evenkeel_openmp::profile::Profile;
use evenkeel_openmp::program::unfit;
use evenkeel_openmp::setup::{self, Cpu, FOLDER_VARIABLE, Manner};
use evenkeel_openmp::{library, told};

use crate::args::omp::{By, OmpArgs};
use crate::commands::live;
use crate::error::{Failure, Result, say};
use crate::output::OutputFile;

/// Runs the program, and ends with its exit code. Where nothing can be done for it a line says why,
/// and it runs as it is.
///
/// # Errors
/// Bad input; the program cannot be started.
pub fn run(args: &OmpArgs) -> Result<ExitCode> {
    // Before any thread is made: see `Signals`.
    let signals = Signals::hold().context("cannot hold back signals").map_err(Failure::Failed)?;
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Failure::usage("no program to run"));
    };
    let path = find(program, std::env::var_os("PATH"))
        .map_err(|error| Failure::not_started(program, error))?;
    let mut command = Command::new(program);
    command.args(rest);
    let machine = live::machine(args.machine.as_deref())?;
    let kinds: Vec<String> = machine.kinds.iter().map(|kind| kind.name.clone()).collect();
    let profile = args.profile.as_deref().map(|path| profile(path, &kinds)).transpose()?;
    let learned = args.learn.as_deref().map(OutputFile::begin).transpose()?;
    let prepared = match prepare(args, &path, &machine, profile.as_ref()) {
        Ok(prepared) => Some(prepared),
        Err(why) => {
            say("note", &format!("{why}: {} runs as it is", Path::new(program).display()));
            None
        }
    };
    if let Some(prepared) = &prepared {
        command.env(FOLDER_VARIABLE, prepared.folder.path());
        command.env("LD_PRELOAD", &prepared.preload);
        command.envs(prepared.environment.iter().cloned());
    }
    let program = Program::start(command, Bond::Loose, &signals)
        .map_err(|error| Failure::not_started(program, error))?;
    let status = program.wait().context("cannot wait for the program").map_err(Failure::Failed)?;
    let mut told = match prepared.as_ref().map(|prepared| told::read(prepared.folder.path())) {
        Some(Ok(told)) => told,
        // The program has ended as it would, and has removed the folder.
        Some(Err(error)) => {
            say("note", &format!("what its loops came to is not known: {error}"));
            return Ok(ExitCode::from(exit_code(status)));
        }
        None => Vec::new(),
    };
    if args.explain || args.json || learned.is_some() {
        told::name(&mut told);
    }
    if prepared.is_some() && told.iter().all(|process| process.regions.is_empty()) {
        say("note", "no parallel region was seen: the program ran as it is");
    } else if args.explain {
        explain::print(&machine, &told);
    }
    if let Some(file) = learned {
        write_profile(file, &Profile::of(&told, &kinds))?;
    }
    if args.json {
        explain::print_json(&machine, &told)?;
    }
    Ok(ExitCode::from(exit_code(status)))
}

/// Reads a profile; what it has of objects that have changed is left out, with a line.
fn profile(path: &Path, kinds: &[String]) -> Result<Profile> {
    let (profile, others) = Profile::read(path, kinds).map_err(Failure::input)?;
    for other in others {
        let (path, other) = (path.display(), other.display());
        say("note", &format!("{path}: {other} is not what was learned from: learned anew"));
    }
    Ok(profile)
}

fn write_profile(file: OutputFile, profile: &Profile) -> Result {
    if profile.loops() == 0 {
        say("note", "no loop was divided: the profile is empty");
    }
    let text = profile.to_json().map_err(|error| Failure::Failed(error.into()))?;
    file.finish_with(text.as_bytes())
}

/// What the library, its set-up and its records take.
const LEAST_FILE: u64 = 1 << 20;

/// What the program is started with.
struct Prepared {
    /// Has the set-up, and gets what processes tell. Removed at the end.
    folder: tempfile::TempDir,
    preload: std::ffi::OsString,
    /// Further variables.
    environment: Vec<(&'static str, String)>,
}

/// Prepares that, or says in a few words why nothing can be done.
fn prepare(
    args: &OmpArgs,
    path: &Path,
    machine: &Machine,
    profile: Option<&Profile>,
) -> std::result::Result<Prepared, String> {
    let mut cpus = setup::cpus_of(machine);
    one_kind(&cpus)?;
    if args.more_threads {
        cpus = setup::more_threads(&cpus);
    }
    match unfit(path) {
        Ok(None) => {}
        Ok(Some(why)) => return Err(why.to_string()),
        Err(error) => return Err(format!("it cannot be read ({error})")),
    }
    let most = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if most.is_some_and(|most| most < LEAST_FILE) {
        return Err("files are limited to less than 1 MiB (ulimit -f)".to_owned());
    }
    let cache = evenkeel_vm::kernel::default_cache()
        .ok_or("no folder for a cache (none of EVENKEEL_CACHE, XDG_CACHE_HOME and HOME is set)")?;
    let library = library::unpack(&cache).map_err(|error| {
        // The cause is the operating system's.
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        format!("{error}{}", cause.unwrap_or_default())
    })?;
    if library.as_os_str().as_encoded_bytes().iter().any(|byte| b" :".contains(byte)) {
        return Err(format!("{}: LD_PRELOAD takes no blank or colon", library.display()));
    }
    let folder = tempfile::Builder::new()
        .prefix("evenkeel-omp-")
        // The library takes it from this user alone, whatever the umask.
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .tempdir()
        .map_err(|error| format!("no folder for what it tells: {error}"))?;
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let manner = Manner {
        places: !args.no_place,
        by_capacity: args.by == By::Capacity,
        more_threads: args.more_threads,
        learns: args.learn.is_some(),
        profile,
    };
    setup::write(folder.path(), &cpus, manner).map_err(|error| error.to_string())?;
    let there = std::env::var_os("LD_PRELOAD");
    let preload = setup::preloaded(&library, there.as_deref().map(OsStr::new));
    // Of sanitizers that look whether they come first: nothing of theirs is interposed here.
    let asan = std::env::var("ASAN_OPTIONS").map_or(String::new(), |options| options + ":");
    let mut environment = vec![("ASAN_OPTIONS", asan + "verify_asan_link_order=0")];
    if args.more_threads {
        if is_set("OMP_NUM_THREADS") {
            return Err("--more-threads chooses the number of threads, and OMP_NUM_THREADS is set"
                .to_owned());
        }
        environment.push(("OMP_NUM_THREADS", cpus.len().to_string()));
        if !is_set("OMP_WAIT_POLICY") {
            environment.push(("OMP_WAIT_POLICY", "passive".to_owned()));
        }
    }
    Ok(Prepared { folder, preload, environment })
}

fn one_kind(cpus: &[Cpu]) -> std::result::Result<(), String> {
    match cpus {
        [] | [_] => Err("there is one CPU to use".to_owned()),
        [first, rest @ ..] if rest.iter().all(|cpu| cpu.capacity == first.capacity) => {
            Err("all cores are of one kind".to_owned())
        }
        _ => Ok(()),
    }
}
