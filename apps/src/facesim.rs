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

use evenkeel_workload::SplitMix64;

use crate::app::{Phases, Size};
use crate::checksum::Checksum;
use crate::shared::{Blocks, SharedF64s, part};
use crate::team::Team;
use crate::vector::{Vector, cross, dot, plus, square};

/// Parts of the elements and of the nodes.
const BLOCKS: usize = 64;
/// Side of a brick of six tetrahedra, m.
const SIDE: f64 = 0.01;
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

struct Tetrahedron {
    corners: [usize; 4],
    /// Of the shape functions, 1/m.
    gradients: [Vector; 4],
    /// m^3.
    volume: f64,
    /// How far along the beam it is, from 0 to 1.
    along: f64,
    /// How much of the pull its fibres have.
    fibres: f64,
}

/// The beam. Vectors have three numbers a node, forces of the elements three a corner.
pub struct Facesim {
    frames: usize,
    material: Material,
    nodes: Vec<Vector>,
    elements: Vec<Tetrahedron>,
    /// The corners at each node: `corners[first[node]..first[node + 1]]`, as 4 x element + corner.
    first: Vec<usize>,
    corners: Vec<usize>,
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
        let (bricks, frames) = size.pick(([10, 2, 2], 2), ([24, 6, 6], 3), ([40, 8, 8], 5));
        let lambda = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
        Self::new(bricks, frames, Material { lambda, mu: YOUNG / (2.0 * (1.0 + POISSON)) })
    }

    fn run(&self, team: &impl Team) {
        for frame in 0..self.frames {
            self.solve(team, |along| {
                let phase = along - frame as f64 / 10.0;
                0.5 * PULL * (1.0 + (std::f64::consts::TAU * phase).sin())
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
    fn new([length, height, width]: [usize; 3], frames: usize, material: Material) -> Self {
        let index = |[x, y, z]: [usize; 3]| (x * (height + 1) + y) * (width + 1) + z;
        let grid = |[length, height, width]: [usize; 3]| {
            (0..length).flat_map(move |x| (0..height).flat_map(move |y| (0..width).map(move |z| [x, y, z])))
        };
        let nodes: Vec<Vector> =
            grid([length + 1, height + 1, width + 1]).map(|at| at.map(|steps| steps as f64 * SIDE)).collect();
        let mut random = SplitMix64::named(1, "facesim");
        let mut elements = Vec::new();
        for brick in grid([length, height, width]) {
            // Fibres differ from brick to brick, above the middle they are stronger: the beam bends.
            let fibres = if 2 * brick[1] < height { 0.5 } else { 1.0 } * (0.9 + 0.2 * random.unit());
            // Kuhn's subdivision: one tetrahedron for each order in which the axes lead from one corner to the opposite one.
            for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                let mut at = brick;
                let mut corners = [index(at); 4];
                for (corner, axis) in corners[1..].iter_mut().zip(axes) {
                    at[axis] += 1;
                    *corner = index(at);
                }
                let (gradients, volume) = gradients(corners.map(|corner| nodes[corner]));
                let along = (brick[0] as f64 + 0.5) / length as f64;
                elements.push(Tetrahedron { corners, gradients, volume, along, fibres });
            }
        }
        let mut at_node = vec![Vec::new(); nodes.len()];
        for (element, Tetrahedron { corners, .. }) in elements.iter().enumerate() {
            for (corner, &node) in corners.iter().enumerate() {
                at_node[node].push(4 * element + corner);
            }
        }
        let mut first = vec![0];
        first.extend(at_node.iter().scan(0, |end, corners| {
            *end += corners.len();
            Some(*end)
        }));
        let vector = || SharedF64s::zeros(3 * nodes.len());
        Self {
            frames,
            material,
            first,
            corners: at_node.concat(),
            corner_forces: SharedF64s::zeros(12 * elements.len()),
            displacement: vector(),
            residual: vector(),
            direction: vector(),
            response: vector(),
            residual_squares: Blocks::new([0.0; BLOCKS]),
            work: Blocks::new([0.0; BLOCKS]),
            nodes,
            elements,
        }
    }

    /// Finds the displacements at which all nodes that can move are in equilibrium. `pull` is the stress of full fibres, Pa, by how far
    /// along the beam they are.
    fn solve(&self, team: &impl Team, pull: impl Fn(f64) -> f64 + Sync) {
        let Self { displacement, residual, direction, response, .. } = self;
        let scale = {
            self.each_element(team, |element| self.active_stress(element, &pull));
            self.each_node(team, &self.residual_squares, |node| square(self.force_at(node)));
            team.agree(|| self.residual_squares.sum())
        };
        self.each_element(team, |element| {
            let (elastic, active) = (self.elastic_stress(element, displacement), self.active_stress(element, &pull));
            std::array::from_fn(|row| std::array::from_fn(|column| elastic[row][column] + active[row][column]))
        });
        self.each_node(team, &self.residual_squares, |node| {
            let remaining = self.force_at(node).map(|force| -force);
            put(residual, node, remaining);
            put(direction, node, remaining);
            square(remaining)
        });
        let mut squares = team.agree(|| self.residual_squares.sum());
        for _ in 0..MAX_ITERATIONS {
            if squares <= TOLERANCE * TOLERANCE * scale {
                return;
            }
            self.each_element(team, |element| self.elastic_stress(element, direction));
            self.each_node(team, &self.work, |node| {
                let force = self.force_at(node);
                put(response, node, force);
                dot(force, get(direction, node))
            });
            // Every member adds the blocks up itself: the next phase does not write them.
            let step = squares / self.work.sum();
            self.each_node(team, &self.residual_squares, |node| {
                put(displacement, node, plus(get(displacement, node), step, get(direction, node)));
                let remaining = plus(get(residual, node), -step, get(response, node));
                put(residual, node, remaining);
                square(remaining)
            });
            let before = std::mem::replace(&mut squares, self.residual_squares.sum());
            team.each(BLOCKS, |block| {
                for node in part(self.nodes.len(), BLOCKS, block) {
                    put(direction, node, plus(get(residual, node), squares / before, get(direction, node)));
                }
            });
        }
    }

    /// A phase over the elements: the forces on their corners from the stress in them.
    fn each_element(&self, team: &impl Team, stress: impl Fn(&Tetrahedron) -> Matrix + Sync) {
        team.each(BLOCKS, |block| {
            for index in part(self.elements.len(), BLOCKS, block) {
                let element = &self.elements[index];
                let stress = stress(element);
                for (corner, &gradient) in element.gradients.iter().enumerate() {
                    put(&self.corner_forces, 4 * index + corner, stress.map(|row| element.volume * dot(row, gradient)));
                }
            }
        });
    }

    /// A phase over the nodes: what `body` gives for them is added up per block.
    fn each_node(&self, team: &impl Team, sums: &Blocks<f64>, body: impl Fn(usize) -> f64 + Sync) {
        team.each(BLOCKS, |block| *sums.write(block) = part(self.nodes.len(), BLOCKS, block).map(&body).sum());
    }

    /// Of all elements at a node; none where the beam is clamped, whose nodes stay where they are.
    fn force_at(&self, node: usize) -> Vector {
        if self.nodes[node][0] == 0.0 {
            return [0.0; 3];
        }
        let corners = &self.corners[self.first[node]..self.first[node + 1]];
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

/// Gradients of the four functions that are linear in a tetrahedron, 1 at one corner and 0 at the others; and its volume.
fn gradients([a, b, c, d]: [Vector; 4]) -> ([Vector; 4], f64) {
    let [u, v, w] = [b, c, d].map(|corner| plus(corner, -1.0, a));
    let determinant = dot(u, cross(v, w));
    let [b, c, d] = [cross(v, w), cross(w, u), cross(u, v)].map(|normal| normal.map(|part| part / determinant));
    ([std::array::from_fn(|axis| -b[axis] - c[axis] - d[axis]), b, c, d], determinant.abs() / 6.0)
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
    use super::*;
    use crate::team::Serial;

    #[test]
    fn a_tetrahedron_has_a_sixth_of_its_box_and_functions_that_add_up_to_one() {
        let (gradients, volume) = gradients([[0.0; 3], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]]);
        assert_eq!(volume, 4.0);
        assert_eq!(gradients[1], [0.5, 0.0, 0.0]);
        assert_eq!(gradients.into_iter().fold([0.0; 3], |sum, gradient| plus(sum, 1.0, gradient)), [0.0; 3]);
    }

    #[test]
    fn a_beam_that_does_not_bulge_shortens_by_stress_over_modulus() {
        let mut beam = Facesim::new([6, 2, 2], 1, Material { lambda: 0.0, mu: 0.5 * YOUNG });
        for element in &mut beam.elements {
            element.fibres = 1.0;
        }
        beam.solve(&Serial, |_| 0.01 * YOUNG);
        for (node, at) in beam.nodes.iter().enumerate() {
            let expected = [-0.01 * at[0], 0.0, 0.0];
            let miss = square(plus(get(&beam.displacement, node), -1.0, expected)).sqrt();
            assert!(miss < 1e-5 * SIDE, "{at:?}: {miss}");
        }
    }

    #[test]
    fn the_solver_comes_to_equilibrium() {
        let beam = Facesim::generate(Size::Small);
        beam.run(&Serial);
        // Bent by fibres that are stronger above, its end goes up.
        let end = get(&beam.displacement, beam.nodes.len() - 1);
        assert!(end[1].abs() > 0.01 * SIDE, "{end:?}");
        let residual = beam.residual.iter().map(f64::abs).fold(0.0, f64::max);
        assert!(residual < 1e-3 * PULL * SIDE * SIDE, "{residual}");
    }
}
