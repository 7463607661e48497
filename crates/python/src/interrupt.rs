//! What ends a run from outside: Ctrl-C, a flag, an exception in a policy written in Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_sim::Listener;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// How often signals are looked for. Ours.
pub const EVERY: Duration = Duration::from_millis(50);
/// Events of a run between two looks at the clock. Ours.
const EVENTS: u32 = 256;

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
pub struct Raised(Arc<(AtomicBool, Mutex<Option<PyErr>>)>);

impl Raised {
    /// Ends the run before its next event. The first exception is kept.
    pub fn raise(&self, error: PyErr) {
        let (is_set, first) = &*self.0;
        first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        is_set.store(true, Ordering::Relaxed);
    }

    /// True if there is one.
    pub fn is_set(&self) -> bool {
        self.0.0.load(Ordering::Relaxed)
    }

    /// Takes it out.
    pub fn take(&self) -> Option<PyErr> {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A listener that ends a run, and hears nothing of it.
pub struct Interrupt {
    raised: Raised,
    stop: Stop,
    events: u32,
    looked: Instant,
}

impl Interrupt {
    /// Ends a run when there is an exception, or when it is told to.
    pub fn new(raised: Raised, stop: Stop) -> Self {
        Self { raised, stop, events: 0, looked: Instant::now() }
    }

    /// Ends a run when it is told to.
    pub fn when(stop: &Stop) -> Self {
        Self::new(Raised::default(), stop.clone())
    }

    #[cold]
    fn look_for_signals(&mut self) {
        self.events = 0;
        if !self.stop.goes_on() {
            self.raised.raise(PyKeyboardInterrupt::new_err(()));
        }
        if self.looked.elapsed() < EVERY {
            return;
        }
        self.looked = Instant::now();
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.raised.raise(error);
        }
    }
}

impl Listener for Interrupt {
    const HEARS: bool = false;
    const MAY_STOP: bool = true;

    fn goes_on(&mut self) -> bool {
        self.events += 1;
        if self.events == EVENTS {
            self.look_for_signals();
        }
        !self.raised.is_set()
    }
}
