//! What the kernel is asked for, so that it does what the mechanism has decided.
//!
//! | where the mechanism has put it | CPUs | class |
//! | --- | --- | --- |
//! | on a core | that one | as it was |
//! | called to a core ([`super::naps`]) | that one for a moment, then all that its queue may have | as it was |
//! | in a queue | those of the cores that serve the queue first, and of faster ones that serve it at all | SCHED_IDLE, where we may |
//! | nowhere (blocked, loose) | the same | as it was |
//! | nowhere, and asleep since before the session | as they were | as it was |
//!
//! Before a mask is changed for the first time the original goes to the journal. A thread whose
//! mask is not the one that we gave it has chosen its own, and keeps it: the policy is told where
//! it may run, and nothing is asked of the kernel for it again.

use std::io;

use evenkeel_machine::{CoreId, Nanos};
use evenkeel_policy::{Event, QueueId, ThreadId};
use rustix::io::Errno;
use rustix::thread::CpuSet;

use super::journal::Entry;
use super::kernel::{Class, Kernel};
use super::mechanism::Mechanism;
use super::thread::{Mask, Place};

/// Threads that the sweep looks at in one look of the mechanism, at least.
const MIN_SWEEP_THREADS: usize = 4;

/// A parked thread that has had no core for so long is let back among the others until it is placed
/// again, so that a wrong policy starves no thread. (The kernel's own watchdog over sched_ext gives
/// 30 s.)
const STARVATION_LIMIT: Nanos = Nanos::from_secs(1);

impl<K: Kernel> Mechanism<K> {
    /// Masks that were there before, to be written down before the next call of
    /// [`Mechanism::enforce`]; forgotten here.
    pub fn journal(&mut self) -> std::vec::Drain<'_, Entry> {
        self.journal.drain(..)
    }

    /// When those started that have been placed for the first time since this was last asked, and
    /// that were not left in peace at first.
    pub fn newly_placed(&mut self) -> std::vec::Drain<'_, Nanos> {
        self.placed_first.drain(..)
    }

    /// Finds the threads whose masks are to be changed, and notes for the journal what those were.
    pub(super) fn apply(&mut self) {
        self.sweep();
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        changed.retain(|&thread| self.prepare(thread));
        self.changed = changed;
    }

    /// True if there is something to ask for, and it may be asked; looks at the present mask.
    fn prepare(&mut self, thread: ThreadId) -> bool {
        let state = &self.threads[thread.index()];
        if state.ended || !state.announced || matches!(state.mask, Mask::Own | Mask::Refused) {
            return false;
        }
        let Some((cpus, parked)) = self.wanted(thread) else { return false };
        let state = &self.threads[thread.index()];
        let same = matches!(&state.mask, Mask::Set(masks) if masks[0] == cpus);
        if same && state.parked == parked && state.called_to.is_none() {
            return false;
        }
        if let Mask::Untouched = state.mask {
            let Ok(present) = self.kernel.affinity(state.tid) else { return false };
            if self.everywhere.is_subset_of(&present) {
                self.threads[thread.index()].original = Some(present);
                self.write_down(thread, false);
            } else {
                self.chose(thread, &present);
                return false;
            }
        } else {
            self.write_down(thread, false);
        }
        true
    }

    /// What a thread had goes to the journal, once; or, of one that has chosen, that it is not to
    /// be touched.
    fn write_down(&mut self, thread: ThreadId, own: bool) {
        let state = &mut self.threads[thread.index()];
        if let Some(cpus) = state.original
            && (own || !std::mem::replace(&mut state.written, true))
        {
            self.journal.push(Entry { tid: state.tid, cpus, class: state.class, own });
        }
    }

    /// True if a thread may have this mask from us: the last or the last but one that it or its
    /// parent was given, or, where it was handed down, what the parent began with or where some
    /// queue's threads wait. CPUs that are offline do not show in masks.
    fn is_ours(&self, thread: ThreadId, present: &CpuSet) -> bool {
        let state = &self.threads[thread.index()];
        let same = |given: &CpuSet| given == present || self.visible(given) == *present;
        match &state.mask {
            Mask::Set(masks) => same(&masks[0]),
            Mask::Inherited(masks) => {
                masks.iter().any(same)
                    || state.original.as_ref().is_some_and(same)
                    || (0..self.homes.len() as u32).any(|queue| same(&self.home(QueueId(queue))))
                    || self.homes.iter().any(same)
            }
            Mask::Untouched => state.original.as_ref().is_some_and(same),
            Mask::Own | Mask::Refused => false,
        }
    }

    /// What of a mask the kernel shows: not the CPUs that are offline.
    fn visible(&self, given: &CpuSet) -> CpuSet {
        let mut visible = *given;
        for core in self.machine.cores.iter().filter(|core| !self.cores[core.id.index()].online) {
            visible.unset(core.cpu as usize);
        }
        visible
    }

    /// Asks the kernel for what has been prepared, newcomers to a core first. What must wait is
    /// looked at again next time.
    pub fn enforce(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_by_key(|thread| !matches!(self.threads[thread.index()].place, Place::Core(_)));
        changed.retain(|&thread| self.ask(thread));
        self.changed = changed;
    }

    /// Asks the kernel for what a thread should have. True if that must wait: a program that has
    /// just begun still asks how many CPUs it has.
    fn ask(&mut self, thread: ThreadId) -> bool {
        let Some((cpus, parked)) = self.wanted(thread) else { return false };
        let state = &self.threads[thread.index()];
        let tid = state.tid;
        if self.now < state.grace_until && state.mask == Mask::Untouched {
            return true;
        }
        let given = match &state.mask {
            Mask::Set(masks) | Mask::Inherited(masks) => Some(masks[0]),
            Mask::Untouched => None,
            Mask::Own | Mask::Refused => return false,
        };
        let Ok(present) = self.kernel.affinity(tid) else { return false };
        if !self.is_ours(thread, &present) {
            self.chose(thread, &present);
            return false;
        }
        // The class first: a thread with a core must not stay in SCHED_IDLE because its mask could
        // not be set.
        if !self.settle_class(thread, parked) {
            return false;
        }
        let before = given.unwrap_or(cpus);
        let Some(before) = self.call(thread, before) else { return false };
        if before != cpus || !matches!(self.threads[thread.index()].mask, Mask::Set(_)) {
            self.totals.calls += 1;
            let result = self.kernel.set_affinity(tid, &cpus);
            if !self.note(thread, result) {
                return false;
            }
            let state = &mut self.threads[thread.index()];
            if !matches!(state.mask, Mask::Set(_)) && state.grace_until == Nanos::ZERO {
                self.placed_first.push(self.stats[thread.index()].started);
            }
            state.mask = Mask::Set(Box::new([cpus, before]));
        }
        false
    }

    /// Moves a thread that is called to its core there. The mask that it has then; `None`: it
    /// cannot be moved.
    fn call(&mut self, thread: ThreadId, before: CpuSet) -> Option<CpuSet> {
        let is_called = self.is_called(thread);
        let state = &mut self.threads[thread.index()];
        let called_to =
            state.called_to.take().filter(|&core| is_called && state.place == Place::Core(core));
        let Some(core) = called_to else { return Some(before) };
        let tid = state.tid;
        let only = self.only(core);
        self.totals.calls += 1;
        let result = self.kernel.set_affinity(tid, &only);
        if !self.note(thread, result) {
            return None;
        }
        self.threads[thread.index()].mask = Mask::Set(Box::new([only, before]));
        Some(only)
    }

    /// Parks a thread, or takes it out, where that is not so yet. Its class is looked at before it
    /// is changed: one that has made itself real-time, or has another class by now, keeps it. True
    /// if the thread is still the policy's.
    fn settle_class(&mut self, thread: ThreadId, parked: bool) -> bool {
        let state = &self.threads[thread.index()];
        let handed_down = matches!(state.mask, Mask::Inherited(_));
        if state.parked == parked && !handed_down {
            return true;
        }
        let tid = state.tid;
        let Ok(params) = self.kernel.sched_params(tid) else { return false };
        if params.class == Class::Urgent {
            self.becomes_foreign(thread);
            return false;
        }
        let state = &mut self.threads[thread.index()];
        let is_parked = params.class == Class::Idle && state.class != Class::Idle;
        if !is_parked {
            state.class = params.class;
        }
        state.parked = is_parked;
        if is_parked != parked {
            self.totals.calls += 1;
            let class = if parked { Class::Idle } else { state.class };
            let result = self.kernel.set_class(tid, class);
            if self.note(thread, result) {
                self.threads[thread.index()].parked = parked;
            }
        }
        true
    }

    /// A thread has left the normal classes: it gets its CPUs back, and is not placed from now on.
    fn becomes_foreign(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        state.announced = false;
        state.foreign = true;
        let (tid, original) = (state.tid, state.original);
        if matches!(state.mask, Mask::Set(_) | Mask::Inherited(_))
            && let Some(original) = original
        {
            state.mask = Mask::Untouched;
            let result = self.kernel.set_affinity(tid, &original);
            self.note(thread, result);
        }
        self.leave(thread);
        self.events.push(Event::Exited(thread));
        if let Ok(at) = self.live.binary_search(&thread) {
            self.live.remove(at);
        }
    }

    fn note(&mut self, thread: ThreadId, result: io::Result<()>) -> bool {
        let Err(error) = result else { return true };
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            // It has gone; or its CPUs went offline, or out of its cpuset, under our hands: the
            // next look knows more.
            Some(Errno::SRCH | Errno::INVAL) => {}
            _ => {
                self.totals.refused += 1;
                self.threads[thread.index()].mask = Mask::Refused;
            }
        }
        false
    }

    /// The CPU of a core.
    fn only(&self, core: CoreId) -> CpuSet {
        let mut cpus = CpuSet::new();
        cpus.set(self.machine.cores[core.index()].cpu as usize);
        cpus
    }

    /// CPUs and whether to park; `None`: nothing is known yet.
    fn wanted(&self, thread: ThreadId) -> Option<(CpuSet, bool)> {
        let state = &self.threads[thread.index()];
        let queue = self.stats[thread.index()].queue?;
        match state.place {
            Place::Core(_) if self.is_called(thread) => Some((self.reach(queue), false)),
            Place::Core(core) => Some((self.only(core), false)),
            // One that is in SCHED_IDLE by itself needs no parking.
            Place::Queue(queue) => {
                let parked = self.options.park && state.class != Class::Idle && !state.overdue;
                Some((self.home(queue), parked))
            }
            // Most threads of a machine sleep for as long as a session lasts.
            Place::Nowhere if !state.has_woken && state.mask == Mask::Untouched => None,
            Place::Nowhere if self.is_called(thread) => Some((self.reach(queue), false)),
            Place::Nowhere => Some((self.home(queue), false)),
        }
    }

    /// A thread has chosen where it may run.
    fn chose(&mut self, thread: ThreadId, cpus: &CpuSet) {
        let cores: Vec<CoreId> = self
            .machine
            .cores
            .iter()
            .filter(|core| cpus.is_set(core.cpu as usize))
            .map(|core| core.id)
            .collect();
        let parked = std::mem::replace(&mut self.threads[thread.index()].parked, false);
        if parked {
            let tid = self.threads[thread.index()].tid;
            let class = self.threads[thread.index()].class;
            let result = self.kernel.set_class(tid, class);
            self.note(thread, result);
        }
        self.write_down(thread, true);
        self.threads[thread.index()].mask = Mask::Own;
        self.stats[thread.index()].restricted = true;
        self.affinity[thread.index()] = Some(cores.into());
        if self.threads[thread.index()].announced {
            // It starts anew, as a thread that may run on some cores only; one that may run on none
            // of ours is not the policy's.
            self.leave(thread);
            self.events.push(Event::Exited(thread));
            if self.affinity[thread.index()].as_ref().is_some_and(|cores| !cores.is_empty()) {
                self.stats[thread.index()].queue = None;
                self.events.push(Event::Started(thread));
                if self.threads[thread.index()].runnable {
                    self.arrivals.push(thread);
                }
            } else if let Ok(at) = self.live.binary_search(&thread) {
                self.live.remove(at);
                self.threads[thread.index()].announced = false;
                self.threads[thread.index()].foreign = true;
            }
        }
    }

    /// Looks at some threads, so many that each has its turn every [`STARVATION_LIMIT`]: has one
    /// waited for too long, chosen its own CPUs, another nice value, another class?
    fn sweep(&mut self) {
        let elapsed = self.now.saturating_sub(std::mem::replace(&mut self.swept_at, self.now));
        let turns = (self.live.len() as u128 * u128::from(elapsed.0))
            .div_ceil(u128::from(STARVATION_LIMIT.0)) as usize;
        for _ in 0..turns
            .clamp(MIN_SWEEP_THREADS, MIN_SWEEP_THREADS.max(self.live.len()))
            .min(self.live.len())
        {
            self.swept = (self.swept + 1) % self.live.len().max(1);
            let Some(&thread) = self.live.get(self.swept) else { return };
            let state = &mut self.threads[thread.index()];
            let last = state.counted.max(self.stats[thread.index()].since);
            if state.parked && state.runnable && self.now.saturating_sub(last) > STARVATION_LIMIT {
                state.overdue = true;
                self.changed.push(thread);
            }
            let state = &self.threads[thread.index()];
            if !matches!(state.mask, Mask::Set(_)) {
                continue;
            }
            let Ok(present) = self.kernel.affinity(state.tid) else { continue };
            if !self.is_ours(thread, &present) {
                self.chose(thread, &present);
                continue;
            }
            let state = &self.threads[thread.index()];
            let Ok(params) = self.kernel.sched_params(state.tid) else { continue };
            if params.class == Class::Urgent {
                self.becomes_foreign(thread);
            } else if !state.parked {
                self.threads[thread.index()].class = params.class;
                self.stats[thread.index()].weight = params.weight();
            }
        }
    }

    /// Gives every thread that was touched back what it had. What the session does at its end.
    pub fn restore(&mut self) {
        for index in 0..self.threads.len() {
            let (thread, state) = (ThreadId(index as u32), &self.threads[index]);
            let (tid, class) = (state.tid, state.class);
            if state.ended {
                continue;
            }
            let touched = matches!(state.mask, Mask::Set(_) | Mask::Inherited(_));
            if let Some(original) = state.original
                && touched
                && self.kernel.affinity(tid).is_ok_and(|present| self.is_ours(thread, &present))
            {
                // A thread that has ended meanwhile has nothing to be restored.
                let _ = self.kernel.set_affinity(tid, &original);
            }
            let state = &self.threads[index];
            // A child may have been forked while its parent was parked, and not been looked at
            // since.
            if (state.parked || matches!(state.mask, Mask::Inherited(_)))
                && class != Class::Idle
                && self.kernel.sched_params(tid).is_ok_and(|params| params.class == Class::Idle)
            {
                let _ = self.kernel.set_class(tid, class);
            }
        }
    }
}

/// Set inclusion, which `CpuSet` lacks.
trait Subset {
    fn is_subset_of(&self, other: &Self) -> bool;
}

impl Subset for CpuSet {
    fn is_subset_of(&self, other: &Self) -> bool {
        (0..Self::MAX_CPU).all(|cpu| !self.is_set(cpu) || other.is_set(cpu))
    }
}
