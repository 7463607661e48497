//! A running thread changes how it is scheduled: its class, its nice value, the cores that it may
//! run on.

use evenkeel_machine::{CoreId, Nanos};
use evenkeel_model::Class;
use evenkeel_policy::{Event, Order, ThreadId};

use crate::SimError;
use crate::mechanism::Mechanism;
use crate::programs::execute::Next;
use crate::programs::thread::Part;
use crate::programs::thread::weight_of;
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    /// Changes the class. The thread leaves its core to any thread that goes before it now.
    pub fn set_class(&mut self, core: usize, thread: ThreadId, class: Class) -> Option<Next> {
        self.account(core);
        self.charge_budget(thread);
        let state = &mut self.threads[thread.index()];
        let was_normal = state.normal();
        state.class = class;
        state.slice_left = 0;
        if let Class::Deadline { .. } = class {
            let rare = state.rare_mut();
            rare.period_end = Nanos::ZERO;
            rare.charged_from = self.now;
        }
        let is_normal = state.normal();
        self.renew_budget(thread);
        self.set_weight(core, thread);
        match (was_normal, is_normal) {
            (true, false) => {
                self.live.retain(|&live| live != thread);
                self.stats[thread.index()].queue = None;
                self.events.push(Event::Exited(thread));
            }
            (false, true) => {
                let at = self.live.partition_point(|&live| live < thread);
                self.live.insert(at, thread);
                self.events.push(Event::Started(thread));
            }
            _ => {}
        }
        self.note_governed(core);
        if self.is_outranked(core) {
            return self.leave_core(core, thread);
        }
        self.grant_slice(core);
        None
    }

    /// Changes the nice value.
    pub fn set_nice(&mut self, core: usize, thread: ThreadId, nice: i8) {
        self.account(core);
        self.threads[thread.index()].nice = nice;
        self.set_weight(core, thread);
    }

    /// The weight follows class and nice value. The policy set its own from the thread's: it keeps
    /// its ratio to it until the policy says otherwise.
    fn set_weight(&mut self, core: usize, thread: ThreadId) {
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        let before = std::mem::replace(&mut stats.weight, weight_of(state.class, state.nice));
        if let Order::VirtualTime { weight, .. } = &mut state.order {
            let scaled = u64::from(*weight) * u64::from(stats.weight) / u64::from(before.max(1));
            *weight = scaled.clamp(1, u64::from(u32::MAX)) as u32;
        }
        self.renew_virtual_rate(core);
    }

    /// Changes the cores that it may run on. It leaves its own if that is not one of them.
    pub fn set_affinity(
        &mut self,
        core: usize,
        thread: ThreadId,
        cores: Option<Box<[CoreId]>>,
    ) -> Option<Next> {
        let cores: Option<Box<[CoreId]>> = cores.map(|cores| {
            cores.iter().copied().filter(|core| core.index() < self.cores.len()).collect()
        });
        if cores.as_ref().is_some_and(|cores| cores.is_empty()) {
            self.failure = Some(SimError::Workload {
                app: self.specs[self.stats[thread.index()].app.index()].name.clone(),
                what: format!("{} may run on no core of this machine", self.name_of(thread)),
            });
            return None;
        }
        self.stats[thread.index()].restricted = cores.is_some();
        self.restricted |= cores.is_some();
        self.set_cores_of(thread, cores);
        if self.allowed(thread, core) { None } else { self.leave_core(core, thread) }
    }

    /// Goes back to where it waits, with nothing to do before its next step.
    fn leave_core(&mut self, core: usize, thread: ThreadId) -> Option<Next> {
        let row = self.threads[thread.index()].row;
        self.compute(thread, 0, row, Part::Step);
        self.requeue(core);
        Some(Next::Gone)
    }
}
