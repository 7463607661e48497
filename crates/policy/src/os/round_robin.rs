//! `round-robin`: applications share the fast cores equally, whatever their speedups.
//!
//! Source: Becchi and Crowley, "Dynamic thread assignment on heterogeneous multiprocessor
//! architectures", Computing Frontiers 2006; the period is that of Saez et al., JPDC 102 (2017).
//!
//! Every `period` (850 ms), for each application `a` and the `j`-th of its runnable threads (that
//! with the least time on fast cores first):
//!
//! ```text
//! turn(a, j) = time of a's threads on fast cores so far + j period          least turn first
//! ```
//!
//! A thread on a slow core takes the place of one on a fast core with the same turn or a later one.
//! So the fast cores are dealt out one by one, each to the application that has had least of them,
//! including the period to come. The fast-core time of every application tends to `B / n` of the
//! whole for `n` applications; one that cannot use so much leaves the rest to the others.
//!
//! An application that comes later starts even with the one that has had least. One that slept is
//! at most one period behind the least of those that did not; otherwise it would hold the fast
//! cores for as long as it had slept.
//!
//! Three or more kinds: adjacent pairs trade by the same rule. Time counts by rank: 1 on the
//! fastest, 0 on the slowest, evenly spaced in between. `B` counts hardware threads, with SMT. Idle
//! cores, more threads than cores: `os/kind_queues.rs`.
//!
//! Knobs: `period` (850 ms), `slice` (3 ms).

use evenkeel_machine::Nanos;

use super::kind_queues::{KindQueues, SLICE, Turns, fast_time};
use crate::contract::{
    AppId, Clock, Directives, Event, Interest, Knob, Knobs, Policy, StartError, ThreadId, View,
};
use crate::entry::{Entry, Trait};

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "round-robin",
    summary: "applications take turns on the fast cores",
    source: "Becchi and Crowley, Computing Frontiers 2006",
    traits: &[Trait::WorkConserving],
    knobs: &[
        Knob::Number {
            name: "period",
            default: 850.0,
            bounds: (1.0, 60_000.0),
            unit: "ms",
            about: "how often threads rotate (JPDC 102's swap period)",
        },
        SLICE,
    ],
    make: |knobs, _| Box::new(RoundRobin::new(knobs)),
};

/// The policy `round-robin`.
#[derive(Debug)]
pub struct RoundRobin {
    period: Nanos,
    slice: Nanos,
    queues: KindQueues<i64>,
    /// By thread: fast-core time already counted, and the claim (the negated turn).
    threads: Vec<(u64, i64)>,
    /// By thread: start of the last thread known under this number.
    starts: Vec<Option<Nanos>>,
    /// By application: fast-core time; `None` before its first thread.
    apps: Vec<Option<u64>>,
    /// By application: true if it had a runnable thread at the last rotation.
    awake: Vec<bool>,
    /// Scratch: runnable threads in order of application and fast-core time.
    order: Vec<(AppId, u64, ThreadId)>,
}

fn claim_of(threads: &[(u64, i64)], thread: ThreadId) -> i64 {
    threads.get(thread.index()).map_or(0, |(_, claim)| *claim)
}

impl RoundRobin {
    fn new(knobs: &Knobs) -> Self {
        Self {
            period: knobs.millis("period"),
            slice: knobs.millis("slice"),
            queues: KindQueues::new(),
            threads: Vec::new(),
            starts: Vec::new(),
            apps: Vec::new(),
            awake: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Clears records of a reused number: those of a thread that starts for the first time and, if
    /// its application begins with it, those of the application.
    fn forget_namesakes(&mut self, thread: ThreadId, view: &View<'_>) {
        let stats = view.thread(thread);
        let is_known = |other: ThreadId| {
            self.starts.get(other.index()) == Some(&Some(view.thread(other).started))
        };
        if is_known(thread) {
            return;
        }
        // Other threads that the application begins with may already be there.
        let is_first = || {
            view.live.iter().all(|&other| view.thread(other).app != stats.app || !is_known(other))
        };
        if stats.index_in_app == 0 && is_first() {
            if let Some(had) = self.apps.get_mut(stats.app.index()) {
                *had = None;
            }
            if let Some(awake) = self.awake.get_mut(stats.app.index()) {
                *awake = false;
            }
        }
        if let Some((_, claim)) = self.threads.get_mut(thread.index()) {
            *claim = 0;
        }
        if self.starts.len() <= thread.index() {
            self.starts.resize(thread.index() + 1, None);
        }
        self.starts[thread.index()] = Some(stats.started);
    }

    /// Adds a thread's new fast-core time to its application. An application begins with the least
    /// of the others.
    fn count_time(&mut self, thread: ThreadId, view: &View<'_>) {
        let (stats, app) = (view.thread(thread), view.thread(thread).app.index());
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, (0, 0));
        }
        if self.apps.len() <= app {
            self.apps.resize(app + 1, None);
        }
        let now = fast_time(stats, self.queues.kinds().kinds);
        let counted = std::mem::replace(&mut self.threads[thread.index()].0, now);
        let before = self.apps[app].unwrap_or_else(|| self.least(view));
        self.apps[app] = Some(before + now.saturating_sub(counted));
    }

    /// Fast-core time of the present application that has had least.
    fn least(&self, view: &View<'_>) -> u64 {
        let apps = view.live.iter().map(|&thread| view.thread(thread).app.index());
        apps.filter_map(|app| *self.apps.get(app)?).min().unwrap_or(0)
    }

    /// Limits how far applications that slept at the last rotation are behind to one period;
    /// `order` has the runnable ones.
    fn bring_forward(&mut self) {
        let least =
            self.order.iter().filter(|(app, ..)| self.awake.get(app.index()) == Some(&true));
        let least = least.filter_map(|(app, ..)| self.apps[app.index()]).min();
        for (app, ..) in &self.order {
            if let (Some(had), Some(least)) = (&mut self.apps[app.index()], least)
                && self.awake.get(app.index()) != Some(&true)
            {
                *had = (*had).max(least.saturating_sub(self.period.0));
            }
        }
        self.awake.clear();
        self.awake.resize(self.apps.len(), false);
        for (app, ..) in &self.order {
            self.awake[app.index()] = true;
        }
    }

    fn rotate(&mut self, view: &View<'_>, say: &mut Directives) {
        self.queues.count(view);
        for &thread in view.live {
            self.count_time(thread, view);
        }
        self.order.clear();
        let keyed = view
            .runnable()
            .map(|thread| (view.thread(thread).app, self.threads[thread.index()].0, thread));
        self.order.extend(keyed);
        self.order.sort_unstable();
        self.bring_forward();
        let mut turn = (None, 0);
        for &(app, _, thread) in &self.order {
            let had = self.apps[app.index()].unwrap_or(0);
            turn = if turn.0 == Some(app) {
                (turn.0, turn.1 + self.period.0)
            } else {
                (Some(app), had)
            };
            self.threads[thread.index()].1 = -(turn.1 as i64);
        }
        let threads = &self.threads;
        let claim = |thread: ThreadId, _: &_| claim_of(threads, thread);
        self.queues.pull_all(view, claim, say);
        self.queues.balance(view, claim, say);
        self.queues.exchange(view, true, claim, |_, a, b| b >= a, say);
    }
}

impl Policy for RoundRobin {
    fn interest(&self) -> Interest {
        Interest::CORE_IDLE.and(Interest::PROGRESS)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.queues.start(Clock::Own, view, say);
        say.timer(self.period);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                self.forget_namesakes(thread, view);
                self.count_time(thread, view);
            }
            Event::Exited(thread) => self.count_time(thread, view),
            Event::Timer => self.rotate(view, say),
            _ => {}
        }
        let threads = &self.threads;
        self.queues.keep(
            event,
            Turns::of(self.slice),
            |thread, _| claim_of(threads, thread),
            view,
            say,
        );
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{CoreId, KindId};

    use super::*;
    use crate::registry::make;
    use crate::testing::Bench;

    /// Threads of these applications, thread i on core i while there are cores.
    fn bench(big: u32, little: u32, apps: &[u32]) -> Bench {
        let mut bench = Bench::start(big, little, make("round-robin", &[]).unwrap());
        for (i, &app) in (0..).zip(apps) {
            let thread = bench.spawn(app);
            if i < big + little {
                bench.run(thread, CoreId(i));
            }
        }
        bench
    }

    /// Runs for some periods. Returns fast-core time by application, in periods.
    fn shares(bench: &mut Bench, big: usize, periods: u32) -> Vec<f64> {
        let period = Nanos::from_millis(850);
        for _ in 0..periods {
            bench.now += period;
            for core in 0..bench.cores.len() {
                if let Some(thread) = bench.cores[core].running {
                    let kind = KindId(u8::from(core >= big));
                    bench.threads[thread.index()].time_on[kind] += period;
                }
            }
            bench.deliver(Event::Timer);
        }
        let apps = bench.threads.iter().map(|stats| stats.app.index()).max().unwrap() + 1;
        let mut shares = vec![0.0; apps];
        for stats in &bench.threads {
            shares[stats.app.index()] += stats.time_on[KindId(0)].0 as f64 / period.0 as f64;
        }
        shares
    }

    #[test]
    fn four_applications_on_two_fast_cores_have_half_the_time_each() {
        assert_eq!(shares(&mut bench(2, 2, &[0, 1, 2, 3]), 2, 100), [50.0; 4]);
    }

    #[test]
    fn three_applications_on_one_fast_core_have_a_third_each() {
        assert_eq!(shares(&mut bench(1, 2, &[0, 1, 2]), 1, 99), [33.0; 3]);
    }

    #[test]
    fn an_application_of_many_threads_has_no_more_than_one_of_few() {
        let shares = shares(&mut bench(2, 4, &[0, 0, 0, 0, 1, 1]), 2, 100);
        assert!(shares.iter().all(|share| (share - 100.0).abs() <= 2.0), "{shares:?}");
    }

    #[test]
    fn what_an_application_of_one_thread_cannot_use_goes_to_the_other() {
        assert_eq!(shares(&mut bench(3, 1, &[0, 1, 1, 1]), 3, 100), [100.0, 200.0]);
    }

    #[test]
    fn the_threads_of_an_application_take_turns() {
        let mut bench = bench(1, 2, &[0, 0, 0]);
        shares(&mut bench, 1, 99);
        assert!(
            bench
                .threads
                .iter()
                .all(|stats| stats.time_on[KindId(0)] == Nanos::from_millis(33 * 850))
        );
    }

    #[test]
    fn an_application_that_comes_later_does_not_make_up_for_the_time_before() {
        let mut bench = bench(1, 1, &[0]);
        shares(&mut bench, 1, 50);
        let late = bench.spawn(1);
        bench.run(late, CoreId(1));
        assert_eq!(shares(&mut bench, 1, 50), [75.0, 25.0]);
    }

    #[test]
    fn an_application_that_slept_does_not_make_up_for_it() {
        let mut bench = bench(1, 1, &[0, 1]);
        let sleeper = bench.threads.iter().position(|stats| stats.app == AppId(1)).unwrap();
        bench.block(ThreadId(sleeper as u32));
        let other = ThreadId(1 - sleeper as u32);
        bench.run(other, CoreId(0));
        shares(&mut bench, 1, 50);
        bench.wake(ThreadId(sleeper as u32));
        bench.run(ThreadId(sleeper as u32), CoreId(1));
        assert_eq!(shares(&mut bench, 1, 50), [75.0, 25.0]);
    }
}
