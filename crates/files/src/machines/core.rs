//! The `[kinds.core]` table of a machine file: how a kind of core is built.

use std::fmt::Write as _;

use evenkeel_machine::{DataCache, Microarchitecture, Nanos};

use super::error::MachineError;
use super::rule::{
    CYCLES, EVENTS, KIBIBYTES, MISSES, NANOSECONDS, SOME_CYCLES, SOME_KIBIBYTES, WIDTH, WINDOW,
};
use super::rule::{Located, rounded};
use super::section::{Document, Section};
use super::write::quoted;

const CORE_KEYS: &[&str] = &[
    "width",
    "window",
    "mispredict_cycles",
    "code_cache_kib",
    "data_caches",
    "memory_ns",
    "outstanding_misses",
    "tlb_kib",
    "tlb_cycles",
    "counters",
    "counts_instructions",
    "counts_cycles",
    "source",
];
const CACHE_KEYS: &[&str] = &["kib", "cycles"];
const CACHES_EXPECTED: &str = "at least one cache, { kib = …, cycles = … }";

/// The table, if the kind has one. `subject` names the kind.
pub(super) fn read_core(
    document: &Document<'_>,
    kind: &Section<'_>,
    subject: &str,
) -> Result<Option<Microarchitecture>, MachineError> {
    let subject = format!("{subject}core: ");
    let Some(core) = kind.table("core", &subject, CORE_KEYS)? else { return Ok(None) };
    let whole = |key, rule| -> Result<u32, MachineError> {
        Ok(rounded(core.required_number(key, rule)?.value) as u32)
    };
    let bytes = |key| -> Result<u64, MachineError> {
        Ok(rounded(core.required_number(key, SOME_KIBIBYTES)?.value * 1024.0).max(1))
    };
    let window = core.number("window", WINDOW)?.map(|window| rounded(window.value) as u32);
    Ok(Some(Microarchitecture {
        width: whole("width", WIDTH)?,
        window,
        mispredict_penalty: whole("mispredict_cycles", CYCLES)?,
        code_cache_bytes: bytes("code_cache_kib")?,
        data_caches: read_caches(document, &core, &subject)?,
        memory_latency: Nanos(rounded(core.required_number("memory_ns", NANOSECONDS)?.value)),
        most_misses: whole("outstanding_misses", MISSES)?,
        tlb_bytes: bytes("tlb_kib")?,
        tlb_penalty: whole("tlb_cycles", CYCLES)?,
        counters: whole("counters", EVENTS)?,
        counts_instructions: core.flag("counts_instructions")?.unwrap_or(false),
        counts_cycles: core.flag("counts_cycles")?.unwrap_or(false),
        source: core.prose("source")?,
    }))
}

fn read_caches(
    document: &Document<'_>,
    core: &Section<'_>,
    subject: &str,
) -> Result<Vec<DataCache>, MachineError> {
    let mut caches: Vec<DataCache> = Vec::new();
    for table in core.tables("data_caches", CACHES_EXPECTED)?.unwrap_or_default() {
        let Located { value, span } = table;
        let section = Section::new(document, value, span.start, subject.to_owned(), CACHE_KEYS)?;
        let size = section.required_number("kib", KIBIBYTES)?;
        let bytes = rounded(size.value * 1024.0);
        if caches.last().is_some_and(|last| bytes <= last.bytes) || bytes == 0 {
            let expected = caches.last().map_or_else(
                || "more than 0 KiB".to_owned(),
                |last| format!("more than the {} KiB before it", last.bytes as f64 / 1024.0),
            );
            return Err(section.error("kib", &size.span, document.shown(&size.span), expected));
        }
        let latency = rounded(section.required_number("cycles", SOME_CYCLES)?.value) as u32;
        caches.push(DataCache { bytes, latency });
    }
    if caches.is_empty() {
        return Err(core.missing("data_caches", CACHES_EXPECTED));
    }
    Ok(caches)
}

pub(super) fn write_core(out: &mut String, core: &Microarchitecture) -> std::fmt::Result {
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    writeln!(out, "\n[kinds.core]\nsource = {}\nwidth = {}", quoted(&core.source), core.width)?;
    if let Some(window) = core.window {
        writeln!(out, "window = {window}")?;
    }
    writeln!(out, "mispredict_cycles = {}", core.mispredict_penalty)?;
    writeln!(out, "code_cache_kib = {}", kib(core.code_cache_bytes))?;
    writeln!(out, "data_caches = [")?;
    for cache in &core.data_caches {
        writeln!(out, "    {{ kib = {}, cycles = {} }},", kib(cache.bytes), cache.latency)?;
    }
    writeln!(out, "]\nmemory_ns = {}", core.memory_latency.0)?;
    writeln!(out, "outstanding_misses = {}", core.most_misses)?;
    writeln!(out, "tlb_kib = {}\ntlb_cycles = {}", kib(core.tlb_bytes), core.tlb_penalty)?;
    writeln!(out, "counters = {}", core.counters)?;
    writeln!(out, "counts_instructions = {}", core.counts_instructions)?;
    writeln!(out, "counts_cycles = {}", core.counts_cycles)
}
