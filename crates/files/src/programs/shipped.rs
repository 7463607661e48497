//! The files under workloads/, built in so that they can be named without a path.

use std::path::Path;

use super::args::Args;
use super::build::Context;
use super::entry::{Entry, WorkloadInfo};
use super::error::WorkloadError;
use evenkeel_model::Application;

/// A file that is built in.
struct Shipped {
    name: &'static str,
    /// With its ending.
    file: &'static str,
    /// Name of its format.
    format: &'static str,
    summary: &'static str,
    text: &'static str,
}

macro_rules! shipped {
    ($($format:literal $name:literal $ending:literal: $summary:literal),* $(,)?) => {
        [$(Shipped {
            name: $name,
            file: concat!($name, $ending),
            format: $format,
            summary: $summary,
            text: include_str!(concat!("../../workloads/", $name, $ending)),
        }),*]
    };
}

static SHIPPED: [Shipped; 9] = shipped![
    "rt-app" "rtapp-mixed" ".json": "a phone in use: frames, audio, a page that loads, sensors, \
                                     storage, batch work",
    "rt-app" "rtapp-memory" ".json": "work on memory and output to a device",
    "rt-app" "rtapp-policies" ".json": "scheduling classes, priorities, affinities and clamps, \
                                        changed on the way",
    "rt-app" "rtapp-sync" ".json": "threads that wait for each other in every way that rt-app has",
    "rt-app" "rtapp-timers" ".json": "work, wall time, sleeps and timers",
    "rt-app" "rtapp-wild" ".json": "rt-app's syntax as it is met in the wild",
    "WfFormat" "wfcommons-mosaic" ".json": "task graph, four images are projected, matched and \
                                            added up",
    "STG" "stg-twelve" ".stg": "task graph, twelve tasks between two dummies",
    "DOT" "dot-build" ".dot": "task graph, a program is generated, compiled, linked and tested",
];

/// The registry's entries.
pub(super) fn entries() -> Vec<Entry> {
    let entry = |file: &Shipped| {
        let summary = format!("{} file: {}", file.format, file.summary);
        let info = WorkloadInfo {
            name: file.name,
            summary,
            source: "Evenkeel, workloads/",
            shapes: &[],
            knobs: &[],
        };
        Entry { info, build }
    };
    SHIPPED.iter().map(entry).collect()
}

fn build(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let Some(file) = SHIPPED.iter().find(|file| file.name == args.workload()) else {
        return Ok(Vec::new());
    };
    super::readers::read(file.text.as_bytes(), Path::new(file.file), ctx)
}
