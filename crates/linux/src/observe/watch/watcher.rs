//! The watcher: begins with the threads to follow, finds a source that tells of them, and keeps
//! what it knows in step with what is.

use std::{
    collections::BTreeSet,
    fmt::Display,
    fs::File,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
    time::Duration,
};

use evenkeel_machine::Nanos;

use super::{
    Options, Seen, Source, Tid, WatchError,
    connector::Connector,
    perf::Perf,
    poll_set::{PollSet, Ticks},
    proc,
    tasks::{Scope, Tasks},
    tracepoint,
};
use crate::observe::perf_event::Target;

/// What a watcher follows.
#[derive(Debug)]
enum Root {
    /// These processes, and what descends from them.
    Processes(Vec<Tid>),
    /// All threads.
    Machine,
    /// Threads in the cgroup of this directory.
    Cgroup(PathBuf),
}

/// Where it learns what they do.
#[derive(Debug)]
enum Tap {
    Perf(Perf),
    /// Perf, told of all threads, of which we follow some.
    Wide(Perf),
    Connector(Connector),
    /// Nowhere but in `/proc`.
    Poll,
}

/// Above this many cores, programs are followed by telling of all threads, if allowed. A thread
/// carries two events for each core and pays 2 us for each (see the measurements at the head of
/// [`super`]): with eight cores more than 30 us, about as much as starting and ending it costs
/// without us.
const MANY_CORES: usize = 8;

/// How often a cgroup is read for threads that moved in or out: no source tells.
const CGROUP_INTERVAL: Duration = Duration::from_secs(1);

/// Watches threads. Drop it, and they go on unwatched.
#[derive(Debug)]
pub struct Watcher {
    poll: PollSet,
    tap: Tap,
    /// When to look into `/proc`, if not only after losses.
    ticks: Option<Ticks>,
    tasks: Tasks,
    root: Root,
    options: Options,
    /// Children of our own process that were there before and are not followed.
    other_children: Vec<Tid>,
    /// What was found while attaching, and not told yet.
    early: Vec<Seen>,
    /// Why better sources are not used.
    refused: Vec<WatchError>,
    /// Descendants of the processes to be followed that may not be watched.
    left_out: BTreeSet<Tid>,
}

/// The clock of all times here.
#[must_use]
pub fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let nanos = |number: i64| u64::try_from(number).unwrap_or(0);
    Nanos(nanos(time.tv_sec) * 1_000_000_000 + nanos(time.tv_nsec))
}

impl Watcher {
    /// Follows a program, and everything that it forks, from a process on that is ours and has not
    /// begun the program yet (it waits for us before exec).
    ///
    /// For sources that poll, make the caller a subreaper (`PR_SET_CHILD_SUBREAPER`) before: a
    /// process whose parent has ended is found among the caller's children then.
    ///
    /// # Errors
    /// If the process is gone, or it cannot be watched by the source that was asked for.
    pub fn program(child: Tid, options: &Options) -> Result<Self, WatchError> {
        Self::threads(&[child], options)
    }

    /// Follows running processes, each given by any of its threads, with what they have forked and
    /// what they will fork.
    ///
    /// # Errors
    /// If one of them is gone, or cannot be watched by the source that was asked for.
    pub fn threads(threads: &[Tid], options: &Options) -> Result<Self, WatchError> {
        let process = |&tid: &Tid| proc::process_of(tid).ok_or(WatchError::Gone(tid.0));
        let mut processes = threads.iter().map(process).collect::<Result<Vec<_>, _>>()?;
        processes.sort_unstable();
        processes.dedup();
        Self::begin(Root::Processes(processes), options)
    }

    /// Follows every thread of the machine.
    ///
    /// # Errors
    /// If that is not allowed: it takes `CAP_PERFMON`.
    pub fn machine(options: &Options) -> Result<Self, WatchError> {
        Self::begin(Root::Machine, options)
    }

    /// Follows the threads of a cgroup and of those below it; `path` is its directory.
    ///
    /// # Errors
    /// If it cannot be opened, or that is not allowed: it takes `CAP_PERFMON`.
    pub fn cgroup(path: &Path, options: &Options) -> Result<Self, WatchError> {
        let path = path.to_owned();
        match std::fs::read_dir(&path) {
            Ok(_) => Self::begin(Root::Cgroup(path), options),
            Err(source) => Err(WatchError::Read { path, source }),
        }
    }

    fn begin(root: Root, options: &Options) -> Result<Self, WatchError> {
        let poll = PollSet::new()?;
        let mut refused = Vec::new();
        let wanted: &[Source] = match &options.source {
            Source::Auto => &[Source::Perf, Source::Connector, Source::Poll],
            one => std::slice::from_ref(one),
        };
        let mut found = None;
        for &source in wanted {
            match Self::open(source, &root, options, &poll) {
                Ok(tap) => {
                    found = Some(tap);
                    break;
                }
                Err(WatchError::Gone(process)) => return Err(WatchError::Gone(process)),
                Err(error) => refused.push(error),
            }
        }
        let Some(tap) = found else {
            // The best source's reason is the one that can be helped.
            return Err(refused.swap_remove(0));
        };
        let scope = match (&tap, &root) {
            (Tap::Connector(_) | Tap::Wide(_), Root::Processes(_)) => Scope::Descendants,
            (Tap::Perf(_), Root::Processes(_)) => Scope::Carried,
            _ => Scope::Everybody,
        };
        let mut watcher = Self {
            poll,
            tap,
            ticks: None,
            tasks: Tasks::new(scope),
            root,
            options: options.clone(),
            other_children: Vec::new(),
            early: Vec::new(),
            refused,
            left_out: BTreeSet::new(),
        };
        if matches!(watcher.tap, Tap::Poll) {
            watcher.look_every(options.interval)?;
        } else if matches!(watcher.root, Root::Cgroup(_)) {
            watcher.look_every(CGROUP_INTERVAL)?;
        }
        watcher.attach()?;
        Ok(watcher)
    }

    fn open(
        source: Source,
        root: &Root,
        options: &Options,
        poll: &PollSet,
    ) -> Result<Tap, WatchError> {
        match source {
            Source::Auto | Source::Perf => Self::perf(root, options, poll),
            Source::Connector => Self::connector(root, options, poll),
            Source::Poll => Self::poll(root, options),
        }
    }

    /// Perf, if it is allowed for these; no thread is followed yet but by what follows all.
    fn perf(root: &Root, options: &Options, poll: &PollSet) -> Result<Tap, WatchError> {
        let mut perf = Perf::open(options, poll)?;
        if options.wakeups {
            let (tracepoint, format) = tracepoint::waking()?;
            perf.wakeups(tracepoint, format)?;
        }
        match root {
            Root::Processes(_) if options.wide.unwrap_or(perf.cores() > MANY_CORES) => {
                match perf.follow(Target::All, options) {
                    Ok(_) => return Ok(Tap::Wide(perf)),
                    // Not allowed for all threads: then thread by thread.
                    Err(WatchError::NotAllowed { .. }) if options.wide.is_none() => {
                        return Self::perf(
                            root,
                            &Options { wide: Some(false), ..options.clone() },
                            poll,
                        );
                    }
                    Err(error) => return Err(error),
                }
            }
            Root::Processes(processes) => {
                // Whether we may: the first is asked for now, so that another source can be used if
                // not.
                if let Some(&first) = processes.first()
                    && !perf.follow(Target::Thread(first.0), options)?
                {
                    return Err(WatchError::Gone(first.0));
                }
            }
            Root::Machine => drop(perf.follow(Target::All, options)?),
            Root::Cgroup(path) => {
                let directory = File::open(path)
                    .map_err(|source| WatchError::Read { path: path.clone(), source })?;
                perf.follow(Target::Cgroup(&directory), options)?;
            }
        }
        Ok(Tap::Perf(perf))
    }

    fn connector(root: &Root, options: &Options, poll: &PollSet) -> Result<Tap, WatchError> {
        if matches!(root, Root::Cgroup(_)) {
            return Err(WatchError::Cannot(
                "a cgroup cannot be watched by the proc connector, which does not tell of it",
            ));
        }
        if options.wakeups {
            return Err(WatchError::Cannot("the proc connector does not tell of wake-ups"));
        }
        let connector = Connector::open()?;
        poll.add(&connector)?;
        Ok(Tap::Connector(connector))
    }

    fn poll(root: &Root, options: &Options) -> Result<Tap, WatchError> {
        if matches!(root, Root::Machine) {
            return Err(WatchError::Cannot(
                "the whole machine cannot be watched by reading /proc at an interval",
            ));
        }
        if options.wakeups {
            return Err(WatchError::Cannot("wake-ups cannot be seen in /proc"));
        }
        Ok(Tap::Poll)
    }

    /// Looks into `/proc` at an interval from now on.
    fn look_every(&mut self, interval: Duration) -> Result<(), WatchError> {
        if self.ticks.is_none() {
            let ticks = Ticks::every(interval)?;
            self.poll.add(&ticks)?;
            self.ticks = Some(ticks);
        }
        Ok(())
    }

    /// Finds threads that are there already, until the source follows all of them.
    fn attach(&mut self) -> Result<(), WatchError> {
        if let Root::Processes(processes) = &self.root {
            let own = Tid(rustix::process::getpid().as_raw_nonzero().get());
            self.other_children = children(own);
            self.other_children.retain(|child| !processes.contains(child));
            self.other_children.sort_unstable();
        }
        let mut early = Vec::new();
        let mut at = now();
        loop {
            let mut news = false;
            for (tid, process) in self.there() {
                if self.tasks.follows(tid) {
                    continue;
                }
                let followed = match (&mut self.tap, &self.root) {
                    (Tap::Perf(perf), Root::Processes(processes))
                        if Some(&tid) != processes.first() =>
                    {
                        match perf.follow(Target::Thread(tid.0), &self.options) {
                            Err(WatchError::NotAllowed { .. }) if !processes.contains(&process) => {
                                self.left_out.insert(process);
                                false
                            }
                            followed => followed?,
                        }
                    }
                    _ => true,
                };
                // Read once its events are there: what it does from then on they tell.
                news |= followed && self.find(tid, process, at, &mut early);
            }
            if !news {
                break;
            }
            // Threads that were forked by one that is followed by now are followed too, and must
            // not be followed twice.
            at = self.pump(&mut early);
        }
        self.early = early;
        Ok(())
    }

    /// The threads that are to be followed and are there now, with their processes.
    fn there(&self) -> Vec<(Tid, Tid)> {
        let of = |process: Tid| proc::threads(process).into_iter().map(move |tid| (tid, process));
        match &self.root {
            Root::Processes(processes) => {
                proc::family(processes).into_iter().flat_map(of).collect()
            }
            Root::Machine => proc::processes().into_iter().flat_map(of).collect(),
            Root::Cgroup(path) => proc::cgroup(path),
        }
    }

    /// Compares what is known with what is there: after records were lost, and where no records
    /// come.
    fn rescan(&mut self, at: Nanos, into: &mut Vec<Seen>) {
        let known: Vec<(Tid, Tid)> = self.tasks.threads().collect();
        for &(tid, process) in &known {
            if !proc::lives(process, tid) {
                self.tasks.ended(tid, at, into);
            }
        }
        let there = self.there();
        for &(tid, process) in &there {
            self.find(tid, process, at, into);
        }
        if matches!(self.root, Root::Cgroup(_)) {
            let there: BTreeSet<Tid> = there.iter().map(|&(tid, _)| tid).collect();
            known
                .iter()
                .filter(|(tid, _)| !there.contains(tid))
                .for_each(|&(tid, _)| self.tasks.ended(tid, at, into));
        }
        if !matches!(self.root, Root::Processes(_)) {
            return;
        }
        let own = Tid(rustix::process::getpid().as_raw_nonzero().get());
        let mut processes: Vec<Tid> = known.iter().map(|&(_, process)| process).collect();
        processes.dedup();
        if matches!(rustix::process::child_subreaper(), Ok(Some(_))) {
            // Processes whose parents have ended become ours.
            processes.extend(
                children(own)
                    .into_iter()
                    .filter(|child| self.other_children.binary_search(child).is_err()),
            );
        }
        processes.sort_unstable();
        processes.dedup();
        while let Some(process) = processes.pop() {
            for tid in proc::threads(process) {
                self.find(tid, process, at, into);
                let ours = |child: &Tid| self.other_children.binary_search(child).is_err();
                processes.extend(proc::children(process, tid).into_iter().filter(ours));
            }
        }
    }

    /// A thread is said to have ended just after its process began a program. If it has not, it has
    /// lost its events, and is to be given new ones, as is what it forked since; or they are looked
    /// for in `/proc`, if its new rights are above ours.
    fn settle(&mut self, tid: Tid, at: Nanos, into: &mut Vec<Seen>) {
        if !proc::lives(tid, tid) {
            return self.tasks.ended(tid, at, into);
        }
        let mut bare = vec![(tid, tid)];
        let mut met = BTreeSet::new();
        let mut followed = true;
        while let Some((tid, process)) = bare.pop() {
            // One that is about to end is there, and is not to be found again.
            if !met.insert(tid) {
                continue;
            }
            if let Tap::Perf(perf) = &mut self.tap {
                followed &= perf.follow(Target::Thread(tid.0), &self.options).unwrap_or(false);
            }
            self.find(tid, process, at, into);
            let threads = proc::threads(process).into_iter().map(|tid| (tid, process));
            let children = children(process)
                .into_iter()
                .flat_map(|child| proc::threads(child).into_iter().map(move |tid| (tid, child)));
            bare.extend(threads.chain(children).filter(|&(tid, _)| !self.tasks.follows(tid)));
            bare.sort_unstable();
            bare.dedup();
        }
        // If there is no timer to be had either, they are found again after the next loss.
        if !followed && self.look_every(self.options.interval).is_err() {
            self.tasks.set_stale();
        }
    }

    /// Takes in what a thread is doing that is there. True if it was not known.
    fn find(&mut self, tid: Tid, process: Tid, at: Nanos, into: &mut Vec<Seen>) -> bool {
        let shows_cores = self.options.switches && matches!(self.tap, Tap::Perf(_) | Tap::Wide(_));
        !self.tasks.follows(tid)
            && proc::doing(process, tid)
                .is_some_and(|doing| self.tasks.found((tid, process), doing, shows_cores, at, into))
    }

    /// Takes in what has happened by the time that is returned.
    fn pump(&mut self, into: &mut Vec<Seen>) -> Nanos {
        let now = now();
        match &mut self.tap {
            Tap::Perf(perf) | Tap::Wide(perf) => perf.drain(now, &mut self.tasks, into),
            Tap::Connector(connector) => {
                connector.drain(|record| self.tasks.admit(record, into), now)
            }
            Tap::Poll => {}
        }
        now
    }

    /// What has happened since the last time, in order of time, appended to `into`. Never blocks;
    /// allocates nothing once `into` is large enough and the machine's thread numbers have come
    /// round, but to look through `/proc` where it must.
    pub fn drain(&mut self, into: &mut Vec<Seen>) {
        into.append(&mut self.early);
        let at = self.pump(into);
        while let Some(tid) = self.tasks.pop_doubtful() {
            self.settle(tid, at, into);
        }
        let ticked = self.ticks.as_ref().is_some_and(Ticks::take);
        let look = self.tasks.take_stale() || ticked;
        if look {
            self.rescan(at, into);
        }
    }

    /// Sleeps until something has happened that deserves prompt notice, at most this long; false if
    /// nothing has. Starts and ends do; switches and wake-ups only once half of the room for them
    /// is taken.
    ///
    /// # Errors
    /// If the kernel refuses to wait, which it should not.
    pub fn wait(&self, timeout: Duration) -> Result<bool, WatchError> {
        self.poll.wait(timeout)
    }

    /// Records that the kernel had no room for. What they said of starts and ends was made good by
    /// looking into `/proc`; switches are not known.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.tasks.missed()
    }

    /// Threads that are followed and alive, as far as has been told.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.tasks.alive()
    }

    /// Which source is used.
    #[must_use]
    pub fn source(&self) -> Source {
        match self.tap {
            Tap::Perf(_) | Tap::Wide(_) => Source::Perf,
            Tap::Connector(_) => Source::Connector,
            Tap::Poll => Source::Poll,
        }
    }

    /// Has no more switches told from now on, for they cost more than they are worth. False where
    /// none were.
    pub fn stop_switches(&mut self) -> bool {
        let (Tap::Perf(perf) | Tap::Wide(perf)) = &mut self.tap else { return false };
        if self.options.switches {
            perf.stop_switches();
        }
        std::mem::take(&mut self.options.switches)
    }

    /// Why better sources are not used, best first.
    #[must_use]
    pub fn refused(&self) -> &[WatchError] {
        &self.refused
    }

    /// Processes that the followed ones had forked before, and that this user may not watch: they
    /// are not followed.
    #[must_use]
    pub fn left_out(&self) -> &BTreeSet<Tid> {
        &self.left_out
    }

    /// For people: what is used, and what it can and cannot tell.
    #[must_use]
    pub fn describe(&self) -> impl Display {
        match &self.tap {
            Tap::Perf(_) | Tap::Wide(_) if self.options.switches => {
                "perf's records: every start and end, and every time a thread gets or leaves a core"
            }
            Tap::Perf(_) | Tap::Wide(_) => {
                "perf's records: every start and end; no switches between threads"
            }
            Tap::Connector(_) => {
                "the proc connector: every start and end; no switches between threads"
            }
            Tap::Poll => {
                "/proc, read at an interval: starts and ends of threads that live longer than \
                 that, late; no switches"
            }
        }
    }
}

impl AsFd for Watcher {
    /// Readable when [`Watcher::wait`] would return: one descriptor to sleep on together with
    /// others. Edge-triggered inside: call [`Watcher::wait`] with no time, then [`Watcher::drain`],
    /// whenever it is.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }
}

/// The processes that a process forked and that are still its children.
fn children(process: Tid) -> Vec<Tid> {
    proc::threads(process).into_iter().flat_map(|tid| proc::children(process, tid)).collect()
}
