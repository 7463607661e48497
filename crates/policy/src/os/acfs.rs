//! `acfs`: completely fair scheduling for asymmetric cores. Every application suffers the same
//! slowdown.
//!
//! Source: Saez, Pousa, Castro, Chaver, Prieto-Matias, "Towards completely fair scheduling on
//! asymmetric single-ISA multicore processors", JPDC 102 (2017).
//!
//! Each thread has a virtual time `v` that measures its progress. While it runs,
//!
//! ```text
//! dv/dt = (1 / S_core) (W_def / W_t)          S_core = 1 on a fast core, S_a on a slow one
//! ```
//!
//! with `S_a` the speedup of its application from fast cores ([`crate::speedup`]). Equal `v` is
//! equal slowdown, weighted by priority.
//! - A new thread goes to the idlest cores, fast ones first. Its `v` is the greatest of the threads
//!   that contend for fast cores.
//! - Every `tick`, A = greatest `v` on fast cores and B = least `v` on slow ones trade places while
//!   `v_A - v_B > threshold`:
//!
//! ```text
//! threshold = base 2 (N - B) / N / max(1, N / cores)          base = (T_swap / 2) (1 - 1 / SF_avg)
//! ```
//!
//!   with `N` runnable threads, `B` fast cores, `SF_avg` the mean speedup factor. So a thread
//!   changes cores about every `T_swap`. While `N <= B` no thread moves. `threshold=fixed` is
//!   `base` alone. (The paper counts `v` in units of 100 per tick of 4 ms; here it is nanoseconds
//!   of a fast core, which makes the paper's `100 T_swap / (2 T_tick)` half a `T_swap`.)
//! - Unfairness factor `uf`: applications that gain more from fast cores get more of them. With
//!   weights `W_t (1 + (uf - 1)(S_a - S_min) / (S_max - S_min))`, unfairness stays within `uf`
//!   times the optimum.
//! - `acfs-static` is the same with each thread's whole-run speedup factors instead of the
//!   estimator's present ones.
//!
//! Departure from the paper. There, a new thread starts at the greatest `v` of all threads
//! (`newcomer=all`). A thread that gains so little from fast cores that it is ahead even without
//! them runs further ahead all its life, and a thread that starts at its `v` has to make up for a
//! time before its own. With applications that end and start again, that alone costs several
//! percent of unfairness (the simulator's test
//! `acfs_newcomers_that_start_behind_all_others_cost_fairness_where_somebody_is_ahead_for_good`).
//!
//! Here the greatest `v` is that of the threads on all but the slowest cores; if no thread is ahead
//! for good, the two differ by less than the threshold. If no thread runs on a faster core (all
//! ended in the same instant), it is the greatest of the last refresh. A newcomer that may not use
//! faster cores starts at the greatest `v` of the threads that run on its cores.
//!
//! The paper leaves open:
//!
//! - *Sleepers* keep their `v`, but wake no further than `T_swap` behind the least `v` of the other
//!   running threads. A thread that sleeps keeps weight and charge while its application has no
//!   runnable thread to compute a speedup from.
//! - *Newcomers that sleep.* The greatest `v` suits new threads that then always run; one that soon
//!   sleeps would wait until all others have caught up. So a thread's first wake-up is no further
//!   ahead of the least `v` than its `v` can have grown while it ran. It is put back by at most
//!   half a `T_swap`, however far behind a thread that cannot catch up may be, and not at all with
//!   `newcomer=all`.
//! - *More threads than cores.* Kinds have their share of the threads (`os/kind_queues.rs`), each
//!   queue picks the least `v`, and waiting threads are considered for a trade at each refresh:
//!   between two of them their `v` stands still.
//! - *Guests.* A thread that waits for its kind and is more than half a `T_swap` behind has slept
//!   for long and is soon done. Any kind takes it up for a slice, and the thread of its own kind
//!   that is furthest ahead of it, by as much, makes room when it wakes (`guests=far-behind`: none
//!   makes room; `guests=none`: no guests either).
//! - *Threads that always work* part by less than that threshold, unless a few fast cores are
//!   beside many slow ones and speedups are high (one beside seven, 3: 448 ms).
//! - *Three or more kinds.* Adjacent pairs trade; `S_core` is the product of the speedups along the
//!   way, `B` the cores of the pair's faster kind and of those above it. With SMT `B` counts
//!   hardware threads, the number of threads that a kind runs at once.
//!
//! A slice is the same amount of work on every kind: `slice` long on the fastest and longer on slow
//! ones by the speedup (`slices=equal-time`: equally long on all). A switch costs a thread time and
//! cached data; with equally long slices, slow cores would lose more of their work to switches than
//! fast ones. A slice is lengthened to a tenth of `T_swap` at most, whatever the speedup.
//!
//! A thread has `batch` slices in a row, up to the same tenth, while all waiting threads have run
//! since they last slept. They lose nothing by longer turns, and a thread that has slept still
//! waits for at most one slice.
//!
//! Knobs: `uf` (1), `swap` (`T_swap`, 850 ms), `threshold` (adjusted), `newcomer` (contending),
//! `guests` (at-once), `speedup` (utility), `tick` (4 ms), `refresh` of speedup factors (200 ms),
//! `slice` (3 ms), `slices` (equal-work), `batch` (2). A tick costs O(cores), a refresh O(threads).

use evenkeel_machine::{CoreId, MAX_KINDS, Nanos, PerKind};

use super::kind_queues::{KindQueues, SLICE};
use super::{REFRESH, TICK};
use crate::contract::{
    Clock, Directives, Event, Interest, Knob, Knobs, Order, Policy, Slice, Start, StartError,
    ThreadId, ThreadStats, View,
};
use crate::entry::{Entry, Trait};
use crate::speedup::{Applications, Rule, Source};

const SOURCE: &str = "Saez, Pousa, Castro, Chaver, Prieto-Matias, JPDC 102 (2017)";

const KNOBS: &[Knob] = &[
    Knob::Number {
        name: "uf",
        default: 1.0,
        bounds: (1.0, 100.0),
        unit: "",
        about: "unfairness factor: how much unfairness over the optimum is accepted for \
                throughput; 1: none (the paper's)",
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
        about: "whether the threshold is scaled with the numbers of threads and cores, so that the \
                swap period is kept",
    },
    Knob::Word {
        name: "newcomer",
        words: &["contending", "all"],
        about: "of which threads a new one takes the greatest v: of those that contend for fast \
                cores, or of all (the paper's)",
    },
    Knob::Word {
        name: "guests",
        words: &["at-once", "far-behind", "none"],
        about: "who waits and is half a T_swap behind is taken up by any kind of core when a slice \
                ends there (far-behind), and as it wakes whoever is furthest ahead on its own kind \
                makes room (at-once); none: neither (the paper's)",
    },
    Rule::KNOB,
    TICK,
    REFRESH,
    SLICE,
    Knob::Word {
        name: "slices",
        words: &["equal-work", "equal-time"],
        about: "whether a slice is that long on the fastest kind, and on others so long that as \
                much is done in it, or that long on all",
    },
    Knob::Number {
        name: "batch",
        default: 2.0,
        bounds: (1.0, 100.0),
        unit: "",
        about: "how many slices a thread has in a row while nobody waits for its core who has \
                slept since it last ran, within a tenth of `swap`; 1: none but one",
    },
];

/// Entry of `acfs` in the registry.
pub const ENTRY: Entry = Entry {
    name: "acfs",
    summary: "equal slowdown for all applications, by swaps between fast and slow cores",
    source: SOURCE,
    traits: &[Trait::WorkConserving, Trait::NeedsFactors],
    knobs: KNOBS,
    make: |knobs, _| Box::new(Acfs::new(knobs, Source::Estimator)),
};

/// Entry of `acfs-static` in the registry.
pub const STATIC_ENTRY: Entry = Entry {
    name: "acfs-static",
    summary: "acfs, fed with whole-run speedup factors",
    source: SOURCE,
    traits: &[Trait::WorkConserving, Trait::NeedsFactors],
    knobs: KNOBS,
    make: |knobs, _| Box::new(Acfs::new(knobs, Source::Offline)),
};

/// Parts of one in a charge and of a unit of weight in an order, beyond the contract's 1024. A
/// charge of 1024 / 4.7 rounded to an integer would be off by 0.2 %, and the error would add up.
const FINE: u32 = 64;
/// Mechanisms may round rates by less than this part of them.
const ROUNDED: f64 = 0.001;
/// Mean number of ticks between two trades below which the time of the next trade is not predicted.
const FEW_TICKS: f64 = 4.0;
/// A charge of 1, in these parts.
const UNIT_CHARGE: f64 = (1024 * FINE) as f64;
/// The weight of nice 0, in these parts.
const UNIT_WEIGHT: f64 = (1024 * FINE) as f64;

/// The policy `acfs`, or `acfs-static` by its source of factors.
#[derive(Debug)]
pub struct Acfs {
    uf: f64,
    swap_ns: f64,
    adjusted: bool,
    tick: Nanos,
    refresh: Nanos,
    slice: Nanos,
    /// True if a slice is the same work on every kind, not the same time.
    equal_work: bool,
    /// Slices in a row.
    batch: f64,
    source: Source,
    queues: KindQueues<i64>,
    apps: Applications,
    /// By thread: its last weight and charge.
    said: Vec<Said>,
    refreshed: Option<Nanos>,
    /// True if threads came or went since.
    stale: bool,
    /// True if waiting threads that are far behind are taken up by any kind.
    has_guests: bool,
    /// True if they do not wait for a slice to end.
    at_once: bool,
    /// True if a new thread starts at the greatest virtual time of all threads, not only of those
    /// on faster cores.
    behind_all: bool,
    /// That greatest virtual time, as of the last refresh that found any.
    greatest: u64,
    /// By thread: true if it has woken since it started.
    has_woken: Vec<bool>,
    /// Virtual times of the running threads when last examined.
    field: Option<Field>,
    /// Time of that: at most once per tick, and only if a thread wakes.
    looked_behind: Option<Nanos>,
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

/// Least virtual times of the running threads.
#[derive(Clone, Copy, Debug)]
struct Field {
    least: u64,
    /// The thread with the least, unless it has ended and its number has been reused.
    whose: Option<ThreadId>,
    /// The least of the others.
    second: Option<u64>,
}

impl Field {
    fn of(mut running: impl Iterator<Item = (ThreadId, u64)>) -> Option<Self> {
        let (whose, least) = running.next()?;
        Some(running.fold(
            Self { least, whose: Some(whose), second: None },
            |field, (thread, v)| {
                if v < field.least {
                    Self { least: v, whose: Some(thread), second: Some(field.least) }
                } else {
                    Self { second: Some(field.second.map_or(v, |second| second.min(v))), ..field }
                }
            },
        ))
    }

    /// The least virtual time of the other threads. A thread whose wake-up is reported late may
    /// already run.
    fn least_beside(&self, thread: ThreadId) -> Option<u64> {
        if self.whose == Some(thread) { self.second } else { Some(self.least) }
    }
}

impl Said {
    /// Upper bound of the growth of virtual time in all the time that a thread has run: as if on
    /// the fastest kind.
    fn at_most(&self, stats: &ThreadStats) -> u64 {
        let ran: Nanos = stats.time_on.0.iter().copied().sum();
        (ran.0 as f64 * UNIT_WEIGHT / f64::from(self.weight.max(1))) as u64
    }
}

/// The thread with the least virtual time has the greatest claim.
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
            equal_work: knobs.word("slices") == "equal-work",
            batch: knobs.number("batch"),
            source,
            queues: KindQueues::new(),
            apps: Applications::new(Rule::of(knobs), source),
            said: Vec::new(),
            refreshed: None,
            stale: false,
            has_guests: knobs.word("guests") != "none",
            at_once: knobs.word("guests") == "at-once",
            behind_all: knobs.word("newcomer") == "all",
            greatest: 0,
            has_woken: Vec::new(),
            field: None,
            looked_behind: None,
            mean_factors: [1.0; MAX_KINDS],
            speedups: (1.0, 1.0),
        }
    }

    /// Distance behind the threads of its kind from which a thread may run on any kind: about the
    /// most that trades let threads part.
    fn far_behind(&self) -> u64 {
        (self.swap_ns / 2.0) as u64
    }

    fn started(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let stats = view.thread(thread);
        let start = self.start_of(thread, view);
        self.apps.add(stats, self.queues.kinds());
        self.queues.place(thread, view, say);
        self.set_rates(thread, stats, Start::At(start), say);
        self.has_woken.resize(self.said.len(), false);
        self.has_woken[thread.index()] = false;
        if let Some(field) = self.field.as_mut().filter(|field| field.whose == Some(thread)) {
            field.whose = None;
        }
        self.stale = true;
    }

    /// Sets a thread's weight and charge if they have changed.
    fn set_rates(
        &mut self,
        thread: ThreadId,
        stats: &ThreadStats,
        start: Start,
        say: &mut Directives,
    ) {
        if self.said.len() <= thread.index() {
            self.said.resize(thread.index() + 1, Said::default());
        }
        let before = self.said[thread.index()];
        let now = if self.apps.is_runnable(stats.app) { self.weigh(stats) } else { before };
        if before.weight != now.weight || start != Start::Keep {
            say.order(thread, Order::VirtualTime { weight: now.weight, start });
        }
        if before.charge != now.charge {
            say.charge(thread, now.charge);
        }
        if self.equal_work && before.charge != now.charge || start != Start::Keep {
            say.slice(thread, self.slice_of(now.charge));
        }
        self.said[thread.index()] = now;
    }

    /// A thread's slices, by its charges.
    fn slice_of(&self, charge: PerKind<u32>) -> Slice {
        let mut slice = Slice::of(self.slice);
        let mut slowest = self.slice;
        for &kind in self.queues.kinds().kinds {
            slice.time[kind] = self.slice_where(UNIT_CHARGE / f64::from(charge[kind].max(1)));
            slowest = slowest.max(slice.time[kind]);
        }
        slice.batch = (self.longest() / slowest.0.max(1)).clamp(1, self.batch as u64) as u32;
        slice
    }

    /// A slice on a kind over which the fastest has this speedup.
    fn slice_where(&self, speedup: f64) -> Nanos {
        if !self.equal_work {
            return self.slice;
        }
        Nanos(((self.slice.0 as f64 * speedup) as u64).min(self.longest()))
    }

    /// Upper limit of a slice, or of several in a row, in ns.
    fn longest(&self) -> u64 {
        self.slice.0.max(self.swap_ns as u64 / 10)
    }

    /// Longest time that a thread may run there while others wait.
    fn turn_where(&self, speedup: f64) -> Nanos {
        Nanos(self.slice_where(speedup).0.saturating_mul(self.batch as u64).min(self.longest()))
    }

    /// Weight and charge by the speedup of a thread's application.
    fn weigh(&self, stats: &ThreadStats) -> Said {
        let kinds = self.queues.kinds();
        let mut charge = PerKind::all(UNIT_CHARGE as u32);
        let mut speedup = 1.0;
        for (rank, &kind) in kinds.kinds.iter().enumerate() {
            speedup = self.apps.speedup(stats.app, rank, kinds);
            charge[kind] = (UNIT_CHARGE / speedup).round().max(1.0) as u32;
        }
        let weight = (f64::from(stats.weight) * self.favour(speedup) * f64::from(FINE))
            .round()
            .max(1.0) as u32;
        Said { weight, charge }
    }

    /// Brings a thread forward that slept for long; puts a newcomer back, once, that does not run
    /// all the time.
    fn woke(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        if self.looked_behind.is_none_or(|at| view.now.saturating_sub(at) >= self.tick) {
            self.field = Field::of(self.running_threads(view, |_, _| true)).or(self.field);
            self.looked_behind = Some(view.now);
        }
        let Some(least) = self.field.and_then(|field| field.least_beside(thread)) else { return };
        let Some(said) = self.said.get(thread.index()) else { return };
        let stats = view.thread(thread);
        let mut start = stats.virtual_time.max(least.saturating_sub(self.swap_ns as u64));
        let has_woken =
            self.has_woken.get_mut(thread.index()).map(|woken| std::mem::replace(woken, true));
        // A thread bound to some cores can be compared with threads on those cores only.
        if has_woken == Some(false) && start > least && !self.behind_all && !stats.restricted {
            let from = least.max(self.start_of(thread, view).saturating_sub(self.far_behind()));
            start = start.min(from.saturating_add(said.at_most(stats)));
        }
        if start != stats.virtual_time {
            say.order(thread, Order::VirtualTime { weight: said.weight, start: Start::At(start) });
        }
    }

    /// Factor on a weight, by `uf`: from 1 for the least speedup to `uf` for the greatest.
    fn favour(&self, speedup: f64) -> f64 {
        let (least, greatest) = self.speedups;
        if greatest <= least {
            return 1.0;
        }
        1.0 + (self.uf - 1.0) * ((speedup - least) / (greatest - least)).clamp(0.0, 1.0)
    }

    /// Virtual times of the threads that run on cores that satisfy `will_do`, given with their
    /// ranks.
    fn running<'a>(
        &'a self,
        view: &'a View<'_>,
        will_do: impl Fn(CoreId, usize) -> bool + 'a,
    ) -> impl Iterator<Item = u64> + 'a {
        self.running_threads(view, will_do).map(|(_, virtual_time)| virtual_time)
    }

    /// The same with the threads. Threads of higher classes, which no policy places, do not count.
    fn running_threads<'a>(
        &'a self,
        view: &'a View<'_>,
        will_do: impl Fn(CoreId, usize) -> bool + 'a,
    ) -> impl Iterator<Item = (ThreadId, u64)> + 'a {
        view.machine.cores.iter().zip(view.cores).filter_map(move |(core, stats)| {
            let id = stats.running?;
            // A newcomer whose start has not been carried out yet has run from 0, which must not
            // count.
            if self.queues.on_its_way(id, view) {
                return None;
            }
            let thread = view.thread(id);
            let rank = thread.queue.and_then(|_| self.queues.rank(thread, view))?;
            // A thread that slept for long is behind all others.
            if self.queues.is_guest(thread, rank, view) {
                return None;
            }
            will_do(core.id, rank).then_some((id, thread.virtual_time))
        })
    }

    /// True if threads on cores of this rank contend for fast cores.
    fn contends(&self, rank: usize) -> bool {
        rank + 1 < self.queues.len() || self.queues.len() == 1
    }

    /// The virtual time at which a new thread starts.
    fn start_of(&self, thread: ThreadId, view: &View<'_>) -> u64 {
        if self.behind_all {
            return self.running(view, |_, _| true).fold(self.greatest, u64::max);
        }
        let contending = self
            .running(view, |_, rank| self.contends(rank) && self.queues.may_run(thread, rank, view))
            .max();
        let beside_it = || self.running(view, |core, _| view.allowed(thread, core)).max();
        let bound = view.thread(thread).restricted;
        contending.or_else(|| if bound { beside_it() } else { None }).unwrap_or(self.greatest)
    }

    /// Updates the greatest virtual time, used by newcomers when no thread runs. It stays if there
    /// is no thread to take it from.
    fn note_greatest(&mut self, view: &View<'_>) {
        let all = || {
            view.live
                .iter()
                .map(|&thread| view.thread(thread))
                .filter(|stats| stats.queue.is_some())
        };
        let greatest = if self.behind_all {
            all().map(|stats| stats.virtual_time).max()
        } else {
            let contending = self.running(view, |_, rank| self.contends(rank)).max();
            contending.or_else(|| self.running(view, |_, _| true).max())
        };
        self.greatest = greatest.unwrap_or(self.greatest);
    }

    /// Recomputes speedups, and weights and charges from them. O(threads).
    fn refresh(&mut self, view: &View<'_>, say: &mut Directives) {
        (self.refreshed, self.stale) = (Some(view.now), false);
        self.note_greatest(view);
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
        if self.has_guests {
            self.queues.visits_last(self.turn_where(self.speedups.1.max(1.0)));
        }
        for &thread in view.live {
            self.set_rates(thread, view.thread(thread), Start::Keep, say);
        }
    }

    /// `v_A - v_B` above which two threads of the kinds of a pair trade places; `None`: never.
    fn threshold(&self, faster: usize) -> Option<i64> {
        let (threads, fast) = (self.queues.runnable(), self.queues.cores_to(faster));
        if threads <= fast {
            return None;
        }
        let base = self.swap_ns / 2.0 * (1.0 - 1.0 / self.mean_factors[faster].max(1.0));
        let scale =
            2.0 * f64::from(threads - fast) / f64::from(threads) / self.queues.queue_length();
        Some((if self.adjusted { base * scale } else { base }) as i64)
    }

    /// The threads of a kind that may trade with the kind of rank `other`. `None`: there are none.
    fn side(&self, rank: usize, other: usize, view: &View<'_>) -> Option<Side> {
        let kind = self.queues.kinds().kinds[rank];
        let mut side = Side {
            v: (i64::MAX, i64::MIN),
            greatest_rate: 0.0,
            rate: (f64::INFINITY, 0.0),
            turn: 0.0,
        };
        let (mut threads, mut bound, mut turn) = (0, false, 0.0_f64);
        for thread in view
            .runnable()
            .filter(|&thread| self.queues.rank(view.thread(thread), view) == Some(rank))
        {
            let (stats, said) =
                (view.thread(thread), self.said.get(thread.index()).copied().unwrap_or_default());
            threads += 1;
            bound |= stats.restricted;
            if stats.restricted && !self.queues.may_run(thread, other, view) {
                continue;
            }
            let (v, rate) = (
                stats.virtual_time as i64,
                f64::from(said.charge[kind]) / f64::from(said.weight.max(1)),
            );
            side.v = (side.v.0.min(v), side.v.1.max(v));
            side.rate = (side.rate.0.min(rate), side.rate.1.max(rate));
            turn = turn.max(
                self.turn_where(UNIT_CHARGE / f64::from(said.charge[kind].max(1))).0 as f64 * rate,
            );
        }
        side.greatest_rate = side.rate.1;
        let cores = self.queues.cores_of(rank);
        if threads > cores || bound {
            side.turn = turn;
            // A thread that may not run on all cores of the kind may run more or less than its
            // share.
            let share = (f64::from(cores) / f64::from(threads)).min(1.0);
            side.rate =
                if bound { (0.0, side.rate.1) } else { (side.rate.0 * share, side.rate.1 * share) };
        }
        (side.v.0 <= side.v.1).then_some(side)
    }

    /// Time for which no two threads of a pair of kinds part by more than its threshold: the longer
    /// of two safe times.
    ///
    /// Among threads that share the cores of a kind the one of least `v` runs next. So the thread
    /// of greatest `v` advances no faster than by an equal share of the cores, and that of least
    /// `v` no slower, but for the turn that each may be in or wait for. The other bound is that no
    /// thread advances faster than by running all the time; it is better when only about a turn is
    /// missing to the threshold.
    fn apart(&self, faster: usize, view: &View<'_>) -> Option<Nanos> {
        let Some(threshold) = self.threshold(faster) else { return Some(Nanos::MAX) };
        let sides = (self.side(faster, faster + 1, view), self.side(faster + 1, faster, view));
        let (Some(fast), Some(slow)) = sides else { return Some(Nanos::MAX) };
        let left = (threshold - (fast.v.1 - slow.v.0)) as f64;
        if left <= 0.0 {
            return None;
        }
        let alone = Nanos((left / (fast.greatest_rate * (1.0 + ROUNDED))) as u64);
        let speed = fast.rate.1 * (1.0 + ROUNDED) - slow.rate.0 * (1.0 - ROUNDED);
        let shared = if speed > 0.0 {
            Nanos(((left - fast.turn - slow.turn).max(0.0) / speed) as u64)
        } else if left > fast.turn + slow.turn {
            Nanos::MAX
        } else {
            Nanos::ZERO
        };
        Some(alone.max(shared))
    }

    /// Time for which no waiting thread falls so far behind that it becomes a guest, which takes
    /// turns from threads of another kind.
    fn no_guests(&self, view: &View<'_>) -> Option<Nanos> {
        let threads = || view.runnable().map(|thread| view.thread(thread));
        let cores: u32 = (0..self.queues.len()).map(|rank| self.queues.cores_of(rank)).sum();
        let none_waits =
            self.queues.runnable() <= cores && threads().all(|stats| !stats.restricted);
        if !self.has_guests || none_waits {
            return Some(Nanos::MAX);
        }
        let (least, greatest) = threads().fold((u64::MAX, 0), |(l, g), stats| {
            (l.min(stats.virtual_time), g.max(stats.virtual_time))
        });
        let lightest = view
            .runnable()
            .filter_map(|thread| self.said.get(thread.index()))
            .map(|said| said.weight)
            .min();
        let rate = UNIT_CHARGE / f64::from(lightest.unwrap_or(1).max(1)) * (1.0 + ROUNDED);
        let left = self.far_behind() as f64 - greatest.saturating_sub(least) as f64;
        (left > 0.0).then(|| Nanos((left / rate) as u64))
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        self.queues.count(view);
        let due = self.refreshed.is_none_or(|at| view.now.saturating_sub(at) >= self.refresh);
        if due || self.stale {
            self.refresh(view, say);
        }
        self.queues.pull_all(view, claim, say);
        self.queues.balance(view, claim, say);
        let thresholds: [Option<i64>; MAX_KINDS] = std::array::from_fn(|pair| {
            if pair + 1 < self.queues.len() { self.threshold(pair) } else { None }
        });
        let wants = |pair: usize, a: i64, b: i64| {
            thresholds[pair].is_some_and(|threshold| b - a > threshold)
        };
        self.queues.exchange(view, due, claim, wants, say);
    }
}

/// What decides when threads of a kind trade next, at the earliest: see [`Acfs::apart`].
struct Side {
    /// Least and greatest.
    v: (i64, i64),
    /// Greatest `dv/dt` of one that always runs.
    greatest_rate: f64,
    /// Least and greatest `dv/dt` of the threads with the least and the greatest `v`.
    rate: (f64, f64),
    /// Growth of `v` within one turn; 0 if no thread seems to have to wait.
    turn: f64,
}

impl Policy for Acfs {
    fn interest(&self) -> Interest {
        Interest::CORE_IDLE.and(Interest::WOKE).and(Interest::PROGRESS)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        if self.batch.fract() != 0.0 {
            return Err(StartError::PartOfASlice { policy: "acfs", batch: self.batch });
        }
        self.queues.start(Clock::Shared, view, say);
        self.queues.keep_sleepers(say);
        if self.has_guests {
            self.queues.host_those_behind(self.far_behind(), self.turn_where(1.0), view, say);
        }
        if self.at_once {
            self.queues.make_room_for_those_behind(self.far_behind(), say);
        }
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
            Event::Woke(thread) => self.woke(thread, view, say),
            Event::Timer => self.tick(view, say),
            _ => {}
        }
    }

    /// Until speedups are refreshed, or two threads may have parted by the threshold. Not computed
    /// if there are so many threads that one changes cores every few ticks.
    fn quiet_until(&self, view: &View<'_>) -> Option<Nanos> {
        let trades = f64::from(self.queues.runnable()) * FEW_TICKS * self.tick.0 as f64;
        if self.stale || trades > self.swap_ns || !self.queues.even(view) {
            return None;
        }
        let refresh = self
            .refreshed?
            .saturating_add(self.refresh)
            .min(view.now.saturating_add(self.no_guests(view)?));
        (0..self.queues.len() - 1).try_fold(refresh, |until, faster| {
            Some(until.min(view.now.saturating_add(self.apart(faster, view)?)))
        })
    }
}

#[cfg(test)]
mod tests;
