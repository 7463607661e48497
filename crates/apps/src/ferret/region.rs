//! Segments of pictures as weighted vectors: describes, hashes and compares them.

use evenkeel_model::SplitMix64;

use super::picture::{SEGMENTS, SIDE, Segmented};
use crate::normal::normal_pair;
use crate::vector::squared_distance;

/// Mean colour, deviation of colours, middle, and extent of a segment; all within 0 and 1.
const FEATURES: usize = 10;
/// Projections of a hash table, and the width of a projection's cells.
const PROJECTIONS: usize = 6;
const CELL: f64 = 0.6;

type Feature = [f64; FEATURES];

/// A segment: its share of the picture, and its features.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) weight: f64,
    feature: Feature,
}

/// Describes the segments.
pub(super) fn extract((pixels, labels): &Segmented) -> Vec<Region> {
    let mut sums = [([0.0; 5], [0.0; 5], 0.0); SEGMENTS];
    for (index, (pixel, &label)) in pixels.iter().zip(labels).enumerate() {
        let place = [index % SIDE, index / SIDE].map(|at| at as f64 / SIDE as f64);
        let (sum, squares, count) = &mut sums[label];
        for (axis, part) in pixel.iter().copied().chain(place).enumerate() {
            sum[axis] += part;
            squares[axis] += part * part;
        }
        *count += 1.0;
    }
    let regions = sums.iter().filter(|(.., count)| *count > 0.0).map(|(sum, squares, count)| {
        let feature = std::array::from_fn(|index| {
            let mean = sum[index % 5] / count;
            if index < 5 {
                mean
            } else {
                (squares[index - 5] / count - mean * mean).max(0.0).sqrt()
            }
        });
        Region { weight: count / pixels.len() as f64, feature }
    });
    regions.collect()
}

/// The projections of a hash table: random directions, and the offset of the cells of each.
pub(super) struct Projections([(Feature, f64); PROJECTIONS]);

/// The cell's number in each projection.
pub(super) type Cells = [i32; PROJECTIONS];

impl Projections {
    pub(super) fn draw(random: &mut SplitMix64) -> Self {
        Self(std::array::from_fn(|_| {
            (std::array::from_fn(|_| normal_pair(random).0), random.unit())
        }))
    }

    /// The cell of a region.
    pub(super) fn cells(&self, region: &Region) -> Cells {
        self.0.map(|(direction, offset)| {
            let at: f64 = direction.iter().zip(region.feature).map(|(a, b)| a * b).sum();
            (at / CELL + offset).floor() as i32
        })
    }
}

/// The mean distance of each picture's segments to the nearest one of the other: the longer of the
/// two ways.
pub(super) fn distance(a: &[Region], b: &[Region]) -> f64 {
    let way = |from: &[Region], to: &[Region]| -> f64 {
        let nearest = |region: &Region| {
            to.iter()
                .map(|other| squared_distance(&region.feature, &other.feature))
                .fold(f64::INFINITY, f64::min)
        };
        from.iter().map(|region| region.weight * nearest(region).sqrt()).sum()
    };
    f64::max(way(a, b), way(b, a))
}

#[cfg(test)]
mod tests {
    use super::super::picture::{render, segment};
    use super::*;

    #[test]
    fn segments_are_the_whole_picture() {
        let regions = extract(&segment(render(3, 0.05, 1)));
        assert!((regions.iter().map(|region| region.weight).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
