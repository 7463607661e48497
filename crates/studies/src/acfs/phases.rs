//! A program's speedup factor over its instructions, cut into phases.

use evenkeel_estimate::cut_into;
use evenkeel_estimate::generated::traces;

use super::QUICKIA;
use crate::{Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "The generated program of experiment 8 whose factor has the widest \
    range on quickia, in windows of 200 million instructions. Phases are cut with the least U \
    whose mean deviation is at most 5 %, relative to each phase's mean.";

/// Programs that are looked through.
const PROGRAMS: u64 = 40;
const DEVIATION: f64 = 0.05;

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let machine = evenkeel_files::machines::preset(QUICKIA)?;
    let traces = traces(&machine, runs.seed, PROGRAMS);
    let of_all = traces.iter().map(|trace| (trace, trace.factors(0)));
    let range = |factors: &[f64]| {
        let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
        factors.iter().copied().fold(0.0, f64::max) / least
    };
    let widest = of_all.max_by(|(_, a), (_, b)| range(a).total_cmp(&range(b)));
    let Some((trace, factors)) = widest else { return Ok(Vec::new()) };
    let cut = cut_into(&factors, DEVIATION);
    let mut rows = Vec::new();
    for phase in &cut.phases {
        let mean = factors[phase.clone()].iter().sum::<f64>() / phase.len() as f64;
        for window in phase.clone() {
            let instructions = (window as f64 + 1.0) * 0.2;
            rows.push(vec![instructions.into(), factors[window].into(), mean.into()]);
        }
    }
    let columns = [("instructions", "10^9"), ("factor", ""), ("mean of its phase", "")];
    Ok(vec![Exhibit {
        ci95: Vec::new(),
        title: format!("Factor of {} over time", trace.program()),
        columns: columns.map(|(name, unit)| Column::new(name, unit)).to_vec(),
        rows,
        figures: vec![Figure::new(
            Shape::Lines,
            "Factor over time, and the means of its phases",
            "instructions",
            ["factor", "mean of its phase"],
            "speedup factor",
        )],
        remarks: vec![format!(
            "U = {}: {} phases; mean deviation within them {:.1} %",
            cut.subintervals,
            cut.phases.len(),
            cut.deviation * 100.0
        )],
    }])
}
