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
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let later = match *kept {
            None => {
                *kept = Some(error);
                None
            }
            Some(_) => Some(error),
        };
        // Not under the lock: what drops may be users' code, and may wait here for another task
        // that fails.
        drop(kept);
        drop(later);
    }

    /// Gives it out: whether all went well, and empty again.
    pub fn take(&self) -> Result<(), E> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// An error that looks into where it was to be kept as it drops.
    struct Looks<'a>(&'a FirstError<Looks<'a>>, u32);

    impl Drop for Looks<'_> {
        fn drop(&mut self) {
            assert!(self.0.0.try_lock().is_ok());
        }
    }

    #[test]
    fn later_errors_are_dropped_and_not_under_the_lock() {
        // It is kept in what it refers to.
        let errors: &'static FirstError<Looks<'static>> = Box::leak(Box::default());
        errors.keep(Looks(errors, 1));
        errors.keep(Looks(errors, 2));
        assert_eq!(errors.take().map_err(|error| error.1), Err(1));
    }
}
