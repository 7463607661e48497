//! The kernel's own description of the tracepoint of wake-ups, in tracefs.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::PathBuf,
};

use evenkeel_workload::perf_sched::Tracepoints;
use rustix::{
    fs::{Mode, OFlags, openat},
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
};

use super::RecordError;

/// Met where the waker is, before the woken thread's core is told; `sched_wakeup` may be met on the other core, by whoever runs there.
const WAKING: &str = "sched_waking";

/// Its description, below where tracefs is mounted.
const FORMAT: &str = "events/sched/sched_waking/format";

/// The tracepoint of wake-ups: how it is read, and its number.
///
/// # Errors
/// If tracefs is not mounted and we may not do so, or may not be read.
pub fn waking() -> Result<(Tracepoints, u64), RecordError> {
    let text = match mounts().first() {
        Some(mount) => {
            let path = mount.join(FORMAT);
            fs::read_to_string(&path).map_err(|source| RecordError::refused(path.display(), source))
        }
        None => unmounted().map_err(|source| RecordError::refused("tracefs, which is not mounted", source)),
    };
    let known = Tracepoints::parse(&text?);
    let id = known.id(WAKING).ok_or(RecordError::Unknown(WAKING))?;
    Ok((known, id))
}

/// Where tracefs is mounted, by the mount table: usually `/sys/kernel/tracing`.
fn mounts() -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let tracefs = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let at = fields.next()?;
        (fields.next()? == "tracefs").then(|| PathBuf::from(at))
    };
    table.lines().filter_map(tracefs).collect()
}

/// Reads it from a mount that nobody else sees, and that goes when it is closed: the system's settings are not ours to change.
fn unmounted() -> io::Result<String> {
    let tracefs = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&tracefs)?;
    let mount = fsmount(&tracefs, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let file = openat(&mount, FORMAT, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    File::from(file).read_to_string(&mut text)?;
    Ok(text)
}
