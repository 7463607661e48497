//! The contract between policies and mechanisms.
//!
//! A mechanism runs threads: it owns the run queues, picks the next thread, charges time and wakes
//! idle cores. A policy decides which thread belongs on which cores, in what order, and when two
//! threads trade places. It receives [`Event`]s and a [`View`] and answers with [`Directives`]; it
//! does no input or output, reads no clock and starts nothing.

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

/// A scheduling policy. Written once, it runs on every mechanism.
pub trait Policy: Send {
    /// The events that the policy receives beside starts, ends, timers, and cores that come and go.
    fn interest(&self) -> Interest {
        Interest::NONE
    }

    /// Called before any thread runs: makes queues and says what each core serves. The view has no
    /// threads yet.
    ///
    /// # Errors
    /// A machine that the policy cannot run on, or knobs that contradict each other.
    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError>;

    /// Handles an event. Events of one instant come in order of cause; each call sees the view
    /// after all of them.
    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives);

    /// Time until which the policy would answer [`Event::Timer`] with nothing, provided that no
    /// thread starts, ends, wakes, blocks or changes its weight or its cores, and that no core
    /// comes or goes, goes idle, takes a thread from another tier than its first, or runs threads
    /// that are not the policy's. `None`: at any time.
    ///
    /// A mechanism for which calls are dear may ask after each timer and then skip timers; others
    /// call at every timer.
    fn quiet_until(&self, _: &View<'_>) -> Option<Nanos> {
        None
    }

    /// Tells the policy that timers up to this one were skipped because of [`Policy::quiet_until`].
    /// Whatever the policy keeps about the times of timers must become what it would be after those
    /// timers. Called before the next event, by mechanisms whose results must not depend on skipped
    /// timers.
    fn skipped(&mut self, _last: Nanos) {}

    /// Sentences for people on what the policy does differently on this machine, after `start`.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
