//! What is added up of waiting and idling until it is judged (`lending.rs`).

use evenkeel_machine::Nanos;
use rustix::thread::CpuSet;

/// What has been added up.
#[derive(Debug, Default)]
pub struct Overflow {
    /// When the window began.
    pub since: Nanos,
    /// By core, the time that it had had a thread then.
    pub busy: Vec<Nanos>,
    /// By thread, the time that it had waited then.
    pub waited: Vec<Nanos>,
    /// By queue, the CPUs that are in its home for a while.
    pub lent: Vec<CpuSet>,
    /// By queue, when its threads last waited.
    pub last: Vec<Nanos>,
}
