//! Policies written in Python: the contract's events, view and directives, as objects.
//!
//! Each event takes the interpreter's lock and copies what the policy may look at. It is slow: for
//! trying an idea, not for measuring many.

mod say;
mod view;

use evenkeel_machine::Nanos;
use evenkeel_policy::{self as contract, Directives, Interest, Policy, StartError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::interrupt::Raised;

pub use say::Say;
pub use view::{Core, Event, Thread, View};

/// Events, and statistics that must be asked for, by name.
const INTERESTS: [(&str, Interest); 15] = [
    ("woke", Interest::WOKE),
    ("blocked", Interest::BLOCKED),
    ("milestone", Interest::MILESTONE),
    ("critical_section", Interest::CRITICAL_SECTION),
    ("picked", Interest::PICKED),
    ("slice_used", Interest::SLICE_USED),
    ("core_idle", Interest::CORE_IDLE),
    ("load", Interest::LOAD),
    ("clock", Interest::CLOCK),
    ("distance", Interest::DISTANCE),
    ("stalled", Interest::STALLED),
    ("profile", Interest::PROFILE),
    ("progress", Interest::PROGRESS),
    ("ran", Interest::RAN),
    ("utilisation", Interest::UTILISATION),
];

/// A policy whose methods are Python's.
pub struct Prototype {
    object: Py<PyAny>,
    interest: Interest,
    raised: Raised,
    /// Queues made so far.
    queues: u32,
}

impl Prototype {
    /// Of an object with the methods `start` and `event`.
    ///
    /// # Errors
    /// It is interested in what there is not.
    pub fn new(object: Py<PyAny>, raised: Raised) -> PyResult<Self> {
        let interest = Python::attach(|py| -> PyResult<Interest> {
            let mut interest = Interest::NONE;
            let Some(names) = object.bind(py).getattr_opt("interest")? else {
                return Ok(interest);
            };
            for name in names.try_iter()? {
                interest = interest.and(interest_of(&name?.extract::<String>()?)?);
            }
            Ok(interest)
        })?;
        Ok(Self { object, interest, raised, queues: 0 })
    }

    /// Calls a method, and says what it said. An exception ends the run.
    fn call(
        &mut self,
        event: Option<contract::Event>,
        view: &contract::View<'_>,
        say: &mut Directives,
    ) {
        if self.raised.is_set() {
            return;
        }
        let called = Python::attach(|py| -> PyResult<()> {
            let object = self.object.bind(py);
            let told = Bound::new(py, Say::new(view, self.queues))?;
            let seen = Bound::new(py, View::new(view))?;
            match event {
                None if !object.hasattr("start")? => return Ok(()),
                None => object.call_method1("start", (seen, &told))?,
                Some(event) => object.call_method1("event", (Event::of(event), seen, &told))?,
            };
            self.queues = told.get().tell(say);
            Ok(())
        });
        if let Err(error) = called {
            self.raised.raise(error);
        }
    }
}

fn interest_of(name: &str) -> PyResult<Interest> {
    let known = INTERESTS.iter().find(|(known, _)| *known == name);
    known.map(|(_, interest)| *interest).ok_or_else(|| {
        let names: Vec<&str> = INTERESTS.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!(
            "interest '{name}' found, expected some of {}",
            names.join(", ")
        ))
    })
}

impl Policy for Prototype {
    fn interest(&self) -> Interest {
        self.interest
    }

    fn start(&mut self, view: &contract::View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.call(None, view, say);
        Ok(())
    }

    fn event(&mut self, event: contract::Event, view: &contract::View<'_>, say: &mut Directives) {
        self.call(Some(event), view, say);
    }

    fn quiet_until(&self, view: &contract::View<'_>) -> Option<Nanos> {
        Some(view.now)
    }
}
