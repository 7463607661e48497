//! A system that can be asked for cases, whichever process it is in.

use std::time::Instant;

use super::work::Work;

/// One answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Nanoseconds, or bytes where the case is one of memory.
    pub value: f64,
    /// The same in every system, where a case has results.
    pub check: u64,
}

/// True if each thread of a system keeps to a core of its own, or all go where the kernel puts
/// them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Threads {
    Pinned,
    Free,
}

impl Threads {
    /// The column of a system.
    pub fn of(self, system: &str) -> String {
        if self == Self::Pinned { system.into() } else { format!("{system} free") }
    }
}

/// See the file's head.
pub trait System {
    fn name(&self) -> &str;
    fn version(&self) -> &str;
    /// Does a case once. None: it has no such thing.
    fn run(&mut self, case: &str) -> Option<Answer>;
}

/// How long a case takes that is done in this process. `f` says what came of it where the work's
/// library does not keep that; None: there is no such case.
///
/// Results are put back before the time begins, and looked at after it has ended, as in the peers:
/// to read the prices takes 3 ms.
pub fn timed(work: Option<&Work>, case: &str, f: impl FnOnce() -> Option<u64>) -> Option<Answer> {
    work.inspect(|work| work.clear(case));
    let start = Instant::now();
    let result = f()?;
    let value = start.elapsed().as_secs_f64() * 1e9;
    let check = work.and_then(|work| work.check(case)).unwrap_or(result);
    Some(Answer { value, check })
}

/// Keeps this thread on a core.
pub fn pin_to(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).unwrap();
}
