//! `eqp`: equal progress. All threads are slowed down equally.
//!
//! Source: Van Craeynest, Akram, Heirman, Jaleel, Eeckhout, "Fairness-aware scheduling on
//! single-ISA heterogeneous multi-cores", PACT 2013.
//!
//! With `T_k` the time of a thread on cores of kind `k` so far and `SF_k` its present speedup
//! factor there, every `quantum`:
//!
//! ```text
//! slowdown_t = sum T_k / sum (T_k SF_k / SF_fastest)
//!              two kinds:  (T_big + T_small) / (T_big + T_small / SF_t)
//! the B threads with the greatest slowdown go to the fast cores
//! ```
//!
//! The whole past is judged by the present factor, as if a thread whose phase has changed had
//! always been so. That is the paper's rule and the weakness that acfs (JPDC 102) shows of it. It
//! counts threads, not applications, and ignores priorities; time spent waiting for a core does not
//! count. By this rule a thread that gains nothing (`SF_t` = 1) is never slowed down, and stays on
//! slow cores.
//!
//! The paper samples: the factor is the ratio of the instructions per cycle last seen on each kind.
//! Here that is an estimator and no part of the policy: `--estimator sampled` (live mechanisms with
//! hardware counters always sample). A thread that has not run yet has a slowdown of 1.
//!
//! Three or more kinds: as above; of two adjacent kinds the faster gets the greater slowdowns, so
//! threads settle within as many quanta as there are pairs. `B` counts hardware threads, with SMT.
//! More threads than cores: `os/kind_queues.rs`; the threads of a kind take equal turns.
//!
//! Knobs: `quantum` (200 ms), `slice` (3 ms). A quantum costs O(threads).

use evenkeel_machine::Nanos;

use super::kind_queues::{KindQueues, SLICE, Turns};
use crate::contract::{
    Clock, Directives, Event, Interest, Knob, Knobs, Policy, StartError, ThreadId, ThreadStats,
    View,
};
use crate::entry::{Entry, Trait};
use crate::speedup::{Kinds, Source};
use crate::weight::DEFAULT_WEIGHT;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "eqp",
    summary: "equal progress: the threads slowed down most go to the fast cores",
    source: "Van Craeynest, Akram, Heirman, Jaleel, Eeckhout, PACT 2013",
    traits: &[Trait::WorkConserving, Trait::NeedsFactors],
    knobs: &[
        Knob::Number {
            name: "quantum",
            default: 200.0,
            bounds: (1.0, 60_000.0),
            unit: "ms",
            about: "how often slowdowns are compared (as JPDC 102 has it)",
        },
        SLICE,
    ],
    make: |knobs, _| Box::new(Eqp::new(knobs)),
};

/// The policy `eqp`.
#[derive(Debug)]
pub struct Eqp {
    quantum: Nanos,
    slice: Nanos,
    queues: KindQueues<f64>,
    /// Slowdowns by thread, as of the last quantum.
    slowdowns: Vec<f64>,
}

/// Slowdown of a thread that has not run.
const NONE_YET: f64 = 1.0;

fn slowdown_of(slowdowns: &[f64], thread: ThreadId) -> f64 {
    slowdowns.get(thread.index()).copied().unwrap_or(NONE_YET)
}

/// Time so far / time of the same work on the fastest kind, by the present factors.
fn slowdown(stats: &ThreadStats, kinds: Kinds<'_>) -> f64 {
    let (mut real, mut fast) = (0.0, 0.0);
    for (rank, &kind) in kinds.kinds.iter().enumerate() {
        let time = stats.time_on[kind].0 as f64;
        real += time;
        fast += time / Source::Estimator.factor(stats, kinds, 0, rank);
    }
    if fast > 0.0 { real / fast } else { NONE_YET }
}

impl Eqp {
    fn new(knobs: &Knobs) -> Self {
        Self {
            quantum: knobs.millis("quantum"),
            slice: knobs.millis("slice"),
            queues: KindQueues::new(),
            slowdowns: Vec::new(),
        }
    }

    fn judge(&mut self, view: &View<'_>, say: &mut Directives) {
        self.queues.count(view);
        self.slowdowns.resize(view.threads.len(), NONE_YET);
        for thread in view.runnable() {
            self.slowdowns[thread.index()] = slowdown(view.thread(thread), self.queues.kinds());
        }
        let slowdowns = &self.slowdowns;
        let claim = |thread: ThreadId, _: &_| slowdown_of(slowdowns, thread);
        self.queues.pull_all(view, claim, say);
        self.queues.balance(view, claim, say);
        self.queues.exchange(view, true, claim, |_, a, b| b > a, say);
    }
}

impl Policy for Eqp {
    fn interest(&self) -> Interest {
        Interest::CORE_IDLE.and(Interest::PROGRESS)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.queues.start(Clock::Own, view, say);
        say.timer(self.quantum);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                // The number may be reused.
                if let Some(known) = self.slowdowns.get_mut(thread.index()) {
                    *known = slowdown(view.thread(thread), self.queues.kinds());
                }
            }
            Event::Timer => self.judge(view, say),
            _ => {}
        }
        let (slowdowns, turns) =
            (&self.slowdowns, Turns { slice: self.slice, weight: Some(DEFAULT_WEIGHT) });
        self.queues.keep(event, turns, |thread, _| slowdown_of(slowdowns, thread), view, say);
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{CoreId, KindId};

    use super::*;
    use crate::registry::make;
    use crate::testing::{Bench, machine};

    const BIG: KindId = KindId(0);

    /// Thread i on core i, with these speedup factors.
    fn bench(big: u32, little: u32, factors: &[f32]) -> Bench {
        let mut bench = Bench::start(big, little, make("eqp", &[]).unwrap());
        for (core, &factor) in (0..).zip(factors) {
            let thread = bench.spawn(core);
            bench.threads[thread.index()].speedup[BIG] = factor;
            bench.run(thread, CoreId(core));
        }
        bench
    }

    /// Runs for some quanta.
    fn play(bench: &mut Bench, big: usize, quanta: u32) {
        let quantum = Nanos::from_millis(200);
        for _ in 0..quanta {
            bench.now += quantum;
            for core in 0..bench.cores.len() {
                if let Some(thread) = bench.cores[core].running {
                    bench.threads[thread.index()].time_on[KindId(u8::from(core >= big))] += quantum;
                }
            }
            bench.deliver(Event::Timer);
        }
    }

    fn slowdowns(bench: &Bench) -> Vec<f64> {
        let kinds = Kinds { kinds: &[BIG, KindId(1)], cores: &[] };
        bench.threads.iter().map(|stats| slowdown(stats, kinds)).collect()
    }

    #[test]
    fn slowdown_is_time_by_what_it_would_have_been_on_a_big_core() {
        let mut bench = bench(1, 1, &[4.0]);
        bench.threads[0].time_on.0[..2].copy_from_slice(&[Nanos(100), Nanos(400)]);
        assert_eq!(slowdowns(&bench), [500.0 / 200.0]);
        bench.threads[0].speedup[BIG] = 1.0;
        assert_eq!(slowdowns(&bench), [1.0], "the past is judged by the present factor");
    }

    #[test]
    fn who_has_been_slowed_down_most_has_the_big_core_next() {
        let mut bench = bench(1, 2, &[3.0, 2.0, 3.0]);
        play(&mut bench, 1, 1);
        // Two threads have been on little cores all the time, one of them with the greater factor.
        assert_eq!(bench.cores[0].running, Some(ThreadId(2)));
        play(&mut bench, 1, 1);
        assert_eq!(bench.cores[0].running, Some(ThreadId(1)));
    }

    #[test]
    fn slowdowns_of_threads_whose_factors_stay_become_equal() {
        for factors in [&[4.0_f32, 2.0][..], &[3.0, 3.0, 1.5], &[4.7, 4.0, 2.0, 1.8]] {
            let mut bench = bench(1, factors.len() as u32 - 1, factors);
            play(&mut bench, 1, 5_000);
            let slowdowns = slowdowns(&bench);
            let (least, greatest) = slowdowns
                .iter()
                .fold((f64::MAX, f64::MIN), |(l, g), &slowdown| (slowdown.min(l), slowdown.max(g)));
            assert!(greatest / least < 1.01, "{factors:?}: {slowdowns:?}");
        }
    }

    #[test]
    fn weights_count_for_nothing() {
        let places = |weight| {
            let mut bench = bench(1, 1, &[2.0, 2.0]);
            bench.threads[0].weight = weight;
            let places = |bench: &mut Bench| {
                play(bench, 1, 1);
                bench.cores[0].running
            };
            (0..20).map(|_| places(&mut bench)).collect::<Vec<_>>()
        };
        assert_eq!(places(1024), places(88761));
    }

    #[test]
    fn with_three_kinds_the_greatest_slowdown_ends_on_the_fastest_and_the_least_on_the_slowest() {
        let kinds = machine(&[("prime", 1024, 1), ("big", 768, 1), ("little", 256, 1)]);
        let mut bench = Bench::on(kinds, make("eqp", &[]).unwrap());
        for (core, slow_ms) in [(0, 0), (1, 100), (2, 300)] {
            let thread = bench.spawn(core);
            bench.threads[thread.index()].speedup.0[..3].copy_from_slice(&[3.0, 2.0, 1.0]);
            bench.threads[thread.index()].time_on.0[..3].copy_from_slice(&[
                Nanos::from_millis(100),
                Nanos::ZERO,
                Nanos::from_millis(slow_ms),
            ]);
            bench.run(thread, CoreId(core));
        }
        (0..3).for_each(|_| {
            bench.deliver(Event::Timer);
        });
        let places: Vec<_> =
            bench.cores.iter().map(|core| core.running.map(|thread| thread.0)).collect();
        assert_eq!(places, [Some(2), Some(1), Some(0)]);
    }
}
