//! `mclas`: multi-core load-aware scheduling. `bfs` with a performance class per thread: fast cores
//! are for threads that have proved to compute.
//!
//! ```text
//! history     run and blocked time add up to epochs of 100 ms (waiting for a core is neither;
//!             waiting for memory counts as blocked, if the mechanism reports it).
//!             p = run / epoch,   P_H = a p + (1 - a) P_H,   a = 0.5
//! qualified   P_H > up          disqualified   P_H < down
//!
//! LP          no fast core picks it
//!             -> neutral when qualified; HP if it has waited for a slice already
//! HP          fast cores pick it, earliest deadline first
//!             -> pinned when one does;   starving when it has waited for R
//! pinned      HP that sticks to the fast core where it was
//!             -> HP when that core runs another;   LP when disqualified
//! starving    fast cores prefer it to all else
//!             -> pinned when one picks it;   neutral when it has waited for 2 R
//! neutral     any core picks it
//!             -> pinned when a fast core does;   LP when disqualified
//!             R = residence x fast cores.  HP and starving never fall to LP: they have not run
//! children    inherit state and history (of one that starves: HP); threads without a parent start
//!             as LP
//!
//! up          + step when a thread falls into starving
//! down        + step when a slow core picks a starving thread that has turned neutral
//! both        - step a tick, down to where they started, while a fast core idles
//! ```
//!
//! The queues are starving `S`, high `H`, neutral `N` and low `L`, all in order of deadlines
//! (`os/deadline.rs`). Fast cores serve `S` and `H`, then `N`, and what they take belongs to `H`;
//! slow cores serve `N` and `L`. *Pinned* is no queue: such a thread is in `H` and sticks to a
//! core. A thread that falls into `S` is overdue since the beginning of time until a core has
//! picked it, so the queues alone bound its wait.
//!
//! The mechanism does all picking; the policy acts once a tick, and its directives may come late.
//! It looks at running threads, whose history grows, and at two others per core and tick, in turn.
//! A thread that waits among many is looked at less often, but then it also waits longer for its
//! turns.
//!
//! A thread that is neutral and runs on a slow core goes to a fast one that idles at the tick,
//! greatest `P_H` first. `calibrate=THREAD` watches that thread (its number, in order of start) for
//! 16 epochs. It sets `up` to 15/16 of the thread's least `p`, so that similar threads qualify
//! within five epochs, and `down` below it in the ratio of both before. `up` never exceeds 0.99,
//! because a thread that runs without a pause has to qualify.
//!
//! Three or more kinds: the slowest kind is slow, all others are fast, the fastest first; one that
//! idles also takes a thread that runs on a slower fast one. One kind only, or no fast core online:
//! all threads are LP, and it is `bfs`. No slow core online: fast ones serve all queues. A thread
//! bound to slow cores is LP whatever its history, one bound to fast cores HP or starving.
//!
//! Source: Nabelsee, Busse, Parzyjegla, Mühl, "Load-Aware Scheduling for Heterogeneous Multi-Core
//! Systems", SAC 2016. Our assumptions: defaults of `up`, `down`, `step` and `residence`, the state
//! of the first threads, the margin of calibration.
//!
//! The wait of real threads for memory is not measured yet, so it counts as run time. `step=0`
//! keeps both thresholds where they are.
//!
//! Knobs: `up` (75 %), `down` (50 %), `epoch` (100 ms), `residence` (6 ms), `step` (1 %),
//! `calibrate` (-1: no thread), `slice` (6 ms), `tick` (4 ms).

use std::cmp::Reverse;

use evenkeel_machine::{CoreId, KindId, Nanos};

use super::TICK;
use super::deadline::{Deadlines, PREEMPTION, SLICE};
use super::fair;
use crate::contract::{
    Clock, Directive, Directives, Event, Interest, Knob, Knobs, Policy, QueueId, StartError, State,
    ThreadId, ThreadStats, Tier, View,
};
use crate::entry::Entry;

mod history;
mod thresholds;

use history::History;
use thresholds::Thresholds;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "mclas",
    summary: "bfs with a class per thread: fast cores for those that compute, never for those that \
              mostly wait",
    source: "Nabelsee, Busse, Parzyjegla, Mühl, SAC 2016",
    traits: &[],
    knobs: &[
        Knob::Number {
            name: "up",
            default: 75.0,
            bounds: (0.0, 99.0),
            unit: "%",
            about: "share of run time above which a thread qualifies for fast cores (assumption)",
        },
        Knob::Number {
            name: "down",
            default: 50.0,
            bounds: (0.0, 99.0),
            unit: "%",
            about: "share of run time below which it is disqualified (assumption)",
        },
        Knob::Number {
            name: "epoch",
            default: 100.0,
            bounds: (1.0, 60_000.0),
            unit: "ms",
            about: "run and blocked time that make an epoch of a thread's history (SAC 2016)",
        },
        Knob::Number {
            name: "residence",
            default: 6.0,
            bounds: (0.0, 60_000.0),
            unit: "ms",
            about: "per fast core: after so long a wait a thread starves, after twice as long any \
                    core may have it (assumption)",
        },
        Knob::Number {
            name: "step",
            default: 1.0,
            bounds: (0.0, 100.0),
            unit: "%",
            about: "by how much a threshold is raised, or sinks in a tick (assumption; 0: they \
                    stay)",
        },
        Knob::Number {
            name: "calibrate",
            default: -1.0,
            bounds: (-1.0, 4e9),
            unit: "",
            about: "thread, by its number in order of start, that sets the thresholds in its first \
                    16 epochs; -1: nobody",
        },
        SLICE,
        TICK,
    ],
    make: |knobs, _| Box::new(Mclas::new(knobs)),
};

const STARVING: QueueId = QueueId(0);
const HIGH: QueueId = QueueId(1);
const NEUTRAL: QueueId = QueueId(2);
const LOW: QueueId = QueueId(3);

/// Number of threads per core that are examined in one tick, beside those that run.
const LOOKS: usize = 2;

/// How long a thread has waited for a fast core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Hunger {
    /// Not too long.
    #[default]
    Fed,
    /// It fell into starving when it had been picked `runs` times.
    Starving { runs: u64 },
    /// It then turned neutral.
    Neutral { runs: u64 },
}

/// State of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    history: History,
    hunger: Hunger,
}

/// The policy `mclas`.
#[derive(Debug)]
pub struct Mclas {
    deadlines: Deadlines,
    epoch: Nanos,
    residence: Nanos,
    tick: Nanos,
    thresholds: Thresholds,
    /// By thread.
    records: Vec<Record>,
    /// Fast cores, the fastest first.
    fast: Vec<CoreId>,
    /// The slow kind.
    slow: KindId,
    /// Numbers of fast and slow cores online.
    online: (u64, u64),
    /// Index among live threads where the next look begins.
    next: usize,
    /// Scratch: threads that may go to a faster core; slowest kind first, then greatest `P_H`, then
    /// first started.
    climbers: Vec<(Reverse<KindId>, f64, ThreadId)>,
}

impl Mclas {
    fn new(knobs: &Knobs) -> Self {
        Self {
            deadlines: Deadlines::of(knobs),
            epoch: knobs.millis("epoch"),
            residence: knobs.millis("residence"),
            tick: knobs.millis("tick"),
            thresholds: Thresholds::of(knobs),
            records: Vec::new(),
            fast: Vec::new(),
            slow: KindId(0),
            online: (0, 0),
            next: 0,
            climbers: Vec::new(),
        }
    }

    /// Sets what cores serve, if the online cores have changed it.
    fn serve(&mut self, view: &View<'_>, say: &mut Directives) {
        let fast = view.online().filter(|&core| view.kind(core) != self.slow).count() as u64;
        let online = (fast, view.online().count() as u64 - fast);
        if self.online == online {
            return;
        }
        self.online = online;
        for core in &view.machine.cores {
            let (tiers, adopt) = match (core.kind == self.slow, online) {
                (true, (0, _)) => (vec![Tier::least_key([STARVING, HIGH, NEUTRAL, LOW])], None),
                (true, _) => (vec![Tier::least_key([NEUTRAL, LOW])], None),
                (false, (_, 0)) => {
                    (vec![Tier::least_key([STARVING, HIGH]), Tier::least_key([NEUTRAL, LOW])], None)
                }
                (false, _) => (
                    vec![Tier::least_key([STARVING, HIGH]), Tier::least_key([NEUTRAL])],
                    Some(HIGH),
                ),
            };
            say.serve(core.id, tiers, adopt);
        }
    }

    /// The queue of a thread that no fast core, or no slow core, may run, whatever its history.
    fn bound(&self, thread: ThreadId, view: &View<'_>) -> Option<QueueId> {
        if self.online.0 == 0 {
            return Some(LOW);
        }
        if !view.thread(thread).restricted {
            return None;
        }
        let (fast, slow) = (&self.fast, view.machine.cores_of(self.slow));
        match (
            fast.iter().any(|&core| view.allowed(thread, core)),
            slow.into_iter().any(|core| view.allowed(thread, core)),
        ) {
            (false, _) => Some(LOW),
            (true, false) => Some(HIGH),
            (true, true) => None,
        }
    }

    fn record(&mut self, thread: ThreadId) -> &mut Record {
        if self.records.len() <= thread.index() {
            self.records.resize(thread.index() + 1, Record::default());
        }
        &mut self.records[thread.index()]
    }

    fn started(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let stats = view.thread(thread);
        let parent =
            stats.parent.map(|parent| (self.record(parent).history, view.thread(parent).queue));
        let (history, queue) = parent.unwrap_or_default();
        let inherited = match queue {
            Some(STARVING | HIGH) => HIGH,
            Some(NEUTRAL) => NEUTRAL,
            _ => LOW,
        };
        let queue = self.bound(thread, view).unwrap_or(inherited);
        *self.record(thread) = Record { history: history.inherited(stats), hunger: Hunger::Fed };
        say.order(thread, self.deadlines.order_from(stats.weight, view.now));
        say.slice(thread, self.deadlines.grant());
        say.assign(thread, queue);
    }

    /// Brings a thread's history up to date, and moves the thread to its queue.
    fn look(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let stats = view.thread(thread);
        let Some(queue) = stats.queue else { return };
        let epoch = self.epoch;
        let record = self.record(thread);
        let completed = record.history.add(stats, epoch);
        let (performance, hunger) = (record.history.performance(), record.hunger);
        if let Some((epochs, share)) = completed {
            self.thresholds.watch(thread, epochs, share);
        }
        if let Hunger::Starving { runs } | Hunger::Neutral { runs } = hunger
            && stats.runs > runs
        {
            if matches!(hunger, Hunger::Neutral { .. }) && view.kind(stats.core) == self.slow {
                self.thresholds.raise_down();
            }
            self.record(thread).hunger = Hunger::Fed;
            say.order(thread, self.deadlines.order_from(stats.weight, view.now));
        }
        let bound = self.bound(thread, view);
        if let Some(home) = bound
            && queue != home
            && queue != STARVING
        {
            return say.assign(thread, home);
        }
        let waits = if stats.state == State::Ready {
            view.now.saturating_sub(stats.since)
        } else {
            Nanos::ZERO
        };
        let residence = Nanos(self.residence.0 * self.online.0);
        match queue {
            STARVING if bound == Some(LOW) => say.assign(thread, LOW),
            LOW if bound.is_none() && performance > self.thresholds.up() => {
                say.assign(thread, if waits > self.deadlines.slice() { HIGH } else { NEUTRAL });
            }
            NEUTRAL if performance < self.thresholds.down() => say.assign(thread, LOW),
            HIGH if bound.is_none()
                && stats.state != State::Ready
                && performance < self.thresholds.down() =>
            {
                say.assign(thread, LOW);
                if view.cores[stats.core.index()].running == Some(thread)
                    && view.kind(stats.core) != self.slow
                {
                    say.preempt(stats.core);
                }
            }
            HIGH if waits > residence => self.starve(thread, stats, say),
            STARVING if bound.is_none() && waits.0 > 2 * residence.0 => {
                self.record(thread).hunger = Hunger::Neutral { runs: stats.runs };
                say.assign(thread, NEUTRAL);
            }
            _ => {}
        }
    }

    /// A thread has waited too long among its like: it goes before all of them.
    fn starve(&mut self, thread: ThreadId, stats: &ThreadStats, say: &mut Directives) {
        // May be repeated if it is carried out late, but counts once.
        if std::mem::replace(&mut self.record(thread).hunger, Hunger::Starving { runs: stats.runs })
            == Hunger::Fed
        {
            self.thresholds.raise_up();
        }
        say.order(thread, self.deadlines.order(stats.weight, Nanos::ZERO));
        say.assign(thread, STARVING);
    }

    /// Gives each idle fast core a qualified thread that runs on a slower kind. O(cores log cores)
    /// if one idles, else O(fast cores). True if one idled.
    fn climb(&mut self, view: &View<'_>, say: &mut Directives) -> bool {
        let idles = |core: CoreId| {
            view.cores[core.index()].online && view.cores[core.index()].running.is_none()
        };
        if !self.fast.iter().any(|&core| idles(core)) {
            return false;
        }
        let mut climbers = std::mem::take(&mut self.climbers);
        climbers.clear();
        for (core, running) in
            view.machine.cores.iter().zip(view.cores).filter_map(|(c, s)| Some((c, s.running?)))
        {
            let performance = self.record(running).history.performance();
            let qualified = matches!(view.thread(running).queue, Some(NEUTRAL | HIGH));
            if qualified && performance >= self.thresholds.down() {
                climbers.push((Reverse(core.kind), performance, running));
            }
        }
        climbers
            .sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        for &core in self.fast.iter().filter(|&&core| idles(core)) {
            let slower = |kind: KindId| kind > view.kind(core);
            let found = climbers
                .iter()
                .position(|&(Reverse(kind), _, thread)| slower(kind) && view.allowed(thread, core));
            if let Some(found) = found {
                let (.., thread) = climbers.remove(found);
                say.assign(thread, HIGH);
                say.move_to(thread, core);
            }
        }
        self.climbers = climbers;
        true
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        for running in view.cores.iter().filter_map(|core| core.running) {
            self.look(running, view, say);
        }
        let (count, looks) = (view.live.len(), LOOKS * view.machine.cores.len());
        for _ in 0..count.min(looks) {
            // Threads may have ended since.
            let thread = view.live.get(self.next).unwrap_or(&view.live[0]);
            self.next = if self.next + 1 < count { self.next + 1 } else { 0 };
            self.look(*thread, view, say);
        }
        if self.climb(view, say) {
            self.thresholds.sink();
        }
    }
}

impl Policy for Mclas {
    fn interest(&self) -> Interest {
        Interest::STALLED.and(Interest::PROGRESS)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let (up, down) = (self.thresholds.up(), self.thresholds.down());
        fair::check_thresholds("mclas", 100.0 * up, 100.0 * down)?;
        for _ in [STARVING, HIGH, NEUTRAL, LOW] {
            say.make_queue(Clock::Shared);
        }
        self.slow = view.machine.cores.iter().map(|core| core.kind).max().unwrap_or_default();
        let fast_first = fair::fast_first(view.machine);
        self.fast =
            fast_first.iter().copied().filter(|&core| view.kind(core) != self.slow).collect();
        for queue in [HIGH, NEUTRAL, LOW] {
            say.say(Directive::Preemption(queue, Some(PREEMPTION)));
        }
        // A thread that sleeps and wakes as LP, or as HP if fast cores are alike, stays where it
        // was: no preference needed.
        say.prefer(STARVING, fast_first.clone());
        if self.slow > KindId(1) {
            say.prefer(HIGH, fast_first.clone());
        }
        say.prefer(NEUTRAL, fast_first);
        self.serve(view, say);
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => self.started(thread, view, say),
            Event::CoreOnline(_) | Event::CoreOffline(_) => self.serve(view, say),
            Event::Timer => self.tick(view, say),
            _ => {}
        }
    }

    fn notes(&self) -> Vec<String> {
        match self.slow {
            KindId(0) => {
                vec!["mclas knows no fast cores here, for all are of one kind: it is bfs".into()]
            }
            KindId(1) => Vec::new(),
            _ => vec![
                "mclas takes the cores of the slowest kind for slow ones, all others for fast ones"
                    .into(),
            ],
        }
    }
}

#[cfg(test)]
mod tests;
