//! The frames as tasks with dependences between slabs.

use std::ops::Range;

use evenkeel_runtime::{Pool, Regions, Scope};

use super::Fluidanimate;
use super::sums::{add_number, add_vector};

/// What tasks declare that they touch, by slab.
struct Touched {
    slabs: Regions,
    leaving: Regions,
    densities: Regions,
    border_densities: Regions,
    forces: Regions,
    border_forces: Regions,
}

impl Touched {
    fn new(count: usize) -> Self {
        let handles = || Regions::new(count, 1);
        Self {
            slabs: handles(),
            leaving: handles(),
            densities: handles(),
            border_densities: handles(),
            forces: handles(),
            border_forces: handles(),
        }
    }
}

const fn own(slab: usize) -> Range<usize> {
    slab..slab + 1
}

const fn with_next(slab: usize) -> Range<usize> {
    slab..slab + 2
}

const fn before(slab: usize) -> Range<usize> {
    slab.saturating_sub(1)..slab
}

const fn around(slab: usize) -> Range<usize> {
    slab.saturating_sub(1)..slab + 2
}

impl Fluidanimate {
    /// Creates the frames as tasks. A task waits for those of the slabs that it touches: there is
    /// no barrier from the first frame to the last, and a slab may be a frame ahead of one far
    /// away.
    pub(super) fn frames_as_tasks(&self, pool: &Pool) {
        let touched = Touched::new(self.slabs.len());
        pool.scope(|scope| {
            for _ in 0..self.frames {
                self.rebuild_as_tasks(scope, &touched);
                self.densities_as_tasks(scope, &touched);
                self.forces_as_tasks(scope, &touched);
                self.advance_as_tasks(scope, &touched);
            }
        });
    }

    /// Tasks that bring particles into the slabs where they are now.
    fn rebuild_as_tasks<'env>(&'env self, scope: &Scope<'_, 'env>, touched: &Touched) {
        for slab in 0..self.slabs.len() {
            let slabs = touched.slabs.part(own(slab));
            let leaving = touched.leaving.part(own(slab));
            scope
                .task()
                .updates(&slabs)
                .writes(&leaving)
                .label("leave")
                .run(move || self.leave(slab));
        }
        for slab in 0..self.slabs.len() {
            let slabs = touched.slabs.part(own(slab));
            let leaving = touched.leaving.part(around(slab));
            scope
                .task()
                .updates(&slabs)
                .reads(&leaving)
                .label("arrive")
                .run(move || self.arrive(slab));
        }
    }

    fn densities_as_tasks<'env>(&'env self, scope: &Scope<'_, 'env>, touched: &Touched) {
        for slab in 0..self.slabs.len() {
            let slabs = touched.slabs.part(with_next(slab));
            let densities = touched.densities.part(own(slab));
            let forces = touched.forces.part(own(slab));
            let border_densities = touched.border_densities.part(own(slab));
            let border_forces = touched.border_forces.part(own(slab));
            let task = scope.task().reads(&slabs).writes(&densities).writes(&forces);
            task.writes(&border_densities).writes(&border_forces).label("densities").run(
                move || {
                    self.clear(slab);
                    self.add_densities(slab);
                },
            );
        }
        for slab in 0..self.slabs.len() {
            let densities = touched.densities.part(own(slab));
            let border_densities = touched.border_densities.part(before(slab));
            scope.task().updates(&densities).reads(&border_densities).label("finish").run(
                move || {
                    self.densities.add_border(slab, add_number);
                    self.finish_densities(slab);
                },
            );
        }
    }

    fn forces_as_tasks<'env>(&'env self, scope: &Scope<'_, 'env>, touched: &Touched) {
        for slab in 0..self.slabs.len() {
            let slabs = touched.slabs.part(with_next(slab));
            let densities = touched.densities.part(with_next(slab));
            let forces = touched.forces.part(own(slab));
            let border_forces = touched.border_forces.part(own(slab));
            let task = scope.task().reads(&slabs).reads(&densities);
            task.updates(&forces)
                .updates(&border_forces)
                .label("forces")
                .run(move || self.add_forces(slab));
        }
    }

    fn advance_as_tasks<'env>(&'env self, scope: &Scope<'_, 'env>, touched: &Touched) {
        for slab in 0..self.slabs.len() {
            let slabs = touched.slabs.part(own(slab));
            let forces = touched.forces.part(own(slab));
            let border_forces = touched.border_forces.part(before(slab));
            let task = scope.task().updates(&slabs).updates(&forces).reads(&border_forces);
            task.label("advance").run(move || {
                self.forces.add_border(slab, add_vector);
                self.collide(slab);
                self.advance(slab);
            });
        }
    }
}
