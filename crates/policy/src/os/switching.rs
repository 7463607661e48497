//! Switching between kinds: shared by cluster switching ([`super::cs`]) and the in-kernel switcher
//! ([`super::iks`]).
//!
//! A *unit* has cores of several kinds, of which one kind is in use at a time. Its queues do not
//! belong to cores: they are virtual cores, and a switch gives them to other cores. So a switch
//! needs no directives about threads; each thread pays one migration.
//!
//! ```text
//! u = mean utilisation of the unit's cores in use (PELT, 0 to 1)
//! u > up   -> the next faster kind takes over        u < down -> the next slower one
//! ```
//!
//! A core that has just taken over was idle before, which its utilisation shows for a while. So the
//! unit does not go down within `settle` (128 ms, four half-lives of PELT: 94 % of the new value)
//! of the start or the last switch.
//!
//! Threads that may run on none of the cores in use are the exception to "one kind at a time": they
//! would wait for ever. From the first such thread on, cores that are switched off serve a queue
//! for these threads alone.
//!
//! Cores in use share threads as in [`super::cfs_unaware`].

use std::ops::Range;

use evenkeel_machine::{CoreId, FULL_CAPACITY, Nanos};

use super::TICK;
use super::fair;
use super::homes::Homes;
use crate::contract::{
    Directives, Event, Interest, Knob, Knobs, QueueId, StartError, ThreadId, Tier, View,
};

/// Knobs of both policies.
pub const KNOBS: &[Knob] = &[
    Knob::Number {
        name: "up",
        default: 0.8,
        bounds: (0.0, 1.0),
        unit: "",
        about: "utilisation of the working cores above which the next faster kind takes over \
                (assumption)",
    },
    Knob::Number {
        name: "down",
        default: 0.3,
        bounds: (0.0, 1.0),
        unit: "",
        about: "utilisation of the working cores below which the next slower kind takes over \
                (assumption)",
    },
    TICK,
    Knob::Number {
        name: "settle",
        default: 128.0,
        bounds: (0.0, 10_000.0),
        unit: "ms",
        about: "time after the start or a switch before a unit may go down: four half-lives of \
                PELT",
    },
    Knob::Word {
        name: "first",
        words: &["slow", "fast"],
        about: "the kind that works when the run starts",
    },
];

/// Cores of which one kind is in use at a time.
#[derive(Clone, Debug)]
struct Unit {
    /// Its cores by level, the fastest kind first.
    levels: Vec<Vec<CoreId>>,
    /// The level in use.
    active: usize,
    /// Its queues: as many as its largest level has cores.
    queues: Range<u32>,
    /// When it last switched, or the start.
    switched: Nanos,
}

/// The state of a switching policy.
#[derive(Debug)]
pub struct Switching {
    up: f64,
    down: f64,
    tick: Nanos,
    settle: Nanos,
    fast_first: bool,
    units: Vec<Unit>,
    homes: Homes,
    /// The core that serves each queue, or `None`.
    core_of: Vec<Option<CoreId>>,
    /// Queue of threads that may run on no core in use.
    bound: QueueId,
    has_bound: bool,
}

impl Switching {
    /// What both policies need.
    pub const INTEREST: Interest = Interest::UTILISATION.and(Interest::WOKE).and(Interest::BLOCKED);

    /// From the values of [`KNOBS`].
    pub fn new(knobs: &Knobs) -> Self {
        Self {
            up: knobs.number("up"),
            down: knobs.number("down"),
            tick: knobs.millis("tick"),
            settle: knobs.millis("settle"),
            fast_first: knobs.word("first") == "fast",
            units: Vec::new(),
            homes: Homes::default(),
            core_of: Vec::new(),
            bound: QueueId(0),
            has_bound: false,
        }
    }

    /// Makes queues and switches the first kinds on. `units`: by unit, its cores by level, the
    /// fastest first. Cores in no unit stay off.
    ///
    /// # Errors
    /// Inconsistent thresholds.
    pub fn start(
        &mut self,
        policy: &'static str,
        units: Vec<Vec<Vec<CoreId>>>,
        view: &View<'_>,
        say: &mut Directives,
    ) -> Result<(), StartError> {
        fair::check_thresholds(policy, self.up, self.down)?;
        let mut queues = 0;
        for levels in units {
            let first = queues;
            queues += levels.iter().map(Vec::len).max().unwrap_or(0) as u32;
            let active = if self.fast_first { 0 } else { levels.len().saturating_sub(1) };
            self.units.push(Unit { levels, active, queues: first..queues, switched: Nanos::ZERO });
        }
        for _ in 0..queues {
            fair::make_queue(say);
        }
        self.bound = fair::make_queue(say);
        // The queue of bound threads is a class of its own: balance leaves it alone.
        self.homes = Homes::new((0..queues).map(|queue| (0, queue)).chain([(1, 0)]));
        self.core_of = vec![None; queues as usize];
        for core in &view.machine.cores {
            self.switch_off(core.id, say);
        }
        for unit in 0..self.units.len() {
            self.switch_on(unit, view, say);
        }
        say.timer(self.tick);
        Ok(())
    }

    /// Handles an event.
    pub fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                let queue = self.place(thread, view, say);
                fair::settle(&mut self.homes, thread, queue, view, say);
            }
            Event::Woke(thread) => fair::recount(&mut self.homes, thread, view),
            Event::Blocked(thread) | Event::Exited(thread) => self.homes.leave(thread),
            Event::Timer => {
                let due: Vec<_> =
                    (0..self.units.len()).filter(|&unit| self.judge(unit, view)).collect();
                for &unit in &due {
                    self.switch_on(unit, view, say);
                }
                if !due.is_empty() {
                    self.rehome(view, say);
                }
                let core_of = &self.core_of;
                let may = |thread, queue: QueueId| {
                    core_of
                        .get(queue.index())
                        .copied()
                        .flatten()
                        .is_some_and(|core| view.allowed(thread, core))
                };
                fair::balance(&mut self.homes, may, view, say);
            }
            Event::CoreOnline(core) | Event::CoreOffline(core) => {
                let owner = self
                    .units
                    .iter()
                    .position(|unit| unit.levels.iter().any(|level| level.contains(&core)));
                if let Some(unit) = owner {
                    self.switch_on(unit, view, say);
                    self.rehome(view, say);
                }
            }
            _ => {}
        }
    }

    /// Chooses the level of a unit. True if it has changed.
    fn judge(&mut self, unit: usize, view: &View<'_>) -> bool {
        let (up, down, settle) = (self.up, self.down, self.settle);
        let unit = &mut self.units[unit];
        let settled = view.now.saturating_sub(unit.switched) >= settle;
        let working: Vec<_> = online(&unit.levels[unit.active], view).collect();
        let sum: u64 =
            working.iter().map(|core| u64::from(view.cores[core.index()].utilisation)).sum();
        let utilisation = sum as f64 / (f64::from(FULL_CAPACITY) * working.len().max(1) as f64);
        let faster = (0..unit.active)
            .rev()
            .find(|&level| online(&unit.levels[level], view).next().is_some());
        let slower = (unit.active + 1..unit.levels.len())
            .find(|&level| online(&unit.levels[level], view).next().is_some());
        let to = match (faster, slower) {
            (Some(faster), _) if utilisation > up => faster,
            (_, Some(slower)) if utilisation < down && settled => slower,
            _ => return false,
        };
        (unit.active, unit.switched) = (to, view.now);
        true
    }

    /// Gives a unit's queues to the cores of its level in use, or of the nearest level with online
    /// cores, and switches its others off.
    fn switch_on(&mut self, unit: usize, view: &View<'_>, say: &mut Directives) {
        let state = &mut self.units[unit];
        let mut by_distance: Vec<_> = (0..state.levels.len()).collect();
        by_distance.sort_by_key(|&level| (level.abs_diff(state.active), level));
        let present = by_distance
            .into_iter()
            .find(|&level| online(&state.levels[level], view).next().is_some());
        state.active = present.unwrap_or(state.active);
        let working: Vec<_> = online(&state.levels[state.active], view).collect();
        let all: Vec<_> = state.levels.iter().flatten().copied().collect();
        let queues: Vec<_> = state.queues.clone().map(QueueId).collect();
        let cores = fair::fast_first(view.machine);
        for (place, &queue) in queues.iter().enumerate() {
            let core = working.get(place).copied();
            self.core_of[queue.index()] = core;
            self.homes.open(queue, core.is_some());
            if let Some(core) = core {
                let others: Vec<_> =
                    (0..self.bound.0).map(QueueId).filter(|&other| other != queue).collect();
                say.serve(
                    core,
                    vec![Tier::least_key([queue]), Tier::most_loaded(others)],
                    Some(queue),
                );
                say.prefer(queue, fair::nearest_first(view.machine, core, &cores));
            }
        }
        // Last, so that threads that must leave find the new cores serving their queues and go
        // nowhere else.
        for core in all.into_iter().filter(|core| !working.contains(core)) {
            self.switch_off(core, say);
        }
    }

    fn switch_off(&self, core: CoreId, say: &mut Directives) {
        let tiers = if self.has_bound { vec![Tier::least_key([self.bound])] } else { Vec::new() };
        say.serve(core, tiers, None);
    }

    /// The least loaded queue whose core the thread may run on, or that of bound threads.
    fn place(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) -> QueueId {
        let core_of = &self.core_of;
        let may =
            |queue: QueueId| core_of[queue.index()].is_some_and(|core| view.allowed(thread, core));
        if let Some((_, queue)) = self.homes.least(0, may) {
            return queue;
        }
        if !std::mem::replace(&mut self.has_bound, true) {
            for core in &view.machine.cores {
                if !self.core_of.contains(&Some(core.id)) {
                    self.switch_off(core.id, say);
                }
            }
            say.prefer(self.bound, fair::fast_first(view.machine));
        }
        self.bound
    }

    /// After a switch: finds a place for threads whose queue has no core any more, that may not run
    /// on its core, or that are bound.
    fn rehome(&mut self, view: &View<'_>, say: &mut Directives) {
        for &thread in view.live {
            let Some(queue) = view.thread(thread).queue else { continue };
            let core = self.core_of.get(queue.index()).copied().flatten();
            if core.is_none_or(|core| !view.allowed(thread, core)) {
                let place = self.place(thread, view, say);
                fair::rehome(&mut self.homes, thread, place, view, say);
            }
        }
    }
}

fn online<'a>(cores: &'a [CoreId], view: &'a View<'_>) -> impl Iterator<Item = CoreId> + 'a {
    cores.iter().copied().filter(|core| view.cores[core.index()].online)
}
