//! The `[[kinds]]` tables of a machine file.

use std::ops::Range;

use toml::de::DeTable;

use super::core::read_core;
use super::error::MachineError;
use super::rule::Located;
use super::rule::{
    CAPACITY, COEFFICIENT, DMIPS, MEGAHERTZ, VOLTS, WATTS, kilohertz, microwatts, rounded,
};
use super::section::{Document, Section};
use evenkeel_machine::MicroWatts;
use evenkeel_machine::{FULL_CAPACITY, Kind, MAX_KINDS, OperatingPoint};

/// Longest name of a kind, in characters: it is a column heading and part of `2big+4little`.
const MAX_KIND_NAME: usize = 32;

const KIND_KEYS: &[&str] = &[
    "name",
    "source",
    "dmips_mhz",
    "capacity",
    "max_mhz",
    "operating_points",
    "dynamic_power_uw_per_mhz_v2",
    "idle_power_w",
    "cluster_power_w",
    "core",
];
const POINT_KEYS: &[&str] = &["mhz", "volts", "capacity", "power_w", "cluster_power_w"];

pub(super) const KINDS_EXPECTED: &str = "at least one [[kinds]] table";
const NAME_EXPECTED: &str = "a name: a letter, then letters, digits, '-', '_' or '.', at most 32";
const POINTS_EXPECTED: &str = "at least one operating point, { mhz = … }";
const SPEED_EXPECTED: &str = "dmips_mhz, capacity, or a capacity for each operating point";
const ONE_OF_TWO: &str = "one of the two";

/// How a kind states its speed. A file keeps to one way, since the two are in different units.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// Speed per MHz; capacity follows from the clock.
    PerClock,
    /// Capacity itself.
    Capacity,
}

impl Measure {
    const fn key(self) -> &'static str {
        match self {
            Self::PerClock => "dmips_mhz",
            Self::Capacity => "capacity",
        }
    }
}

/// A kind as its table has it, and where the table has it.
pub(super) struct RawKind {
    pub kind: Kind,
    /// `kind 'big': `.
    pub subject: String,
    pub name_span: Range<usize>,
    measure: Located<Measure>,
    clock_spans: Vec<Range<usize>>,
}

/// An operating point as its table has it.
struct RawPoint {
    khz: u64,
    clock_span: Range<usize>,
    capacity: Option<Located<f64>>,
    busy_power: Option<MicroWatts>,
    cluster_power: Option<MicroWatts>,
}

/// All kinds, in the order of the file. `is_part`: capacities are of a whole machine's 1024
/// already.
pub(super) fn read_kinds(
    document: &Document<'_>,
    file: &Section<'_>,
    is_part: bool,
) -> Result<Vec<RawKind>, MachineError> {
    let tables = file.tables("kinds", KINDS_EXPECTED)?.unwrap_or_default();
    if tables.is_empty() {
        return Err(file.missing("kinds", KINDS_EXPECTED));
    }
    if let Some(surplus) = tables.get(MAX_KINDS) {
        let found = format!("{} kinds", tables.len());
        return Err(file.error("kinds", &surplus.span, found, format!("at most {MAX_KINDS}")));
    }
    let mut kinds: Vec<RawKind> = Vec::with_capacity(tables.len());
    for (index, table) in tables.iter().enumerate() {
        let raw = read_kind(document, table, index)?;
        if kinds.iter().any(|other| other.kind.name == raw.kind.name) {
            let (found, expected) = ("a second kind of this name", "another name");
            return Err(document.error(&raw.subject, "name", &raw.name_span, found, expected));
        }
        kinds.push(raw);
    }
    set_capacities(document, &mut kinds, is_part)?;
    Ok(kinds)
}

fn read_kind(
    document: &Document<'_>,
    table: &Located<&DeTable<'_>>,
    index: usize,
) -> Result<RawKind, MachineError> {
    // Errors name the kind if it has a name, else count it.
    let subject = match table.value.get("name").and_then(|name| name.get_ref().as_str()) {
        Some(name) if is_kind_name(name) => format!("kind '{name}': "),
        _ => format!("kind {}: ", index + 1),
    };
    let section =
        Section::new(document, table.value, table.span.start, subject.clone(), KIND_KEYS)?;
    let name = section.name("name", NAME_EXPECTED)?;
    if !is_kind_name(name.value) {
        return Err(section.error("name", &name.span, document.shown(&name.span), NAME_EXPECTED));
    }
    let idle_power = section.number("idle_power_w", WATTS)?.map(microwatts);
    let points = read_points(document, &section, &subject)?;
    let Some(top) = points.last() else {
        return Err(section.missing("operating_points", POINTS_EXPECTED));
    };

    let core = read_core(document, &section, &subject)?;
    let (measure, at_top) = read_measure(&section, &points)?;
    let top_khz = top.khz as f64;
    let opps = points.iter().map(|point| OperatingPoint {
        khz: point.khz,
        capacity: match &point.capacity {
            Some(own) => own.value,
            None => at_top * (point.khz as f64 / top_khz),
        },
        busy_power: point.busy_power,
        cluster_power: point.cluster_power,
    });
    let opps: Vec<OperatingPoint> = opps.collect();
    power_is_all_or_nothing(&section, idle_power, &opps)?;
    Ok(RawKind {
        // The rounded capacity is set once the fastest kind is known.
        kind: Kind {
            name: name.value.to_owned(),
            capacity: 1,
            opps,
            idle_power,
            source: section.prose("source")?,
            core,
        },
        subject,
        name_span: name.span,
        measure,
        clock_spans: points.into_iter().map(|point| point.clock_span).collect(),
    })
}

fn read_points(
    document: &Document<'_>,
    kind: &Section<'_>,
    subject: &str,
) -> Result<Vec<RawPoint>, MachineError> {
    const COEFFICIENT_KEY: &str = "dynamic_power_uw_per_mhz_v2";
    let coefficient = kind.number(COEFFICIENT_KEY, COEFFICIENT)?;
    let cluster_power = kind.number("cluster_power_w", WATTS)?.map(microwatts);
    let max = kind.number("max_mhz", MEGAHERTZ)?;
    let listed = kind.tables("operating_points", POINTS_EXPECTED)?;
    match (max, listed) {
        (None, None) => Ok(Vec::new()),
        (Some(max), Some(_)) => {
            Err(kind.error("max_mhz", &max.span, "a clock beside operating_points", ONE_OF_TWO))
        }
        (Some(max), None) => match coefficient {
            Some(coefficient) => {
                let found = "a coefficient without volts";
                Err(kind.error(
                    COEFFICIENT_KEY,
                    &coefficient.span,
                    found,
                    "operating_points with volts",
                ))
            }
            None => Ok(vec![RawPoint {
                khz: kilohertz(&max),
                clock_span: max.span,
                capacity: None,
                busy_power: None,
                cluster_power,
            }]),
        },
        (None, Some(tables)) => {
            let mut points: Vec<RawPoint> = Vec::with_capacity(tables.len());
            for table in tables {
                let section = Section::new(
                    document,
                    table.value,
                    table.span.start,
                    subject.to_owned(),
                    POINT_KEYS,
                )?;
                let mut point = read_point(&section, coefficient.as_ref())?;
                point.cluster_power = point.cluster_power.or(cluster_power);
                if let Some(last) = points.last() {
                    ascends(document, &section, last, &point)?;
                }
                points.push(point);
            }
            Ok(points)
        }
    }
}

fn read_point(
    section: &Section<'_>,
    coefficient: Option<&Located<f64>>,
) -> Result<RawPoint, MachineError> {
    let clock = section.required_number("mhz", MEGAHERTZ)?;
    let khz = kilohertz(&clock);
    let volts = section.number("volts", VOLTS)?;
    let busy_power = match (section.number("power_w", WATTS)?, coefficient) {
        (Some(measured), _) => Some(microwatts(measured)),
        (None, None) => None,
        (None, Some(coefficient)) => {
            let volts = volts.ok_or_else(|| section.missing("volts", VOLTS.what))?;
            let watts = dynamic_power_w(coefficient.value, khz, volts.value);
            if watts > WATTS.most {
                let expected = format!("at most {} watts", WATTS.most);
                return Err(section.error(
                    "volts",
                    &volts.span,
                    format!("{watts} watts"),
                    expected,
                ));
            }
            Some(MicroWatts(rounded(watts * 1e6)))
        }
    };
    Ok(RawPoint {
        khz,
        clock_span: clock.span,
        capacity: section.number("capacity", CAPACITY)?,
        busy_power,
        cluster_power: section.number("cluster_power_w", WATTS)?.map(microwatts),
    })
}

fn ascends(
    document: &Document<'_>,
    section: &Section<'_>,
    last: &RawPoint,
    point: &RawPoint,
) -> Result<(), MachineError> {
    if point.khz <= last.khz {
        let expected = format!("more than the {} MHz before it", last.khz as f64 / 1e3);
        return Err(section.error(
            "mhz",
            &point.clock_span,
            document.shown(&point.clock_span),
            expected,
        ));
    }
    match (&last.capacity, &point.capacity) {
        (Some(before), Some(own)) if own.value <= before.value => {
            let expected = format!("more than the {} before it", before.value);
            Err(section.error("capacity", &own.span, document.shown(&own.span), expected))
        }
        _ => Ok(()),
    }
}

/// How the kind states its speed, and the speed at its highest operating point in that measure.
fn read_measure(
    section: &Section<'_>,
    points: &[RawPoint],
) -> Result<(Located<Measure>, f64), MachineError> {
    let per_clock = section.number("dmips_mhz", DMIPS)?;
    let capacity = section.number("capacity", CAPACITY)?;
    let own = points.iter().find_map(|point| point.capacity.as_ref());
    let top = points.last();
    match (per_clock, capacity, own) {
        (Some(stated), None, None) => {
            let at_top = stated.value * top.map_or(0.0, |top| top.khz as f64);
            Ok((Located { value: Measure::PerClock, span: stated.span }, at_top))
        }
        (None, Some(stated), None) => {
            Ok((Located { value: Measure::Capacity, span: stated.span }, stated.value))
        }
        (None, None, Some(own)) => {
            if points.iter().any(|point| point.capacity.is_none()) {
                let found = "operating points with and without it";
                return Err(section.error(
                    "capacity",
                    &own.span,
                    found,
                    "a capacity for each or for none",
                ));
            }
            let at_top =
                top.and_then(|top| top.capacity.as_ref()).map_or(own.value, |top| top.value);
            Ok((Located { value: Measure::Capacity, span: own.span.clone() }, at_top))
        }
        (None, None, None) => Err(section.missing("dmips_mhz", SPEED_EXPECTED)),
        (Some(_), Some(stated), _) => {
            Err(section.error("capacity", &stated.span, "a capacity beside dmips_mhz", ONE_OF_TWO))
        }
        (_, _, Some(own)) => {
            let found = "a point's capacity beside the kind's dmips_mhz or capacity";
            Err(section.error("capacity", &own.span, found, ONE_OF_TWO))
        }
    }
}

/// A kind must have a whole power model or none: with part of one the machine's energy would be
/// unknown, and nothing would say so.
fn power_is_all_or_nothing(
    section: &Section<'_>,
    idle: Option<MicroWatts>,
    points: &[OperatingPoint],
) -> Result<(), MachineError> {
    const REST: &str = "a number of watts, since other power of this kind is given";
    let busy = points.iter().filter(|point| point.busy_power.is_some()).count();
    let cluster = points.iter().filter(|point| point.cluster_power.is_some()).count();
    if idle.is_none() && busy + cluster == 0 {
        Ok(())
    } else if idle.is_none() {
        Err(section.missing("idle_power_w", REST))
    } else if busy < points.len() {
        Err(section.missing("operating_points: power_w", REST))
    } else if cluster < points.len() {
        Err(section.missing("cluster_power_w", REST))
    } else {
        Ok(())
    }
}

/// Brings capacities to the scale on which the fastest kind has 1024, as Linux does
/// (`topology_normalize_cpu_scale`).
fn set_capacities(
    document: &Document<'_>,
    kinds: &mut [RawKind],
    is_part: bool,
) -> Result<(), MachineError> {
    let first = kinds.first().map(|raw| raw.measure.value);
    for RawKind { subject, measure, .. } in kinds.iter() {
        let (key, span) = (measure.value.key(), &measure.span);
        if Some(measure.value) != first {
            let (found, expected) =
                ("another measure than the first kind's", "dmips_mhz for all or capacity for all");
            return Err(document.error(subject, key, span, found, expected));
        }
        if is_part && measure.value == Measure::PerClock {
            let (found, expected) =
                ("dmips_mhz beside [reference]", "capacity, of the whole machine's 1024");
            return Err(document.error(subject, key, span, found, expected));
        }
    }
    let full = f64::from(FULL_CAPACITY);
    let greatest = kinds.iter().map(|raw| raw.kind.top().capacity).fold(0.0, f64::max);
    for RawKind { kind, subject, clock_spans, .. } in kinds {
        for (point, span) in kind.opps.iter_mut().zip(clock_spans.iter()) {
            if !is_part {
                point.capacity = point.capacity * full / greatest;
            }
            if !(1.0..=full).contains(&point.capacity) {
                let found = format!("{} of {FULL_CAPACITY}", point.capacity);
                return Err(document.error(
                    subject,
                    "capacity",
                    span,
                    found,
                    format!("1 to {FULL_CAPACITY}"),
                ));
            }
        }
        kind.capacity = kind.top().capacity.round() as u32;
    }
    Ok(())
}

fn is_kind_name(name: &str) -> bool {
    name.len() <= MAX_KIND_NAME
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Dynamic power of one busy core, watts: coefficient (uW/MHz/V^2) x MHz x V^2, the formula of the
/// kernel's energy model (Documentation/power/energy-model.rst) and of the device-tree property
/// `dynamic-power-coefficient`.
fn dynamic_power_w(coefficient: f64, khz: u64, volts: f64) -> f64 {
    coefficient * (khz as f64 / 1e3) * volts * volts / 1e6
}
