//! A pipeline that runs: where its items come from, and how many are under way.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Spawner;
use crate::registry::Registry;

use super::chain::Accept;
use super::prefetch::Prefetch;

/// A source and the stages behind it. The worker with the *baton* may ask the source. There is one
/// baton: with a task that asks, or left here while as many items are under way as may be.
pub struct RunningPipeline<I: Iterator, A> {
    items: Mutex<Items<I>>,
    waiting: Mutex<Waiting<I::Item>>,
    prefetch: Prefetch,
    first: A,
}

struct Items<I> {
    iterator: I,
    taken: u64,
}

struct Waiting<T> {
    /// Tickets: how many more items may be under way.
    free: usize,
    /// True if the baton is here: the next ticket that is given back goes with it.
    baton: bool,
    /// Items, and their numbers, that have been taken for others, the first first: as many as there
    /// are tasks to begin with one ([`RunningPipeline::begin`]).
    prefetched: VecDeque<(u64, T)>,
}

/// What goes with an item from stage to stage.
#[derive(Clone, Copy)]
pub struct Flow<'scope> {
    /// For what is to be done besides.
    pub spawner: Spawner<'scope>,
    /// The item's way out.
    pub exit: &'scope dyn Exit,
    /// Told of workers that are at work in a stage.
    pub prefetch: &'scope Prefetch,
}

/// The end of the pipeline.
pub trait Exit: Sync {
    /// An item has left.
    fn leave<'scope>(&'scope self, spawner: Spawner<'scope>);
}

/// Locks data that is consistent even after a panic: a source that panicked is not asked again.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<I, A> RunningPipeline<I, A>
where
    I: Iterator<Item: Send> + Send,
    A: Accept<I::Item>,
{
    /// Nothing is under way; so many items may be, at least one.
    pub fn new(iterator: I, in_flight: usize, registry: &Registry, first: A) -> Self {
        // The first ticket goes with the first call of `feed`.
        let waiting = Waiting { free: in_flight - 1, baton: false, prefetched: VecDeque::new() };
        let items = Items { iterator, taken: 0 };
        Self {
            items: Mutex::new(items),
            waiting: Mutex::new(waiting),
            prefetch: Prefetch::new(registry),
            first,
        }
    }

    /// Called with the baton and a ticket: takes an item, passes the baton on, and goes with the
    /// item. If slow workers lack items, it takes some for them first: its own is then the one that
    /// has waited longest.
    pub fn feed<'scope>(&'scope self, spawner: Spawner<'scope>) {
        // No more is asked of the source once something has failed.
        while !spawner.is_cancelled()
            && let Some(item) = self.prefetch.watch(|| self.ask())
        {
            let (own, has_ticket) = {
                let mut waiting = lock(&self.waiting);
                waiting.prefetched.push_back(item);
                let free = waiting.free.checked_sub(1);
                waiting.baton = free.is_none();
                waiting.free = free.unwrap_or(0);
                let is_left = free.is_some()
                    && self.prefetch.may_have(waiting.prefetched.len(), spawner.registry());
                (if is_left { None } else { waiting.prefetched.pop_front() }, free.is_some())
            };
            let flow = Flow { spawner, exit: self, prefetch: &self.prefetch };
            let Some((number, item)) = own else {
                spawner.spawn_untimed(move || self.begin(flow));
                continue;
            };
            if has_ticket {
                spawner.spawn_untimed(move || self.feed(spawner));
            }
            return self.first.accept(number, item, flow);
        }
    }

    /// Goes with an item that was taken ahead.
    fn begin<'scope>(&'scope self, flow: Flow<'scope>) {
        let item = lock(&self.waiting).prefetched.pop_front();
        if let Some((number, item)) = item {
            self.first.accept(number, item, flow);
        }
    }

    /// The next item, and its number.
    fn ask(&self) -> Option<(u64, I::Item)> {
        // Only the worker with the baton comes here: none waits while the source works.
        let mut items = lock(&self.items);
        let item = items.iterator.next()?;
        items.taken += 1;
        Some((items.taken - 1, item))
    }
}

impl<I, A> Exit for RunningPipeline<I, A>
where
    I: Iterator<Item: Send> + Send,
    A: Accept<I::Item>,
{
    fn leave<'scope>(&'scope self, spawner: Spawner<'scope>) {
        let mut waiting = lock(&self.waiting);
        if std::mem::take(&mut waiting.baton) {
            drop(waiting);
            spawner.spawn_untimed(move || self.feed(spawner));
        } else {
            waiting.free += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::chain::{Chain as _, End, Start};
    use super::*;
    use crate::Pool;

    #[test]
    fn a_source_is_not_asked_once_something_has_failed() {
        let (pool, asked) = (Pool::builder().workers(1).build().unwrap(), AtomicUsize::new(0));
        let source = (0..3_u8).inspect(|_| _ = asked.fetch_add(1, Ordering::Relaxed));
        let pipeline =
            RunningPipeline::new(source, 2, &pool.registry, Start(PhantomData::<fn(u8)>).link(End));
        pool.scope(|s| {
            s.cancel();
            pipeline.feed(s.spawner());
        });
        assert_eq!(asked.load(Ordering::Relaxed), 0);
    }
}
