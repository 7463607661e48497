//! `acfs`: completely fair scheduling for asymmetric cores. Every application shall suffer the same slowdown.
//!
//! Source: Saez, Pousa, Castro, Chaver, Prieto-Matias, "Towards completely fair scheduling on asymmetric single-ISA multicore
//! processors", JPDC 102 (2017).
//!
//! Each thread has a virtual time `v` that measures its progress. While it runs,
//!
//! ```text
//! dv/dt = (1 / S_core) (W_def / W_t)          S_core = 1 on a fast core, S_a on a slow one
//! ```
//!
//! with `S_a` the speedup of its application from fast cores ([`crate::speedup`]). Equal `v` is equal slowdown, weighted by priority.
//! - A new thread goes to the idlest cores, fast ones first; its `v` is the greatest of those that contend for fast cores.
//! - Every `tick`, A = greatest `v` on fast cores and B = least `v` on slow ones trade places while `v_A - v_B > threshold`:
//!
//! ```text
//! threshold = base 2 (N - B) / N / max(1, N / cores)          base = (T_swap / 2) (1 - 1 / SF_avg)
//! ```
//!
//!   with `N` runnable threads, `B` fast cores, `SF_avg` the mean speedup factor. So a thread changes cores about every `T_swap`.
//!   While `N <= B` nobody moves. `threshold=fixed` is `base` alone. (The paper counts `v` in units of 100 per tick of 4 ms; here
//!   it is nanoseconds of a fast core, which makes the paper's `100 T_swap / (2 T_tick)` half a `T_swap`.)
//! - Unfairness factor `uf`: applications that gain more from fast cores get more of them. With weights
//!   `W_t (1 + (uf - 1)(S_a - S_min) / (S_max - S_min))`, unfairness stays within `uf` times the optimum.
//! - `acfs-static` is the same, fed with each thread's whole-run speedup factors instead of the estimator's present ones.
//!
//! Where this departs from the paper. There, a new thread starts at the greatest `v` of all threads (`newcomer=all`). But a thread that
//! gains so little from fast cores that it is ahead even without them runs further ahead for as long as it lives, and whoever starts
//! at its `v` must make up for a time before its own: with applications that end and start again, that alone costs several
//! percent of unfairness. Here the greatest `v` is that of the threads on all but the slowest cores; where nobody is ahead
//! for good, the two differ by less than the threshold.
//!
//! What the paper leaves open. A thread that sleeps keeps its `v`, but falls no further than `T_swap` behind the running threads.
//! With more threads than cores, kinds have their share of them (`os/kind_queues.rs`), each queue picks the least `v`, and those that
//! wait are looked at for a trade at each refresh: between two of them their `v` stands still. Three or more kinds: adjacent pairs, `S_core` being
//! the product of the speedups along the way, `B` the cores of the pair's faster kind and of those above it.
//!
//! Knobs: see [`ENTRY`]. A tick costs O(cores), a refresh O(threads).

use evenkeel_machine::{MAX_KINDS, Nanos, PerKind};

use super::kind_queues::{KindQueues, REFRESH, SLICE, TICK};
use crate::contract::{
    Clock, Directives, Event, Interest, Knob, Knobs, Order, Policy, Slice, Start, State, ThreadId, ThreadStats, View,
};
use crate::registry::Entry;
use crate::speedup::{Applications, Rule, Source};

const SOURCE: &str = "Saez, Pousa, Castro, Chaver, Prieto-Matias, JPDC 102 (2017)";

const KNOBS: &[Knob] = &[
    Knob::Number {
        name: "uf",
        default: 1.0,
        bounds: (1.0, 100.0),
        unit: "",
        about: "unfairness factor: how much unfairness over the optimum is accepted for throughput; 1: none (the paper's)",
    },
    Knob::Number {
        name: "swap",
        default: 850.0,
        bounds: (1.0, 60_000.0),
        unit: "ms",
        about: "T_swap, period at which a thread changes cores (the paper's)",
    },
    Knob::Word {
        name: "threshold",
        words: &["adjusted", "fixed"],
        about: "whether the threshold is scaled with the numbers of threads and cores, so that the swap period is kept",
    },
    Knob::Word {
        name: "newcomer",
        words: &["contending", "all"],
        about: "of which threads a new one takes the greatest v: of those that contend for fast cores, or of all (the paper's)",
    },
    Rule::KNOB,
    TICK,
    REFRESH,
    SLICE,
];

/// In the list of policies.
pub const ENTRY: Entry = Entry {
    name: "acfs",
    summary: "equal slowdown for all applications, by swaps between fast and slow cores",
    source: SOURCE,
    knobs: KNOBS,
    make: |knobs| Box::new(Acfs::new(knobs, Source::Estimator)),
};

/// In the list of policies.
pub const STATIC_ENTRY: Entry = Entry {
    name: "acfs-static",
    summary: "acfs, fed with whole-run speedup factors",
    source: SOURCE,
    knobs: KNOBS,
    make: |knobs| Box::new(Acfs::new(knobs, Source::Offline)),
};

/// Parts of one in a charge and of a unit of weight in an order, beyond the contract's 1024: a charge of 1024 / 4.7 rounded
/// to an integer would be off by 0.2 %, and the error would add up.
const FINE: u32 = 64;
/// A charge of 1, in these parts.
const UNIT_CHARGE: f64 = (1024 * FINE) as f64;

/// See the file's head.
#[derive(Debug)]
pub struct Acfs {
    uf: f64,
    swap_ns: f64,
    adjusted: bool,
    tick: Nanos,
    refresh: Nanos,
    slice: Nanos,
    source: Source,
    queues: KindQueues<i64>,
    apps: Applications,
    /// By thread: what was said last.
    said: Vec<Said>,
    refreshed: Option<Nanos>,
    /// Whether threads came or went since.
    stale: bool,
    /// Whether a new thread starts at the greatest virtual time of all threads, not of those on faster cores only.
    behind_all: bool,
    /// That greatest virtual time.
    greatest: u64,
    /// By rank of the faster kind of a pair: mean speedup factor between the two.
    mean_factors: [f64; MAX_KINDS],
    /// Least and greatest speedup of an application from the slowest kind to the fastest.
    speedups: (f64, f64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Said {
    weight: u32,
    charge: PerKind<u32>,
}

/// Who has run least has the greatest claim.
fn claim(_: ThreadId, stats: &ThreadStats) -> i64 {
    -(stats.virtual_time as i64)
}

impl Acfs {
    fn new(knobs: &Knobs, source: Source) -> Self {
        Self {
            uf: knobs.number("uf"),
            swap_ns: knobs.number("swap") * 1e6,
            adjusted: knobs.word("threshold") == "adjusted",
            tick: knobs.millis("tick"),
            refresh: knobs.millis("refresh"),
            slice: knobs.millis("slice"),
            source,
            queues: KindQueues::new(),
            apps: Applications::new(Rule::of(knobs), source),
            said: Vec::new(),
            refreshed: None,
            stale: false,
            behind_all: knobs.word("newcomer") == "all",
            greatest: 0,
            mean_factors: [1.0; MAX_KINDS],
            speedups: (1.0, 1.0),
        }
    }

    fn started(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        self.see_running(view);
        let stats = view.thread(thread);
        self.apps.add(stats, self.queues.kinds());
        self.queues.place(thread, view, say);
        say.slice(thread, Slice::of(self.slice));
        self.tell(thread, stats, Start::At(self.greatest), say);
        self.stale = true;
    }

    /// Says a thread's weight and charge where they are not those said last.
    fn tell(&mut self, thread: ThreadId, stats: &ThreadStats, start: Start, say: &mut Directives) {
        if self.said.len() <= thread.index() {
            self.said.resize(thread.index() + 1, Said::default());
        }
        let kinds = self.queues.kinds();
        let mut now = Said { weight: 0, charge: PerKind::all(UNIT_CHARGE as u32) };
        let mut speedup = 1.0;
        for (rank, &kind) in kinds.kinds.iter().enumerate() {
            speedup = self.apps.speedup(stats.app, rank, kinds);
            now.charge[kind] = (UNIT_CHARGE / speedup).round().max(1.0) as u32;
        }
        now.weight = (f64::from(stats.weight) * self.favour(speedup) * f64::from(FINE)).round().max(1.0) as u32;
        let before = self.said[thread.index()];
        if before.weight != now.weight || start != Start::Keep {
            say.order(thread, Order::VirtualTime { weight: now.weight, start });
        }
        if before.charge != now.charge {
            say.charge(thread, now.charge);
        }
        self.said[thread.index()] = now;
    }

    /// Factor on a weight, by `uf`: from 1 for the least speedup to `uf` for the greatest.
    fn favour(&self, speedup: f64) -> f64 {
        let (least, greatest) = self.speedups;
        if greatest <= least {
            return 1.0;
        }
        1.0 + (self.uf - 1.0) * ((speedup - least) / (greatest - least)).clamp(0.0, 1.0)
    }

    /// Notes the virtual time at which a new thread starts. Where nobody is seen to go by, it stays what it was.
    fn see_running(&mut self, view: &View<'_>) {
        let slowest = self.queues.len() - 1;
        let counts = |stats: &&ThreadStats| {
            self.behind_all || slowest == 0 || self.queues.rank(stats, view).is_some_and(|rank| rank < slowest)
        };
        let running = view.cores.iter().filter_map(|core| core.running).map(|thread| view.thread(thread));
        if let Some(greatest) = running.filter(counts).map(|stats| stats.virtual_time).max() {
            self.greatest = if self.behind_all { greatest.max(self.greatest) } else { greatest };
        }
    }

    /// Speedups anew, and what follows from them. O(threads).
    fn refresh(&mut self, view: &View<'_>, say: &mut Directives) {
        (self.refreshed, self.stale) = (Some(view.now), false);
        self.see_running(view);
        let kinds = self.queues.kinds();
        self.apps.clear();
        let mut sums = [0.0; MAX_KINDS];
        let mut runnable = 0_u32;
        for stats in view.runnable().map(|thread| view.thread(thread)) {
            self.apps.add(stats, kinds);
            runnable += 1;
            for (faster, sum) in sums.iter_mut().enumerate().take(kinds.kinds.len() - 1) {
                *sum += self.source.factor(stats, kinds, faster, faster + 1);
            }
        }
        self.mean_factors = sums.map(|sum| sum / f64::from(runnable.max(1)));
        let slowest = kinds.kinds.len() - 1;
        let none = (f64::INFINITY, f64::NEG_INFINITY);
        self.speedups = view.runnable().fold(none, |(least, greatest), thread| {
            let speedup = self.apps.speedup(view.thread(thread).app, slowest, kinds);
            (least.min(speedup), greatest.max(speedup))
        });
        let running = view.cores.iter().filter_map(|core| core.running);
        let least = running.map(|thread| view.thread(thread).virtual_time).min().unwrap_or(0);
        let furthest_behind = least.saturating_sub(self.swap_ns as u64);
        for &thread in view.live {
            let stats = view.thread(thread);
            let left_behind = stats.state == State::Blocked && stats.virtual_time < furthest_behind;
            let start = if left_behind { Start::At(furthest_behind) } else { Start::Keep };
            self.tell(thread, stats, start, say);
        }
    }

    /// `v_A - v_B` above which two threads of the kinds of a pair trade places; `None`: never.
    fn threshold(&self, faster: usize) -> Option<i64> {
        let (threads, fast) = (self.queues.runnable(), self.queues.cores_to(faster));
        if threads <= fast {
            return None;
        }
        let base = self.swap_ns / 2.0 * (1.0 - 1.0 / self.mean_factors[faster].max(1.0));
        let scale = 2.0 * f64::from(threads - fast) / f64::from(threads) / self.queues.queue_length();
        Some((if self.adjusted { base * scale } else { base }) as i64)
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        self.queues.count(view);
        let due = self.refreshed.is_none_or(|at| view.now.saturating_sub(at) >= self.refresh);
        if due || self.stale {
            self.refresh(view, say);
        }
        self.queues.pull_all(view, claim, say);
        self.queues.balance(view, claim, say);
        let thresholds: [Option<i64>; MAX_KINDS] =
            std::array::from_fn(|pair| if pair + 1 < self.queues.len() { self.threshold(pair) } else { None });
        let wants = |pair: usize, a: i64, b: i64| thresholds[pair].is_some_and(|threshold| b - a > threshold);
        self.queues.exchange(view, due, claim, wants, say);
    }
}

impl Policy for Acfs {
    fn interest(&self) -> Interest {
        Interest::CORE_IDLE
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), String> {
        self.queues.start(Clock::Shared, view, say);
        self.queues.keep_sleepers(say);
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => self.started(thread, view, say),
            Event::Exited(thread) => {
                self.apps.remove(view.thread(thread).app);
                self.queues.ended(thread, view);
                self.stale = true;
            }
            Event::CoreIdle(core) => self.queues.pull(core, view, claim, say),
            Event::CoreOnline(_) | Event::CoreOffline(_) => self.queues.count(view),
            Event::Timer => self.tick(view, say),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
