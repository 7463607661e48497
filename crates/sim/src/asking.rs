//! The policy is asked, and what it says is carried out, now or after the decision latency.

use evenkeel_machine::{CoreId, Nanos};
use evenkeel_policy::{Choose, Clock, Directive, Event, QueueId, ThreadId, Tier, View};

use crate::SimError;
use crate::config::Governor;
use crate::mechanism::{LATE_SLOT, Mechanism, NONE, TIMER_SLOT, priority};
use crate::trace::Listener;

/// Events about which a policy is asked before its answer is carried out.
const EVENTS_AT_ONCE: usize = 64;

/// Events for which there is room at all times: more happen at once where many threads start
/// together.
const EVENTS_KEPT: usize = 1024;

/// What the policy sees. No method: the policy, which is asked, is of the same mechanism.
macro_rules! view {
    ($mechanism:ident) => {
        View {
            now: $mechanism.now,
            answer: $mechanism.answers,
            carried_out: $mechanism.carried_out,
            machine: $mechanism.machine,
            schedutil: $mechanism.config.governor == Governor::Schedutil,
            cores: &$mechanism.core_stats,
            threads: &$mechanism.stats,
            live: &$mechanism.live,
            ran: if $mechanism.tracks_ran { $mechanism.ran.threads() } else { &$mechanism.live },
            waiting: &$mechanism.waiting,
            affinity: &$mechanism.affinity,
        }
    };
}

impl<L: Listener> Mechanism<'_, L> {
    /// Lets the policy lay out its queues.
    pub fn start_policy(&mut self) -> Result<(), SimError> {
        let view = view!(self);
        self.policy.start(&view, &mut self.say).map_err(SimError::Policy)?;
        let mut say = std::mem::take(&mut self.say);
        let mut serves = false;
        say.drain_queues_first(|directive| {
            serves |= matches!(directive, Directive::Serve { .. });
            self.carry_out(directive);
        });
        self.say = say;
        // A policy that says nothing must not keep the machine from running.
        if self.queues.is_empty() {
            self.carry_out(Directive::MakeQueue(Clock::Shared));
        }
        if !serves {
            for core in 0..self.cores.len() {
                let tiers = vec![Tier { queues: vec![QueueId(0)], choose: Choose::LeastKey }];
                self.carry_out(Directive::Serve { core: CoreId(core as u32), tiers, adopt: None });
            }
        }
        Ok(())
    }

    /// Tells the policy what has happened, and carries out what it says. Where much happens at
    /// once, it is asked in portions: ten thousand threads that start together need no room for all
    /// answers.
    pub fn ask(&mut self) {
        self.tell_what_was_skipped();
        self.refresh_stats();
        let mut events = std::mem::take(&mut self.events);
        for portion in events.chunks(EVENTS_AT_ONCE) {
            let view = view!(self);
            for &event in portion {
                self.policy.event(event, &view, &mut self.say);
            }
            if self.tracks_ran && portion.contains(&Event::Timer) {
                // Before the answer takes any of them off its core: the policy has seen them run.
                self.ran.clear();
                let running =
                    self.cores.iter().map(|core| core.running).filter(|&running| running != NONE);
                running.for_each(|running| self.ran.note(ThreadId(running)));
            }
            if !self.say.is_empty() {
                self.answer();
            }
        }
        events.clear();
        events.shrink_to(EVENTS_KEPT);
        // Whatever an answer brought up comes next.
        events.append(&mut self.events);
        self.events = events;
    }

    /// Carries out what the policy has said, now or later.
    fn answer(&mut self) {
        self.resume_ticks();
        let mut say = std::mem::take(&mut self.say);
        self.answers += 1;
        if self.config.decision_latency == Nanos::ZERO {
            say.drain_queues_first(|directive| self.carry_out(directive));
            self.carried_out += 1;
        } else {
            let due = self.now + self.config.decision_latency;
            let mut said = Vec::new();
            say.drain_queues_first(|directive| said.push(directive));
            self.late.push_back((due, said));
            if self.late.len() == 1 {
                self.lookers += 1;
                self.calendar.set(LATE_SLOT, due, priority::LATE);
            }
        }
        self.say = say;
    }

    /// What has been said by now, and was to be late, is carried out.
    pub fn carry_out_late(&mut self) {
        self.lookers -= 1;
        while let Some((due, _)) = self.late.front() {
            if *due > self.now {
                self.lookers += 1;
                self.calendar.set(LATE_SLOT, *due, priority::LATE);
                break;
            }
            let said = self.late.pop_front().map(|(_, said)| said).unwrap_or_default();
            said.into_iter().for_each(|directive| self.carry_out(directive));
            self.carried_out += 1;
        }
    }

    /// Sets or stops the policy's timer.
    pub fn set_timer(&mut self, period: Nanos) {
        if self.period > Nanos::ZERO {
            self.lookers -= 1;
            self.calendar.cancel(TIMER_SLOT);
        }
        self.period = period;
        if period > Nanos::ZERO {
            self.lookers += 1;
            self.calendar.set(TIMER_SLOT, self.now + period, priority::TIMER);
        }
    }

    /// Until when the policy has nothing to say to its timer.
    pub fn quiet_until(&self) -> Nanos {
        self.policy.quiet_until(&view!(self)).unwrap_or(Nanos::ZERO)
    }
}
