//! How a grid is cut into parts, and in which order they are carried out.

use sha2::{Digest as _, Sha256};

use crate::case::hex;
use crate::grid::Grid;

/// A sweep has about so many parts: what is lost when it is killed is a hundredth of it. Ours.
const PARTS: u64 = 100;
/// A part has at most so many cases. Ours.
const MOST_IN_PART: u64 = 1_000;

/// Consecutive cases of one machine under one policy, which become one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The block of the grid.
    pub block: usize,
    /// The first place in the block.
    pub first: u64,
    /// The place after the last one.
    pub end: u64,
    /// How many cases there are in between.
    pub cases: u64,
}

impl Part {
    /// The name of its file, of the digest of all that its rows depend on and of its place.
    pub fn file(&self, digest: &str) -> String {
        let text = format!("{digest} {} {}", self.block, self.first);
        format!("part-{}.parquet", hex(&Sha256::digest(text.as_bytes())[..8]))
    }
}

impl Grid {
    /// How many cases a part has, at most.
    pub(crate) fn cases_in_part(&self) -> u64 {
        self.len().div_ceil(PARTS).clamp(1, MOST_IN_PART)
    }

    /// Its parts. Those of all policies of a machine go through its workloads side by side, so that
    /// what they share is still there.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let most = self.cases_in_part();
        let mut parts = Vec::new();
        for (number, block) in self.blocks.iter().enumerate() {
            let places = block.places().unwrap_or(0);
            let of_machine = block.machine();
            let (mut first, mut cases) = (0, 0);
            let mut end = 0;
            while end < places {
                // Without conditions there is nothing to look for.
                let step = if self.exclude.is_empty() { (places - end).min(most) } else { 1 };
                cases += if self.has(block, end) { step } else { 0 };
                end += step;
                if cases == most || end == places && cases > 0 {
                    // In millionths of the block.
                    let progress = u128::from(first) * 1_000_000 / u128::from(places);
                    parts.push(((of_machine, progress), Part { block: number, first, end, cases }));
                    (first, cases) = (end, 0);
                }
            }
        }
        parts.sort_by_key(|(order, part)| (*order, part.block));
        parts.into_iter().map(|(_, part)| part).collect()
    }
}
