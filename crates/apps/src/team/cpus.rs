//! Keeps threads on CPUs.

use std::io;
use std::thread;

use rustix::thread::{CpuSet, sched_setaffinity};

/// A thread cannot be kept on its core.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep a thread on CPU {cpu}, is it offline, or not allowed to this process?")]
pub struct PinError {
    /// The CPU, or the first of several.
    pub cpu: u32,
    /// The kernel's error.
    #[source]
    pub error: io::Error,
}

/// Keeps the calling thread on a CPU, by the operating system's number; `None` leaves it to the
/// system.
///
/// # Errors
/// The CPU does not exist, is offline, or is not in the cpuset.
pub fn pin(cpu: Option<u32>) -> Result<(), PinError> {
    keep_on(cpu.as_slice())
}

/// Calls `body` on a thread of its own that is kept on these CPUs, as are the threads that it
/// starts; without CPUs the system places it.
///
/// # Errors
/// As [`pin`]; of several CPUs, missing or forbidden ones are left out if others remain.
pub fn on_cpus<R: Send>(cpus: &[u32], body: impl FnOnce() -> R + Send) -> Result<R, PinError> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| keep_on(cpus).map(|()| body()));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn keep_on(cpus: &[u32]) -> Result<(), PinError> {
    let Some(&first) = cpus.first() else { return Ok(()) };
    let mut set = CpuSet::new();
    for cpu in cpus.iter().map(|&cpu| cpu as usize).filter(|&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    // An empty set is an error.
    sched_setaffinity(None, &set).map_err(|error| PinError { cpu: first, error: error.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_cannot_be_is_an_error() {
        assert_eq!(pin(Some(u32::MAX)).unwrap_err().cpu, u32::MAX);
        assert_eq!(on_cpus(&[u32::MAX], || ()).unwrap_err().cpu, u32::MAX);
    }

    #[test]
    fn threads_that_are_started_there_stay_there() {
        let cpu = evenkeel_runtime::Pool::new().unwrap().places()[0].cpu.unwrap();
        let of_pool =
            on_cpus(&[cpu], || evenkeel_runtime::Pool::new().unwrap().places().to_vec()).unwrap();
        assert_eq!(of_pool.iter().map(|place| place.cpu).collect::<Vec<_>>(), [Some(cpu)]);
    }
}
