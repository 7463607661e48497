//! Threads by number, and the processes that they belong to.
//!
//! A machine starts threads for as long as it is up. Those that have ended are remembered for the
//! record up to a number; of the others the sums are kept, and their numbers are given again, so
//! that a session's memory does not grow with its age.

use std::collections::{HashMap, VecDeque};

use evenkeel_machine::{Nanos, PerKind};
use evenkeel_policy::{AppId, ThreadId, ThreadStats};

use crate::observe::watch::Tid;

/// Threads that belong together: a process.
#[derive(Clone, Debug)]
pub struct App {
    /// The process.
    pub process: Tid,
    /// Name of its command, as far as it has been told, or that of the process that forked it.
    pub name: String,
    /// Threads that it has had.
    pub threads: u32,
    /// When its first thread started.
    pub started: Nanos,
    /// When its last thread ended.
    pub ended: Option<Nanos>,
    /// Threads that have not ended.
    pub live: u32,
    /// Threads that have a number: those, and those that have ended and are remembered.
    numbered: u32,
    /// What the others had.
    pub forgotten: Sums,
}

/// What threads had, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Time on each kind of core.
    pub time_on: PerKind<Nanos>,
    /// Time waiting for a core.
    pub waiting: Nanos,
    /// Time blocked.
    pub blocked: Nanos,
    /// How often they changed cores.
    pub migrations: u64,
}

impl Sums {
    /// Of one thread.
    pub fn of(stats: &ThreadStats, migrations: u64) -> Self {
        Self { time_on: stats.time_on, waiting: stats.waiting, blocked: stats.blocked, migrations }
    }

    /// Adds what others had.
    pub fn add(&mut self, other: &Self) {
        self.time_on.0.iter_mut().zip(other.time_on.0).for_each(|(sum, time)| *sum += time);
        self.waiting += other.waiting;
        self.blocked += other.blocked;
        self.migrations += other.migrations;
    }
}

/// Processes that have ended and are not remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// How many.
    pub apps: u64,
    /// Threads that they had.
    pub threads: u64,
    /// From the start of the first thread to the end of the last, of the process that took longest.
    pub longest: Nanos,
    /// What they had.
    pub sums: Sums,
}

/// Threads by number, in `/proc` and to the policy, and the processes that they belong to.
#[derive(Debug)]
pub struct Roster {
    by_tid: HashMap<Tid, ThreadId>,
    by_process: HashMap<Tid, AppId>,
    apps: Vec<App>,
    /// Threads that have been given numbers so far.
    threads: u32,
    /// How many that have ended are remembered.
    remembers: usize,
    /// Those, in order of their ends.
    ended: VecDeque<(ThreadId, AppId)>,
    vacant: Vec<ThreadId>,
    vacant_apps: Vec<AppId>,
    forgotten: Forgotten,
}

/// The number of a thread that begins, and its place in its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its number: one more than the greatest so far, or one that is given again.
    pub thread: ThreadId,
    /// Its application.
    pub app: AppId,
    /// How many that had before it.
    pub index_in_app: u32,
}

/// Puts what is kept of a thread that begins where its number says, in place of what its former
/// owner had.
pub fn put<T>(all: &mut Vec<T>, thread: ThreadId, what: T) {
    match all.get_mut(thread.index()) {
        Some(place) => *place = what,
        None => all.push(what),
    }
}

impl Roster {
    /// Empty. So many threads that have ended will be remembered.
    pub fn new(remembers: usize) -> Self {
        Self {
            by_tid: HashMap::new(),
            by_process: HashMap::new(),
            apps: Vec::new(),
            threads: 0,
            remembers,
            ended: VecDeque::new(),
            vacant: Vec::new(),
            vacant_apps: Vec::new(),
            forgotten: Forgotten::default(),
        }
    }

    /// The thread that has this number in `/proc`.
    pub fn known(&self, tid: Tid) -> Option<ThreadId> {
        self.by_tid.get(&tid).copied()
    }

    /// The application that a process is.
    pub fn app_of(&self, process: Tid) -> Option<AppId> {
        self.by_process.get(&process).copied()
    }

    /// Processes, by number of the application.
    pub fn apps(&self) -> &[App] {
        &self.apps
    }

    /// One of them, to be named.
    pub fn app_mut(&mut self, app: AppId) -> &mut App {
        &mut self.apps[app.index()]
    }

    /// Threads that are no longer remembered.
    pub fn forgotten(&self) -> Forgotten {
        self.forgotten
    }

    /// A thread begins, in a process that may be new and was then forked by one of `parent`'s.
    pub fn begin(&mut self, tid: Tid, process: Tid, parent: Option<AppId>, at: Nanos) -> Begun {
        let thread = self.vacant.pop().unwrap_or_else(|| {
            self.threads += 1;
            ThreadId(self.threads - 1)
        });
        let app = self
            .by_process
            .get(&process)
            .copied()
            .unwrap_or_else(|| self.begin_app(process, parent, at));
        self.by_tid.insert(tid, thread);
        let belongs = &mut self.apps[app.index()];
        let index_in_app = belongs.threads;
        belongs.threads += 1;
        belongs.live += 1;
        belongs.numbered += 1;
        belongs.ended = None;
        Begun { thread, app, index_in_app }
    }

    fn begin_app(&mut self, process: Tid, parent: Option<AppId>, at: Nanos) -> AppId {
        let name = parent.map_or_else(String::new, |parent| self.apps[parent.index()].name.clone());
        let begun = App {
            process,
            name,
            threads: 0,
            started: at,
            ended: None,
            live: 0,
            numbered: 0,
            forgotten: Sums::default(),
        };
        let app = match self.vacant_apps.pop() {
            Some(app) => {
                self.apps[app.index()] = begun;
                app
            }
            None => {
                self.apps.push(begun);
                AppId(self.apps.len() as u32 - 1)
            }
        };
        self.by_process.insert(process, app);
        app
    }

    /// A thread has another number in `/proc` from now on: it has executed a program, and is its
    /// process's first thread now.
    pub fn renumber(&mut self, thread: ThreadId, before: Tid, now: Tid) {
        self.let_go(thread, before);
        self.by_tid.insert(now, thread);
    }

    /// The number in `/proc` may be another's from now on.
    fn let_go(&mut self, thread: ThreadId, tid: Tid) {
        if self.by_tid.get(&tid) == Some(&thread) {
            self.by_tid.remove(&tid);
        }
    }

    /// A thread has ended.
    pub fn end(&mut self, thread: ThreadId, app: AppId, tid: Tid, at: Nanos) {
        self.let_go(thread, tid);
        self.ended.push_back((thread, app));
        let belongs = &mut self.apps[app.index()];
        belongs.live -= 1;
        if belongs.live > 0 {
            return;
        }
        belongs.ended = Some(at);
        let process = belongs.process;
        if self.by_process.get(&process) == Some(&app) {
            self.by_process.remove(&process);
        }
    }

    /// Forgets the threads that ended first, so that no more are remembered than should be. Their
    /// numbers are given again, but not while directives may still name them.
    pub fn forget(&mut self, sums: impl Fn(ThreadId) -> Sums) {
        while self.ended.len() > self.remembers
            && let Some((thread, app)) = self.ended.pop_front()
        {
            self.vacant.push(thread);
            let belongs = &mut self.apps[app.index()];
            belongs.forgotten.add(&sums(thread));
            belongs.numbered -= 1;
            if belongs.numbered > 0 {
                continue;
            }
            // Its process has ended with its last thread.
            self.vacant_apps.push(app);
            let forgotten = &mut self.forgotten;
            forgotten.apps += 1;
            forgotten.threads += u64::from(belongs.threads);
            forgotten.longest = forgotten
                .longest
                .max(belongs.ended.map_or(Nanos::ZERO, |end| end.saturating_sub(belongs.started)));
            forgotten.sums.add(&belongs.forgotten);
        }
    }

    /// Applications and threads that live or are remembered, as they are shown in the end:
    /// applications have numbers anew, threads come in order of theirs.
    pub fn remembered(
        &self,
        stats: &[ThreadStats],
        tids: &[(Tid, u64)],
    ) -> (Vec<App>, Vec<ThreadStats>, Vec<(Tid, u64)>) {
        let mut is_vacant = vec![false; stats.len()];
        self.vacant.iter().for_each(|thread| is_vacant[thread.index()] = true);
        let mut number = Vec::with_capacity(self.apps.len());
        let mut apps = Vec::new();
        for app in &self.apps {
            number.push(AppId(apps.len() as u32));
            if app.numbered > 0 {
                apps.push(app.clone());
            }
        }
        let shown = stats.iter().zip(tids).zip(is_vacant).filter(|(_, is_vacant)| !is_vacant);
        let shown = shown.map(|((stats, &tid), _)| {
            (ThreadStats { app: number[stats.app.index()], ..*stats }, tid)
        });
        let (stats, tids) = shown.unzip();
        (apps, stats, tids)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{CoreId, KindId, Work};
    use evenkeel_policy::State;

    use super::*;

    fn stats(app: AppId, ran: u64) -> ThreadStats {
        let mut time_on = PerKind::all(Nanos::ZERO);
        time_on[KindId(0)] = Nanos(ran);
        ThreadStats {
            virtual_time: 0,
            retired: Work::ZERO,
            since_milestone: Work::ZERO,
            since: Nanos::ZERO,
            waiting: Nanos(1),
            runs: 0,
            core: CoreId(0),
            queue: None,
            state: State::Exited,
            restricted: false,
            load: 0,
            time_on,
            to_milestone: None,
            weight: 1024,
            app,
            blocked: Nanos(2),
            stalled: Nanos::ZERO,
            started: Nanos::ZERO,
            speedup: PerKind::all(1.0),
            speedup_offline: PerKind::all(1.0),
            group: 0,
            index_in_app: 0,
            parent: None,
        }
    }

    /// A roster, and what a mechanism has beside it.
    struct Bench {
        roster: Roster,
        stats: Vec<ThreadStats>,
        tids: Vec<(Tid, u64)>,
        now: u64,
    }

    impl Bench {
        fn new(remembers: usize) -> Self {
            Self { roster: Roster::new(remembers), stats: Vec::new(), tids: Vec::new(), now: 0 }
        }

        fn begin(&mut self, tid: i32, process: i32) -> ThreadId {
            self.now += 10;
            let begun = self.roster.begin(Tid(tid), Tid(process), None, Nanos(self.now));
            put(&mut self.stats, begun.thread, stats(begun.app, 100));
            put(&mut self.tids, begun.thread, (Tid(tid), 3));
            begun.thread
        }

        fn end(&mut self, thread: ThreadId) {
            self.now += 10;
            let (app, tid) = (self.stats[thread.index()].app, self.tids[thread.index()].0);
            self.roster.end(thread, app, tid, Nanos(self.now));
            self.roster.forget(|thread| {
                Sums::of(&self.stats[thread.index()], self.tids[thread.index()].1)
            });
        }

        /// Everything that was had, wherever it is kept.
        fn all(&self) -> Sums {
            let (apps, stats, tids) = self.roster.remembered(&self.stats, &self.tids);
            let mut all = self.roster.forgotten().sums;
            apps.iter().for_each(|app| all.add(&app.forgotten));
            stats
                .iter()
                .zip(tids)
                .for_each(|(stats, (_, migrations))| all.add(&Sums::of(stats, migrations)));
            all
        }
    }

    #[test]
    fn what_a_session_holds_does_not_grow_with_the_threads_that_have_ended() {
        let mut bench = Bench::new(4);
        let lasting = bench.begin(1, 1);
        for round in 0..1000 {
            let child = bench.begin(100 + 2 * round, 100 + 2 * round);
            let thread_of_it = bench.begin(101 + 2 * round, 100 + 2 * round);
            let thread_of_ours = bench.begin(5000 + round, 1);
            [child, thread_of_it, thread_of_ours].into_iter().for_each(|thread| bench.end(thread));
        }
        assert!(
            bench.stats.len() < 10 && bench.roster.apps.len() < 6,
            "{} threads",
            bench.stats.len()
        );
        assert_eq!((bench.roster.by_tid.len(), bench.roster.by_process.len()), (1, 1));
        let all = bench.all();
        assert_eq!(
            (all.time_on[KindId(0)], all.waiting, all.blocked),
            (Nanos(300_100), Nanos(3001), Nanos(6002))
        );
        assert_eq!(all.migrations, 9003);
        let forgotten = bench.roster.forgotten();
        let (apps, shown, _) = bench.roster.remembered(&bench.stats, &bench.tids);
        assert_eq!((forgotten.apps + apps.len() as u64, shown.len()), (1001, 5));
        assert_eq!((forgotten.longest, apps[0].threads), (Nanos(40), 1001));
        assert_eq!(apps[shown[lasting.index()].app.index()].process, Tid(1));
    }

    #[test]
    fn a_remembered_thread_keeps_its_number() {
        let mut bench = Bench::new(2);
        let threads: Vec<_> = (1..4).map(|tid| bench.begin(tid, tid)).collect();
        threads[..2].iter().for_each(|&thread| bench.end(thread));
        assert_eq!(bench.begin(4, 4), ThreadId(3));
        bench.end(threads[2]);
        assert_eq!((bench.begin(5, 5), bench.begin(6, 6)), (threads[0], ThreadId(4)));
        assert_eq!(bench.stats[0].app, AppId(0), "the application's number, too");
    }

    #[test]
    fn a_number_in_proc_is_whose_it_was_given_last() {
        let mut bench = Bench::new(0);
        let (first, second) = (bench.begin(7, 7), bench.begin(8, 7));
        // The second executes a program: it is the first of its process now, and the first has
        // ended.
        bench.roster.renumber(second, Tid(8), Tid(7));
        bench.end(first);
        assert_eq!((bench.roster.known(Tid(7)), bench.roster.known(Tid(8))), (Some(second), None));
        assert_eq!(bench.roster.apps[0].live, 1);
    }
}
