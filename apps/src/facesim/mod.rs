//! facesim-like: a beam of soft tissue whose muscle fibres pull, frame by frame.
//!
//! The suite's program moves a face by its muscles: a finite-element mesh whose equilibrium is found by Newton's method and conjugate
//! gradients (Sifakis, Neverov and Fedkiw, "Automatic Determination of Facial Muscle Activations from Sparse Motion Capture Marker
//! Data", SIGGRAPH 2005). Here it is a clamped beam of linear elastic tetrahedra: in one of them the displacements u at the corners a, by the
//! gradients g_a of the shape functions, give
//!
//! ```text
//! strain  e = sym(sum over a of u_a g_a^T),   stress  s = lambda tr(e) I + 2 mu e,   force on corner a = V s g_a
//! ```
//!
//! (Hughes, "The Finite Element Method", 1987). Fibres along the beam add a stress that runs through it as a wave. Equilibrium is a linear system,
//! which conjugate gradients solve (Hestenes and Stiefel, Journal of Research of the NBS 1952), from the frame before. Linear elasticity
//! spares Newton's method; the phases of the solver are the same.
//!
//! Shape: four phases per iteration, each with a barrier: forces of the elements; their sums at the nodes; two updates of vectors. Sums of
//! products are added in the order of the blocks.

mod mesh;

use std::ops::Range;

use evenkeel::{Pool, Regions};

use crate::app::{Phases, Size};
use crate::checksum::Checksum;
use crate::shared::{Blocks, SharedF64s, part};
use crate::team::{Tasks, Team};
use crate::vector::{Vector, dot, plus, square};
use mesh::{Mesh, Tetrahedron};

/// Parts of the elements and of the nodes.
const BLOCKS: usize = 64;
/// Young's modulus, Pa, and Poisson's ratio of soft tissue, in round figures.
const YOUNG: f64 = 1e5;
const POISSON: f64 = 0.4;
/// Greatest stress of the fibres, Pa.
const PULL: f64 = 5e3;
/// Where the solver stops: remaining forces over those without any displacement.
const TOLERANCE: f64 = 1e-6;
const MAX_ITERATIONS: usize = 2_000;

type Matrix = [Vector; 3];

/// Linear elastic, the same in all directions (Lamé's constants, Pa).
#[derive(Clone, Copy)]
struct Material {
    lambda: f64,
    mu: f64,
}

/// The beam. Vectors have three numbers a node, forces of the elements three a corner.
pub struct Facesim {
    frames: usize,
    material: Material,
    mesh: Mesh,
    corner_forces: SharedF64s,
    /// Displacements, m; remaining forces, N; search direction, m; and the forces that it calls forth, N.
    displacement: SharedF64s,
    residual: SharedF64s,
    direction: SharedF64s,
    response: SharedF64s,
    residual_squares: Blocks<f64>,
    work: Blocks<f64>,
}

impl Phases for Facesim {
    fn generate(size: Size) -> Self {
        let (bricks, frames) = size.pick(([10, 2, 2], 2), ([24, 6, 6], 5), ([40, 8, 8], 13));
        let lambda = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
        Self::new(bricks, frames, Material { lambda, mu: YOUNG / (2.0 * (1.0 + POISSON)) })
    }

    fn run(&self, team: &impl Team) {
        for frame in 0..self.frames {
            self.solve(team, pull(frame), |keep| {
                team.each(BLOCKS, |block| self.turn(block, keep));
                team.each(BLOCKS, |block| self.strain(block, |element| self.elastic_stress(element, &self.direction)));
                team.each(BLOCKS, |block| self.respond(block));
            });
        }
    }

    /// Of the three phases that find the response to a direction, each task waits for the blocks that touch its own. Sums of products
    /// need all blocks: before and after these three everybody waits.
    fn tasks(&self, pool: &Pool) {
        let (directions, forces) = (Regions::new(BLOCKS, 1), Regions::new(BLOCKS, 1));
        let nodes_of: Vec<_> = (0..BLOCKS).map(|block| self.nodes_of(block)).collect();
        let elements_at: Vec<_> = (0..BLOCKS).map(|block| self.elements_at(block)).collect();
        for frame in 0..self.frames {
            self.solve(&Tasks(pool), pull(frame), |keep| {
                pool.scope(|scope| {
                    for block in 0..BLOCKS {
                        let directions = directions.part(block..block + 1);
                        scope.task().writes(&directions).label("turn").run(move || self.turn(block, keep));
                    }
                    for (block, nodes) in nodes_of.iter().enumerate() {
                        let (directions, forces) = (directions.part(nodes.clone()), forces.part(block..block + 1));
                        scope.task().reads(&directions).writes(&forces).label("strain").run(move || {
                            self.strain(block, |element| self.elastic_stress(element, &self.direction));
                        });
                    }
                    for (block, elements) in elements_at.iter().enumerate() {
                        let forces = forces.part(elements.clone());
                        scope.task().reads(&forces).label("respond").run(move || self.respond(block));
                    }
                });
            });
        }
    }

    fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        sum.numbers(self.displacement.iter());
        sum.finish()
    }
}

impl Facesim {
    fn new(bricks: [usize; 3], frames: usize, material: Material) -> Self {
        let mesh = Mesh::new(bricks);
        let vector = || SharedF64s::zeros(3 * mesh.nodes.len());
        Self {
            frames,
            material,
            corner_forces: SharedF64s::zeros(12 * mesh.elements.len()),
            displacement: vector(),
            residual: vector(),
            direction: vector(),
            response: vector(),
            residual_squares: Blocks::new([0.0; BLOCKS]),
            work: Blocks::new([0.0; BLOCKS]),
            mesh,
        }
    }

    /// Finds the displacements at which all nodes that can move are in equilibrium. `pull` is the stress of full fibres, Pa, by how far
    /// along the beam they are. `respond` is to turn the direction, of which it keeps so much as it is told, and to find the response to it.
    fn solve(&self, team: &impl Team, pull: impl Fn(f64) -> f64 + Sync, respond: impl Fn(f64)) {
        let Self { displacement, residual, direction, response, .. } = self;
        team.each(BLOCKS, |block| self.strain(block, |element| self.active_stress(element, &pull)));
        self.each_node(team, &self.residual_squares, |node| square(self.force_at(node)));
        let without_displacement = team.agree(|| self.residual_squares.sum());
        team.each(BLOCKS, |block| {
            self.strain(block, |element| {
                let (elastic, active) =
                    (self.elastic_stress(element, displacement), self.active_stress(element, &pull));
                std::array::from_fn(|row| plus(elastic[row], 1.0, active[row]))
            });
        });
        self.each_node(team, &self.residual_squares, |node| {
            put(residual, node, self.force_at(node).map(|force| -force));
            square(get(residual, node))
        });
        let mut squares = team.agree(|| self.residual_squares.sum());
        let mut keep = 0.0;
        for _ in 0..MAX_ITERATIONS {
            if squares <= TOLERANCE * TOLERANCE * without_displacement {
                return;
            }
            respond(keep);
            // Every member adds the blocks up itself: the next phase does not write them.
            let step = squares / self.work.sum();
            self.each_node(team, &self.residual_squares, |node| {
                put(displacement, node, plus(get(displacement, node), step, get(direction, node)));
                put(residual, node, plus(get(residual, node), -step, get(response, node)));
                square(get(residual, node))
            });
            let before = std::mem::replace(&mut squares, self.residual_squares.sum());
            keep = squares / before;
        }
    }

    /// The new direction: the remaining forces, and so much of the old one.
    fn turn(&self, block: usize, keep: f64) {
        for node in part(self.mesh.nodes.len(), BLOCKS, block) {
            put(&self.direction, node, plus(get(&self.residual, node), keep, get(&self.direction, node)));
        }
    }

    /// The forces of a block of elements on their corners, from the stress in them.
    fn strain(&self, block: usize, stress: impl Fn(&Tetrahedron) -> Matrix) {
        for index in part(self.mesh.elements.len(), BLOCKS, block) {
            let element = &self.mesh.elements[index];
            let stress = stress(element);
            for (corner, &gradient) in element.gradients.iter().enumerate() {
                put(&self.corner_forces, 4 * index + corner, stress.map(|row| element.volume * dot(row, gradient)));
            }
        }
    }

    /// The forces on a block of nodes that the direction calls forth, and the work that they do along it.
    fn respond(&self, block: usize) {
        let work = part(self.mesh.nodes.len(), BLOCKS, block).map(|node| {
            put(&self.response, node, self.force_at(node));
            dot(get(&self.response, node), get(&self.direction, node))
        });
        *self.work.write(block) = work.sum();
    }

    /// A phase over the nodes: what `body` gives for them is added up per block.
    fn each_node(&self, team: &impl Team, sums: &Blocks<f64>, body: impl Fn(usize) -> f64 + Sync) {
        team.each(BLOCKS, |block| *sums.write(block) = part(self.mesh.nodes.len(), BLOCKS, block).map(&body).sum());
    }

    /// The blocks of nodes that a block of elements touches, and the blocks of elements that touch a block of nodes.
    fn nodes_of(&self, block: usize) -> Range<usize> {
        let elements = &self.mesh.elements[part(self.mesh.elements.len(), BLOCKS, block)];
        span(elements.iter().flat_map(|element| element.corners), self.mesh.nodes.len())
    }

    fn elements_at(&self, block: usize) -> Range<usize> {
        let corners = self.mesh.corners_at(part(self.mesh.nodes.len(), BLOCKS, block));
        span(corners.iter().map(|corner| corner / 4), self.mesh.elements.len())
    }

    /// Of all elements at a node; none where the beam is clamped, whose nodes stay where they are.
    fn force_at(&self, node: usize) -> Vector {
        if self.mesh.nodes[node][0] == 0.0 {
            return [0.0; 3];
        }
        let corners = self.mesh.corners_at(node..node + 1);
        corners.iter().fold([0.0; 3], |sum, &corner| plus(sum, 1.0, get(&self.corner_forces, corner)))
    }

    fn elastic_stress(&self, element: &Tetrahedron, displacement: &SharedF64s) -> Matrix {
        let mut slope: Matrix = [[0.0; 3]; 3];
        for (&node, gradient) in element.corners.iter().zip(element.gradients) {
            for (row, moved) in slope.iter_mut().zip(get(displacement, node)) {
                *row = plus(*row, moved, gradient);
            }
        }
        let Material { lambda, mu } = self.material;
        let pressure = lambda * (slope[0][0] + slope[1][1] + slope[2][2]);
        std::array::from_fn(|row| {
            std::array::from_fn(|column| {
                mu * (slope[row][column] + slope[column][row]) + if row == column { pressure } else { 0.0 }
            })
        })
    }

    fn active_stress(&self, element: &Tetrahedron, pull: impl Fn(f64) -> f64) -> Matrix {
        [[pull(element.along) * element.fibres, 0.0, 0.0], [0.0; 3], [0.0; 3]]
    }
}

/// Stress of full fibres in a frame, Pa, by how far along the beam they are: a wave.
fn pull(frame: usize) -> impl Fn(f64) -> f64 + Sync {
    move |along| 0.5 * PULL * (1.0 + (std::f64::consts::TAU * (along - frame as f64 / 10.0)).sin())
}

/// From the first to the last of the blocks that some of `count` items are in.
fn span(items: impl Iterator<Item = usize> + Clone, count: usize) -> Range<usize> {
    let block_of = |item: usize| ((item + 1) * BLOCKS - 1) / count;
    match (items.clone().min(), items.max()) {
        (Some(first), Some(last)) => block_of(first)..block_of(last) + 1,
        _ => 0..0,
    }
}

fn get(vectors: &SharedF64s, index: usize) -> Vector {
    std::array::from_fn(|axis| vectors.get(3 * index + axis))
}

fn put(vectors: &SharedF64s, index: usize, vector: Vector) {
    for (axis, number) in vector.into_iter().enumerate() {
        vectors.set(3 * index + axis, number);
    }
}

#[cfg(test)]
mod tests {
    use super::mesh::SIDE;
    use super::*;
    use crate::team::Serial;

    #[test]
    fn a_beam_that_does_not_bulge_shortens_by_stress_over_modulus() {
        let mut beam = Facesim::new([6, 2, 2], 1, Material { lambda: 0.0, mu: 0.5 * YOUNG });
        for element in &mut beam.mesh.elements {
            element.fibres = 1.0;
        }
        beam.solve(
            &Serial,
            |_| 0.01 * YOUNG,
            |keep| {
                (0..BLOCKS).for_each(|block| beam.turn(block, keep));
                (0..BLOCKS)
                    .for_each(|block| beam.strain(block, |element| beam.elastic_stress(element, &beam.direction)));
                (0..BLOCKS).for_each(|block| beam.respond(block));
            },
        );
        for (node, at) in beam.mesh.nodes.iter().enumerate() {
            let expected = [-0.01 * at[0], 0.0, 0.0];
            let miss = square(plus(get(&beam.displacement, node), -1.0, expected)).sqrt();
            assert!(miss < 1e-5 * SIDE, "{at:?}: {miss}");
        }
    }

    #[test]
    fn the_span_of_a_block_is_that_block() {
        for count in [64, 100, 1000] {
            for block in 0..BLOCKS {
                assert_eq!(span(part(count, BLOCKS, block), count), block..block + 1, "{count}");
            }
        }
    }

    #[test]
    fn the_solver_comes_to_equilibrium() {
        let beam = Facesim::generate(Size::Small);
        beam.run(&Serial);
        // Bent by fibres that are stronger above, its end goes up.
        let end = get(&beam.displacement, beam.mesh.nodes.len() - 1);
        assert!(end[1].abs() > 0.01 * SIDE, "{end:?}");
        let residual = beam.residual.iter().map(f64::abs).fold(0.0, f64::max);
        assert!(residual < 1e-3 * PULL * SIDE * SIDE, "{residual}");
    }
}
