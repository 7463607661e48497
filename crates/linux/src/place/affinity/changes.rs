//! From what was seen of threads to what the policy is told, and the *loose* threads (see the
//! module's head): those that have woken since the last look, and are placed once they have lasted
//! until the next.

use evenkeel_machine::CoreId;
use evenkeel_policy::{Event, Interest, State, ThreadId};

use super::kernel::Kernel;
use super::mechanism::Mechanism;
use super::thread::Place;

impl<K: Kernel> Mechanism<K> {
    /// A thread may have changed: it is looked at by the next [`Mechanism::note_changes`].
    pub(super) fn touch(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        if !state.touched {
            state.touched = true;
            self.touched.push(thread);
        }
    }

    /// Turns what was seen into what the policy is told.
    pub(super) fn note_changes(&mut self) {
        for at in 0..self.touched.len() {
            let thread = self.touched[at];
            self.note_change(thread);
        }
        self.touched.clear();
        self.show_loose();
        for core in 0..self.cores.len() {
            let idle = self.placed[core].is_none() && self.on_core[core].is_none();
            if idle
                && !self.announced_idle[core]
                && self.services[core].is_used()
                && self.interest.wants(Interest::CORE_IDLE)
            {
                self.events.push(Event::CoreIdle(CoreId(core as u32)));
            }
            self.announced_idle[core] = idle;
        }
    }

    fn note_change(&mut self, thread: ThreadId) {
        let index = thread.index();
        self.threads[index].touched = false;
        let milestone = std::mem::take(&mut self.threads[index].at_milestone);
        let (told, ended, runnable) = {
            let state = &self.threads[index];
            (state.announced, state.ended, state.runnable)
        };
        if ended {
            self.leave(thread);
            self.stats[index].state = State::Exited;
            if told {
                if self.interest.wants(Interest::MILESTONE) {
                    self.events.push(Event::Milestone(thread));
                }
                if let Ok(at) = self.live.binary_search(&thread) {
                    self.live.remove(at);
                }
                self.events.push(Event::Exited(thread));
            }
            return;
        }
        if !told {
            if self.threads[index].foreign {
                return;
            }
            self.threads[index].announced = true;
            let at = self.live.partition_point(|&live| live < thread);
            self.live.insert(at, thread);
            self.stats[index].state = if runnable { State::Ready } else { State::Blocked };
            self.events.push(Event::Started(thread));
            if runnable && self.threads[index].found {
                self.loosen(thread);
            } else if runnable {
                self.arrivals.push(thread);
            } else if self.interest.wants(Interest::BLOCKED) {
                // A policy takes a thread that starts for runnable; most of those that were there
                // before sleep.
                self.events.push(Event::Blocked(thread));
            }
            self.note_load(thread);
            return;
        }
        if milestone && self.interest.wants(Interest::MILESTONE) {
            self.events.push(Event::Milestone(thread));
        }
        let was_runnable = self.stats[index].runnable();
        if was_runnable && !runnable {
            self.leave(thread);
            self.stats[index].state = State::Blocked;
            if self.interest.wants(Interest::BLOCKED) {
                self.events.push(Event::Blocked(thread));
            }
            self.note_load(thread);
        } else if !was_runnable && runnable {
            self.stats[index].state = State::Ready;
            self.threads[index].woken = true;
            self.loosen(thread);
            if self.interest.wants(Interest::WOKE) {
                self.events.push(Event::Woke(thread));
            }
            self.note_load(thread);
        }
    }

    /// A thread that has woken is left to the kernel at first.
    fn loosen(&mut self, thread: ThreadId) {
        if !std::mem::replace(&mut self.threads[thread.index()].loose, true) {
            self.loose.push(thread);
        }
        // Not enough that it woke: it must last until the next look.
        self.threads[thread.index()].blocked_lately = true;
        self.change(thread);
    }

    /// Shows loose threads where they are, on cores without a thread.
    fn show_loose(&mut self) {
        for core in 0..self.cores.len() {
            self.cores[core].running = self.placed[core];
        }
        let mut kept = 0;
        for at in 0..self.loose.len() {
            let thread = self.loose[at];
            let state = &mut self.threads[thread.index()];
            if state.ended || !state.runnable || state.place != Place::Nowhere {
                state.loose = false;
                continue;
            }
            self.loose[kept] = thread;
            kept += 1;
            let stats = &mut self.stats[thread.index()];
            stats.state = State::Ready;
            if let Some(core) = state.on
                && self.cores[core.index()].running.is_none()
                && self.on_core[core.index()] == Some(thread)
            {
                self.cores[core.index()].running = Some(thread);
                stats.state = State::Running;
                stats.core = core;
                stats.runs = stats.runs.max(1);
            }
        }
        self.loose.truncate(kept);
    }

    /// Loose threads that have lasted since the last look are placed like others.
    pub(super) fn settle_loose(&mut self) {
        let mut kept = 0;
        for at in 0..self.loose.len() {
            let thread = self.loose[at];
            let state = &mut self.threads[thread.index()];
            if state.place != Place::Nowhere {
                state.loose = false;
            } else if std::mem::take(&mut state.blocked_lately) {
                self.loose[kept] = thread;
                kept += 1;
            } else {
                state.loose = false;
                self.arrivals.push(thread);
            }
        }
        self.loose.truncate(kept);
    }
}
