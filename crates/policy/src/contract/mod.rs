//! The contract between policies and mechanisms.
//!
//! A mechanism runs threads: it owns the run queues, picks the next thread, charges time and wakes
//! idle cores. A policy decides: which thread belongs on which cores, in what order, and when two
//! threads trade places. It is told [`Event`]s, sees a [`View`], and answers with [`Directives`];
//! it does no input or output, reads no clock and starts nothing.

mod directive;
mod error;
mod ids;
mod knobs;
mod view;

pub use directive::{Choose, Clock, Directive, Directives, Order, Preemption, Slice, Start, Tier};
pub use error::StartError;
pub use ids::{AppId, QueueId, ThreadId};
pub use knobs::{Knob, KnobError, Knobs, Value};
pub use view::{CoreStats, Event, Interest, State, ThreadStats, View};

use evenkeel_machine::Nanos;

/// Decides who runs where. Written once, runs on every mechanism.
pub trait Policy: Send {
    /// Which events it wants to be told, beside starts, ends, timers, and cores that come and go.
    fn interest(&self) -> Interest {
        Interest::NONE
    }

    /// Before anything runs: makes queues, says what each core serves. The view has no threads yet.
    ///
    /// # Errors
    /// A machine on which this policy makes no sense, or knobs that contradict each other.
    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError>;

    /// Something happened. Events of one instant come in order of cause, each with the view as it
    /// is after all of them.
    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives);

    /// Until when it would answer [`Event::Timer`] with nothing, as long as no thread starts, ends,
    /// wakes, blocks or changes its weight or its cores, no core comes or goes, goes idle, takes a
    /// thread from another tier than its first, or runs threads that are not the policy's. `None`:
    /// that may be any time. What may be asked after each timer by a mechanism for which being
    /// asked is dear, so that it need not look in vain; the others keep to the timer.
    fn quiet_until(&self, _: &View<'_>) -> Option<Nanos> {
        None
    }

    /// Timers up to this one were left out, because [`Policy::quiet_until`] had said that it would
    /// say nothing to them. What it keeps of the times of timers must be what it would be after
    /// them. Told before the next event, by a mechanism whose results must not depend on what it
    /// leaves out.
    fn skipped(&mut self, _last: Nanos) {}

    /// One or more sentences for people on what the policy had to do differently on this machine,
    /// after `start`.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
