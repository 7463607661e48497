//! One block of the stream: a facility location problem.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use evenkeel_model::SplitMix64;

use super::{CENTRES, Point};
use crate::shared::{Blocks, SharedF64s, part};
use crate::team::Team;

/// Parts of a block's points.
pub(super) const PARTS: usize = 64;
/// Independent additions, for vector instructions.
const LANES: usize = 8;
/// Number of points that are tried before the gain is checked: 3 k ln k for k centres (Guha and
/// others).
const TRIALS: usize = 180;
/// The least gain of these trials for which the search goes on, as a part of the cost.
const WORTH_WHILE: f64 = 0.1;
/// The width at which bisection ends, as a part of z.
const FINEST: f64 = 0.001;

/// Points of a stream and how they are clustered.
pub(super) struct Block {
    pub(super) points: Vec<(Point, f64)>,
    pub(super) is_centre: Vec<AtomicBool>,
    /// The centre of each point, and the point's cost: its weight x its squared distance.
    pub(super) centre_of: Vec<AtomicU32>,
    pub(super) cost: SharedF64s,
    /// The number of each centre, among the centres in the order of the points.
    pub(super) rank: Vec<AtomicU32>,
    /// By number of the centre: true if it will be closed.
    pub(super) closes: Vec<AtomicBool>,
    /// Per part: how many centres are before it; what its points save by changing to the new
    /// centre; the cost, for each centre, of moving those of its points that would not change; and
    /// the savings from centres that close.
    pub(super) centres_before: Blocks<usize>,
    pub(super) saved: Blocks<f64>,
    pub(super) extra: Blocks<Vec<f64>>,
    pub(super) closing: Blocks<f64>,
}

impl Block {
    pub(super) fn new(points: Vec<(Point, f64)>) -> Self {
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

    pub(super) fn cluster(&self, team: &impl Team) {
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

    /// Opens the first point, then randomly drawn ones, each the more likely the more it costs so
    /// far.
    pub(super) fn open_at_random(&self, team: &impl Team, z: f64, seed: u64) {
        let mut next = 0;
        while next < self.points.len() {
            self.open(team, next, next == 0);
            let drawn =
                |&point: &usize| SplitMix64(seed ^ point as u64).unit() * z < self.cost.get(point);
            let after = next + 1..self.points.len();
            next = team.agree(|| after.clone().find(drawn).unwrap_or(self.points.len()) as f64)
                as usize;
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

    /// Local search: tries points as centres until the gain is small.
    fn improve(&self, team: &impl Team, z: f64, random: &mut SplitMix64) {
        loop {
            let gained: f64 =
                (0..TRIALS).map(|_| self.gain(team, random.below(self.points.len()), z)).sum();
            let cost =
                team.agree(|| self.cost.iter().sum::<f64>() + z * self.centres_open() as f64);
            if gained < WORTH_WHILE * cost {
                return;
            }
        }
    }

    pub(super) fn each_point(&self, team: &impl Team, body: impl Fn(usize) + Sync) {
        team.each(PARTS, |part| self.points_of(part).for_each(&body));
    }

    pub(super) fn points_of(&self, part: usize) -> Range<usize> {
        part_of(self.points.len(), part)
    }

    pub(super) fn centres_in(&self, part: usize) -> impl Iterator<Item = usize> + '_ {
        self.points_of(part).filter(|&point| self.is_centre[point].load(Ordering::Relaxed))
    }

    pub(super) fn centres_open(&self) -> usize {
        (0..PARTS).map(|part| self.centres_in(part).count()).sum()
    }

    pub(super) fn rank_of_centre(&self, point: usize) -> usize {
        self.rank[self.centre_of[point].load(Ordering::Relaxed) as usize].load(Ordering::Relaxed)
            as usize
    }

    pub(super) fn change(&self, point: usize, centre: usize, cost: f64) {
        self.centre_of[point].store(centre as u32, Ordering::Relaxed);
        self.cost.set(point, cost);
    }

    pub(super) fn cost_at(&self, point: usize, centre: usize) -> f64 {
        let (point, weight) = &self.points[point];
        squared_distance(point, &self.points[centre].0) * weight
    }

    /// The centres, each with the weight of all its points.
    pub(super) fn centres(&self) -> Vec<(Point, f64)> {
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

pub(super) fn part_of(count: usize, index: usize) -> Range<usize> {
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
