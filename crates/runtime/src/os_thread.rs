//! A worker's thread as the system knows it: which core it keeps to, and how long it has run.
#![expect(unsafe_code, reason = "the clock of another thread is libc's to read")]

use std::mem::MaybeUninit;

use evenkeel_machine::Nanos;
use rustix::thread::{CpuSet, Pid, gettid, sched_setaffinity};

/// See the file's head. Other threads of this process may use it as long as the thread is there.
#[derive(Clone, Copy, Debug)]
pub struct OsThread {
    id: Pid,
    clock: libc::clockid_t,
}

impl OsThread {
    /// This one. None: the system does not count how long a thread has run.
    pub fn current() -> Option<Self> {
        let mut clock = MaybeUninit::uninit();
        // SAFETY: the handle is this thread's own, and the clock's number is written if it is said to be.
        let clock = unsafe {
            (libc::pthread_getcpuclockid(libc::pthread_self(), clock.as_mut_ptr()) == 0).then(|| clock.assume_init())
        }?;
        Some(Self { id: gettid(), clock })
    }

    /// How long it has been on a core so far, to the nanosecond, be it on one just now.
    pub fn ran(self) -> Option<Nanos> {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the time is written if it is said to be.
        let time = unsafe { (libc::clock_gettime(self.clock, time.as_mut_ptr()) == 0).then(|| time.assume_init()) }?;
        Some(Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
    }

    /// Has it run on this core only, from now on. False: the system does not want it to.
    pub fn keep_to(self, cpu: u32) -> bool {
        keep_to(Some(self.id), cpu)
    }
}

/// Keeps this thread to a core. Where the system does not want that, it runs where it may.
pub fn keep_current_to(cpu: u32) {
    keep_to(None, cpu);
}

fn keep_to(thread: Option<Pid>, cpu: u32) -> bool {
    if cpu as usize >= CpuSet::MAX_CPU {
        return false;
    }
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(thread, &set).is_ok()
}
