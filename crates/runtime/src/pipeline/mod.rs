//! Pipelines: items go through stages, some of which take one item at a time and in order.
//!
//! So many items are under way at most: the source is not asked for another before one has left the last stage. That bounds all queues, and with
//! them the memory of a pipeline whose stages are not equally fast. The thread that takes an item from the source goes with it from stage to
//! stage, so it stays in its cache; only where it meets a serial stage that is not ready for it, it leaves the item there, and whoever makes
//! the stage ready sends it on. (Navarro et al., "Analytical modeling of pipeline parallelism", PACT 2009, compare this with a thread per
//! stage.)

mod chain;
mod line;
mod stages;

use std::marker::PhantomData;

use crate::Pool;

use chain::{Chain, End, Parallel, Serial, Start};
use line::Line;

pub use stages::Stage;

/// Items under way by worker: enough that a worker who meets a serial stage that is not ready finds another item.
const IN_FLIGHT_PER_WORKER: usize = 4;

/// A pipeline that is being put together: see [`Pool::pipeline`].
#[must_use = "a pipeline does nothing until `run`"]
pub struct Pipeline<'pool, I, C> {
    pool: &'pool Pool,
    items: I,
    stages: C,
    in_flight: usize,
}

impl Pool {
    /// Items from `source` go through the stages that are added to it. The source is asked by one worker at a time.
    ///
    /// ```
    /// let mut lines = Vec::new();
    /// let pool = evenkeel::Pool::new()?;
    /// pool.pipeline(1..=3).parallel(|i| i * i).serial(|square| lines.push(square)).run();
    /// assert_eq!(lines, [1, 4, 9]);
    /// # Ok::<(), evenkeel::PoolError>(())
    /// ```
    pub fn pipeline<I>(&self, source: I) -> Pipeline<'_, I::IntoIter, Start<I::Item>>
    where
        I: IntoIterator<IntoIter: Send, Item: Send>,
    {
        let in_flight = IN_FLIGHT_PER_WORKER * self.workers();
        Pipeline { pool: self, items: source.into_iter(), stages: Start(PhantomData), in_flight }
    }
}

impl<'pool, I, C> Pipeline<'pool, I, C>
where
    I: Iterator<Item = C::In> + Send,
    C: Chain,
{
    /// A stage that takes one item at a time, in the order in which they came from the source.
    pub fn serial<U: Send, F: FnMut(C::Out) -> U + Send>(self, f: F) -> Pipeline<'pool, I, Serial<C, F>> {
        let Self { pool, items, stages, in_flight } = self;
        Pipeline { pool, items, stages: Serial { before: stages, f }, in_flight }
    }

    /// A stage that takes any number of items at a time, in any order.
    pub fn parallel<U: Send, F: Fn(C::Out) -> U + Send + Sync>(self, f: F) -> Pipeline<'pool, I, Parallel<C, F>> {
        let Self { pool, items, stages, in_flight } = self;
        Pipeline { pool, items, stages: Parallel { before: stages, f }, in_flight }
    }

    /// How many items may be under way at a time (0 is taken as 1). Unless it is said, four by worker.
    pub fn in_flight(mut self, items: usize) -> Self {
        self.in_flight = items.max(1);
        self
    }

    /// Runs until the source is at its end and all items have left the last stage; what that returns is dropped. A panic of a stage or of
    /// the source is resumed here; items under way by then are dropped.
    pub fn run(self) {
        let line = Line::new(self.items, self.in_flight, self.stages.link(End));
        self.pool.scope(|s| line.feed(s.spawner()));
    }
}

impl<I: Iterator<Item: Send> + Send> Pipeline<'_, I, Start<I::Item>> {
    /// Runs through stages that are known when the program runs, and not before: as [`Pipeline::run`] does.
    ///
    /// ```
    /// use evenkeel::Stage;
    /// let mut lines = Vec::new();
    /// let print = Stage::Serial(Box::new(|i| {
    ///     lines.push(i);
    ///     i
    /// }));
    /// let stages = vec![Stage::Parallel(Box::new(|i| i * i)), print];
    /// evenkeel::Pool::new()?.pipeline(1..=3).run_through(stages);
    /// assert_eq!(lines, [1, 4, 9]);
    /// # Ok::<(), evenkeel::PoolError>(())
    /// ```
    pub fn run_through(self, stages: Vec<Stage<'_, I::Item>>) {
        let line = Line::new(self.items, self.in_flight, stages::link(stages));
        self.pool.scope(|s| line.feed(s.spawner()));
    }
}
