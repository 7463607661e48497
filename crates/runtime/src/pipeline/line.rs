//! A pipeline that runs: where its items come from, and how many are under way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Spawner;
use crate::team::Team;
use crate::worker::Worker;

use super::chain::Accept;

/// A source and the stages behind it. Whoever has the *baton* may ask the source. There is one: with a task that asks, or, while as many
/// items are under way as may be, laid down here.
pub struct Line<I, A> {
    items: Mutex<Items<I>>,
    tickets: Mutex<Tickets>,
    ahead: Ahead,
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

/// Items that the fastest workers take from the source for slower ones: one for each of these. So the source, which is asked by one at a time and holds up all, is
/// asked by a slow core only where no fast one has come to it meanwhile.
pub struct Ahead {
    /// How many there may be.
    most: usize,
    /// How many there are: nobody has begun with them.
    here: AtomicUsize,
}

impl Ahead {
    /// What that is for these workers, whose kinds count or not.
    pub fn of(team: &Team, kinds_count: bool) -> Self {
        let most = team.places.iter().filter(|place| kinds_count && place.kind != team.kinds[0].id).count();
        Self { most, here: AtomicUsize::new(0) }
    }

    /// Whether this worker is to take one for others before its own.
    fn lacks(&self, team: &Team) -> bool {
        let is_fast = || Worker::with_current(|it| it.is_some_and(|it| it.kind == team.kinds[0].id));
        // Only who has the baton adds to them.
        self.here.load(Ordering::Relaxed) < self.most && is_fast()
    }
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
    pub const fn new(iterator: I, in_flight: usize, ahead: Ahead, first: A) -> Self {
        // The first ticket is that of whoever calls `feed` first.
        let tickets = Tickets { free: in_flight - 1, baton: false };
        Self { items: Mutex::new(Items { iterator, taken: 0 }), tickets: Mutex::new(tickets), ahead, first }
    }

    /// With the baton and a ticket: takes an item, passes the baton on, and goes with the item. Before that, where slower workers lack them, items for these.
    pub fn feed<'scope>(&'scope self, spawner: Spawner<'scope>) {
        let flow = Flow { spawner, exit: self };
        while let Some((number, item)) = self.ask() {
            let has_ticket = self.take_ticket();
            if !has_ticket || !self.ahead.lacks(spawner.team()) {
                if has_ticket {
                    spawner.spawn_untimed(move || self.feed(spawner));
                }
                return self.first.accept(number, item, flow);
            }
            self.ahead.here.fetch_add(1, Ordering::Relaxed);
            spawner.spawn_untimed(move || {
                self.ahead.here.fetch_sub(1, Ordering::Relaxed);
                self.first.accept(number, item, flow);
            });
        }
    }

    /// The next item, and its number.
    fn ask(&self) -> Option<(u64, I::Item)> {
        // Only who has the baton comes here: nobody waits while the source works.
        let mut items = lock(&self.items);
        let item = items.iterator.next()?;
        items.taken += 1;
        Some((items.taken - 1, item))
    }

    /// For the next item; the baton is laid down where there is none.
    fn take_ticket(&self) -> bool {
        let mut tickets = lock(&self.tickets);
        let free = tickets.free.checked_sub(1);
        tickets.baton = free.is_none();
        tickets.free = free.unwrap_or(0);
        free.is_some()
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
