//! Which threads there are and what they are doing, from `/proc`: read once when we attach, after
//! records were lost, and by the source that polls.

use std::{collections::BTreeSet, fs, path::Path};

use super::{Cpu, Tid};

fn numbers(directory: &Path) -> Vec<Tid> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let number =
        |name: std::ffi::OsString| name.to_str().and_then(|name| name.parse().ok()).map(Tid);
    entries.filter_map(|entry| number(entry.ok()?.file_name())).collect()
}

/// The threads of the process that `tid` belongs to. Empty once it is gone.
#[must_use]
pub fn threads(tid: Tid) -> Vec<Tid> {
    numbers(Path::new(&format!("/proc/{}/task", tid.0)))
}

/// Every process.
#[must_use]
pub fn processes() -> Vec<Tid> {
    numbers(Path::new("/proc"))
}

/// The process that a thread belongs to.
#[must_use]
pub fn process_of(tid: Tid) -> Option<Tid> {
    let status = fs::read_to_string(format!("/proc/{}/status", tid.0)).ok()?;
    let number = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    number.trim().parse().ok().map(Tid)
}

/// `PF_EXITING`: on its way out; nothing that can be watched comes after that.
const EXITING: u32 = 0x4;

/// What a thread that lives was doing when `/proc/…/stat` was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing {
    /// It had a core or waited for one; otherwise it was blocked or stopped.
    pub runnable: bool,
    /// The CPU that it had, waited for, or was on last.
    pub cpu: Cpu,
}

impl Doing {
    /// What `/proc/…/stat` says (`proc_pid_stat(5)`: fields 3, 9 and 39). `None`: the thread has
    /// ended (a zombie has), or is about to.
    #[must_use]
    pub fn parse(stat: &str) -> Option<Self> {
        // The name stands in parentheses and may itself hold some.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let flags: u32 = fields.nth(5)?.parse().ok()?;
        let cpu = Cpu(fields.nth(29)?.parse().ok()?);
        let lives = !matches!(state, "Z" | "X" | "x") && flags & EXITING == 0;
        lives.then_some(Self { runnable: state == "R", cpu })
    }
}

/// What a thread is doing; `None` if it is not there, or on its way out.
#[must_use]
pub fn doing(process: Tid, tid: Tid) -> Option<Doing> {
    // Not text: a name is any bytes.
    let stat = fs::read(format!("/proc/{}/task/{}/stat", process.0, tid.0)).ok()?;
    Doing::parse(&String::from_utf8_lossy(&stat))
}

/// True if the thread is there, and not on its way out.
#[must_use]
pub fn lives(process: Tid, tid: Tid) -> bool {
    doing(process, tid).is_some()
}

/// The processes that the thread forked and that are still its children. Needs
/// `CONFIG_PROC_CHILDREN`.
#[must_use]
pub fn children(process: Tid, tid: Tid) -> Vec<Tid> {
    let list = fs::read_to_string(format!("/proc/{}/task/{}/children", process.0, tid.0))
        .unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|number| number.parse().ok()).map(Tid).collect()
}

/// These processes and their descendants: children, their children, and so on. A process whose
/// parent has ended is not found.
#[must_use]
pub fn family(processes: &[Tid]) -> BTreeSet<Tid> {
    let mut family = BTreeSet::new();
    let mut next = processes.to_vec();
    while let Some(process) = next.pop() {
        if family.insert(process) {
            next.extend(threads(process).into_iter().flat_map(|tid| children(process, tid)));
        }
    }
    family
}

/// The threads of a cgroup and of those below it, with their processes.
#[must_use]
pub fn cgroup(directory: &Path) -> Vec<(Tid, Tid)> {
    // `cgroup.threads` is there in version 2, `tasks` in version 1; in the former a cgroup of whole
    // processes has it too.
    let list = ["cgroup.threads", "tasks"]
        .iter()
        .find_map(|name| fs::read_to_string(directory.join(name)).ok());
    let mut found: Vec<(Tid, Tid)> = list
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|number| number.parse().ok().map(Tid))
        .filter_map(|tid| Some((tid, process_of(tid)?)))
        .collect();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(cgroup(&entry.path()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zombies_and_those_on_their_way_out_do_not_live() {
        let rest = "10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 \
                    36 37 38";
        let doing = |start: &str| Doing::parse(&format!("{start} {rest} 7 0 0"));
        let on = |runnable| Some(Doing { runnable, cpu: Cpu(7) });
        assert_eq!(doing("12 (a) Z (b) S 1 2 3 4 5 4194304"), on(false));
        assert_eq!(doing("12 (a) R 1 2 3 4 5 4194304"), on(true));
        assert_eq!(doing("12 (a) Z 1 2 3 4 5 4194304"), None);
        assert_eq!(doing("12 (a) R 1 2 3 4 5 4194308"), None);
        assert_eq!(Doing::parse(""), None);
        assert_eq!(Doing::parse("12 (a) R 1 2 3"), None);
    }

    #[test]
    fn a_process_knows_its_threads_and_children() {
        let own = Tid(rustix::process::getpid().as_raw_nonzero().get());
        let thread = Tid(rustix::thread::gettid().as_raw_nonzero().get());
        assert!(threads(own).contains(&thread));
        assert_eq!(process_of(thread), Some(own));
        assert!(lives(own, thread));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let number = Tid(i32::try_from(child.id()).unwrap());
        assert!(threads(own).iter().any(|&tid| children(own, tid).contains(&number)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!lives(number, number));
    }
}
