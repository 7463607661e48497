//! `hsp`: high speedup. Fast cores go to the threads that gain most from them: greatest throughput,
//! no fairness.
//!
//! Source: Kumar, Tullsen, Ranganathan, Jouppi, Farkas, ISCA 2004; Koufaty, Reddy, Hahn, EuroSys
//! 2010; in the form used for comparison by Saez et al., JPDC 102 (2017).
//!
//! ```text
//! claim = (S_a, SF_t), greater first:
//!         speedup of the application, then speedup factor of the thread
//! ```
//!
//! Claims are judged every `refresh`. The use of fast cores is reconsidered if a factor of some
//! thread has changed by more than `hysteresis` since the last decision, if other threads are
//! runnable or some have slept, or if a thread runs on another kind than the decision left it on;
//! if threads come, go, wake or are elsewhere, at the next tick.
//!
//! Then A = least claim on fast cores and B = greatest on slow ones trade places while `claim_B >
//! claim_A`, tick by tick until none trade. Otherwise no thread moves, however much two of them
//! differ. A fast core that idles takes the thread of greatest claim from a slower one. With more
//! threads than cores, kinds have their share of them (`os/kind_queues.rs`), and threads of a kind
//! take turns by weight.
//!
//! Three or more kinds: both factors are those from the slowest kind to the fastest. Adjacent pairs
//! trade, so threads settle in order of their claims within as many ticks as there are pairs.
//!
//! `B` counts hardware threads, with SMT: the number of threads that have fast cores at once.
//!
//! Knobs: `hysteresis` (5 %), `speedup` (utility), `tick` (4 ms), `refresh` (200 ms), `slice` (3
//! ms).

use evenkeel_machine::Nanos;

use super::kind_queues::{KindQueues, SLICE, Turns};
use super::{REFRESH, TICK};
use crate::contract::{
    Clock, Directives, Event, Interest, Knob, Knobs, Policy, StartError, ThreadId, View,
};
use crate::entry::{Entry, Trait};
use crate::speedup::{Applications, Rule, Source};

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "hsp",
    summary: "fast cores to the threads with the greatest speedup",
    source: "Kumar et al., ISCA 2004; Koufaty et al., EuroSys 2010",
    traits: &[Trait::WorkConserving, Trait::NeedsFactors],
    knobs: &[
        Knob::Number {
            name: "hysteresis",
            default: 5.0,
            bounds: (0.0, 1_000.0),
            unit: "%",
            about: "by how much an estimate must change before it is reconsidered who has the fast \
                    cores (Saez et al., JPDC 102)",
        },
        Rule::KNOB,
        TICK,
        REFRESH,
        SLICE,
    ],
    make: |knobs, _| Box::new(Hsp::new(knobs)),
};

/// Speedup of the application, speedup factor of the thread.
type Claim = (f64, f64);

/// The policy `hsp`.
#[derive(Debug)]
pub struct Hsp {
    /// As a fraction.
    hysteresis: f64,
    tick: Nanos,
    refresh: Nanos,
    slice: Nanos,
    queues: KindQueues<Claim>,
    apps: Applications,
    /// Claims by thread, as of the last refresh.
    claims: Vec<Claim>,
    /// Threads that were runnable at the last decision, with their claims.
    decided: Vec<(ThreadId, Claim)>,
    /// Scratch: the same at present.
    present: Vec<(ThreadId, Claim)>,
    /// By thread: rank of the kind that the last decision left it on.
    left_on: Vec<Option<usize>>,
    refreshed: Nanos,
    /// True if there is something to reconsider at the next tick.
    undecided: bool,
}

/// Claim of a thread that gains nothing.
const NO_CLAIM: Claim = (1.0, 1.0);

fn claim_of(claims: &[Claim], thread: ThreadId) -> Claim {
    claims.get(thread.index()).copied().unwrap_or(NO_CLAIM)
}

impl Hsp {
    fn new(knobs: &Knobs) -> Self {
        Self {
            hysteresis: knobs.number("hysteresis") / 100.0,
            tick: knobs.millis("tick"),
            refresh: knobs.millis("refresh"),
            slice: knobs.millis("slice"),
            queues: KindQueues::new(),
            apps: Applications::new(Rule::of(knobs), Source::Estimator),
            claims: Vec::new(),
            decided: Vec::new(),
            present: Vec::new(),
            left_on: Vec::new(),
            refreshed: Nanos::ZERO,
            undecided: false,
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

    /// Judges claims. True if they or the threads have changed since the last decision.
    fn judge(&mut self, view: &View<'_>) -> bool {
        self.refreshed = view.now;
        self.apps.clear();
        for thread in view.runnable() {
            self.apps.add(view.thread(thread), self.queues.kinds());
        }
        self.present.clear();
        for thread in view.runnable() {
            self.set_claim(thread, view);
            self.present.push((thread, self.claims[thread.index()]));
        }
        let changed = |before: f64, now: f64| (now / before - 1.0).abs() > self.hysteresis;
        self.present.len() != self.decided.len()
            || self.present.iter().zip(&self.decided).any(|(now, before)| {
                now.0 != before.0 || changed(before.1.0, now.1.0) || changed(before.1.1, now.1.1)
            })
    }

    /// True if a thread runs on another kind than the last decision left it on. A thread that waits
    /// for a moment, such as for an urgent thread, may be taken over by an idle core.
    fn is_disturbed(&self, view: &View<'_>) -> bool {
        view.cores.iter().filter_map(|core| core.running).any(|thread| {
            let left_on = self.left_on.get(thread.index()).copied().flatten();
            left_on.is_some_and(|rank| self.queues.rank(view.thread(thread), view) != Some(rank))
        })
    }

    /// No threads trade any more: notes where each of them is.
    fn settle(&mut self, view: &View<'_>) {
        for &(thread, _) in &self.decided {
            if self.left_on.len() <= thread.index() {
                self.left_on.resize(thread.index() + 1, None);
            }
            self.left_on[thread.index()] = self.queues.rank(view.thread(thread), view);
        }
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        self.queues.count(view);
        let settled = self.queues.settled();
        self.undecided |= self.is_disturbed(view);
        if self.undecided || view.now.saturating_sub(self.refreshed) >= self.refresh {
            self.undecided |= self.judge(view);
        }
        let claims = &self.claims;
        let claim = |thread: ThreadId, _: &_| claim_of(claims, thread);
        self.queues.pull_all(view, claim, say);
        self.queues.balance(view, claim, say);
        if self.undecided {
            let traded = self.queues.exchange(view, true, claim, |_, a, b| b > a, say);
            std::mem::swap(&mut self.decided, &mut self.present);
            self.undecided = traded || !settled;
            if !self.undecided {
                self.settle(view);
            }
        }
    }
}

impl Policy for Hsp {
    fn interest(&self) -> Interest {
        Interest::CORE_IDLE.and(Interest::WOKE)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.queues.start(Clock::Own, view, say);
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                self.apps.add(view.thread(thread), self.queues.kinds());
                self.set_claim(thread, view);
                self.undecided = true;
            }
            Event::Exited(thread) => {
                self.apps.remove(view.thread(thread).app);
                self.undecided = true;
            }
            // A thread that woke may have lost its place meanwhile.
            Event::Woke(_) | Event::CoreOnline(_) | Event::CoreOffline(_) => self.undecided = true,
            Event::Timer => self.tick(view, say),
            _ => {}
        }
        let claims = &self.claims;
        self.queues.keep(
            event,
            Turns::of(self.slice),
            |thread, _| claim_of(claims, thread),
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
    fn it_is_reconsidered_when_an_estimate_has_changed_by_more_than_the_hysteresis_since_the_last_decision()
     {
        let mut bench = bench(1, 1, &[2.05, 2.0]);
        for (now_s, factor, fast) in
            [(1, 2.0, 0), (2, 2.04, 0), (3, 2.09, 0), (4, 2.11, 1), (5, 2.04, 1)]
        {
            bench.now = Nanos::from_secs(now_s);
            bench.threads[1].speedup[KindId(0)] = factor;
            bench.deliver(Event::Timer);
            bench.now += Nanos::from_millis(4);
            bench.deliver(Event::Timer);
            assert_eq!(places(&bench)[0], Some(fast), "{factor}");
        }
    }

    #[test]
    fn nobody_keeps_a_fast_core_from_a_thread_that_gains_but_little_more() {
        let mut bench = bench(1, 1, &[2.0, 2.01]);
        bench.deliver(Event::Timer);
        assert_eq!(places(&bench), [Some(1), Some(0)]);
    }

    #[test]
    fn a_thread_that_slept_has_its_fast_core_back() {
        let mut bench = bench(1, 1, &[3.0, 2.0]);
        bench.deliver(Event::Timer);
        bench.block(ThreadId(0));
        bench.deliver(Event::CoreIdle(CoreId(0)));
        assert_eq!(places(&bench), [Some(1), None]);
        bench.wake(ThreadId(0));
        bench.run(ThreadId(0), CoreId(1));
        bench.now += Nanos::from_millis(4);
        bench.deliver(Event::Timer);
        assert_eq!(places(&bench), [Some(0), Some(1)]);
    }

    #[test]
    fn who_has_lost_its_fast_core_to_another_without_having_slept_has_it_back() {
        let mut bench = bench(1, 1, &[3.0, 2.0]);
        for now_ms in [1_000, 1_004] {
            bench.now = Nanos::from_millis(now_ms);
            bench.deliver(Event::Timer);
        }
        // Both waited for a moment, and the cores took them up the other way round; no event says
        // so.
        bench.run(ThreadId(1), CoreId(0));
        bench.run(ThreadId(0), CoreId(1));
        bench.now = Nanos::from_millis(1_008);
        bench.deliver(Event::Timer);
        assert_eq!(places(&bench), [Some(0), Some(1)]);
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
