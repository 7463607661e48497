//! What a row says: one for each application of a case, or one with the error of a case that
//! failed.

use std::sync::Arc;

use evenkeel_metrics::{AppRow, Record};
use serde::Serialize;

use crate::axis::Value;
use crate::case::Case;
use crate::grid::Grid;
use crate::table::{Column, Table};

/// What a column says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnInfo {
    /// Name.
    pub name: &'static str,
    /// `text`, `whole`, `number`, or `numbers`, which is a list.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
}

/// Of what a row is.
struct Row<'a> {
    identity: &'a str,
    case: &'a Case,
    record: &'a Record,
    app: Option<(usize, &'a AppRow)>,
}

/// A value in a row. Rows of a case share their text.
#[derive(Clone)]
enum Cell {
    Text(Option<Arc<str>>),
    Whole(Option<i64>),
    Number(Option<f64>),
    Numbers(Option<Vec<f64>>),
}

impl Row<'_> {
    /// A figure of the run; none if it failed.
    fn run<T>(&self, of: impl FnOnce(&Record) -> Option<T>) -> Option<T> {
        if self.record.error.is_some() { None } else { of(self.record) }
    }

    fn app<T>(&self, of: impl FnOnce(&AppRow) -> Option<T>) -> Option<T> {
        self.app.and_then(|(_, app)| of(app))
    }

    fn axis(&self, axis: &str) -> Option<&Value> {
        self.case.get(axis)
    }
}

fn text(value: impl ToString) -> Cell {
    Cell::Text(Some(value.to_string().into()))
}

fn words(value: Option<String>) -> Cell {
    Cell::Text(value.map(Into::into))
}

fn count(value: Option<u64>) -> Cell {
    Cell::Whole(value.and_then(|count| i64::try_from(count).ok()))
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Whole(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

macro_rules! columns {
    ($($const:ident { $($name:literal $kind:literal $about:literal $of:expr;)* })*) => {
        $(const $const: &[(ColumnInfo, fn(&Row) -> Cell)] =
            &[$((ColumnInfo { name: $name, kind: $kind, about: $about }, $of)),*];)*
    };
}

// The first ones are the same in all rows of a case.
columns! {
    OF_CASE {
    "case" "text" "identity of the case: first half of the SHA-256 of its description"
        |row| text(row.identity);
    "model" "whole" "version of what is simulated" |_| count(Some(evenkeel_sim::MODEL));
    "cores" "text" "cores in use by kind, fastest first"
        |row| words(Some(row.record.cores.clone()).filter(|cores| !cores.is_empty()));
    "workload" "text" "workloads that ran together" |row| text(row.record.workloads.join(" + "));
    "size" "number" "scale of built-in workloads"
        |row| Cell::Number(row.axis("size").map_or(Some(1.0), number));
    "seed" "whole" "seed" |row| count(Some(row.record.seed));
    "estimator" "text" "where policies had speedup factors from"
        |row| text(row.axis("estimator").map_or("oracle".into(), ToString::to_string));
    "governor" "text" "how clusters chose their clock"
        |row| text(row.axis("governor").map_or("performance".into(), ToString::to_string));
    "knobs" "text" "every knob of the policy in force, a JSON object" |row| {
        words(row.run(|record| serde_json::to_string(&record.knobs).ok()))
    };
    "makespan_s" "number" "from the start to the end of the run, seconds"
        |row| Cell::Number(row.run(|record| Some(record.makespan_s)));
    "speedup" "number" "time on one core of the slowest kind / makespan, for one application"
        |row| Cell::Number(row.run(|record| record.speedup));
    "energy_j" "number" "energy, joules; null without a power model"
        |row| Cell::Number(row.run(|record| record.energy_j));
    "mean_power_w" "number" "energy / makespan, watts"
        |row| Cell::Number(row.run(|record| record.mean_power_w));
    "edp_js" "number" "energy-delay product, joule seconds"
        |row| Cell::Number(row.run(|record| record.edp_js));
    "unfairness" "number" "greatest slowdown / least; null for one application"
        |row| Cell::Number(row.run(|record| record.unfairness));
    "asp" "number" "aggregate speedup" |row| Cell::Number(row.run(|record| record.asp));
    "stp" "number" "system throughput: sum of 1 / slowdown"
        |row| Cell::Number(row.run(|record| record.stp));
    "antt" "number" "average normalised turnaround time: mean slowdown"
        |row| Cell::Number(row.run(|record| record.antt));
    "migrations" "whole" "times that a thread resumed on another core"
        |row| count(row.run(|record| Some(record.migrations)));
    "swaps" "whole" "pairs of threads that traded places"
        |row| count(row.run(|record| Some(record.swaps)));
    "context_switches" "whole" "times that a core took up another thread"
        |row| count(row.run(|record| Some(record.context_switches)));
    "wakeup_p50_us" "number" "from wake-up to running, median, microseconds; null: no thread woke"
        |row| Cell::Number(row.run(|it| Some(it.wakeup_latency_us.as_ref()?.all.p50)));
    "wakeup_p99_us" "number" "what 99 % of wake-ups do not exceed, microseconds"
        |row| Cell::Number(row.run(|it| Some(it.wakeup_latency_us.as_ref()?.all.p99)));
    "wakeup_max_us" "number" "the greatest of them, microseconds"
        |row| Cell::Number(row.run(|it| Some(it.wakeup_latency_us.as_ref()?.all.max)));
    "deadlines" "whole" "waits for a timer; null: none"
        |row| count(row.run(|record| Some(record.timers?.waits)));
    "missed" "whole" "waits that began after their timer had expired"
        |row| count(row.run(|record| Some(record.timers?.missed)));
    "slr" "number" "schedule length ratio of a task graph: makespan / critical path"
        |row| Cell::Number(row.run(|record| record.graph.as_ref()?.slr));
    "graph_bound_s" "number" "no schedule of the task graph is shorter, seconds"
        |row| Cell::Number(row.run(|record| Some(record.graph.as_ref()?.bound_s)));
    }
    OF_APP {
    "app" "whole" "number of the application, from 0; null where the case failed"
        |row| count(row.app.map(|(number, _)| number as u64));
    "application" "text" "its name" |row| words(row.app(|app| Some(app.name.clone())));
    "threads" "whole" "threads that it had, forked ones included"
        |row| count(row.app(|app| Some(app.threads.into())));
    "completion_s" "number" "its completion time, seconds"
        |row| Cell::Number(row.app(|app| Some(app.completion_s)));
    "slowdown" "number" "completion time / that alone with all the fastest cores"
        |row| Cell::Number(row.app(|app| app.slowdown));
    "cut_at_s" "number" "after how long a set duration ended it, seconds; null: it was done"
        |row| Cell::Number(row.app(|app| app.cut_at_s));
    "alone_fast_s" "number" "completion time alone with all the fastest cores, seconds"
        |row| Cell::Number(row.app(|app| Some(app.alone_fast_s)));
    "alone_slow_s" "number" "completion time alone with all the slowest cores, seconds"
        |row| Cell::Number(row.app(|app| Some(app.alone_slow_s)));
    "time_on_kind_s" "numbers" "time of its threads on each kind, fastest first, seconds"
        |row| Cell::Numbers(row.app(|app| Some(app.time_on_kind_s.values().copied().collect())));
    "wait_s" "number" "time that its threads waited for a core, seconds"
        |row| Cell::Number(row.app(|app| Some(app.wait_s)));
    "blocked_s" "number" "time that its threads were blocked, seconds"
        |row| Cell::Number(row.app(|app| Some(app.blocked_s)));
    "app_migrations" "whole" "times that a thread of it resumed on another core"
        |row| count(row.app(|app| Some(app.migrations)));
    "error" "text" "why the case failed; null: it did not"
        |row| words(row.record.error.clone());
    }
}

/// Axes that all tables have a column for, or a folder.
const ALWAYS: [&str; 7] =
    ["machine", "policy", "workload", "size", "seed", "estimator", "governor"];

/// The column of an axis: `cores` is what is in use, `cores_asked` what the axis says.
pub(crate) fn column_of(axis: &str) -> String {
    if axis == "cores" { "cores_asked".to_owned() } else { axis.replace('-', "_") }
}

/// The columns that every table has, in order. After them come those of the grid's other axes,
/// by the axes' names: `acfs.swap`, `cores_asked`.
pub fn columns() -> impl Iterator<Item = ColumnInfo> {
    OF_CASE.iter().chain(OF_APP).map(|(info, _)| *info)
}

/// The table of runs that are of no grid: machine and policy, as cases name them, and the columns
/// that every table has.
#[must_use]
pub fn table_of(runs: &[(Case, Record)]) -> Table {
    let layout = Layout { axes: Vec::new() };
    let all: Vec<Rows> = runs.iter().map(|(case, record)| layout.rows(case, record)).collect();
    let label = |axis: &str| {
        let of = runs.iter().zip(&all).flat_map(|((case, _), rows)| {
            let value = case.get(axis).map(|value| value.to_string().into());
            std::iter::repeat_n(value, rows.count)
        });
        Column::Text(of.collect())
    };
    let labels = Table::default().with("machine", label("machine"));
    let labels = labels.with("policy", label("policy"));
    let rest = layout.table(all).into_columns();
    rest.fold(labels, |table, (name, column)| table.with(&name, column))
}

/// The columns of a grid's tables, the same for all of its cases.
pub(crate) struct Layout {
    /// Axes that have a column of their own, its name and kind.
    axes: Vec<(String, String, &'static str)>,
}

/// The rows of a case, cell by cell. Of a finished case no more is kept: a thousand records would
/// make the memory that the engine works in a patchwork.
pub(crate) struct Rows {
    count: usize,
    /// The same in each row.
    of_case: Vec<Cell>,
    /// Row by row.
    of_apps: Vec<Cell>,
    /// The same in each row, of axes that have a column.
    of_axes: Vec<Cell>,
}

impl Layout {
    /// Of a grid.
    pub fn of(grid: &Grid) -> Self {
        let with_column = grid.axes().filter(|(axis, _)| !ALWAYS.contains(axis));
        let axes =
            with_column.map(|(axis, values)| (axis.to_owned(), column_of(axis), kind(values)));
        Self { axes: axes.collect() }
    }

    fn columns(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let own = self.axes.iter().map(|(_, name, kind)| (name.as_str(), *kind));
        columns().map(|info| (info.name, info.kind)).chain(own)
    }

    /// The rows of a case.
    pub fn rows(&self, case: &Case, record: &Record) -> Rows {
        let identity = &case.identity();
        let apps = if record.error.is_some() { &[] } else { record.apps.as_slice() };
        let row = |app| Row { identity, case, record, app };
        let count = apps.len().max(1);
        let of_apps = (0..count).flat_map(|app| {
            let row = row(apps.get(app).map(|it| (app, it)));
            OF_APP.iter().map(move |(_, of)| of(&row))
        });
        let axes = self.axes.iter().map(|(axis, _, kind)| of_axis(case.get(axis), kind));
        Rows {
            count,
            of_case: OF_CASE.iter().map(|(_, of)| of(&row(None))).collect(),
            of_apps: of_apps.collect(),
            of_axes: axes.collect(),
        }
    }

    /// The table of some cases.
    pub fn table(&self, cases: Vec<Rows>) -> Table {
        let names: Vec<(&str, &str)> = self.columns().collect();
        let mut columns: Vec<Column> =
            names.iter().map(|(_, kind)| Column::of_kind(kind)).collect();
        let of_axes = OF_CASE.len() + OF_APP.len();
        for Rows { count, of_case, of_apps, of_axes: axes } in cases {
            let same = of_case.into_iter().enumerate();
            for (place, cell) in same.chain((of_axes..).zip(axes)) {
                columns[place].push(&cell, count);
            }
            for (number, cell) in of_apps.iter().enumerate() {
                columns[OF_CASE.len() + number % OF_APP.len()].push(cell, 1);
            }
        }
        let pairs = names.iter().zip(columns);
        pairs.fold(Table::default(), |table, ((name, _), column)| table.with(name, column))
    }
}

impl Column {
    /// Adds so many rows with the same value.
    fn push(&mut self, cell: &Cell, count: usize) {
        match (cell, self) {
            (Cell::Text(value), Self::Text(values)) => {
                values.extend(std::iter::repeat_n(value.clone(), count));
            }
            (Cell::Whole(value), Self::Whole(values)) => {
                values.extend(std::iter::repeat_n(*value, count));
            }
            (Cell::Number(value), Self::Number(values)) => {
                values.extend(std::iter::repeat_n(*value, count));
            }
            (Cell::Numbers(value), Self::Numbers(values)) => {
                values.extend(std::iter::repeat_n(value.clone(), count));
            }
            // A test goes through all columns.
            _ => debug_assert!(false, "a cell of another kind than its column"),
        }
    }
}

/// The kind of column that all values of an axis have in common.
fn kind(values: &[Value]) -> &'static str {
    if values.iter().all(|value| matches!(value, Value::Whole(_))) {
        "whole"
    } else if values.iter().all(|value| number(value).is_some()) {
        "number"
    } else {
        "text"
    }
}

fn of_axis(value: Option<&Value>, kind: &str) -> Cell {
    match (kind, value) {
        ("whole", Some(Value::Whole(number))) => Cell::Whole(Some(*number)),
        ("whole", _) => Cell::Whole(None),
        ("number", value) => Cell::Number(value.and_then(number)),
        (_, value) => words(value.map(ToString::to_string)),
    }
}
