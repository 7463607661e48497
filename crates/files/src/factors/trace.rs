//! Files of counters.

use std::collections::BTreeMap;

use evenkeel_estimate::{Counters, Counts, Event, Trace, TracedKind, Window};
use evenkeel_machine::Nanos;
use serde::{Deserialize, Serialize};

use super::{FactorsError, File};

/// What `"format"` says.
pub const TRACE_FORMAT: &str = "evenkeel.counters/1";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    program: String,
    #[serde(default)]
    source: String,
    kinds: Vec<KindDocument>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct KindDocument {
    name: String,
    counters: usize,
    #[serde(default)]
    own_counter: Vec<String>,
    windows: Vec<WindowDocument>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WindowDocument {
    time_ns: u64,
    counts: BTreeMap<String, u64>,
}

/// Reads a file of counters. `file` is for messages.
///
/// # Errors
/// The first fault, with its place, what was found and what was expected.
pub fn parse_trace(bytes: &[u8], file: &str) -> Result<Trace, FactorsError> {
    let file = File(file);
    let document: Document = file.read(bytes, TRACE_FORMAT)?;
    let kinds = document.kinds.into_iter().enumerate().map(|(k, kind)| {
        let fixed = kind.own_counter.iter().map(|name| event(name));
        let fixed: Result<Vec<Event>, String> = fixed.collect();
        let fixed = fixed.map_err(|what| file.error(format!("kinds[{k}].own_counter: "), what))?;
        let windows = kind.windows.into_iter().enumerate().map(|(w, window)| {
            counts(&window.counts)
                .map(|counts| Window { time: Nanos(window.time_ns), counts })
                .map_err(|what| file.error(format!("kinds[{k}].windows[{w}].counts: "), what))
        });
        Ok(TracedKind {
            name: kind.name,
            counters: Counters { general: kind.counters, fixed },
            windows: windows.collect::<Result<_, FactorsError>>()?,
        })
    });
    let kinds = kinds.collect::<Result<_, FactorsError>>()?;
    Trace::new(document.program, document.source, kinds)
        .map_err(|error| file.error(String::new(), error))
}

fn event(name: &str) -> Result<Event, String> {
    Event::named(name).ok_or_else(|| {
        let names: Vec<&str> = Event::ALL.into_iter().map(Event::name).collect();
        format!("event '{name}' found, expected one of {}", names.join(", "))
    })
}

fn counts(of: &BTreeMap<String, u64>) -> Result<Counts, String> {
    let mut counts = Counts::default();
    for (name, &count) in of {
        counts.set(event(name)?, count);
    }
    Ok(counts)
}

/// The file of counters, one window a line. [`parse_trace`] reads it back to an equal trace.
#[must_use]
pub fn write_trace(trace: &Trace) -> String {
    let document = Document {
        format: TRACE_FORMAT.to_owned(),
        program: trace.program().to_owned(),
        source: trace.source().to_owned(),
        kinds: trace.kinds().iter().map(kind_document).collect(),
    };
    super::lines(&document, "time_ns")
}

fn kind_document(kind: &TracedKind) -> KindDocument {
    let named = |event: Event| event.name().to_owned();
    let window = |window: &Window| WindowDocument {
        time_ns: window.time.0,
        counts: window
            .counts
            .events()
            .map(|event| (named(event), window.counts.get(event).unwrap_or_default()))
            .collect(),
    };
    KindDocument {
        name: kind.name.clone(),
        counters: kind.counters.general,
        own_counter: kind.counters.fixed.iter().copied().map(named).collect(),
        windows: kind.windows.iter().map(window).collect(),
    }
}
