//! `hsp`: high speedup. Fast cores to those that gain most from them: the most throughput, and no fairness.
//!
//! Source: Kumar, Tullsen, Ranganathan, Jouppi, Farkas, ISCA 2004; Koufaty, Reddy, Hahn, EuroSys 2010; in the form with which
//! Saez et al., JPDC 102 (2017), compare.
//!
//! ```text
//! claim = (S_a, SF_t), greater first: speedup of the application, then speedup factor of the thread
//! ```
//!
//! Every `refresh`, and at the next tick when threads have come or gone, A = least claim on fast cores and B = greatest on slow ones
//! trade places while `S_B > (1 + hysteresis) S_A`, or `S_B >= S_A` and `SF_B > (1 + hysteresis) SF_A`. A fast core that idles takes
//! the thread of greatest claim from a slower one. With more threads than cores, kinds have their share of them
//! (`os/kind_queues.rs`), and threads of a kind take turns by weight.
//!
//! Three or more kinds: both factors are those from the slowest kind to the fastest; adjacent pairs trade, so that threads
//! settle in order of their claims within as many refreshes as there are pairs.
//!
//! Knobs: see [`ENTRY`].

use evenkeel_machine::Nanos;

use super::kind_queues::{KindQueues, REFRESH, SLICE, TICK};
use crate::contract::{Clock, Directives, Event, Interest, Knob, Knobs, Order, Policy, Slice, Start, ThreadId, View};
use crate::registry::Entry;
use crate::speedup::{Applications, Rule, Source};

/// In the list of policies.
pub const ENTRY: Entry = Entry {
    name: "hsp",
    summary: "fast cores to the threads with the greatest speedup",
    source: "Kumar et al., ISCA 2004; Koufaty et al., EuroSys 2010",
    knobs: &[
        Knob::Number {
            name: "hysteresis",
            default: 5.0,
            bounds: (0.0, 1_000.0),
            unit: "%",
            about: "by how much a speedup must exceed that of the thread whose place it takes",
        },
        Rule::KNOB,
        TICK,
        REFRESH,
        SLICE,
    ],
    make: |knobs| Box::new(Hsp::new(knobs)),
};

/// Speedup of the application, speedup factor of the thread.
type Claim = (f64, f64);

/// See the file's head.
#[derive(Debug)]
pub struct Hsp {
    /// 1 + hysteresis.
    margin: f64,
    tick: Nanos,
    refresh: Nanos,
    slice: Nanos,
    queues: KindQueues<Claim>,
    apps: Applications,
    /// By thread, as of the last refresh.
    claims: Vec<Claim>,
    refreshed: Nanos,
    /// Whether threads came or went since.
    stale: bool,
}

/// Of a thread that gains nothing.
const NO_CLAIM: Claim = (1.0, 1.0);

fn claim_of(claims: &[Claim], thread: ThreadId) -> Claim {
    claims.get(thread.index()).copied().unwrap_or(NO_CLAIM)
}

impl Hsp {
    fn new(knobs: &Knobs) -> Self {
        Self {
            margin: 1.0 + knobs.number("hysteresis") / 100.0,
            tick: knobs.millis("tick"),
            refresh: knobs.millis("refresh"),
            slice: knobs.millis("slice"),
            queues: KindQueues::new(),
            apps: Applications::new(Rule::of(knobs), Source::Estimator),
            claims: Vec::new(),
            refreshed: Nanos::ZERO,
            stale: false,
        }
    }

    fn set_claim(&mut self, thread: ThreadId, view: &View<'_>) {
        if self.claims.len() <= thread.index() {
            self.claims.resize(thread.index() + 1, NO_CLAIM);
        }
        let (stats, kinds) = (view.thread(thread), self.queues.kinds());
        let slowest = kinds.kinds.len() - 1;
        let factor = Source::Estimator.factor(stats, kinds, 0, slowest);
        self.claims[thread.index()] = (self.apps.speedup(stats.app, slowest, kinds), factor);
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        self.queues.count(view);
        let reconsider = self.stale || view.now.saturating_sub(self.refreshed) >= self.refresh;
        if reconsider {
            (self.refreshed, self.stale) = (view.now, false);
            self.apps.clear();
            for thread in view.runnable() {
                self.apps.add(view.thread(thread), self.queues.kinds());
            }
            for thread in view.runnable() {
                self.set_claim(thread, view);
            }
        }
        let claims = &self.claims;
        let claim = |thread: ThreadId, _: &_| claim_of(claims, thread);
        self.queues.pull_all(view, claim, say);
        self.queues.balance(view, claim, say);
        if reconsider {
            let margin = self.margin;
            let wants = |_, a: Claim, b: Claim| b.0 > margin * a.0 || (b.0 >= a.0 && b.1 > margin * a.1);
            self.queues.exchange(view, true, claim, wants, say);
        }
    }
}

impl Policy for Hsp {
    fn interest(&self) -> Interest {
        Interest::CORE_IDLE
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), String> {
        self.queues.start(Clock::Own, view, say);
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                self.apps.add(view.thread(thread), self.queues.kinds());
                self.set_claim(thread, view);
                self.stale = true;
                self.queues.place(thread, view, say);
                say.slice(thread, Slice::of(self.slice));
                say.order(thread, Order::VirtualTime { weight: view.thread(thread).weight, start: Start::Floor });
            }
            Event::Exited(thread) => {
                self.apps.remove(view.thread(thread).app);
                self.queues.ended(thread, view);
                self.stale = true;
            }
            Event::CoreIdle(core) => {
                let claims = &self.claims;
                self.queues.pull(core, view, |thread, _| claim_of(claims, thread), say);
            }
            Event::CoreOnline(_) | Event::CoreOffline(_) => self.queues.count(view),
            Event::Timer => self.tick(view, say),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{CoreId, KindId};

    use super::*;
    use crate::contract::Directive;
    use crate::registry::make;
    use crate::testing::Bench;

    /// Applications of one thread, thread i on core i, with these speedup factors.
    fn bench(big: u32, little: u32, factors: &[f32]) -> Bench {
        let mut bench = Bench::start(big, little, make("hsp", &[]).unwrap());
        for (core, &factor) in (0..).zip(factors) {
            let thread = bench.spawn(core);
            bench.threads[thread.index()].speedup[KindId(0)] = factor;
            bench.run(thread, CoreId(core));
        }
        bench.now = Nanos::from_secs(1);
        bench
    }

    fn places(bench: &Bench) -> Vec<Option<u32>> {
        bench.cores.iter().map(|core| core.running.map(|thread| thread.0)).collect()
    }

    #[test]
    fn those_who_gain_most_get_the_fast_cores() {
        let mut bench = bench(2, 2, &[1.0, 3.0, 4.0, 2.0]);
        bench.deliver(Event::Timer);
        assert_eq!(places(&bench), [Some(2), Some(1), Some(0), Some(3)]);
    }

    #[test]
    fn a_gain_within_the_hysteresis_moves_nobody() {
        let mut near = bench(1, 1, &[2.0, 2.1]);
        assert_eq!(near.deliver(Event::Timer), []);
        let mut far = bench(1, 1, &[2.0, 2.11]);
        assert!(far.deliver(Event::Timer).contains(&Directive::Swap(ThreadId(0), ThreadId(1))));
    }

    #[test]
    fn the_threads_of_one_application_are_told_apart_by_their_own_factors() {
        let mut bench = Bench::start(1, 1, make("hsp", &[]).unwrap());
        for (core, factor) in [(0, 1.5), (1, 3.0)] {
            let thread = bench.spawn(0);
            bench.threads[thread.index()].speedup[KindId(0)] = factor;
            bench.run(thread, CoreId(core));
        }
        bench.deliver(Event::Timer);
        assert_eq!(places(&bench), [Some(1), Some(0)]);
    }

    #[test]
    fn one_thread_gains_more_from_a_fast_core_than_one_of_many() {
        let mut bench = Bench::start(1, 4, make("hsp", &[]).unwrap());
        for (core, app) in [0, 0, 0, 0, 1].into_iter().enumerate() {
            let thread = bench.spawn(app);
            bench.threads[thread.index()].speedup[KindId(0)] = if app == 0 { 4.0 } else { 3.0 };
            bench.run(thread, CoreId(core as u32));
        }
        bench.deliver(Event::Timer);
        assert_eq!(places(&bench)[0], Some(4));
    }

    #[test]
    fn an_idle_fast_core_takes_the_thread_that_gains_most() {
        let mut bench = bench(1, 2, &[4.0, 2.0, 3.0]);
        bench.deliver(Event::Timer);
        bench.exit(ThreadId(0));
        bench.deliver(Event::CoreIdle(CoreId(0)));
        assert_eq!(places(&bench), [Some(2), Some(1), None]);
    }
}
