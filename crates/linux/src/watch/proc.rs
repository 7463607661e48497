//! Which threads there are, from `/proc`: read once when we attach, after records were lost, and by the source that polls.

use std::{fs, path::Path};

use super::Tid;

fn numbers(directory: &Path) -> Vec<Tid> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let number = |name: std::ffi::OsString| name.to_str().and_then(|name| name.parse().ok()).map(Tid);
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

/// Whether what `/proc/…/stat` says is of a thread that has not ended (a zombie has) and is not about to.
fn is_alive(stat: &str) -> bool {
    // The name stands in parentheses and may itself hold some.
    let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
    let state = fields.next();
    let flags = fields.nth(5).and_then(|flags| flags.parse().ok()).unwrap_or(0u32);
    !matches!(state, None | Some("Z" | "X" | "x")) && flags & EXITING == 0
}

/// Whether the thread is there, and not on its way out.
#[must_use]
pub fn lives(process: Tid, tid: Tid) -> bool {
    // Not text: a name is any bytes.
    fs::read(format!("/proc/{}/task/{}/stat", process.0, tid.0))
        .is_ok_and(|stat| is_alive(&String::from_utf8_lossy(&stat)))
}

/// The processes that the thread forked and that are still its children. Needs `CONFIG_PROC_CHILDREN`.
#[must_use]
pub fn children(process: Tid, tid: Tid) -> Vec<Tid> {
    let list = fs::read_to_string(format!("/proc/{}/task/{}/children", process.0, tid.0)).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|number| number.parse().ok()).map(Tid).collect()
}

/// The threads of a cgroup and of those below it, with their processes.
#[must_use]
pub fn cgroup(directory: &Path) -> Vec<(Tid, Tid)> {
    // `cgroup.threads` is there in version 2, `tasks` in version 1; in the former a cgroup of whole processes has it too.
    let list = ["cgroup.threads", "tasks"].iter().find_map(|name| fs::read_to_string(directory.join(name)).ok());
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
        assert!(is_alive("12 (a) Z (b) S 1 2 3 4 5 4194304 0"));
        assert!(!is_alive("12 (a) Z 1 2 3 4 5 4194304 0"));
        assert!(!is_alive("12 (a) R 1 2 3 4 5 4194308 0"));
        assert!(!is_alive(""));
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
