//! A worker's thread as the system knows it: which core it keeps to, and how long it has run.
#![expect(unsafe_code, reason = "the clock of another thread is libc's to read")]

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use evenkeel_machine::Nanos;
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_setaffinity};

/// A thread of this process. Other threads may use it as long as that one is there.
#[derive(Clone, Copy, Debug)]
pub struct OsThread {
    id: Pid,
    clock: libc::clockid_t,
}

/// A thread's scheduling times.
#[derive(Clone, Copy, Debug)]
pub struct SchedTimes {
    /// On one.
    pub ran: Nanos,
    /// For one that others had.
    pub waited: Nanos,
}

impl SchedTimes {
    /// The times from `before` to now.
    pub fn since(self, before: Self) -> Self {
        let more = |now: Nanos, before: Nanos| Nanos(now.0.saturating_sub(before.0));
        Self { ran: more(self.ran, before.ran), waited: more(self.waited, before.waited) }
    }
}

impl OsThread {
    /// This one. None: the system does not count how long a thread has run.
    pub fn current() -> Option<Self> {
        let mut clock = MaybeUninit::uninit();
        // SAFETY: the handle is this thread's own, and the clock's number is written if it is said
        // to be.
        let clock = unsafe {
            (libc::pthread_getcpuclockid(libc::pthread_self(), clock.as_mut_ptr()) == 0)
                .then(|| clock.assume_init())
        }?;
        Some(Self { id: gettid(), clock })
    }

    /// How long it has been on a core so far, up to now if it is on one. How finely this tells a
    /// running thread depends on the system.
    pub fn ran(self) -> Option<Nanos> {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the time is written if it is said to be.
        let time = unsafe {
            (libc::clock_gettime(self.clock, time.as_mut_ptr()) == 0).then(|| time.assume_init())
        }?;
        Some(Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
    }

    /// How long it has run, and has waited for a core while it could have. Some microseconds; None:
    /// the system does not say.
    pub fn sched_times(self) -> Option<SchedTimes> {
        let text = std::fs::read_to_string(format!(
            "/proc/self/task/{}/schedstat",
            self.id.as_raw_nonzero()
        ))
        .ok()?;
        let mut fields = text.split_ascii_whitespace().map(|field| field.parse().ok().map(Nanos));
        Some(SchedTimes { ran: fields.next()??, waited: fields.next()?? })
    }

    /// True if it waits for something other than a core, as far as the system says.
    pub fn is_blocked(self) -> bool {
        let stat = std::fs::read(format!("/proc/self/task/{}/stat", self.id.as_raw_nonzero()));
        // The state comes after the name, which is in parentheses and may have some in it.
        let state = stat.ok().and_then(|stat| {
            let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
            stat.get(name_ends + 2).copied()
        });
        state.is_none_or(|state| state != b'R')
    }

    /// True if its clock, read by itself, has gone on after so long. A clock that ticks seldom says
    /// nothing of shorter times.
    pub fn tells_that_it_runs(self, after: Duration) -> bool {
        let (before, since) = (self.ran(), Instant::now());
        while since.elapsed() < after {
            std::hint::spin_loop();
        }
        self.ran() > before
    }

    /// Has it run on this core only, from now on. False: the system does not want it to.
    pub fn keep_to(self, cpu: u32) -> bool {
        only(cpu).is_some_and(|set| sched_setaffinity(Some(self.id), &set).is_ok())
    }

    /// Has it run on any of these cores.
    pub fn let_run_on(self, cpus: &CpuSet) {
        let _ = sched_setaffinity(Some(self.id), cpus);
    }
}

/// Keeps this thread to a core. Where it could run before. None: the system does not want that; it
/// runs where it may.
pub fn keep_current_to(cpu: u32) -> Option<CpuSet> {
    let before = sched_getaffinity(None).ok()?;
    sched_setaffinity(None, &only(cpu)?).ok().map(|()| before)
}

fn only(cpu: u32) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    let cpu = Some(cpu as usize).filter(|&cpu| cpu < CpuSet::MAX_CPU)?;
    set.set(cpu);
    Some(set)
}
