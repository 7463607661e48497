//! Where the kernel says that a thread is woken: its number as an event, and where its fields lie.

use std::{fs, io, path::PathBuf};

use super::{WatchError, record::WakeFormat};

/// Met where the waker is, before the woken thread's core is told; `sched_wakeup` may be met on the other core, by whoever runs
/// there.
const EVENT: &str = "events/sched/sched_waking";

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

/// The offset of a field, from a line such as `field:pid_t pid; offset:24; size:4; signed:1;`.
fn offset(format: &str, field: &str) -> Option<usize> {
    let line = format.lines().find(|line| {
        let declared = line.trim().strip_prefix("field:").and_then(|rest| rest.split(';').next());
        declared.and_then(|declared| declared.split(' ').next_back()) == Some(field)
    })?;
    line.split(';').find_map(|part| part.trim().strip_prefix("offset:"))?.parse().ok()
}

fn format(text: &str) -> Option<WakeFormat> {
    Some(WakeFormat { tid: offset(text, "pid")?, flags: offset(text, "common_flags")? })
}

/// The tracepoint's number as an event, and its fields.
///
/// # Errors
/// If tracefs is not mounted, or may not be read.
pub fn waking() -> Result<(u64, WakeFormat), WatchError> {
    let mut failed =
        WatchError::Cannot("wake-ups need tracefs, which is not mounted: mount -t tracefs none /sys/kernel/tracing");
    for mount in mounts() {
        let read = |name: &str| {
            let path = mount.join(EVENT).join(name);
            fs::read_to_string(&path).map_err(|source| WatchError::Read { path, source })
        };
        match read("id").and_then(|id| Ok((id, read("format")?))) {
            Ok((id, text)) => {
                let odd = || WatchError::Read { path: mount.join(EVENT), source: io::ErrorKind::InvalidData.into() };
                return Ok((id.trim().parse().map_err(|_| odd())?, format(&text).ok_or_else(odd)?));
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let text = "name: sched_waking\nID: 314\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
            \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
            \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
        assert_eq!(format(text), Some(WakeFormat { tid: 24, flags: 2 }));
        assert_eq!(format("name: sched_waking\n"), None);
    }
}
