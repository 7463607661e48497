//! Where the kernel says that a thread is woken: its number as an event, and where its fields lie.

use std::{io, path::PathBuf};

use super::{WatchError, record::WakeFormat};
use crate::observe::tracefs::{self, TracefsError};

/// The offset of a field, from a line such as `field:pid_t pid; offset:24; size:4; signed:1;`.
fn offset(format: &str, field: &str) -> Option<usize> {
    let line = format.lines().find(|line| {
        let declared = line.trim().strip_prefix("field:").and_then(|rest| rest.split(';').next());
        declared.and_then(|declared| declared.split(' ').next_back()) == Some(field)
    })?;
    line.split(';').find_map(|part| part.trim().strip_prefix("offset:"))?.parse().ok()
}

/// The tracepoint's number as an event, and its fields.
fn format(text: &str) -> Option<(u64, WakeFormat)> {
    let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
    Some((id, WakeFormat { tid: offset(text, "pid")?, flags: offset(text, "common_flags")? }))
}

/// The number of the tracepoint of wake-ups as an event, and its fields.
///
/// # Errors
/// If tracefs is not mounted and we may not do so, or may not be read.
pub fn waking() -> Result<(u64, WakeFormat), WatchError> {
    let text = tracefs::waking().map_err(|error| match error {
        TracefsError::Read { path, source } => WatchError::Read { path, source },
        TracefsError::NotMounted(_) => WatchError::Cannot(
            "wake-ups need tracefs, which is not mounted: mount -t tracefs none \
                                /sys/kernel/tracing",
        ),
    })?;
    let odd = || WatchError::Read {
        path: PathBuf::from(tracefs::WAKING),
        source: io::ErrorKind::InvalidData.into(),
    };
    format(&text).ok_or_else(odd)
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
        assert_eq!(format(text), Some((314, WakeFormat { tid: 24, flags: 2 })));
        assert_eq!(format("name: sched_waking\n"), None);
        assert_eq!(format(&text.replace("ID: 314\n", "")), None);
    }
}
