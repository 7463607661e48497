//! `cfs-unaware`: a fair scheduler that does not know that cores differ: Linux's CFS if the kernel
//! was told equal capacities, or before 4.20, which introduced misfit migration.
//!
//! ```text
//! starts      core = argmin load(c),  load(c) = sum of W_t over its runnable threads;
//!             ties: lowest number, second siblings of SMT cores last
//! wakes       previous core if idle, else an idle core (nearest first), else the previous
//! idles       the core takes a thread that waits at the core with the greatest load of waiting
//!             threads, and keeps it
//! every tick  waiting threads go from the greatest load to the least while W_d + w < W_s
//! on a core   virtual time += run x 1024 / W_t; least first; slice = max(3 ms / runnable, 0.75 ms)
//!             a thread that wakes starts at most 3 ms behind, and preempts one that is more than
//!             1 ms ahead
//! ```
//!
//! Source: kernel/sched/fair.c of Linux up to 6.5 (CFS). Not modelled: the hierarchy of domains,
//! load averages in balance (present weights are used), and active balance of running threads.
//! Kinds do not count at all, so there may be any number of them.
//!
//! Knobs: `first` (slow), the kind with the lowest core numbers, since an unaware scheduler may
//! meet either; `balance` (8 ms), the time between balances (Linux: as many ms as the domain has
//! cores).

use evenkeel_machine::{CoreId, Nanos};

use super::fair;
use super::homes::Homes;
use crate::contract::{
    Directives, Event, Interest, Knob, Knobs, Policy, QueueId, StartError, ThreadId, Tier, View,
};
use crate::entry::{Entry, Trait};

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "cfs-unaware",
    summary: "fair and unaware of asymmetry: least load, idle pull, periodic balance",
    source: "Linux CFS (kernel/sched/fair.c up to 6.5)",
    traits: &[Trait::WorkConserving],
    knobs: &[
        Knob::Word {
            name: "first",
            words: &["slow", "fast"],
            about: "which kind has the lowest core numbers: ties go to it",
        },
        Knob::Number {
            name: "balance",
            default: 8.0,
            bounds: (0.1, 10_000.0),
            unit: "ms",
            about: "time between balances; Linux: as many ms as the domain has cores, 8 on a 4+4 \
                    board",
        },
    ],
    make: |knobs, _| Box::new(CfsUnaware::new(knobs)),
};

/// The policy `cfs-unaware`.
#[derive(Debug)]
pub struct CfsUnaware {
    fast_first: bool,
    balance: Nanos,
    /// Queue `q` belongs to core `q`.
    homes: Homes,
}

impl CfsUnaware {
    fn new(knobs: &Knobs) -> Self {
        Self {
            fast_first: knobs.word("first") == "fast",
            balance: knobs.millis("balance"),
            homes: Homes::default(),
        }
    }

    fn least_loaded(&self, thread: ThreadId, view: &View<'_>) -> Option<QueueId> {
        self.homes.least(0, |queue| view.allowed(thread, CoreId(queue.0))).map(|(_, queue)| queue)
    }
}

impl Policy for CfsUnaware {
    fn interest(&self) -> Interest {
        Interest::WOKE.and(Interest::BLOCKED)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let mut cores = fair::fast_first(view.machine);
        if !self.fast_first {
            cores.sort_by_key(|core| std::cmp::Reverse(view.kind(*core)));
        }
        // An idle sibling of a busy core is taken last: Linux knows about SMT even if it does not
        // distinguish kinds.
        cores.sort_by_key(|core| fair::is_second_sibling(view.machine, *core));
        self.homes = Homes::new(fair::places(&cores).into_iter().map(|place| (0, place)));
        let queues: Vec<_> = cores.iter().map(|_| fair::make_queue(say)).collect();
        for (core, &own) in view.machine.cores.iter().zip(&queues) {
            let others: Vec<_> = cores
                .iter()
                .filter(|&&other| other != core.id)
                .map(|other| QueueId(other.0))
                .collect();
            say.serve(core.id, vec![Tier::least_key([own]), Tier::most_loaded(others)], Some(own));
            say.prefer(own, fair::nearest_first(view.machine, core.id, &cores));
            self.homes.open(own, view.cores[core.id.index()].online);
        }
        say.timer(self.balance);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                if let Some(queue) = self.least_loaded(thread, view) {
                    fair::settle(&mut self.homes, thread, queue, view, say);
                }
            }
            Event::Woke(thread) => fair::recount(&mut self.homes, thread, view),
            Event::Blocked(thread) | Event::Exited(thread) => self.homes.leave(thread),
            Event::Timer => {
                fair::balance(
                    &mut self.homes,
                    |thread, queue| view.allowed(thread, CoreId(queue.0)),
                    view,
                    say,
                );
            }
            Event::CoreOnline(core) => self.homes.open(QueueId(core.0), true),
            Event::CoreOffline(core) => {
                self.homes.open(QueueId(core.0), false);
                for thread in fair::at_home(core, view) {
                    if let Some(queue) = self.least_loaded(thread, view) {
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
    use super::*;
    use crate::contract::Directive;
    use crate::registry::make;
    use crate::testing::Bench;

    fn bench(big: u32, little: u32, first: &str) -> Bench {
        let set = [("first".to_string(), first.to_string())];
        Bench::start(big, little, make("cfs-unaware", &set).unwrap())
    }

    fn queues(bench: &Bench, threads: &[ThreadId]) -> Vec<u32> {
        threads.iter().filter_map(|&thread| bench.queue_of(thread)).map(|queue| queue.0).collect()
    }

    #[test]
    fn threads_that_start_at_once_spread_and_ties_go_to_the_kind_that_comes_first() {
        for (first, expected) in [("slow", [2, 3, 0, 1, 2]), ("fast", [0, 1, 2, 3, 0])] {
            let mut bench = bench(2, 2, first);
            let threads: Vec<_> = (0..5).map(|_| bench.spawn(0)).collect();
            assert_eq!(queues(&bench, &threads), expected, "first={first}");
        }
    }

    #[test]
    fn a_core_that_its_thread_left_is_the_least_loaded_again() {
        let mut bench = bench(1, 1, "fast");
        let first = bench.spawn(0);
        bench.block(first);
        let second = bench.spawn(0);
        assert_eq!(queues(&bench, &[second]), [0]);
        bench.wake(first);
        let third = bench.spawn(0);
        assert_eq!(queues(&bench, &[third]), [1]);
    }

    #[test]
    fn a_heavy_thread_counts_for_as_much_as_it_weighs() {
        let mut bench = bench(2, 0, "fast");
        let heavy = bench.spawn(0);
        bench.exit(heavy);
        let heavy = bench.spawn(0);
        bench.threads[heavy.index()].weight = 3 * 1024;
        bench.deliver(Event::Woke(heavy));
        let light: Vec<_> = (0..3).map(|_| bench.spawn(0)).collect();
        assert_eq!(queues(&bench, &light), [1, 1, 1]);
    }

    #[test]
    fn balance_moves_who_waits_and_leaves_who_runs() {
        let mut bench = bench(2, 0, "fast");
        let threads: Vec<_> = (0..4).map(|_| bench.spawn(0)).collect();
        for &thread in &threads {
            bench.threads[thread.index()].queue = Some(QueueId(0));
        }
        bench.run(threads[0], CoreId(0));
        bench.deliver(Event::Timer);
        let on_first = queues(&bench, &threads).iter().filter(|&&queue| queue == 0).count();
        assert_eq!((on_first, bench.queue_of(threads[0])), (2, Some(QueueId(0))));
        assert_eq!(bench.deliver(Event::Timer), [], "level queues are left alone");
    }

    #[test]
    fn an_idle_core_takes_from_every_other_after_its_own() {
        let bench = bench(1, 2, "fast");
        assert_eq!(bench.serves(CoreId(1)), [1, 0, 2].map(QueueId));
        assert!(bench.said_at_start.contains(&Directive::Timer(Nanos::from_millis(8))));
    }

    #[test]
    fn threads_of_a_core_that_leaves_go_to_the_others() {
        let mut bench = bench(1, 1, "fast");
        let thread = bench.spawn(0);
        bench.set_online(CoreId(0), false);
        assert_eq!(queues(&bench, &[thread]), [1]);
    }
}
