//! Conjugate gradients, in phases.

use super::elements::{get, put};
use super::{BLOCKS, Facesim};
use crate::shared::{Blocks, part};
use crate::team::Team;
use crate::vector::{dot, plus, square};

/// The solver stops at this ratio of remaining forces to those without any displacement.
const TOLERANCE: f64 = 1e-6;
const MAX_ITERATIONS: usize = 2_000;

impl Facesim {
    /// Finds the displacements at which all nodes that can move are in equilibrium. `pull` is the
    /// stress of full fibres, Pa, by their position along the beam. `respond` gets the part of the
    /// old direction to keep; it turns the direction and finds the response to it.
    pub(super) fn solve(
        &self,
        team: &impl Team,
        pull: impl Fn(f64) -> f64 + Sync,
        respond: impl Fn(f64),
    ) {
        let Self { displacement, residual, direction, response, .. } = self;
        team.each(BLOCKS, |block| self.strain(block, |element| self.active_stress(element, &pull)));
        self.each_node(team, &self.residual_squares, |node| square(self.force_at(node)));
        let without_displacement = team.agree(|| self.residual_squares.sum());
        team.each(BLOCKS, |block| {
            self.strain(block, |element| {
                let (elastic, active) = (
                    self.elastic_stress(element, displacement),
                    self.active_stress(element, &pull),
                );
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
            // Every member adds the blocks up itself: the next phase does not write to them.
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

    /// Turns a block of the direction: the remaining forces plus `keep` times the old direction.
    pub(super) fn turn(&self, block: usize, keep: f64) {
        for node in part(self.mesh.nodes.len(), BLOCKS, block) {
            put(
                &self.direction,
                node,
                plus(get(&self.residual, node), keep, get(&self.direction, node)),
            );
        }
    }

    /// Computes the forces on a block of nodes by which the beam responds to the direction, and
    /// their work along it.
    pub(super) fn respond(&self, block: usize) {
        let work = part(self.mesh.nodes.len(), BLOCKS, block).map(|node| {
            put(&self.response, node, self.force_at(node));
            dot(get(&self.response, node), get(&self.direction, node))
        });
        *self.work.write(block) = work.sum();
    }

    /// A phase over the nodes: the values of `body` are added up per block.
    fn each_node(&self, team: &impl Team, sums: &Blocks<f64>, body: impl Fn(usize) -> f64 + Sync) {
        team.each(BLOCKS, |block| {
            *sums.write(block) = part(self.mesh.nodes.len(), BLOCKS, block).map(&body).sum()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::mesh::SIDE;
    use super::super::{Material, PULL, YOUNG};
    use super::*;
    use crate::app::Phases as _;
    use crate::setting::Size;
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
                (0..BLOCKS).for_each(|block| {
                    beam.strain(block, |element| beam.elastic_stress(element, &beam.direction))
                });
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
    fn the_solver_comes_to_equilibrium() {
        let beam = Facesim::generate(Size::Small);
        beam.run(&Serial);
        // Fibres are stronger above the middle, so the beam's end goes up.
        let end = get(&beam.displacement, beam.mesh.nodes.len() - 1);
        assert!(end[1].abs() > 0.01 * SIDE, "{end:?}");
        let residual = beam.residual.iter().map(f64::abs).fold(0.0, f64::max);
        assert!(residual < 1e-3 * PULL * SIDE * SIDE, "{residual}");
    }
}
