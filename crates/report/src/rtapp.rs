//! The files that rt-app would write for a run: a log for each task, and its markers in a trace.
//!
//! ```text
//! rt-app-NAME.log     # Policy : SCHED_OTHER priority : 0
//!                     #idx perf run period start end rel_st slack c_duration c_period wu_lat
//!                     a row for each iteration, us
//! trace.txt           rtapp_main, rtapp_task, rtapp_phase, rtapp_loop, rtapp_stats, as text of
//!                     trace-cmd
//! ```
//!
//! As in rt-app, `run` is the time from the beginning to the end of the iteration's runs,
//! `c_duration` what they ask for, `period` how long it took, `c_period` what its timers ask for,
//! `slack` that of its last timer, `wu_lat` from the expiry of its timers to running again. `perf`
//! is in microseconds of the core that the file is calibrated on. The clock begins with the run.
//! Source: src/rt-app.c and src/rt-app_utils.c of scheduler-tools/rt-app; the trace is what LISA
//! reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use evenkeel_machine::{CoreId, Nanos};
use evenkeel_model::{Application, Class, Iteration, PhaseId, ThreadSpec};
use evenkeel_policy::{AppId, ThreadId};
use evenkeel_sim::{Listener, Stepped};

/// The phase of an rt-app file's runs: its first.
const RUN: PhaseId = PhaseId(0);

/// Listens to a run, and writes what rt-app would. The programs must report their iterations.
pub struct RtappLog<'a> {
    apps: &'a [Application],
    tasks: BTreeMap<ThreadId, Task>,
    /// Forked threads so far, by application and template.
    forks: BTreeMap<AppId, Vec<u32>>,
    trace: String,
}

/// The line that names the columns of a log.
const COLUMNS: &str = concat!(
    "#idx     perf      run   period           start             end          rel_st      slack \
     c_duration   c_period",
    "     wu_lat\n",
);

struct Task {
    name: String,
    index: usize,
    rows: String,
    is_one: bool,
    thread_loop: u64,
    phase: u32,
    phase_loop: u64,
    iteration: Row,
    /// The start of the run that it is in.
    runs_since: Option<Nanos>,
}

/// Sums over an iteration.
#[derive(Clone, Copy, Default)]
struct Row {
    start: Nanos,
    perf: Nanos,
    run: Nanos,
    slack: i64,
    asked_run: Nanos,
    asked_period: Nanos,
    latency: Nanos,
}

impl<'a> RtappLog<'a> {
    /// The log of a run of these applications.
    pub fn new(apps: &'a [Application]) -> Self {
        let mut log =
            Self { apps, tasks: BTreeMap::new(), forks: BTreeMap::new(), trace: String::new() };
        log.mark(Nanos::ZERO, CoreId(0), "rt-app", 0, "rtapp_main: event=start");
        log.mark(Nanos::ZERO, CoreId(0), "rt-app", 0, "rtapp_main: event=clock_ref data=0");
        log
    }

    /// Names and contents of the files; the trace is last. Empty if no program reported an
    /// iteration.
    pub fn files(mut self, end: Nanos) -> Vec<(String, String)> {
        self.mark(end, CoreId(0), "rt-app", 0, "rtapp_main: event=end");
        let tasks = self.tasks.into_values().filter(|task| task.is_one);
        let mut files: Vec<(String, String)> = tasks
            .map(|task| (format!("rt-app-{}.log", task.name.replace('/', "_")), task.rows))
            .collect();
        if !files.is_empty() {
            files.push(("trace.txt".to_owned(), self.trace));
        }
        files
    }

    fn mark(&mut self, at: Nanos, core: CoreId, name: &str, pid: u32, what: &str) {
        let (seconds, rest) = (at.0 / 1_000_000_000, at.0 % 1_000_000_000);
        let pid = pid + 1;
        let _ = writeln!(
            self.trace,
            "{name:>16}-{pid:<6} [{:03}] {seconds:>6}.{rest:09}: print:                \
             tracing_mark_write: {what}",
            core.0
        );
    }

    /// For a thread that starts: its specification, its name in rt-app, and its number among the
    /// file's threads. rt-app numbers forked threads after the others, and by fork.
    fn who(&mut self, app: AppId, name: &str) -> (Option<&'a ThreadSpec>, String, usize) {
        let Some(of) = self.apps.get(app.index()) else { return (None, name.to_owned(), 0) };
        if let Some(index) = of.threads.iter().position(|thread| thread.name == name) {
            return (Some(&of.threads[index]), name.to_owned(), index);
        }
        // Our names count threads in the order of their forks. Their starts come in another order
        // if one has a delay.
        let (base, number) = name.rsplit_once('-').unwrap_or((name, ""));
        let Some(template) = of.templates.iter().position(|template| template.name == base) else {
            return (None, name.to_owned(), 0);
        };
        let forks = self.forks.entry(app).or_insert_with(|| vec![0; of.templates.len()]);
        let index = of.threads.len() + number.parse::<usize>().unwrap_or_default();
        let called = format!("{base}-{index}-{:04}", forks[template]);
        forks[template] += 1;
        (Some(&of.templates[template]), called, index)
    }

    fn begins(&mut self, at: Nanos, thread: ThreadId, core: CoreId) {
        let Some(task) = self.tasks.get_mut(&thread) else { return };
        task.iteration = Row { start: at, ..Row::default() };
        task.is_one = true;
        let (name, first) = (task.name.clone(), task.phase_loop == 0);
        let of_phase = format!("event=start thread_loop={} phase={}", task.thread_loop, task.phase);
        let of_loop = format!("rtapp_loop: {of_phase} phase_loop={}", task.phase_loop);
        if first {
            self.mark(at, core, &name, thread.0 + 1, &format!("rtapp_phase: {of_phase}"));
        }
        self.mark(at, core, &name, thread.0 + 1, &of_loop);
    }

    fn ends(&mut self, at: Nanos, thread: ThreadId, core: CoreId, of: u32, loops: Option<u64>) {
        let Some(task) = self.tasks.get_mut(&thread) else { return };
        let row = task.iteration;
        let us = |time: Nanos| time.0 / 1_000;
        let period = at.saturating_sub(row.start);
        let slack = row.slack / 1_000;
        let _ = writeln!(
            task.rows,
            "{:4} {:8} {:8} {:8} {:15} {:15} {:15} {slack:10} {:10} {:10} {:10}",
            task.index,
            us(row.perf),
            us(row.run),
            us(period),
            us(row.start),
            us(at),
            us(row.start),
            us(row.asked_run),
            us(row.asked_period),
            us(row.latency),
        );
        let name = task.name.clone();
        let of_phase = format!("event=end thread_loop={} phase={}", task.thread_loop, task.phase);
        let mut marks = vec![
            format!("rtapp_loop: {of_phase} phase_loop={}", task.phase_loop),
            format!(
                "rtapp_stats: period={} run={} wu_lat={} slack={slack} c_period={} c_run={}",
                us(period),
                us(row.run),
                us(row.latency),
                us(row.asked_period),
                us(row.asked_run),
            ),
        ];
        task.phase_loop += 1;
        if Some(task.phase_loop) == loops {
            marks.push(format!("rtapp_phase: {of_phase}"));
            (task.phase_loop, task.phase) = (0, task.phase + 1);
            if task.phase == of {
                (task.phase, task.thread_loop) = (0, task.thread_loop + 1);
            }
        }
        marks.iter().for_each(|mark| self.mark(at, core, &name, thread.0 + 1, mark));
    }
}

impl Listener for RtappLog<'_> {
    fn started(&mut self, at: Nanos, thread: ThreadId, app: AppId, name: &str) {
        let (spec, name, index) = self.who(app, name);
        let (policy, priority) = spec.map_or(("SCHED_OTHER", 0), policy);
        let mut rows = format!("# Policy : {policy} priority : {priority}\n");
        rows.push_str(COLUMNS);
        let task = Task {
            name: name.clone(),
            index,
            rows,
            is_one: false,
            thread_loop: 0,
            phase: 0,
            phase_loop: 0,
            iteration: Row::default(),
            runs_since: None,
        };
        self.tasks.insert(thread, task);
        self.mark(at, CoreId(0), &name, thread.0 + 1, "rtapp_task: event=start");
    }

    fn ended(&mut self, at: Nanos, thread: ThreadId) {
        if let Some(name) = self.tasks.get(&thread).map(|task| task.name.clone()) {
            self.mark(at, CoreId(0), &name, thread.0 + 1, "rtapp_task: event=end");
        }
    }

    fn stepped(&mut self, at: Nanos, thread: ThreadId, core: CoreId, step: Stepped) {
        let Some(task) = self.tasks.get_mut(&thread) else { return };
        let row = &mut task.iteration;
        if let Some(since) = task.runs_since.take() {
            row.run += at.saturating_sub(since);
        }
        match step {
            Stepped::Compute { work, phase: RUN } => {
                row.asked_run += Nanos(work.0);
                row.perf += Nanos(work.0);
                task.runs_since = Some(at);
            }
            Stepped::Busy(time) => {
                row.asked_run += time;
                row.perf += time;
                task.runs_since = Some(at);
            }
            Stepped::Timer { period, slack } => {
                row.asked_period += period;
                row.slack = slack;
            }
            Stepped::Expired(Some(latency)) => row.latency += latency,
            Stepped::Expired(None) => row.latency = Nanos::ZERO,
            Stepped::Iteration(Iteration::Begins) => self.begins(at, thread, core),
            Stepped::Iteration(Iteration::Ends { of, loops, .. }) => {
                self.ends(at, thread, core, of, loops)
            }
            Stepped::Compute { .. } | Stepped::Other => {}
        }
    }
}

/// Policy and priority, as rt-app names them.
fn policy(thread: &ThreadSpec) -> (&'static str, i32) {
    match thread.class {
        Class::Normal => ("SCHED_OTHER", i32::from(thread.nice)),
        Class::Idle => ("SCHED_IDLE", 0),
        Class::RealTime { priority, round_robin: false } => ("SCHED_FIFO", i32::from(priority)),
        Class::RealTime { priority, round_robin: true } => ("SCHED_RR", i32::from(priority)),
        Class::Deadline { .. } => ("SCHED_DEADLINE", 0),
    }
}
