//! Stresses of elements, and the resulting forces on nodes.

use super::mesh::Tetrahedron;
use super::{BLOCKS, Facesim, Material};
use crate::shared::{SharedF64s, part};
use crate::vector::{Vector, dot, plus};

pub(super) type Matrix = [Vector; 3];

impl Facesim {
    /// Computes the forces of a block of elements on their corners from the stress in them.
    pub(super) fn strain(&self, block: usize, stress: impl Fn(&Tetrahedron) -> Matrix) {
        for index in part(self.mesh.elements.len(), BLOCKS, block) {
            let element = &self.mesh.elements[index];
            let stress = stress(element);
            for (corner, &gradient) in element.gradients.iter().enumerate() {
                put(
                    &self.corner_forces,
                    4 * index + corner,
                    stress.map(|row| element.volume * dot(row, gradient)),
                );
            }
        }
    }

    /// The force of all elements at a node; zero at the clamped end, whose nodes do not move.
    pub(super) fn force_at(&self, node: usize) -> Vector {
        if self.mesh.nodes[node][0] == 0.0 {
            return [0.0; 3];
        }
        let corners = self.mesh.corners_at(node..node + 1);
        corners
            .iter()
            .fold([0.0; 3], |sum, &corner| plus(sum, 1.0, get(&self.corner_forces, corner)))
    }

    pub(super) fn elastic_stress(
        &self,
        element: &Tetrahedron,
        displacement: &SharedF64s,
    ) -> Matrix {
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
                mu * (slope[row][column] + slope[column][row])
                    + if row == column { pressure } else { 0.0 }
            })
        })
    }

    pub(super) fn active_stress(&self, element: &Tetrahedron, pull: impl Fn(f64) -> f64) -> Matrix {
        [[pull(element.along) * element.fibres, 0.0, 0.0], [0.0; 3], [0.0; 3]]
    }
}

pub(super) fn get(vectors: &SharedF64s, index: usize) -> Vector {
    std::array::from_fn(|axis| vectors.get(3 * index + axis))
}

pub(super) fn put(vectors: &SharedF64s, index: usize, vector: Vector) {
    for (axis, number) in vector.into_iter().enumerate() {
        vectors.set(3 * index + axis, number);
    }
}
