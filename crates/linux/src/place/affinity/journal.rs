//! Masks as they were, in a file, before they are changed: what is needed to put everything back
//! when this process was killed.
//!
//! One file per session, `masks-PID`, in [`directory`]. Its first line says whose it is; every
//! other is a thread:
//!
//! ```text
//! evenkeel-masks/1 PID START
//! TID START CLASS CPUS
//! ```
//!
//! `START` is the start time in `/proc/N/stat` (field 22), so that a number that was given to
//! another thread meanwhile is told apart; `CLASS` is `other`, `batch` or `idle`, or `own` for a
//! thread that has chosen its CPUs itself and keeps them; `CPUS` a list as Linux writes them. A
//! session that ends in order removes its file. The next session looks for files whose process is
//! gone, and gives the threads in them, their processes' other threads, and all that were forked
//! since, their masks back ([`recover`]). A last line that was cut off is passed over: what it was
//! to tell had not been done yet.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use evenkeel_machine::{parse_cpus, write_cpus};
use rustix::thread::CpuSet;

use super::kernel::{Kernel, stat_field};
use crate::observe::watch::Tid;
use crate::place::class::Class;

const MAGIC: &str = "evenkeel-masks/1";
const OWN: &str = "own";

/// A thread as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Which.
    pub tid: Tid,
    /// Its mask.
    pub cpus: CpuSet,
    /// Its class.
    pub class: Class,
    /// It has chosen its CPUs itself: it is not to be touched, nor is what it forks.
    pub own: bool,
}

/// Environment variable: a directory for these files, in place of the usual one.
pub const DIRECTORY: &str = "EVENKEEL_RUNTIME_DIR";

/// Where sessions keep their files: `/run/evenkeel` for root, whatever its environment says,
/// `$XDG_RUNTIME_DIR/evenkeel` for others, else a directory of the user's in `/tmp`; or as
/// [`DIRECTORY`] says.
pub fn directory() -> PathBuf {
    if let Some(own) = std::env::var_os(DIRECTORY).filter(|own| !own.is_empty()) {
        return own.into();
    }
    let user = rustix::process::geteuid();
    if user.is_root() {
        return "/run/evenkeel".into();
    }
    let own = std::env::var_os("XDG_RUNTIME_DIR").filter(|own| Path::new(own).is_absolute());
    own.map_or_else(
        || PathBuf::from(format!("/tmp/evenkeel-{}", user.as_raw())),
        |own| Path::new(&own).join("evenkeel"),
    )
}

/// Makes the directory, for its user alone.
///
/// # Errors
/// It cannot be made, or belongs to another user, who could then write there.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let owner = fs::symlink_metadata(directory)?;
    if !owner.is_dir()
        || owner.uid() != rustix::process::geteuid().as_raw()
        || owner.mode() & 0o022 != 0
    {
        return Err(io::Error::other("it is not a directory that this user alone can write to"));
    }
    Ok(())
}

/// The file of this session.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    text: String,
}

impl Journal {
    /// Begins one for this process.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(directory: &Path) -> io::Result<Self> {
        make_directory(directory)?;
        let own = std::process::id();
        let path = directory.join(format!("masks-{own}"));
        // Whatever is there is of a process of the same number that is gone.
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)?;
        let start = start_of(Tid(own as i32))?.unwrap_or(0);
        file.write_all(format!("{MAGIC} {own} {start}\n").as_bytes())?;
        Ok(Self { path, file, text: String::new() })
    }

    /// Writes threads down, in one go.
    ///
    /// # Errors
    /// The file cannot be written: nothing may be changed then.
    pub fn write(&mut self, entries: impl IntoIterator<Item = Entry>) -> io::Result<()> {
        self.text.clear();
        for Entry { tid, cpus, class, own } in entries {
            let Some(start) = start_of(tid)? else { continue };
            let class = if own { OWN } else { class.name() };
            let cpus: Vec<u32> = (0..CpuSet::MAX_CPU)
                .filter(|&cpu| cpus.is_set(cpu))
                .map(|cpu| cpu as u32)
                .collect();
            let _ = writeln!(self.text, "{} {start} {} {}", tid.0, class, write_cpus(cpus));
        }
        if self.text.is_empty() { Ok(()) } else { self.file.write_all(self.text.as_bytes()) }
    }

    /// All has been put back: the file is removed.
    ///
    /// # Errors
    /// It cannot be.
    pub fn finish(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}

/// What [`recover`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Sessions that had been killed.
    pub sessions: usize,
    /// Threads that got their masks back.
    pub threads: usize,
}

/// Puts back what sessions that were killed have left.
///
/// # Errors
/// The directory is there and cannot be read. Files that are not journals are left alone.
pub fn recover(directory: &Path, kernel: &mut impl Kernel) -> io::Result<Recovered> {
    let mut recovered = Recovered::default();
    let files = match fs::read_dir(directory) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(recovered),
        Err(error) => return Err(error),
    };
    let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if !path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("masks-"))
        {
            continue;
        }
        // A file of another user, or none at all, tells nothing.
        let ours = |metadata: fs::Metadata| {
            metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw()
        };
        if !fs::symlink_metadata(&path).is_ok_and(ours) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some(((owner, start), entries)) = parse(&text) else { continue };
        if start_of(owner).is_ok_and(|now| now == Some(start))
            && owner.0 as u32 != std::process::id()
        {
            continue;
        }
        recovered.sessions += 1;
        recovered.threads += put_back(&entries, kernel);
        // What could be put back has been, for all threads that were still there.
        let _ = fs::remove_file(&path);
    }
    Ok(recovered)
}

type Header = (Tid, u64);

/// Owner, and its threads with their start times.
fn parse(text: &str) -> Option<(Header, Vec<(Entry, u64)>)> {
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let owner = match *lines.next()?.split(' ').collect::<Vec<_>>() {
        [MAGIC, owner, start] => (Tid(owner.parse().ok()?), start.parse().ok()?),
        _ => return None,
    };
    let entry = |line: &str| match *line.split(' ').collect::<Vec<_>>() {
        [tid, start, class, list] => {
            let mut cpus = CpuSet::new();
            for cpu in parse_cpus(list).ok()? {
                if cpu as usize >= CpuSet::MAX_CPU {
                    return None;
                }
                cpus.set(cpu as usize);
            }
            let own = class == OWN;
            let class = if own { Class::Other } else { Class::from_name(class)? };
            Some((Entry { tid: Tid(tid.parse().ok()?), cpus, class, own }, start.parse().ok()?))
        }
        _ => None,
    };
    Some((owner, lines.filter_map(entry).collect()))
}

fn put_back(entries: &[(Entry, u64)], kernel: &mut impl Kernel) -> usize {
    let is_there =
        |entry: &Entry, start: u64| start_of(entry.tid).is_ok_and(|now| now == Some(start));
    let there: Vec<&Entry> = entries
        .iter()
        .filter(|(entry, start)| is_there(entry, *start))
        .map(|(entry, _)| entry)
        .collect();
    // A thread that has chosen its CPUs is passed over, also if it was written down before.
    let mut done: HashSet<Tid> =
        there.iter().filter(|entry| entry.own).map(|entry| entry.tid).collect();
    let mut count = 0;
    let others: Vec<&Entry> =
        there.into_iter().filter(|entry| !entry.own && !done.contains(&entry.tid)).collect();
    for entry in &others {
        if done.insert(entry.tid) {
            count += usize::from(give(entry.tid, entry, kernel));
        }
    }
    // Threads that were forked after the session had died have what their parents had then.
    let mut walked = HashSet::new();
    for entry in &others {
        let Ok(Some(process)) = process_of(entry.tid) else { continue };
        let mut processes = vec![process];
        while let Some(process) = processes.pop() {
            if !walked.insert(process) {
                continue;
            }
            for tid in tasks_of(process) {
                if done.insert(tid) {
                    count += usize::from(give(tid, entry, kernel));
                }
                processes.extend(
                    children_of(process, tid).into_iter().filter(|child| !done.contains(child)),
                );
            }
        }
    }
    count
}

/// Gives a thread its CPUs and class back, if it has fewer now: more CPUs, or others, were given to
/// it by another program.
fn give(tid: Tid, as_it_was: &Entry, kernel: &mut impl Kernel) -> bool {
    let narrowed = |now: CpuSet| {
        now != as_it_was.cpus
            && (0..CpuSet::MAX_CPU).all(|cpu| !now.is_set(cpu) || as_it_was.cpus.is_set(cpu))
    };
    let given = kernel.affinity(tid).is_ok_and(narrowed)
        && kernel.set_affinity(tid, &as_it_was.cpus).is_ok();
    let parked = kernel.sched_params(tid).is_ok_and(|params| params.class == Class::Idle);
    if parked && as_it_was.class != Class::Idle {
        // Not allowed without CAP_SYS_NICE; but then no thread was parked either.
        let _ = kernel.set_class(tid, as_it_was.class);
    }
    given
}

/// Start time of a thread, clock ticks since boot; `None`: there is no such thread.
fn start_of(tid: Tid) -> io::Result<Option<u64>> {
    stat_field(tid, 22)
}

fn process_of(tid: Tid) -> io::Result<Option<Tid>> {
    let status = fs::read_to_string(format!("/proc/{}/status", tid.0))?;
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    Ok(process.and_then(|process| process.trim().parse().ok()).map(Tid))
}

fn tasks_of(process: Tid) -> Vec<Tid> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", process.0)) else { return Vec::new() };
    let numbers =
        tasks.filter_map(|task| Some(Tid(task.ok()?.file_name().to_str()?.parse().ok()?)));
    let mut numbers: Vec<Tid> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

fn children_of(process: Tid, tid: Tid) -> Vec<Tid> {
    let text = fs::read_to_string(format!("/proc/{}/task/{}/children", process.0, tid.0))
        .unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|child| Some(Tid(child.parse().ok()?))).collect()
}
