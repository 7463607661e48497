//! ferret-like: finds the pictures of a collection that are most similar to a query.
//!
//! A picture is segmented, each segment is described by a vector, and pictures are compared as sets
//! of weighted vectors; to avoid comparing all, candidates are looked up by locality-sensitive
//! hashing (Lv, Josephson, Wang, Charikar and Li, "Ferret: A Toolkit for Content-Based Similarity
//! Search of Feature-Rich Data", EuroSys 2006; hash functions: Datar, Immorlica, Indyk and
//! Mirrokni, SCG 2004). Here pictures are generated: ellipses on a ground; queries are pictures of
//! the collection, with noise. Segments come of k-means on the colours, and sets are compared by
//! the relaxed earth mover's distance, where each vector goes to the nearest one of the other set
//! (Kusner, Sun, Kolkin and Weinberger, ICML 2015), rather than by the exact one.
//!
//! Shape: a pipeline of six stages with bounded queues: load (serial), segment, extract, index,
//! rank, out (serial). In the suite each of the four in the middle has a pool of threads. The
//! slowest stage depends on the query.

mod picture;
mod region;

use std::collections::HashMap;

use evenkeel_model::SplitMix64;
use evenkeel_runtime::Pool;

use crate::app::Stages;
use crate::checksum::Checksum;
use crate::pipeline::Crew;
use crate::setting::Size;
use crate::team::PinError;
use picture::{Colour, Segmented, render, segment};
use region::{Cells, Projections, Region, distance, extract};

/// Hash tables.
const TABLES: usize = 6;
/// Number of pictures in a query's result.
const RESULTS: usize = 10;

/// The item that passes from stage to stage: a query's number and its results so far.
type Item<T> = (usize, T);
type Candidates = (Vec<Region>, Vec<usize>);

/// A collection, its index, and the pictures that queries ask for.
pub struct Ferret {
    collection: Vec<Vec<Region>>,
    projections: Vec<Projections>,
    tables: Vec<HashMap<Cells, Vec<usize>>>,
    queries: Vec<usize>,
}

impl Stages for Ferret {
    /// The pictures that each query gets, the most similar first.
    type Output = Vec<Vec<usize>>;

    fn generate(size: Size) -> Self {
        let (pictures, queries) = size.pick((40, 20), (1_000, 1_000), (4_000, 4_000));
        let mut random = SplitMix64::named(1, "ferret");
        let projections: Vec<_> = (0..TABLES).map(|_| Projections::draw(&mut random)).collect();
        let describe = |picture| extract(&segment(render(picture, 0.0, 0)));
        let mut ferret = Self {
            collection: (0..pictures).map(describe).collect(),
            tables: vec![HashMap::new(); TABLES],
            projections,
            queries: (0..queries).map(|_| random.below(pictures)).collect(),
        };
        for (picture, regions) in ferret.collection.iter().enumerate() {
            for (projections, table) in ferret.projections.iter().zip(&mut ferret.tables) {
                for region in regions {
                    table.entry(projections.cells(region)).or_default().push(picture);
                }
            }
        }
        ferret
    }

    fn serial(&self) -> Vec<Vec<usize>> {
        self.load().map(|query| self.rank(self.index(to_regions(to_segments(query)))).1).collect()
    }

    fn pinned(&self, cpus: &[Option<u32>]) -> Result<Vec<Vec<usize>>, PinError> {
        let mut results = vec![Vec::new(); self.queries.len()];
        std::thread::scope(|scope| {
            let crew = Crew::new(scope, cpus);
            let loaded = crew.source(self.load());
            let segmented = crew.stage(loaded, to_segments);
            let described = crew.stage(segmented, to_regions);
            let candidates = crew.stage(described, |query| self.index(query));
            let ranked = crew.stage(candidates, |query| self.rank(query));
            crew.sink(ranked, |(query, found)| results[query] = found);
            crew.join()
        })?;
        Ok(results)
    }

    fn tasks(&self, pool: &Pool) -> Vec<Vec<usize>> {
        let mut results = vec![Vec::new(); self.queries.len()];
        let stages = pool
            .pipeline(self.load())
            .parallel(to_segments)
            .label("segment")
            .parallel(to_regions)
            .label("extract");
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
    /// First stage: the pictures that queries ask for.
    fn load(&self) -> impl Iterator<Item = Item<Vec<Colour>>> + Send + '_ {
        self.queries
            .iter()
            .enumerate()
            .map(|(query, &picture)| (query, render(picture, 0.05, query as u64)))
    }

    /// Fourth stage: pictures that have a segment in a cell with one of the query's.
    fn index(&self, (query, regions): Item<Vec<Region>>) -> Item<Candidates> {
        let tables = self.projections.iter().zip(&self.tables);
        let found = |(projections, table): (&Projections, &HashMap<Cells, Vec<usize>>)| {
            regions
                .iter()
                .filter_map(|region| table.get(&projections.cells(region)))
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

/// Second stage.
fn to_segments((query, pixels): Item<Vec<Colour>>) -> Item<Segmented> {
    (query, segment(pixels))
}

/// Third stage.
fn to_regions((query, segmented): Item<Segmented>) -> Item<Vec<Region>> {
    (query, extract(&segmented))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_find_the_pictures_that_they_were_made_of() {
        let ferret = Ferret::generate(Size::Small);
        let results = ferret.serial();
        let found = results
            .iter()
            .zip(&ferret.queries)
            .filter(|(found, picture)| found.first() == Some(picture))
            .count();
        assert!(found * 10 >= 9 * results.len(), "{found} of {}", results.len());
    }

    #[test]
    fn a_picture_is_no_way_from_itself_and_as_far_either_way() {
        let ferret = Ferret::generate(Size::Small);
        let [a, b] = [0, 1].map(|picture| &ferret.collection[picture]);
        assert_eq!(distance(a, a), 0.0);
        assert!(distance(a, b) > 0.0 && distance(a, b) == distance(b, a));
    }
}
