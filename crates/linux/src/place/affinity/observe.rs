//! What was seen of threads, taken into account.

use evenkeel_machine::Nanos;
use evenkeel_policy::ThreadId;

use super::kernel::Kernel;
use super::mechanism::Mechanism;
use crate::observe::watch::{Seen, Tid};

/// Times that are sampled are as old as the last tick of the kernel, which has the fewest at 100
/// Hz.
const TICK: Nanos = Nanos::from_millis(10);

impl<K: Kernel> Mechanism<K> {
    pub(super) fn observe(&mut self, seen: &Seen) {
        match *seen {
            Seen::Started { tid, process, parent, at } => {
                let parent = parent.and_then(|parent| self.known(parent));
                self.starts(tid, process, parent, self.since_epoch(at));
            }
            Seen::Found { tid, process, runnable, at } => {
                if let Some(thread) = self.starts(tid, process, None, self.since_epoch(at)) {
                    let state = &mut self.threads[thread.index()];
                    (state.runnable, state.found, state.has_woken) = (runnable, true, false);
                }
            }
            Seen::Exec { tid, at } => {
                let grace = self.since_epoch(at).saturating_add(self.options.grace);
                if let Some(thread) = self.known(tid) {
                    self.threads[thread.index()].grace_until = grace;
                }
            }
            Seen::Exited { tid, at } => {
                if let Some(thread) = self.known(tid) {
                    self.end(thread, self.since_epoch(at));
                }
            }
            Seen::Took { tid, cpu, at } => {
                let at = self.since_epoch(at);
                let Some(thread) = self.known(tid) else { return };
                self.leaves_core(thread, at);
                self.becomes_runnable(thread, at);
                let Some(core) = self.core_of(cpu) else { return };
                if let Some(other) = self.on_core[core.index()] {
                    // Its leaving was missed.
                    self.leaves_core(other, at);
                }
                let state = &mut self.threads[thread.index()];
                state.on = Some(core);
                state.counted = at;
                if state.last.replace(core).is_some_and(|last| last != core) {
                    state.migrations += 1;
                    self.totals.migrations += 1;
                }
                self.note_taken(core, thread);
                self.milestones.ran(self.stats[thread.index()].app, thread);
            }
            Seen::Left { tid, at, preempted, .. } => {
                let at = self.since_epoch(at);
                let Some(thread) = self.known(tid) else { return };
                self.leaves_core(thread, at);
                if !preempted {
                    self.becomes_blocked(thread, at);
                }
            }
            Seen::Woke { tid, at, .. } => {
                if let Some(thread) = self.known(tid) {
                    self.becomes_runnable(thread, self.since_epoch(at));
                }
            }
        }
    }

    /// A thread is there from now on; `None` if it was before.
    fn starts(
        &mut self,
        tid: Tid,
        process: Tid,
        parent: Option<ThreadId>,
        at: Nanos,
    ) -> Option<ThreadId> {
        if let Some(former) = self.known(tid) {
            // Its end was missed, or it has been found twice.
            if self.threads[former.index()].process == process {
                return None;
            }
            self.end(former, at);
        }
        let thread = self.begin(tid, process, parent, at);
        self.touch(thread);
        Some(thread)
    }

    /// For sources that do not tell of switches: how long a thread has run and waited for a core
    /// since it was looked at last, and whether it could go on.
    pub fn sampled(
        &mut self,
        tid: Tid,
        cpu: crate::observe::watch::Cpu,
        (ran, waited): (Nanos, Nanos),
        runnable: bool,
        at: Nanos,
    ) {
        let Some(thread) = self.known(tid) else { return };
        let at = self.since_epoch(at);
        // One that slept when it was last looked at ran at the end of the time since: else all of
        // that would be lost.
        let began = at
            .saturating_sub(ran.saturating_add(waited))
            .max(self.threads[thread.index()].since)
            .min(at);
        let since = self.threads[thread.index()].since;
        if began.saturating_sub(since) > TICK {
            self.becomes_blocked(thread, since);
        }
        self.becomes_runnable_if(thread, ran > Nanos::ZERO || runnable, began);
        if let Some(core) = self.core_of(cpu)
            && ran > Nanos::ZERO
        {
            let state = &mut self.threads[thread.index()];
            state.on = Some(core);
            state.counted = state.since.max(at.saturating_sub(ran)).min(at);
            if state.last.replace(core).is_some_and(|last| last != core) {
                state.migrations += 1;
                self.totals.migrations += 1;
            }
            self.count(thread, at);
            self.threads[thread.index()].on = None;
            self.milestones.ran(self.stats[thread.index()].app, thread);
        }
        if !runnable {
            self.becomes_blocked(thread, at);
        }
    }

    /// No switches are told any more: which thread is on which core is not known from now on.
    pub fn forget_cores(&mut self, at: Nanos) {
        let at = self.since_epoch(at);
        for core in 0..self.on_core.len() {
            if let Some(thread) = self.on_core[core] {
                self.leaves_core(thread, at);
            }
        }
    }

    fn becomes_runnable_if(&mut self, thread: ThreadId, runnable: bool, at: Nanos) {
        if runnable {
            self.becomes_runnable(thread, at);
        }
    }

    fn leaves_core(&mut self, thread: ThreadId, at: Nanos) {
        if let Some(core) = self.threads[thread.index()].on {
            self.count(thread, at);
            self.threads[thread.index()].on = None;
            if self.on_core[core.index()] == Some(thread) {
                self.on_core[core.index()] = None;
            }
        }
    }

    fn becomes_runnable(&mut self, thread: ThreadId, at: Nanos) {
        if self.threads[thread.index()].runnable {
            return;
        }
        self.count(thread, at);
        let state = &mut self.threads[thread.index()];
        state.runnable = true;
        let had_woken = std::mem::replace(&mut state.has_woken, true);
        if !had_woken {
            self.change(thread);
        }
        self.stats[thread.index()].since = at;
        self.touch(thread);
        if self.milestones.woke(self.stats[thread.index()].app, thread, at) {
            self.milestone(thread);
        }
    }

    fn becomes_blocked(&mut self, thread: ThreadId, at: Nanos) {
        if !self.threads[thread.index()].runnable {
            return;
        }
        self.count(thread, at);
        let state = &mut self.threads[thread.index()];
        state.runnable = false;
        state.blocked_lately = true;
        state.napped = true;
        self.stats[thread.index()].since = at;
        self.touch(thread);
        self.milestones.blocked(self.stats[thread.index()].app, thread);
    }

    /// The threads that met, `last` among them, begin anew.
    fn milestone(&mut self, last: ThreadId) {
        let met = self.milestones.met(self.stats[last.index()].app);
        for &thread in &met {
            if !self.threads[thread.index()].ended {
                // What it has run so far belongs to the interval before.
                let upto = self.threads[last.index()].since;
                self.count(thread, upto);
                self.stats[thread.index()].since_milestone = evenkeel_machine::Work::ZERO;
                self.threads[thread.index()].at_milestone = true;
                self.touch(thread);
            }
        }
    }

    fn end(&mut self, thread: ThreadId, at: Nanos) {
        self.leaves_core(thread, at);
        self.count(thread, at);
        let state = &mut self.threads[thread.index()];
        state.ended = true;
        state.runnable = false;
        self.stats[thread.index()].since = at;
        self.milestones.ended(self.stats[thread.index()].app, thread);
        self.forget(thread);
        self.touch(thread);
    }
}
