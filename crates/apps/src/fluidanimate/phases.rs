//! What each phase of a frame does to a slab.

use std::f64::consts::PI;
use std::iter::zip;

use super::{Fluidanimate, Particle, RADIUS, SPACING, Slab};
use crate::vector::{Vector, plus, square};

/// Density of water at rest, kg/m^3.
pub(super) const REST_DENSITY: f64 = 1000.0;
pub(super) const MASS: f64 = REST_DENSITY * SPACING * SPACING * SPACING;
/// Speed of sound, m/s: lower than in water, so that steps may be longer.
const SPEED_OF_SOUND: f64 = 10.0;
/// Viscosity, Pa s: higher than that of water, so that particles stay in order.
const VISCOSITY: f64 = 1.0;
/// Walls push back like springs with dampers: 1/s^2 and 1/s.
const WALL_STIFFNESS: f64 = 40_000.0;
const WALL_DAMPING: f64 = 100.0;
/// Length of a step, s. Sound crosses the radius in four steps.
const STEP: f64 = 0.000_5;

impl Fluidanimate {
    /// Moves the particles that have left the slab to its outgoing lists. No particle crosses a
    /// whole slab in a step.
    pub(super) fn leave(&self, slab: usize) {
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

    /// Takes in the particles that come from the neighbours, always in the same order, and sorts
    /// all by cell.
    pub(super) fn arrive(&self, slab: usize) {
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

    pub(super) fn clear(&self, slab: usize) {
        let count = |slab: usize| {
            if slab < self.slabs.len() { self.slabs.read(slab).particles.len() } else { 0 }
        };
        let (here, next) = (count(slab), count(slab + 1));
        self.densities.clear(slab, here, next, 0.0);
        self.forces.clear(slab, here, next, [0.0; 3]);
    }

    pub(super) fn add_densities(&self, slab: usize) {
        let (mut own, mut border) =
            (self.densities.own.write(slab), self.densities.border.write(slab));
        self.each_pair(slab, |i, j, across, a, b| {
            let nearness = RADIUS * RADIUS - squared_distance(a, b);
            let density = nearness * nearness * nearness;
            own[i] += density;
            (if across { &mut *border } else { &mut *own })[j] += density;
        });
    }

    /// Applies the kernel's constants, and adds the particle's own part.
    pub(super) fn finish_densities(&self, slab: usize) {
        let kernel = 315.0 / (64.0 * PI * RADIUS.powi(9));
        for density in self.densities.own.write(slab).iter_mut() {
            *density = MASS * kernel * (*density + RADIUS.powi(6));
        }
    }

    pub(super) fn add_forces(&self, slab: usize) {
        let (mut own, mut border) = (self.forces.own.write(slab), self.forces.border.write(slab));
        let densities =
            [slab, (slab + 1).min(self.slabs.len() - 1)].map(|slab| self.densities.own.read(slab));
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
    pub(super) fn collide(&self, slab: usize) {
        let extent = [self.slabs.len(), self.height, self.width].map(|cells| cells as f64 * RADIUS);
        let here = self.slabs.read(slab);
        for (force, particle) in zip(&mut *self.forces.own.write(slab), &here.particles) {
            for axis in 0..3 {
                let (at, velocity) = (particle.position[axis], particle.velocity[axis]);
                let depths = [0.5 * SPACING - at, at - (extent[axis] - 0.5 * SPACING)];
                for (depth, inwards) in zip(depths, [1.0, -1.0]).filter(|(depth, _)| *depth > 0.0) {
                    force[axis] +=
                        MASS * (WALL_STIFFNESS * depth * inwards - WALL_DAMPING * velocity);
                }
            }
        }
    }

    /// The semi-implicit method of Euler.
    pub(super) fn advance(&self, slab: usize) {
        let forces = self.forces.own.read(slab);
        for (particle, force) in zip(&mut self.slabs.write(slab).particles, &*forces) {
            particle.velocity = plus(particle.velocity, STEP / MASS, *force);
            particle.velocity[1] -= STEP * self.gravity;
            particle.position = plus(particle.position, STEP, particle.velocity);
        }
    }

    /// Each pair of particles within the radius of each other, one of which is in the slab and the
    /// other in it or in the next one. Gives their indices in their slabs, and true if the second
    /// is in the next.
    pub(super) fn each_pair(
        &self,
        slab: usize,
        mut body: impl FnMut(usize, usize, bool, &Particle, &Particle),
    ) {
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
                // Of the eight cells around it in the slab, those behind it: the pairs with the
                // others have been visited from there.
                for j in self
                    .around(cell)
                    .filter(|&other| other > cell)
                    .flat_map(|other| range(&here, other))
                {
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

    /// A cell and its neighbours in its slab.
    pub(super) fn around(&self, cell: usize) -> impl Iterator<Item = usize> + '_ {
        let (y, z) = (cell / self.width, cell % self.width);
        let rows = y.saturating_sub(1)..(y + 2).min(self.height);
        let columns = z.saturating_sub(1)..(z + 2).min(self.width);
        rows.flat_map(move |y| columns.clone().map(move |z| y * self.width + z))
    }

    pub(super) fn slab_at(&self, x: f64) -> usize {
        cell_at(x, self.slabs.len())
    }

    pub(super) fn cell_of(&self, particle: &Particle) -> usize {
        cell_at(particle.position[1], self.height) * self.width
            + cell_at(particle.position[2], self.width)
    }
}

/// The one of `cells` cells in which a coordinate lies. Walls are soft, so positions beyond them
/// count for the border cells.
pub(super) fn cell_at(coordinate: f64, cells: usize) -> usize {
    ((coordinate / RADIUS).max(0.0) as usize).min(cells - 1)
}

pub(super) fn squared_distance(a: &Particle, b: &Particle) -> f64 {
    square(plus(a.position, -1.0, b.position))
}
