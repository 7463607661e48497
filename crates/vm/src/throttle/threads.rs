//! Finds the emulator's threads that are virtual cores. QEMU names them with `-name
//! …,debug-threads=on`.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest that an emulator may take to start all its threads, on a busy host.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why the threads were not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThreadsError {
    /// The process has ended.
    #[error("the emulator has ended")]
    Ended,
    /// Not all of them came.
    #[error("the emulator has {found} threads for {wanted} cores")]
    Missing {
        /// Those that did.
        found: usize,
        /// Cores.
        wanted: usize,
    },
}

/// Waits for the threads of `count` cores, and gives them in the order of the cores' numbers.
///
/// # Errors
/// The process ends, or does not make them in time.
pub fn vcpus(procfs: &Path, process: u32, count: usize) -> Result<Vec<u32>, ThreadsError> {
    let tasks = procfs.join(process.to_string()).join("task");
    let began = Instant::now();
    loop {
        let mut threads = named(&tasks).ok_or(ThreadsError::Ended)?;
        threads.retain(|(core, _)| *core < count);
        if threads.len() == count {
            threads.sort_unstable();
            return Ok(threads.into_iter().map(|(_, thread)| thread).collect());
        }
        if began.elapsed() > TIMEOUT {
            return Err(ThreadsError::Missing { found: threads.len(), wanted: count });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Core and thread of each; `None` if the process has ended.
fn named(tasks: &Path) -> Option<Vec<(usize, u32)>> {
    let core = |thread: &Path| {
        let name = fs::read_to_string(thread.join("comm")).ok()?;
        name.trim_end().strip_prefix("CPU ")?.strip_suffix("/TCG")?.parse().ok()
    };
    let numbered =
        |thread: &Path| Some((core(thread)?, thread.file_name()?.to_str()?.parse().ok()?));
    Some(fs::read_dir(tasks).ok()?.flatten().filter_map(|entry| numbered(&entry.path())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_told_from_other_threads_by_their_names() {
        let procfs = tempfile::tempdir().unwrap();
        for (thread, name) in [
            (7, "qemu-system-x86"),
            (8, "call_rcu"),
            (12, "CPU 0/TCG"),
            (11, "CPU 10/TCG"),
            (9, "CPU 1/TCG"),
        ] {
            let folder = procfs.path().join(format!("7/task/{thread}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
        }
        assert_eq!(vcpus(procfs.path(), 7, 2), Ok(vec![12, 9]));
        assert_eq!(vcpus(procfs.path(), 8, 2), Err(ThreadsError::Ended));
    }
}
