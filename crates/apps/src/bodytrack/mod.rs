//! bodytrack-like: follows a walking figure through a film, without markers.
//!
//! A pose is guessed by many particles, each of which is a pose; a particle weighs exp(-beta E), E
//! being how much the figure's silhouette in that pose differs from the picture. For each frame
//! this is repeated in layers of rising beta, as in annealing: particles are drawn by their weights
//! and moved at random, less and less (Deutscher, Blake and Reid, "Articulated Body Motion Capture
//! by Annealed Particle Filtering", CVPR 2000). The suite's program has a body in space and four
//! cameras; here the figure is flat, and so is what the camera sees. The film is rendered from a
//! known walk, with noise.
//!
//! Shape: per frame, the picture is blurred by rows and by columns, in tickets of 8 rows; then five
//! layers, each of them weights in tickets of 4 particles and a serial part that draws the next
//! particles. Tickets balance the cores; the serial parts remain.

mod figure;

use std::sync::{Mutex, PoisonError};

use evenkeel_model::SplitMix64;

use crate::app::Phases;
use crate::checksum::Checksum;
use crate::normal::normal_pair;
use crate::setting::Size;
use crate::shared::SharedF64s;
use crate::team::Team;
use figure::{PARAMETERS, Pose, covers, figure, walk};

/// Width and height of a picture, pixels.
const WIDTH: usize = 128;
const HEIGHT: usize = 96;
/// As in the suite.
const ROWS_PER_TICKET: usize = 8;
const PARTICLES_PER_TICKET: usize = 4;
const LAYERS: usize = 5;
/// Silhouettes are compared at every other pixel of every other row.
const STRIDE: usize = 2;
/// Binomial weights of a pixel's neighbours in a row or column.
const BLUR: [f64; 5] = [1.0 / 16.0, 4.0 / 16.0, 6.0 / 16.0, 4.0 / 16.0, 1.0 / 16.0];
/// Beta of the first layer, and what it is multiplied by from layer to layer; and what the
/// particles' moves are multiplied by.
const BETA: f64 = 8.0;
const SHARPER: f64 = 1.7;
const CALMER: f64 = 0.6;
/// Pixels that noise turns over.
const NOISE: f64 = 0.01;

/// Standard deviation of the particles' moves from frame to frame.
const MOVES: Pose = [1.5, 0.8, 0.05, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15, 0.1, 0.1];

/// A film, and the filter's estimates.
pub struct Bodytrack {
    frames: Vec<Vec<bool>>,
    particles: usize,
    /// The present frame, blurred by rows and then by columns.
    rows: SharedF64s,
    picture: SharedF64s,
    /// The poses one after the other, and each one's difference from the picture.
    poses: SharedF64s,
    differences: SharedF64s,
    estimates: Mutex<Vec<Pose>>,
}

impl Phases for Bodytrack {
    fn generate(size: Size) -> Self {
        let (frames, particles) = size.pick((3, 48), (8, 180), (20, 720));
        Self::film(frames, particles)
    }

    fn run(&self, team: &impl Team) {
        for (index, frame) in self.frames.iter().enumerate() {
            let pixel = |x: usize, y: usize| f64::from(u8::from(frame[y * WIDTH + x]));
            each_row(team, |y| {
                blur_row(&self.rows, y, |x, aside| pixel(clamped(x, aside, WIDTH), y))
            });
            let blurred = |x: usize, y: usize| self.rows.get(y * WIDTH + x);
            each_row(team, |y| {
                blur_row(&self.picture, y, |x, aside| blurred(x, clamped(y, aside, HEIGHT)))
            });
            for layer in 0..LAYERS {
                team.tickets(self.particles / PARTICLES_PER_TICKET, |ticket| {
                    for particle in
                        (0..PARTICLES_PER_TICKET).map(|index| ticket * PARTICLES_PER_TICKET + index)
                    {
                        self.differences.set(particle, self.difference(&self.pose(particle)));
                    }
                });
                team.once(|| self.draw(layer, &mut SplitMix64((index * LAYERS + layer) as u64)));
            }
        }
    }

    fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        sum.numbers(
            self.estimates.lock().unwrap_or_else(PoisonError::into_inner).iter().flatten().copied(),
        );
        sum.finish()
    }
}

impl Bodytrack {
    fn film(frames: usize, particles: usize) -> Self {
        let mut random = SplitMix64::named(1, "bodytrack");
        let mut film = |frame| {
            let figure = figure(&walk(frame));
            let pixels = (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x as f64, y as f64)));
            pixels.map(|(x, y)| covers(&figure, x, y) != (random.unit() < NOISE)).collect()
        };
        let poses = SharedF64s::zeros(particles * PARAMETERS);
        for (index, number) in walk(0).into_iter().cycle().take(particles * PARAMETERS).enumerate()
        {
            poses.set(index, number);
        }
        Self {
            frames: (0..frames).map(&mut film).collect(),
            particles,
            rows: SharedF64s::zeros(WIDTH * HEIGHT),
            picture: SharedF64s::zeros(WIDTH * HEIGHT),
            poses,
            differences: SharedF64s::zeros(particles),
            estimates: Mutex::default(),
        }
    }

    fn pose(&self, particle: usize) -> Pose {
        std::array::from_fn(|parameter| self.poses.get(particle * PARAMETERS + parameter))
    }

    /// Difference of a pose's silhouette from the picture: 0 if they are equal, about 1 if they do
    /// not overlap.
    fn difference(&self, pose: &Pose) -> f64 {
        let figure = figure(pose);
        let (mut difference, mut silhouette, mut seen) = (0.0, 0.0, 0.0);
        for y in (0..HEIGHT).step_by(STRIDE) {
            for x in (0..WIDTH).step_by(STRIDE) {
                let there = f64::from(u8::from(covers(&figure, x as f64, y as f64)));
                let picture = self.picture.get(y * WIDTH + x);
                difference += (there - picture).abs();
                silhouette += there;
                seen += picture;
            }
        }
        difference / f64::max(silhouette + seen, 1.0)
    }

    /// The serial part of a layer: draws particles by their weights and moves them. After the last
    /// one the weighted mean is the estimate, and moves are those of a new frame.
    fn draw(&self, layer: usize, random: &mut SplitMix64) {
        let beta = BETA * LAYERS as f64 * SHARPER.powi(layer as i32);
        let least = self.differences.iter().fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = self
            .differences
            .iter()
            .map(|difference| (-beta * (difference - least)).exp())
            .collect();
        let total: f64 = weights.iter().sum();
        let poses: Vec<Pose> = (0..self.particles).map(|particle| self.pose(particle)).collect();
        let is_last = layer + 1 == LAYERS;
        if is_last {
            let mean = |parameter| {
                poses
                    .iter()
                    .zip(&weights)
                    .map(|(pose, weight)| pose[parameter] * weight)
                    .sum::<f64>()
                    / total
            };
            self.estimates
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(std::array::from_fn(mean));
        }
        let moves = if is_last { 1.0 } else { CALMER.powi(layer as i32 + 1) };
        // Systematic resampling: one random number, then equal steps through the sums of the
        // weights.
        let (mut drawn, mut sum) = (0, weights[0]);
        let start = random.unit();
        for particle in 0..self.particles {
            let at = (particle as f64 + start) / self.particles as f64 * total;
            while sum < at && drawn + 1 < self.particles {
                drawn += 1;
                sum += weights[drawn];
            }
            for (parameter, (number, deviation)) in poses[drawn].iter().zip(MOVES).enumerate() {
                self.poses.set(
                    particle * PARAMETERS + parameter,
                    number + moves * deviation * normal_pair(random).0,
                );
            }
        }
    }
}

/// A phase over the rows of a picture, in tickets.
fn each_row(team: &impl Team, body: impl Fn(usize) + Sync) {
    team.tickets(HEIGHT / ROWS_PER_TICKET, |ticket| {
        (ticket * ROWS_PER_TICKET..(ticket + 1) * ROWS_PER_TICKET).for_each(&body)
    });
}

/// Blurs a row; `pixel` gives the value at an x with an offset, which is two too large.
fn blur_row(to: &SharedF64s, y: usize, pixel: impl Fn(usize, usize) -> f64) {
    for x in 0..WIDTH {
        to.set(
            y * WIDTH + x,
            BLUR.iter().enumerate().map(|(aside, weight)| weight * pixel(x, aside)).sum(),
        );
    }
}

/// The neighbour `aside` of the five around a pixel, or the last one within the picture.
fn clamped(at: usize, aside: usize, end: usize) -> usize {
    (at + aside).saturating_sub(2).min(end - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::Serial;

    #[test]
    fn the_figure_is_followed_to_a_pixel_or_two() {
        let film = Bodytrack::film(4, 64);
        film.run(&Serial);
        let estimates = film.estimates.lock().unwrap();
        assert_eq!(estimates.len(), film.frames.len());
        for (frame, estimate) in estimates.iter().enumerate() {
            let truth = walk(frame);
            let miss = (estimate[0] - truth[0]).hypot(estimate[1] - truth[1]);
            assert!(miss < 2.0, "frame {frame}: {miss}");
        }
    }

    #[test]
    fn the_true_pose_differs_least_where_no_limb_hides_another() {
        let film = Bodytrack::film(4, 64);
        film.run(&Serial);
        let last = film.frames.len() - 1;
        let true_difference = film.difference(&walk(last));
        for parameter in 0..PARAMETERS {
            let mut other = walk(last);
            other[parameter] += 4.0 * MOVES[parameter];
            assert!(film.difference(&other) > true_difference, "{parameter}");
        }
    }

    #[test]
    fn a_blur_leaves_what_is_even_and_keeps_the_sum_inside() {
        let picture = SharedF64s::zeros(WIDTH * HEIGHT);
        blur_row(&picture, 0, |_, _| 1.0);
        assert!(picture.iter().take(WIDTH).all(|pixel| pixel == 1.0));
        blur_row(&picture, 0, |x, aside| f64::from(u8::from(clamped(x, aside, WIDTH) == 10)));
        assert_eq!(picture.iter().take(WIDTH).sum::<f64>(), 1.0);
        assert_eq!(picture.get(10), BLUR[2]);
    }
}
