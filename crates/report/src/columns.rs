//! The measures of a record as columns of a table: names, units, meaning, and which way is better.

use evenkeel_metrics::Record;

use crate::figure::number;
use crate::labels::OVER_ONE_SLOW;

/// Which value of a measure is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Best {
    /// The least.
    Least,
    /// The greatest.
    Greatest,
    /// No value is best: the measure explains others.
    None,
}

/// A measure.
pub(crate) struct Column {
    /// Name.
    pub title: &'static str,
    /// Unit, or what a ratio is over; empty: a ratio or a count.
    pub unit: &'static str,
    /// Which value is best.
    pub best: Best,
    /// If a table is too wide, the column of the greatest rank is dropped first.
    pub rank: u8,
    /// True if it compares applications that run together.
    pub of_several: bool,
    /// Its meaning, in a sentence.
    pub meaning: &'static str,
    count: bool,
    /// Its path in a record.
    path: &'static str,
    get: fn(&Record) -> Option<f64>,
}

impl Column {
    /// The measure of a run that did not fail.
    pub fn value(&self, record: &Record) -> Option<f64> {
        if record.error.is_some() {
            None
        } else {
            (self.get)(record).filter(|value| value.is_finite())
        }
    }

    /// Half the width of the 95 % interval of the value; `None`: it is of one run.
    pub fn interval(&self, record: &Record) -> Option<f64> {
        let seeds = record.seeds.as_ref()?;
        seeds.ci95.get(self.path).copied()
    }

    /// The value of a record for people, with its interval where it has one.
    pub fn cell(&self, record: &Record) -> Option<String> {
        let value = self.format(self.value(record)?);
        Some(match self.interval(record) {
            Some(interval) if interval > 0.0 => format!("{value} ±{}", number(interval)),
            _ => value,
        })
    }

    /// The value for people, without the unit.
    pub fn format(&self, value: f64) -> String {
        if self.count { format!("{value:.0}") } else { number(value) }
    }
}

/// The measures that any of the records has. Measures that compare applications are left out if
/// each application runs alone: then they only repeat the time.
pub(crate) fn shown(records: &[&Record]) -> Vec<&'static Column> {
    let several = records.iter().any(|record| record.apps.len() > 1);
    let has = |column: &&Column| records.iter().any(|record| column.value(record).is_some());
    columns().filter(|column| several || !column.of_several).filter(has).collect()
}

/// All measures, in the order of tables.
fn columns() -> impl Iterator<Item = &'static Column> {
    [OF_TIME, OF_ENERGY, OF_SEVERAL, OF_THREADS, OF_WAITS].into_iter().flatten()
}

const OF_TIME: &[Column] = &[
    measure("time", "makespan_s", "s", Best::Least, 0, |r| Some(r.makespan_s))
        .means("From the start of a run to the end of its last application."),
    measure("speedup", "speedup", OVER_ONE_SLOW, Best::Greatest, 1, |r| r.speedup).means(
        "Time on one core of the slowest kind, divided by the time. Only where a single \
         application runs.",
    ),
    measure("SLR", "graph.slr", "", Best::Least, 1, |r| r.graph.as_ref()?.slr).means(
        "Schedule length ratio of a task graph: the time, divided by its critical path with each \
         task on the core that is fastest for it.",
    ),
    measure("over serial", "graph.speedup", "", Best::Greatest, 1, |r| r.graph.as_ref()?.speedup)
        .means(
            "Time of all tasks one after the other on the best single core, divided by the time.",
        ),
    measure("efficiency", "graph.efficiency", "", Best::Greatest, 2, |r| {
        r.graph.as_ref()?.efficiency
    })
    .means("The speedup over the best single core, divided by the number of cores."),
    measure("path", "graph.critical_path_s", "s", Best::None, 3, |r| {
        r.graph.as_ref().map(|graph| graph.critical_path_s)
    })
    .means(
        "Critical path of the task graph, each task on the core that is fastest for it: no \
             schedule is shorter.",
    ),
];

const OF_ENERGY: &[Column] = &[
    measure("energy", "energy_j", "J", Best::Least, 2, |r| r.energy_j)
        .means("Energy of all cores and clusters over the run."),
    measure("power", "mean_power_w", "W", Best::None, 8, |r| r.mean_power_w)
        .means("Energy divided by time."),
    measure("EDP", "edp_js", "J s", Best::Least, 3, |r| r.edp_js)
        .means("Energy-delay product: energy times time."),
];

/// Measures of applications that run together.
const OF_SEVERAL: &[Column] = &[
    measure("unfairness", "unfairness", "", Best::Least, 4, |r| r.unfairness).of_several().means(
        "Greatest slowdown divided by least slowdown; 1 is best. An application's slowdown is its \
         completion time divided by its completion time alone with all the fastest cores.",
    ),
    measure("ASP", "asp", "", Best::Greatest, 5, |r| r.asp).of_several().means(
        "Aggregate speedup: the sum, over applications, of completion time alone on the slowest \
         cores divided by completion time, less 1.",
    ),
    measure("STP", "stp", "", Best::Greatest, 6, |r| r.stp).of_several().means(
        "System throughput: the sum of 1 / slowdown (Eyerman and Eeckhout, IEEE Micro 2008).",
    ),
    measure("ANTT", "antt", "", Best::Least, 9, |r| r.antt).of_several().means(
        "Average normalised turnaround time: the mean slowdown (Eyerman and Eeckhout, IEEE Micro \
         2008).",
    ),
];

/// What threads did on the cores.
const OF_THREADS: &[Column] = &[
    measure("migrations", "migrations", "", Best::None, 7, |r| Some(r.migrations as f64))
        .count()
        .means("Times that a thread resumed on another core than its last."),
    measure("swaps", "swaps", "", Best::None, 11, |r| (r.swaps > 0).then_some(r.swaps as f64))
        .count()
        .means("Pairs of running threads that traded places."),
    measure("switches", "context_switches", "", Best::None, 10, |r| {
        Some(r.context_switches as f64)
    })
    .count()
    .means("Times that a core took up another thread than it ran before."),
];

/// How threads came on after waits.
const OF_WAITS: &[Column] = &[
    measure("wake p99", "wakeup_latency_us.p99", "us", Best::Least, 12, |r| {
        r.wakeup_latency_us.as_ref().map(|wake| wake.all.p99)
    })
    .means("Time from wake-up to running that 99 % of wake-ups do not exceed."),
    measure("missed", "timers.missed", "", Best::None, 2, |r| {
        Some(r.timers?.missed as f64).filter(|missed| *missed > 0.0)
    })
    .count()
    .means("Missed deadlines: waits for a timer that began after it had expired."),
    measure("least slack", "timers.least_slack_us", "us", Best::Greatest, 14, |r| {
        Some(r.timers?.least_slack_us)
    })
    .means(
        "Least time from the beginning of a wait for a timer to its expiry; less than 0: it was \
         missed.",
    ),
];

const fn measure(
    title: &'static str,
    path: &'static str,
    unit: &'static str,
    best: Best,
    rank: u8,
    get: fn(&Record) -> Option<f64>,
) -> Column {
    Column { title, unit, best, rank, of_several: false, meaning: "", count: false, path, get }
}

impl Column {
    const fn means(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    const fn of_several(self) -> Self {
        Self { of_several: true, ..self }
    }

    const fn count(self) -> Self {
        Self { count: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_called_best_has_an_interval_where_it_is_a_mean_over_seeds() {
        for column in columns().filter(|column| column.best != Best::None) {
            assert!(evenkeel_metrics::has_interval(column.path), "{}", column.path);
        }
    }
}
