//! A pipeline that runs: where its items come from, and how many are under way.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Spawner;

use super::chain::Accept;

/// A source and the stages behind it. Whoever has the *baton* may ask the source. There is one: with a task that asks, or, while as many
/// items are under way as may be, laid down here.
pub struct Line<I, A> {
    items: Mutex<Items<I>>,
    tickets: Mutex<Tickets>,
    first: A,
}

struct Items<I> {
    iterator: I,
    taken: u64,
}

struct Tickets {
    /// How many more items may be under way.
    free: usize,
    /// Whether the baton has been laid down: the next ticket that is given back goes with it.
    baton: bool,
}

/// What goes with an item from stage to stage.
#[derive(Clone, Copy)]
pub struct Flow<'scope> {
    /// For what is to be done besides.
    pub spawner: Spawner<'scope>,
    /// The item's way out.
    pub exit: &'scope dyn Exit,
}

/// Where items leave.
pub trait Exit: Sync {
    /// An item has left.
    fn leave<'scope>(&'scope self, spawner: Spawner<'scope>);
}

/// What is locked here is whole at any time: a panic of the source leaves a source that is not asked again.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<I, A> Line<I, A>
where
    I: Iterator<Item: Send> + Send,
    A: Accept<I::Item>,
{
    /// Nothing is under way; so many items may be, at least one.
    pub const fn new(iterator: I, in_flight: usize, first: A) -> Self {
        // The first ticket is that of whoever calls `feed` first.
        let tickets = Tickets { free: in_flight - 1, baton: false };
        Self { items: Mutex::new(Items { iterator, taken: 0 }), tickets: Mutex::new(tickets), first }
    }

    /// With the baton and a ticket: takes an item, passes the baton on, and goes with the item.
    pub fn feed<'scope>(&'scope self, spawner: Spawner<'scope>) {
        let (number, item) = {
            // Only who has the baton comes here: nobody waits while the source works.
            let mut items = lock(&self.items);
            let Some(item) = items.iterator.next() else { return };
            items.taken += 1;
            (items.taken - 1, item)
        };
        let has_ticket = {
            let mut tickets = lock(&self.tickets);
            let free = tickets.free.checked_sub(1);
            tickets.baton = free.is_none();
            tickets.free = free.unwrap_or(0);
            free.is_some()
        };
        if has_ticket {
            spawner.spawn_untimed(move || self.feed(spawner));
        }
        self.first.accept(number, item, Flow { spawner, exit: self });
    }
}

impl<I, A> Exit for Line<I, A>
where
    I: Iterator<Item: Send> + Send,
    A: Accept<I::Item>,
{
    fn leave<'scope>(&'scope self, spawner: Spawner<'scope>) {
        let mut tickets = lock(&self.tickets);
        if std::mem::take(&mut tickets.baton) {
            drop(tickets);
            spawner.spawn_untimed(move || self.feed(spawner));
        } else {
            tickets.free += 1;
        }
    }
}
