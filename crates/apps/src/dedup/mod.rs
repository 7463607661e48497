//! dedup: packs a stream, and writes repeated content once.
//!
//! The stream is cut where its content says so: a cut depends on the few bytes before it, so that
//! the same content is cut in the same places wherever it turns up (Muthitacharoen, Chen and
//! Mazières, "A Low-Bandwidth Network File System", SOSP 2001; here by FastCDC: Xia and others,
//! USENIX ATC 2016). Chunks with the same SHA-256 are taken to be the same; each is deflated once
//! (RFC 1951), and after that only named.
//!
//! Shape: a pipeline with bounded queues: fragment the stream (serial), refine fragments into
//! chunks, look chunks up, compress new ones, and write all in order (serial). Its stages are
//! unequal, and the work of compression depends on the content. In the suite each chunk is passed
//! on by itself; here the chunks of a fragment stay together.
//!
//! The archive does not depend on the order of the threads. If a later copy of a chunk was looked
//! up first, the writer still writes the chunk at its first place in the stream, and deflates it if
//! that has not been done.

mod archive;
mod table;

use std::sync::{Arc, OnceLock};

use evenkeel_model::SplitMix64;
use evenkeel_runtime::Pool;
use fastcdc::v2020::FastCDC;
use sha2::{Digest as _, Sha256};

use crate::app::Stages;
use crate::checksum::Checksum;
use crate::pipeline::Crew;
use crate::setting::Size;
use crate::team::PinError;
use archive::{Archive, Deflater};
use table::Table;

/// Least, mean and greatest length, bytes.
const FRAGMENT: (usize, usize, usize) = (32 << 10, 128 << 10, 512 << 10);
const CHUNK: (usize, usize, usize) = (1 << 10, 4 << 10, 16 << 10);

type Sha = [u8; 32];
/// A deflated chunk as it is written; empty until it has been deflated.
type Deflated = Arc<OnceLock<Vec<u8>>>;

/// A part of the stream on its way through the pipeline.
struct Fragment<'a> {
    number: usize,
    bytes: &'a [u8],
    chunks: Vec<Chunk<'a>>,
}

struct Chunk<'a> {
    bytes: &'a [u8],
    /// Filled in when the chunk is looked up.
    sha: Sha,
    deflated: Deflated,
    /// True if no equal chunk was looked up before.
    is_new: bool,
}

/// A stream.
pub struct Dedup {
    stream: Vec<u8>,
}

impl Stages for Dedup {
    type Output = Vec<u8>;

    fn generate(size: Size) -> Self {
        let length = size.pick(1 << 20, 40 << 20, 400 << 20);
        let mut random = SplitMix64::named(1, "dedup");
        let words: Vec<Vec<u8>> = (0..4096)
            .map(|_| {
                (0..2 + random.below(8))
                    .map(|_| b'a' + random.below(26) as u8)
                    .chain([b' '])
                    .collect()
            })
            .collect();
        let mut stream = Vec::with_capacity(length + (64 << 10));
        while stream.len() < length {
            let section = (16 << 10) + random.below(48 << 10);
            if stream.len() > section && random.below(2) == 0 {
                // A section is repeated.
                let from = random.below(stream.len() - section);
                stream.extend_from_within(from..from + section);
            } else {
                let end = stream.len() + section;
                while stream.len() < end {
                    // The lesser of two random numbers makes some words frequent.
                    stream.extend_from_slice(
                        &words[random.below(words.len()).min(random.below(words.len()))],
                    );
                }
            }
        }
        stream.truncate(length);
        Self { stream }
    }

    fn serial(&self) -> Vec<u8> {
        let (table, mut archive) = (Table::new(), Archive::default());
        for fragment in self.fragments() {
            archive.take(compress(table.look_up(refine(fragment))));
        }
        archive.bytes
    }

    fn pinned(&self, cpus: &[Option<u32>]) -> Result<Vec<u8>, PinError> {
        let (table, mut archive) = (Table::new(), Archive::default());
        std::thread::scope(|scope| {
            let crew = Crew::new(scope, cpus);
            let fragments = crew.source(self.fragments());
            let refined = crew.stage(fragments, refine);
            let known = crew.stage(refined, |fragment| table.look_up(fragment));
            let compressed = crew.stage(known, compress);
            crew.sink(compressed, |fragment| archive.take(fragment));
            crew.join()
        })?;
        Ok(archive.bytes)
    }

    fn tasks(&self, pool: &Pool) -> Vec<u8> {
        let (table, mut archive) = (Table::new(), Archive::default());
        let stages = pool.pipeline(self.fragments()).parallel(refine).label("refine");
        let stages = stages.parallel(|fragment| table.look_up(fragment)).label("look up");
        let stages = stages.parallel(compress).label("compress");
        stages.serial(|fragment| archive.take(fragment)).label("archive").run();
        archive.bytes
    }

    fn checksum(archive: &Vec<u8>) -> u64 {
        let mut sum = Checksum::default();
        for word in Sha256::digest(archive).chunks_exact(8) {
            sum.word(word.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
        sum.finish()
    }
}

impl Dedup {
    /// First stage.
    fn fragments(&self) -> impl Iterator<Item = Fragment<'_>> + Send {
        cut(&self.stream, FRAGMENT).enumerate().map(|(number, bytes)| Fragment {
            number,
            bytes,
            chunks: Vec::new(),
        })
    }
}

fn cut(
    bytes: &[u8],
    (least, mean, greatest): (usize, usize, usize),
) -> impl Iterator<Item = &[u8]> + Send {
    FastCDC::new(bytes, least, mean, greatest)
        .map(|chunk| &bytes[chunk.offset..chunk.offset + chunk.length])
}

/// Second stage: cuts a fragment into chunks.
fn refine(fragment: Fragment<'_>) -> Fragment<'_> {
    let chunk =
        |bytes| Chunk { bytes, sha: Sha::default(), deflated: Deflated::default(), is_new: false };
    Fragment { chunks: cut(fragment.bytes, CHUNK).map(chunk).collect(), ..fragment }
}

/// Fourth stage: deflates the new chunks.
fn compress(fragment: Fragment<'_>) -> Fragment<'_> {
    let mut deflater = Deflater::new();
    for chunk in fragment.chunks.iter().filter(|chunk| chunk.is_new) {
        chunk.deflated.get_or_init(|| deflater.deflate(chunk.bytes));
    }
    fragment
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn unpack(mut archive: &[u8]) -> Vec<u8> {
        let (mut stream, mut chunks) = (Vec::new(), Vec::<Vec<u8>>::new());
        let number = |archive: &mut &[u8]| {
            let (number, rest) = archive.split_first_chunk().unwrap();
            *archive = rest;
            u32::from_le_bytes(*number) as usize
        };
        while !archive.is_empty() {
            let length = number(&mut archive);
            if length == 0 {
                let known = number(&mut archive);
                stream.extend_from_slice(&chunks[known]);
            } else {
                let mut chunk = Vec::new();
                flate2::read::DeflateDecoder::new(&archive[..length])
                    .read_to_end(&mut chunk)
                    .unwrap();
                archive = &archive[length..];
                stream.extend_from_slice(&chunk);
                chunks.push(chunk);
            }
        }
        stream
    }

    #[test]
    fn what_is_packed_can_be_unpacked_and_is_shorter_than_deflated_alone() {
        let dedup = Dedup::generate(Size::Small);
        let archive = dedup.serial();
        assert!(unpack(&archive) == dedup.stream);
        assert!(archive.len() < Deflater::new().deflate(&dedup.stream).len());
    }

    #[test]
    fn a_copy_that_is_looked_up_first_changes_nothing() {
        let dedup = Dedup::generate(Size::Small);
        let (table, mut archive) = (Table::new(), Archive::default());
        let mut fragments: Vec<_> = dedup.fragments().collect();
        fragments.reverse();
        let known: Vec<_> =
            fragments.into_iter().map(|fragment| table.look_up(refine(fragment))).collect();
        // The writer gets the first fragments before the later ones, which hold the new chunks,
        // have been compressed.
        for fragment in known.into_iter().rev() {
            archive.take(fragment);
        }
        assert!(archive.bytes == dedup.serial());
    }
}
