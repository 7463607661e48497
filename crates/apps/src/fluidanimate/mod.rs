//! fluidanimate: an incompressible fluid as particles, frame by frame: a dam breaks.
//!
//! Smoothed-particle hydrodynamics (Müller, Charypar and Gross, "Particle-Based Fluid Simulation
//! for Interactive Applications", SCA 2003): density and forces at a particle are sums over those
//! within the radius h,
//!
//! ```text
//! density   d_i = sum over j of m W(r_ij),              W(r) = 315 / (64 pi h^9) (h^2 - r^2)^3
//! pressure  p_i = c^2 (d_i - d_0)
//! force     f_i = sum over j of m^2 / (d_i d_j) (
//!                     (p_i + p_j) / 2 x 45 / (pi h^6) (h - r)^2 r_ij / r
//!                     +  viscosity x 45 / (pi h^6) (h - r) (v_j - v_i) )
//! ```
//!
//! Particles are kept in cubic cells of side h, so that neighbours are in the same cell or in one
//! of the 26 around it.
//!
//! Shape: the box is cut into slabs of cells, and a frame has ten phases, each with a barrier. Each
//! pair of particles is computed once for both; across the border of two slabs the lower slab does
//! it. In the suite a lock guards each border cell; here the values for the upper slab wait in a
//! buffer that a phase of its own adds, so that sums do not depend on the order of threads.

mod phases;
mod sums;
mod tasks;

use evenkeel_model::SplitMix64;
use evenkeel_runtime::Pool;

use crate::app::Phases;
use crate::checksum::Checksum;
use crate::setting::Size;
use crate::shared::Blocks;
use crate::team::Team;
use crate::vector::Vector;
use sums::{Sums, add_number, add_vector};

/// Distance of particles at rest, and the radius within which they act on each other, which is a
/// cell's side, m.
const SPACING: f64 = 0.012;
const RADIUS: f64 = 1.7 * SPACING;
/// m/s^2.
const GRAVITY: f64 = 9.81;

#[derive(Clone, Copy, Debug)]
struct Particle {
    /// m, from the box's lowest corner.
    position: Vector,
    /// m/s.
    velocity: Vector,
}

/// A layer of cells one radius thick along the box.
#[derive(Clone, Debug, Default)]
struct Slab {
    /// Sorted by cell: those of a cell are `particles[first[cell]..first[cell + 1]]`.
    particles: Vec<Particle>,
    first: Vec<usize>,
}

/// The box and the fluid in it.
pub struct Fluidanimate {
    frames: usize,
    gravity: f64,
    /// Cells of a slab.
    height: usize,
    width: usize,
    slabs: Blocks<Slab>,
    /// Particles that leave a slab, to the one before it and to the one behind it.
    leaving: Blocks<[Vec<Particle>; 2]>,
    /// kg/m^3.
    densities: Sums<f64>,
    /// N.
    forces: Sums<Vector>,
}

impl Phases for Fluidanimate {
    fn generate(size: Size) -> Self {
        let (slabs, height, width, frames) =
            size.pick((16, 5, 5, 10), (64, 12, 20, 50), (96, 16, 30, 160));
        let box_ = Self::empty([slabs, height, width], frames);
        // The dam runs along the box, so that slabs have equal work: the fluid fills two fifths of
        // the box's width and four fifths of its height.
        let extent = [slabs as f64, 0.8 * height as f64, 0.4 * width as f64]
            .map(|cells| (cells * RADIUS / SPACING) as usize);
        let mut random = SplitMix64::named(1, "fluidanimate");
        let mut near = |steps: usize| (steps as f64 + 0.5 + 0.1 * (random.unit() - 0.5)) * SPACING;
        for x in 0..extent[0] {
            for y in 0..extent[1] {
                for z in 0..extent[2] {
                    let position = [near(x), near(y), near(z)];
                    box_.slabs
                        .write(box_.slab_at(position[0]))
                        .particles
                        .push(Particle { position, velocity: [0.0; 3] });
                }
            }
        }
        box_
    }

    fn run(&self, team: &impl Team) {
        let slabs = self.slabs.len();
        for _ in 0..self.frames {
            team.each(slabs, |slab| self.leave(slab));
            team.each(slabs, |slab| self.arrive(slab));
            team.each(slabs, |slab| self.clear(slab));
            team.each(slabs, |slab| self.add_densities(slab));
            team.each(slabs, |slab| self.densities.add_border(slab, add_number));
            team.each(slabs, |slab| self.finish_densities(slab));
            team.each(slabs, |slab| self.add_forces(slab));
            team.each(slabs, |slab| self.forces.add_border(slab, add_vector));
            team.each(slabs, |slab| self.collide(slab));
            team.each(slabs, |slab| self.advance(slab));
        }
    }

    fn tasks(&self, pool: &Pool) {
        self.frames_as_tasks(pool);
    }

    fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        for slab in 0..self.slabs.len() {
            for particle in &self.slabs.read(slab).particles {
                sum.numbers(particle.position.into_iter().chain(particle.velocity));
            }
        }
        sum.finish()
    }
}

impl Fluidanimate {
    fn empty([slabs, height, width]: [usize; 3], frames: usize) -> Self {
        Self {
            frames,
            gravity: GRAVITY,
            height,
            width,
            slabs: Blocks::new(vec![Slab::default(); slabs]),
            leaving: Blocks::new(vec![<[Vec<Particle>; 2]>::default(); slabs]),
            densities: Sums::new(slabs),
            forces: Sums::new(slabs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::phases::{MASS, REST_DENSITY, squared_distance};
    use super::*;
    use crate::team::Serial;
    use crate::vector::plus;
    use std::iter::zip;

    fn particles(fluid: &Fluidanimate) -> Vec<Particle> {
        (0..fluid.slabs.len()).flat_map(|slab| fluid.slabs.read(slab).particles.clone()).collect()
    }

    #[test]
    fn no_particle_is_lost_and_all_stay_in_the_box() {
        let fluid = Fluidanimate { frames: 200, ..Fluidanimate::generate(Size::Small) };
        let before = particles(&fluid).len();
        fluid.run(&Serial);
        let after = particles(&fluid);
        assert_eq!(after.len(), before);
        let extent =
            [fluid.slabs.len(), fluid.height, fluid.width].map(|cells| cells as f64 * RADIUS);
        for Particle { position, .. } in after {
            assert!(
                zip(position, extent).all(|(at, end)| (-RADIUS..end + RADIUS).contains(&at)),
                "{position:?}"
            );
        }
    }

    #[test]
    fn each_pair_within_the_radius_is_found_once() {
        let fluid = Fluidanimate::generate(Size::Small);
        let mut found = 0;
        for slab in 0..fluid.slabs.len() {
            fluid.arrive(slab);
        }
        for slab in 0..fluid.slabs.len() {
            fluid.each_pair(slab, |_, _, _, _, _| found += 1);
        }
        let all = particles(&fluid);
        let pairs =
            all.iter().enumerate().flat_map(|(index, a)| all[..index].iter().map(move |b| (a, b)));
        assert_eq!(found, pairs.filter(|(a, b)| squared_distance(a, b) < RADIUS * RADIUS).count());
    }

    #[test]
    fn what_particles_do_to_each_other_adds_up_to_nothing() {
        let mut fluid = Fluidanimate { frames: 20, ..Fluidanimate::empty([8, 8, 8], 20) };
        fluid.gravity = 0.0;
        let mut random = SplitMix64(5);
        for _ in 0..100 {
            let middle: Vector =
                std::array::from_fn(|_| (4.0 + 2.0 * (random.unit() - 0.5)) * RADIUS);
            let velocity = std::array::from_fn(|_| random.unit() - 0.5);
            fluid
                .slabs
                .write(fluid.slab_at(middle[0]))
                .particles
                .push(Particle { position: middle, velocity });
        }
        let momentum = || {
            particles(&fluid)
                .iter()
                .fold([0.0; 3], |sum, particle| plus(sum, MASS, particle.velocity))
        };
        let before = momentum();
        let fastest = 100.0 * MASS;
        fluid.run(&Serial);
        assert!(
            zip(before, momentum()).all(|(before, after)| (after - before).abs() < 1e-9 * fastest)
        );
    }

    #[test]
    fn a_lattice_at_rest_has_the_density_of_water() {
        let fluid = Fluidanimate { frames: 1, ..Fluidanimate::generate(Size::Small) };
        fluid.run(&Serial);
        let middle = fluid.densities.own.read(3).iter().copied().fold(0.0, f64::max);
        assert!((middle / REST_DENSITY - 1.0).abs() < 0.1, "{middle}");
    }
}
