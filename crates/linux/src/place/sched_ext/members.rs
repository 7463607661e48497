//! Threads that were there before and are put into SCHED_EXT for a session: those of some processes
//! or of a control group.
//!
//! The kernel hands the class down at a fork, so a process and what it forks stay together by
//! themselves. A control group is read again now and then, for processes that have moved into it.
//! At the end every thread that is left gets back the class that it had, and a descendant that of
//! its kin: SCHED_OTHER.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use evenkeel_machine::Nanos;
use rustix::process::Pid;

use crate::observe::watch::{Tid, now, proc};
use crate::place::affinity::kernel::{Kernel as _, Linux};
use crate::place::class::{Class, class, is_in_sched_ext, put_into_sched_ext, set_class};

/// How often a control group is read.
const CGROUP_INTERVAL: Nanos = Nanos::from_secs(1);
/// How often, at most, it is looked for threads that were forked while others were put into a
/// class.
const MAX_LOOKS: usize = 16;

/// Processes whose threads are put into SCHED_EXT.
#[derive(Clone, Debug)]
pub enum Whose {
    /// These processes', and their descendants'.
    Processes(Vec<Tid>),
    /// Those of this control group and of those below it: its folder.
    Cgroup(PathBuf),
}

impl Whose {
    /// The threads that are there now, with their processes.
    fn threads(&self) -> Vec<(Tid, Tid)> {
        match self {
            Self::Processes(processes) => {
                let of = |process: Tid| {
                    proc::threads(process).into_iter().map(move |tid| (tid, process))
                };
                proc::family(processes).into_iter().flat_map(of).collect()
            }
            Self::Cgroup(folder) => proc::cgroup(folder),
        }
    }

    /// How many of them have a CPU now or wait for one.
    pub fn runnable(&self) -> usize {
        let runnable = |&(tid, process): &(Tid, Tid)| {
            proc::doing(process, tid).is_some_and(|doing| doing.runnable)
        };
        self.threads().iter().filter(|thread| runnable(thread)).count()
    }
}

/// Threads in SCHED_EXT for the time of a session.
#[derive(Debug)]
pub struct Members {
    whose: Whose,
    /// The class of each before.
    before: BTreeMap<Tid, Class>,
    /// Threads that the kernel does not let us put there.
    refused: u64,
    read: Nanos,
}

impl Members {
    /// Puts all that are there into SCHED_EXT, except real-time threads, the kernel's own, and
    /// ours.
    ///
    /// # Errors
    /// None of them may be put there: why.
    pub fn adopt(whose: Whose) -> io::Result<Self> {
        let mut members = Self { whose, before: BTreeMap::new(), refused: 0, read: Nanos::ZERO };
        match members.refresh() {
            Some(error) if members.before.is_empty() => Err(error),
            _ => Ok(members),
        }
    }

    /// Threads that were left where they were, because this process may not move them.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Looks for threads that have come to the control group since.
    pub fn follow(&mut self) {
        if matches!(self.whose, Whose::Cgroup(_))
            && now().saturating_sub(self.read) >= CGROUP_INTERVAL
        {
            self.refresh();
        }
    }

    /// The last reason for which a thread was left where it was.
    fn refresh(&mut self) -> Option<io::Error> {
        self.read = now();
        let own = Tid(rustix::process::getpid().as_raw_nonzero().get());
        let mut refusal = None;
        let mut refused = 0;
        for _ in 0..MAX_LOOKS {
            let mut news = false;
            refused = 0;
            for (tid, process) in self.whose.threads() {
                let Some(pid) = Pid::from_raw(tid.0).filter(|_| process != own) else { continue };
                if self.before.contains_key(&tid) && is_in_sched_ext(pid)
                    || Linux::new().is_of_kernel(tid)
                {
                    continue;
                }
                let Ok(class @ (Class::Other | Class::Batch | Class::Idle)) = class(pid) else {
                    continue;
                };
                match put_into_sched_ext(pid) {
                    Ok(()) => news |= self.before.insert(tid, class).is_none(),
                    // It has ended.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => {
                        refused += 1;
                        refusal = Some(error);
                    }
                }
            }
            if !news {
                break;
            }
        }
        self.refused = self.refused.max(refused);
        refusal
    }

    /// Gives every thread that is left in SCHED_EXT the class back that it had.
    pub fn release(&self) {
        for _ in 0..MAX_LOOKS {
            let mut any = false;
            let threads = self.whose.threads().into_iter().map(|(tid, _)| tid);
            for tid in threads.chain(self.before.keys().copied()) {
                if let Some(pid) = Pid::from_raw(tid.0).filter(|&pid| is_in_sched_ext(pid)) {
                    let class = self.before.get(&tid).copied().unwrap_or_default();
                    // One that has ended needs no class.
                    any |= set_class(pid, class).is_ok();
                }
            }
            if !any {
                break;
            }
        }
    }
}
