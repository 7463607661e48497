//! Pipelines of pinned threads, as the suite builds them: a thread per core for each stage, bounded
//! queues between the stages.

use std::cell::RefCell;
use std::thread::{Scope, ScopedJoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::team::{PinError, pin};

/// The most items that wait between two stages.
pub const QUEUE: usize = 64;

/// The threads of a pipeline, in a scope that lets them borrow from the app.
pub struct Crew<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    cpus: &'env [Option<u32>],
    threads: RefCell<Vec<ScopedJoinHandle<'scope, Result<(), PinError>>>>,
}

impl<'scope, 'env> Crew<'scope, 'env> {
    /// A crew without threads yet. They will run on these CPUs, at least one.
    pub fn new(scope: &'scope Scope<'scope, 'env>, cpus: &'env [Option<u32>]) -> Self {
        Self { scope, cpus, threads: RefCell::default() }
    }

    /// The first stage: one thread that goes through `items`.
    pub fn source<T: Send + 'scope>(
        &self,
        items: impl Iterator<Item = T> + Send + 'scope,
    ) -> Receiver<T> {
        let (sender, receiver) = bounded(QUEUE);
        self.start(self.cpus[0], move || pass_on(items, &sender));
        receiver
    }

    /// Adds a stage in the middle: on each CPU a thread that turns an item into the next one. Items
    /// may overtake each other.
    pub fn stage<T: Send + 'scope, U: Send + 'scope>(
        &self,
        items: Receiver<T>,
        work: impl Fn(T) -> U + Clone + Send + 'scope,
    ) -> Receiver<U> {
        let (sender, receiver) = bounded(QUEUE);
        for &cpu in self.cpus {
            let (items, sender, work) = (items.clone(), sender.clone(), work.clone());
            self.start(cpu, move || pass_on(items.iter().map(work), &sender));
        }
        receiver
    }

    /// Adds the last stage: one thread that takes the items as they come.
    pub fn sink<T: Send + 'scope>(
        &self,
        items: Receiver<T>,
        mut take: impl FnMut(T) + Send + 'scope,
    ) {
        self.start(self.cpus[self.cpus.len() - 1], move || items.iter().for_each(&mut take));
    }

    /// Waits until all stages have ended.
    ///
    /// # Errors
    /// A thread could not be pinned; then items are missing.
    pub fn join(self) -> Result<(), PinError> {
        let mut threads = self.threads.into_inner().into_iter();
        threads.try_for_each(|thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// A thread that cannot be pinned ends at once. It drops its queues then, so that no other
    /// thread waits for it.
    fn start(&self, cpu: Option<u32>, body: impl FnOnce() + Send + 'scope) {
        let thread = self.scope.spawn(move || pin(cpu).map(|()| body()));
        self.threads.borrow_mut().push(thread);
    }
}

/// Passes items on until there are no more, or the receiver has gone.
fn pass_on<T>(mut items: impl Iterator<Item = T>, to: &Sender<T>) {
    items.all(|item| to.send(item).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(cpus: &[Option<u32>]) -> Result<Vec<u32>, PinError> {
        let mut taken = Vec::new();
        std::thread::scope(|scope| {
            let crew = Crew::new(scope, cpus);
            let numbers = crew.source(0..1000);
            let doubled = crew.stage(numbers, |number| 2 * number);
            crew.sink(doubled, |number| taken.push(number));
            crew.join()
        })?;
        taken.sort_unstable();
        Ok(taken)
    }

    fn first_cpu() -> Option<u32> {
        evenkeel_runtime::Pool::new().unwrap().places()[0].cpu
    }

    #[test]
    fn every_item_comes_through_once() {
        let cpu = first_cpu();
        for threads in [1, 2, 5] {
            assert_eq!(
                doubled(&vec![cpu; threads]).unwrap(),
                (0..2000).step_by(2).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_nobody_waits() {
        for cpus in [[first_cpu(), Some(1000)], [Some(1000), first_cpu()]] {
            assert_eq!(doubled(&cpus).unwrap_err().cpu, 1000);
        }
    }
}
