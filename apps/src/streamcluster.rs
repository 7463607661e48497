//! streamcluster: clusters a stream of points, block by block, in little memory.
//!
//! Each block of the stream is clustered around some of its points, the centres; the centres, weighted by how many points they stand for,
//! are clustered in the end (Guha, Meyerson, Mishra, Motwani and O'Callaghan, "Clustering Data Streams: Theory and Practice", IEEE
//! Transactions on Knowledge and Data Engineering 2003). A block is solved as a facility location: each centre costs z, each point its
//! squared distance to its centre; z is searched by bisection until as many centres are open as are wanted. For a z, centres are first
//! opened at random (Meyerson, "Online Facility Location", FOCS 2001). Then points are tried in turn as a new centre x: what does it gain to open x, let the
//! points that are nearer to x change to it, and close those centres whose points may as well go to x, too?
//!
//! Shape: that question is asked some thousand times a block, and has nine phases with a barrier each (see `Block::gain`): short ones, so
//! that waiting is what counts.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use evenkeel_workload::SplitMix64;

use crate::app::{Phases, Size};
use crate::checksum::Checksum;
use crate::shared::{Blocks, SharedF64s, part};
use crate::team::{Serial, Team};

/// Parts of a block's points.
const PARTS: usize = 32;
/// Coordinates of a point; a multiple of [`LANES`].
const DIMENSIONS: usize = 32;
/// Additions that do not wait for each other, for vector instructions.
const LANES: usize = 8;
/// How many centres are wanted, as in the suite.
const CENTRES: std::ops::RangeInclusive<usize> = 10..=20;
/// Points that are tried before it is asked whether it is still worth while: 3 k ln k for k centres (Guha and others).
const TRIALS: usize = 180;
/// The least gain of so many trials that it is, as a part of the cost.
const WORTH_WHILE: f64 = 0.1;
/// Where bisection gives up, as a part of z.
const FINEST: f64 = 0.001;

type Point = [f32; DIMENSIONS];

/// A stream of points in blocks, and what became of it.
pub struct Streamcluster {
    blocks: Vec<Block>,
    /// The centres of the whole stream, with their weights.
    centres: Mutex<Vec<(Point, f64)>>,
}

impl Phases for Streamcluster {
    fn generate(size: Size) -> Self {
        let (blocks, points) = size.pick((1, 300), (2, 4_096), (5, 12_000));
        let mut random = SplitMix64::named(1, "streamcluster");
        let mut unit = || random.unit() as f32;
        let hidden: Vec<Point> = (0..*CENTRES.end()).map(|_| std::array::from_fn(|_| unit())).collect();
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

/// Points of a stream and how they are clustered.
struct Block {
    points: Vec<(Point, f64)>,
    is_centre: Vec<AtomicBool>,
    /// The centre of each point, and what the point costs: its weight x its squared distance.
    centre_of: Vec<AtomicU32>,
    cost: SharedF64s,
    /// The number of each centre, among the centres in the order of the points.
    rank: Vec<AtomicU32>,
    /// By number: whether the centre is to be closed.
    closes: Vec<AtomicBool>,
    /// Per part: how many centres are before it; what its points save by a change; what it costs to make those of a centre change that
    /// do not want to; what is saved by the centres that close.
    centres_before: Blocks<usize>,
    saved: Blocks<f64>,
    extra: Blocks<Vec<f64>>,
    closing: Blocks<f64>,
}

impl Block {
    fn new(points: Vec<(Point, f64)>) -> Self {
        let flags = || points.iter().map(|_| AtomicBool::new(false)).collect();
        let numbers = || points.iter().map(|_| AtomicU32::new(0)).collect();
        Self {
            is_centre: flags(),
            centre_of: numbers(),
            cost: SharedF64s::zeros(points.len()),
            rank: numbers(),
            closes: flags(),
            centres_before: Blocks::new([0; PARTS]),
            saved: Blocks::new([0.0; PARTS]),
            extra: Blocks::new(vec![Vec::new(); PARTS]),
            closing: Blocks::new([0.0; PARTS]),
            points,
        }
    }

    fn cluster(&self, team: &impl Team) {
        let mut random = SplitMix64::named(3, "streamcluster");
        self.open(team, 0, true);
        let (mut low, mut high) = (0.0, team.agree(|| self.cost.iter().sum()));
        while high - low > FINEST * high {
            let z = (low + high) / 2.0;
            self.open_at_random(team, z, random.bits());
            self.improve(team, z, &mut random);
            match team.agree(|| self.centres_open() as f64) as usize {
                centres if centres < *CENTRES.start() => high = z,
                centres if centres > *CENTRES.end() => low = z,
                _ => break,
            }
        }
    }

    /// Opens the first point, then each that is drawn, the more likely the more it costs as yet.
    fn open_at_random(&self, team: &impl Team, z: f64, seed: u64) {
        let mut next = 0;
        while next < self.points.len() {
            self.open(team, next, next == 0);
            let drawn = |&point: &usize| SplitMix64(seed ^ point as u64).unit() * z < self.cost.get(point);
            let after = next + 1..self.points.len();
            next = team.agree(|| after.clone().find(drawn).unwrap_or(self.points.len()) as f64) as usize;
        }
    }

    /// Opens a centre for those points that are nearer to it than to theirs, or for all.
    fn open(&self, team: &impl Team, centre: usize, for_all: bool) {
        self.each_point(team, |point| {
            let cost = self.cost_at(point, centre);
            if for_all || cost < self.cost.get(point) {
                self.change(point, centre, cost);
            }
            if for_all || point == centre {
                self.is_centre[point].store(point == centre, Ordering::Relaxed);
            }
        });
    }

    /// Local search: tries points as centres until that gains little.
    fn improve(&self, team: &impl Team, z: f64, random: &mut SplitMix64) {
        loop {
            let gained: f64 = (0..TRIALS).map(|_| self.gain(team, random.below(self.points.len()), z)).sum();
            let cost = team.agree(|| self.cost.iter().sum::<f64>() + z * self.centres_open() as f64);
            if gained < WORTH_WHILE * cost {
                return;
            }
        }
    }

    /// Opens x if that gains something; how much it does. Nine phases.
    fn gain(&self, team: &impl Team, x: usize, z: f64) -> f64 {
        // 1 to 3: the centres are numbered, so that each part can have a table of them.
        team.each(PARTS, |part| *self.centres_before.write(part) = self.centres_in(part).count());
        let centres = team.agree(|| {
            (0..PARTS).fold(0, |before, part| before + std::mem::replace(&mut *self.centres_before.write(part), before))
                as f64
        }) as usize;
        team.each(PARTS, |part| {
            for (rank, point) in (*self.centres_before.read(part)..).zip(self.centres_in(part)) {
                self.rank[point].store(rank as u32, Ordering::Relaxed);
            }
        });
        // 4 to 6: what does each point, and so each centre, make of x?
        team.each(PARTS, |part| {
            let mut extra = self.extra.write(part);
            extra.clear();
            extra.resize(centres, 0.0);
        });
        team.each(PARTS, |part| {
            let (mut saved, mut extra) = (0.0, self.extra.write(part));
            for point in self.points_of(part) {
                let more = self.cost_at(point, x) - self.cost.get(point);
                if more < 0.0 {
                    saved -= more;
                } else {
                    extra[self.rank_of_centre(point)] += more;
                }
            }
            *self.saved.write(part) = saved;
        });
        let x_is_centre = self.is_centre[x].load(Ordering::Relaxed);
        let x_rank = if x_is_centre { self.rank[x].load(Ordering::Relaxed) as usize } else { centres };
        team.each(PARTS, |part| {
            *self.closing.write(part) = part_of(centres, part)
                .map(|centre| {
                    let saved = z - (0..PARTS).map(|part| self.extra.read(part)[centre]).sum::<f64>();
                    let closes = saved > 0.0 && centre != x_rank;
                    self.closes[centre].store(closes, Ordering::Relaxed);
                    if closes { saved } else { 0.0 }
                })
                .sum();
        });
        // 7 to 9: is it worth while? Then centres close and points change.
        let opening = if x_is_centre { 0.0 } else { z };
        let gain = team.agree(|| self.saved.sum() + self.closing.sum() - opening);
        self.each_point(team, |point| {
            let cost = self.cost_at(point, x);
            if gain > 0.0
                && (cost < self.cost.get(point) || self.closes[self.rank_of_centre(point)].load(Ordering::Relaxed))
            {
                self.change(point, x, cost);
            }
        });
        self.each_point(team, |point| {
            let is_centre = &self.is_centre[point];
            let closes = is_centre.load(Ordering::Relaxed)
                && self.closes[self.rank[point].load(Ordering::Relaxed) as usize].load(Ordering::Relaxed);
            if gain > 0.0 && (closes || point == x) {
                is_centre.store(point == x, Ordering::Relaxed);
            }
        });
        gain.max(0.0)
    }

    fn each_point(&self, team: &impl Team, body: impl Fn(usize) + Sync) {
        team.each(PARTS, |part| self.points_of(part).for_each(&body));
    }

    fn points_of(&self, part: usize) -> std::ops::Range<usize> {
        part_of(self.points.len(), part)
    }

    fn centres_in(&self, part: usize) -> impl Iterator<Item = usize> + '_ {
        self.points_of(part).filter(|&point| self.is_centre[point].load(Ordering::Relaxed))
    }

    fn centres_open(&self) -> usize {
        (0..PARTS).map(|part| self.centres_in(part).count()).sum()
    }

    fn rank_of_centre(&self, point: usize) -> usize {
        self.rank[self.centre_of[point].load(Ordering::Relaxed) as usize].load(Ordering::Relaxed) as usize
    }

    fn change(&self, point: usize, centre: usize, cost: f64) {
        self.centre_of[point].store(centre as u32, Ordering::Relaxed);
        self.cost.set(point, cost);
    }

    fn cost_at(&self, point: usize, centre: usize) -> f64 {
        let (point, weight) = &self.points[point];
        squared_distance(point, &self.points[centre].0) * weight
    }

    /// The centres, each with the weight of all its points.
    fn centres(&self) -> Vec<(Point, f64)> {
        let mut weights = vec![0.0; self.points.len()];
        for (centre, (_, weight)) in self.centre_of.iter().zip(&self.points) {
            weights[centre.load(Ordering::Relaxed) as usize] += weight;
        }
        (0..PARTS)
            .flat_map(|part| self.centres_in(part))
            .map(|centre| (self.points[centre].0, weights[centre]))
            .collect()
    }
}

fn part_of(count: usize, index: usize) -> std::ops::Range<usize> {
    part(count, PARTS, index)
}

fn squared_distance(a: &Point, b: &Point) -> f64 {
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for lane in 0..LANES {
            let difference = a[lane] - b[lane];
            sums[lane] += difference * difference;
        }
    }
    sums.iter().sum::<f32>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(block: &Block, z: f64) -> f64 {
        block.cost.iter().sum::<f64>() + z * block.centres_open() as f64
    }

    #[test]
    fn what_a_centre_gains_is_what_the_cost_falls_by() {
        let block = &Streamcluster::generate(Size::Small).blocks[0];
        let z = 1.0;
        block.open_at_random(&Serial, z, 1);
        let mut gains = 0;
        for x in 0..block.points.len() {
            let before = total(block, z);
            let gain = block.gain(&Serial, x, z);
            assert!((before - total(block, z) - gain).abs() < 1e-9 * before, "{x}: {gain}");
            gains += usize::from(gain > 0.0);
        }
        assert!(gains > 0);
        assert!((0..block.points.len()).all(|point| {
            let centre = block.centre_of[point].load(Ordering::Relaxed) as usize;
            block.is_centre[centre].load(Ordering::Relaxed) && block.cost.get(point) == block.cost_at(point, centre)
        }));
    }

    #[test]
    fn as_many_centres_come_of_the_stream_as_are_wanted_and_they_stand_for_all_points() {
        let stream = Streamcluster::generate(Size::Small);
        stream.run(&Serial);
        let centres = stream.centres.lock().unwrap();
        assert!(CENTRES.contains(&centres.len()), "{}", centres.len());
        assert_eq!(centres.iter().map(|(_, weight)| weight).sum::<f64>(), 300.0);
    }
}
