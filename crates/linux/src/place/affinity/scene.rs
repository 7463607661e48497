//! The mechanism as picking sees it (`evenkeel_mechanism::picking`).

use evenkeel_machine::{CoreId, Machine};
use evenkeel_mechanism::picking::{Candidate, Scene};
use evenkeel_mechanism::{Guests, Service};
use evenkeel_policy::{QueueId, ThreadId};

use super::kernel::Kernel;
use super::mechanism::Mechanism;
use super::thread::Place;

impl<K: Kernel> Mechanism<K> {
    /// A thread, as picking sees it.
    pub(super) fn candidate(&self, thread: ThreadId) -> Candidate {
        let (state, stats) = (&self.threads[thread.index()], &self.stats[thread.index()]);
        Candidate {
            thread,
            order: state.order,
            virtual_time: stats.virtual_time,
            weight: stats.weight,
            sequence: state.sequence,
            woken: state.woken,
            last_core: stats.core,
        }
    }
}

impl<K: Kernel> Scene for Mechanism<K> {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn service(&self, core: CoreId) -> &Service {
        &self.services[core.index()]
    }

    fn guests(&self, core: CoreId) -> &Guests {
        &self.guests[core.index()]
    }

    fn waiting(&self, queue: QueueId) -> impl Iterator<Item = Candidate> + '_ {
        self.queues[queue.index()].waiting.iter().map(|&thread| self.candidate(thread))
    }

    fn waits_in(&self, thread: ThreadId) -> Option<QueueId> {
        match self.threads[thread.index()].place {
            Place::Queue(queue) => Some(queue),
            _ => None,
        }
    }

    fn allows(&self, thread: ThreadId, core: CoreId) -> bool {
        self.allowed(thread, core)
    }

    fn last_on(&self, core: CoreId) -> Option<ThreadId> {
        self.last_on[core.index()]
    }

    fn is_free_for(&self, core: CoreId, thread: ThreadId) -> bool {
        self.cores[core.index()].online
            && self.placed[core.index()].is_none()
            && self.on_core[core.index()].is_none_or(|other| other == thread)
    }

    fn preemptible(&self, core: CoreId) -> Option<(Candidate, QueueId)> {
        let running = self.placed[core.index()]?;
        Some((self.candidate(running), self.stats[running.index()].queue?))
    }
}
