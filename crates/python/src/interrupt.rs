//! Ctrl-C in a run, and exceptions of policies that are written in Python.
//!
//! A policy cannot end a run. One that must unwinds through the engine, with the exception kept
//! aside; the engine keeps nothing between runs that could be left half done.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_machine::Nanos;
use evenkeel_policy::{Directives, Event, Interest, Policy, StartError, View};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::convert::error;

/// How often signals are looked for. Ours.
pub const EVERY: Duration = Duration::from_millis(50);
/// Events between two looks at the clock. Ours.
const EVENTS: u32 = 64;

/// Whether runs on other threads are to end.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// They are.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True until then.
    pub fn goes_on(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// The exception that ends a run.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Ends the run.
    pub fn end_run(&self, error: PyErr) -> ! {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        resume_unwind(Box::new("a policy ended the run"));
    }

    /// Carries out a run, which may be ended by this.
    ///
    /// # Errors
    /// What ended it; a sentence of the engine.
    pub fn carry_out<T>(&self, run: impl FnOnce() -> Result<T, String>) -> PyResult<T> {
        let done = catch_unwind(AssertUnwindSafe(run));
        if let Some(raised) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(raised);
        }
        match done {
            Ok(done) => done.map_err(error),
            Err(_) => Err(error("the simulator failed: please report it")),
        }
    }
}

/// A policy during whose run signals are looked for now and then.
pub struct Interruptible {
    policy: Box<dyn Policy>,
    raised: Raised,
    stop: Stop,
    events: u32,
    looked: Instant,
}

impl Interruptible {
    /// Around another one.
    pub fn new(policy: Box<dyn Policy>, raised: Raised, stop: Stop) -> Self {
        Self { policy, raised, stop, events: 0, looked: Instant::now() }
    }

    fn look_for_signals(&mut self) {
        self.events += 1;
        if self.events < EVENTS {
            return;
        }
        self.events = 0;
        if !self.stop.goes_on() {
            self.raised.end_run(PyKeyboardInterrupt::new_err(()));
        }
        if self.looked.elapsed() < EVERY {
            return;
        }
        self.looked = Instant::now();
        if let Err(raised) = Python::attach(|py| py.check_signals()) {
            self.raised.end_run(raised);
        }
    }
}

impl Policy for Interruptible {
    fn interest(&self) -> Interest {
        self.policy.interest()
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.policy.start(view, say)
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        self.look_for_signals();
        self.policy.event(event, view, say);
    }

    fn quiet_until(&self, view: &View<'_>) -> Option<Nanos> {
        self.policy.quiet_until(view)
    }

    fn skipped(&mut self, last: Nanos) {
        self.policy.skipped(last);
    }

    fn notes(&self) -> Vec<String> {
        self.policy.notes()
    }
}
