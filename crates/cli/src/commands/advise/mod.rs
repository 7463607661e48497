//! `evenkeel advise`: all policies that apply, ranked, with the Pareto set marked and the reason
//! why the winner wins.

pub mod applies;
mod because;
mod ranking;

use evenkeel_metrics::Record;
use evenkeel_report::BASELINE;
use evenkeel_report::figure::number;
use serde::Serialize;

use crate::args::advise::{AdviseArgs, Measure};
use crate::commands::{page, records, runs};
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print, print_json};
use crate::plan::say_notes;
use crate::table;

use applies::LeftOut;
use ranking::{Ranked, Run};

/// The command's result.
#[derive(Serialize)]
struct Advice<'a> {
    machine: &'a str,
    cores: &'a str,
    workloads: &'a [String],
    seed: u64,
    rank_by: Measure,
    winner: &'a str,
    why: &'a str,
    ranking: &'a [Ranked],
    left_out: &'a [LeftOut],
    failed: Vec<Failed<'a>>,
    records: Vec<&'a Record>,
}

/// A policy whose run failed.
#[derive(Serialize)]
struct Failed<'a> {
    policy: &'a str,
    error: &'a str,
}

/// Runs all policies that apply, and ranks them.
///
/// # Errors
/// Bad input; no policy applies; every run failed.
pub fn run(args: &AdviseArgs) -> Result {
    let (plan, left_out) = applies::plan(&args.run, args.among().map_err(Failure::usage)?)?;
    let mut notes = plan.notes();
    let html = args.html.as_deref().map(OutputFile::begin).transpose()?;
    let output = args.output.as_deref().map(OutputFile::begin).transpose()?;
    let (mut runs, mut timelines) = (Vec::new(), Vec::new());
    let plans = plan.with_seeds(&args.run, args.seeds.seeds)?;
    let plan = &plans[0];
    let finished = runs::with_timelines(&plans, args.jobs, html.is_some())?;
    for (policy, (finished, timeline)) in plan.policies.iter().zip(finished) {
        notes.extend(finished.notes);
        runs.push(Run { label: policy.label.clone(), record: finished.record });
        timelines.extend(timeline);
    }
    say_notes(&notes);
    let measure = args.rank_by;
    check_ranked(&runs, measure)?;
    let ranking = ranking::rank(&runs, measure);
    let why = because::sentence(&runs, &ranking, measure);
    let best_first: Vec<&Run> = ranking.iter().map(|ranked| &runs[ranked.run]).collect();
    let failed: Vec<_> =
        runs.iter().filter_map(|run| Some((run, run.record.error.as_deref()?))).collect();
    if let Some(file) = html {
        // In the order of the plan, in which the page expects them.
        let records: Vec<Record> = runs.iter().map(|run| run.record.clone()).collect();
        let baseline =
            plan.policies.iter().position(|policy| policy.name() == BASELINE).unwrap_or(0);
        page::write(plan, &records, &timelines, baseline, file)?;
    }
    if args.csv {
        let records: Vec<Record> = best_first.iter().map(|run| run.record.clone()).collect();
        let text = records::as_csv(&records)?;
        output.map(|file| file.finish_with(text.as_bytes())).transpose()?;
        return print(&text);
    }
    let first = &best_first[0].record;
    let advice = Advice {
        machine: &first.machine,
        cores: &first.cores,
        workloads: &first.workloads,
        seed: first.seed,
        rank_by: measure,
        winner: &best_first[0].label,
        why: &why,
        ranking: &ranking,
        left_out: &left_out,
        failed: failed.iter().map(|(run, error)| Failed { policy: &run.label, error }).collect(),
        records: best_first
            .iter()
            .map(|run| &run.record)
            .chain(failed.iter().map(|(run, _)| &run.record))
            .collect(),
    };
    records::write_json(output, &advice)?;
    if args.json { print_json(&advice) } else { print(&for_people(&runs, &advice)) }
}

/// Checks that there is a record to rank, and says why if every run failed.
///
/// # Errors
/// Every run failed, or no record has the measure.
fn check_ranked(runs: &[Run], measure: Measure) -> Result {
    if runs.iter().all(|run| run.record.error.is_some()) {
        for Run { label, record } in runs {
            say("error", &format!("{label}: {}", record.error.as_deref().unwrap_or_default()));
        }
        return Err(Failure::Said);
    }
    let has = |run: &Run| run.record.error.is_none() && measure.value(&run.record).is_some();
    if !runs.iter().any(has) {
        return Err(Failure::usage(format!("--rank-by {}: {}", measure.flag(), lacks(measure))));
    }
    Ok(())
}

/// The result as text: the ranking, what is not in it, and why the winner wins.
fn for_people(runs: &[Run], advice: &Advice<'_>) -> String {
    let mut text = drawn(runs, advice.ranking);
    for LeftOut { policy, why } in advice.left_out {
        text += &table::wrapped(&format!("{policy} left out: {why}\n"), 2);
    }
    for Failed { policy, error } in &advice.failed {
        text += &format!("{policy} failed: {error}\n");
    }
    text + &table::wrapped(&format!("\n{}\n", advice.why), 0)
}

/// The message for a measure that no record has.
const fn lacks(measure: Measure) -> &'static str {
    match measure {
        Measure::Energy | Measure::Edp => {
            "the machine has no power model; expected time or unfairness"
        }
        Measure::Time | Measure::Unfairness => {
            "it takes several applications: give -w more than once, or rank by time"
        }
    }
}

/// The ranking as a table. Each value has the policy's place by that measure behind it.
fn drawn(runs: &[Run], ranking: &[Ranked]) -> String {
    let first = &runs[ranking[0].run].record;
    let has = |measure: &Measure| ranking.iter().any(|ranked| ranked.place(*measure).is_some());
    let shown: Vec<Measure> = Measure::ALL.into_iter().filter(has).collect();
    let titles = ["", "policy"]
        .map(str::to_owned)
        .into_iter()
        .chain(shown.iter().map(|measure| measure.title()));
    let mut rows = table::figures(titles.chain(["Pareto".to_owned()]).collect(), 2);
    for ranked in ranking {
        let cell = |measure: &Measure| {
            ranked.place(*measure).map_or("-".to_owned(), |place| {
                let within = match place.ci95 {
                    Some(within) if within > 0.0 => format!(" ±{}", number(within)),
                    _ => String::new(),
                };
                format!("{}{within} ({})", number(place.value), place.rank)
            })
        };
        let head = [ranked.rank.to_string(), runs[ranked.run].label.clone()];
        let mark = if ranked.pareto { "*" } else { "" };
        rows.add_row(
            head.into_iter()
                .chain(shown.iter().map(cell))
                .chain([mark.to_owned()])
                .collect::<Vec<_>>(),
        );
    }
    let title = format!("{} on {} ({})", first.workloads.join(" + "), first.machine, first.cores);
    let of = "* Pareto set: no other is as good in all of time, energy and unfairness and better \
              in one. (n): place by that measure.";
    let [title, of] =
        [format!("{title}\n\n"), format!("\n{of}\n")].map(|text| table::wrapped(&text, 2));
    title + &table::text(rows) + &of
}
