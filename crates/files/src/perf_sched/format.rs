//! Where the fields of the scheduler's tracepoints lie, as the kernel that recorded them says, and
//! what they mean.
//!
//! The same for data of `perf` and for our own recorder, which reads the formats from tracefs:
//!
//! ```text
//! name: sched_waking
//! ID: 314
//! format:
//!         field:unsigned char common_flags;  offset:2;  size:1;  signed:0;
//!         …
//! ```

use std::collections::BTreeMap;

use crate::recorded::{Cpu, Event, Tid};

/// States in which a thread has nothing to go on with: those below the bit that marks preemption,
/// which is 0x100 now and was higher (include/linux/sched.h, `TASK_REPORT_MAX`).
const ASLEEP: i64 = 0xff;

/// In `common_flags`: within a hard interrupt, a soft one, or one that cannot be masked
/// (include/linux/trace_events.h, `TRACE_FLAG_HARDIRQ`, `_SOFTIRQ`, `_NMI`).
const IN_INTERRUPT: i64 = 0x08 | 0x10 | 0x40;

/// A field of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// Its value; `None` where the bytes end before it.
    fn read(self, raw: &[u8], little_endian: bool) -> Option<i64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        let (mut low, mut high) = ([0; 8], [0; 8]);
        low.get_mut(..self.size)?.copy_from_slice(bytes);
        high.get_mut(8_usize.checked_sub(self.size)?..)?.copy_from_slice(bytes);
        let unused = 64 - 8 * u32::try_from(self.size).ok()?;
        let value = if little_endian { i64::from_le_bytes(low) } else { i64::from_be_bytes(high) };
        // Thread numbers and states are read as signed. The sign of the flags, one byte, does not
        // matter.
        Some(value.checked_shl(unused)? >> unused)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracepoint {
    Switch { from: Field, state: Field, to: Field },
    Waking { tid: Field, by: Field, flags: Field },
}

/// The tracepoints that are understood: `sched_switch` and `sched_waking`, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracepoints(BTreeMap<u64, Tracepoint>);

/// The tracepoints that are needed, by name.
pub const NEEDED: [&str; 2] = ["sched_switch", "sched_waking"];

impl Tracepoints {
    /// From any number of formats, one after the other, with anything between.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut known = BTreeMap::new();
        let mut formats = text.split("name: ").skip(1);
        while let Some((id, tracepoint)) = formats.by_ref().find_map(tracepoint) {
            known.insert(id, tracepoint);
        }
        Self(known)
    }

    /// The number of one of [`NEEDED`].
    #[must_use]
    pub fn id(&self, name: &str) -> Option<u64> {
        let is = |tracepoint: &Tracepoint| match tracepoint {
            Tracepoint::Switch { .. } => name == NEEDED[0],
            Tracepoint::Waking { .. } => name == NEEDED[1],
        };
        self.0.iter().find(|(_, tracepoint)| is(tracepoint)).map(|(id, _)| *id)
    }

    /// What a tracepoint of this number tells, from its fields as they were recorded on `cpu`.
    /// `None`: another tracepoint, or too few bytes.
    #[must_use]
    pub fn decode(&self, id: u64, raw: &[u8], cpu: Cpu, little_endian: bool) -> Option<Event> {
        let read = |field: Field| field.read(raw, little_endian);
        let tid = |field: Field| read(field).and_then(|value| i32::try_from(value).ok()).map(Tid);
        Some(match *self.0.get(&id)? {
            Tracepoint::Switch { from, state, to } => Event::Switch {
                cpu,
                from: tid(from)?,
                preempted: read(state)? & ASLEEP == 0,
                to: tid(to)?,
            },
            Tracepoint::Waking { tid: woken, by, flags } => {
                let by = if read(flags)? & IN_INTERRUPT == 0 { Some(tid(by)?) } else { None };
                Event::Waking { tid: tid(woken)?, by }
            }
        })
    }
}

/// Reads one format, from behind its `name: `.
fn tracepoint(text: &str) -> Option<(u64, Tracepoint)> {
    let (name, rest) = text.split_once('\n')?;
    let id = rest.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
    let field = |name: &str| {
        rest.lines().find_map(|line| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
            let declared = parts.next()?.rsplit([' ', '*']).next()?;
            let number = |part: Option<&str>, key| part?.strip_prefix(key)?.parse().ok();
            let (offset, size) = (number(parts.next(), "offset:")?, number(parts.next(), "size:")?);
            (declared == name && (1..=8).contains(&size)).then_some(Field { offset, size })
        })
    };
    let tracepoint = match name.trim() {
        "sched_switch" => Tracepoint::Switch {
            from: field("prev_pid")?,
            state: field("prev_state")?,
            to: field("next_pid")?,
        },
        "sched_waking" => Tracepoint::Waking {
            tid: field("pid")?,
            by: field("common_pid")?,
            flags: field("common_flags")?,
        },
        _ => return None,
    };
    Some((id, tracepoint))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKING: &str = "name: sched_waking\nID: 314\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";

    fn waking(flags: u8) -> Vec<u8> {
        let mut raw = vec![58, 1, flags, 0];
        raw.extend(7_i32.to_le_bytes());
        raw.extend([0; 16]);
        raw.extend(9_i32.to_le_bytes());
        raw
    }

    #[test]
    fn a_wake_up_within_an_interrupt_is_nobodys() {
        let known = Tracepoints::parse(&format!("junk\n{WAKING}more junk"));
        let by = |flags| match known.decode(314, &waking(flags), Cpu(0), true) {
            Some(Event::Waking { tid: Tid(9), by }) => by,
            other => panic!("{other:?}"),
        };
        assert_eq!(by(0x01), Some(Tid(7)), "interrupts are off, and it is the thread itself");
        assert_eq!([by(0x09), by(0x11)], [None, None]);
        assert_eq!((known.id("sched_waking"), known.id("sched_switch")), (Some(314), None));
    }

    #[test]
    fn too_few_bytes_and_other_tracepoints_tell_nothing() {
        let known = Tracepoints::parse(WAKING);
        assert_eq!(known.decode(314, &waking(0)[..27], Cpu(0), true), None);
        assert_eq!(known.decode(315, &waking(0), Cpu(0), true), None);
    }

    #[test]
    fn both_byte_orders_are_read() {
        let field = Field { offset: 1, size: 4 };
        assert_eq!(field.read(&[9, 0xfe, 0xff, 0xff, 0xff], true), Some(-2));
        assert_eq!(field.read(&[9, 0xff, 0xff, 0xff, 0xfe], false), Some(-2));
        assert_eq!(Field { offset: 0, size: 8 }.read(&[0, 1, 0, 0, 0, 0, 0, 0], true), Some(256));
        assert_eq!(Field { offset: usize::MAX, size: 8 }.read(&[0], true), None);
    }
}
