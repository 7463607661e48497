//! Work on threads of its own: Python's thread waits, looks for Ctrl-C, and tells how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::convert::{error, whole};
use crate::interrupt::{EVERY, Stop};

/// How long work that was told to end is waited for. Ours.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Most threads. Ours.
const MOST_JOBS: u64 = 4_096;

/// Threads that carry runs out: so many, by default one per processor.
///
/// # Errors
/// None can be made; none is asked for.
pub fn threads(jobs: Option<i64>) -> PyResult<rayon::ThreadPool> {
    let jobs = jobs.map(|jobs| whole("jobs", jobs, 1)).transpose()?.unwrap_or(0);
    if jobs > MOST_JOBS {
        return Err(error(format!("jobs {jobs} found, expected at most {MOST_JOBS}")));
    }
    rayon::ThreadPoolBuilder::new().num_threads(jobs as usize).build().map_err(error)
}

/// How far work is.
#[derive(Clone, Default)]
pub struct Count(Arc<AtomicU64>);

impl Count {
    /// One more is done.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Carries `work` out on another thread. It is given what tells whether it is to go on, and counts.
/// `progress` is called with the count, and what it comes to in the end.
///
/// # Errors
/// Ctrl-C, or an exception of `progress`. The work has ended then, or ends when it can.
pub fn together<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    all: u64,
    work: impl FnOnce(&Stop, &Count) -> T + Send + 'static,
) -> PyResult<T> {
    let (stop, count) = (Stop::default(), Count::default());
    let (of_work, counted) = (stop.clone(), count.clone());
    let tell = &|py: Python<'_>| -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = &progress {
            progress.call1(py, (count.0.load(Ordering::Relaxed), all))?;
        }
        Ok(())
    };
    let (over, is_over) = channel();
    std::thread::spawn(move || over.send(work(&of_work, &counted)));
    let made = py.detach(move || {
        loop {
            match is_over.recv_timeout(EVERY) {
                Ok(made) => return Ok(made),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(error("the simulator failed: please report it"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(raised) = Python::attach(tell) {
                stop.stop();
                let _ = is_over.recv_timeout(STOP_TIMEOUT);
                return Err(raised);
            }
        }
    })?;
    tell(py)?;
    Ok(made)
}
