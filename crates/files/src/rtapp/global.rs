//! The section `global`, and the section `resources` of older files.

use evenkeel_machine::{CoreId, Nanos};

use super::error::{Fault, Problem};
use super::json::{Member, Value};
use super::keys::{self, RESOURCE};
use super::memory::DEFAULT_BUFFER_BYTES;
use super::names::Resources;
use super::notes::Notes;
use super::place::{GREATEST, Given, Place};
use super::schedule::Policy;

const LOGS: &str = "global.logdir, log_basename, log_size: logs are written where --rtapp-log says";

/// Settings of the whole file.
#[derive(Debug)]
pub struct Global {
    pub duration: Option<Nanos>,
    pub policy: Policy,
    /// The core on which a `run` takes the time that it says; `None`: the fastest.
    pub calibrated_on: Option<CoreId>,
    pub buffer_bytes: u64,
    /// True if `iorun` writes to `/dev/null`.
    pub io_to_null: bool,
}

impl Default for Global {
    fn default() -> Self {
        Self {
            duration: None,
            policy: Policy::Other,
            calibrated_on: None,
            buffer_bytes: DEFAULT_BUFFER_BYTES,
            io_to_null: true,
        }
    }
}

impl Global {
    pub fn read(section: &Member, notes: &mut Notes) -> Result<Self, Fault> {
        const PLACE: Place<'_> = Place::Global;
        let mut global = Self::default();
        let mut given = Given::default();
        for member in Place::Root.object(section, "an object of settings")? {
            if !given.is_known(PLACE, member, "key", keys::of_global(), notes)? {
                continue;
            }
            match member.key.as_str() {
                "duration" => global.duration = duration(member)?,
                "calibration" => global.calibrated_on = calibration(member, notes)?,
                "default_policy" => global.policy = Policy::read(PLACE, member)?,
                "mem_buffer_size" => {
                    let bytes = PLACE.integer(member, 1..=GREATEST, "a number of bytes from 1")?;
                    global.buffer_bytes = bytes.unsigned_abs();
                }
                "io_device" => {
                    global.io_to_null = PLACE.text(member, "the path of a file")? == "/dev/null";
                    if !global.io_to_null {
                        notes.add(
                            "global.io_device: nothing is written; iorun waits for a device \
                                   that moves 200 MB/s",
                        );
                    }
                }
                _ => note_only(member, notes)?,
            }
        }
        Ok(global)
    }
}

fn duration(member: &Member) -> Result<Option<Nanos>, Fault> {
    const EXPECTED: &str = "a number of seconds, or -1 for ever";
    let seconds = Place::Global.integer(member, -1..=GREATEST, EXPECTED)?;
    // A duration of 0 seconds or less ends nothing, as in rt-app.
    Ok((seconds > 0).then(|| Nanos::from_secs(seconds.unsigned_abs())))
}

/// Checks a setting that has no effect here, and notes that.
fn note_only(member: &Member, notes: &mut Notes) -> Result<(), Fault> {
    const PLACE: Place<'_> = Place::Global;
    match member.key.as_str() {
        "pi_enabled" if PLACE.boolean(member)? => {
            notes.add("global.pi_enabled: locks pass no priority on to their holders");
        }
        "lock_pages" if PLACE.boolean(member)? => {
            notes.add("global.lock_pages: there are no page faults that it would spare");
        }
        "cumulative_slack" => {
            PLACE.boolean(member)?;
            notes.add(
                "global.cumulative_slack: the slack of an iteration is that of its \
                       last timer",
            );
        }
        "gnuplot" if PLACE.boolean(member)? => {
            notes.add("global.gnuplot: no plots are written");
        }
        "logdir" | "log_basename" => {
            PLACE.text(member, "a string")?;
            notes.add(LOGS);
        }
        "log_size" => {
            match member.value.as_ref().map(|node| &node.value) {
                Some(Value::Text(_)) => {}
                _ => {
                    PLACE.natural(
                        member,
                        "a number of megabytes, or \"file\", \"disable\" or \"auto\"",
                    )?;
                }
            }
            notes.add(LOGS);
        }
        "ftrace" => {
            let traces = match member.value.as_ref().map(|node| &node.value) {
                Some(Value::Bool(on)) => *on,
                _ => PLACE.text(member, "categories in a string, or true or false")? != "none",
            };
            if traces {
                notes.add("global.ftrace: its markers are in trace.txt of --rtapp-log");
            }
        }
        "frag" | "fragment" | "spacing" => {
            notes.add("global.frag, fragment, spacing: of older versions, without effect")
        }
        _ => {}
    }
    Ok(())
}

fn calibration(member: &Member, notes: &mut Notes) -> Result<Option<CoreId>, Fault> {
    const EXPECTED: &str = "\"CPU\" with a number, or a number of nanoseconds per loop";
    if let Some(Value::Integer(_)) = member.value.as_ref().map(|node| &node.value) {
        Place::Global.natural(member, EXPECTED)?;
        notes.add(
            "global.calibration in nanoseconds per loop: a run takes its time on the \
                   machine's fastest core",
        );
        return Ok(None);
    }
    let cpu = Place::Global
        .text(member, EXPECTED)?
        .strip_prefix("CPU")
        .and_then(|digits| digits.parse().ok());
    let cpu: u16 = cpu.ok_or_else(|| Place::Global.wrong(member, EXPECTED))?;
    Ok(Some(CoreId(u32::from(cpu))))
}

/// The section `resources`: a number (the oldest files), or an object of typed resources.
pub fn read_resources(
    section: &Member,
    resources: &mut Resources,
    notes: &mut Notes,
) -> Result<(), Fault> {
    if let Some(Value::Integer(_)) = section.value.as_ref().map(|node| &node.value) {
        return Place::Root.natural(section, "a number of resources").map(|_| ());
    }
    for resource in Place::Root.object(section, "an object of resources, or their number")? {
        let place = Place::Resource(&resource.key);
        let (mut kind, mut target) = (None, None);
        let mut given = Given::default();
        for member in Place::Root.object(resource, "an object with a type")? {
            if !given.is_known(place, member, "key", RESOURCE, notes)? {
                continue;
            }
            match member.key.as_str() {
                "type" => kind = Some((place.text(member, KINDS_EXPECTED)?, member)),
                "target" => target = Some(place.text(member, "the name of another resource")?),
                _ => {}
            }
        }
        let (kind, member) =
            kind.ok_or_else(|| place.fault(resource.at, Problem::Missing("the key 'type'")))?;
        if !KINDS.contains(&kind) {
            return Err(place.wrong(member, KINDS_EXPECTED));
        }
        if let ("signal" | "broadcast" | "sync", Some(target)) = (kind, target) {
            resources.alias(&resource.key, target);
        }
    }
    Ok(())
}

const KINDS: [&str; 12] = [
    "mutex",
    "timer",
    "wait",
    "signal",
    "broadcast",
    "sync",
    "barrier",
    "suspend",
    "resume",
    "run",
    "sleep",
    "fork",
];
const KINDS_EXPECTED: &str = "a type of resource: mutex, timer, wait, signal, broadcast, sync, \
                              barrier, suspend, resume, \
                              run, sleep or fork";
