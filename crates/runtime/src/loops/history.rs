//! What a worker remembers of loops that it has called: how long a chunk is to be, each worker's
//! share (`shares.rs`), and if sharing pays.
//!
//! Sharing costs a ticket, perhaps a wake-up, and the wait for the last chunk at the end. In a
//! short loop that may be more than the others take off: they are slower, or are preempted with a
//! chunk. So the time of a short loop is compared with the time that it would have taken its caller
//! alone:
//!
//! ```text
//! shared   time from beginning to end / iterations, mean over the loops that were shared, above
//!          all the last of them that make 64 ms, and 16 at least
//! alone    time per iteration of chunks on the caller's kind of core, mean likewise over all loops
//! debt     what loops that were shared to look again took longer than alone, less what others took
//!          off, less 1/64 of the time of loops that were run alone since; never less than 0
//! share    the first 8, and then while  shared <= alone;  else while there is no debt, to see
//!          whether that has changed
//! ```
//!
//! So to look again costs at most 1/64 of the time, however dear it is. If it turns out well, the
//! next loop is shared, too.
//!
//! A loop is short if it takes its caller less than a time slice: for so long a preempted worker is
//! away.

use std::cell::{Cell, RefCell};

use evenkeel_machine::Nanos;

use super::dispenser::PastRuns;
use super::shares::Shares;

/// Places for loops. A loop that finds all of its places taken evicts another, which is then
/// measured anew.
const LOOPS: usize = 64;
/// Places that a loop may be in, from its own on. If it had but one, two of a program's ten loops
/// would share one in every second program, and find out anew each time that they take turns.
const PROBES: usize = 16;
/// A mean forgets what is further back than about so many loops,
const MEMORY: f64 = 16.0;
/// and than about so many nanoseconds: sixteen time slices, so that one loop with a preempted
/// worker does not outweigh all the others.
const MEMORY_SPAN: f64 = 64e6;
/// A mean of fewer says nothing yet.
const FEWEST: f64 = 8.0;
/// If sharing does not pay, the part of the time that may be lost by sharing now and then all the
/// same.
const EXPLORATION: f64 = 1.0 / 64.0;

/// No loop's code.
const NO_CODE: usize = 0;

/// Longer loops are always shared, nanoseconds. Linux lets a thread run for about 3 ms before the
/// next has its turn (`base_slice_ns`, by the number of CPUs), with a scheduler before EEVDF for 4
/// ms at most.
const LONGEST_ALONE: f64 = 4e6;

/// The loops that one worker has called.
pub struct LoopHistory {
    known: [Cell<Known>; LOOPS],
    /// Shares of the loop in the same place.
    shares: [RefCell<Shares>; LOOPS],
}

impl Default for LoopHistory {
    fn default() -> Self {
        let shares = std::array::from_fn(|_| RefCell::default());
        Self { known: [const { Cell::new(Known::NOTHING) }; LOOPS], shares }
    }
}

/// What is known of a loop; all times are in nanoseconds per iteration.
#[derive(Clone, Copy)]
struct Known {
    /// The address of its code, which identifies it.
    code: usize,
    /// The last time, on the fastest kind of core.
    iteration_ns: Option<f64>,
    shared: Mean,
    alone: Mean,
    /// What loops that were shared to look again took longer than alone, nanoseconds of whole
    /// loops.
    debt: f64,
}

/// A mean that forgets, and over how many it is.
#[derive(Clone, Copy)]
struct Mean {
    value: f64,
    count: f64,
}

/// How a loop went; all times are nanoseconds per iteration.
#[derive(Clone, Copy, Debug)]
pub struct LoopTimes {
    /// On the fastest kind of core that did some; none: as the last time.
    pub iteration_ns: Option<f64>,
    /// On the caller's kind of core, if that did some.
    pub alone: Option<f64>,
    /// How it was run.
    pub mode: RunMode,
    /// How many it had.
    pub iterations: u64,
}

/// How a loop was run.
#[derive(Clone, Copy, Debug)]
pub enum RunMode {
    /// By its caller alone.
    Alone,
    /// Others could take part from the beginning: its time per iteration from beginning to end.
    Shared(f64),
    /// Neither: others came later, or it was stopped.
    Otherwise,
}

impl LoopHistory {
    fn own_place(&self, code: usize) -> usize {
        // Functions begin at multiples of 16, and those of one program's loops lie in a row:
        // Fibonacci hashing (Knuth, volume 3, section 6.4) keeps them apart.
        let hash = (code as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> (u64::BITS - LOOPS.ilog2())) as usize
    }

    /// The places that a loop may be in, its own first.
    fn places(&self, code: usize) -> impl Iterator<Item = usize> {
        let own = self.own_place(code);
        (own..own + PROBES).map(|place| place % LOOPS)
    }

    /// The place of a loop.
    fn place(&self, code: usize) -> Option<usize> {
        self.places(code).find(|&place| self.known[place].get().code == code)
    }

    /// The place of a loop, or one for it.
    fn place_for(&self, code: usize) -> usize {
        let free = || self.places(code).find(|&place| self.known[place].get().code == NO_CODE);
        self.place(code).or_else(free).unwrap_or_else(|| self.own_place(code))
    }

    fn known(&self, code: usize) -> Option<Known> {
        Some(self.known[self.place(code)?].get())
    }

    /// Calls `with` with what is known of the loop with its code at this address.
    pub fn past_runs<R>(&self, code: usize, with: impl FnOnce(PastRuns<'_>) -> R) -> R {
        let Some(place) = self.place(code) else { return with(PastRuns::default()) };
        let shares = self.shares[place].borrow();
        with(PastRuns {
            iteration_ns: self.known[place].get().iteration_ns,
            speeds: shares.of_workers(),
        })
    }

    /// Nanoseconds per iteration that it should take its caller alone, if that is how it should be
    /// run.
    pub fn alone(&self, code: usize, iterations: u64) -> Option<f64> {
        let iteration_ns = self.known(code).filter(|known| !known.is_to_be_shared())?.alone.value;
        (iteration_ns * iterations as f64 <= LONGEST_ALONE).then_some(iteration_ns)
    }

    /// Learns from a run.
    pub fn learn(&self, code: usize, times: LoopTimes) {
        let place = self.place_for(code);
        let mut known = self.known[place].get();
        if known.code != code {
            known = Known { code, ..Known::NOTHING };
            self.shares[place].take();
        }
        known.iteration_ns = times.iteration_ns.or(known.iteration_ns);
        let memory = (MEMORY_SPAN / (known.alone.value * times.iterations as f64)).max(MEMORY);
        times.alone.into_iter().for_each(|time| known.alone.add(time, memory));
        if let RunMode::Shared(time) = times.mode {
            known.shared.add(time, memory);
        }
        let alone = known.alone.value * times.iterations as f64;
        let lost = match times.mode {
            _ if known.pays() => -known.debt,
            RunMode::Alone => -EXPLORATION * alone,
            // Longer ones are shared whatever is known of them.
            RunMode::Shared(time) if alone <= LONGEST_ALONE => {
                time * times.iterations as f64 - alone
            }
            RunMode::Shared(_) | RunMode::Otherwise => 0.0,
        };
        known.debt = (known.debt + lost).max(0.0);
        self.known[place].set(known);
    }

    /// Learns each worker's speed, in a run that has been learnt from and took so long.
    pub fn learn_shares(
        &self,
        code: usize,
        speeds: impl ExactSizeIterator<Item = f64> + Clone,
        took: Nanos,
    ) {
        if let Some(place) = self.place(code) {
            self.shares[place].borrow_mut().add(speeds, took);
        }
    }
}

impl Known {
    const NOTHING: Self = Self {
        code: NO_CODE,
        iteration_ns: None,
        shared: Mean::NONE,
        alone: Mean::NONE,
        debt: 0.0,
    };

    /// As far as is known.
    fn pays(&self) -> bool {
        self.shared.count < FEWEST
            || self.alone.count < FEWEST
            || self.shared.value <= self.alone.value
    }

    fn is_to_be_shared(&self) -> bool {
        self.pays() || self.debt <= 0.0
    }
}

impl Mean {
    const NONE: Self = Self { value: 0.0, count: 0.0 };

    /// One loop more; what is further back than `memory` of them is forgotten.
    fn add(&mut self, value: f64, memory: f64) {
        self.count = (self.count + 1.0).min(memory);
        self.value += (value - self.value) / self.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl LoopHistory {
        /// Nanoseconds per iteration in the last run.
        pub fn last(&self, code: usize) -> Option<f64> {
            self.known(code)?.iteration_ns
        }
    }

    const CODE: usize = 0x40;

    /// Runs a loop so often, which takes so long per iteration if it is shared and if it is not;
    /// how often it was shared.
    fn times_shared(history: &LoopHistory, loops: u32, shared: f64, alone: f64) -> u32 {
        let run = |_| {
            let is_shared = history.alone(CODE, 1_000).is_none();
            let mode = if is_shared { RunMode::Shared(shared) } else { RunMode::Alone };
            history.learn(
                CODE,
                LoopTimes {
                    iteration_ns: Some(alone),
                    alone: Some(alone),
                    mode,
                    iterations: 1_000,
                },
            );
            u32::from(is_shared)
        };
        (0..loops).map(run).sum()
    }

    #[test]
    fn a_loop_that_others_make_shorter_is_always_shared() {
        assert_eq!(times_shared(&LoopHistory::default(), 1_000, 60.0, 100.0), 1_000);
    }

    #[test]
    fn a_loop_that_others_make_longer_is_shared_now_and_then_until_that_changes() {
        let history = LoopHistory::default();
        // Half as long again: one of 33.
        let often = times_shared(&history, 8 + 3_300, 150.0, 100.0);
        assert!((100..110).contains(&(often - 8)), "{often}");
        // The first that turns out well is followed by others at once.
        let often = times_shared(&history, 1_000, 60.0, 100.0);
        assert!(often > 960, "{often}");
    }

    #[test]
    fn looking_again_costs_a_sixtyfourth_of_the_time_however_dear_it_is() {
        for shared in [101.0, 150.0, 500.0, 10_000.0] {
            let history = LoopHistory::default();
            times_shared(&history, 100, shared, 100.0);
            let (loops, often) = (100_000, times_shared(&history, 100_000, shared, 100.0));
            let lost = f64::from(often) * (shared - 100.0) / (f64::from(loops) * 100.0);
            assert!(lost < 1.1 * EXPLORATION, "{shared}: {lost}");
        }
    }

    #[test]
    fn a_mean_weighs_the_odd_loop_that_takes_long() {
        let history = LoopHistory::default();
        // Half as long three times of four, and then long: in the mean longer than alone.
        let run = |index: u32| {
            let is_shared = history.alone(CODE, 1_000).is_none();
            let mode = if is_shared {
                RunMode::Shared(if index % 4 == 3 { 500.0 } else { 50.0 })
            } else {
                RunMode::Alone
            };
            history.learn(
                CODE,
                LoopTimes {
                    iteration_ns: Some(100.0),
                    alone: Some(100.0),
                    mode,
                    iterations: 1_000,
                },
            );
            u32::from(is_shared)
        };
        assert!((0..1_000).map(run).sum::<u32>() < 500);
    }

    #[test]
    fn one_loop_with_a_preempted_worker_does_not_outweigh_the_others() {
        let history = LoopHistory::default();
        assert_eq!(times_shared(&history, 200, 350.0, 500.0), 200);
        // 0.35 ms, and once 4 ms on top.
        history.learn(
            CODE,
            LoopTimes {
                iteration_ns: None,
                alone: Some(500.0),
                mode: RunMode::Shared(4_350.0),
                iterations: 1_000,
            },
        );
        assert_eq!(times_shared(&history, 200, 350.0, 500.0), 200);
    }

    #[test]
    fn a_loop_that_others_begin_to_make_longer_is_not_shared_for_long() {
        let history = LoopHistory::default();
        assert_eq!(times_shared(&history, 2_000, 60.0, 100.0), 2_000);
        // Less than the time that the mean is over.
        let often = times_shared(&history, 1_000, 200.0, 100.0);
        assert!(often < 64_000 / 200, "{often}");
    }

    #[test]
    fn a_long_loop_is_always_shared() {
        let history = LoopHistory::default();
        times_shared(&history, 20, 150.0, 100.0);
        assert_eq!((history.alone(CODE, 40_000), history.alone(CODE, 40_001)), (Some(100.0), None));
    }

    #[test]
    fn another_loop_is_not_known() {
        let history = LoopHistory::default();
        times_shared(&history, 100, 150.0, 100.0);
        assert_eq!((history.last(CODE), history.last(CODE + 16)), (Some(100.0), None));
        assert_eq!(history.alone(CODE + 16, 1_000), None);
    }

    #[test]
    fn a_loop_that_others_join_late_pays_nothing_off_and_a_long_one_owes_nothing() {
        let history = LoopHistory::default();
        let times = |mode, iterations| {
            history
                .learn(CODE, LoopTimes { iteration_ns: None, alone: Some(100.0), mode, iterations })
        };
        (0..100).for_each(|_| times(RunMode::Shared(150.0), 1_000));
        assert!(history.alone(CODE, 1_000).is_some(), "it has looked, and lost by it");
        (0..10_000).for_each(|_| times(RunMode::Otherwise, 1_000));
        assert!(history.alone(CODE, 1_000).is_some());
        let history = LoopHistory::default();
        // Each takes 10 ms alone, and then one takes 0.1 ms.
        let times = |mode, iterations| {
            history
                .learn(CODE, LoopTimes { iteration_ns: None, alone: Some(100.0), mode, iterations })
        };
        (0..100).for_each(|_| times(RunMode::Shared(150.0), 100_000));
        assert!(history.alone(CODE, 1_000).is_none(), "there is no debt: it may look at once");
    }

    #[test]
    fn ten_loops_of_a_program_do_not_drive_each_other_out() {
        for (distance, start) in
            (1..200).flat_map(|distance| [0x1000, 0x55_5000].map(|start| (distance * 16, start)))
        {
            let history = LoopHistory::default();
            let codes = || (0..10).map(|number| start + number * distance);
            codes().for_each(|code| {
                history.learn(
                    code,
                    LoopTimes {
                        iteration_ns: Some(1.0),
                        alone: None,
                        mode: RunMode::Otherwise,
                        iterations: 1,
                    },
                )
            });
            assert!(codes().all(|code| history.last(code).is_some()), "{distance} {start}");
        }
    }

    #[test]
    fn a_loop_that_evicts_another_does_not_have_its_shares() {
        let history = LoopHistory::default();
        let times = LoopTimes {
            iteration_ns: Some(1.0),
            alone: None,
            mode: RunMode::Shared(1.0),
            iterations: 1,
        };
        let learn = |code| {
            history.learn(code, times);
            let known = history.past_runs(code, |before| before.speeds.len());
            history.learn_shares(code, [1.0, 1.0].into_iter(), Nanos(1));
            known
        };
        let codes = || (0..1_000).map(|number| CODE + 16 * number);
        assert!(codes().all(|code| learn(code) == 0));
        assert_eq!(learn(CODE + 16 * 999), 2);
    }

    #[test]
    fn more_loops_than_there_are_places_drive_each_other_out_and_no_more() {
        let history = LoopHistory::default();
        for code in (0..1_000).map(|number| CODE + 16 * number) {
            history.learn(
                code,
                LoopTimes {
                    iteration_ns: Some(1.0),
                    alone: None,
                    mode: RunMode::Otherwise,
                    iterations: 1,
                },
            );
            assert_eq!(history.last(code), Some(1.0));
        }
    }
}
