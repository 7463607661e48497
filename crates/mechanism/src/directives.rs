//! Turns directives into method calls, with ids that exist.

use std::rc::Rc;

use evenkeel_machine::{CoreId, Nanos, PerKind};
use evenkeel_policy::{Clock, Directive, Directives, Order, Preemption, QueueId, Slice, ThreadId};

use crate::{Guests, Service};

/// An id in a directive that the mechanism does not have, or no longer has.
///
/// A live policy may be late: a thread can end between the event and the answer. So this is no
/// error of the policy, and the directive has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// No such thread, or one that is not the policy's to place.
    #[error("thread {} is not there", .0.0)]
    Thread(ThreadId),
    /// No such queue.
    #[error("queue {} has not been made", .0.0)]
    Queue(QueueId),
    /// No such core.
    #[error("core {} is not the machine's", .0.0)]
    Core(CoreId),
}

/// A mechanism's methods for directives, one for each.
///
/// The methods are called by [`carry_out`] alone. Threads, queues and cores in their arguments
/// exist, and the threads are the policy's to place.
pub trait Directed {
    /// Number of queues made.
    fn queue_count(&self) -> usize;
    /// Number of cores of the machine.
    fn core_count(&self) -> usize;
    /// True if the thread has started, has not ended, and is the policy's to place.
    fn is_placed(&self, thread: ThreadId) -> bool;

    /// Makes the next queue.
    fn make_queue(&mut self, clock: Clock);
    /// The thread belongs to the queue from now on.
    fn assign(&mut self, thread: ThreadId, queue: QueueId);
    /// [`Directed::assign`] for each pair whose ids exist; others are skipped.
    fn assign_all(&mut self, threads: &[(ThreadId, QueueId)]) {
        for &(thread, queue) in threads {
            if queue.index() < self.queue_count() && self.is_placed(thread) {
                self.assign(thread, queue);
            }
        }
    }
    /// Sets the thread's place in its queue.
    fn order(&mut self, thread: ThreadId, order: Order);
    /// Sets how fast the thread's virtual time grows, by kind, of 1024.
    fn charge(&mut self, thread: ThreadId, charge: PerKind<u32>);
    /// Sets how long the thread runs once picked.
    fn slice(&mut self, thread: ThreadId, slice: Rc<Slice>);
    /// Sets the tiers of the core, and the queue that it adopts into; its guests stay as they are.
    fn serve(&mut self, core: CoreId, service: Service);
    /// Sets the guests of the core.
    fn host(&mut self, core: CoreId, guests: Guests);
    /// Sets the order in which idle cores are tried for the queue.
    fn prefer(&mut self, queue: QueueId, cores: Vec<CoreId>);
    /// Sets the preemption by arrivals in the queue, if any.
    fn preemption(&mut self, queue: QueueId, preemption: Option<Preemption>);
    /// Sets how far below the queue's floor a thread that wakes may start.
    fn sleeper(&mut self, queue: QueueId, credit: u64);
    /// Exchanges the cores of two different threads, if both run.
    fn swap(&mut self, a: ThreadId, b: ThreadId);
    /// The thread runs on the core next.
    fn hand_over(&mut self, thread: ThreadId, core: CoreId);
    /// The core's thread returns to its queue, and the core picks again.
    fn preempt(&mut self, core: CoreId);
    /// Sets the period of the policy's timer; zero for none.
    fn timer(&mut self, period: Nanos);
}

/// Carries out an answer, its queues first. What names a thread that has ended came late, and has
/// no effect.
pub fn carry_out_all<M: Directed>(mechanism: &mut M, said: &mut Directives) {
    said.drain_queues_first(|directive| {
        let _ = carry_out(mechanism, directive);
    });
}

/// Carries out one directive.
///
/// Queues and cores inside lists ([`Directive::Serve`], [`Directive::Host`], [`Directive::Prefer`])
/// that do not exist are left out of the lists.
///
/// # Errors
/// The directive names an id that does not exist. It has had no effect.
#[inline]
pub fn carry_out<M: Directed>(mechanism: &mut M, directive: Directive) -> Result<(), Unknown> {
    match directive {
        Directive::MakeQueue(clock) => mechanism.make_queue(clock),
        Directive::Assign(thread, queue) => {
            let queue = known_queue(mechanism, queue)?;
            mechanism.assign(placed(mechanism, thread)?, queue);
        }
        Directive::AssignAll(threads) => mechanism.assign_all(&threads),
        Directive::Order(thread, order) => mechanism.order(placed(mechanism, thread)?, order),
        Directive::Charge(thread, charge) => mechanism.charge(placed(mechanism, thread)?, charge),
        Directive::Slice(thread, slice) => mechanism.slice(placed(mechanism, thread)?, slice),
        Directive::Serve { core, tiers, adopt } => {
            let core = known_core(mechanism, core)?;
            mechanism.serve(core, Service::new(tiers, adopt, mechanism.queue_count()));
        }
        Directive::Host { core, guests, behind } => {
            let core = known_core(mechanism, core)?;
            mechanism.host(core, Guests::new(guests, behind, mechanism.queue_count()));
        }
        Directive::Prefer(queue, mut cores) => {
            let queue = known_queue(mechanism, queue)?;
            let count = mechanism.core_count();
            cores.retain(|core| core.index() < count);
            mechanism.prefer(queue, cores);
        }
        Directive::Preemption(queue, preemption) => {
            mechanism.preemption(known_queue(mechanism, queue)?, preemption);
        }
        Directive::Sleeper(queue, credit) => {
            mechanism.sleeper(known_queue(mechanism, queue)?, credit);
        }
        Directive::Swap(a, b) => {
            let (a, b) = (placed(mechanism, a)?, placed(mechanism, b)?);
            if a != b {
                mechanism.swap(a, b);
            }
        }
        Directive::Move(thread, core) => {
            let core = known_core(mechanism, core)?;
            mechanism.hand_over(placed(mechanism, thread)?, core);
        }
        Directive::Preempt(core) => mechanism.preempt(known_core(mechanism, core)?),
        Directive::Timer(period) => mechanism.timer(period),
    }
    Ok(())
}

#[inline]
fn placed<M: Directed>(mechanism: &M, thread: ThreadId) -> Result<ThreadId, Unknown> {
    if mechanism.is_placed(thread) { Ok(thread) } else { Err(Unknown::Thread(thread)) }
}

#[inline]
fn known_queue<M: Directed>(mechanism: &M, queue: QueueId) -> Result<QueueId, Unknown> {
    if queue.index() < mechanism.queue_count() { Ok(queue) } else { Err(Unknown::Queue(queue)) }
}

#[inline]
fn known_core<M: Directed>(mechanism: &M, core: CoreId) -> Result<CoreId, Unknown> {
    if core.index() < mechanism.core_count() { Ok(core) } else { Err(Unknown::Core(core)) }
}

#[cfg(test)]
#[path = "directives_tests.rs"]
mod tests;
