//! Pipelines: items go through stages, some of which take one item at a time and in order.
//!
//! The number of items under way is bounded: the source is asked for another when one has left the
//! last stage. That bounds all queues, and the memory of a pipeline with unequal stages. (Navarro
//! et al., "Analytical modeling of pipeline parallelism", PACT 2009, compare this with a thread per
//! stage.)
//!
//! The thread that takes an item from the source goes with it from stage to stage, so the item
//! stays in its cache. At a serial stage that is not ready it leaves the item, and the worker that
//! makes the stage ready sends it on. Fast workers also take items for slow ones (`prefetch.rs`).
//!
//! Pipelines stand on scopes and mutexes and have no protocol of their own: one baton for asking
//! the source, tickets for items under way, and for each serial stage a queue of early items. No
//! lock is held while users' code runs but the stage's own, and no worker waits for that.

mod chain;
mod prefetch;
mod running;
mod stages;

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::Pool;
use crate::costs::Label;
use crate::scope::FirstError;
use crate::task::Declared;
use crate::team::Team;

use chain::{Chain, End, Named, Parallel, Serial, Start};
use running::RunningPipeline;

pub use stages::Stage;

/// Items under way by worker: enough that a worker at a serial stage that is not ready finds
/// another item. While a slow core has one item, faster ones do several and may have to wait for
/// it: a worker counts as many times as its core is faster than the slowest.
const IN_FLIGHT_PER_WORKER: f64 = 4.0;

/// Items under way, unless it is said.
fn in_flight(team: &Team) -> usize {
    let capacity =
        |kind| team.kinds.iter().find(|it| it.id == kind).map_or(0.0, |it| f64::from(it.capacity));
    let capacities = || team.places.iter().map(|place| capacity(place.kind));
    let slowest = capacities().fold(f64::INFINITY, f64::min).max(1.0);
    ((IN_FLIGHT_PER_WORKER * capacities().sum::<f64>() / slowest).round() as usize).max(1)
}

/// A pipeline that is being put together: see [`Pool::pipeline`]. `E` is what stages return that
/// may fail.
#[must_use = "a pipeline does nothing until `run`"]
pub struct Pipeline<'pool, I, C, E = Infallible> {
    pool: &'pool Pool,
    items: I,
    stages: C,
    in_flight: usize,
    errors: Arc<FirstError<E>>,
}

impl Pool {
    /// Items from `source` go through the stages that are added to it. The source is asked by one
    /// worker at a time.
    ///
    /// ```
    /// let mut lines = Vec::new();
    /// let pool = evenkeel_runtime::Pool::new()?;
    /// pool.pipeline(1..=3).parallel(|i| i * i).serial(|square| lines.push(square)).run();
    /// assert_eq!(lines, [1, 4, 9]);
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    pub fn pipeline<I>(&self, source: I) -> Pipeline<'_, I::IntoIter, Start<I::Item>>
    where
        I: IntoIterator<IntoIter: Send, Item: Send>,
    {
        self.try_pipeline(source)
    }

    /// As [`Pool::pipeline`], with stages that may fail ([`Pipeline::try_serial`],
    /// [`Pipeline::try_parallel`]), to be run by [`Pipeline::try_run`].
    ///
    /// ```
    /// let (mut sum, pool) = (0, evenkeel_runtime::Pool::new()?);
    /// let numbers =
    ///     pool.try_pipeline(["1", "2", "three", "4"]).try_parallel(|text| text.parse::<u32>());
    /// let result = numbers.serial(|number| sum += number).try_run();
    /// assert!(result.is_err() && sum <= 3);
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    pub fn try_pipeline<I, E>(&self, source: I) -> Pipeline<'_, I::IntoIter, Start<I::Item>, E>
    where
        I: IntoIterator<IntoIter: Send, Item: Send>,
    {
        let in_flight = in_flight(&self.registry.team);
        let (items, stages) = (source.into_iter(), Start(PhantomData));
        Pipeline { pool: self, items, stages, in_flight, errors: Arc::default() }
    }
}

impl<'pool, I, C, E> Pipeline<'pool, I, C, E>
where
    I: Iterator<Item = C::In> + Send,
    C: Chain,
{
    fn with<D>(self, stage: impl FnOnce(C) -> D) -> Pipeline<'pool, I, D, E> {
        let Self { pool, items, stages, in_flight, errors } = self;
        Pipeline { pool, items, stages: stage(stages), in_flight, errors }
    }

    /// A stage that takes one item at a time, in the order in which they came from the source.
    pub fn serial<U: Send, F: FnMut(C::Out) -> U + Send>(
        self,
        mut f: F,
    ) -> Pipeline<'pool, I, impl Chain<In = C::In, Out = U> + Named, E> {
        self.with(|before| Serial { before, f: move |item| Some(f(item)), label: Label::default() })
    }

    /// A stage that takes any number of items at a time, in any order.
    pub fn parallel<U: Send, F: Fn(C::Out) -> U + Send + Sync>(
        self,
        f: F,
    ) -> Pipeline<'pool, I, impl Chain<In = C::In, Out = U> + Named, E> {
        self.with(|before| Parallel {
            before,
            f: move |item| Some(f(item)),
            label: Label::default(),
        })
    }

    /// A stage as [`Pipeline::serial`] that may fail. The first error ends the pipeline; this stage
    /// has no item after one for which it failed.
    pub fn try_serial<U: Send, F: FnMut(C::Out) -> Result<U, E> + Send>(
        self,
        mut f: F,
    ) -> Pipeline<'pool, I, impl Chain<In = C::In, Out = U> + Named, E>
    where
        E: Send,
    {
        let errors = Arc::clone(&self.errors);
        let f = move |item| f(item).map_err(|error| errors.keep(error)).ok();
        self.with(|before| Serial { before, f, label: Label::default() })
    }

    /// A stage as [`Pipeline::parallel`] that may fail. The first error ends the pipeline.
    pub fn try_parallel<U: Send, F: Fn(C::Out) -> Result<U, E> + Send + Sync>(
        self,
        f: F,
    ) -> Pipeline<'pool, I, impl Chain<In = C::In, Out = U> + Named, E>
    where
        E: Send,
    {
        let errors = Arc::clone(&self.errors);
        let f = move |item| f(item).map_err(|error| errors.keep(error)).ok();
        self.with(|before| Parallel { before, f, label: Label::default() })
    }

    /// The stage's name in traces; its cost is learnt under that name ([`Pool::costs`]).
    pub fn label(mut self, name: &'static str) -> Self
    where
        C: Named,
    {
        self.stages.set_label(self.pool.label(name));
        self
    }

    /// How many items may be under way at a time (0 is taken as 1). Unless it is said, four by
    /// worker; where cores are unequal, four for one on the slowest kind and as many times more for
    /// others as these are faster.
    pub fn in_flight(mut self, items: usize) -> Self {
        self.in_flight = items.max(1);
        self
    }

    /// As [`Pipeline::run`]; the first error ends it: the source is not asked again, and items
    /// under way are dropped before their next stage.
    ///
    /// # Errors
    /// The first.
    pub fn try_run(self) -> Result<(), E> {
        let pipeline = RunningPipeline::new(
            self.items,
            self.in_flight,
            &self.pool.registry,
            self.stages.link(End),
        );
        Declared::unknown().during(|| self.pool.scope(|s| pipeline.feed(s.spawner())));
        self.errors.take()
    }
}

impl<I, C> Pipeline<'_, I, C>
where
    I: Iterator<Item = C::In> + Send,
    C: Chain,
{
    /// Runs until the source is at its end and all items have left the last stage; what that
    /// returns is dropped. A panic of a stage or of the source is resumed here; items under way by
    /// then are dropped.
    pub fn run(self) {
        let Ok(()) = self.try_run();
    }
}

impl<I: Iterator<Item: Send> + Send> Pipeline<'_, I, Start<I::Item>> {
    /// Runs through stages that are known when the program runs, and not before: as
    /// [`Pipeline::run`] does.
    ///
    /// ```
    /// use evenkeel_runtime::Stage;
    /// let mut lines = Vec::new();
    /// let print = Stage::serial(|i| {
    ///     lines.push(i);
    ///     i
    /// });
    /// let stages = vec![Stage::parallel(|i| i * i).label("square"), print];
    /// evenkeel_runtime::Pool::new()?.pipeline(1..=3).run_through(stages);
    /// assert_eq!(lines, [1, 4, 9]);
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    pub fn run_through(self, stages: Vec<Stage<'_, I::Item>>) {
        let pipeline = RunningPipeline::new(
            self.items,
            self.in_flight,
            &self.pool.registry,
            stages::link(stages, self.pool),
        );
        Declared::unknown().during(|| self.pool.scope(|s| pipeline.feed(s.spawner())));
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::KindId;

    use super::*;
    use crate::team::{KindOfCore, Place};

    #[test]
    fn more_is_under_way_where_fast_cores_may_have_to_wait_for_slow_ones() {
        let team = |capacities: &[u32]| {
            let kinds = || (0..).map(KindId).zip(capacities);
            Team {
                kinds: kinds()
                    .map(|(id, &capacity)| KindOfCore { id, name: String::new(), capacity })
                    .collect(),
                places: kinds().map(|(kind, _)| Place { kind, cpu: None }).collect(),
                lends: true,
            }
        };
        assert_eq!(
            [&[700, 700][..], &[1024, 341], &[0, 0]].map(|it| in_flight(&team(it))),
            [8, 16, 1]
        );
    }
}
