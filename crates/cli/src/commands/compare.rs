//! `evenkeel compare`: the same workloads under several policies.

use evenkeel_metrics::{Record, Relative, relative};
use evenkeel_report::{Timeline, csv, policy_labels, table as results};
use evenkeel_sim::Deaf;

use crate::args::CompareArgs;
use crate::commands::{page, runs};
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print, print_json};
use crate::plan::{Finished, Plan, say_notes};
use crate::table;

/// Carries out all runs and reports them, in the order asked for: each workload under each policy.
///
/// # Errors
/// Bad input; a run failed (the others go on); an output could not be written.
pub fn run(args: &CompareArgs) -> Result {
    let plan = Plan::new(&args.run, args.policies().map_err(Failure::usage)?, args.each)?;
    let baseline = baseline(args, &plan)?;
    let html = args.html.as_deref().map(OutputFile::begin).transpose()?;
    let mut notes = plan.notes();

    let (mut records, mut timelines) = (Vec::new(), Vec::new());
    for (run, timeline) in carry_out(args, &plan, html.is_some())? {
        notes.extend(run.notes);
        records.push(run.record);
        timelines.extend(timeline);
    }
    say_notes(&notes);
    for record in &records {
        if let Some(error) = &record.error {
            say("error", &format!("{} under {}: {error}", record.workloads.join(" + "), record.policy));
        }
    }

    if let Some(file) = html {
        page::write(&plan, &records, &timelines, baseline, file)?;
    }
    if args.json {
        print_json(&records)?;
    } else if args.csv {
        let mut text = Vec::new();
        csv::write(&records, &mut text).map_err(|error| Failure::Failed(error.into()))?;
        print(&String::from_utf8_lossy(&text))?;
    } else {
        print(&(results::compare(&records, table::style()) + &means(&plan, &records, baseline)))?;
    }
    if records.iter().any(|record| record.error.is_some()) { Err(Failure::Said) } else { Ok(()) }
}

/// Index of the policy that others are set in relation to.
fn baseline(args: &CompareArgs, plan: &Plan) -> Result<usize> {
    let Some(wanted) = &args.baseline else { return Ok(0) };
    plan.policies.iter().position(|policy| policy.label == *wanted).ok_or_else(|| {
        let labels: Vec<&str> = plan.policies.iter().map(|policy| policy.label.as_str()).collect();
        Failure::usage(format!("--baseline {wanted}: it is not among the policies {}", labels.join(", ")))
    })
}

/// All runs, with a timeline of each where there is to be a page.
fn carry_out(args: &CompareArgs, plan: &Plan, timelines: bool) -> Result<Vec<(Finished, Option<Timeline>)>> {
    runs::in_parallel(plan, args.jobs, |index, set, policy| {
        if timelines {
            let mut runs = page::Runs::default();
            let finished = plan.carry_out(set, policy, &mut runs);
            let timeline = runs.timeline(index, plan, &finished.record);
            (finished, timeline)
        } else {
            (plan.carry_out(set, policy, &mut Deaf), None)
        }
    })
}

/// A title, and what stands under it.
type Measure = (&'static str, fn(&Relative) -> Option<f64>);

/// Over several workloads: geometric means in relation to the baseline.
fn means(plan: &Plan, records: &[Record], baseline: usize) -> String {
    let policies = plan.policies.len();
    if plan.sets.len() < 2 || policies < 2 {
        return String::new();
    }
    let of = |policy: usize| -> Vec<&Record> { records.iter().skip(policy).step_by(policies).collect() };
    let base = of(baseline);
    let labels = policy_labels(records);
    let means: Vec<Relative> = (0..policies).map(|policy| relative(&of(policy), &base)).collect();
    let all: [Measure; 5] = [
        ("time", |mean| mean.time),
        ("energy", |mean| mean.energy),
        ("EDP", |mean| mean.edp),
        ("unfairness", |mean| mean.unfairness),
        ("STP", |mean| mean.stp),
    ];
    let shown: Vec<_> = all.into_iter().filter(|(_, of)| means.iter().any(|mean| of(mean).is_some())).collect();
    let titles = ["policy"].into_iter().chain(shown.iter().map(|(title, _)| *title)).chain(["workloads"]);
    let mut rows = table::figures(titles.map(str::to_owned).collect(), 1);
    for (label, mean) in labels.iter().zip(&means) {
        let ratio =
            |(_, of): &(&str, fn(&Relative) -> Option<f64>)| of(mean).map_or("-".into(), |it| format!("{it:.3}"));
        let row = [label.clone()].into_iter().chain(shown.iter().map(ratio)).chain([mean.workloads.to_string()]);
        rows.add_row(row.collect::<Vec<_>>());
    }
    let label = &labels[baseline];
    format!("\nGeometric mean over workloads, {label} = 1\n{}", table::text(rows))
}
