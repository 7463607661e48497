//! The measures of a record, as columns of a table: names, units, meaning, which way is better.

use evenkeel_metrics::Record;

use crate::table::number;

/// Which value of a measure is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Best {
    /// The least.
    Least,
    /// The greatest.
    Greatest,
    /// None is: the measure explains others.
    None,
}

/// A measure.
pub(crate) struct Column {
    /// Name.
    pub title: &'static str,
    /// Unit; empty: a ratio or a count.
    pub unit: &'static str,
    /// Which value is best.
    pub best: Best,
    /// Where a table is too wide, the column of the greatest rank goes first.
    pub rank: u8,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    count: bool,
    get: fn(&Record) -> Option<f64>,
}

impl Column {
    /// The measure of a run that did not fail.
    pub fn value(&self, record: &Record) -> Option<f64> {
        if record.error.is_some() { None } else { (self.get)(record).filter(|value| value.is_finite()) }
    }

    /// As people read it, without the unit.
    pub fn format(&self, value: f64) -> String {
        if self.count { format!("{value:.0}") } else { number(value) }
    }
}

/// All measures, in the order of tables.
pub(crate) fn columns() -> &'static [Column] {
    use Best::{Greatest, Least, None};
    macro_rules! column {
        ($title:literal, $unit:literal, $best:ident, $rank:literal, $count:literal, $get:expr, $meaning:literal) => {
            Column { title: $title, unit: $unit, best: $best, rank: $rank, count: $count, get: $get, meaning: $meaning }
        };
    }
    const ALL: &[Column] = &[
        column!(
            "time",
            "s",
            Least,
            0,
            false,
            |r| Some(r.makespan_s),
            "From the start of a run to the end of its last application."
        ),
        column!(
            "speedup",
            "",
            Greatest,
            1,
            false,
            |r| r.speedup,
            "Time on one core of the slowest kind, divided by the time. Only where a single application runs."
        ),
        column!("energy", "J", Least, 2, false, |r| r.energy_j, "Energy of all cores and clusters over the run."),
        column!("power", "W", None, 8, false, |r| r.mean_power_w, "Energy divided by time."),
        column!("EDP", "J s", Least, 3, false, |r| r.edp_js, "Energy-delay product: energy times time."),
        column!(
            "unfairness",
            "",
            Least,
            4,
            false,
            |r| r.unfairness,
            "Greatest slowdown divided by least slowdown; 1 is best. An application's slowdown is its completion time divided by its completion time alone with all the fastest cores."
        ),
        column!(
            "ASP",
            "",
            Greatest,
            5,
            false,
            |r| r.asp,
            "Aggregate speedup: the sum, over applications, of completion time alone on the slowest cores divided by completion time, less 1."
        ),
        column!(
            "STP",
            "",
            Greatest,
            6,
            false,
            |r| r.stp,
            "System throughput: the sum of 1 / slowdown (Eyerman and Eeckhout, IEEE Micro 2008)."
        ),
        column!(
            "ANTT",
            "",
            Least,
            9,
            false,
            |r| r.antt,
            "Average normalised turnaround time: the mean slowdown (Eyerman and Eeckhout, IEEE Micro 2008)."
        ),
        column!(
            "migrations",
            "",
            None,
            7,
            true,
            |r| Some(r.migrations as f64),
            "Times that a thread resumed on another core than its last."
        ),
        column!(
            "swaps",
            "",
            None,
            11,
            true,
            |r| (r.swaps > 0).then_some(r.swaps as f64),
            "Pairs of running threads that traded places."
        ),
        column!(
            "switches",
            "",
            None,
            10,
            true,
            |r| Some(r.context_switches as f64),
            "Times that a core took up another thread than it ran before."
        ),
        column!(
            "wake p99",
            "us",
            Least,
            12,
            false,
            |r| r.wakeup_latency_us.as_ref().map(|wake| wake.all.p99),
            "Time from wake-up to running that 99 % of wake-ups do not exceed."
        ),
    ];
    ALL
}
