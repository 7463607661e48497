//! Experiment 1: the possible speedups, as arithmetic.

use evenkeel_files::programs::big_little_ratio;

use super::PROGRAMS;
use super::measure::{PINNED, cores, run};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

/// Cores of each kind that the board has.
const OF_EACH_KIND: u32 = 4;

/// The formula's speedups, and a check that the model runs at the ratios in it.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    Ok(vec![ideal(), ratios(runs)?])
}

/// By number of cores, then by how many of them are big.
fn parts() -> Vec<(u32, u32)> {
    let all =
        (0..=OF_EACH_KIND).flat_map(|big| (0..=OF_EACH_KIND).map(move |little| (big, little)));
    let mut parts: Vec<(u32, u32)> = all.collect();
    parts.sort_by_key(|&(big, little)| (big + little, big));
    parts
}

fn ideal() -> Exhibit {
    let head = [Column::new("big+little", ""), Column::new("cores", ""), Column::new("big", "")];
    let row = |(big, little): (u32, u32)| -> Vec<Cell> {
        let speedup = |program| {
            big_little_ratio(program).map(|ratio| f64::from(big) * ratio + f64::from(little))
        };
        let names = [cores((big, little)).into(), (big + little).into(), big.into()];
        names.into_iter().chain(PROGRAMS.map(|program| speedup(program).into())).collect()
    };
    let title =
        "Ideal speedup over one little core, by number of cores and, among as many, of big ones";
    let figure = Figure::new(Shape::Lines, title, "big+little", PROGRAMS, "ideal speedup");
    Exhibit {
        title: "Ideal speedup, B x ratio + L".into(),
        columns: head.into_iter().chain(PROGRAMS.map(|program| Column::new(program, ""))).collect(),
        rows: parts().into_iter().map(row).collect(),
        figures: vec![Figure { x_title: "cores (big+little)".into(), ..figure }],
        ..Exhibit::default()
    }
}

fn ratios(runs: &Runs) -> Result<Exhibit, StudyError> {
    let wanted: Vec<(&str, (u32, u32))> =
        PROGRAMS.into_iter().flat_map(|program| [(program, (0, 1)), (program, (1, 0))]).collect();
    let times =
        runs.each(&wanted, |&(program, on)| Ok(run(runs, program, on, PINNED)?.makespan_s))?;
    let row = |(program, times): (&str, &[f64])| -> Vec<Cell> {
        let [little, big] = times else { return vec![program.into(); 5] };
        let ratio = big_little_ratio(program);
        vec![program.into(), ratio.into(), (little / big).into(), (*little).into(), (*big).into()]
    };
    Ok(Exhibit {
        title: "Speed on one big core over one little".into(),
        columns: vec![
            Column::new("program", ""),
            Column::new("given", ""),
            Column::new("simulated", ""),
            Column::new("time on little", "s"),
            Column::new("time on big", "s"),
        ],
        rows: PROGRAMS.into_iter().zip(times.chunks(2)).map(row).collect(),
        ..Exhibit::default()
    })
}
