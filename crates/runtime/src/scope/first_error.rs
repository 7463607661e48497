//! The first of the errors that tasks return.

use std::sync::{Mutex, PoisonError};

/// Empty until a task fails; what comes after its error is dropped.
#[derive(Debug)]
pub struct FirstError<E>(Mutex<Option<E>>);

impl<E> Default for FirstError<E> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<E> FirstError<E> {
    /// Keeps an error, if it is the first.
    pub fn keep(&self, error: E) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Gives it out: whether all went well, and empty again.
    pub fn take(&self) -> Result<(), E> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}
