//! Stages, one behind the other.
//!
//! They are named from the first to the last, and linked from the last to the first, so that each
//! knows the next by its type: [`Chain`] is what has been named, [`Accept`] what has been linked.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Mutex;

use crate::costs::Label;
use crate::trace::What;
use crate::worker::Worker;

use super::running::{Flow, lock};

/// Stages that have been named.
pub trait Chain {
    /// Items that go into the first stage.
    type In: Send;
    /// Items that come out of the last stage.
    type Out: Send;
    /// How many there are.
    const COUNT: u32;
    /// All of them, with others behind them.
    type Linked<N: Accept<Self::Out>>: Accept<Self::In>;

    /// Puts others behind them.
    fn link<N: Accept<Self::Out>>(self, next: N) -> Self::Linked<N>;
}

/// A stage, and all behind it.
pub trait Accept<T: Send>: Send + Sync {
    /// Item number `number` from the source has come here.
    fn accept<'scope>(&'scope self, number: u64, item: T, flow: Flow<'scope>)
    where
        T: 'scope;
}

/// A stage as traces show it: its number, from 1, and its name.
#[derive(Clone, Copy)]
pub struct Shown {
    pub number: u32,
    pub label: Label,
}

impl Shown {
    /// Has it do with an item what it does. None: it failed, or another has; nothing more is to be
    /// done with any item that has not begun.
    fn run<U>(self, item: u64, flow: Flow<'_>, f: impl FnOnce() -> Option<U>) -> Option<U> {
        if flow.spawner.is_cancelled() {
            return None;
        }
        let out = Worker::with_current(|worker| {
            let what = || What::Stage(self.label, self.number, item);
            let _at_work = flow.prefetch.at_work(worker);
            let _time = worker.and_then(|worker| worker.time(self.label, what));
            f()
        });
        if out.is_none() {
            flow.spawner.cancel();
        }
        out
    }
}

/// No stage yet.
pub struct Start<T>(pub PhantomData<fn(T)>);

impl<T: Send> Chain for Start<T> {
    type In = T;
    type Out = T;
    const COUNT: u32 = 0;
    type Linked<N: Accept<T>> = N;

    fn link<N: Accept<T>>(self, next: N) -> N {
        next
    }
}

/// Behind the last stage.
pub struct End;

impl<T: Send> Accept<T> for End {
    fn accept<'scope>(&'scope self, _number: u64, item: T, flow: Flow<'scope>)
    where
        T: 'scope,
    {
        drop(item);
        flow.exit.leave(flow.spawner);
    }
}

/// Stages, the last of which can be given a name.
pub trait Named {
    /// Gives it to it.
    fn set_label(&mut self, label: Label);
}

impl<C, F> Named for Parallel<C, F> {
    fn set_label(&mut self, label: Label) {
        self.label = label;
    }
}

impl<C, F> Named for Serial<C, F> {
    fn set_label(&mut self, label: Label) {
        self.label = label;
    }
}

/// A parallel stage behind others.
pub struct Parallel<C, F> {
    pub before: C,
    pub f: F,
    pub label: Label,
}

/// A parallel stage with others behind it.
pub struct ParallelStage<T, U, F, N> {
    shown: Shown,
    f: F,
    next: N,
    types: PhantomData<fn(T) -> U>,
}

impl<T, U, F, N> ParallelStage<T, U, F, N> {
    /// A stage that calls `f`, with `next` behind it.
    pub const fn new(shown: Shown, f: F, next: N) -> Self {
        Self { shown, f, next, types: PhantomData }
    }
}

impl<C: Chain, U: Send, F: Fn(C::Out) -> Option<U> + Send + Sync> Chain for Parallel<C, F> {
    type In = C::In;
    type Out = U;
    const COUNT: u32 = C::COUNT + 1;
    type Linked<N: Accept<U>> = C::Linked<ParallelStage<C::Out, U, F, N>>;

    fn link<N: Accept<U>>(self, next: N) -> Self::Linked<N> {
        let shown = Shown { number: Self::COUNT, label: self.label };
        self.before.link(ParallelStage::new(shown, self.f, next))
    }
}

impl<T: Send, U: Send, F: Fn(T) -> Option<U> + Send + Sync, N: Accept<U>> Accept<T>
    for ParallelStage<T, U, F, N>
{
    fn accept<'scope>(&'scope self, number: u64, item: T, flow: Flow<'scope>)
    where
        T: 'scope,
    {
        if let Some(out) = self.shown.run(number, flow, || (self.f)(item)) {
            self.next.accept(number, out, flow);
        }
    }
}

/// A serial stage behind others.
pub struct Serial<C, F> {
    pub before: C,
    pub f: F,
    pub label: Label,
}

/// A serial stage with others behind it.
pub struct SerialStage<T, U, F, N> {
    shown: Shown,
    /// Locked by the worker that is at work here, one at a time: no worker waits for it.
    f: Mutex<F>,
    queue: Mutex<Queue<T>>,
    next: N,
    types: PhantomData<fn(T) -> U>,
}

impl<T, U, F, N> SerialStage<T, U, F, N> {
    /// A stage that calls `f`, with `next` behind it.
    pub const fn new(shown: Shown, f: F, next: N) -> Self {
        let queue = Queue { turn: 0, early: BTreeMap::new() };
        Self { shown, f: Mutex::new(f), queue: Mutex::new(queue), next, types: PhantomData }
    }
}

struct Queue<T> {
    /// Number of the item that is at work here, or has to come next.
    turn: u64,
    /// Items that came before their turn: as many as are under way at most.
    early: BTreeMap<u64, T>,
}

impl<C: Chain, U: Send, F: FnMut(C::Out) -> Option<U> + Send> Chain for Serial<C, F> {
    type In = C::In;
    type Out = U;
    const COUNT: u32 = C::COUNT + 1;
    type Linked<N: Accept<U>> = C::Linked<SerialStage<C::Out, U, F, N>>;

    fn link<N: Accept<U>>(self, next: N) -> Self::Linked<N> {
        let shown = Shown { number: Self::COUNT, label: self.label };
        self.before.link(SerialStage::new(shown, self.f, next))
    }
}

impl<T: Send, U: Send, F: FnMut(T) -> Option<U> + Send, N: Accept<U>> Accept<T>
    for SerialStage<T, U, F, N>
{
    fn accept<'scope>(&'scope self, number: u64, item: T, flow: Flow<'scope>)
    where
        T: 'scope,
    {
        {
            let mut queue = lock(&self.queue);
            if queue.turn != number {
                queue.early.insert(number, item);
                return;
            }
        }
        self.work(number, item, flow);
    }
}

impl<T: Send, U: Send, F: FnMut(T) -> Option<U> + Send, N: Accept<U>> SerialStage<T, U, F, N> {
    /// It is this item's turn.
    fn work<'scope>(&'scope self, number: u64, item: T, flow: Flow<'scope>) {
        // After a failed item no other has a turn.
        let Some(out) = self.shown.run(number, flow, || (*lock(&self.f))(item)) else { return };
        let next = {
            let mut queue = lock(&self.queue);
            queue.turn = number + 1;
            queue.early.remove(&(number + 1))
        };
        if let Some(next) = next {
            flow.spawner.spawn_untimed(move || self.work(number + 1, next, flow));
        }
        self.next.accept(number, out, flow);
    }
}
