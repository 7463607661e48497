//! `opt-unfairness`: the fairest possible schedule, played out in time. It is a bound and not a
//! scheduler: it needs true speedup factors.
//!
//! Source: the bound of Saez et al., JPDC 102 (2017), as solved in [`crate::bounds`]. For runnable
//! threads of speedup factors `SF_i` on `B` fast cores it gives the fraction `F_i` of time on a
//! fast core at which unfairness is least. This policy realises the fractions: every `tick`,
//!
//! ```text
//! goal_i += F_i x time since the last tick          deficit_i = goal_i - time of i on fast cores
//! ```
//!
//! and A = least deficit on fast cores and B = greatest on slow ones trade places while
//! `deficit_B - deficit_A > hysteresis`. The fractions are solved again when the set of runnable
//! threads or a factor changes; goals keep what they have.
//!
//! Limits of the model, and thus of the bound: it has one thread per application and a core for
//! each. Threads of a larger application count separately, each with its own factor. With more
//! threads than cores, fractions are still those of time on fast cores, and each kind's threads
//! take turns by weight. Three or more kinds: the fastest against all others, with factors from the
//! slowest to the fastest; between slower kinds greater deficits go to faster ones, which is not
//! optimal. Weights do not affect fractions.
//!
//! `B` counts hardware threads, with SMT.
//!
//! Knobs: `hysteresis` (50 ms), `tick` (4 ms), `slice` (3 ms). A tick costs O(threads).

use evenkeel_machine::Nanos;

use super::TICK;
use super::kind_queues::{KindQueues, SLICE, Turns};
use crate::bounds;
use crate::contract::{
    Clock, Directives, Event, Interest, Knob, Knobs, Policy, StartError, ThreadId, ThreadStats,
    View,
};
use crate::entry::{Entry, Trait};
use crate::speedup::Source;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "opt-unfairness",
    summary: "the bound: the least unfairness attainable, as a schedule (give it true speedup \
              factors)",
    source: "the analytical optimum of Saez et al., JPDC 102 (2017)",
    traits: &[Trait::WorkConserving, Trait::NeedsFactors, Trait::Bound],
    knobs: &[
        Knob::Number {
            name: "hysteresis",
            default: 50.0,
            bounds: (0.0, 60_000.0),
            unit: "ms",
            about: "by how much deficits of fast-core time must differ before threads trade places \
                    (assumption)",
        },
        TICK,
        SLICE,
    ],
    make: |knobs, _| Box::new(OptUnfairness::new(knobs)),
};

#[derive(Clone, Copy, Debug, Default)]
struct Goal {
    /// Fast-core time that the thread should have had, ns.
    time_ns: f64,
    /// F.
    fraction: f64,
}

/// The policy `opt-unfairness`.
#[derive(Debug)]
pub struct OptUnfairness {
    hysteresis_ns: f64,
    tick: Nanos,
    slice: Nanos,
    queues: KindQueues<f64>,
    /// By thread.
    goals: Vec<Goal>,
    /// The threads and factors that the fractions were solved for, with the fast cores then.
    solved_for: Vec<(ThreadId, f64)>,
    /// True if a thread has ended since, which is no longer in `solved_for`.
    some_ended: bool,
    fast: u32,
    /// Scratch.
    present: Vec<(ThreadId, f64)>,
    last: Nanos,
}

impl OptUnfairness {
    fn new(knobs: &Knobs) -> Self {
        Self {
            hysteresis_ns: knobs.number("hysteresis") * 1e6,
            tick: knobs.millis("tick"),
            slice: knobs.millis("slice"),
            queues: KindQueues::new(),
            goals: Vec::new(),
            solved_for: Vec::new(),
            some_ended: false,
            fast: 0,
            present: Vec::new(),
            last: Nanos::ZERO,
        }
    }

    /// Brings goals up to now by the fractions in force, then solves the fractions for the present
    /// threads.
    fn advance(&mut self, view: &View<'_>) {
        let elapsed = view.now.saturating_sub(self.last).0 as f64;
        self.last = view.now;
        for &(thread, _) in &self.solved_for {
            let goal = &mut self.goals[thread.index()];
            goal.time_ns += goal.fraction * elapsed;
        }
        let kinds = self.queues.kinds();
        let slowest = kinds.kinds.len() - 1;
        self.present.clear();
        let factor = |stats: &ThreadStats| Source::Estimator.factor(stats, kinds, 0, slowest);
        self.present.extend(view.runnable().map(|thread| (thread, factor(view.thread(thread)))));
        let fast = self.queues.cores_to(0);
        if !std::mem::take(&mut self.some_ended)
            && self.present == self.solved_for
            && self.fast == fast
        {
            return;
        }
        self.fast = fast;
        self.solved_for.clone_from(&self.present);
        let factors: Vec<f64> = self.present.iter().map(|(_, factor)| *factor).collect();
        let optimum = bounds::opt_unfairness(&factors, fast as usize);
        for (&(thread, _), fraction) in self.present.iter().zip(optimum.fractions) {
            if self.goals.len() <= thread.index() {
                self.goals.resize(thread.index() + 1, Goal::default());
            }
            self.goals[thread.index()].fraction = fraction;
        }
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        self.queues.count(view);
        self.advance(view);
        let hysteresis = self.hysteresis_ns;
        let (goals, fastest) = (&self.goals, self.queues.kinds().kinds[0]);
        let deficit =
            |thread: ThreadId, stats: &ThreadStats| deficit(goals, thread, stats, fastest);
        self.queues.pull_all(view, deficit, say);
        self.queues.balance(view, deficit, say);
        self.queues.exchange(view, true, deficit, |_, a, b| b - a > hysteresis, say);
    }
}

/// Fast-core time that a thread has yet to get, ns.
fn deficit(
    goals: &[Goal],
    thread: ThreadId,
    stats: &ThreadStats,
    fastest: evenkeel_machine::KindId,
) -> f64 {
    goals.get(thread.index()).map_or(0.0, |goal| goal.time_ns) - stats.time_on[fastest].0 as f64
}

impl Policy for OptUnfairness {
    fn interest(&self) -> Interest {
        Interest::CORE_IDLE.and(Interest::PROGRESS)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.queues.start(Clock::Own, view, say);
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                // The number may be reused.
                if let Some(goal) = self.goals.get_mut(thread.index()) {
                    *goal = Goal {
                        time_ns: view.thread(thread).time_on[self.queues.kinds().kinds[0]].0 as f64,
                        fraction: 0.0,
                    };
                }
            }
            Event::Exited(thread) => {
                self.solved_for.retain(|&(other, _)| other != thread);
                self.some_ended = true;
            }
            Event::Timer => self.tick(view, say),
            _ => {}
        }
        let (goals, fastest) = (&self.goals, self.queues.kinds().kinds[0]);
        let deficit = |thread, stats: &_| deficit(goals, thread, stats, fastest);
        self.queues.keep(event, Turns::of(self.slice), deficit, view, say);
    }

    fn notes(&self) -> Vec<String> {
        match self.queues.len() {
            0..=2 => Vec::new(),
            kinds => {
                vec![format!(
                    "opt-unfairness knows two kinds; of these {kinds} it sets the fastest against \
                     the others"
                )]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{CoreId, KindId};

    use super::*;
    use crate::registry::make;
    use crate::testing::{Bench, machine};

    const BIG: KindId = KindId(0);
    const TICK_TIME: Nanos = Nanos::from_millis(4);

    /// Applications of one thread, thread i on core i, with these speedup factors.
    fn bench(big: u32, little: u32, factors: &[f64]) -> Bench {
        let mut bench = Bench::start(big, little, make("opt-unfairness", &[]).unwrap());
        for (core, &factor) in (0..).zip(factors) {
            let thread = bench.spawn(core);
            bench.threads[thread.index()].speedup[BIG] = factor as f32;
            bench.run(thread, CoreId(core));
        }
        bench
    }

    fn play(bench: &mut Bench, big: usize, ticks: u32) {
        for _ in 0..ticks {
            bench.now += TICK_TIME;
            for core in 0..bench.cores.len() {
                if let Some(thread) = bench.cores[core].running {
                    bench.threads[thread.index()].time_on[KindId(u8::from(core >= big))] +=
                        TICK_TIME;
                }
            }
            bench.deliver(Event::Timer);
        }
    }

    #[test]
    fn the_fractions_of_all_ten_workloads_come_true() {
        for factors in bounds::WORKLOADS {
            let mut bench = bench(2, 2, &factors);
            play(&mut bench, 2, 20_000);
            let optimum = bounds::opt_unfairness(&factors, 2);
            for (i, stats) in bench.threads.iter().enumerate().filter(|(i, _)| factors[*i] > 1.0) {
                let fraction = stats.time_on[BIG].0 as f64 / bench.now.0 as f64;
                assert!(
                    (fraction - optimum.fractions[i]).abs() < 2e-3,
                    "{factors:?}, {i}: {fraction}, {optimum:?}"
                );
            }
        }
    }

    #[test]
    fn nobody_moves_where_the_optimum_is_to_stay() {
        let mut bench = bench(2, 2, &bounds::WORKLOADS[0]);
        play(&mut bench, 2, 1_000);
        let places: Vec<_> =
            bench.cores.iter().map(|core| core.running.map(|thread| thread.0)).collect();
        assert_eq!(places, [0, 1, 2, 3].map(Some));
    }

    #[test]
    fn the_fractions_are_solved_anew_when_a_factor_changes() {
        let mut bench = bench(1, 1, &[4.0, 4.0]);
        play(&mut bench, 1, 10_000);
        bench.threads[1].speedup[BIG] = 1.0;
        let before = bench.threads[0].time_on[BIG];
        play(&mut bench, 1, 10_000);
        let fraction =
            (bench.threads[0].time_on[BIG] - before).0 as f64 / (10_000.0 * TICK_TIME.0 as f64);
        assert!(fraction > 0.99, "{fraction}");
    }

    #[test]
    fn the_fractions_are_solved_anew_when_somebody_has_ended() {
        let mut bench = bench(1, 2, &[4.0, 3.0, 2.0]);
        play(&mut bench, 1, 10_000);
        bench.exit(ThreadId(0));
        let before = [1, 2].map(|thread| bench.threads[thread].time_on[BIG].0);
        play(&mut bench, 1, 20_000);
        let optimum = bounds::opt_unfairness(&[3.0, 2.0], 1);
        for (place, thread) in [1, 2].into_iter().enumerate() {
            let fraction = (bench.threads[thread].time_on[BIG].0 - before[place]) as f64
                / (20_000.0 * TICK_TIME.0 as f64);
            assert!(
                (fraction - optimum.fractions[place]).abs() < 0.02,
                "{thread}: {fraction}, {optimum:?}"
            );
        }
    }

    #[test]
    fn it_says_what_it_does_on_three_kinds() {
        let kinds = machine(&[("prime", 1024, 1), ("big", 768, 1), ("little", 256, 1)]);
        assert_eq!(Bench::on(kinds, make("opt-unfairness", &[]).unwrap()).notes().len(), 1);
    }
}
