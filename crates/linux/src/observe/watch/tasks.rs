//! Which threads are followed, and what of a source's records is news about them.
//!
//! Sources repeat themselves, leave gaps, and tell of strangers; what comes out of here does not:
//! every thread starts once before anything else is said of it, ends once, and takes a core only
//! when it was off and leaves it only when it was not known to be off.

use evenkeel_machine::Nanos;

use super::{
    Cpu, Seen, Tid,
    proc::Doing,
    record::{Record, What},
};

/// The threads that a source tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only threads that we follow, so that each that is met is one of them; by events that each of
    /// them carries, and loses when it begins a program with other rights.
    Carried,
    /// Only threads that we follow, so that each that is met is one of them.
    Everybody,
    /// All threads; we follow those that descend from the ones we began with.
    Descendants,
}

/// What we know of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Never met.
    #[default]
    Unknown,
    /// A thread of ours; whether it has a core is not known.
    Met,
    /// A thread of ours, on a core.
    On(Cpu),
    /// A thread of ours, on none.
    Off,
    /// It was ours, and ended. A record that comes after its end does not bring it back.
    Gone,
}

impl State {
    fn alive(self) -> bool {
        matches!(self, Self::Met | Self::On(_) | Self::Off)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    state: State,
    process: Tid,
    /// As a process: how many of its threads are alive.
    threads: u32,
    /// As a process: when it last began a program.
    exec: Nanos,
}

/// A thread that is said to have ended so soon after its process began a program may have lost its
/// events only: the kernel takes them away within microseconds of telling of the exec if the
/// program has other rights (set-user-id). Unless the thread loses its core between the two, to a
/// real-time thread or to the host: hence not microseconds.
const DOUBTFUL_END: Nanos = Nanos::from_millis(100);

const PAGE: usize = 512;

/// The followed threads, by number. Memory is taken a page of numbers at a time, when the first of
/// them is met.
#[derive(Debug)]
pub struct Tasks {
    scope: Scope,
    pages: Vec<Option<Box<[Slot; PAGE]>>>,
    alive: usize,
    /// Records were lost: what we know may be out of date.
    stale: bool,
    missed: u64,
    /// Threads that are said to have ended, and may have lost their events only.
    doubtful: Vec<Tid>,
    /// No later news is of an earlier time.
    told: Nanos,
}

impl Tasks {
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            pages: Vec::new(),
            alive: 0,
            stale: false,
            missed: 0,
            doubtful: Vec::new(),
            told: Nanos(0),
        }
    }

    /// The time that is given to news of time `at`: no earlier than that of what has been told.
    fn clock(&mut self, at: Nanos) -> Nanos {
        self.told = self.told.max(at);
        self.told
    }

    /// Threads that are alive, as far as is known.
    pub fn alive(&self) -> usize {
        self.alive
    }

    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// True if records were lost since this was last asked.
    pub fn take_stale(&mut self) -> bool {
        std::mem::take(&mut self.stale)
    }

    /// A thread of which it is not known whether it has ended.
    pub fn pop_doubtful(&mut self) -> Option<Tid> {
        self.doubtful.pop()
    }

    /// Says that what is known may be out of date.
    pub fn set_stale(&mut self) {
        self.stale = true;
    }

    fn slot(&self, tid: Tid) -> Slot {
        let index = usize::try_from(tid.0).unwrap_or(0);
        self.pages
            .get(index / PAGE)
            .and_then(Option::as_ref)
            .map_or(Slot::default(), |page| page[index % PAGE])
    }

    fn slot_mut(&mut self, tid: Tid) -> &mut Slot {
        let index = usize::try_from(tid.0).unwrap_or(0);
        let (page, place) = (index / PAGE, index % PAGE);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        &mut self.pages[page].get_or_insert_with(|| Box::new([Slot::default(); PAGE]))[place]
    }

    /// True if the thread is followed and alive.
    pub fn follows(&self, tid: Tid) -> bool {
        self.slot(tid).state.alive()
    }

    /// The threads that are followed and alive, with their processes, by number.
    pub fn threads(&self) -> impl Iterator<Item = (Tid, Tid)> {
        let numbered =
            |page: usize, place: usize| Tid(i32::try_from(page * PAGE + place).unwrap_or(0));
        self.pages.iter().enumerate().flat_map(move |(number, page)| {
            page.iter().flat_map(move |slots| {
                slots
                    .iter()
                    .enumerate()
                    .filter(|(_, slot)| slot.state.alive())
                    .map(move |(place, slot)| (numbered(number, place), slot.process))
            })
        })
    }

    /// A thread is one of ours from now on. `state` is what is known of its core.
    fn start(
        &mut self,
        tid: Tid,
        process: Tid,
        parent: Option<Tid>,
        state: State,
        at: Nanos,
        into: &mut Vec<Seen>,
    ) {
        self.enter(tid, process, state);
        into.push(Seen::Started { tid, process, parent, at });
    }

    fn enter(&mut self, tid: Tid, process: Tid, state: State) {
        let slot = self.slot_mut(tid);
        slot.state = state;
        slot.process = process;
        self.slot_mut(process).threads += 1;
        self.alive += 1;
    }

    /// A thread was found to be there. True if that is news.
    ///
    /// `shows_cores`: the source tells of switches. A thread that may run is then taken to have the
    /// CPU that it is at: if another has it, the next switch there says so.
    pub fn found(
        &mut self,
        (tid, process): (Tid, Tid),
        doing: Doing,
        shows_cores: bool,
        at: Nanos,
        into: &mut Vec<Seen>,
    ) -> bool {
        if self.follows(tid) {
            return false;
        }
        let at = self.clock(at);
        let on = doing.runnable && shows_cores;
        self.enter(tid, process, if on { State::On(doing.cpu) } else { State::Met });
        into.push(Seen::Found { tid, process, runnable: doing.runnable, at });
        if on {
            into.push(Seen::Took { tid, cpu: doing.cpu, at });
        }
        true
    }

    /// A thread ended.
    pub fn ended(&mut self, tid: Tid, at: Nanos, into: &mut Vec<Seen>) {
        let slot = self.slot(tid);
        if slot.state.alive() {
            self.slot_mut(tid).state = State::Gone;
            let process = self.slot_mut(slot.process);
            process.threads = process.threads.saturating_sub(1);
            self.alive -= 1;
            let at = self.clock(at);
            into.push(Seen::Exited { tid, at });
        }
    }

    /// A process began another program, so it has one thread, with the number of the process: if
    /// another thread than the first called exec, it took that number over and its own is gone, and
    /// no source says so.
    fn exec(&mut self, process: Tid, at: Nanos, into: &mut Vec<Seen>) {
        let slot = self.slot(process);
        if slot.threads == 0 && self.scope != Scope::Carried {
            return;
        }
        if slot.threads != 1 || !slot.state.alive() {
            let others: Vec<Tid> = self
                .threads()
                .filter(|&(tid, of)| of == process && tid != process)
                .map(|(tid, _)| tid)
                .collect();
            // The caller is the one that has a core: its first thread's number now has it.
            let core = others
                .iter()
                .map(|&tid| self.slot(tid).state)
                .find(|state| matches!(state, State::On(_)));
            for tid in others {
                self.ended(tid, at, into);
            }
            if !self.slot(process).state.alive() {
                self.start(process, process, None, core.unwrap_or(State::Met), at, into);
                if let Some(State::On(cpu)) = core {
                    into.push(Seen::Took { tid: process, cpu, at });
                }
            }
        }
        self.slot_mut(process).exec = at;
        into.push(Seen::Exec { tid: process, at });
    }

    /// Makes a thread that was never met one of ours if the source tells of ours only. False if it
    /// is none of ours.
    fn meet(&mut self, tid: Tid, process: Tid, at: Nanos, into: &mut Vec<Seen>) -> bool {
        match self.slot(tid).state {
            State::Gone => false,
            State::Unknown if self.scope != Scope::Descendants && process.0 > 0 => {
                self.start(tid, process, None, State::Met, at, into);
                true
            }
            State::Unknown => false,
            State::Met | State::On(_) | State::Off => true,
        }
    }

    /// Takes a record in, and says what of it is news.
    pub fn admit(&mut self, record: Record, into: &mut Vec<Seen>) {
        let at = self.clock(record.at);
        match record.what {
            What::Fork { tid, process, parent, parent_process } => {
                let ours = self.scope != Scope::Descendants
                    || (tid != process && self.slot(process).threads > 0)
                    || self.slot(parent_process).threads > 0;
                if !ours {
                    // The number may have been one of ours; it is a stranger's now.
                    if self.slot(tid).state != State::Unknown {
                        self.ended(tid, at, into);
                        self.slot_mut(tid).state = State::Unknown;
                    }
                    return;
                }
                // Found there before its record came: that is no second start.
                if !(self.follows(tid) && self.slot(tid).process == process) {
                    self.ended(tid, at, into);
                    self.start(tid, process, parent, State::Off, at, into);
                }
            }
            What::Exec { process } => self.exec(process, at, into),
            What::Exit { tid } => {
                let exec = self.slot(tid).exec;
                if self.scope == Scope::Carried
                    && exec.0 > 0
                    && at.0 - exec.0 < DOUBTFUL_END.0
                    && self.follows(tid)
                {
                    self.doubtful.push(tid);
                } else {
                    self.ended(tid, at, into);
                }
            }
            What::In { tid, process, cpu } => {
                let before = if self.meet(tid, process, at, into) {
                    self.slot(tid).state
                } else {
                    State::On(cpu)
                };
                if before != State::On(cpu) {
                    // That it left the core where it was has not been told: records were lost, or
                    // it had no events for a while (see `DOUBTFUL_END`). It could still run, for it
                    // does.
                    if let State::On(cpu) = before {
                        into.push(Seen::Left { tid, cpu, at, preempted: true });
                    }
                    self.slot_mut(tid).state = State::On(cpu);
                    into.push(Seen::Took { tid, cpu, at });
                }
            }
            What::Out { tid, process, cpu, preempted } => {
                if self.meet(tid, process, at, into) && self.slot(tid).state != State::Off {
                    // If it moved untold, it leaves the core that it was said to be on.
                    let cpu = if let State::On(told) = self.slot(tid).state { told } else { cpu };
                    self.slot_mut(tid).state = State::Off;
                    into.push(Seen::Left { tid, cpu, at, preempted });
                }
            }
            What::Wake { tid, by } => {
                if matches!(self.slot(tid).state, State::Met | State::Off) {
                    into.push(Seen::Woke { tid, by, at });
                }
            }
            What::Lost(records) => {
                self.missed += records;
                self.stale = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::observe::watch::Waker;

    const CPUS: u32 = 3;
    const ASLEEP: Doing = Doing { runnable: false, cpu: Cpu(0) };

    fn record(at: u64, what: What) -> Record {
        Record { at: Nanos(at), what }
    }

    fn fork(tid: i32, process: i32, parent: i32, parent_process: i32) -> What {
        let (tid, process) = (Tid(tid), Tid(process));
        What::Fork { tid, process, parent: Some(Tid(parent)), parent_process: Tid(parent_process) }
    }

    fn admit(tasks: &mut Tasks, whats: &[What]) -> Vec<Seen> {
        let mut seen = Vec::new();
        whats.iter().zip(1..).for_each(|(&what, at)| tasks.admit(record(at, what), &mut seen));
        seen
    }

    #[test]
    fn a_thread_that_is_found_has_a_core_if_it_may_run_and_the_source_tells_of_cores() {
        let (tid, process, at) = (Tid(10), Tid(10), Nanos(5));
        for (runnable, shows_cores) in [(false, false), (false, true), (true, false), (true, true)]
        {
            let mut tasks = Tasks::new(Scope::Everybody);
            let mut seen = Vec::new();
            assert!(tasks.found(
                (tid, process),
                Doing { runnable, cpu: Cpu(2) },
                shows_cores,
                at,
                &mut seen
            ));
            let took = (runnable && shows_cores).then_some(Seen::Took { tid, cpu: Cpu(2), at });
            assert_eq!(
                seen,
                [Seen::Found { tid, process, runnable, at }]
                    .into_iter()
                    .chain(took)
                    .collect::<Vec<_>>()
            );
            assert!(!tasks.found((tid, process), ASLEEP, shows_cores, at, &mut seen), "once only");
        }
    }

    #[test]
    fn descendants_are_followed_and_strangers_are_not() {
        let mut tasks = Tasks::new(Scope::Descendants);
        let mut seen = Vec::new();
        tasks.found((Tid(10), Tid(10)), ASLEEP, true, Nanos(0), &mut seen);
        let whats =
            [fork(20, 20, 10, 10), fork(21, 20, 20, 20), fork(30, 30, 5, 5), fork(31, 31, 30, 30)];
        admit(&mut tasks, &whats);
        assert_eq!(tasks.threads().map(|(tid, _)| tid.0).collect::<Vec<_>>(), [10, 20, 21]);
        // A stranger takes over the number of one of ours whose end was lost.
        admit(&mut tasks, &[fork(20, 20, 5, 5)]);
        assert!(!tasks.follows(Tid(20)));
    }

    #[test]
    fn a_thread_that_calls_exec_takes_the_number_of_the_process_and_its_core() {
        let mut tasks = Tasks::new(Scope::Everybody);
        let (process, cpu) = (Tid(10), Cpu(1));
        admit(&mut tasks, &[fork(10, 10, 1, 1), fork(11, 10, 10, 10), fork(12, 10, 10, 10)]);
        let takes = What::In { tid: Tid(12), process, cpu };
        let whats = [
            What::Exit { tid: Tid(11) },
            What::Exit { tid: process },
            takes,
            What::Exec { process },
        ];
        let seen = admit(&mut tasks, &whats);
        let at = Nanos(4);
        let last = [
            Seen::Exited { tid: Tid(12), at },
            Seen::Started { tid: process, process, parent: None, at },
            Seen::Took { tid: process, cpu, at },
            Seen::Exec { tid: process, at },
        ];
        assert!(seen.ends_with(&last), "{seen:?}");
        assert_eq!(tasks.alive(), 1);
        // What the old number's exit says late is not of the new thread.
        assert!(admit(&mut tasks, &[What::Exit { tid: Tid(12) }]).is_empty());
    }

    #[test]
    fn records_after_an_end_bring_nobody_back_and_a_new_start_does() {
        let mut tasks = Tasks::new(Scope::Everybody);
        let (tid, process, cpu) = (Tid(10), Tid(10), Cpu(0));
        admit(
            &mut tasks,
            &[fork(10, 10, 1, 1), What::In { tid, process, cpu }, What::Exit { tid }],
        );
        assert!(admit(&mut tasks, &[What::Out { tid, process, cpu, preempted: false }]).is_empty());
        assert_eq!(admit(&mut tasks, &[fork(10, 10, 1, 1)]).len(), 1);
    }

    #[test]
    fn a_thread_that_is_seen_on_another_core_has_left_the_one_before() {
        let mut tasks = Tasks::new(Scope::Everybody);
        let (tid, process) = (Tid(10), Tid(10));
        let on = |cpu| What::In { tid, process, cpu: Cpu(cpu) };
        let seen = admit(&mut tasks, &[fork(10, 10, 1, 1), on(0), on(1), on(1)]);
        let at = Nanos(3);
        let moved = [
            Seen::Left { tid, cpu: Cpu(0), at, preempted: true },
            Seen::Took { tid, cpu: Cpu(1), at },
        ];
        assert!(seen.ends_with(&moved), "{seen:?}");
    }

    #[test]
    fn an_end_right_after_an_exec_is_in_doubt_only_if_events_are_carried() {
        let thirty_ms = 30_000_000;
        for (scope, at, doubtful) in [
            (Scope::Carried, 3, Some(Tid(10))),
            // The host took the core away between the two.
            (Scope::Carried, thirty_ms, Some(Tid(10))),
            (Scope::Carried, 2 + DOUBTFUL_END.0, None),
            (Scope::Everybody, 3, None),
        ] {
            let mut tasks = Tasks::new(scope);
            admit(&mut tasks, &[fork(10, 10, 1, 1), What::Exec { process: Tid(10) }]);
            tasks.admit(record(at, What::Exit { tid: Tid(10) }), &mut Vec::new());
            assert_eq!(tasks.pop_doubtful(), doubtful);
            assert_eq!(tasks.follows(Tid(10)), doubtful.is_some());
        }
    }

    fn what() -> impl Strategy<Value = What> {
        let (tid, process, cpu) = (1i32..8, 1i32..8, 0..CPUS);
        (0u32..8, tid, process, cpu, any::<bool>()).prop_map(
            |(kind, tid, process, cpu, preempted)| {
                let (thread, of, cpu) = (Tid(tid), Tid(process), Cpu(cpu));
                match kind {
                    0 | 1 => fork(tid, process, process, process),
                    2 => What::Exec { process: of },
                    3 => What::Exit { tid: thread },
                    4 => What::In { tid: thread, process: of, cpu },
                    5 => What::Out { tid: thread, process: of, cpu, preempted },
                    6 => What::Wake { tid: thread, by: Waker::Interrupt },
                    _ => What::Lost(1),
                }
            },
        )
    }

    proptest! {
        /// Whatever a source says, in whatever order, with repeats and gaps: threads start once and
        /// end once, do things only in between, time never runs backwards, and the number alive is
        /// what is left.
        #[test]
        fn what_comes_out_is_in_order_whatever_goes_in(
            whats in prop::collection::vec((what(), 0u64..50), 0..200),
            scope in prop::sample::select(vec![Scope::Carried, Scope::Everybody, Scope::Descendants]),
            runnable: bool,
        ) {
            let mut tasks = Tasks::new(scope);
            let mut seen = Vec::new();
            tasks.found((Tid(1), Tid(1)), Doing { runnable, cpu: Cpu(0) }, true, Nanos(0), &mut seen);
            for &(what, at) in &whats {
                tasks.admit(record(at, what), &mut seen);
            }
            let mut alive = std::collections::BTreeMap::new();
            let mut last = Nanos(0);
            for one in &seen {
                let (tid, at) = match *one {
                    Seen::Started { tid, at, .. } | Seen::Found { tid, at, .. } => {
                        prop_assert!(alive.insert(tid, None).is_none(), "{:?}", one);
                        (tid, at)
                    }
                    Seen::Took { tid, cpu, at } => {
                        prop_assert_eq!(alive.insert(tid, Some(cpu)), Some(None), "{:?}", one);
                        (tid, at)
                    }
                    Seen::Left { tid, cpu, at, .. } => {
                        prop_assert!(alive.insert(tid, None).is_some_and(|on| on.is_none_or(|on| on == cpu)), "{:?}", one);
                        (tid, at)
                    }
                    Seen::Woke { tid, at, .. } => {
                        prop_assert!(alive.get(&tid).is_some_and(Option::is_none), "{:?}", one);
                        (tid, at)
                    }
                    Seen::Exec { tid, at } => (tid, at),
                    Seen::Exited { tid, at } => {
                        prop_assert!(alive.remove(&tid).is_some(), "{:?}", one);
                        prop_assert!(at >= last);
                        last = at;
                        continue;
                    }
                };
                prop_assert!(alive.contains_key(&tid), "{:?}", one);
                prop_assert!(at >= last);
                last = at;
            }
            prop_assert_eq!(tasks.alive(), alive.len());
            prop_assert_eq!(tasks.threads().count(), alive.len());
            prop_assert!(tasks.threads().all(|(tid, _)| alive.contains_key(&tid)));
        }
    }
}
