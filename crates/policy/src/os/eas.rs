//! `eas`: energy-aware scheduling, as Linux does it on machines with an energy model. Every wake-up goes where it costs the least energy.
//!
//! ```text
//! load(t)     PELT (crate::pelt) of runnable time, scaled by capacity and clock        util(c) = sum of the loads of c's threads, asleep or not
//! fits(u, c)  <=>  1.25 u <= capacity(c)                                               a margin of 20 %
//!
//! while all cores fit what they have:
//!   wakes       core = argmin E(util with t on c),  over the cores that t fits on beside what they have;
//!               ties: the previous core, then the most spare capacity; none fits: the most spare capacity
//!   nobody is pulled, nothing is balanced
//! else (over-utilised) as super::linux, but load is scaled by capacity:
//!   wakes       previous core if idle, else an idle core (nearest first), else the previous
//!   idles       takes a thread that waits at the core with most; else the heaviest misfit that runs on a smaller core
//!   balance     waiting threads go from the greatest to the least  sum of W_t / capacity
//!   every tick  misfits, which run on a core that does not fit load(t), go to an idle core of greater capacity, largest first
//! starts        an idle core, largest first; else the least  sum of W_t / capacity  with it
//!
//! E = sum over clusters of  sum_c util(c) / capacity(point) x (busy power - idle power)  +  min(1, max_c util(c) / capacity(point)) x cluster power
//! point = the least operating point with capacity >= 1.25 max_c util(c)                (schedutil)
//! ```
//!
//! Source: kernel/sched/fair.c (`find_energy_efficient_cpu`, `cpu_overutilized`, `update_misfit_status`), kernel/power/energy_model.c and
//! Documentation/scheduler/sched-energy.rst of Linux 6.x. `E` is Linux's estimate with what the machine file knows beside it: the power of
//! an idle core, which a busy one saves, and that of a cluster, which is on for as long as its busiest core at least.
//!
//! As there, one thread that is always busy makes the machine over-utilised, even on the largest core, and then energy counts for nobody. Whether it is so is
//! seen at every tick, and that it is no longer so at every balance. Not modelled: `util_est` (a thread that slept for long wakes
//! small), utilisation by running time alone (a thread that waits counts as if it ran), clamps, the hierarchy of domains.
//!
//! Any number of kinds: the rule speaks of clusters. Needs a power model, and refuses a machine without one: without it all clusters would cost
//! the same. Live mechanisms do not know the clock and take it for the highest, so that loads look greater than they are on slow clocks;
//! and their answer to a wake-up counts for the next.
//!
//! Knobs: `clock` (schedutil), `balance` (8 ms), `tick` (4 ms). A wake-up costs O(cores), a tick O(threads).

use evenkeel_machine::{CoreId, Nanos};

use super::TICK;
use super::fair;
use super::homes::Homes;
use crate::contract::{Directives, Event, Interest, Knob, Knobs, Policy, QueueId, ThreadId, Tier, View};
use crate::registry::Entry;

mod energy;

use energy::Energy;

/// In the list of policies.
pub const ENTRY: Entry = Entry {
    name: "eas",
    summary: "energy-aware: wakes threads where the power model says that they cost least",
    source: "Linux's energy-aware scheduling (kernel/sched/fair.c of 6.x)",
    knobs: &[
        Knob::Word {
            name: "clock",
            words: &["schedutil", "top"],
            about: "at what clock clusters are taken to run: schedutil's for what their cores have to do, or the highest",
        },
        Knob::Number {
            name: "balance",
            default: 8.0,
            bounds: (0.1, 10_000.0),
            unit: "ms",
            about: "time between balances of an over-utilised machine, as for linux",
        },
        TICK,
    ],
    make: |knobs| Box::new(Eas::new(knobs)),
};

/// See the file's head. Queue `q` is core `q`'s.
#[derive(Debug)]
pub struct Eas {
    balance: Nanos,
    tick: Nanos,
    balanced: Nanos,
    over_utilised: bool,
    homes: Homes,
    energy: Energy,
    /// Largest first.
    cores: Vec<CoreId>,
}

impl Eas {
    fn new(knobs: &Knobs) -> Self {
        Self {
            balance: knobs.millis("balance"),
            tick: knobs.millis("tick"),
            balanced: Nanos::ZERO,
            over_utilised: false,
            homes: Homes::default(),
            energy: Energy::new(knobs.word("clock") == "top"),
            cores: Vec::new(),
        }
    }

    fn serve(&self, view: &View<'_>, say: &mut Directives) {
        for core in &view.machine.cores {
            let own = QueueId(core.id.0);
            let mut tiers = vec![Tier::least_key([own])];
            if self.over_utilised {
                let others = self.cores.iter().filter(|&&other| other != core.id).map(|other| QueueId(other.0));
                tiers.push(Tier::most_loaded(others.collect::<Vec<_>>()));
            }
            say.serve(core.id, tiers, Some(own));
        }
    }

    /// Sum of weights / capacity, with one of this weight more.
    fn scaled_load(&self, core: CoreId, weight: u32) -> f64 {
        (self.homes.load(QueueId(core.0)) + u64::from(weight)) as f64 / self.energy.capacity(core)
    }

    /// An idle core, largest first; else the one with the least load by capacity.
    fn first_place(&self, thread: ThreadId, view: &View<'_>) -> Option<CoreId> {
        let weight = view.thread(thread).weight;
        let may = |core: &CoreId| view.cores[core.index()].online && view.allowed(thread, *core);
        let allowed = || self.cores.iter().copied().filter(may);
        let idle = allowed().find(|core| self.homes.load(QueueId(core.0)) == 0);
        let lighter = |&a: &CoreId, &b: &CoreId| self.scaled_load(a, weight).total_cmp(&self.scaled_load(b, weight));
        idle.or_else(|| allowed().min_by(lighter))
    }

    fn woke(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let stats = view.thread(thread);
        fair::recount(&mut self.homes, thread, view);
        let Some(previous) = stats.queue.filter(|_| stats.runnable()).map(|queue| CoreId(queue.0)) else { return };
        let load = f64::from(stats.load);
        self.energy.count(thread, None);
        let mut core = previous;
        if !self.over_utilised {
            core = self.energy.cheapest(thread, load, previous, view).unwrap_or(previous);
        }
        self.energy.count(thread, Some((core, load)));
        if core != previous {
            fair::rehome(&mut self.homes, thread, QueueId(core.0), view, say);
        }
    }

    /// A thread that runs on a core too small for it, and where it runs: one that has not been promised to an idle core in this instant.
    fn misfit_on(&self, core: CoreId, view: &View<'_>) -> Option<ThreadId> {
        let thread = view.cores[core.index()].running?;
        let is_small = !self.energy.fits(f64::from(view.thread(thread).load), core);
        (is_small && self.homes.of(thread) == Some(QueueId(core.0))).then_some(thread)
    }

    /// Gives an idle core the heaviest misfit of smaller ones; returns whether there was one.
    fn pull(&mut self, core: CoreId, view: &View<'_>, say: &mut Directives) -> bool {
        let stats = view.cores[core.index()];
        if !stats.online || stats.running.is_some() || self.homes.load(QueueId(core.0)) > 0 {
            return false;
        }
        let capacity = self.energy.capacity(core);
        let smaller = self.cores.iter().filter(|&&other| self.energy.capacity(other) < capacity);
        let heaviest = smaller
            .filter_map(|&other| self.misfit_on(other, view))
            .filter(|&thread| view.allowed(thread, core))
            .max_by_key(|&thread| (view.thread(thread).load, std::cmp::Reverse(thread)));
        let Some(thread) = heaviest else { return false };
        fair::rehome(&mut self.homes, thread, QueueId(core.0), view, say);
        self.energy.count(thread, Some((core, f64::from(view.thread(thread).load))));
        say.move_to(thread, core);
        true
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        self.energy.count_all(view);
        let balances = view.now.saturating_sub(self.balanced) >= self.balance;
        let was = self.over_utilised;
        self.over_utilised = self.energy.is_over_utilised(view) || was && !balances;
        if was != self.over_utilised {
            self.serve(view, say);
        }
        if !self.over_utilised {
            return;
        }
        if balances {
            self.balanced = view.now;
            let energy = &self.energy;
            let capacity = |queue: QueueId| energy.capacity(CoreId(queue.0)) as u64;
            let may = |thread, queue: QueueId| view.allowed(thread, CoreId(queue.0));
            fair::balance_by(&mut self.homes, capacity, may, view, say);
        }
        let mut misfits = self.cores.iter().filter(|&&core| self.misfit_on(core, view).is_some()).count();
        for place in 0..self.cores.len() {
            if misfits > 0 && self.pull(self.cores[place], view, say) {
                misfits -= 1;
            }
        }
    }
}

impl Policy for Eas {
    fn interest(&self) -> Interest {
        let events = Interest::WOKE.and(Interest::BLOCKED).and(Interest::CORE_IDLE);
        events.and(Interest::LOAD).and(Interest::CLOCK)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), String> {
        let machine = view.machine;
        if !machine.has_power_model() {
            return Err(format!(
                "eas goes by a power model, and {} has none: the power of idle cores, of busy ones and of clusters at every operating point",
                machine.name
            ));
        }
        self.cores = fair::fast_first(machine);
        self.energy.start(machine);
        self.homes = Homes::new(fair::places(&self.cores).into_iter().map(|place| (0, place)));
        let queues: Vec<_> = machine.cores.iter().map(|_| fair::make_queue(say)).collect();
        for (core, &own) in machine.cores.iter().zip(&queues) {
            say.prefer(own, fair::nearest_first(machine, core.id, &self.cores));
            self.homes.open(own, view.cores[core.id.index()].online);
        }
        self.serve(view, say);
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                if let Some(core) = self.first_place(thread, view) {
                    fair::settle(&mut self.homes, thread, QueueId(core.0), view, say);
                    self.energy.count(thread, Some((core, f64::from(view.thread(thread).load))));
                }
            }
            Event::Woke(thread) => self.woke(thread, view, say),
            Event::Blocked(thread) => self.homes.leave(thread),
            Event::Exited(thread) => {
                self.homes.leave(thread);
                self.energy.count(thread, None);
            }
            Event::CoreIdle(core) if self.over_utilised => {
                self.pull(core, view, say);
            }
            Event::Timer => self.tick(view, say),
            Event::CoreOnline(core) => self.homes.open(QueueId(core.0), true),
            Event::CoreOffline(core) => {
                self.homes.open(QueueId(core.0), false);
                for thread in fair::at_home(core, view) {
                    if let Some(core) = self.first_place(thread, view) {
                        fair::rehome(&mut self.homes, thread, QueueId(core.0), view, say);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
