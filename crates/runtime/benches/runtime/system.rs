//! A system that can be asked for cases, whichever process it is in.

/// One answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Nanoseconds, or bytes where the case is one of memory.
    pub value: f64,
    /// The same in every system, where a case has results.
    pub check: u64,
}

/// See the file's head.
pub trait System {
    fn name(&self) -> &str;
    fn version(&self) -> &str;
    /// Does a case once. None: it has no such thing.
    fn run(&mut self, case: &str) -> Option<Answer>;
}

/// How long it takes, and what comes of it.
pub fn timed<R>(f: impl FnOnce() -> R) -> (f64, R) {
    let start = std::time::Instant::now();
    let result = f();
    (start.elapsed().as_secs_f64() * 1e9, result)
}

/// Keeps this thread on a core.
pub fn pin_to(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).unwrap();
}
