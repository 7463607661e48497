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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_through_each_block_with_what_is_left_in_the_last() {
        let axes = "[axes]\nmachine = \"quickia\"\nworkload = [\"mcf\", \"4STH\"]\n\
                    policy = [\"acfs\", \"hsp\"]\nseed = { from = 1, to = 517, step = 1 }\n\
                    \"acfs.swap\" = [200, 400, 600]\n";
        let left_out = "[[exclude]]\nworkload = \"mcf\"\nseed = [1, 500, 516]\n";
        for text in [axes.to_owned(), format!("{axes}{left_out}")] {
            let grid = Grid::parse(&text, "grid.toml", None).unwrap();
            let (most, parts) = (grid.cases_in_part(), grid.parts());
            assert!(most > 1 && parts.len() > 90, "{most} {}", parts.len());
            for (number, block) in grid.blocks.iter().enumerate() {
                let mut of_block: Vec<&Part> =
                    parts.iter().filter(|part| part.block == number).collect();
                of_block.sort_by_key(|part| part.first);
                let cases: Vec<u64> = of_block.iter().map(|part| part.cases).collect();
                let (last, whole) = cases.split_last().unwrap();
                assert!(whole.iter().all(|cases| *cases == most) && *last <= most, "{cases:?}");
                assert_eq!(cases.iter().sum::<u64>(), block.cases);
                assert!(of_block.windows(2).all(|pair| pair[0].end == pair[1].first));
                let counted = |part: &&Part| {
                    let has = |&place: &u64| grid.has(block, place);
                    (part.first..part.end).filter(has).count() as u64 == part.cases
                };
                assert!(of_block.iter().all(counted));
            }
        }
    }
}
