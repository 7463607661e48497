//! What the kernel says of its tracepoints, in tracefs: their numbers as events, and where their
//! fields lie.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::PathBuf,
};

use rustix::{
    fs::{Mode, OFlags, openat},
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
};

/// The tracepoint of wake-ups. It is met where the waker is, before the woken thread's core is
/// told; `sched_wakeup` may be met on the other core, by any thread that runs there.
pub const WAKING: &str = "sched_waking";

/// Why the kernel's description of a tracepoint cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TracefsError {
    /// It is there, and cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The format file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no tracefs, and we may not mount one.
    #[error("tracefs, which is not mounted: {0}")]
    NotMounted(io::Error),
}

/// The kernel's description of [`WAKING`].
///
/// # Errors
/// If tracefs is not mounted and we may not do so, or may not be read.
pub fn waking() -> Result<String, TracefsError> {
    format(&mounts(), &format!("events/sched/{WAKING}/format"))
}

/// A format file from the first of these mounts that lets us read it; without any mount, from one
/// of our own.
fn format(mounts: &[PathBuf], file: &str) -> Result<String, TracefsError> {
    let mut failed = None;
    for mount in mounts {
        let path = mount.join(file);
        match fs::read_to_string(&path) {
            Ok(text) => return Ok(text),
            Err(source) => failed = Some(TracefsError::Read { path, source }),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => from_private_mount(file).map_err(TracefsError::NotMounted),
    }
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

/// Reads a file from a mount that no other process sees, and that goes when it is closed: the
/// system's settings are not ours to change.
fn from_private_mount(file: &str) -> io::Result<String> {
    let tracefs = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&tracefs)?;
    let mount = fsmount(&tracefs, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let file = openat(&mount, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    File::from(file).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn without_a_mount_a_private_one_tells_the_format_and_leaves_nothing_mounted() {
        let before = mounts();
        match format(&[], "events/sched/sched_waking/format") {
            Ok(text) => assert!(text.starts_with("name: sched_waking\nID: "), "{text}"),
            // Without CAP_SYS_ADMIN; where a sandbox forbids the calls; a kernel older than 5.2, or
            // without tracefs.
            Err(TracefsError::NotMounted(error))
                if [Errno::PERM, Errno::ACCESS, Errno::NOSYS, Errno::NODEV]
                    .map(|errno| Some(errno.raw_os_error()))
                    .contains(&error.raw_os_error()) =>
            {
                return println!("skipped: {error}");
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(mounts(), before);
    }

    #[test]
    fn of_several_mounts_the_first_that_can_be_read_tells_the_format() {
        let (without, with) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(with.path().join("format"), "name: sched_waking\n").unwrap();
        let mounts = [without.path().to_owned(), with.path().to_owned()];
        assert_eq!(format(&mounts, "format").unwrap(), "name: sched_waking\n");
        let error = format(&mounts[..1], "format").unwrap_err().to_string();
        assert!(error.starts_with(&without.path().join("format").display().to_string()), "{error}");
    }
}
