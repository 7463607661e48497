//! `gts`: global task scheduling (HMP): every core is in use, and a thread's load decides its kind.
//!
//! ```text
//! load_k(t) = min(1024, load(t) x 1024 / capacity(k)),
//!             load(t) by PELT: 1024 means always runnable at the scale of kind k
//!   on a core of kind k > 0, load_k(t) > up           -> belongs on kind k-1 (up)
//!   on a core of kind k, load_{k+1}(t) < down         -> belongs on kind k+1 (down)
//! judged at every tick and at wake-up; goes to an idle core of that kind,
//!   else to the least loaded there
//! a core that goes idle, not of the slowest kind, pulls the heaviest thread that runs on the kind
//!   below and has load > up
//! starts    an idle core, faster kinds first; else the least loaded of the fastest kind
//!           (HMP boosts new threads)
//! ```
//!
//! Two kinds: up is big, down is little, and loads are judged at little-core scale. More kinds:
//! ranked by capacity, each adjacent pair by the same rule.
//!
//! Within a kind it is as [`super::cfs_unaware`]: fair queues per core, idle pull, balance by
//! weight. With `offload`, as in the HMP patches, an idle core also takes threads that wait (not
//! those that run) for a busy faster kind, so that no thread waits while a slower core idles. Such
//! a thread is not sent up again at a tick while the least loaded core above has at least as many
//! threads as its own; otherwise the two rules would pass it to and fro.
//!
//! A thread younger than one half-life of PELT (32 ms) is not sent down: its load has not settled.
//!
//! Source: the HMP patches to Linux (Rasmussen and others, Arm and Linaro, 2012 to 2014):
//! `hmp_up_migration`, `hmp_down_migration`, `hmp_idle_pull`, `hmp_offload_down`. As there, an idle
//! core pulls only threads that belong on its kind.
//!
//! Knobs: `up` (700 of 1024), `down` (256 of 1024), `tick` (4 ms), `offload` (on).

use evenkeel_machine::{CoreId, FULL_CAPACITY, KindId, Nanos};

use super::TICK;
use super::fair;
use super::homes::Homes;
use crate::contract::{
    Directives, Event, Interest, Knob, Knobs, Policy, QueueId, StartError, ThreadId, Tier, View,
};
use crate::entry::Entry;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "gts",
    summary: "global task scheduling: heavy threads up, light threads down, by PELT load",
    source: "the HMP patches to Linux (big.LITTLE MP), Arm and Linaro, 2012 to 2014",
    traits: &[],
    knobs: &[
        Knob::Number {
            name: "up",
            default: 700.0,
            bounds: (0.0, 1024.0),
            unit: "of 1024",
            about: "a thread with a greater load at the slower kind's scale goes up \
                    (hmp_up_threshold)",
        },
        Knob::Number {
            name: "down",
            default: 256.0,
            bounds: (0.0, 1024.0),
            unit: "of 1024",
            about: "a thread with a lesser load at the slower kind's scale goes down \
                    (hmp_down_threshold)",
        },
        TICK,
        Knob::Word {
            name: "offload",
            words: &["on", "off"],
            about: "whether an idle core takes threads that wait for a faster kind \
                    (hmp_offload_down)",
        },
    ],
    make: |knobs, _| Box::new(Gts::new(knobs)),
};

/// PELT's half-life: a younger thread's load says little.
const SETTLE: Nanos = Nanos::from_millis(32);

/// The policy `gts`.
#[derive(Debug)]
pub struct Gts {
    up: u64,
    down: u64,
    tick: Nanos,
    offload: bool,
    /// Queue `q` belongs to core `q`; its class is the core's kind.
    homes: Homes,
    kinds: usize,
}

impl Gts {
    fn new(knobs: &Knobs) -> Self {
        Self {
            up: knobs.number("up") as u64,
            down: knobs.number("down") as u64,
            tick: knobs.millis("tick"),
            offload: knobs.word("offload") == "on",
            homes: Homes::default(),
            kinds: 0,
        }
    }

    /// The least loaded core of a kind that the thread may run on, and its load.
    fn least(&self, kind: KindId, thread: ThreadId, view: &View<'_>) -> Option<(u64, QueueId)> {
        self.homes.least(kind.index(), |queue| view.allowed(thread, CoreId(queue.0)))
    }

    /// An idle core, faster kinds first; else the least loaded core of the fastest kind that the
    /// thread may run on.
    fn first_place(&self, thread: ThreadId, view: &View<'_>) -> Option<QueueId> {
        let least: Vec<_> =
            (0..self.kinds).filter_map(|k| self.least(KindId(k as u8), thread, view)).collect();
        let idle = least.iter().find(|&&(load, _)| load == 0);
        idle.or(least.first()).map(|&(_, queue)| queue)
    }

    /// The kind that a thread belongs on, given its present kind.
    fn belongs(&self, thread: ThreadId, on: KindId, view: &View<'_>) -> KindId {
        let stats = view.thread(thread);
        let at_scale = |kind: KindId| {
            let capacity = view.machine.kinds[kind.index()].capacity.max(1);
            (u64::from(stats.load) * u64::from(FULL_CAPACITY) / u64::from(capacity))
                .min(u64::from(FULL_CAPACITY))
        };
        let (above, below) = (on.0.checked_sub(1).map(KindId), KindId(on.0 + 1));
        let settled = view.now.saturating_sub(stats.started) >= SETTLE;
        match above {
            Some(above) if at_scale(on) > self.up => above,
            _ if below.index() < self.kinds && settled && at_scale(below) < self.down => below,
            _ => on,
        }
    }

    /// True if a tick leaves the threads of a queue where they are, whatever their loads: there is
    /// no kind below, and no less loaded core above. This saves looking at most threads.
    fn keeps_all(&self, home: QueueId, view: &View<'_>) -> bool {
        let on = view.kind(CoreId(home.0));
        let may_rise =
            on.0.checked_sub(1).and_then(|above| self.homes.least_load(usize::from(above)));
        let stays = may_rise
            .is_none_or(|least| self.offload && least > 0 && least >= self.homes.load(home));
        stays && on.index() + 1 >= self.kinds
    }

    /// Moves a runnable thread to the kind where it belongs. `woke`: it does not run yet, so the
    /// load there does not keep it.
    fn judge(&mut self, thread: ThreadId, woke: bool, view: &View<'_>, say: &mut Directives) {
        let Some(home) = self.homes.of(thread) else { return };
        let on = view.kind(CoreId(home.0));
        let to = self.belongs(thread, on, view);
        if to == on {
            return;
        }
        let Some((load, queue)) = self.least(to, thread, view) else { return };
        if self.offload && to < on && !woke && load > 0 && load >= self.homes.load(home) {
            return;
        }
        let stats = view.thread(thread);
        self.homes.put(thread, queue, stats.weight);
        say.assign(thread, queue);
        if view.cores[stats.core.index()].running == Some(thread) {
            match view.cores[queue.index()].running {
                None => say.move_to(thread, CoreId(queue.0)),
                Some(_) => say.preempt(stats.core),
            }
        }
    }

    /// An idle core pulls the heaviest thread that runs one kind below it.
    fn pull(&mut self, core: CoreId, view: &View<'_>, say: &mut Directives) {
        let below = KindId(view.kind(core).0 + 1);
        if below.index() >= self.kinds || view.cores[core.index()].running.is_some() {
            return;
        }
        let heaviest = view
            .machine
            .cores_of(below)
            .filter_map(|other| view.cores[other.index()].running)
            .filter(|&thread| view.thread(thread).queue.is_some() && view.allowed(thread, core))
            // Another core that went idle in the same instant may have pulled it already.
            .filter(|&thread| {
                self.homes.of(thread).is_some_and(|home| view.kind(CoreId(home.0)) == below)
            })
            .filter(|&thread| self.belongs(thread, below, view) < below)
            .max_by_key(|&thread| (view.thread(thread).load, std::cmp::Reverse(thread)));
        if let Some(thread) = heaviest {
            self.homes.put(thread, QueueId(core.0), view.thread(thread).weight);
            say.assign(thread, QueueId(core.0));
            say.move_to(thread, core);
        }
    }
}

impl Policy for Gts {
    fn interest(&self) -> Interest {
        Interest::LOAD.and(Interest::WOKE).and(Interest::BLOCKED).and(Interest::CORE_IDLE)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        fair::check_thresholds("gts", self.up as f64, self.down as f64)?;
        self.kinds = view.machine.kinds.len();
        let cores = fair::fast_first(view.machine);
        let places = fair::places(&cores);
        self.homes = Homes::new(
            view.machine.cores.iter().map(|core| (core.kind.index(), places[core.id.index()])),
        );
        let queues: Vec<_> = cores.iter().map(|_| fair::make_queue(say)).collect();
        for (core, &own) in view.machine.cores.iter().zip(&queues) {
            let of_kind = |kind| {
                view.machine
                    .cores_of(kind)
                    .filter(|&other| other != core.id)
                    .map(|other| QueueId(other.0))
            };
            let mut tiers = vec![
                Tier::least_key([own]),
                Tier::most_loaded(of_kind(core.kind).collect::<Vec<_>>()),
            ];
            if self.offload {
                let faster =
                    (0..core.kind.0).rev().map(|kind| of_kind(KindId(kind)).collect::<Vec<_>>());
                tiers.extend(faster.map(Tier::most_loaded));
            }
            say.serve(core.id, tiers, Some(own));
            say.prefer(own, fair::nearest_first(view.machine, core.id, &cores));
            self.homes.open(own, view.cores[core.id.index()].online);
        }
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                if let Some(queue) = self.first_place(thread, view) {
                    fair::settle(&mut self.homes, thread, queue, view, say);
                }
            }
            Event::Woke(thread) => {
                fair::recount(&mut self.homes, thread, view);
                if view.thread(thread).runnable() {
                    self.judge(thread, true, view, say);
                }
            }
            Event::Blocked(thread) | Event::Exited(thread) => self.homes.leave(thread),
            Event::CoreIdle(core) => self.pull(core, view, say),
            Event::Timer => {
                // Balance within a kind only: between kinds load decides, not the number of
                // threads.
                fair::balance(
                    &mut self.homes,
                    |thread, queue| view.allowed(thread, CoreId(queue.0)),
                    view,
                    say,
                );
                for &thread in view.live {
                    let Some(home) = self.homes.of(thread) else { continue };
                    if !self.keeps_all(home, view) && view.thread(thread).runnable() {
                        self.judge(thread, false, view, say);
                    }
                }
            }
            Event::CoreOnline(core) => self.homes.open(QueueId(core.0), true),
            Event::CoreOffline(core) => {
                self.homes.open(QueueId(core.0), false);
                for thread in fair::at_home(core, view) {
                    if let Some(queue) = self.first_place(thread, view) {
                        fair::rehome(&mut self.homes, thread, queue, view, say);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::{Directive, State};
    use crate::registry::make;
    use crate::testing::{Bench, LITTLE, machine};

    fn bench(big: u32, little: u32, set: &[(&str, &str)]) -> Bench {
        let set: Vec<_> =
            set.iter().map(|&(name, value)| (name.to_string(), value.to_string())).collect();
        Bench::start(big, little, make("gts", &set).unwrap())
    }

    #[test]
    fn new_threads_take_idle_big_cores_then_idle_little_ones_then_share_the_big() {
        let mut bench = bench(1, 1, &[]);
        let threads: Vec<_> = (0..3).map(|_| bench.spawn(0)).collect();
        let queues: Vec<_> = threads.iter().map(|&thread| bench.queue_of(thread)).collect();
        assert_eq!(queues, [0, 1, 0].map(|queue| Some(QueueId(queue))));
    }

    #[test]
    fn a_thread_that_is_always_busy_on_a_little_core_moves_to_an_idle_big_one() {
        let mut bench = bench(1, 1, &[]);
        let thread = bench.spawn_running(1, LITTLE as u16);
        bench.deliver(Event::Timer);
        assert_eq!(bench.queue_of(thread), Some(QueueId(0)));
        assert_eq!(bench.cores[0].running, Some(thread));
    }

    #[test]
    fn a_light_thread_moves_down_once_its_load_has_settled() {
        let mut bench = bench(1, 1, &[]);
        let thread = bench.spawn_running(0, 100);
        bench.deliver(Event::Timer);
        assert_eq!(bench.queue_of(thread), Some(QueueId(0)), "too young to judge");
        bench.now = SETTLE;
        bench.deliver(Event::Timer);
        assert_eq!(bench.queue_of(thread), Some(QueueId(1)));
    }

    #[test]
    fn loads_are_judged_at_little_core_scale() {
        let mut bench = bench(1, 1, &[]);
        bench.now = SETTLE;
        // 130 x 1024 / 512 = 260: not below the threshold of 256.
        let thread = bench.spawn_running(0, 130);
        bench.threads[thread.index()].started = Nanos::ZERO;
        bench.now = SETTLE + SETTLE;
        bench.deliver(Event::Timer);
        assert_eq!(bench.queue_of(thread), Some(QueueId(0)));
        bench.threads[thread.index()].load = 127;
        bench.deliver(Event::Timer);
        assert_eq!(bench.queue_of(thread), Some(QueueId(1)));
    }

    #[test]
    fn an_offloaded_thread_is_not_passed_to_and_fro() {
        for (offload, home) in [("on", 1), ("off", 0)] {
            let mut bench = bench(1, 1, &[("offload", offload)]);
            bench.spawn_running(0, 1024);
            let second = bench.spawn_running(1, LITTLE as u16);
            bench.deliver(Event::Timer);
            assert_eq!(bench.queue_of(second), Some(QueueId(home)), "offload={offload}");
        }
    }

    #[test]
    fn with_offload_a_little_core_serves_the_big_ones_too_and_never_the_other_way() {
        assert_eq!(bench(1, 2, &[]).serves(CoreId(1)), [1, 2, 0].map(QueueId));
        assert_eq!(bench(1, 2, &[]).serves(CoreId(0)), [QueueId(0)]);
        assert_eq!(bench(1, 2, &[("offload", "off")]).serves(CoreId(1)), [1, 2].map(QueueId));
    }

    #[test]
    fn an_idle_big_core_pulls_the_heaviest_thread_of_the_little_cores_if_it_is_heavy() {
        let mut bench = bench(1, 3, &[]);
        let light = bench.spawn_running(1, 200);
        assert_eq!(bench.deliver(Event::CoreIdle(CoreId(0))), []);
        let heavy = bench.spawn_running(2, 500);
        bench.spawn_running(3, 400);
        bench.deliver(Event::CoreIdle(CoreId(0)));
        assert!(bench.said.contains(&Directive::Move(heavy, CoreId(0))));
        assert_eq!(bench.queue_of(light), Some(QueueId(1)));
    }

    #[test]
    fn with_three_kinds_a_thread_climbs_one_kind_at_a_time() {
        let machine = machine(&[("prime", 1024, 1), ("big", 800, 1), ("little", 300, 1)]);
        let mut bench = Bench::on(machine, make("gts", &[]).unwrap());
        let thread = bench.spawn_running(2, 300);
        bench.deliver(Event::Timer);
        assert_eq!(bench.queue_of(thread), Some(QueueId(1)));
        bench.threads[thread.index()].load = 800;
        bench.deliver(Event::Timer);
        assert_eq!(bench.queue_of(thread), Some(QueueId(0)));
    }

    #[test]
    fn a_thread_that_wakes_light_goes_to_a_little_core() {
        let mut bench = bench(1, 1, &[]);
        let thread = bench.spawn_running(0, 0);
        bench.block(thread);
        bench.now = SETTLE;
        bench.wake(thread);
        assert_eq!(bench.queue_of(thread), Some(QueueId(1)));
    }

    #[test]
    fn big_cores_that_go_idle_at_once_pull_a_thread_each() {
        let mut bench = Bench::start(2, 2, make("gts", &[]).unwrap());
        let threads: Vec<_> = (0..4).map(|_| bench.spawn(0)).collect();
        for (core, &thread) in (0..).zip(&threads) {
            bench.run(thread, CoreId(core));
            bench.threads[thread.index()].load = 512;
        }
        bench.exit(threads[0]);
        bench.exit(threads[1]);
        bench.deliver_at_once(&[Event::CoreIdle(CoreId(0)), Event::CoreIdle(CoreId(1))]);
        let places: Vec<_> = bench.cores.iter().map(|core| core.running).collect();
        assert_eq!(places, [Some(threads[2]), Some(threads[3]), None, None]);
    }

    proptest! {
        #[test]
        fn whoever_is_not_looked_at_would_have_stayed(
            threads in prop::collection::vec((0u32..6, 0u16..=1024, any::<bool>()), 0..12), offload in any::<bool>(),
        ) {
            let machine = machine(&[("prime", 1024, 1), ("big", 800, 2), ("little", 300, 3)]);
            // Threads and their states, from a bench whose own policy does not matter.
            let mut bench = Bench::on(machine, make("pinned", &[]).unwrap());
            let set = [("offload".into(), if offload { "on" } else { "off" }.into())];
            let mut gts = Gts::new(&Knobs::new("gts", ENTRY.knobs, &set).unwrap());
            gts.start(&bench.view_of(&[]), &mut Directives::default()).unwrap();
            for (core, load, waits) in threads {
                let thread = bench.spawn(0).index();
                let state = if waits { State::Ready } else { State::Blocked };
                let stats = &mut bench.threads[thread];
                (stats.queue, stats.load, stats.state) = (Some(QueueId(core)), load, state);
            }
            bench.now = SETTLE;
            let view = bench.view_of(&[]);
            gts.homes.sync(&view, |thread| view.thread(thread).weight);
            for thread in view.runnable() {
                let home = gts.homes.of(thread).unwrap();
                if gts.keeps_all(home, &view) {
                    let mut say = Directives::default();
                    gts.judge(thread, false, &view, &mut say);
                    prop_assert!(say.is_empty());
                }
            }
        }
    }
}
