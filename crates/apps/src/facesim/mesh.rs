//! The beam, cut into tetrahedra.

use std::ops::Range;

use evenkeel_model::SplitMix64;

use crate::vector::{Vector, cross, dot, plus};

/// Side of a brick of six tetrahedra, m.
pub(super) const SIDE: f64 = 0.01;

pub(super) struct Tetrahedron {
    /// Nodes.
    pub(super) corners: [usize; 4],
    /// Gradients of the shape functions, 1/m.
    pub(super) gradients: [Vector; 4],
    /// m^3.
    pub(super) volume: f64,
    /// Its position along the beam, from 0 to 1.
    pub(super) along: f64,
    /// Strength of its fibres, as a factor on the pull.
    pub(super) fibres: f64,
}

/// Nodes are numbered from the clamped end to the free one, and so are elements: neighbours are in
/// the same block or in the next.
pub(super) struct Mesh {
    /// Positions at rest, m.
    pub(super) nodes: Vec<Vector>,
    pub(super) elements: Vec<Tetrahedron>,
    /// The corners at each node: `corners[first[node]..first[node + 1]]`.
    first: Vec<usize>,
    corners: Vec<usize>,
}

impl Mesh {
    /// A mesh of this number of bricks along, up and across.
    pub(super) fn new([length, height, width]: [usize; 3]) -> Self {
        let index = |[x, y, z]: [usize; 3]| (x * (height + 1) + y) * (width + 1) + z;
        let grid = |[length, height, width]: [usize; 3]| {
            (0..length).flat_map(move |x| {
                (0..height).flat_map(move |y| (0..width).map(move |z| [x, y, z]))
            })
        };
        let nodes: Vec<Vector> = grid([length + 1, height + 1, width + 1])
            .map(|at| at.map(|steps| steps as f64 * SIDE))
            .collect();
        let mut random = SplitMix64::named(1, "facesim");
        let mut elements = Vec::new();
        for brick in grid([length, height, width]) {
            // Fibres differ from brick to brick and are stronger above the middle, so that the beam
            // bends.
            let fibres =
                if 2 * brick[1] < height { 0.5 } else { 1.0 } * (0.9 + 0.2 * random.unit());
            // Kuhn's subdivision: one tetrahedron for each order in which the axes lead from one
            // corner to the opposite one.
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
        Self { nodes, elements, first, corners: at_node.concat() }
    }

    /// The corners that meet at some nodes, each as 4 x element + corner.
    pub(super) fn corners_at(&self, nodes: Range<usize>) -> &[usize] {
        &self.corners[self.first[nodes.start]..self.first[nodes.end]]
    }
}

/// Gradients of the four functions that are linear in a tetrahedron, 1 at one corner and 0 at the
/// others; and its volume.
fn gradients([a, b, c, d]: [Vector; 4]) -> ([Vector; 4], f64) {
    let [u, v, w] = [b, c, d].map(|corner| plus(corner, -1.0, a));
    let determinant = dot(u, cross(v, w));
    let [b, c, d] =
        [cross(v, w), cross(w, u), cross(u, v)].map(|normal| normal.map(|part| part / determinant));
    ([std::array::from_fn(|axis| -b[axis] - c[axis] - d[axis]), b, c, d], determinant.abs() / 6.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tetrahedron_has_a_sixth_of_its_box_and_functions_that_add_up_to_one() {
        let (gradients, volume) =
            gradients([[0.0; 3], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]]);
        assert_eq!(volume, 4.0);
        assert_eq!(gradients[1], [0.5, 0.0, 0.0]);
        assert_eq!(
            gradients.into_iter().fold([0.0; 3], |sum, gradient| plus(sum, 1.0, gradient)),
            [0.0; 3]
        );
    }
}
