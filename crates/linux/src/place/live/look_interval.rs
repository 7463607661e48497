//! How often a session may look, so that looking stays within its budget.
//!
//! Between two looks there is never less than an interval: what a look costs, by the last while,
//! divided by the part of a core that looking may cost. So the cost stays bounded whatever the
//! machine does, at the price of later reactions. Where the whole session has cost more than that
//! all the same, the interval is stretched until it has not.
//!
//! A session that has spent less than it may has credit, up to that of some seconds, and begins
//! with so much. With credit the interval is shorter for a moment after threads have started, or
//! have woken after a calm while. Loads settle then, in some half-lives of PELT, and a policy
//! learns on which kind a thread belongs (docs/decisions/0071).
//!
//! A session may leave out what its thread is charged with while it sleeps
//! ([`LookInterval::sleep`]): on a virtual machine the kernel charges a thread that wakes on an
//! idle CPU with what the virtual CPU takes to come back from its halt (docs/simulate/record.md),
//! which may be a hundred times what a look costs, and is not saved by looking less often but by
//! not sleeping. What is reported as the session's cost is all of it.

use evenkeel_machine::Nanos;
use rustix::time::{ClockId, clock_gettime};

use super::Cost;

/// Least time between two looks while looking is cheap.
const MIN_INTERVAL: Nanos = Nanos::from_millis(1);
/// Most time between two looks because of their cost.
const MAX_INTERVAL: Nanos = Nanos::from_millis(512);
/// Over how long the cost is measured before the interval is changed.
const COST_WINDOW: Nanos = Nanos::from_millis(200);
/// Part of the budget that is aimed at.
const TARGET_SHARE: f64 = 0.6;
/// The most credit: what the budget allows in this time.
const CREDIT_TIME: Nanos = Nanos::from_secs(10);
/// Least time to a look that credit pays for: policies have ticks of 4 ms.
const CREDIT_INTERVAL: Nanos = Nanos::from_millis(4);
/// Part of a core that looking may cost while there is credit.
const CREDIT_SHARE: f64 = 0.2;
/// How long looks are in a hurry after threads have started, or have woken after a calm while:
/// eight half-lives of PELT.
const HURRY_TIME: Nanos = Nanos::from_millis(256);
/// It is calm when no thread has started or woken for so long.
const CALM_TIME: Nanos = Nanos::from_millis(100);
/// How much the last window counts for what a look costs.
const LAST_WINDOW_WEIGHT: f64 = 0.3;
/// By how much the interval is stretched while the session as a whole is beyond its budget.
const OVER_BUDGET_STRETCH: f64 = 2.0;

/// CPU time of this thread.
fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The most credit at this budget, ns of CPU time.
fn most_credit(budget: f64) -> f64 {
    budget * CREDIT_TIME.0 as f64
}

fn bounded(interval: f64) -> Nanos {
    Nanos(interval.clamp(MIN_INTERVAL.0 as f64, MAX_INTERVAL.0 as f64) as u64)
}

/// The least time between two looks of a session, from what looking has cost. Times are
/// `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub struct LookInterval {
    budget: f64,
    /// Least time to the next look, if there is no hurry.
    interval: Nanos,
    /// The same in a hurry.
    hurried: Nanos,
    hurry_until: Nanos,
    /// When threads have started or woken last.
    happened: Nanos,
    /// Wall time and CPU time at the beginning of the window.
    window: (Nanos, Nanos),
    began: (Nanos, Nanos),
    /// Wall time and CPU time of the last look.
    last: (Nanos, Nanos),
    /// CPU time that looking may cost in advance, ns.
    credit: f64,
    /// The credit pays for a look.
    has_credit: bool,
    /// CPU time that was charged for sleeping.
    slept: Nanos,
    looks: u64,
    /// Looks before the window.
    looks_before: u64,
    /// CPU time of a look, ns; no window has ended yet: 0.
    look: f64,
    slowest: Nanos,
}

impl LookInterval {
    /// A session begins that may cost this part of one core.
    pub fn new(budget: f64, at: Nanos) -> Self {
        Self::since(budget, at, cpu_time())
    }

    fn since(budget: f64, at: Nanos, cpu: Nanos) -> Self {
        Self {
            budget,
            interval: MIN_INTERVAL,
            hurried: MIN_INTERVAL,
            hurry_until: at.saturating_add(HURRY_TIME),
            happened: at,
            window: (at, cpu),
            began: (at, cpu),
            last: (at, cpu),
            credit: most_credit(budget),
            has_credit: true,
            slept: Nanos::ZERO,
            looks: 0,
            looks_before: 0,
            look: 0.0,
            slowest: MIN_INTERVAL,
        }
    }

    /// Least time from the last look to the next, if something asks for it.
    pub fn least(&self, at: Nanos) -> Nanos {
        if self.is_in_a_hurry(at) { self.hurried } else { self.interval }
    }

    /// Least time from the last look to the next, if nothing but the clock asks for it: so many
    /// intervals, or one in a hurry.
    pub fn unasked(&self, at: Nanos, intervals: u64) -> Nanos {
        if self.is_in_a_hurry(at) { self.hurried } else { Nanos(self.interval.0 * intervals) }
    }

    fn is_in_a_hurry(&self, at: Nanos) -> bool {
        at < self.hurry_until && self.has_credit
    }

    /// Threads have started.
    pub fn started(&mut self, at: Nanos) {
        self.hurry_until = at.saturating_add(HURRY_TIME);
        self.happened = at;
    }

    /// Threads have woken: no hurry unless it was calm.
    pub fn woke(&mut self, at: Nanos) {
        if at.saturating_sub(self.happened) >= CALM_TIME {
            self.hurry_until = at.saturating_add(HURRY_TIME);
        }
        self.happened = at;
    }

    /// Does what is not looking, and is not to count as such.
    pub fn leave_out<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = cpu_time();
        let done = work();
        let spent = cpu_time().saturating_sub(before);
        self.began.1 = self.began.1.saturating_add(spent);
        self.forget(spent);
        done
    }

    /// Sleeps.
    pub fn sleep<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        let before = cpu_time();
        let woken = wait();
        let charged = cpu_time().saturating_sub(before);
        self.slept = self.slept.saturating_add(charged);
        self.forget(charged);
        woken
    }

    /// CPU time since the last look that was not spent on looking.
    fn forget(&mut self, spent: Nanos) {
        self.window.1 = self.window.1.saturating_add(spent);
        self.last.1 = self.last.1.saturating_add(spent);
    }

    /// There was a look.
    pub fn looked(&mut self, at: Nanos) {
        self.account(at, cpu_time());
    }

    /// There was a look that ended at these wall and CPU times.
    fn account(&mut self, at: Nanos, cpu: Nanos) {
        self.looks += 1;
        let (last, cpu_last) = std::mem::replace(&mut self.last, (at, cpu));
        if self.looks == 1 {
            // It took in what was there already: the next ones cost less.
            (self.window, self.looks_before) = ((at, cpu), 1);
            return;
        }
        let usual = TARGET_SHARE * self.budget;
        let earned = at.saturating_sub(last).0 as f64 * usual;
        let spent = cpu.saturating_sub(cpu_last).0 as f64;
        self.credit = (self.credit + earned - spent).clamp(0.0, most_credit(self.budget));
        let look = self.cost_of_a_look(at, cpu);
        self.has_credit = self.credit >= look;
        let stretch = if self.is_beyond_budget(at, cpu) { OVER_BUDGET_STRETCH } else { 1.0 };
        self.interval = bounded(look / usual * stretch);
        self.hurried = bounded(look / CREDIT_SHARE).max(CREDIT_INTERVAL).min(self.interval);
        self.slowest = self.slowest.max(self.least(at));
    }

    /// CPU time of a look, ns, by the last windows; by the first one until that is over.
    fn cost_of_a_look(&mut self, at: Nanos, cpu: Nanos) -> f64 {
        let (since, before) = self.window;
        let looks = (self.looks - self.looks_before) as f64;
        let mean = cpu.saturating_sub(before).0 as f64 / looks;
        if at.saturating_sub(since) >= COST_WINDOW {
            self.look = if self.look > 0.0 {
                self.look + LAST_WINDOW_WEIGHT * (mean - self.look)
            } else {
                mean
            };
            (self.window, self.looks_before) = ((at, cpu), self.looks);
        }
        if self.look > 0.0 { self.look } else { mean }
    }

    /// True if the session has cost more than its budget and the credit that it began with.
    fn is_beyond_budget(&self, at: Nanos, cpu: Nanos) -> bool {
        let spent = cpu.saturating_sub(self.began.1).saturating_sub(self.slept).0 as f64;
        let ever = at.saturating_sub(self.began.0).0 as f64;
        spent > self.budget * ever + most_credit(self.budget)
    }

    /// Looks cost something else from now on.
    pub fn begin_anew(&mut self, at: Nanos) {
        let now = (at, cpu_time());
        (self.interval, self.hurried, self.look) = (MIN_INTERVAL, MIN_INTERVAL, 0.0);
        (self.window, self.last, self.looks_before) = (now, now, self.looks);
    }

    /// What it has cost so far.
    pub fn cost(&self, at: Nanos) -> Cost {
        Cost {
            cpu: cpu_time().saturating_sub(self.began.1),
            wall: at.saturating_sub(self.began.0),
            looks: self.looks,
            slowest_pace: self.slowest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BUDGET: f64 = 0.01;

    /// Threads start all the time, and each look costs so much: intervals and CPU time.
    fn eager(session: &mut LookInterval, look: Nanos, time: Nanos) -> (Vec<Nanos>, Nanos) {
        let ((began, cpu_began), mut intervals) = (session.last, Vec::new());
        while session.last.0 < began.saturating_add(time) {
            let (at, cpu) = session.last;
            session.started(at);
            let pause = session.least(at).max(look);
            session.account(at.saturating_add(pause), cpu.saturating_add(look));
            intervals.push(pause);
        }
        (intervals, session.last.1.saturating_sub(cpu_began))
    }

    fn begun(budget: f64) -> LookInterval {
        let mut session = LookInterval::since(budget, Nanos::ZERO, Nanos::ZERO);
        session.account(Nanos(1_000_000), Nanos(1_000_000));
        session
    }

    #[test]
    fn dear_looks_are_frequent_at_first_and_keep_within_the_budget_later() {
        let (mut session, look) = (begun(BUDGET), Nanos::from_millis(3));
        let (intervals, _) = eager(&mut session, look, Nanos::from_millis(300));
        assert!(intervals.iter().all(|it| *it <= Nanos::from_millis(30)), "{intervals:?}");
        let (_, spent) = eager(&mut session, look, Nanos::from_secs(60));
        assert!(spent.0 as f64 <= (60.0 + 10.0) * 1e9 * BUDGET, "{spent}");
        // After a calm while there is credit again.
        let calm = session.last;
        session.account(calm.0.saturating_add(Nanos::from_secs(20)), calm.1);
        let (intervals, _) = eager(&mut session, look, Nanos::from_millis(300));
        assert!(intervals.iter().all(|it| *it <= Nanos::from_millis(30)), "{intervals:?}");
    }

    #[test]
    fn credit_does_not_hurry_looks_that_are_cheap() {
        for (look, hurried) in [(20_000, false), (100_000, true)] {
            let mut session = begun(BUDGET);
            eager(&mut session, Nanos(look), Nanos::from_secs(1));
            let (now, later) = (session.last.0, Nanos::from_secs(3));
            assert_eq!(session.least(now) < session.least(later), hurried, "{session:?}");
            assert!(session.least(now) <= CREDIT_INTERVAL, "{session:?}");
        }
    }

    #[test]
    fn looks_are_in_a_hurry_after_a_start_and_after_a_calm_while_only() {
        let ms = Nanos::from_millis;
        let mut session = begun(BUDGET);
        session.account(ms(10), ms(3));
        let [soon, late] = [100, 300].map(|at| session.least(ms(at)));
        assert_eq!((soon, late), (ms(10), Nanos(333_333_333)));
        assert_eq!(
            (session.unasked(ms(100), 4), session.unasked(ms(300), 4).0),
            (soon, late.0 * 4)
        );
        session.woke(ms(299));
        assert_eq!(session.least(ms(300)), soon);
        session.woke(ms(350));
        assert_eq!(session.least(ms(600)), late);
        session.started(ms(360));
        assert_eq!(session.least(ms(600)), soon);
    }

    #[test]
    fn the_first_look_is_no_measure_of_the_next_ones() {
        let mut session = LookInterval::since(BUDGET, Nanos::ZERO, Nanos::ZERO);
        session.account(Nanos::from_millis(50), Nanos::from_millis(50));
        session.account(Nanos::from_millis(55), Nanos(50_020_000));
        assert_eq!(session.least(Nanos::from_secs(1)), Nanos(3_333_333));
    }

    proptest! {
        #[test]
        fn no_session_costs_more_than_its_budget_and_what_it_may_in_advance(
            budget in 0.001_f64..0.2,
            looks in prop::collection::vec(1_000_u64..5_000_000, 1..20),
        ) {
            let mut session = begun(budget);
            // What may be spent in advance, and looks at an estimate that is no longer so.
            let mut may = 2.0 * most_credit(budget) + 2e7;
            for look in looks {
                let before = session.last.0;
                eager(&mut session, Nanos(look), Nanos::from_secs(2));
                // The longest interval may cost more than a small budget.
                let least = look as f64 / MAX_INTERVAL.0 as f64;
                may += budget.max(least) * session.last.0.saturating_sub(before).0 as f64;
                prop_assert!(session.last.1.0 as f64 <= may, "{:?} of {may}", session.last);
            }
        }
    }
}
