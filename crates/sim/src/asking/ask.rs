//! The policy is asked, and what it says is carried out, now or after the decision latency.

use evenkeel_machine::{CoreId, Nanos};
use evenkeel_policy::{Choose, Clock, Directive, Event, Interest, QueueId, ThreadId, Tier, View};

use crate::SimError;
use crate::calendar::owners::Owners;
use crate::config::{Config, Estimator, Governor};
use crate::mechanism::{Mechanism, NONE, priority};
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
            answer: $mechanism.answers.given(),
            carried_out: $mechanism.answers.carried_out(),
            machine: $mechanism.machine,
            schedutil: $mechanism.config.governor == Governor::Schedutil,
            cores: &$mechanism.core_stats,
            threads: &$mechanism.stats,
            live: &$mechanism.live,
            ran: if $mechanism.tracked.ran { $mechanism.ran.threads() } else { &$mechanism.live },
            waiting: $mechanism.queues.counts(),
            affinity: &$mechanism.affinity,
        }
    };
}

/// What is kept of a run only if it is asked for.
#[derive(Clone, Copy)]
pub struct Tracked {
    /// Loads of threads.
    pub load: bool,
    /// Utilisation of cores.
    pub utilisation: bool,
    /// Time that threads wait for memory.
    pub stalls: bool,
    /// Counters.
    pub counters: bool,
    /// Which threads have had a core since the policy's timer.
    pub ran: bool,
}

impl Tracked {
    /// What a policy asks for, and what the governor needs.
    pub fn of(interest: Interest, config: &Config) -> Self {
        Self {
            load: interest.wants(Interest::LOAD),
            utilisation: interest.wants(Interest::UTILISATION)
                || config.governor == Governor::Schedutil,
            stalls: interest.wants(Interest::STALLED),
            counters: matches!(config.estimator, Estimator::Trained(_)),
            ran: interest.wants(Interest::RAN),
        }
    }
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
        if self.queues.len() == 0 {
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
            if self.tracked.ran && portion.contains(&Event::Timer) {
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
        self.answers.note_given();
        if self.config.decision_latency == Nanos::ZERO {
            say.drain_queues_first(|directive| self.carry_out(directive));
            self.answers.note_carried_out();
        } else {
            let due = self.now + self.config.decision_latency;
            let mut said = Vec::new();
            say.drain_queues_first(|directive| said.push(directive));
            if self.answers.due().is_none() {
                self.passive_events += 1;
                self.calendar.set(Owners::ANSWER, due, priority::LATE);
            }
            self.answers.postpone(due, said);
        }
        self.say = say;
    }

    /// What has been said by now, and was to be late, is carried out.
    pub fn carry_out_late(&mut self) {
        self.passive_events -= 1;
        while let Some(said) = self.answers.take_due(self.now) {
            said.into_iter().for_each(|directive| self.carry_out(directive));
            self.answers.note_carried_out();
        }
        if let Some(due) = self.answers.due() {
            self.passive_events += 1;
            self.calendar.set(Owners::ANSWER, due, priority::LATE);
        }
    }

    /// Sets or stops the policy's timer.
    pub fn set_timer(&mut self, period: Nanos) {
        if self.period > Nanos::ZERO {
            self.passive_events -= 1;
            self.calendar.cancel(Owners::TIMER);
        }
        self.period = period;
        if period > Nanos::ZERO {
            self.passive_events += 1;
            self.calendar.set(Owners::TIMER, self.now + period, priority::TIMER);
        }
    }

    /// Until when the policy has nothing to say to its timer.
    pub fn quiet_until(&self) -> Nanos {
        self.policy.quiet_until(&view!(self)).unwrap_or(Nanos::ZERO)
    }
}
