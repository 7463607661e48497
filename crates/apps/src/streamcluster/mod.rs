//! streamcluster: clusters a stream of points, block by block, in little memory.
//!
//! Each block of the stream is clustered around some of its points, the centres; the centres,
//! weighted by how many points they stand for, are clustered in the end (Guha, Meyerson, Mishra,
//! Motwani and O'Callaghan, "Clustering Data Streams: Theory and Practice", IEEE Transactions on
//! Knowledge and Data Engineering 2003). A block is solved as a facility location: each centre
//! costs z, each point its squared distance to its centre; z is searched by bisection until as many
//! centres are open as are wanted. For a z, centres are first opened at random (Meyerson, "Online
//! Facility Location", FOCS 2001). Then points are tried in turn as a new centre x: what is the
//! gain of opening x, moving the points that are nearer to x, and closing those centres whose
//! remaining points can also move to x?
//!
//! Shape: that question is asked some thousand times a block. It has six phases with a barrier each
//! (see `Block::gain`); one visits all points, and the others are so short that waiting matters.

mod block;
mod gain;

use std::sync::{Mutex, PoisonError};

use evenkeel_model::SplitMix64;

use crate::app::Phases;
use crate::checksum::Checksum;
use crate::setting::Size;
use crate::team::{Serial, Team};
use block::Block;

/// Coordinates of a point, as in the suite; a multiple of eight, for vector instructions.
const DIMENSIONS: usize = 128;
/// How many centres are wanted, as in the suite.
const CENTRES: std::ops::RangeInclusive<usize> = 10..=20;

type Point = [f32; DIMENSIONS];

/// A stream of points in blocks, and its centres.
pub struct Streamcluster {
    blocks: Vec<Block>,
    /// The centres of the whole stream, with their weights.
    centres: Mutex<Vec<(Point, f64)>>,
}

impl Phases for Streamcluster {
    fn generate(size: Size) -> Self {
        // The suite's large input, and one of the five blocks of its native one.
        let (blocks, points) = size.pick((1, 300), (1, 16_384), (1, 200_000));
        let mut random = SplitMix64::named(1, "streamcluster");
        let mut unit = || random.unit() as f32;
        let hidden: Vec<Point> =
            (0..*CENTRES.end()).map(|_| std::array::from_fn(|_| unit())).collect();
        let mut random = SplitMix64::named(2, "streamcluster");
        let mut point = || {
            let centre = hidden[random.below(hidden.len())];
            (centre.map(|at| at + 0.3 * (random.unit() as f32 - 0.5)), 1.0)
        };
        let blocks = (0..blocks).map(|_| Block::new((0..points).map(|_| point()).collect()));
        Self { blocks: blocks.collect(), centres: Mutex::default() }
    }

    fn run(&self, team: &impl Team) {
        for block in &self.blocks {
            block.cluster(team);
        }
        team.once(|| {
            let all = Block::new(self.blocks.iter().flat_map(Block::centres).collect());
            all.cluster(&Serial);
            *self.centres.lock().unwrap_or_else(PoisonError::into_inner) = all.centres();
        });
    }

    fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        for (point, weight) in &*self.centres.lock().unwrap_or_else(PoisonError::into_inner) {
            sum.numbers(point.iter().copied().map(f64::from).chain([*weight]));
        }
        sum.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_centres_come_of_the_stream_as_are_wanted_and_they_stand_for_all_points() {
        let stream = Streamcluster::generate(Size::Small);
        stream.run(&Serial);
        let centres = stream.centres.lock().unwrap();
        assert!(CENTRES.contains(&centres.len()), "{}", centres.len());
        assert_eq!(centres.iter().map(|(_, weight)| weight).sum::<f64>(), 300.0);
    }
}
