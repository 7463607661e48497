//! `evenkeel compare`: the same workloads under several policies.

use evenkeel_metrics::{Mean, Record, Relative, relative};
use evenkeel_report::{BASELINE, policy_labels, table as results, verdict};

use crate::args::CompareArgs;
use crate::commands::advise::applies::refusal;
use crate::commands::{page, records as forms, runs};
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print, print_json};
use crate::plan::{Plan, say_notes};
use crate::table;

/// Carries out all runs and reports them, in the order asked for: each workload under each policy.
///
/// # Errors
/// Bad input; a run failed (the others go on); an output could not be written.
pub fn run(args: &CompareArgs) -> Result {
    let plan = Plan::new(&args.run, args.policies().map_err(Failure::usage)?, args.each)?;
    for policy in &plan.policies {
        if let Some(why) = refusal(policy, &plan.used)? {
            return Err(Failure::usage(format!("policy {}: {why}", policy.label)));
        }
    }
    let baseline = baseline(args, &plan)?;
    let html = args.html.as_deref().map(OutputFile::begin).transpose()?;
    let output = args.output.as_deref().map(OutputFile::begin).transpose()?;
    let mut notes = plan.notes();

    let plans = plan.with_seeds(&args.run, args.seeds.seeds)?;
    let plan = &plans[0];
    let (mut records, mut timelines) = (Vec::new(), Vec::new());
    for (run, timeline) in runs::with_timelines(&plans, args.jobs, html.is_some())? {
        notes.extend(run.notes);
        records.push(run.record);
        timelines.extend(timeline);
    }
    say_notes(&notes);
    for record in &records {
        if let Some(error) = &record.error {
            say(
                "error",
                &format!("{} under {}: {error}", record.workloads.join(" + "), record.policy),
            );
        }
    }

    if let Some(file) = html {
        page::write(plan, &records, &timelines, baseline, file)?;
    }
    if args.csv {
        let text = forms::as_csv(&records)?;
        output.map(|file| file.finish_with(text.as_bytes())).transpose()?;
        print(&text)?;
    } else {
        forms::write_json(output, &records)?;
    }
    if args.json {
        print_json(&records)?;
    } else if !args.csv {
        let style = table::style();
        let labels = policy_labels(&records);
        let verdict = verdict(&records, labels.get(baseline).map(String::as_str));
        let verdict = verdict.map_or(String::new(), |sentence| {
            format!("\n{}", results::wrapped(&sentence, style.width))
        });
        print(&(results::compare(&records, style) + &means(plan, &records, baseline) + &verdict))?;
    }
    if records.iter().any(|record| record.error.is_some()) { Err(Failure::Said) } else { Ok(()) }
}

/// Index of the baseline policy: the one asked for, else [`BASELINE`], else the first.
fn baseline(args: &CompareArgs, plan: &Plan) -> Result<usize> {
    let Some(wanted) = &args.baseline else {
        return Ok(plan.policies.iter().position(|policy| policy.name() == BASELINE).unwrap_or(0));
    };
    plan.policies.iter().position(|policy| policy.label == *wanted).ok_or_else(|| {
        let labels: Vec<&str> = plan.policies.iter().map(|policy| policy.label.as_str()).collect();
        Failure::usage(format!(
            "--baseline {wanted}: it is not among the policies {}",
            labels.join(", ")
        ))
    })
}

/// A ratio, and by how much it may be off where it is of means over seeds.
fn with_doubt(Mean { ratio, doubt, .. }: Mean) -> String {
    if doubt > 0.0 { format!("{ratio:.3} ±{:.3}", ratio * doubt) } else { format!("{ratio:.3}") }
}

/// A measure's title, and its mean.
type Measure = (&'static str, fn(&Relative) -> Option<Mean>);

/// Geometric means over several workloads, relative to the baseline. Each column is over the
/// workloads to which it applies.
fn means(plan: &Plan, records: &[Record], baseline: usize) -> String {
    let policies = plan.policies.len();
    if plan.sets.len() < 2 || policies < 2 {
        return String::new();
    }
    let of = |policy: usize| records.iter().skip(policy).step_by(policies);
    let labels = policy_labels(records);
    let means: Vec<Relative> =
        (0..policies).map(|policy| relative(of(policy).zip(of(baseline)))).collect();
    let all: [Measure; 6] = [
        ("time", |mean| mean.time),
        ("energy", |mean| mean.energy),
        ("EDP", |mean| mean.edp),
        ("wake p99", |mean| mean.wake_p99),
        ("unfairness", |mean| mean.unfairness),
        ("STP", |mean| mean.stp),
    ];
    // A column is of as many workloads as the policy with the fewest failures has; a policy with
    // more failures says so in its cells.
    let most = |(_, of): &Measure| means.iter().filter_map(of).map(|mean| mean.workloads).max();
    let shown: Vec<_> =
        all.into_iter().filter_map(|measure| Some((measure, most(&measure)?))).collect();
    let titles = shown.iter().map(|((title, _), of)| format!("{title}\nof {of}"));
    let mut rows = table::figures(["policy".to_owned()].into_iter().chain(titles).collect(), 1);
    for (label, mean) in labels.iter().zip(&means) {
        let cell = |((_, of), most): &(Measure, usize)| match of(mean) {
            None => "-".to_owned(),
            Some(mean) if mean.workloads < *most => {
                format!("{} (of {})", with_doubt(mean), mean.workloads)
            }
            Some(mean) => with_doubt(mean),
        };
        rows.add_row([label.clone()].into_iter().chain(shown.iter().map(cell)).collect::<Vec<_>>());
    }
    let label = &labels[baseline];
    format!(
        "\nGeometric means over the workloads to which a measure applies, {label} = 1\n{}",
        table::text(rows)
    )
}
