//! Numbers of what a pool has done so far, and a table of them.

use std::fmt;
use std::time::Instant;

use evenkeel_machine::Nanos;

use crate::costs::Cost;
use crate::registry::Registry;
use crate::team::{KindOfCore, Place};

/// What a pool has done since it was made: see [`crate::Pool::summary`]. Its `Display` is a table
/// of several lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How long the pool has been there.
    pub age: Nanos,
    /// Indexed by worker.
    pub workers: Vec<Work>,
    /// Totals by kind of core, fastest first.
    pub kinds: Vec<(KindOfCore, Work)>,
    /// Costs of tasks with names: [`crate::Pool::costs`].
    pub costs: Vec<Cost>,
    /// Indexed by worker.
    pub places: Vec<Place>,
}

/// What a worker, or several together, has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Tasks that it has run: independent ones, those with dependences, those of recorded graphs,
    /// and in pipelines an item's way to the next place where it had to wait.
    pub tasks: u64,
    /// Chunks of loops that it has run.
    pub chunks: u64,
    /// Tasks with names that it has left to faster workers, once for each time, and loops that it
    /// has left before their end.
    pub declined: u64,
    /// Deques of others that it has looked into when it had nothing to do.
    pub steals_tried: u64,
    /// Jobs that it has found there.
    pub steals_got: u64,
    /// Times that it has lent its core to a worker that had lost its own with work to do, or was at
    /// work on a slower one: [`crate::Builder::lend`].
    pub lent: u64,
    /// At work.
    pub busy: Nanos,
    /// Looking for work.
    pub looking: Nanos,
    /// Asleep.
    pub asleep: Nanos,
}

impl Work {
    fn and(self, other: Self) -> Self {
        Self {
            tasks: self.tasks + other.tasks,
            chunks: self.chunks + other.chunks,
            declined: self.declined + other.declined,
            steals_tried: self.steals_tried + other.steals_tried,
            steals_got: self.steals_got + other.steals_got,
            lent: self.lent + other.lent,
            busy: self.busy + other.busy,
            looking: self.looking + other.looking,
            asleep: self.asleep + other.asleep,
        }
    }
}

impl Summary {
    /// The summary of a pool, as of about now.
    pub(crate) fn of(registry: &Registry) -> Self {
        let age = registry.since_made(Instant::now());
        let work = registry.counts.iter().map(|counts| {
            let [busy, looking, asleep] = counts.times(age);
            Work {
                tasks: counts.tasks.get(),
                chunks: counts.chunks.get(),
                declined: counts.declined.get(),
                steals_tried: counts.steals_tried.get(),
                steals_got: counts.steals_got.get(),
                lent: counts.lent.get(),
                busy,
                looking,
                asleep,
            }
        });
        let mut workers: Vec<_> = work.collect();
        let places = registry.team.places.clone();
        // The reserve works for the worker. It stands by otherwise, and is neither busy nor idle.
        for reserve in workers.drain(places.len()..).collect::<Vec<_>>() {
            workers[0] = workers[0].and(Work {
                busy: Nanos::ZERO,
                looking: Nanos::ZERO,
                asleep: Nanos::ZERO,
                ..reserve
            });
        }
        let of_kind = |kind: &KindOfCore| {
            let its = workers.iter().zip(&places).filter(|(_, place)| place.kind == kind.id);
            (kind.clone(), its.fold(Work::default(), |sum, (work, _)| sum.and(*work)))
        };
        let kinds = registry.team.kinds.iter().map(of_kind).collect();
        Self { age, workers, kinds, costs: registry.costs.all(), places }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind_of = |place: &Place| self.kinds.iter().find(|(kind, _)| kind.id == place.kind);
        let seconds = |time: Nanos| format!("{:.3}", time.0 as f64 / 1e9);
        writeln!(f, "evenkeel: {} workers, {} s", self.workers.len(), seconds(self.age))?;
        let header = [
            "",
            "kind",
            "tasks",
            "chunks",
            "busy s",
            "looking s",
            "asleep s",
            "steals",
            "of tries",
            "declined",
            "lent",
        ];
        let row = |name: String, kind: &str, work: &Work| {
            let counts = [work.steals_got, work.steals_tried, work.declined, work.lent]
                .map(|count| count.to_string());
            let times = [work.busy, work.looking, work.asleep].map(seconds);
            let first = [name, kind.to_string(), work.tasks.to_string(), work.chunks.to_string()];
            first.into_iter().chain(times).chain(counts).collect::<Vec<_>>()
        };
        let mut rows = vec![header.map(String::from).to_vec()];
        for ((worker, work), place) in self.workers.iter().enumerate().zip(&self.places) {
            rows.push(row(
                format!("worker {worker}"),
                kind_of(place).map_or("", |it| &it.0.name),
                work,
            ));
        }
        for (kind, work) in self.kinds.iter().filter(|_| self.kinds.len() > 1) {
            rows.push(row(format!("all {}", kind.name), &kind.name, work));
        }
        table(f, &rows, 2)?;
        if self.costs.is_empty() {
            return Ok(());
        }
        let mut rows = vec![["cost of", "kind", "us"].map(String::from).to_vec()];
        for cost in &self.costs {
            let kind = self
                .kinds
                .iter()
                .find(|(kind, _)| kind.id == cost.kind)
                .map_or("", |it| &it.0.name);
            rows.push(vec![
                cost.label.into(),
                kind.into(),
                format!("{:.3}", cost.time.0 as f64 / 1e3),
            ]);
        }
        table(f, &rows, 2)
    }
}

/// Columns as wide as they have to be; the first `left` of them begin at the left, the others end
/// at the right.
fn table(f: &mut fmt::Formatter<'_>, rows: &[Vec<String>], left: usize) -> fmt::Result {
    let columns = rows.first().map_or(0, Vec::len);
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column < left { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::KindId;

    use super::*;

    #[test]
    fn a_table_has_a_row_per_worker_and_per_kind_and_costs_below() {
        let kind =
            |id, name: &str| KindOfCore { id: KindId(id), name: name.into(), capacity: 1024 };
        let work = |tasks| Work {
            tasks,
            busy: Nanos(1_500_000_000),
            steals_got: 3,
            steals_tried: 40,
            ..Work::default()
        };
        let summary = Summary {
            age: Nanos(2_000_000_000),
            workers: vec![work(100), work(20)],
            kinds: vec![(kind(0, "P"), work(100)), (kind(1, "E"), work(20))],
            costs: vec![Cost { label: "step", kind: KindId(1), time: Nanos(2_500) }],
            places: [0, 1].map(|id| Place { kind: KindId(id), cpu: Some(id.into()) }).to_vec(),
        };
        let expected = "\
evenkeel: 2 workers, 2.000 s
          kind  tasks  chunks  busy s  looking s  asleep s  steals  of tries  declined  lent
worker 0  P       100       0   1.500      0.000     0.000       3        40         0     0
worker 1  E        20       0   1.500      0.000     0.000       3        40         0     0
all P     P       100       0   1.500      0.000     0.000       3        40         0     0
all E     E        20       0   1.500      0.000     0.000       3        40         0     0
cost of  kind     us
step     E     2.500
";
        assert_eq!(summary.to_string(), expected);
    }
}
