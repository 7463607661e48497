//! The frames as tasks with dependences between slabs.

use evenkeel_runtime::{Pool, Regions};

use super::Fluidanimate;
use super::sums::{add_number, add_vector};

impl Fluidanimate {
    /// Creates the frames as tasks. A task waits for those of the slabs that it touches: there is
    /// no barrier from the first frame to the last, and a slab may be a frame ahead of one far
    /// away.
    pub(super) fn frames_as_tasks(&self, pool: &Pool) {
        let count = self.slabs.len();
        let handles = || Regions::new(count, 1);
        let (slabs, leaving) = (handles(), handles());
        let (densities, border_densities, forces, border_forces) =
            (handles(), handles(), handles(), handles());
        let (own, with_next) = (|slab| slab..slab + 1, |slab| slab..slab + 2);
        let (before, around) = (
            |slab: usize| slab.saturating_sub(1)..slab,
            |slab: usize| slab.saturating_sub(1)..slab + 2,
        );
        pool.scope(|scope| {
            for _ in 0..self.frames {
                for slab in 0..count {
                    let (slabs, leaving) = (slabs.part(own(slab)), leaving.part(own(slab)));
                    scope
                        .task()
                        .updates(&slabs)
                        .writes(&leaving)
                        .label("leave")
                        .run(move || self.leave(slab));
                }
                for slab in 0..count {
                    let (slabs, leaving) = (slabs.part(own(slab)), leaving.part(around(slab)));
                    scope
                        .task()
                        .updates(&slabs)
                        .reads(&leaving)
                        .label("arrive")
                        .run(move || self.arrive(slab));
                }
                for slab in 0..count {
                    let (slabs, densities, forces) = (
                        slabs.part(with_next(slab)),
                        densities.part(own(slab)),
                        forces.part(own(slab)),
                    );
                    let (border_densities, border_forces) =
                        (border_densities.part(own(slab)), border_forces.part(own(slab)));
                    let task = scope.task().reads(&slabs).writes(&densities).writes(&forces);
                    task.writes(&border_densities).writes(&border_forces).label("densities").run(
                        move || {
                            self.clear(slab);
                            self.add_densities(slab);
                        },
                    );
                }
                for slab in 0..count {
                    let (densities, border_densities) =
                        (densities.part(own(slab)), border_densities.part(before(slab)));
                    scope.task().updates(&densities).reads(&border_densities).label("finish").run(
                        move || {
                            self.densities.add_border(slab, add_number);
                            self.finish_densities(slab);
                        },
                    );
                }
                for slab in 0..count {
                    let (slabs, densities) =
                        (slabs.part(with_next(slab)), densities.part(with_next(slab)));
                    let (forces, border_forces) =
                        (forces.part(own(slab)), border_forces.part(own(slab)));
                    let task = scope
                        .task()
                        .reads(&slabs)
                        .reads(&densities)
                        .updates(&forces)
                        .updates(&border_forces);
                    task.label("forces").run(move || self.add_forces(slab));
                }
                for slab in 0..count {
                    let (slabs, forces) = (slabs.part(own(slab)), forces.part(own(slab)));
                    let border_forces = border_forces.part(before(slab));
                    let task = scope.task().updates(&slabs).updates(&forces).reads(&border_forces);
                    task.label("advance").run(move || {
                        self.forces.add_border(slab, add_vector);
                        self.collide(slab);
                        self.advance(slab);
                    });
                }
            }
        });
    }
}
