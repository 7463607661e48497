//! Threads go through their programs: every step that takes no time, until one computes, waits or
//! ends.

use evenkeel_machine::{CoreId, Nanos, Work};
use evenkeel_model::{PhaseId, TimerMode};
use evenkeel_policy::{AppId, Event, Interest, ThreadId};

use crate::config::Estimator;
use crate::mechanism::{Mechanism, priority};
use crate::programs::objects::Objects;
use crate::programs::program::{self, Op, Row};
use crate::programs::thread::{Part, WaitsFor};
use crate::trace::{Listener, Stepped};

/// What a thread does after its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It has work to do on its core.
    Computes,
    /// It lets others go first, with work to do after.
    Yields,
    /// It waits, or has ended: the core is free.
    Gone,
}

/// Of a distance.
pub fn square(distance: Work) -> f64 {
    (distance.0 as f64).powi(2)
}

/// Steps of one thread in one instant after which it is taken for a loop that takes no time.
const MAX_STEPS: u32 = 5_000_000;

impl<L: Listener> Mechanism<'_, L> {
    /// What threads of an application meet at.
    pub fn objects(&mut self, app: AppId) -> &mut Objects {
        &mut self.apps[app.index()].objects
    }

    /// Carries a thread on from where it is. Its work so far is done.
    pub fn execute(&mut self, core: usize, thread: ThreadId) -> Next {
        let app = self.stats[thread.index()].app;
        if let Some(next) = self.end_part(core, thread, app) {
            return next;
        }
        for _ in 0..MAX_STEPS {
            if let Some(next) = self.step(core, thread, app) {
                return next;
            }
        }
        self.failure = Some(crate::SimError::Workload {
            app: self.specs[app.index()].name.clone(),
            what: format!("{} goes round without taking time", self.name_of(thread)),
        });
        Next::Computes
    }

    /// Sets the work to do next. Nothing at all is no work.
    pub fn compute(&mut self, thread: ThreadId, work: u64, row: Row, part: Part) -> Option<Next> {
        let state = &mut self.threads[thread.index()];
        state.part = part;
        state.remaining = work;
        state.wall = false;
        self.enter_row(thread, row);
        Some(Next::Computes)
    }

    /// Tells the listener what a thread begins.
    fn hear_step(&mut self, core: usize, thread: ThreadId, step: Stepped) {
        if L::HEARS {
            self.listener.stepped(self.now, thread, CoreId(core as u32), step);
        }
    }

    /// Tells the listener of an op that begins, unless more is known of it where it is carried out.
    fn hear_op(&mut self, core: usize, thread: ThreadId, app: AppId, pc: usize) {
        match self.ops[pc] {
            Op::Timer { .. } | Op::Expired | Op::Iteration(_) => {}
            Op::Compute { work, row } => {
                let phase = PhaseId(row - self.apps[app.index()].first_row);
                self.hear_step(core, thread, Stepped::Compute { work: Work(work), phase });
            }
            Op::Busy { time, .. } => self.hear_step(core, thread, Stepped::Busy(time)),
            _ => self.hear_step(core, thread, Stepped::Other),
        }
    }

    fn step(&mut self, core: usize, thread: ThreadId, app: AppId) -> Option<Next> {
        let pc = self.threads[thread.index()].pc;
        self.threads[thread.index()].pc += 1;
        if L::HEARS {
            self.hear_op(core, thread, app, pc as usize);
        }
        match self.ops[pc as usize] {
            Op::Compute { work: 0, .. } | Op::Busy { time: Nanos::ZERO, .. } => None,
            Op::Compute { work, row } => self.compute(thread, work, row, Part::Step),
            Op::Busy { time, row } => self.compute_for(thread, time, row),
            Op::Sleep(Nanos::ZERO) => None,
            Op::Sleep(time) => self.sleep_until(core, thread, self.now.saturating_add(time)),
            Op::Timer { timer, period, mode } => self.timer(core, thread, app, timer, period, mode),
            Op::Expired => self.expired(core, thread),
            Op::Iteration(it) => self.at_once(|m| {
                m.hear_step(core, thread, Stepped::Iteration(it));
            }),
            Op::Barrier(barrier) => self.barrier(core, thread, app, barrier),
            Op::Lock(lock) => self.lock(core, thread, app, lock),
            Op::Unlock(lock) => self.unlock(thread, app, lock),
            Op::Wait { condition, lock } => self.wait(core, thread, app, condition, lock),
            Op::Signal(condition) => self.signal(thread, app, condition),
            Op::Broadcast(condition) => self.broadcast(thread, app, condition),
            Op::SignalAndWait { condition, lock } => {
                self.signal(thread, app, condition);
                self.wait(core, thread, app, condition, lock)
            }
            Op::Post(semaphore) => self.post(thread, app, semaphore),
            Op::TakeSemaphore(semaphore) => self.take_semaphore(core, thread, app, semaphore),
            Op::Send(channel) => self.send(core, thread, app, channel),
            Op::Receive { channel, exit } => self.receive(core, thread, app, channel, exit),
            Op::Close { channel, senders } => self.close(thread, app, channel, senders),
            Op::Io { device, time } => self.use_device(core, thread, app, device, time),
            Op::Fork(template) => self.at_once(|m| m.fork(thread, app, template)),
            Op::JoinAll => self.join_all(core, thread),
            Op::Suspend => self.gone(core, thread, WaitsFor::Resume),
            Op::Resume(_) => self.resume(thread, app, pc as usize),
            Op::Yield => {
                // The work after it decides whether it computes; nothing to compute yet is work of
                // no length.
                let row = self.threads[thread.index()].row;
                self.compute(thread, 0, row, Part::Step);
                Some(Next::Yields)
            }
            Op::LoopStart { depth, times, end } => self.start_loop(thread, depth, times, end),
            Op::LoopEnd { depth, body, .. } => self.end_round(thread, depth, body),
            Op::ParallelFor(shared) => {
                self.threads[thread.index()].pc = pc;
                self.take_chunk(core, thread, app, shared)
            }
            Op::RunTasks(shared) => {
                self.threads[thread.index()].pc = pc;
                self.take_task(core, thread, app, shared)
            }
            Op::Milestone => self.at_once(|m| m.milestone(thread)),
            Op::SetClass(class) => self.set_class(core, thread, class),
            Op::SetNice(nice) => self.at_once(|m| m.set_nice(core, thread, nice)),
            Op::SetAffinity(ref cores) => {
                let cores = cores.as_ref().map(|cores| cores.iter().copied().collect());
                self.set_affinity(core, thread, cores)
            }
            Op::SetClamps { util_min, util_max } => {
                self.at_once(|m| m.set_clamps(core, thread, util_min, util_max))
            }
            Op::End => {
                self.end_thread(core, thread);
                Some(Next::Gone)
            }
        }
    }

    /// Does what takes no time: the thread goes on to its next op.
    #[inline]
    fn at_once(&mut self, what: impl FnOnce(&mut Self)) -> Option<Next> {
        what(self);
        None
    }

    /// Computes for a time, however fast the core is.
    fn compute_for(&mut self, thread: ThreadId, time: Nanos, row: Row) -> Option<Next> {
        self.enter_row(thread, row);
        let state = &mut self.threads[thread.index()];
        state.part = Part::Step;
        state.remaining = time.0;
        state.wall = true;
        Some(Next::Computes)
    }

    /// A thread runs again for which a timer has expired.
    fn expired(&mut self, core: usize, thread: ThreadId) -> Option<Next> {
        // What switching and migrating take comes before its first instruction.
        let runs = self.now.saturating_add(Nanos(self.threads[thread.index()].overhead));
        let latency = self.periods.get_mut(&thread).and_then(|periods| periods.goes_on(runs));
        self.hear_step(core, thread, Stepped::Expired(latency));
        None
    }

    fn join_all(&mut self, core: usize, thread: ThreadId) -> Option<Next> {
        self.milestone(thread);
        if self.threads[thread.index()].children == 0 {
            return None;
        }
        self.gone(core, thread, WaitsFor::Children)
    }

    /// Wakes the thread that the op at `pc` names, if it has suspended itself.
    fn resume(&mut self, thread: ThreadId, app: AppId, pc: usize) -> Option<Next> {
        let Op::Resume(name) = &self.ops[pc] else { return None };
        let found = self.apps[app.index()].by_name.get(name).copied();
        if let Some(other) = found
            && self.threads[other.index()].waits_for == WaitsFor::Resume
        {
            self.wake(other, Some(thread));
        }
        None
    }

    fn start_loop(
        &mut self,
        thread: ThreadId,
        depth: u8,
        times: Option<u64>,
        end: u32,
    ) -> Option<Next> {
        let state = &mut self.threads[thread.index()];
        match times {
            Some(0) => state.pc = end,
            times => state.rounds[depth as usize] = times.unwrap_or(u64::MAX),
        }
        None
    }

    fn end_round(&mut self, thread: ThreadId, depth: u8, body: u32) -> Option<Next> {
        let state = &mut self.threads[thread.index()];
        let left = &mut state.rounds[depth as usize];
        if *left != u64::MAX {
            *left -= 1;
        }
        if *left > 0 {
            state.pc = body;
        }
        None
    }

    fn set_clamps(
        &mut self,
        core: usize,
        thread: ThreadId,
        util_min: Option<u32>,
        util_max: Option<u32>,
    ) {
        let rare = self.threads[thread.index()].rare_mut();
        rare.util_min = util_min.unwrap_or(rare.util_min);
        rare.util_max = util_max.unwrap_or(rare.util_max);
        self.note_governed(core);
    }

    /// Blocks, and leaves the core.
    pub fn gone(&mut self, core: usize, thread: ThreadId, waits_for: WaitsFor) -> Option<Next> {
        self.block(core, thread, waits_for);
        Some(Next::Gone)
    }

    /// A thread waits for a time.
    pub fn sleep_until(&mut self, core: usize, thread: ThreadId, at: Nanos) -> Option<Next> {
        let slot = self.slots.thread(thread);
        self.calendar.set(slot, at, priority::HAPPENS);
        self.gone(core, thread, WaitsFor::Time)
    }

    fn timer(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        timer: u32,
        period: Nanos,
        mode: TimerMode,
    ) -> Option<Next> {
        let now = self.now;
        let first = match self.threads[thread.index()].parent {
            None => self.stats[thread.index()].started,
            Some(_) => self.apps[app.index()].began.saturating_add(self.spec_of(thread).delay),
        };
        let shared = self.specs[app.index()].timers;
        let next = if timer < shared {
            &mut self.apps[app.index()].objects.timers[timer as usize]
        } else {
            let own = self.specs[app.index()].private_timers as usize;
            let timers = &mut self.threads[thread.index()].rare_mut().timers;
            if timers.is_empty() {
                *timers = vec![None; own];
            }
            &mut timers[(timer - shared) as usize]
        };
        let due = next.unwrap_or(first).saturating_add(period);
        *next = Some(match mode {
            TimerMode::Relative => due.max(now),
            TimerMode::Absolute => due,
        });
        let slack = self.periods.entry(thread).or_default().wait(due, now);
        self.hear_step(core, thread, Stepped::Timer { period, slack });
        if due <= now { None } else { self.sleep_until(core, thread, due) }
    }

    pub fn leave_loop(&mut self, thread: ThreadId, exit: u32) {
        // Outside a loop there is nothing to leave: it goes on.
        if exit != u32::MAX {
            self.threads[thread.index()].pc = exit;
        }
    }

    /// A thread is where it waits for its peers.
    pub fn milestone(&mut self, thread: ThreadId) {
        let passed = std::mem::take(&mut self.stats[thread.index()].since_milestone);
        self.threads[thread.index()].squares += square(passed);
        if !self.threads[thread.index()].normal() {
            return;
        }
        if self.interest.wants(Interest::MILESTONE) {
            self.events.push(Event::Milestone(thread));
        }
        if self.interest.wants(Interest::DISTANCE) {
            self.foresee(thread);
        }
    }

    /// Work until the next milestone, for policies that want to know, from estimators that can.
    pub fn foresee(&mut self, thread: ThreadId) {
        let stats = &self.stats[thread.index()];
        let profile =
            self.config.profile.as_ref().filter(|_| self.interest.wants(Interest::PROFILE));
        let to_milestone = match profile {
            Some(profile) => profile.distance(stats.app, stats.index_in_app),
            None => self.estimated_distance(thread),
        };
        self.stats[thread.index()].to_milestone = to_milestone;
    }

    fn estimated_distance(&self, thread: ThreadId) -> Option<Work> {
        let state = &self.threads[thread.index()];
        let app = self.stats[thread.index()].app.index();
        match self.config.estimator {
            Estimator::Oracle => {
                program::distance(&self.specs[app], &self.ops, state.pc as usize, &state.rounds)
            }
            Estimator::Offline => Some(Work(
                self.apps[app].programs[self.spec_of(thread).program.index()].mean_distance(),
            )),
            Estimator::Sampled | Estimator::Modelled { .. } | Estimator::Trained(_) => None,
        }
    }
}
