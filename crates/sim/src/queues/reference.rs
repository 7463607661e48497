//! The fast queues answer as the plain reference does ([`evenkeel_mechanism::picking`]), which is
//! held at each answer where a listener has [`Listener::CHECKS`]: in tests.

use evenkeel_machine::{CoreId, Machine};
use evenkeel_mechanism::picking::{self, Candidate, Scene};
use evenkeel_mechanism::{Guests, Service};
use evenkeel_policy::{QueueId, ThreadId};

use crate::mechanism::{Mechanism, NONE};
use crate::programs::thread::Place;
use crate::trace::Listener;

/// A mechanism as picking sees it, where one thread more may wait: last in its queue.
struct Shown<'a, 'm, L> {
    mechanism: &'a Mechanism<'m, L>,
    also: Option<(QueueId, ThreadId)>,
}

impl<L: Listener> Shown<'_, '_, L> {
    fn candidate(&self, thread: ThreadId, sequence: u64) -> Candidate {
        let (state, stats) =
            (&self.mechanism.threads[thread.index()], &self.mechanism.stats[thread.index()]);
        Candidate {
            thread,
            order: state.order,
            virtual_time: stats.virtual_time,
            weight: stats.weight,
            sequence,
            woken: state.woken,
            last_core: stats.core,
        }
    }
}

impl<L: Listener> Scene for Shown<'_, '_, L> {
    fn machine(&self) -> &Machine {
        self.mechanism.machine
    }

    fn service(&self, core: CoreId) -> &Service {
        &self.mechanism.cores[core.index()].service
    }

    fn guests(&self, core: CoreId) -> &Guests {
        &self.mechanism.cores[core.index()].guests
    }

    fn waiting(&self, queue: QueueId) -> impl Iterator<Item = Candidate> + '_ {
        let also = self.also.filter(|&(other, _)| other == queue);
        let also = also.map(|(_, thread)| (thread, self.mechanism.queues.next_sequence()));
        let waiting = self.mechanism.queues[queue].waiting.threads();
        waiting.into_iter().chain(also).map(|(thread, sequence)| self.candidate(thread, sequence))
    }

    fn waits_in(&self, thread: ThreadId) -> Option<QueueId> {
        match self.mechanism.place_of[thread.index()] {
            Place::Queue { queue, .. } => Some(QueueId(queue)),
            _ => self.also.filter(|&(_, also)| also == thread).map(|(queue, _)| queue),
        }
    }

    fn allows(&self, thread: ThreadId, core: CoreId) -> bool {
        self.mechanism.allowed(thread, core.index())
    }

    fn last_on(&self, core: CoreId) -> Option<ThreadId> {
        let last = self.mechanism.cores[core.index()].last;
        (last != NONE).then_some(ThreadId(last))
    }

    fn is_free_for(&self, core: CoreId, _: ThreadId) -> bool {
        self.mechanism.sets.is_idle(core.index()) && !self.mechanism.cores[core.index()].called
    }

    fn preemptible(&self, core: CoreId) -> Option<(Candidate, QueueId)> {
        let state = &self.mechanism.cores[core.index()];
        let running = ThreadId(state.running);
        if state.running == NONE
            || state.called
            || !self.mechanism.threads[running.index()].normal()
        {
            return None;
        }
        let queue = self.mechanism.stats[running.index()].queue?;
        Some((self.candidate(running, 0), queue))
    }
}

impl<'m, L: Listener> Mechanism<'m, L> {
    fn shown(&self) -> Shown<'_, 'm, L> {
        Shown { mechanism: self, also: None }
    }

    /// The thread that the core takes up from the policy's queues.
    pub fn check_pick(&self, core: usize, picked: Option<ThreadId>) {
        if L::CHECKS {
            let expected = picking::pick(&self.shown(), CoreId(core as u32));
            assert_eq!(picked, expected, "core {core} at {}", self.now);
        }
    }

    /// The same where its thread's slice has ended: that thread waits again, in `queue`.
    pub fn check_trade(
        &self,
        core: usize,
        thread: ThreadId,
        queue: QueueId,
        next: Option<ThreadId>,
    ) {
        if L::CHECKS {
            let shown = Shown { mechanism: self, also: Some((queue, thread)) };
            let expected = picking::pick(&shown, CoreId(core as u32));
            assert_eq!(Some(next.unwrap_or(thread)), expected, "core {core} at {}", self.now);
        }
    }

    /// The queue that a thread belongs to which the core has just taken from `queue`.
    pub fn check_taken(
        &self,
        core: usize,
        thread: ThreadId,
        queue: QueueId,
        into: Option<QueueId>,
    ) {
        if L::CHECKS {
            let (state, stats) = (&self.threads[thread.index()], &self.stats[thread.index()]);
            let key = state.order.key(stats.virtual_time);
            let core = CoreId(core as u32);
            let expected = picking::adopted_into(&self.shown(), core, queue, key);
            assert_eq!(into, expected, "thread {} at {}", thread.0, self.now);
        }
    }

    /// The idle core that a thread gets which has come into the queue.
    pub fn check_idle_core(&self, thread: ThreadId, queue: QueueId, found: Option<usize>) {
        if L::CHECKS {
            let prefer = &self.queues[queue].prefer;
            let last = Some(self.stats[thread.index()].core);
            let expected = picking::idle_core(&self.shown(), thread, queue, prefer, last);
            let found = found.map(|core| CoreId(core as u32));
            assert_eq!(found, expected, "thread {} at {}", thread.0, self.now);
        }
    }

    /// The core whose thread it preempts.
    pub fn check_victim(
        &self,
        thread: ThreadId,
        queue: QueueId,
        margin: u64,
        victim: Option<usize>,
    ) {
        if L::CHECKS {
            let shown = self.shown();
            let arrival = shown.candidate(thread, 0);
            let servers = self.queues[queue].servers.iter().map(|&core| CoreId(core));
            let expected = picking::victim(&shown, &arrival, queue, margin, servers);
            let victim = victim.map(|core| CoreId(core as u32));
            assert_eq!(victim, expected, "thread {} at {}", thread.0, self.now);
        }
    }
}
