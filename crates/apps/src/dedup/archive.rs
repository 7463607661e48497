//! The archive's format.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::{Chunk, Fragment, Sha};

/// Last stage: writes the archive. A new chunk is its deflated length, not 0 (4 bytes,
/// little-endian), and its content; a repeated one is 0 and the chunk's number (4 bytes), in the
/// order of new chunks.
#[derive(Default)]
pub(super) struct Archive<'a> {
    pub(super) bytes: Vec<u8>,
    known: HashMap<Sha, u32>,
    /// Fragments that came too early, by number.
    early: HashMap<usize, Fragment<'a>>,
    next: usize,
}

impl<'a> Archive<'a> {
    pub(super) fn take(&mut self, fragment: Fragment<'a>) {
        self.early.insert(fragment.number, fragment);
        while let Some(fragment) = self.early.remove(&self.next) {
            self.next += 1;
            for chunk in &fragment.chunks {
                self.write(chunk);
            }
        }
    }

    fn write(&mut self, chunk: &Chunk<'_>) {
        let count = self.known.len() as u32;
        match self.known.entry(chunk.sha) {
            Entry::Occupied(known) => {
                self.bytes.extend_from_slice(&[0; 4]);
                self.bytes.extend_from_slice(&known.get().to_le_bytes());
            }
            Entry::Vacant(place) => {
                place.insert(count);
                let deflated = chunk.deflated.get_or_init(|| Deflater::new().deflate(chunk.bytes));
                self.bytes.extend_from_slice(&(deflated.len() as u32).to_le_bytes());
                self.bytes.extend_from_slice(deflated);
            }
        }
    }
}

/// Deflates chunks, one after the other. Its tables, some hundred kilobytes, are made once and not
/// for each chunk.
pub(super) struct Deflater(DeflateEncoder<Vec<u8>>);

impl Deflater {
    pub(super) fn new() -> Self {
        Self(DeflateEncoder::new(Vec::new(), Compression::default()))
    }

    pub(super) fn deflate(&mut self, bytes: &[u8]) -> Vec<u8> {
        // Writing to memory does not fail; if it did, nothing would be written and the checksum
        // would differ.
        let written = self.0.write_all(bytes);
        let deflated = written.and_then(|()| self.0.reset(Vec::with_capacity(bytes.len() / 2)));
        deflated.unwrap_or_default()
    }
}
