//! fluidanimate: an incompressible fluid as particles, frame by frame: a dam breaks.
//!
//! Smoothed-particle hydrodynamics (Müller, Charypar and Gross, "Particle-Based Fluid Simulation for Interactive Applications", SCA
//! 2003): density and forces at a particle are sums over those within the radius h,
//!
//! ```text
//! density   d_i = sum over j of m W(r_ij),              W(r) = 315 / (64 pi h^9) (h^2 - r^2)^3
//! pressure  p_i = c^2 (d_i - d_0)
//! force     f_i = sum over j of m^2 / (d_i d_j) ( (p_i + p_j) / 2 x 45 / (pi h^6) (h - r)^2 r_ij / r  +  viscosity x 45 / (pi h^6) (h - r) (v_j - v_i) )
//! ```
//!
//! Particles are kept in cubic cells of side h, so that neighbours are in the same cell or in one of the 26 around it.
//!
//! Shape: the box is cut into slabs of cells, and a frame has ten phases, each with a barrier. Each pair of particles is looked at once,
//! and both get their share; across the border of two slabs the lower one does it. In the suite a lock guards each border cell; here
//! what is meant for the upper slab waits in a buffer that a phase of its own adds, so that sums do not depend on who came first.

use std::f64::consts::PI;
use std::iter::zip;

use evenkeel_workload::SplitMix64;

use crate::app::{Phases, Size};
use crate::checksum::Checksum;
use crate::shared::Blocks;
use crate::team::Team;
use crate::vector::{Vector, plus, square};

/// Distance of particles at rest, and the radius within which they act on each other, which is a cell's side, m.
const SPACING: f64 = 0.012;
const RADIUS: f64 = 1.7 * SPACING;
/// Of water, kg/m^3.
const REST_DENSITY: f64 = 1000.0;
const MASS: f64 = REST_DENSITY * SPACING * SPACING * SPACING;
/// Slower than in water, m/s: steps may be so much longer.
const SPEED_OF_SOUND: f64 = 10.0;
/// Higher than of water, Pa s: it keeps the particles in order.
const VISCOSITY: f64 = 1.0;
const GRAVITY: f64 = 9.81;
/// Walls push back like springs with dampers: 1/s^2 and 1/s.
const WALL_STIFFNESS: f64 = 40_000.0;
const WALL_DAMPING: f64 = 100.0;
/// s. Sound needs four steps for the radius.
const STEP: f64 = 0.000_5;

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

/// Sums over pairs for the particles of each slab: what the slab itself finds, and what it finds for those of the next slab.
struct Sums<T> {
    own: Blocks<Vec<T>>,
    border: Blocks<Vec<T>>,
}

/// The box and the fluid in it.
pub struct Fluidanimate {
    frames: usize,
    gravity: f64,
    /// Cells of a slab.
    height: usize,
    width: usize,
    slabs: Blocks<Slab>,
    /// Particles on their way from a slab to the one before and to the one behind it.
    leaving: Blocks<[Vec<Particle>; 2]>,
    /// kg/m^3.
    densities: Sums<f64>,
    /// N.
    forces: Sums<Vector>,
}

impl Phases for Fluidanimate {
    fn generate(size: Size) -> Self {
        let (slabs, height, width, frames) = size.pick((16, 5, 3, 10), (64, 10, 8, 30), (96, 14, 12, 90));
        let box_ = Self::empty([slabs, height, width], frames);
        // The dam holds the fluid in the first two fifths of the box, up to four fifths of its height.
        let extent =
            [0.4 * slabs as f64, 0.8 * height as f64, width as f64].map(|cells| (cells * RADIUS / SPACING) as usize);
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
            team.each(slabs, |slab| self.densities.add_border(slab, |sum, border| *sum += border));
            team.each(slabs, |slab| self.finish_densities(slab));
            team.each(slabs, |slab| self.add_forces(slab));
            team.each(slabs, |slab| self.forces.add_border(slab, |sum, border| *sum = plus(*sum, 1.0, border)));
            team.each(slabs, |slab| self.collide(slab));
            team.each(slabs, |slab| self.advance(slab));
        }
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

    /// Sorts out the particles that are no longer in the slab. None crosses a whole slab in a step.
    fn leave(&self, slab: usize) {
        let mut leaving = self.leaving.write(slab);
        leaving.iter_mut().for_each(Vec::clear);
        self.slabs.write(slab).particles.retain(|particle| {
            let now = self.slab_at(particle.position[0]);
            if now != slab {
                leaving[usize::from(now > slab)].push(*particle);
            }
            now == slab
        });
    }

    /// Takes in those that come from the neighbours, always in the same order, and sorts by cell.
    fn arrive(&self, slab: usize) {
        let mut here = self.slabs.write(slab);
        let Slab { particles, first } = &mut *here;
        if slab > 0 {
            particles.extend_from_slice(&self.leaving.read(slab - 1)[1]);
        }
        if slab + 1 < self.slabs.len() {
            particles.extend_from_slice(&self.leaving.read(slab + 1)[0]);
        }
        particles.sort_by_key(|particle| self.cell_of(particle));
        *first = (0..=self.height * self.width)
            .map(|cell| particles.partition_point(|particle| self.cell_of(particle) < cell))
            .collect();
    }

    fn clear(&self, slab: usize) {
        let count = |slab: usize| if slab < self.slabs.len() { self.slabs.read(slab).particles.len() } else { 0 };
        let (here, next) = (count(slab), count(slab + 1));
        self.densities.clear(slab, here, next, 0.0);
        self.forces.clear(slab, here, next, [0.0; 3]);
    }

    fn add_densities(&self, slab: usize) {
        let (mut own, mut border) = (self.densities.own.write(slab), self.densities.border.write(slab));
        self.each_pair(slab, |i, j, across, a, b| {
            let nearness = RADIUS * RADIUS - squared_distance(a, b);
            let density = nearness * nearness * nearness;
            own[i] += density;
            (if across { &mut *border } else { &mut *own })[j] += density;
        });
    }

    /// The kernel's constants, and the particle itself.
    fn finish_densities(&self, slab: usize) {
        let kernel = 315.0 / (64.0 * PI * RADIUS.powi(9));
        for density in self.densities.own.write(slab).iter_mut() {
            *density = MASS * kernel * (*density + RADIUS.powi(6));
        }
    }

    fn add_forces(&self, slab: usize) {
        let (mut own, mut border) = (self.forces.own.write(slab), self.forces.border.write(slab));
        let densities = [slab, (slab + 1).min(self.slabs.len() - 1)].map(|slab| self.densities.own.read(slab));
        let kernel = 45.0 / (PI * RADIUS.powi(6));
        let pressure = |density: f64| SPEED_OF_SOUND * SPEED_OF_SOUND * (density - REST_DENSITY);
        self.each_pair(slab, |i, j, across, a, b| {
            let (density_a, density_b) = (densities[0][i], densities[usize::from(across)][j]);
            let distance = squared_distance(a, b).sqrt().max(1e-9 * RADIUS);
            let nearness = RADIUS - distance;
            let scale = MASS * MASS * kernel * nearness / (density_a * density_b);
            let apart = 0.5 * (pressure(density_a) + pressure(density_b)) * nearness / distance;
            let force: Vector = std::array::from_fn(|axis| {
                scale
                    * (apart * (a.position[axis] - b.position[axis])
                        + VISCOSITY * (b.velocity[axis] - a.velocity[axis]))
            });
            own[i] = plus(own[i], 1.0, force);
            let of_b = &mut (if across { &mut *border } else { &mut *own })[j];
            *of_b = plus(*of_b, -1.0, force);
        });
    }

    /// Forces of the walls, from half a spacing before them.
    fn collide(&self, slab: usize) {
        let extent = [self.slabs.len(), self.height, self.width].map(|cells| cells as f64 * RADIUS);
        let here = self.slabs.read(slab);
        for (force, particle) in zip(&mut *self.forces.own.write(slab), &here.particles) {
            for axis in 0..3 {
                let (at, velocity) = (particle.position[axis], particle.velocity[axis]);
                let depths = [0.5 * SPACING - at, at - (extent[axis] - 0.5 * SPACING)];
                for (depth, inwards) in zip(depths, [1.0, -1.0]).filter(|(depth, _)| *depth > 0.0) {
                    force[axis] += MASS * (WALL_STIFFNESS * depth * inwards - WALL_DAMPING * velocity);
                }
            }
        }
    }

    /// The semi-implicit method of Euler.
    fn advance(&self, slab: usize) {
        let forces = self.forces.own.read(slab);
        for (particle, force) in zip(&mut self.slabs.write(slab).particles, &*forces) {
            particle.velocity = plus(particle.velocity, STEP / MASS, *force);
            particle.velocity[1] -= STEP * self.gravity;
            particle.position = plus(particle.position, STEP, particle.velocity);
        }
    }

    /// Each pair of particles within the radius of each other, if one is in the slab and the other in it or in the next one: with their
    /// indices in their slabs, and whether the second is in the next.
    fn each_pair(&self, slab: usize, mut body: impl FnMut(usize, usize, bool, &Particle, &Particle)) {
        let here = self.slabs.read(slab);
        let next = (slab + 1 < self.slabs.len()).then(|| self.slabs.read(slab + 1));
        let mut near = |i: usize, j: usize, across, a: &Particle, b: &Particle| {
            if squared_distance(a, b) < RADIUS * RADIUS {
                body(i, j, across, a, b);
            }
        };
        let range = |slab: &Slab, cell: usize| slab.first[cell]..slab.first[cell + 1];
        for cell in 0..self.height * self.width {
            for i in range(&here, cell) {
                let a = &here.particles[i];
                for j in i + 1..here.first[cell + 1] {
                    near(i, j, false, a, &here.particles[j]);
                }
                // Of the eight cells around it in the slab, those behind it: the others have looked at the pair already.
                for j in self.around(cell).filter(|&other| other > cell).flat_map(|other| range(&here, other)) {
                    near(i, j, false, a, &here.particles[j]);
                }
                if let Some(next) = &next {
                    for j in self.around(cell).flat_map(|other| range(next, other)) {
                        near(i, j, true, a, &next.particles[j]);
                    }
                }
            }
        }
    }

    /// A cell and those beside it in its slab.
    fn around(&self, cell: usize) -> impl Iterator<Item = usize> + '_ {
        let (y, z) = (cell / self.width, cell % self.width);
        let rows = y.saturating_sub(1)..(y + 2).min(self.height);
        let columns = z.saturating_sub(1)..(z + 2).min(self.width);
        rows.flat_map(move |y| columns.clone().map(move |z| y * self.width + z))
    }

    fn slab_at(&self, x: f64) -> usize {
        cell_at(x, self.slabs.len())
    }

    fn cell_of(&self, particle: &Particle) -> usize {
        cell_at(particle.position[1], self.height) * self.width + cell_at(particle.position[2], self.width)
    }
}

impl<T: Copy> Sums<T> {
    fn new(slabs: usize) -> Self {
        let none = || Blocks::new(vec![Vec::new(); slabs]);
        Self { own: none(), border: none() }
    }

    /// For so many particles in the slab and in the next.
    fn clear(&self, slab: usize, own: usize, border: usize, zero: T) {
        for (sums, count) in [(&self.own, own), (&self.border, border)] {
            let mut sums = sums.write(slab);
            sums.clear();
            sums.resize(count, zero);
        }
    }

    /// Adds what the slab before has found for this one.
    fn add_border(&self, slab: usize, add: impl Fn(&mut T, T)) {
        if slab > 0 {
            for (sum, &border) in zip(&mut *self.own.write(slab), &*self.border.read(slab - 1)) {
                add(sum, border);
            }
        }
    }
}

/// Of so many, the cell in which a coordinate is; the walls give a little.
fn cell_at(coordinate: f64, cells: usize) -> usize {
    ((coordinate / RADIUS).max(0.0) as usize).min(cells - 1)
}

fn squared_distance(a: &Particle, b: &Particle) -> f64 {
    square(plus(a.position, -1.0, b.position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::Serial;

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
        let extent = [fluid.slabs.len(), fluid.height, fluid.width].map(|cells| cells as f64 * RADIUS);
        for Particle { position, .. } in after {
            assert!(zip(position, extent).all(|(at, end)| (-RADIUS..end + RADIUS).contains(&at)), "{position:?}");
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
        let pairs = all.iter().enumerate().flat_map(|(index, a)| all[..index].iter().map(move |b| (a, b)));
        assert_eq!(found, pairs.filter(|(a, b)| squared_distance(a, b) < RADIUS * RADIUS).count());
    }

    #[test]
    fn what_particles_do_to_each_other_adds_up_to_nothing() {
        let mut fluid = Fluidanimate { frames: 20, ..Fluidanimate::empty([8, 8, 8], 20) };
        fluid.gravity = 0.0;
        let mut random = SplitMix64(5);
        for _ in 0..100 {
            let middle: Vector = std::array::from_fn(|_| (4.0 + 2.0 * (random.unit() - 0.5)) * RADIUS);
            let velocity = std::array::from_fn(|_| random.unit() - 0.5);
            fluid.slabs.write(fluid.slab_at(middle[0])).particles.push(Particle { position: middle, velocity });
        }
        let momentum = || particles(&fluid).iter().fold([0.0; 3], |sum, particle| plus(sum, MASS, particle.velocity));
        let before = momentum();
        let fastest = 100.0 * MASS;
        fluid.run(&Serial);
        assert!(zip(before, momentum()).all(|(before, after)| (after - before).abs() < 1e-9 * fastest));
    }

    #[test]
    fn a_lattice_at_rest_has_the_density_of_water() {
        let fluid = Fluidanimate { frames: 1, ..Fluidanimate::generate(Size::Small) };
        fluid.run(&Serial);
        let middle = fluid.densities.own.read(3).iter().copied().fold(0.0, f64::max);
        assert!((middle / REST_DENSITY - 1.0).abs() < 0.1, "{middle}");
    }
}
