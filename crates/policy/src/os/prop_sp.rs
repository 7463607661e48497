//! `prop-sp`: fast-core time in proportion to weight and speedup.
//!
//! Source: Saez, Pousa, Castro, Chaver, Prieto-Matias, "Delivering fairness and priority
//! enforcement on asymmetric multicore systems via OS scheduling", SIGMETRICS 2013 (there
//! "Prop-SP").
//!
//! Every `period` applications are awarded credit, which is time on fast cores:
//!
//! ```text
//! value_a  = W_a S_a        W_a mean weight of a's threads, S_a its speedup (crate::speedup);
//!                           net: W_a (S_a - 1)
//! credit_a = period B value_a / sum of values,  but no more than period x threads of a;
//!            the rest to the others
//! ```
//!
//! With one fast core and speedups of 3 and 2 the shares are 60 and 40 %, under `value=net` 67 and
//! 33 %. Under `value=speedup` a program that gains nothing (a speedup of 1) has a share, too.
//!
//! An application's runnable threads have equal parts. A thread spends credit while it is on a fast
//! core. Threads with credit run there, those with most first; at each `tick` one whose credit is
//! spent makes room for the one with most on a slow core. If no thread has credit left, none moves.
//!
//! The paper leaves open:
//!
//! - *The rest of a period.* Credit that is left or owed (a thread is on a fast core without credit
//!   because no other has any) is carried into the next period, up to one period. So shares come
//!   out in the long run though threads cannot be packed exactly.
//! - *Changes.* When threads start or end, credit for the rest of the period is awarded again, by
//!   the speedups at that time.
//! - *Sleepers.* Threads that have been awake within the last period count as runnable; otherwise a
//!   thread that often sleeps might get nothing because it happened to sleep at the award.
//! - *Ties.* Credits that differ by less than a tick count as equal when a period begins.
//!
//! Three or more kinds: adjacent pairs trade. Time counts by rank: 1 on the fastest, 0 on the
//! slowest, evenly spaced in between; so does the time to be awarded. `B` counts hardware threads,
//! with SMT. Idle cores, more threads than cores: `os/kind_queues.rs`.
//!
//! Knobs: `value` (speedup), `period` (1 s), `speedup` (utility), `tick` (4 ms), `slice` (3 ms). A
//! tick costs O(cores), an award O(threads).

use evenkeel_machine::{KindId, Nanos};

use super::TICK;
use super::kind_queues::{KindQueues, SLICE, Turns, fast_time};
use crate::contract::{
    AppId, Clock, Directives, Event, Interest, Knob, Knobs, Policy, StartError, ThreadId,
    ThreadStats, View,
};
use crate::entry::{Entry, Trait};
use crate::speedup::{Applications, Rule, Source};

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "prop-sp",
    summary: "fast-core time in proportion to weight x speedup",
    source: "Saez, Pousa, Castro, Chaver, Prieto-Matias, SIGMETRICS 2013",
    traits: &[Trait::WorkConserving, Trait::NeedsFactors],
    knobs: &[
        Knob::Word {
            name: "value",
            words: &["speedup", "net"],
            about: "what credit is in proportion to, beside weight: the speedup from fast cores, \
                    or that less 1",
        },
        Knob::Number {
            name: "period",
            default: 1_000.0,
            bounds: (1.0, 60_000.0),
            unit: "ms",
            about: "how often credit is awarded (as JPDC 102 has it)",
        },
        Rule::KNOB,
        TICK,
        SLICE,
    ],
    make: |knobs, _| Box::new(PropSp::new(knobs)),
};

/// Credit of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Credit at the time when `spent` was updated, ns.
    credit: i64,
    /// Time on fast cores that has been deducted, ns.
    spent: u64,
    /// Last award, as a fraction of a fast core.
    rate: f64,
}

impl Account {
    fn left(&self, stats: &ThreadStats, kinds: &[KindId]) -> i64 {
        self.credit - fast_time(stats, kinds).saturating_sub(self.spent) as i64
    }
}

/// An application during an award.
#[derive(Clone, Copy, Debug, Default)]
struct Claimant {
    threads: u32,
    weight: u64,
    /// Each thread's part, as a fraction of a fast core.
    rate: f64,
}

/// The policy `prop-sp`.
#[derive(Debug)]
pub struct PropSp {
    /// Deducted from a speedup: 1 with `value=net`, else 0.
    less: f64,
    period: Nanos,
    tick: Nanos,
    slice: Nanos,
    queues: KindQueues<i64>,
    /// Kinds with cores, fastest first.
    kinds: Vec<KindId>,
    apps: Applications,
    accounts: Vec<Account>,
    /// Time until which credit has been awarded.
    until: Nanos,
    /// True if the runnable threads have changed since.
    stale: bool,
    /// Scratch: by application; and applications with runnable threads, by value per thread.
    claimants: Vec<Claimant>,
    by_value: Vec<(f64, AppId)>,
}

fn credit(accounts: &[Account], kinds: &[KindId], thread: ThreadId, stats: &ThreadStats) -> i64 {
    accounts.get(thread.index()).map_or(0, |account| account.left(stats, kinds))
}

/// True if a thread is runnable, or was within the last period.
fn is_awake(stats: &ThreadStats, now: Nanos, period: Nanos) -> bool {
    stats.runnable() || now.saturating_sub(stats.since) < period
}

impl PropSp {
    fn new(knobs: &Knobs) -> Self {
        Self {
            less: if knobs.word("value") == "net" { 1.0 } else { 0.0 },
            period: knobs.millis("period"),
            tick: knobs.millis("tick"),
            slice: knobs.millis("slice"),
            queues: KindQueues::new(),
            kinds: Vec::new(),
            apps: Applications::new(Rule::of(knobs), Source::Estimator),
            accounts: Vec::new(),
            until: Nanos::ZERO,
            stale: false,
            claimants: Vec::new(),
            by_value: Vec::new(),
        }
    }

    /// Number of fast cores; kinds between the fastest and the slowest count in part, as in
    /// `fast_time`.
    fn fast_cores(&self) -> f64 {
        let online = self.queues.kinds().cores;
        let slowest = online.len() - 1;
        let weighted = online
            .iter()
            .enumerate()
            .map(|(rank, &cores)| f64::from(cores) * (slowest - rank) as f64);
        weighted.sum::<f64>() / slowest.max(1) as f64
    }

    /// Computes the part of the fast cores that each thread of each application gets from now on.
    /// O(threads + apps log apps).
    fn deal_out(&mut self, view: &View<'_>) {
        self.apps.clear();
        self.claimants.fill(Claimant::default());
        let live = view.live.iter().map(|&thread| view.thread(thread));
        for stats in live.filter(|stats| is_awake(stats, view.now, self.period)) {
            let app = stats.app.index();
            if self.claimants.len() <= app {
                self.claimants.resize(app + 1, Claimant::default());
            }
            self.apps.add(stats, self.queues.kinds());
            self.claimants[app].threads += 1;
            self.claimants[app].weight += u64::from(stats.weight);
        }
        let slowest = self.queues.len() - 1;
        self.by_value.clear();
        for (app, claimant) in
            self.claimants.iter().enumerate().filter(|(_, claimant)| claimant.threads > 0)
        {
            let app = AppId(app as u32);
            let speedup = self.apps.speedup(app, slowest, self.queues.kinds());
            let threads = f64::from(claimant.threads);
            let value = claimant.weight as f64 / threads * (speedup - self.less);
            self.by_value.push((value / threads, app));
        }
        // An application that is due more than all its threads can use comes first, and leaves the
        // rest to the others.
        self.by_value.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let value = |&(per_thread, app): &(f64, AppId)| {
            per_thread * f64::from(self.claimants[app.index()].threads)
        };
        let mut values: f64 = self.by_value.iter().map(value).sum();
        let mut cores = self.fast_cores();
        for &(per_thread, app) in &self.by_value {
            let claimant = &mut self.claimants[app.index()];
            let due = if values > 0.0 { (cores * per_thread / values).max(0.0) } else { 0.0 };
            claimant.rate = due.min(1.0);
            if due > 1.0 {
                let threads = f64::from(claimant.threads);
                cores -= threads;
                values -= per_thread * threads;
            }
        }
    }

    /// Awards credit until the end of the period, replacing what was awarded for it before.
    fn award(&mut self, view: &View<'_>) {
        self.deal_out(view);
        let taken_back = self.until.saturating_sub(view.now).0 as f64;
        if taken_back == 0.0 {
            self.until = view.now.saturating_add(self.period);
        }
        let awarded = self.until.saturating_sub(view.now).0 as f64;
        let most = self.period.0 as i64;
        self.accounts.resize(view.threads.len(), Account::default());
        for &thread in view.live {
            let stats = view.thread(thread);
            let rate = if is_awake(stats, view.now, self.period) {
                self.claimants[stats.app.index()].rate
            } else {
                0.0
            };
            let account = &mut self.accounts[thread.index()];
            let left = account.left(stats, &self.kinds) - (account.rate * taken_back) as i64;
            account.spent = fast_time(stats, &self.kinds);
            account.rate = rate;
            account.credit = left.clamp(-most, most) + (account.rate * awarded) as i64;
        }
        self.stale = false;
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        self.queues.count(view);
        let begins = view.now >= self.until;
        let awards = begins || self.stale;
        if awards {
            self.award(view);
        }
        let (accounts, kinds) = (&self.accounts, &self.kinds);
        let claim = |thread: ThreadId, stats: &ThreadStats| credit(accounts, kinds, thread, stats);
        let tick = self.tick.0 as i64;
        self.queues.pull_all(view, claim, say);
        self.queues.balance(view, claim, say);
        let wants = |_: usize, a: i64, b: i64| if begins { b - a > tick } else { a <= 0 && b > 0 };
        self.queues.exchange(view, awards, claim, wants, say);
    }
}

impl Policy for PropSp {
    fn interest(&self) -> Interest {
        Interest::CORE_IDLE.and(Interest::PROGRESS)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.queues.start(Clock::Own, view, say);
        self.kinds = self.queues.kinds().kinds.to_vec();
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                // The number may be reused, by the same thread or another.
                if self.accounts.len() <= thread.index() {
                    self.accounts.resize(thread.index() + 1, Account::default());
                }
                let spent = fast_time(view.thread(thread), &self.kinds);
                self.accounts[thread.index()] = Account { spent, ..Account::default() };
                self.stale = true;
            }
            Event::Exited(_) | Event::CoreOnline(_) | Event::CoreOffline(_) => self.stale = true,
            Event::Timer => self.tick(view, say),
            _ => {}
        }
        let (accounts, kinds) = (&self.accounts, &self.kinds);
        let credit = |thread, stats: &_| credit(accounts, kinds, thread, stats);
        self.queues.keep(event, Turns::of(self.slice), credit, view, say);
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::CoreId;

    use super::*;
    use crate::registry::make;
    use crate::testing::{Bench, machine};

    const BIG: KindId = KindId(0);
    const TICK_TIME: Nanos = Nanos::from_millis(4);

    /// Threads of these applications with these speedup factors, thread i on core i.
    fn bench(big: u32, little: u32, threads: &[(u32, f32)], set: &[(&str, &str)]) -> Bench {
        let set: Vec<_> =
            set.iter().map(|&(name, value)| (name.to_string(), value.to_string())).collect();
        let mut bench = Bench::start(big, little, make("prop-sp", &set).unwrap());
        for (core, &(app, factor)) in (0..).zip(threads) {
            let thread = bench.spawn(app);
            bench.threads[thread.index()].speedup[BIG] = factor;
            bench.run(thread, CoreId(core));
        }
        bench
    }

    /// Runs for some seconds. Returns each thread's time on big cores, s.
    fn play(bench: &mut Bench, seconds: u32) -> Vec<f64> {
        let before: Vec<_> = bench.threads.iter().map(|stats| stats.time_on[BIG]).collect();
        for _ in 0..seconds * 250 {
            bench.now += TICK_TIME;
            for core in 0..bench.cores.len() {
                if let Some(thread) = bench.cores[core].running {
                    let kind = bench.machine.cores[core].kind;
                    bench.threads[thread.index()].time_on[kind] += TICK_TIME;
                }
            }
            bench.deliver(Event::Timer);
        }
        let had =
            bench.threads.iter().zip(before).map(|(stats, before)| stats.time_on[BIG] - before);
        had.map(Nanos::as_secs_f64).collect()
    }

    fn near(found: &[f64], expected: &[f64]) {
        let far = found
            .iter()
            .zip(expected)
            .any(|(found, expected)| (found - expected).abs() > 0.02 * expected + 0.02);
        assert!(!far, "{found:?}, expected {expected:?}");
    }

    #[test]
    fn two_applications_have_the_big_core_in_proportion_to_their_speedups() {
        let mut bench = bench(1, 1, &[(0, 3.0), (1, 2.0)], &[]);
        near(&play(&mut bench, 100), &[60.0, 40.0]);
    }

    #[test]
    fn with_net_value_an_application_that_gains_nothing_has_nothing() {
        let mut bench = bench(1, 2, &[(0, 3.0), (1, 2.0), (2, 1.0)], &[("value", "net")]);
        near(&play(&mut bench, 90), &[60.0, 30.0, 0.0]);
    }

    #[test]
    fn weights_multiply_speedups() {
        let mut bench = bench(1, 1, &[(0, 2.0), (1, 2.0)], &[]);
        bench.threads[0].weight = 3 * 1024;
        near(&play(&mut bench, 100), &[75.0, 25.0]);
    }

    #[test]
    fn the_threads_of_an_application_share_what_it_has() {
        // Three threads on one big core: floor(2 / 2) + 1 = 2 turns, S = 1 + 2 / 4.
        let mut bench = bench(1, 3, &[(0, 3.0), (0, 3.0), (0, 3.0), (1, 3.0)], &[]);
        near(&play(&mut bench, 90), &[10.0, 10.0, 10.0, 60.0]);
    }

    #[test]
    fn what_an_application_is_due_beyond_its_threads_goes_to_the_others() {
        // 8 of 12 parts of two cores are more than one thread can use.
        let mut bench = bench(2, 1, &[(0, 8.0), (1, 2.0), (2, 2.0)], &[]);
        near(&play(&mut bench, 100), &[100.0, 50.0, 50.0]);
    }

    #[test]
    fn shares_come_out_though_threads_cannot_be_packed_into_a_period() {
        let mut bench = bench(2, 1, &[(0, 2.0), (1, 2.0), (2, 2.0)], &[]);
        near(&play(&mut bench, 90), &[60.0; 3]);
    }

    #[test]
    fn who_comes_within_a_period_has_its_part_of_the_rest_and_no_more() {
        let mut bench = bench(1, 1, &[(0, 2.0)], &[]);
        play(&mut bench, 50);
        let late = bench.spawn(1);
        bench.threads[late.index()].speedup[BIG] = 2.0;
        bench.run(late, CoreId(1));
        near(&play(&mut bench, 50), &[25.0, 25.0]);
    }

    #[test]
    fn who_slept_has_no_more_than_a_period_to_its_credit() {
        let mut bench = bench(1, 1, &[(0, 2.0), (1, 2.0)], &[]);
        play(&mut bench, 10);
        bench.block(ThreadId(1));
        bench.run(ThreadId(0), CoreId(0));
        play(&mut bench, 50);
        bench.wake(ThreadId(1));
        bench.run(ThreadId(1), CoreId(1));
        let had = play(&mut bench, 50);
        assert!((had[0] - 25.0).abs() <= 1.6 && (had[1] - 25.0).abs() <= 1.6, "{had:?}");
    }

    #[test]
    fn a_kind_between_counts_for_half() {
        let kinds = machine(&[("prime", 1024, 1), ("big", 768, 1), ("little", 256, 1)]);
        let mut bench = Bench::on(kinds, make("prop-sp", &[]).unwrap());
        for core in 0..3 {
            let thread = bench.spawn(core);
            bench.threads[thread.index()].speedup.0[..3].copy_from_slice(&[3.0, 2.0, 1.0]);
            bench.run(thread, CoreId(core));
        }
        play(&mut bench, 90);
        let kinds = [0, 1, 2].map(KindId);
        for stats in &bench.threads {
            let time = fast_time(stats, &kinds) as f64 / 1e9;
            assert!((time - 45.0).abs() < 1.0, "{time}");
        }
    }
}
