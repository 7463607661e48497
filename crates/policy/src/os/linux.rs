//! `linux`: today's Linux scheduler on a machine whose cores differ: kernel/sched/fair.c of Linux
//! 6.12.
//!
//! ```text
//! util(t)     PELT of runnable time (crate::pelt), scaled by capacity and clock; a new thread
//!             begins at (capacity - util of what runs there) / 2         post_init_entity_util_avg
//! est(t)      max(util(t), e);  when t blocks  e = util if util > e, else e + (util - e)/4
//!                                                                                  util_est_update
//! fits(u, c)  <=>  1280 u < 1024 capacity(c)                                         fits_capacity
//!
//! starts      the group with most idle cores, of these the least used, then the parent's; there
//!             the parent's core if idle, else an idle one. No core idle: the least
//!             sum of W / capacity,  but the parent's group within 17 %; there the core with the
//!             least W                                     sched_balance_find_dst_group, _group_cpu
//!             a group is a cluster, or, of a cluster with SMT, a physical core
//! wakes       EAS in force: see below. Else the previous core if idle and fits(est), else the
//!             first idle core after it that fits, else the idle one of the greatest capacity, else
//!             the previous                               select_idle_sibling, select_idle_capacity
//! idles       takes a thread that waits in its cluster, else elsewhere (the greatest W waiting);
//!             else the heaviest misfit; checked at once, and by idle cores every n ms
//!                                                     sched_balance_newidle, sched_balance_domains
//! misfit      t that runs alone to its core, not fits(est(t), c), may run on a greater one
//!                                                                             update_misfit_status
//!             goes to an idle core whose capacity is more than 5 % greater, though it runs
//!                                                                     active_load_balance_cpu_stop
//! busy        waiting threads go from the greatest  sum of W / capacity  to the least while that
//!             levels them: in a cluster of n cores every 16 n ms, among all likewise
//!                                                                          get_sd_balance_interval
//! on a core   virtual time += run x 1024 / W;  least first; slice 0.75 ms (1 + log2 min(n, 8)); a
//!             thread that wakes waits for the end of the slice, unless the running one is more
//!             than a slice of nice 0 ahead of it, as one of SCHED_IDLE is at once
//!                                   sched_update_scaling, RUN_TO_PARITY, check_preempt_wakeup_fair
//! ```
//!
//! Energy-aware placement (`energy`) is in force if the machine has a power model, the governor is
//! schedutil, kinds differ and there is no SMT, while no core is over-utilised:
//! `find_energy_efficient_cpu`.
//!
//! Kinds with SMT (Intel's hybrids) have priorities instead of capacities (`SD_ASYM_PACKING`): a
//! core that idles together with its sibling takes what runs on a slower kind, else one of two
//! threads that share a core. There are no misfits then, and threads wake on an idle physical core
//! first. Equal cores: neither.
//!
//! Source: kernel/sched/fair.c of Linux 6.12, by the functions named above. Not modelled: groups
//! (cgroups), utilisation clamps, NUMA, the waker's core (`wake_affine`), `balance_interval`
//! growing to twice its least, idle states, EEVDF's lag and eligibility (an arriving thread starts
//! at its queue's floor), the first slice of a thread of low weight, which the kernel protects from
//! preemption, migration of cache-hot threads. Time that a thread waits counts as if it ran. Busy
//! cores are balanced all at once, not each by its own clock.
//!
//! Knobs: `tick` (4 ms: 250 Hz). Any number of kinds: the rule is in terms of capacities. Live
//! mechanisms assume that every core runs at its highest clock, and their answer to a wake-up
//! counts for the next.

use evenkeel_machine::{CoreId, Machine, Nanos};

use super::TICK;
use super::fair;
use super::homes::Homes;
use crate::contract::{
    Clock, Directive, Directives, Event, Interest, Knobs, Order, Policy, Preemption, QueueId,
    Slice, Start, StartError, ThreadId, Tier, View,
};
use crate::entry::{Entry, Trait};

pub(super) mod energy;
mod utilisation;

use energy::cheapest;
use utilisation::Utilisation;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "linux",
    summary: "Linux 6.12 on unequal cores: fair queues, misfits go up, energy-aware under \
              schedutil",
    source: "kernel/sched/fair.c of Linux 6.12 (EEVDF, misfit migration, energy-aware scheduling)",
    traits: &[Trait::WorkConserving],
    knobs: &[TICK],
    make: |knobs, _| Box::new(Linux::new(knobs, PowerModel::WithSchedutil)),
};

/// A core takes a misfit of another only if its capacity is greater by more than this:
/// `capacity_greater` (1078 / 1024).
const GREATER: f64 = 1078.0 / 1024.0;
/// If no core idles, a new thread leaves its parent's cluster only for one whose load is less by
/// more than this: `imbalance_pct`.
const IMBALANCE: f64 = 1.17;
/// Interval between balances of a busy core, in balances of an idle one: `sd->busy_factor`.
const BUSY_FACTOR: u64 = 16;
/// `sysctl_sched_base_slice` of one core, which grows by the logarithm of their number up to
/// [`SLICE_CORES`].
const BASE_SLICE: Nanos = Nanos::from_micros(750);
/// `get_update_sysctl_factor`.
const SLICE_CORES: usize = 8;

/// Conditions for the power model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PowerModel {
    /// As in the kernel.
    WithSchedutil,
    /// Under any governor, at the clock that schedutil would choose or at the highest: `eas`.
    Always {
        /// True for the highest clock.
        at_top: bool,
    },
}

/// Form in which the kernel knows that cores differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asymmetry {
    None,
    /// `SD_ASYM_CPUCAPACITY`.
    Capacity,
    /// `SD_ASYM_PACKING`.
    Priority,
}

/// The policies `linux` and `eas`. Queue `q` belongs to core `q`.
#[derive(Debug)]
pub(super) struct Linux {
    model: PowerModel,
    tick: Nanos,
    slice: Slice,
    asymmetry: Asymmetry,
    /// True if energy decides while no core is over-utilised.
    energy_aware: bool,
    over_utilised: bool,
    /// One class per cluster. Threads that idle cores take themselves show here at the next tick.
    homes: Homes,
    /// By core: the last answer, from 1, that placed a thread there.
    promised: Vec<u64>,
    utilisation: Utilisation,
    /// Groups of cores for the placement of new threads: clusters or, with SMT, physical cores; in
    /// the kernel's order.
    groups: Vec<Vec<CoreId>>,
    /// Cores in the kernel's order, which is that of the system's numbers.
    cpus: Vec<CoreId>,
    /// By core: its index in `cpus`.
    places: Vec<u32>,
    /// By core: when it was last balanced as an idle one.
    balanced: Vec<Nanos>,
    /// By cluster, and last the whole machine: when busy cores were last balanced.
    levelled: Vec<Nanos>,
    /// When the machine was last tested for no longer being over-utilised.
    relaxed: Nanos,
}

impl Linux {
    pub(super) fn new(knobs: &Knobs, model: PowerModel) -> Self {
        Self {
            model,
            tick: knobs.millis("tick"),
            slice: Slice::of(BASE_SLICE),
            asymmetry: Asymmetry::None,
            energy_aware: false,
            over_utilised: false,
            homes: Homes::default(),
            promised: Vec::new(),
            utilisation: Utilisation::default(),
            groups: Vec::new(),
            cpus: Vec::new(),
            places: Vec::new(),
            balanced: Vec::new(),
            levelled: Vec::new(),
            relaxed: Nanos::ZERO,
        }
    }

    /// True if wake-ups go by energy, and there is no pull and no balance.
    fn saves_energy(&self) -> bool {
        self.energy_aware && !self.over_utilised
    }

    fn serve(&self, view: &View<'_>, say: &mut Directives) {
        for core in &view.machine.cores {
            let own = QueueId(core.id.0);
            let mut tiers = vec![Tier::least_key([own])];
            if !self.saves_energy() {
                let others = self.cpus.iter().filter(|&&other| other != core.id);
                let (near, far): (Vec<_>, Vec<_>) = others
                    .partition(|other| view.machine.cores[other.index()].cluster == core.cluster);
                let queues = |cores: Vec<&CoreId>| {
                    cores.into_iter().map(|core| QueueId(core.0)).collect::<Vec<_>>()
                };
                let lists = [near, far].map(queues);
                tiers.extend(
                    lists.into_iter().filter(|queues| !queues.is_empty()).map(Tier::most_loaded),
                );
            }
            say.serve(core.id, tiers, Some(own));
        }
    }

    fn may(&self, thread: ThreadId, core: CoreId, view: &View<'_>) -> bool {
        view.cores[core.index()].online && view.allowed(thread, core)
    }

    /// True if no thread runs on the core or is about to.
    fn idles(&self, core: CoreId, view: &View<'_>) -> bool {
        let stats = view.cores[core.index()];
        stats.online && stats.running.is_none() && self.homes.load(QueueId(core.0)) == 0
    }

    /// True if the whole physical core idles.
    fn idles_whole(&self, core: CoreId, view: &View<'_>) -> bool {
        let sibling = view.machine.cores[core.index()].sibling;
        self.idles(core, view)
            && sibling.is_none_or(|sibling| view.cores[sibling.index()].running.is_none())
    }

    /// Utilisation of a core by its running thread, for the placement of new threads.
    fn running_utilisation(&self, core: CoreId, view: &View<'_>) -> f64 {
        view.cores[core.index()].running.map_or(0.0, |thread| self.utilisation.of(thread, view))
    }

    /// Updates homes from the view, since idle cores take threads themselves.
    fn see(&mut self, view: &View<'_>) {
        self.homes.sync(view, |thread| view.thread(thread).weight);
    }

    /// The core where a thread starts: `sched_balance_find_dst_cpu`.
    fn first_place(&self, thread: ThreadId, view: &View<'_>) -> Option<CoreId> {
        let parent = view.thread(thread).parent.and_then(|parent| view.threads.get(parent.index()));
        let parents = parent
            .filter(|parent| parent.runs > 0)
            .map_or(*self.cpus.first()?, |parent| parent.core);
        let home = self.groups.iter().position(|group| group.contains(&parents))?;
        let allowed = |group: usize| {
            let cores = self.groups[group].iter().copied();
            cores.filter(|&core| self.may(thread, core, view))
        };
        // (group, idle cores, utilisation or load by capacity), the parent's group first of equals.
        let mut idlest: Option<(usize, usize, f64)> = None;
        let away = (0..self.groups.len()).filter(|&group| group != home);
        for group in [home].into_iter().chain(away) {
            if allowed(group).next().is_none() {
                continue;
            }
            let idle = allowed(group).filter(|&core| self.idles(core, view)).count();
            let measure: f64 = if idle > 0 {
                allowed(group).map(|core| self.running_utilisation(core, view)).sum()
            } else {
                let load: u64 = allowed(group).map(|core| self.homes.load(QueueId(core.0))).sum();
                let capacity: f64 =
                    allowed(group).map(|core| self.utilisation.capacity(core)).sum();
                load as f64 / capacity
            };
            let better = idlest.is_none_or(|(best, most, least)| {
                let margin = if idle == 0 && best == home { IMBALANCE } else { 1.0 };
                idle > most || idle == most && measure * margin < least
            });
            if better {
                idlest = Some((group, idle, measure));
            }
        }
        let (group, idle, _) = idlest?;
        if idle > 0 {
            let mut places = allowed(group).filter(|&core| self.idles(core, view));
            return places.clone().find(|&core| core == parents).or_else(|| places.next());
        }
        allowed(group).min_by_key(|core| self.homes.load(QueueId(core.0)))
    }

    /// The core where a thread wakes, by idle cores: `select_idle_sibling`.
    fn idle_place(&self, thread: ThreadId, previous: CoreId, view: &View<'_>) -> CoreId {
        let needs = self.utilisation.estimate(thread, view);
        let fits = |core: CoreId| {
            self.asymmetry != Asymmetry::Capacity || self.utilisation.fits(needs, core)
        };
        let idle = |core: CoreId| self.idles(core, view) && view.allowed(thread, core);
        if idle(previous) && fits(previous) {
            return previous;
        }
        let from = self.places[previous.index()] as usize;
        let wrapped = self.cpus[from..].iter().chain(&self.cpus[..from]).copied();
        let mut best: Option<(f64, CoreId)> = None;
        for core in wrapped.filter(|&core| idle(core)) {
            let rank = match self.asymmetry {
                Asymmetry::Capacity if fits(core) => return core,
                Asymmetry::Capacity => self.utilisation.capacity(core),
                // Only within a shared last-level cache, which all cores of an Intel hybrid share;
                // whole physical cores first.
                _ if self.asymmetry == Asymmetry::None
                    && view.machine.distance(previous, core) > 1 =>
                {
                    continue;
                }
                _ => f64::from(u8::from(self.idles_whole(core, view))),
            };
            if best.is_none_or(|(greatest, _)| rank > greatest) {
                best = Some((rank, core));
            }
        }
        best.map_or(previous, |(_, core)| core)
    }

    fn woke(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let stats = view.thread(thread);
        self.homes.leave(thread);
        let Some(previous) = stats.queue.filter(|_| stats.runnable()).map(|queue| CoreId(queue.0))
        else {
            return;
        };
        let needs = self.utilisation.estimate(thread, view);
        self.utilisation.count(thread, None);
        let core = if self.saves_energy() {
            let at_top = self.model == PowerModel::Always { at_top: true };
            cheapest(&self.utilisation, at_top, thread, needs, previous, view)
        } else {
            self.idle_place(thread, previous, view)
        };
        if core == previous {
            self.utilisation.count(thread, Some((core, needs)));
            self.homes.put(thread, QueueId(core.0), stats.weight);
        } else {
            self.place(thread, core, needs, view, say);
        }
    }

    /// The load and the thread if the core is too small for the thread that it runs:
    /// `misfit_task_load`.
    fn misfit_on(&self, core: CoreId, view: &View<'_>) -> Option<(f64, ThreadId)> {
        let thread = view.cores[core.index()].running?;
        let needs = self.utilisation.estimate(thread, view);
        // It may have been promised to another core in this instant.
        let is_misfit =
            !self.utilisation.fits(needs, core) && self.homes.of(thread) == Some(QueueId(core.0));
        let load = needs * f64::from(view.thread(thread).weight) / self.utilisation.capacity(core);
        is_misfit.then_some((load, thread))
    }

    /// The thread, of those that run elsewhere and would be better off on this idle core, that the
    /// kernel takes.
    fn better_here(&self, core: CoreId, view: &View<'_>) -> Option<ThreadId> {
        let others = self.cpus.iter().copied().filter(|&other| other != core);
        match self.asymmetry {
            Asymmetry::None => None,
            Asymmetry::Capacity => {
                let enough = self.utilisation.capacity(core) / GREATER;
                let smaller = others.filter(|&other| self.utilisation.capacity(other) < enough);
                let mut heaviest: Option<(f64, ThreadId)> = None;
                for (load, thread) in smaller.filter_map(|other| self.misfit_on(other, view)) {
                    if view.allowed(thread, core) && heaviest.is_none_or(|(most, _)| load > most) {
                        heaviest = Some((load, thread));
                    }
                }
                heaviest.map(|(_, thread)| thread)
            }
            Asymmetry::Priority => {
                if !self.idles_whole(core, view) {
                    return None;
                }
                let runs = |other: CoreId| {
                    let thread = view.cores[other.index()].running?;
                    (self.homes.of(thread) == Some(QueueId(other.0)) && view.allowed(thread, core))
                        .then_some(thread)
                };
                let shared = |other: CoreId| {
                    let sibling = view.machine.cores[other.index()].sibling;
                    sibling
                        .filter(|&sibling| sibling < other)
                        .is_some_and(|sibling| runs(sibling).is_some())
                };
                let slower = others.clone().filter(|&other| view.kind(other) > view.kind(core));
                let mut shared = others.filter(|&other| shared(other));
                slower.filter_map(runs).next().or_else(|| shared.find_map(runs))
            }
        }
    }

    /// A thread belongs to a core from now on.
    fn place(
        &mut self,
        thread: ThreadId,
        core: CoreId,
        needs: f64,
        view: &View<'_>,
        say: &mut Directives,
    ) {
        say.assign(thread, QueueId(core.0));
        self.homes.put(thread, QueueId(core.0), view.thread(thread).weight);
        self.utilisation.count(thread, Some((core, needs)));
        self.promised[core.index()] = view.answer + 1;
    }

    /// Moves a thread that runs elsewhere to an idle core that suits it better, if there is one.
    fn pull(&mut self, core: CoreId, view: &View<'_>, say: &mut Directives) {
        if self.idles(core, view)
            && let Some(thread) = self.better_here(core, view)
        {
            self.place(thread, core, self.utilisation.estimate(thread, view), view, say);
            say.move_to(thread, core);
        }
    }

    /// True if an interval of so many milliseconds is over; it then restarts.
    fn is_due(last: &mut Nanos, cores: usize, factor: u64, now: Nanos) -> bool {
        let due = now.saturating_sub(*last) >= interval(cores, factor);
        if due {
            *last = now;
        }
        due
    }

    /// The last start of an interval after skipped ticks up to `upto`.
    fn skip(last: &mut Nanos, interval: Nanos, tick: Nanos, upto: Nanos) {
        let ticks = interval.0.div_ceil(tick.0).max(1);
        let stride = ticks * tick.0;
        last.0 += upto.saturating_sub(*last).0 / stride * stride;
    }

    /// True if loads stay as they are until something happens: those of running threads are at
    /// their greatest, those of sleeping ones at 0.
    fn loads_are_settled(&self, view: &View<'_>) -> bool {
        view.live.iter().all(|&thread| {
            let stats = view.thread(thread);
            let most = view.machine.kind_of(stats.core).top().capacity.round();
            let settles = if stats.runnable() { most } else { 0.0 };
            f64::from(stats.load) == settles && self.utilisation.has_faded(thread, view)
        })
    }

    /// The machine is over-utilised as soon as one core is, and ceases to be only at a balance:
    /// `update_overutilized_status`, `update_sd_lb_stats`.
    fn look_at_utilisation(&mut self, view: &View<'_>, say: &mut Directives) {
        if !self.energy_aware {
            return;
        }
        self.utilisation.count_all(view);
        let was = self.over_utilised;
        let balances = Self::is_due(&mut self.relaxed, self.cpus.len(), 1, view.now);
        self.over_utilised = self.utilisation.is_over_utilised(view) || was && !balances;
        if was != self.over_utilised {
            self.serve(view, say);
        }
    }

    /// Moves waiting threads from the greatest load by capacity to the least, within clusters and
    /// then among all.
    fn level(&mut self, view: &View<'_>, say: &mut Directives) {
        let clusters = self.homes.classes();
        let last = clusters.saturating_sub(usize::from(clusters == 1));
        for group in 0..=last {
            let queues: Vec<_> = if group < clusters {
                self.homes.open_queues(group).collect()
            } else {
                (0..clusters).flat_map(|cluster| self.homes.open_queues(cluster)).collect()
            };
            if Self::is_due(&mut self.levelled[group], queues.len(), BUSY_FACTOR, view.now) {
                let capacity = |queue: QueueId| self.utilisation.capacity(CoreId(queue.0)) as u64;
                let may = |thread, queue: QueueId| view.allowed(thread, CoreId(queue.0));
                fair::balance_among(&mut self.homes, queues, capacity, may, view, say);
            }
        }
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        self.see(view);
        self.look_at_utilisation(view, say);
        if !self.saves_energy() {
            self.level(view, say);
        }
        for place in 0..self.cpus.len() {
            let core = self.cpus[place];
            if Self::is_due(&mut self.balanced[core.index()], self.cpus.len(), 1, view.now) {
                self.pull(core, view, say);
            }
        }
    }

    /// Properties of the machine as the kernel would see them.
    fn learn(&mut self, machine: &Machine, schedutil: bool) {
        let has_smt = machine.cores.iter().any(|core| core.sibling.is_some());
        let always = self.model != PowerModel::WithSchedutil;
        self.asymmetry = match machine.kinds.len() {
            0 | 1 => Asymmetry::None,
            _ if has_smt && !always => Asymmetry::Priority,
            _ => Asymmetry::Capacity,
        };
        self.energy_aware = always
            || schedutil && machine.has_power_model() && self.asymmetry == Asymmetry::Capacity;
        self.cpus = machine.cores.iter().map(|core| core.id).collect();
        self.cpus.sort_by_key(|core| machine.cores[core.index()].cpu);
        self.places = fair::places(&self.cpus);
        self.groups = groups(machine, &self.cpus);
        self.homes = Homes::new(
            machine.cores.iter().map(|core| (core.cluster.index(), self.places[core.id.index()])),
        );
        self.utilisation.start(machine);
        self.promised = vec![0; machine.cores.len()];
        self.balanced = vec![Nanos::ZERO; machine.cores.len()];
        self.levelled = vec![Nanos::ZERO; machine.clusters.len() + 1];
        let doublings = machine.cores.len().clamp(1, SLICE_CORES).ilog2();
        self.slice = Slice::of(Nanos(BASE_SLICE.0 * (1 + u64::from(doublings))));
    }
}

/// The groups of the domain that spans the machine (kernel/sched/topology.c), each in the order of
/// `cpus`.
fn groups(machine: &Machine, cpus: &[CoreId]) -> Vec<Vec<CoreId>> {
    let core = |core: CoreId| &machine.cores[core.index()];
    let has_smt = |of: CoreId| {
        machine.clusters[core(of).cluster.index()]
            .cores
            .iter()
            .any(|&it| core(it).sibling.is_some())
    };
    let together = |a: CoreId, b: CoreId| match has_smt(a) {
        true => a == b || core(a).sibling == Some(b),
        false => core(a).cluster == core(b).cluster,
    };
    let mut groups: Vec<Vec<CoreId>> = Vec::new();
    for &cpu in cpus {
        match groups.iter_mut().find(|group| together(group[0], cpu)) {
            Some(group) => group.push(cpu),
            None => groups.push(vec![cpu]),
        }
    }
    groups
}

/// Interval between two balances of so many cores, times a factor.
const fn interval(cores: usize, factor: u64) -> Nanos {
    Nanos::from_millis(cores as u64 * factor)
}

impl Policy for Linux {
    fn interest(&self) -> Interest {
        let events = Interest::WOKE.and(Interest::BLOCKED).and(Interest::CORE_IDLE);
        events.and(Interest::LOAD).and(Interest::CLOCK)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let machine = view.machine;
        if self.model != PowerModel::WithSchedutil && !machine.has_power_model() {
            let machine = machine.name.clone();
            return Err(StartError::NoPowerModel { policy: "eas", machine });
        }
        self.learn(machine, view.schedutil);
        let queues: Vec<_> = machine.cores.iter().map(|_| say.make_queue(Clock::Own)).collect();
        for (core, &own) in machine.cores.iter().zip(&queues) {
            let slice = self.slice.time[core.kind].0;
            say.say(Directive::Preemption(own, Some(Preemption::beyond(slice))));
            say.prefer(own, fair::nearest_first(machine, core.id, &self.cpus));
            self.homes.open(own, view.cores[core.id.index()].online);
        }
        self.serve(view, say);
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                self.utilisation.forget(thread);
                let Some(core) = self.first_place(thread, view) else { return };
                let weight = view.thread(thread).weight;
                let spare = self.utilisation.capacity(core) - self.running_utilisation(core, view);
                self.utilisation.starts(thread, spare / 2.0, view);
                self.place(thread, core, self.utilisation.of(thread, view), view, say);
                say.order(thread, Order::VirtualTime { weight, start: Start::Floor });
                say.slice(thread, self.slice);
            }
            Event::Woke(thread) => self.woke(thread, view, say),
            Event::Blocked(thread) => {
                self.homes.leave(thread);
                self.utilisation.blocks(thread, view);
            }
            Event::Exited(thread) => {
                self.homes.leave(thread);
                self.utilisation.forget(thread);
            }
            Event::CoreIdle(core) => {
                let taken = self.homes.load(QueueId(core.0)) > 0
                    && self.promised[core.index()] <= view.carried_out;
                if taken {
                    self.see(view);
                }
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
            Event::Milestone(_)
            | Event::CriticalSection(_)
            | Event::Picked(..)
            | Event::SliceUsed(..) => {}
        }
    }

    /// For ever, if no thread waits, loads stay as they are, and no idle core is better for a
    /// thread that runs elsewhere.
    fn quiet_until(&self, view: &View<'_>) -> Option<Nanos> {
        let none_waits = view.waiting.iter().all(|&waiting| waiting == 0);
        let is_quiet = none_waits
            && self.loads_are_settled(view)
            && (!self.energy_aware
                || self.over_utilised == self.utilisation.is_over_utilised(view))
            && self
                .cpus
                .iter()
                .all(|&core| !self.idles(core, view) || self.better_here(core, view).is_none());
        is_quiet.then_some(Nanos::MAX)
    }

    fn skipped(&mut self, last: Nanos) {
        let (tick, cores) = (self.tick, self.cpus.len());
        for balanced in &mut self.balanced {
            Self::skip(balanced, interval(cores, 1), tick, last);
        }
        if self.energy_aware {
            Self::skip(&mut self.relaxed, interval(cores, 1), tick, last);
        }
        if !self.saves_energy() {
            let open: Vec<usize> = (0..self.homes.classes())
                .map(|group| self.homes.open_queues(group).count())
                .collect();
            for (group, levelled) in self.levelled.iter_mut().enumerate() {
                let queues = open.get(group).copied().unwrap_or_else(|| open.iter().sum());
                Self::skip(levelled, interval(queues, BUSY_FACTOR), tick, last);
            }
        }
    }
}

#[cfg(test)]
mod energy_tests;
#[cfg(test)]
mod tests;
