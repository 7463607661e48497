//! ferret-like: finds the pictures of a collection that are most similar to a query.
//!
//! A picture is segmented, each segment is described by a vector, and pictures are compared as sets of weighted vectors; so that not all
//! have to be, candidates are looked up by locality-sensitive hashing (Lv, Josephson, Wang, Charikar and Li, "Ferret: A Toolkit for
//! Content-Based Similarity Search of Feature-Rich Data", EuroSys 2006; hash functions: Datar, Immorlica, Indyk and Mirrokni, SCG 2004).
//! Here pictures are generated: ellipses on a ground; queries are pictures of the collection, with noise. Segments come of k-means
//! on the colours, and sets are compared by the relaxed earth mover's distance, where each vector goes to the nearest one of the other
//! set (Kusner, Sun, Kolkin and Weinberger, ICML 2015), rather than by the exact one.
//!
//! Shape: a pipeline of six stages with bounded queues: load (serial), segment, extract, index, rank, out (serial). In the suite the four in
//! the middle have a pool of threads each; which stage is the slowest depends on the query.

use std::collections::HashMap;

use evenkeel::Pool;
use evenkeel_workload::SplitMix64;

use crate::app::{Size, Stages};
use crate::checksum::Checksum;
use crate::normal::normal_pair;
use crate::pipeline::Crew;
use crate::team::PinError;

/// Side of a picture, pixels.
const SIDE: usize = 48;
const SEGMENTS: usize = 6;
const ROUNDS: usize = 8;
/// Mean colour, deviation of colours, middle, and extent of a segment; all within 0 and 1.
const FEATURES: usize = 10;
/// Hash tables, the projections of each, and the width of a projection's cells.
const TABLES: usize = 6;
const PROJECTIONS: usize = 6;
const CELL: f64 = 0.6;
/// Pictures that a query gets.
const RESULTS: usize = 10;

type Colour = [f64; 3];
type Feature = [f64; FEATURES];

/// Of a segment: which part of the picture it is, and how it looks.
#[derive(Clone, Copy)]
struct Region {
    weight: f64,
    feature: Feature,
}

/// What goes from stage to stage: a query's number and what is known of it so far.
type Item<T> = (usize, T);
type Segmented = (Vec<Colour>, Vec<usize>);
type Candidates = (Vec<Region>, Vec<usize>);

/// A collection, its index, and which of its pictures are asked for.
pub struct Ferret {
    collection: Vec<Vec<Region>>,
    projections: Vec<[Projection; PROJECTIONS]>,
    tables: Vec<HashMap<[i32; PROJECTIONS], Vec<usize>>>,
    queries: Vec<usize>,
}

/// A direction at random, and where its cells begin.
struct Projection {
    direction: Feature,
    offset: f64,
}

impl Stages for Ferret {
    /// The pictures that each query gets, the most similar first.
    type Output = Vec<Vec<usize>>;

    fn generate(size: Size) -> Self {
        let (pictures, queries) = size.pick((40, 20), (1_000, 1_000), (4_000, 4_000));
        let mut random = SplitMix64::named(1, "ferret");
        let projections: Vec<[Projection; PROJECTIONS]> = (0..TABLES)
            .map(|_| {
                std::array::from_fn(|_| Projection {
                    direction: std::array::from_fn(|_| normal_pair(&mut random).0),
                    offset: random.unit(),
                })
            })
            .collect();
        let describe = |picture| extract(segment((0, render(picture, 0.0, 0)))).1;
        let mut ferret = Self {
            collection: (0..pictures).map(describe).collect(),
            tables: vec![HashMap::new(); TABLES],
            projections,
            queries: (0..queries).map(|_| random.below(pictures)).collect(),
        };
        for (picture, regions) in ferret.collection.iter().enumerate() {
            for (projections, table) in ferret.projections.iter().zip(&mut ferret.tables) {
                for region in regions {
                    table.entry(cells(projections, region)).or_default().push(picture);
                }
            }
        }
        ferret
    }

    fn serial(&self) -> Vec<Vec<usize>> {
        self.load().map(|query| self.rank(self.index(extract(segment(query)))).1).collect()
    }

    fn pinned(&self, cpus: &[Option<u32>]) -> Result<Vec<Vec<usize>>, PinError> {
        let mut results = vec![Vec::new(); self.queries.len()];
        std::thread::scope(|scope| {
            let crew = Crew::new(scope, cpus);
            let loaded = crew.source(self.load());
            let segmented = crew.stage(loaded, segment);
            let described = crew.stage(segmented, extract);
            let candidates = crew.stage(described, |query| self.index(query));
            let ranked = crew.stage(candidates, |query| self.rank(query));
            crew.sink(ranked, |(query, found)| results[query] = found);
            crew.join()
        })?;
        Ok(results)
    }

    fn tasks(&self, pool: &Pool) -> Vec<Vec<usize>> {
        let mut results = vec![Vec::new(); self.queries.len()];
        let stages = pool.pipeline(self.load()).parallel(segment).label("segment").parallel(extract).label("extract");
        let stages = stages.parallel(|query| self.index(query)).label("index");
        let stages = stages.parallel(|query| self.rank(query)).label("rank");
        stages.serial(|(query, found)| results[query] = found).label("collect").run();
        results
    }

    fn checksum(results: &Self::Output) -> u64 {
        let mut sum = Checksum::default();
        results.iter().flatten().for_each(|&picture| sum.word(picture as u64));
        sum.finish()
    }
}

impl Ferret {
    /// First stage: the pictures that are asked for.
    fn load(&self) -> impl Iterator<Item = Item<Vec<Colour>>> + Send + '_ {
        self.queries.iter().enumerate().map(|(query, &picture)| (query, render(picture, 0.05, query as u64)))
    }

    /// Fourth stage: pictures that have a segment in a cell with one of the query's.
    fn index(&self, (query, regions): Item<Vec<Region>>) -> Item<Candidates> {
        let tables = self.projections.iter().zip(&self.tables);
        let found = |(projections, table): (&[Projection; PROJECTIONS], &HashMap<_, Vec<usize>>)| {
            regions
                .iter()
                .filter_map(|region| table.get(&cells(projections, region)))
                .flatten()
                .copied()
                .collect::<Vec<_>>()
        };
        let mut candidates: Vec<usize> = tables.flat_map(found).collect();
        candidates.sort_unstable();
        candidates.dedup();
        (query, (regions, candidates))
    }

    /// Fifth stage: the most similar of the candidates.
    fn rank(&self, (query, (regions, candidates)): Item<Candidates>) -> Item<Vec<usize>> {
        let distance_to = |picture: usize| (distance(&regions, &self.collection[picture]), picture);
        let mut ranked: Vec<(f64, usize)> = candidates.into_iter().map(distance_to).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        (query, ranked.into_iter().take(RESULTS).map(|(_, picture)| picture).collect())
    }
}

/// A picture of the collection, with so much noise: ellipses on a ground, all of them with some texture.
fn render(picture: usize, noise: f64, seed: u64) -> Vec<Colour> {
    let mut random = SplitMix64::named(picture as u64, "picture");
    let mut colour = || -> Colour { std::array::from_fn(|_| random.unit()) };
    let mut pixels = vec![colour(); SIDE * SIDE];
    for _ in 1..SEGMENTS {
        let inside = colour();
        let [x, y, _] = colour().map(|part| part * SIDE as f64);
        let [width, height, _] = colour().map(|part| (0.1 + 0.25 * part) * SIDE as f64);
        for (index, pixel) in pixels.iter_mut().enumerate() {
            let (dx, dy) = ((index % SIDE) as f64 - x, (index / SIDE) as f64 - y);
            if (dx / width).powi(2) + (dy / height).powi(2) < 1.0 {
                *pixel = inside;
            }
        }
    }
    let mut random = SplitMix64::named(seed, "noise");
    for part in pixels.iter_mut().flatten() {
        *part += noise * (random.unit() - 0.5);
    }
    pixels
}

/// Second stage: k-means on the colours (Lloyd, IEEE Transactions on Information Theory 1982), from pixels that differ most.
fn segment((query, pixels): Item<Vec<Colour>>) -> Item<Segmented> {
    let nearest = |colours: &[Colour], pixel: &Colour| {
        let distances = colours.iter().map(|colour| squared_distance(colour, pixel)).enumerate();
        distances.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    };
    let mut colours = vec![pixels[0]];
    while colours.len() < SEGMENTS {
        let distances = pixels.iter().map(|pixel| nearest(&colours, pixel).1).enumerate();
        let farthest = distances.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default().0;
        colours.push(pixels[farthest]);
    }
    let mut labels = vec![0; pixels.len()];
    for _ in 0..ROUNDS {
        let mut sums = [([0.0; 3], 0.0); SEGMENTS];
        for (label, pixel) in labels.iter_mut().zip(&pixels) {
            *label = nearest(&colours, pixel).0;
            let (sum, count) = &mut sums[*label];
            sum.iter_mut().zip(pixel).for_each(|(sum, part)| *sum += part);
            *count += 1.0;
        }
        for (colour, (sum, count)) in colours.iter_mut().zip(sums) {
            *colour = sum.map(|part| part / f64::max(count, 1.0));
        }
    }
    (query, (pixels, labels))
}

/// Third stage: describes the segments.
fn extract((query, (pixels, labels)): Item<Segmented>) -> Item<Vec<Region>> {
    let mut sums = [([0.0; 5], [0.0; 5], 0.0); SEGMENTS];
    for (index, (pixel, &label)) in pixels.iter().zip(&labels).enumerate() {
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
            if index < 5 { mean } else { (squares[index - 5] / count - mean * mean).max(0.0).sqrt() }
        });
        Region { weight: count / pixels.len() as f64, feature }
    });
    (query, regions.collect())
}

/// The cell of a region in a hash table.
fn cells(projections: &[Projection; PROJECTIONS], region: &Region) -> [i32; PROJECTIONS] {
    std::array::from_fn(|index| {
        let Projection { direction, offset } = &projections[index];
        let at: f64 = direction.iter().zip(region.feature).map(|(a, b)| a * b).sum();
        (at / CELL + offset).floor() as i32
    })
}

/// How far the segments of each picture have to go to the nearest of the other: the longer of the two ways.
fn distance(a: &[Region], b: &[Region]) -> f64 {
    let way = |from: &[Region], to: &[Region]| -> f64 {
        let nearest = |region: &Region| {
            to.iter().map(|other| squared_distance(&region.feature, &other.feature)).fold(f64::INFINITY, f64::min)
        };
        from.iter().map(|region| region.weight * nearest(region).sqrt()).sum()
    };
    f64::max(way(a, b), way(b, a))
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_find_the_pictures_that_they_were_made_of() {
        let ferret = Ferret::generate(Size::Small);
        let results = ferret.serial();
        let found =
            results.iter().zip(&ferret.queries).filter(|(found, picture)| found.first() == Some(picture)).count();
        assert!(found * 10 >= 9 * results.len(), "{found} of {}", results.len());
    }

    #[test]
    fn a_picture_is_no_way_from_itself_and_as_far_either_way() {
        let ferret = Ferret::generate(Size::Small);
        let [a, b] = [0, 1].map(|picture| &ferret.collection[picture]);
        assert_eq!(distance(a, a), 0.0);
        assert!(distance(a, b) > 0.0 && distance(a, b) == distance(b, a));
    }

    #[test]
    fn segments_are_the_whole_picture() {
        let (_, regions) = extract(segment((0, render(3, 0.05, 1))));
        assert!((regions.iter().map(|region| region.weight).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
