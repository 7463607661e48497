//! facesim-like: a beam of soft tissue whose muscle fibres pull, frame by frame.
//!
//! The suite's program moves a face by its muscles: a finite-element mesh whose equilibrium is
//! found by Newton's method and conjugate gradients (Sifakis, Neverov and Fedkiw, "Automatic
//! Determination of Facial Muscle Activations from Sparse Motion Capture Marker Data", SIGGRAPH
//! 2005). Here it is a clamped beam of linear elastic tetrahedra: in one of them the displacements
//! u at the corners a, by the gradients g_a of the shape functions, give
//!
//! ```text
//! strain  e = sym(sum over a of u_a g_a^T),   stress  s = lambda tr(e) I + 2 mu e,
//! force on corner a = V s g_a
//! ```
//!
//! (Hughes, "The Finite Element Method", 1987). Fibres along the beam add a stress that runs
//! through it as a wave. Equilibrium is a linear system, which conjugate gradients solve (Hestenes
//! and Stiefel, Journal of Research of the NBS 1952), starting at the frame before. Linear
//! elasticity needs no Newton's method; the phases of the solver are the same.
//!
//! Shape: four phases per iteration, each with a barrier: forces of the elements; their sums at the
//! nodes; two updates of vectors. Sums of products are added in the order of the blocks.

mod elements;
mod mesh;
mod solver;

use std::ops::Range;

use evenkeel_runtime::{Pool, Regions};

use crate::app::Phases;
use crate::checksum::Checksum;
use crate::setting::Size;
use crate::shared::{Blocks, SharedF64s, part};
use crate::team::{Tasks, Team};
use mesh::Mesh;

/// Parts of the elements and of the nodes.
const BLOCKS: usize = 64;
/// Young's modulus, Pa, and Poisson's ratio of soft tissue, in round figures.
const YOUNG: f64 = 1e5;
const POISSON: f64 = 0.4;
/// Greatest stress of the fibres, Pa.
const PULL: f64 = 5e3;

/// A linear elastic material, the same in all directions (Lamé's constants, Pa).
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
    /// Displacements, m; remaining forces, N; search direction, m; and the forces by which the beam
    /// responds to it, N.
    displacement: SharedF64s,
    residual: SharedF64s,
    direction: SharedF64s,
    response: SharedF64s,
    residual_squares: Blocks<f64>,
    work: Blocks<f64>,
}

impl Phases for Facesim {
    fn generate(size: Size) -> Self {
        let (bricks, frames) = size.pick(([10, 2, 2], 2), ([32, 10, 10], 2), ([60, 20, 20], 3));
        let lambda = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
        Self::new(bricks, frames, Material { lambda, mu: YOUNG / (2.0 * (1.0 + POISSON)) })
    }

    fn run(&self, team: &impl Team) {
        for frame in 0..self.frames {
            self.solve(team, pull(frame), |keep| {
                team.each(BLOCKS, |block| self.turn(block, keep));
                team.each(BLOCKS, |block| {
                    self.strain(block, |element| self.elastic_stress(element, &self.direction))
                });
                team.each(BLOCKS, |block| self.respond(block));
            });
        }
    }

    /// In the three phases that find the response to a direction, each task waits for the blocks
    /// that touch its own. Sums of products need all blocks: before and after these three phases
    /// all tasks wait.
    fn tasks(&self, pool: &Pool) {
        let (directions, forces) = (Regions::new(BLOCKS, 1), Regions::new(BLOCKS, 1));
        let nodes_of: Vec<_> = (0..BLOCKS).map(|block| self.nodes_of(block)).collect();
        let elements_at: Vec<_> = (0..BLOCKS).map(|block| self.elements_at(block)).collect();
        for frame in 0..self.frames {
            self.solve(&Tasks(pool), pull(frame), |keep| {
                pool.scope(|scope| {
                    for block in 0..BLOCKS {
                        let directions = directions.part(block..block + 1);
                        scope
                            .task()
                            .writes(&directions)
                            .label("turn")
                            .run(move || self.turn(block, keep));
                    }
                    for (block, nodes) in nodes_of.iter().enumerate() {
                        let (directions, forces) =
                            (directions.part(nodes.clone()), forces.part(block..block + 1));
                        scope.task().reads(&directions).writes(&forces).label("strain").run(
                            move || {
                                self.strain(block, |element| {
                                    self.elastic_stress(element, &self.direction)
                                });
                            },
                        );
                    }
                    for (block, elements) in elements_at.iter().enumerate() {
                        let forces = forces.part(elements.clone());
                        scope
                            .task()
                            .reads(&forces)
                            .label("respond")
                            .run(move || self.respond(block));
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

    /// The blocks of nodes that a block of elements touches, and the blocks of elements that touch
    /// a block of nodes.
    fn nodes_of(&self, block: usize) -> Range<usize> {
        let elements = &self.mesh.elements[part(self.mesh.elements.len(), BLOCKS, block)];
        span(elements.iter().flat_map(|element| element.corners), self.mesh.nodes.len())
    }

    fn elements_at(&self, block: usize) -> Range<usize> {
        let corners = self.mesh.corners_at(part(self.mesh.nodes.len(), BLOCKS, block));
        span(corners.iter().map(|corner| corner / 4), self.mesh.elements.len())
    }
}

/// Stress of full fibres in a frame, Pa, by their position along the beam: a wave.
fn pull(frame: usize) -> impl Fn(f64) -> f64 + Sync {
    move |along| 0.5 * PULL * (1.0 + (std::f64::consts::TAU * (along - frame as f64 / 10.0)).sin())
}

/// The range from the first to the last block that contains some of `count` items.
fn span(items: impl Iterator<Item = usize> + Clone, count: usize) -> Range<usize> {
    let block_of = |item: usize| ((item + 1) * BLOCKS - 1) / count;
    match (items.clone().min(), items.max()) {
        (Some(first), Some(last)) => block_of(first)..block_of(last) + 1,
        _ => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_of_a_block_is_that_block() {
        for count in [64, 100, 1000] {
            for block in 0..BLOCKS {
                assert_eq!(span(part(count, BLOCKS, block), count), block..block + 1, "{count}");
            }
        }
    }
}
