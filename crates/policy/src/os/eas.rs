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

use evenkeel_machine::{ClusterId, CoreId, Machine, MicroWatts, Nanos};

use super::TICK;
use super::fair;
use super::homes::Homes;
use crate::contract::{Directives, Event, Interest, Knob, Knobs, Policy, QueueId, ThreadId, Tier, View};
use crate::registry::Entry;

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

/// Used capacity x this must not exceed what there is: `fits_capacity` (1280 / 1024), and schedutil's headroom.
const MARGIN: f64 = 1.25;

/// See the file's head. Queue `q` is core `q`'s.
#[derive(Debug)]
pub struct Eas {
    at_top: bool,
    balance: Nanos,
    tick: Nanos,
    balanced: Nanos,
    over_utilised: bool,
    homes: Homes,
    /// Largest first.
    cores: Vec<CoreId>,
    /// By core: at its highest clock.
    capacity: Vec<f64>,
    /// By core: utilisation, as of the last tick and what has been placed since.
    used: Vec<f64>,
    /// By thread: where it counts in that, and for how much.
    counted: Vec<Option<(CoreId, f64)>>,
}

/// What a cluster has to do.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    sum: f64,
    greatest: f64,
}

impl Demand {
    fn with(self, load: f64, on: f64) -> Self {
        Self { sum: self.sum + load, greatest: self.greatest.max(on + load) }
    }
}

fn fits(used: f64, capacity: f64) -> bool {
    used * MARGIN <= capacity
}

impl Eas {
    fn new(knobs: &Knobs) -> Self {
        Self {
            at_top: knobs.word("clock") == "top",
            balance: knobs.millis("balance"),
            tick: knobs.millis("tick"),
            balanced: Nanos::ZERO,
            over_utilised: false,
            homes: Homes::default(),
            cores: Vec::new(),
            capacity: Vec::new(),
            used: Vec::new(),
            counted: Vec::new(),
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

    /// Counts a thread where it belongs, for what it has to do.
    fn count(&mut self, thread: ThreadId, at: Option<(CoreId, f64)>) {
        if self.counted.len() <= thread.index() {
            self.counted.resize(thread.index() + 1, None);
        }
        if let Some((core, load)) = std::mem::replace(&mut self.counted[thread.index()], at) {
            self.used[core.index()] = (self.used[core.index()] - load).max(0.0);
        }
        if let Some((core, load)) = at {
            self.used[core.index()] += load;
        }
    }

    /// Utilisation anew, from the view. O(threads).
    fn count_all(&mut self, view: &View<'_>) {
        self.used.fill(0.0);
        self.counted.fill(None);
        for &thread in view.live {
            let stats = view.thread(thread);
            if let Some(queue) = stats.queue {
                self.count(thread, Some((CoreId(queue.0), f64::from(stats.load))));
            }
        }
    }

    fn is_over_utilised(&self, view: &View<'_>) -> bool {
        view.online().any(|core| !fits(self.used[core.index()], self.capacity[core.index()]))
    }

    /// Power that a cluster draws beyond that of its idle cores, in microwatts, the mean over time.
    fn power(&self, machine: &Machine, cluster: ClusterId, demand: Demand) -> f64 {
        let kind = &machine.kinds[machine.clusters[cluster.index()].kind.index()];
        let wanted = if self.at_top { f64::INFINITY } else { demand.greatest * MARGIN };
        let point = kind.opps.iter().find(|point| point.capacity >= wanted).unwrap_or_else(|| kind.top());
        let power = |power: Option<MicroWatts>| power.unwrap_or_default().0 as f64;
        demand.sum / point.capacity * (power(point.busy_power) - power(kind.idle_power))
            + (demand.greatest / point.capacity).min(1.0) * power(point.cluster_power)
    }

    /// The core where a thread of this load costs the least energy, given where it was. The thread itself must not be counted anywhere.
    fn cheapest(&self, thread: ThreadId, load: f64, previous: CoreId, view: &View<'_>) -> Option<CoreId> {
        let machine = view.machine;
        let spare = |core: CoreId| self.capacity[core.index()] - self.used[core.index()] - load;
        let may = |core: CoreId| view.cores[core.index()].online && view.allowed(thread, core);
        let mut cheapest: Option<(f64, bool, f64, CoreId)> = None;
        let mut roomiest: Option<(f64, CoreId)> = None;
        for (number, cluster) in machine.clusters.iter().enumerate() {
            let demand = cluster.cores.iter().fold(Demand::default(), |demand, core| {
                let used = self.used[core.index()];
                demand.with(used, 0.0)
            });
            let id = ClusterId(number as u32);
            let without = self.power(machine, id, demand);
            for &core in cluster.cores.iter().filter(|&&core| may(core)) {
                let used = self.used[core.index()];
                if roomiest.is_none_or(|(room, _)| spare(core) > room) {
                    roomiest = Some((spare(core), core));
                }
                if !fits(used + load, self.capacity[core.index()]) {
                    continue;
                }
                let cost = self.power(machine, id, demand.with(load, used)) - without;
                let moves = core != previous;
                let better = cheapest.is_none_or(|(least, moves_there, room, _)| {
                    cost < least
                        || cost == least && (!moves && moves_there || moves == moves_there && spare(core) > room)
                });
                if better {
                    cheapest = Some((cost, moves, spare(core), core));
                }
            }
        }
        cheapest.map(|(.., core)| core).or(roomiest.map(|(_, core)| core))
    }

    /// Sum of weights / capacity, with one of this weight more.
    fn scaled_load(&self, core: CoreId, weight: u32) -> f64 {
        (self.homes.load(QueueId(core.0)) + u64::from(weight)) as f64 / self.capacity[core.index()]
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
        self.count(thread, None);
        let mut core = previous;
        if !self.over_utilised {
            core = self.cheapest(thread, load, previous, view).unwrap_or(previous);
        }
        self.count(thread, Some((core, load)));
        if core != previous {
            fair::rehome(&mut self.homes, thread, QueueId(core.0), view, say);
        }
    }

    /// A thread that runs on a core too small for it, and where it runs: one that has not been promised to an idle core in this instant.
    fn misfit_on(&self, core: CoreId, view: &View<'_>) -> Option<ThreadId> {
        let thread = view.cores[core.index()].running?;
        let is_small = !fits(f64::from(view.thread(thread).load), self.capacity[core.index()]);
        (is_small && self.homes.of(thread) == Some(QueueId(core.0))).then_some(thread)
    }

    /// Gives an idle core the heaviest misfit of smaller ones; returns whether there was one.
    fn pull(&mut self, core: CoreId, view: &View<'_>, say: &mut Directives) -> bool {
        let stats = view.cores[core.index()];
        if !stats.online || stats.running.is_some() || self.homes.load(QueueId(core.0)) > 0 {
            return false;
        }
        let capacity = self.capacity[core.index()];
        let smaller = self.cores.iter().filter(|&&other| self.capacity[other.index()] < capacity);
        let heaviest = smaller
            .filter_map(|&other| self.misfit_on(other, view))
            .filter(|&thread| view.allowed(thread, core))
            .max_by_key(|&thread| (view.thread(thread).load, std::cmp::Reverse(thread)));
        let Some(thread) = heaviest else { return false };
        fair::rehome(&mut self.homes, thread, QueueId(core.0), view, say);
        self.count(thread, Some((core, f64::from(view.thread(thread).load))));
        say.move_to(thread, core);
        true
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        self.count_all(view);
        let balances = view.now.saturating_sub(self.balanced) >= self.balance;
        let was = self.over_utilised;
        self.over_utilised = self.is_over_utilised(view) || was && !balances;
        if was != self.over_utilised {
            self.serve(view, say);
        }
        if !self.over_utilised {
            return;
        }
        if balances {
            self.balanced = view.now;
            let (capacity, may) = (&self.capacity, |thread, queue: QueueId| view.allowed(thread, CoreId(queue.0)));
            fair::balance_by(&mut self.homes, |queue| capacity[queue.index()] as u64, may, view, say);
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
        self.capacity = machine.cores.iter().map(|core| machine.kind_of(core.id).top().capacity.max(1.0)).collect();
        self.used = vec![0.0; machine.cores.len()];
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
                    let queue = QueueId(core.0);
                    self.homes.put(thread, queue, view.thread(thread).weight);
                    self.count(thread, Some((core, f64::from(view.thread(thread).load))));
                    fair::enter(thread, queue, view, say);
                }
            }
            Event::Woke(thread) => self.woke(thread, view, say),
            Event::Blocked(thread) => self.homes.leave(thread),
            Event::Exited(thread) => {
                self.homes.leave(thread);
                self.count(thread, None);
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
mod tests {
    use super::*;
    use crate::contract::Directive;
    use crate::registry::make;
    use crate::testing::{self, Bench};
    use evenkeel_machine::OperatingPoint;

    /// Big cores of 1024 and little ones of 512 for a tenth of the power, each with a point of half the capacity for a third of it; clusters
    /// draw half of what a core does.
    fn machine(big: u32, little: u32) -> Machine {
        let mut machine = testing::machine(&[("big", 1024, big), ("little", 512, little)]);
        for (kind, watts) in machine.kinds.iter_mut().zip([900_000, 90_000]) {
            let point = |khz: u64, share: f64, watts: u64| OperatingPoint {
                khz,
                capacity: f64::from(kind.capacity) * share,
                busy_power: Some(MicroWatts(watts)),
                cluster_power: Some(MicroWatts(watts / 2)),
            };
            kind.opps = vec![point(500_000, 0.5, watts / 3), point(1_000_000, 1.0, watts)];
        }
        machine
    }

    fn bench(big: u32, little: u32) -> Bench {
        Bench::on(machine(big, little), make("eas", &[]).unwrap())
    }

    /// A thread of this load that sleeps, last on this core.
    fn asleep(bench: &mut Bench, core: u32, load: u32) -> ThreadId {
        let thread = bench.spawn(0);
        let stats = &mut bench.threads[thread.index()];
        (stats.queue, stats.core, stats.load) = (Some(QueueId(core)), CoreId(core), load);
        bench.block(thread);
        thread
    }

    /// A thread of this load that runs on this core.
    fn running(bench: &mut Bench, core: u32, load: u32) -> ThreadId {
        let thread = bench.spawn(0);
        bench.threads[thread.index()].queue = Some(QueueId(core));
        bench.threads[thread.index()].load = load;
        bench.run(thread, CoreId(core));
        thread
    }

    fn tick(bench: &mut Bench) -> Vec<Directive> {
        bench.now += Nanos::from_millis(4);
        bench.deliver(Event::Timer).to_vec()
    }

    #[test]
    fn power_is_the_share_of_the_busy_cores_and_the_busiest_cores_share_of_the_cluster() {
        let machine = machine(2, 2);
        let mut eas = Eas::new(&Knobs::new("eas", ENTRY.knobs, &[]).unwrap());
        let (big, demand) = (ClusterId(0), Demand { sum: 384.0, greatest: 256.0 });
        // 256 x 1.25 fit the point of 512: 384 / 512 of a core at 300 mW, and the cluster for half of the time at 150 mW.
        assert_eq!(eas.power(&machine, big, demand), 0.75 * 300_000.0 + 0.5 * 150_000.0);
        eas.at_top = true;
        assert_eq!(eas.power(&machine, big, demand), 0.375 * 900_000.0 + 0.25 * 450_000.0);
        assert_eq!(eas.power(&machine, big, Demand::default()), 0.0);
    }

    #[test]
    fn a_light_thread_wakes_on_a_little_core_and_stays_there_while_it_costs_no_more() {
        let mut bench = bench(2, 2);
        let light = asleep(&mut bench, 0, 50);
        tick(&mut bench);
        bench.wake(light);
        assert_eq!(bench.queue_of(light), Some(QueueId(2)));
        bench.block(light);
        bench.threads[light.index()].queue = Some(QueueId(3));
        bench.wake(light);
        assert_eq!(bench.queue_of(light), Some(QueueId(3)), "the other little core costs the same");
    }

    #[test]
    fn a_thread_wakes_on_a_little_core_only_if_it_fits_there_with_a_margin_beside_what_that_has() {
        // 300 + 100 of 512, or 300 + 120, with a margin of a quarter of them.
        for (load, core) in [(100, 1), (120, 0)] {
            let mut bench = bench(1, 1);
            running(&mut bench, 1, 300);
            let thread = asleep(&mut bench, 0, load);
            tick(&mut bench);
            bench.wake(thread);
            assert_eq!(bench.queue_of(thread), Some(QueueId(core)), "{load}");
        }
    }

    #[test]
    fn a_thread_that_would_raise_the_clock_of_all_wakes_where_it_does_not() {
        let mut bench = bench(1, 2);
        running(&mut bench, 1, 150);
        let thread = asleep(&mut bench, 1, 100);
        tick(&mut bench);
        bench.wake(thread);
        // Beside it, 250 x 1.25 take the upper point; alone, 150 x 1.25 stay below it.
        assert_eq!(bench.queue_of(thread), Some(QueueId(2)));
    }

    #[test]
    fn while_there_is_room_nobody_is_pulled_and_when_there_is_none_idle_cores_take_whoever_waits() {
        let mut bench = bench(1, 1);
        assert_eq!(bench.serves(CoreId(0)), [QueueId(0)]);
        let busy = running(&mut bench, 0, 1024);
        (0..2).for_each(|_| {
            tick(&mut bench);
            assert_eq!(bench.serves(CoreId(1)), [1, 0].map(QueueId));
        });
        bench.threads[busy.index()].load = 100;
        tick(&mut bench);
        assert_eq!(bench.serves(CoreId(1)), [1, 0].map(QueueId), "until the next balance");
        tick(&mut bench);
        assert_eq!(bench.serves(CoreId(1)), [QueueId(1)]);
    }

    #[test]
    fn over_utilised_a_thread_wakes_where_it_was() {
        let mut bench = bench(1, 2);
        running(&mut bench, 1, 512);
        let light = asleep(&mut bench, 0, 50);
        bench.cores[0].running = Some(ThreadId(0));
        tick(&mut bench);
        bench.wake(light);
        assert_eq!(bench.queue_of(light), Some(QueueId(0)));
    }

    #[test]
    fn a_misfit_moves_to_an_idle_core_of_greater_capacity() {
        let mut bench = bench(1, 2);
        let fit = running(&mut bench, 1, 300);
        let misfit = running(&mut bench, 2, 500);
        (0..2).for_each(|_| drop(tick(&mut bench)));
        assert_eq!((bench.cores[0].running, bench.queue_of(misfit)), (Some(misfit), Some(QueueId(0))));
        assert_eq!(bench.cores[1].running, Some(fit));
    }

    #[test]
    fn a_big_core_that_goes_idle_takes_the_heaviest_misfit() {
        let mut bench = bench(1, 2);
        let first = running(&mut bench, 0, 900);
        running(&mut bench, 1, 450);
        let heaviest = running(&mut bench, 2, 500);
        (0..2).for_each(|_| drop(tick(&mut bench)));
        bench.exit(first);
        bench.deliver(Event::CoreIdle(CoreId(0)));
        assert_eq!(bench.cores[0].running, Some(heaviest));
    }

    #[test]
    fn balance_is_by_weight_and_capacity() {
        let mut bench = bench(1, 1);
        running(&mut bench, 0, 1024);
        let waiting: Vec<_> = (0..5).map(|_| bench.spawn(0)).collect();
        for &thread in &waiting {
            bench.threads[thread.index()].queue = Some(QueueId(0));
        }
        bench.now = Nanos::from_millis(8);
        bench.deliver(Event::Timer);
        let on_little = waiting.iter().filter(|&&thread| bench.queue_of(thread) == Some(QueueId(1))).count();
        assert_eq!(on_little, 2, "of six, a third");
    }

    #[test]
    fn new_threads_take_idle_cores_largest_first_and_then_the_least_load_by_capacity() {
        let mut bench = bench(1, 1);
        let threads: Vec<_> = (0..6).map(|_| bench.spawn(0)).collect();
        let queues: Vec<_> = threads.into_iter().map(|thread| bench.queue_of(thread)).collect();
        assert_eq!(queues, [0, 1, 0, 0, 0, 1].map(|queue| Some(QueueId(queue))));
    }

    #[test]
    fn with_three_kinds_a_thread_wakes_on_the_cheapest_that_it_fits_on() {
        let mut kinds = testing::machine(&[("prime", 1024, 1), ("big", 768, 1), ("little", 256, 1)]);
        for (kind, watts) in kinds.kinds.iter_mut().zip([1_000_000, 400_000, 50_000]) {
            kind.opps[0].busy_power = Some(MicroWatts(watts));
        }
        for (load, core) in [(100, 2), (300, 1), (700, 0)] {
            let mut bench = Bench::on(kinds.clone(), make("eas", &[]).unwrap());
            let thread = asleep(&mut bench, 1, load);
            bench.wake(thread);
            assert_eq!(bench.queue_of(thread), Some(QueueId(core)), "{load}");
        }
    }

    #[test]
    fn a_machine_without_a_power_model_is_refused_in_a_sentence() {
        let mut machine = machine(1, 1);
        machine.kinds[1].idle_power = None;
        let refused = Bench::try_on(machine, make("eas", &[]).unwrap()).err();
        assert!(refused.is_some_and(|why| why.contains("bench has none")));
    }
}
