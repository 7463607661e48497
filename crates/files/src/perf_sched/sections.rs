//! Checks that the parts of a file of perf lie within it. They are read whole, so a broken file
//! could claim more memory than there is.
//!
//! Layout: tools/perf/Documentation/perf.data-file-format.txt of the kernel: a header with three
//! sections (attributes, data, event types) and 256 bits of features, and behind the data a section
//! for each feature that is there.

/// Offsets of the sections in the header, and of the feature bits.
const SECTIONS: [usize; 3] = [24, 40, 56];
const DATA: usize = 40;
const FEATURES: usize = 72;
const HEADER: usize = 104;

const HEADER_SIZE: usize = 8;
const ATTRIBUTE_SIZE: usize = 16;

/// The size of a header in a pipe: `struct perf_pipe_file_header`.
const PIPE: usize = 16;

/// Bytes of `struct perf_event_attr` in its first version.
const LEAST_ATTRIBUTE: usize = 64;

/// The feature that describes events, and the last that there is room for in perf's own numbers:
/// other tools add theirs from 128 on.
const EVENT_DESC: usize = 12;
const LAST_OF_PERF: usize = 127;

/// `PERF_RECORD_AUXTRACE`.
const AUXTRACE: u32 = 71;

/// Bytes of a section: its offset and its size.
const SECTION: usize = 16;

/// Tells what is wrong, if anything.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    if !super::looks_like_perf_data(bytes) {
        return Err("it does not begin as a file of perf does".to_owned());
    }
    // The magic is a number, too: as text it is the other way round on a machine of the other
    // order.
    let little_endian = bytes.starts_with(b"PERFILE2");
    let number = |at: usize| {
        let word = bytes.get(at..at + 8)?.try_into().ok()?;
        usize::try_from(if little_endian {
            u64::from_le_bytes(word)
        } else {
            u64::from_be_bytes(word)
        })
        .ok()
    };
    if number(HEADER_SIZE) == Some(PIPE) {
        return Err(
            "it is what perf writes to a pipe (perf record -o -), which has no table of its \
                    parts: record \
                    to a file (perf sched record -o FILE)"
                .to_owned(),
        );
    }
    if bytes.len() < HEADER {
        return Err(format!("it ends within the header, after {} bytes", bytes.len()));
    }
    let end =
        |at: usize| number(at)?.checked_add(number(at + 8)?).filter(|&end| end <= bytes.len());
    for at in SECTIONS {
        end(at)
            .ok_or_else(|| format!("the section that byte {at} tells of reaches beyond the end"))?;
    }
    if number(ATTRIBUTE_SIZE).is_none_or(|size| size < LEAST_ATTRIBUTE)
        || number(SECTIONS[2] + 8) != Some(0)
    {
        return Err("its attributes are not as any perf since Linux 3 wrote them".to_owned());
    }
    let first = end(DATA).unwrap_or(HEADER);
    let mut described = None;
    let has = |bit: usize| bytes[FEATURES + feature_byte(bit, little_endian)] >> (bit % 8) & 1 == 1;
    for (nth, bit) in (0..8 * (HEADER - FEATURES)).filter(|&bit| has(bit)).enumerate() {
        let at = first + nth * SECTION;
        let end = end(at)
            .ok_or_else(|| format!("the section of its feature {bit} reaches beyond the end"))?;
        if bit > LAST_OF_PERF {
            return Err(format!("feature {bit} is none of perf's"));
        }
        if bit == EVENT_DESC {
            described = number(at).and_then(|from| bytes.get(from..end));
        }
    }
    let order = |word: [u8; 4]| {
        if little_endian { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) }
    };
    described
        .and_then(|events| events_fit(events, order))
        .ok_or("its description of events is broken")?;
    let data = number(DATA).and_then(|from| bytes.get(from..first)).unwrap_or_default();
    if holds_trace(data, little_endian) {
        return Err(
            "it holds a processor's own trace (AUX), which says nothing of threads".to_owned()
        );
    }
    Ok(())
}

/// The features are words of 64 bits, in the order of the machine.
fn feature_byte(bit: usize, little_endian: bool) -> usize {
    let byte = bit / 8;
    if little_endian { byte } else { byte / 8 * 8 + 7 - byte % 8 }
}

/// True if the described events, with their names and numbers, lie within the description.
fn events_fit(section: &[u8], order: impl Fn([u8; 4]) -> u32) -> Option<()> {
    let mut rest = section;
    let number = |rest: &mut &[u8]| {
        let (word, after) = rest.split_first_chunk::<4>()?;
        *rest = after;
        usize::try_from(order(*word)).ok()
    };
    let (events, attribute) = (number(&mut rest)?, number(&mut rest)?);
    if attribute < LEAST_ATTRIBUTE || events > section.len() / attribute {
        return None;
    }
    for _ in 0..events {
        rest = rest.get(attribute..)?;
        let (ids, name) = (number(&mut rest)?, number(&mut rest)?);
        rest = rest.get(name.checked_add(ids.checked_mul(8)?)?..)?;
    }
    Some(())
}

/// True if a record announces a trace, whose claimed length may not be there.
fn holds_trace(mut data: &[u8], little_endian: bool) -> bool {
    while let Some((header, _)) = data.split_first_chunk::<8>() {
        let [a, b, c, d, _, _, low, high] = *header;
        let (kind, size) = if little_endian {
            (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([low, high]))
        } else {
            (u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([low, high]))
        };
        if kind == AUXTRACE {
            return true;
        }
        match data.get(usize::from(size).max(8)..) {
            Some(rest) => data = rest,
            None => return false,
        }
    }
    false
}
