//! A token round a ring: one process at a time can run.

use super::{MACHINE, SCHEDULERS};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "2 to 32 processes in a ring, 32 KiB of data each, 2,000 rounds, \
                                  on all eight cores. The time of one hand-over: pass the token, \
                                  wake the next, switch to it, sum its \
    data. lat_ctx takes off what the sum costs on one core; here it is left in, since it depends \
    on the core. --quick: 2, 8 and 32 processes, 200 rounds.";

const PROCESSES: [u32; 9] = [2, 4, 8, 12, 16, 20, 24, 28, 32];
const QUICK_PROCESSES: [u32; 3] = [2, 8, 32];

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let machine = evenkeel_files::machines::preset(MACHINE)?;
    let (processes, rounds): (&[u32], u32) =
        if runs.quick { (&QUICK_PROCESSES, 200) } else { (&PROCESSES, 2_000) };
    let mut cases = Vec::new();
    for count in processes {
        let apps =
            runs.load(&machine, &format!("context-ring:procs={count},rounds={rounds}"), 1.0)?;
        cases.extend(SCHEDULERS.map(|(_, policy)| runs.case(&machine, apps.clone(), policy)));
    }
    let outcomes = runs.outcomes(&cases)?;
    let title = "Time of one hand-over in the ring";
    let mut columns = vec![Column::new("processes", "")];
    columns.extend(SCHEDULERS.map(|(name, _)| Column::new(name, "us")));
    let rows = processes.iter().zip(outcomes.chunks(SCHEDULERS.len())).map(|(&count, outcomes)| {
        let hand_overs = f64::from(count) * f64::from(rounds);
        let times = outcomes
            .iter()
            .map(|outcome| Cell::from(1e6 * outcome.makespan.as_secs_f64() / hand_overs));
        std::iter::once(Cell::from(count)).chain(times).collect()
    });
    let schedulers = SCHEDULERS.map(|(name, _)| name);
    let figures =
        vec![Figure::new(Shape::Lines, title, "processes", schedulers, "time of a hand-over, us")];
    Ok(vec![Exhibit {
        title: title.into(),
        columns,
        rows: rows.collect(),
        figures,
        ..Exhibit::default()
    }])
}
