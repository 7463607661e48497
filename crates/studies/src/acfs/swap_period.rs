//! Does the threshold keep the period of swaps, however many threads and big cores there are?
//!
//! `T_swap` promises that a thread that leaves a big core has been there for one period. The
//! measure is the time of all big cores / number of swaps. With `threshold=fixed` it is `T_swap N /
//! (2 (N - B))` for threads that are alike, and far longer where nearly all threads have a big
//! core.

use evenkeel_machine::{KindId, Machine, Nanos, Work};
use evenkeel_model::{Application, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec};
use evenkeel_sim::Outcome;

use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "Machines of 12 cores with 1 to 10 big ones (the cores of \
                                  amd-2b10s), B + 1 to 12 single-threaded applications of constant \
                                  speedup factor, \
    acfs with threshold=adjusted (its default) and threshold=fixed, T_swap 850 ms, 120 s. The \
    period is the time of all big cores / swaps: how long a thread stays \
    on a big core. 'alike': all of SF 2; 'mixed': SF from 1.4 to 2.6, spread evenly. --quick: 2, 6 \
    and 10 big cores, 20 s.";

/// A machine with every core of either kind that a machine of 12 may have, of the kinds of
/// amd-2b10s.
const TWELVE: &str = "
    name = 'amp-12'
    description = 'Parts of it with 12 cores: the machines of the swap period'
    source = 'clocks of amd-2b10s'
    [[kinds]]
    name = 'big'
    source = 'as in amd-2b10s'
    capacity = 2.625
    max_mhz = 2100
    [[kinds]]
    name = 'small'
    source = 'as in amd-2b10s'
    capacity = 1
    max_mhz = 800
    [[clusters]]
    kind = 'big'
    cores = 11
    [[clusters]]
    kind = 'small'
    cores = 11
";

const CORES: usize = 12;

/// Speedup factor of the equal programs: the middle of the mixed ones.
const ALIKE: f64 = 2.0;

/// Least and greatest factor of the mixed programs: within the range of amd-2b10s, and high enough
/// for every thread to contend.
const MIXED: (f64, f64) = (1.4, 2.6);

/// The runs on each machine with each number of threads.
const VARIANTS: [(&str, bool, &str); 4] = [
    ("adjusted, alike", false, "adjusted"),
    ("fixed, alike", false, "fixed"),
    ("adjusted, mixed", true, "adjusted"),
    ("fixed, mixed", true, "fixed"),
];

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let whole =
        evenkeel_files::machines::parse(TWELVE, "the machine of 12 cores")?.with_free_costs();
    let (bigs, duration): (&[usize], _) = if runs.quick {
        (&[2, 6, 10], Nanos::from_secs(20))
    } else {
        (&[1, 2, 4, 6, 8, 10], Nanos::from_secs(120))
    };
    let points: Vec<(usize, usize)> =
        bigs.iter().flat_map(|&big| (big + 1..=CORES).map(move |threads| (big, threads))).collect();
    let mut cases = Vec::new();
    for &(big, threads) in &points {
        let machine = whole.subset(&format!("{big}big+{}small", CORES - big))?;
        for (_, mixed, threshold) in VARIANTS {
            let mut case = runs
                .case(&machine, applications(threads, mixed), "acfs")
                .with("threshold", threshold);
            case.config.duration = Some(duration);
            cases.push(case);
        }
    }
    let outcomes = runs.outcomes(&cases)?;
    let periods: Vec<Option<f64>> =
        cases.iter().zip(&outcomes).map(|(case, outcome)| period_s(&case.used, outcome)).collect();

    let title = "Swap period reached";
    let mut columns = vec![Column::new("machine", ""), Column::new("threads", "")];
    columns.extend(VARIANTS.map(|(name, ..)| Column::new(name, "s")));
    let row = |(&(big, threads), periods): (&(usize, usize), &[Option<f64>])| {
        let mut row: Vec<Cell> =
            vec![format!("{big}B-{}S", CORES - big).into(), (threads as f64).into()];
        row.extend(periods.iter().map(|&period| Cell::from(period)));
        row
    };
    let rows = points.iter().zip(periods.chunks(VARIANTS.len())).map(row).collect();
    let variants = VARIANTS.map(|(name, ..)| name);
    let figure = Figure {
        panels: Some("machine".into()),
        ..Figure::new(Shape::Lines, title, "threads", variants, "swap period, s")
    };
    let remarks = (0..VARIANTS.len()).map(|variant| spread(&periods, variant)).collect();
    Ok(vec![Exhibit {
        ci95: Vec::new(),
        title: title.into(),
        columns,
        rows,
        figures: vec![figure],
        remarks,
    }])
}

/// Applications that compute for longer than any run lasts.
fn applications(count: usize, mixed: bool) -> Vec<Application> {
    let factor = |i: usize| {
        let place = if count > 1 { i as f64 / (count - 1) as f64 } else { 0.5 };
        if mixed { MIXED.0 + (MIXED.1 - MIXED.0) * place } else { ALIKE }
    };
    let application = |i: usize| Application {
        name: format!("app{i}"),
        phases: vec![Phase::new("work", Scaling::Factor(factor(i)))],
        programs: vec![Program {
            steps: vec![Step::Loop {
                times: None,
                body: vec![Step::Compute { work: Work(1 << 40), phase: PhaseId(0) }],
            }],
        }],
        threads: vec![ThreadSpec::new("t", ProgramId(0))],
        ..Application::default()
    };
    (0..count).map(application).collect()
}

/// How long a thread stays on a big core; `None` if no thread ever left one.
fn period_s(machine: &Machine, outcome: &Outcome) -> Option<f64> {
    let big_s = machine.cores_of(KindId(0)).count() as f64 * outcome.makespan.as_secs_f64();
    (outcome.swaps > 0).then(|| big_s / outcome.swaps as f64)
}

/// Least and greatest period of a variant.
fn spread(periods: &[Option<f64>], variant: usize) -> String {
    let of_variant = || periods.iter().skip(variant).step_by(VARIANTS.len()).flatten().copied();
    let (least, greatest) =
        (of_variant().fold(f64::INFINITY, f64::min), of_variant().fold(0.0, f64::max));
    format!("{}: from {least:.3} to {greatest:.3} s.", VARIANTS[variant].0)
}
