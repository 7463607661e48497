//! Threads meet: barriers, locks, conditions, semaphores, bounded queues, devices.

use evenkeel_machine::Nanos;
use evenkeel_policy::{AppId, Event, Interest, ThreadId};

use crate::mechanism::Mechanism;
use crate::programs::execute::{Next, square};
use crate::programs::program::Op;
use crate::programs::thread::WaitsFor;
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    pub fn barrier(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        barrier: u32,
    ) -> Option<Next> {
        self.milestone(thread);
        let object = &mut self.objects(app).barriers[barrier as usize];
        if object.arrived.len() + 1 < object.parties as usize {
            object.arrived.push_back(thread);
            return self.gone(core, thread, WaitsFor::Barrier(barrier));
        }
        while let Some(other) = self.objects(app).barriers[barrier as usize].arrived.pop_front() {
            self.wake(other, Some(thread));
        }
        None
    }

    pub fn lock(&mut self, core: usize, thread: ThreadId, app: AppId, lock: u32) -> Option<Next> {
        self.threads[thread.index()].in_critical_section = true;
        let object = &mut self.objects(app).locks[lock as usize];
        if object.owner.is_none() {
            object.owner = Some(thread);
            return None;
        }
        object.line.push_back(thread);
        self.gone(core, thread, WaitsFor::Lock(lock))
    }

    /// Passes a lock on to the first in line.
    pub fn pass_on(&mut self, thread: ThreadId, app: AppId, lock: u32) {
        let object = &mut self.objects(app).locks[lock as usize];
        object.owner = object.line.pop_front();
        if let Some(next) = object.owner {
            self.wake(next, Some(thread));
        }
    }

    pub fn unlock(&mut self, thread: ThreadId, app: AppId, lock: u32) -> Option<Next> {
        self.pass_on(thread, app, lock);
        let was_in = std::mem::take(&mut self.threads[thread.index()].in_critical_section);
        if was_in
            && self.interest.wants(Interest::CRITICAL_SECTION)
            && self.threads[thread.index()].normal()
        {
            let passed = std::mem::take(&mut self.stats[thread.index()].since_milestone);
            self.threads[thread.index()].squares += square(passed);
            self.events.push(Event::CriticalSection(thread));
        }
        None
    }

    pub fn wait(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        condition: u32,
        lock: Option<u32>,
    ) -> Option<Next> {
        if let Some(lock) = lock {
            self.pass_on(thread, app, lock);
        }
        self.objects(app).conditions[condition as usize].line.push_back((thread, lock));
        self.gone(core, thread, WaitsFor::Condition(condition))
    }

    pub fn signal(&mut self, thread: ThreadId, app: AppId, condition: u32) -> Option<Next> {
        let objects = self.objects(app);
        let (other, lock) = objects.conditions[condition as usize].line.pop_front()?;
        if let Some(lock) = lock {
            let object = &mut objects.locks[lock as usize];
            if object.owner.is_some() {
                // Woken, but it has to stand in line for its lock.
                object.line.push_back(other);
                self.threads[other.index()].waits_for = WaitsFor::Lock(lock);
                return None;
            }
            object.owner = Some(other);
        }
        self.wake(other, Some(thread));
        None
    }

    pub fn post(&mut self, thread: ThreadId, app: AppId, semaphore: u32) -> Option<Next> {
        let object = &mut self.objects(app).semaphores[semaphore as usize];
        match object.line.pop_front() {
            Some(other) => self.wake(other, Some(thread)),
            None => object.count = object.count.saturating_add(1),
        }
        None
    }

    pub fn wake_over_channel(&mut self, thread: ThreadId, by: ThreadId, synchronously: bool) {
        self.wake(thread, Some(by));
        self.threads[thread.index()].synchronously = synchronously;
    }

    pub fn send(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        channel: u32,
    ) -> Option<Next> {
        let object = &mut self.objects(app).channels[channel as usize];
        if let Some(receiver) = object.receivers.pop_front() {
            let synchronously = object.synchronous;
            self.wake_over_channel(receiver, thread, synchronously);
            return None;
        }
        if object.items < object.capacity {
            object.items += 1;
            return None;
        }
        object.senders.push_back(thread);
        self.gone(core, thread, WaitsFor::Room(channel))
    }

    pub fn receive(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        channel: u32,
        exit: u32,
    ) -> Option<Next> {
        let object = &mut self.objects(app).channels[channel as usize];
        if object.items > 0 {
            object.items -= 1;
            if let Some(sender) = object.senders.pop_front() {
                object.items += 1;
                let synchronously = object.synchronous;
                self.wake_over_channel(sender, thread, synchronously);
            }
            return None;
        }
        if object.closed {
            self.leave_loop(thread, exit);
            return None;
        }
        object.receivers.push_back(thread);
        self.gone(core, thread, WaitsFor::Item(channel))
    }

    pub fn close(
        &mut self,
        thread: ThreadId,
        app: AppId,
        channel: u32,
        senders: u32,
    ) -> Option<Next> {
        let object = &mut self.objects(app).channels[channel as usize];
        object.closings += 1;
        if object.closings < senders {
            return None;
        }
        object.closed = true;
        while let Some(receiver) =
            self.objects(app).channels[channel as usize].receivers.pop_front()
        {
            let receive = self.threads[receiver.index()].pc - 1;
            if let Op::Receive { exit, .. } = self.ops[receive as usize] {
                self.leave_loop(receiver, exit);
            }
            self.wake(receiver, Some(thread));
        }
        None
    }

    pub fn broadcast(&mut self, thread: ThreadId, app: AppId, condition: u32) -> Option<Next> {
        while !self.objects(app).conditions[condition as usize].line.is_empty() {
            self.signal(thread, app, condition);
        }
        None
    }

    pub fn take_semaphore(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        semaphore: u32,
    ) -> Option<Next> {
        let object = &mut self.objects(app).semaphores[semaphore as usize];
        if object.count > 0 {
            object.count -= 1;
            return None;
        }
        object.line.push_back(thread);
        self.gone(core, thread, WaitsFor::Semaphore(semaphore))
    }

    pub fn use_device(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        device: u32,
        time: Nanos,
    ) -> Option<Next> {
        let now = self.now;
        let free = &mut self.objects(app).devices[device as usize];
        *free = (*free).max(now).saturating_add(time);
        let done = *free;
        if done == now { None } else { self.sleep_until(core, thread, done) }
    }
}
