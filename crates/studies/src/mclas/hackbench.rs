//! hackbench: many threads that hand messages around and want to run all at once.
//!
//! The main thread creates all others, so they begin in its state. Its own parent is a shell that
//! mostly waits, and a thread that mostly waits falls to LP. So the main thread begins as LP.

use evenkeel_machine::{KindId, Machine, Nanos};
use evenkeel_sim::Outcome;

use super::{MACHINE, SCHEDULERS};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "1, 10, 20 .. 200 groups of 20 senders and 20 receivers, threads \
                                  or processes over pipes or sockets, 20 messages from each sender \
                                  to each receiver of its group (hackbench's own default is \
    100), on all eight cores and on one little core alone (the boot core; with one kind mclas is \
    bfs). A main thread forks all others; as in hackbench the time is from when all are ready to \
    the last one's end. \
    Then on eight cores with all threads there from the start, nobody's children, who set \
    themselves up in the time that is told: all deadlines are equal. \
    The share on big cores is that of all time that threads ran under mclas. --quick: 1, 20 and 60 \
    groups.";

const VARIANTS: [(&str, &str); 4] = [
    ("threads, pipes", "mode=thread,channel=pipe"),
    ("threads, sockets", "mode=thread,channel=socket"),
    ("processes, pipes", "mode=process,channel=pipe"),
    ("processes, sockets", "mode=process,channel=socket"),
];

/// The machine and the start of the threads, with their description.
const SCENES: [(&str, &str, Start); 3] = [
    ("on eight cores", "4big+4little", Start::Forked),
    ("on one core", "1little", Start::Forked),
    ("on eight cores, all there from the start", "4big+4little", Start::Together),
];

/// How the threads of hackbench are created.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    /// One after the other, by a main thread.
    Forked,
    /// All at once.
    Together,
}

impl Start {
    const fn knob(self) -> &'static str {
        match self {
            Self::Forked => "start=forked",
            Self::Together => "start=together",
        }
    }
}

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let machine = evenkeel_files::machines::preset(MACHINE)?;
    let groups: Vec<u32> = if runs.quick {
        vec![1, 20, 60]
    } else {
        std::iter::once(1).chain((10..=200).step_by(10)).collect()
    };
    let points: Vec<(&str, &str, u32)> = VARIANTS
        .iter()
        .flat_map(|&(name, knobs)| groups.iter().map(move |&groups| (name, knobs, groups)))
        .collect();
    let exhibit =
        |&(what, cores, start): &_| exhibit(&machine.subset(cores)?, what, start, &points, runs);
    SCENES.iter().map(exhibit).collect()
}

fn exhibit(
    machine: &Machine,
    what: &str,
    start: Start,
    points: &[(&str, &str, u32)],
    runs: &Runs,
) -> Result<Exhibit, StudyError> {
    // Keeps only the figures of a run's outcome, one point at a time: two hundred groups are eight
    // thousand threads.
    let rows = runs.each(points, |&(name, knobs, groups)| {
        let apps = runs.load(
            machine,
            &format!("hackbench:groups={groups},{},{knobs}", start.knob()),
            1.0,
        )?;
        let outcomes =
            SCHEDULERS.map(|(_, policy)| runs.case(machine, apps.clone(), policy).carry_out());
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut row: Vec<Cell> = vec![name.into(), groups.into()];
        row.extend(outcomes.iter().map(|outcome| Cell::from(time_s(outcome, start))));
        row.push(outcomes.last().map(|outcome| 100.0 * share_on_fast(machine, outcome)).into());
        Ok(row)
    })?;
    let title = format!("hackbench {what}");
    let mut columns = vec![Column::new("hackbench", ""), Column::new("groups", "")];
    columns.extend(SCHEDULERS.map(|(name, _)| Column::new(name, "s")));
    columns.push(Column::new("mclas on big cores", "%"));
    let figure = Figure {
        panels: Some("hackbench".into()),
        ..Figure::new(Shape::Lines, &title, "groups", SCHEDULERS.map(|(name, _)| name), "time, s")
    };
    Ok(Exhibit { title, columns, rows, figures: vec![figure], ..Exhibit::default() })
}

/// Time from when all threads are ready to the end: from the end of the main thread, or from the
/// start if there is none.
fn time_s(outcome: &Outcome, start: Start) -> f64 {
    let main = outcome.threads.first().filter(|_| start == Start::Forked);
    let all_ready = main.and_then(|main| main.ended).unwrap_or(Nanos::ZERO);
    outcome.makespan.saturating_sub(all_ready).as_secs_f64()
}

/// Share of threads' running time that was on cores of the fastest kind; no number with a single
/// kind.
fn share_on_fast(machine: &Machine, outcome: &Outcome) -> f64 {
    let busy_s = |kinds: &dyn Fn(KindId) -> bool| -> f64 {
        let cores =
            outcome.cores.iter().filter(|core| kinds(machine.cores[core.core.index()].kind));
        cores.map(|core| core.busy.as_secs_f64()).sum()
    };
    if machine.kinds.len() < 2 {
        0.0
    } else {
        busy_s(&|kind| kind == KindId(0)) / busy_s(&|_| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_hackbench_leaves_out_what_it_takes_to_set_it_up() {
        let runs = Runs::new(true, 1, &|_, _| {});
        let machine = evenkeel_files::machines::preset(MACHINE).unwrap();
        let outcome = |mode: &str| {
            let apps = runs
                .load(&machine, &format!("hackbench:groups=4,start=forked,{mode}"), 1.0)
                .unwrap();
            runs.case(&machine, apps, "cfs-unaware").carry_out().unwrap()
        };
        let (threads, processes) = (outcome("mode=thread"), outcome("mode=process"));
        let set_up =
            |outcome: &Outcome| outcome.makespan.as_secs_f64() - time_s(outcome, Start::Forked);
        // Only the main thread pays for it: 160 times 30,000 or 150,000 instructions, 0.75 ms a
        // million on a big core.
        assert!(set_up(&processes) > 4.0 * set_up(&threads));
        assert!(time_s(&processes, Start::Forked) < 2.0 * time_s(&threads, Start::Forked));
    }
}
