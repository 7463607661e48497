//! The formats of workload files: how each is told from the bytes of a file, and what reads it.

use std::path::Path;
use std::sync::LazyLock;

use super::build::Context;
use super::error::WorkloadError;
use crate::recorded::{Places, Selection};
use crate::task_graphs::{self, Format};
use crate::{native, perf_sched, rtapp};
use evenkeel_model::Application;

/// A format.
struct Reader {
    /// What a file of this format looks like, for error messages. `None`: no user writes such a
    /// file by hand.
    expected: Option<&'static str>,
    /// True if the bytes are meant in this format. Faults further on are for `read` to find.
    sniff: fn(&[u8]) -> bool,
    read: Read,
}

/// Makes applications of a file; its name is for messages.
type Read = fn(&[u8], &str, &Context) -> Result<Vec<Application>, WorkloadError>;

/// The first reader that recognises a file reads it.
const READERS: &[Reader] = &[
    Reader {
        expected: Some("rt-app JSON (an object with 'tasks')"),
        sniff: |bytes| rtapp::looks_like_rtapp(bytes),
        read: rt_app,
    },
    Reader {
        expected: Some("Evenkeel's own (an object with 'format': 'evenkeel.workload/1')"),
        sniff: native::looks_like_native,
        read: |bytes, file, ctx| sized(native::parse(bytes, file)?, ctx),
    },
    Reader { expected: None, sniff: perf_sched::looks_like_perf_data, read: perf_data },
    Reader {
        expected: Some("WfFormat (an object with 'workflow')"),
        sniff: |bytes| task_graphs::looks_like(bytes) == Some(Format::WfCommons),
        read: |bytes, file, ctx| task_graph(bytes, Format::WfCommons, file, ctx),
    },
    Reader {
        expected: Some("DOT (digraph … { … })"),
        sniff: |bytes| task_graphs::looks_like(bytes) == Some(Format::Dot),
        read: |bytes, file, ctx| task_graph(bytes, Format::Dot, file, ctx),
    },
    Reader {
        expected: Some("STG (a number, then lines of numbers)"),
        sniff: |bytes| task_graphs::looks_like(bytes) == Some(Format::Stg),
        read: |bytes, file, ctx| task_graph(bytes, Format::Stg, file, ctx),
    },
];

/// What a file is expected to look like, in a line.
static EXPECTED: LazyLock<String> = LazyLock::new(|| {
    let all: Vec<&str> = READERS.iter().filter_map(|reader| reader.expected).collect();
    match all.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
});

/// Makes the applications of a file, in whatever format it is.
pub(super) fn read(
    bytes: &[u8],
    path: &Path,
    ctx: &Context,
) -> Result<Vec<Application>, WorkloadError> {
    match READERS.iter().find(|reader| (reader.sniff)(bytes)) {
        Some(reader) => (reader.read)(bytes, &path.display().to_string(), ctx),
        None => Err(WorkloadError::Format { path: path.to_owned(), expected: &EXPECTED }),
    }
}

/// An rt-app file states its own amount of work, so a size is ignored with a note.
fn rt_app(bytes: &[u8], file_name: &str, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let mut app = rtapp::read(bytes, file_name, ctx.iterations)?;
    if ctx.size != 1.0 {
        app.notes
            .push(format!("{}: a size does not change what an rt-app file asks for", app.name));
    }
    Ok(vec![app])
}

fn perf_data(bytes: &[u8], file: &str, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let seen = perf_sched::read(bytes, file)?;
    let recorded = perf_sched::program(seen, Selection::Command, &Places::of(ctx.machine), file)?;
    sized(vec![recorded.application], ctx)
}

fn task_graph(
    bytes: &[u8],
    format: Format,
    file: &str,
    ctx: &Context,
) -> Result<Vec<Application>, WorkloadError> {
    sized(vec![task_graphs::parse(bytes, format, file, ctx.workers())?], ctx)
}

/// Notes that a size is ignored: the file states its own amount of work.
fn sized(mut apps: Vec<Application>, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    if ctx.size != 1.0 {
        for app in &mut apps {
            app.notes.push(format!(
                "{}: a size does not change what a workload file asks for",
                app.name
            ));
        }
    }
    Ok(apps)
}
