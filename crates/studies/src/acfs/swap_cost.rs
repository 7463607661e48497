//! The cost of swaps: the same programs with ten swaps a second down to one, for programs that
//! compute and for programs that must fetch much again after each swap.

use evenkeel_machine::Machine;
use evenkeel_metrics::Record;
use evenkeel_model::Application;

use super::told::{Tell, true_and_told};
use super::{QUICKIA, asp, mix, unfairness};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "quickia under acfs with T_swap from 100 ms to 1 s; true speedup \
                                  factors. Light: calculix, gamess, h264ref, povray (64 KiB of \
                                  working set). Memory-bound: mcf, GemsFDTD, soplex, libquantum (4 \
                                  MiB). \
    A swap costs both threads a migration between clusters (30 us) and the refill of their working \
    sets (4 GB/s); the loss is that of ASP against the same run with free migration. --quick: five \
    periods.";

const GROUPS: [(&str, [&str; 4]); 2] = [
    ("light", ["calculix", "gamess", "h264ref", "povray"]),
    ("memory-bound", ["mcf", "GemsFDTD", "soplex", "libquantum"]),
];

const PERIODS_MS: [u32; 11] = [100, 200, 300, 400, 500, 600, 700, 800, 850, 900, 1_000];
const QUICK_PERIODS_MS: [u32; 5] = [100, 200, 400, 850, 1_000];

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let machine = evenkeel_files::machines::preset(QUICKIA)?;
    let groups = GROUPS.iter().map(|(_, names)| mix(runs, &machine, names, 1.0));
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    true_and_told(&machine, &groups, runs, |groups, tell| measure(runs, &machine, groups, tell))
}

fn measure(
    runs: &Runs,
    machine: &Machine,
    groups: &[Vec<Application>],
    tell: Tell<'_>,
) -> Result<Vec<Exhibit>, StudyError> {
    let free = machine.with_free_costs();
    let periods_ms: &[u32] = if runs.quick { &QUICK_PERIODS_MS } else { &PERIODS_MS };
    let mut points = Vec::new();
    let mut cases = Vec::new();
    for ((group, _), programs) in GROUPS.iter().zip(groups) {
        for &period_ms in periods_ms {
            points.push((*group, period_ms));
            let case = |machine| {
                tell(runs.case(machine, programs.clone(), "acfs").with("swap", period_ms))
            };
            cases.extend([case(machine), case(&free)]);
        }
    }
    let records = runs.records(&cases)?;
    let row = |(&(group, period_ms), records): (&(&str, u32), &[Record])| -> Vec<Cell> {
        let [costly, free] = records else { return Vec::new() };
        let loss = 100.0 * (1.0 - asp(costly) / asp(free));
        let swaps = costly.swaps as f64 / costly.makespan_s;
        vec![
            group.into(),
            period_ms.into(),
            swaps.into(),
            loss.into(),
            asp(costly).into(),
            unfairness(costly).into(),
        ]
    };
    let title = "What the swap period costs and gains";
    let by_group = |y, y_title| Figure {
        series: Some("programs".into()),
        ..Figure::new(Shape::Lines, title, "T_swap", [y], y_title)
    };
    Ok(vec![Exhibit {
        title: title.into(),
        columns: vec![
            Column::new("programs", ""),
            Column::new("T_swap", "ms"),
            Column::new("swaps", "1/s"),
            Column::new("loss of ASP", "%"),
            Column::new("ASP", ""),
            Column::new("unfairness", ""),
        ],
        rows: points.iter().zip(records.chunks(2)).map(row).collect(),
        figures: vec![
            by_group("loss of ASP", "loss of ASP to swaps, %"),
            by_group("unfairness", "unfairness"),
        ],
        ..Exhibit::default()
    }])
}
