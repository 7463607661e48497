//! The chunks that have been seen.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use super::{Deflated, Fragment, Sha};

/// Parts of the table: each has a lock of its own.
const SHARDS: usize = 256;

/// The chunks that have been seen.
pub(super) struct Table(Vec<Mutex<HashMap<Sha, Deflated>>>);

impl Table {
    pub(super) fn new() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    /// Third stage: marks the chunks that are new.
    pub(super) fn look_up<'a>(&self, mut fragment: Fragment<'a>) -> Fragment<'a> {
        for chunk in &mut fragment.chunks {
            chunk.sha = Sha256::digest(chunk.bytes).into();
            let mut shard =
                self.0[usize::from(chunk.sha[0])].lock().unwrap_or_else(PoisonError::into_inner);
            match shard.entry(chunk.sha) {
                Entry::Occupied(known) => chunk.deflated = Arc::clone(known.get()),
                Entry::Vacant(place) => {
                    place.insert(Arc::clone(&chunk.deflated));
                    chunk.is_new = true;
                }
            }
        }
        fragment
    }
}
