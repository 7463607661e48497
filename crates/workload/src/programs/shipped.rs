//! The files under workloads/, built in so that they can be named without a path.

use super::args::Args;
use super::build::Context;
use super::error::WorkloadError;
use super::registry::{Entry, WorkloadInfo};
use crate::model::Application;
use crate::rtapp;

/// A file that is built in.
struct Shipped {
    name: &'static str,
    summary: &'static str,
    text: &'static str,
}

macro_rules! shipped {
    ($($name:literal: $summary:literal),* $(,)?) => {
        [$(Shipped {
            name: $name,
            summary: $summary,
            text: include_str!(concat!("../../../../workloads/", $name, ".json")),
        }),*]
    };
}

static SHIPPED: [Shipped; 6] = shipped![
    "rtapp-mixed": "a phone in use: frames, audio, a page that loads, sensors, storage, batch work",
    "rtapp-memory": "work on memory and output to a device",
    "rtapp-policies": "scheduling classes, priorities, affinities and clamps, changed on the way",
    "rtapp-sync": "threads that wait for each other in every way that rt-app has",
    "rtapp-timers": "work, wall time, sleeps and timers",
    "rtapp-wild": "rt-app's syntax as it is met in the wild",
];

/// The registry's entries.
pub(super) fn entries() -> Vec<Entry> {
    let entry = |file: &Shipped| {
        let summary = format!("rt-app file: {}", file.summary);
        let info = WorkloadInfo { name: file.name, summary, source: "Evenkeel, workloads/", shapes: &[], knobs: &[] };
        Entry { info, build }
    };
    SHIPPED.iter().map(entry).collect()
}

fn build(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let Some(file) = SHIPPED.iter().find(|file| file.name == args.workload()) else { return Ok(Vec::new()) };
    rt_app(file.text.as_bytes(), &format!("{}.json", file.name), ctx)
}

/// An rt-app file says itself how much it does: a size changes nothing, and that is noted.
pub(super) fn rt_app(bytes: &[u8], file_name: &str, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let mut app = rtapp::parse(bytes, file_name)?;
    if ctx.size != 1.0 {
        app.notes.push(format!("{}: a size does not change what an rt-app file asks for", app.name));
    }
    Ok(vec![app])
}
