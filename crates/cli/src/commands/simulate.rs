//! `evenkeel simulate`: one run.

use std::io::BufWriter;
use std::path::Path;

use anyhow::Context as _;
use evenkeel_machine::Nanos;
use evenkeel_metrics::Record;
use evenkeel_model::Step;
use evenkeel_report::rtapp::RtappLog;
use evenkeel_report::{perfetto, table as results};
use evenkeel_sim::{Log, NoListener};

use crate::args::SimulateArgs;
use crate::commands::{advise::applies::refusal, page, records};
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print, print_json};
use crate::plan::{Plan, say_notes};
use crate::{progress, table};

/// Carries it out and reports it.
///
/// # Errors
/// Bad input; the run failed; an output could not be written.
pub fn run(args: &SimulateArgs) -> Result {
    let policy = args.policy().map_err(Failure::usage)?;
    let mut what = args.run.clone();
    what.scale.iterations = args.rtapp_log.is_some();
    let plan = Plan::new(&what, vec![policy], false)?;
    if let Some(why) = refusal(&plan.policies[0], &plan.used)? {
        return Err(Failure::usage(why));
    }
    args.rtapp_log.as_deref().map(|folder| prepare_rtapp(&plan, folder)).transpose()?;
    let trace = args.trace.as_deref().map(OutputFile::begin).transpose()?;
    let html = args.html.as_deref().map(OutputFile::begin).transpose()?;
    let output = args.output.as_deref().map(OutputFile::begin).transpose()?;
    let mut notes = plan.notes();

    let (set, policy) = (&plan.sets[0], &plan.policies[0]);
    let mut log = (trace.is_some() || html.is_some()).then(Log::default);
    plan.warn_of_length(1, 1);
    let progress =
        progress::line(&format!("simulating {} under {}", set.workloads.join(" + "), policy.label));
    let mut rtapp = args.rtapp_log.as_ref().map(|_| RtappLog::new(&set.apps));
    let finished = match (&mut log, &mut rtapp) {
        (None, None) => plan.carry_out(set, policy, &mut NoListener),
        (Some(log), None) => plan.carry_out(set, policy, log),
        (None, Some(rtapp)) => plan.carry_out(set, policy, rtapp),
        (Some(log), Some(rtapp)) => plan.carry_out(set, policy, &mut (log, rtapp)),
    };
    progress.finish_and_clear();
    notes.extend(finished.notes);
    say_notes(&notes);

    let record = finished.record;
    if let Some(error) = &record.error {
        say("error", error);
        if args.json {
            print_json(&record)?;
        }
        return Err(Failure::Said);
    }
    if let (Some(rtapp), Some(folder)) = (rtapp, &args.rtapp_log) {
        let end = Nanos((record.makespan_s * 1e9).round() as u64);
        for (name, content) in rtapp.files(end) {
            OutputFile::begin(&folder.join(name))?.finish_with(content.as_bytes())?;
        }
    }
    if let (Some(log), Some(file)) = (&log, trace) {
        write_trace(&plan, &record, log, file)?;
    }
    if let Some(file) = html {
        let timeline = log.as_ref().and_then(|log| page::timeline(0, &plan, &record, log));
        page::write(&plan, std::slice::from_ref(&record), timeline.as_slice(), 0, file)?;
    }
    if args.csv {
        let text = records::as_csv(std::slice::from_ref(&record))?;
        output.map(|file| file.finish_with(text.as_bytes())).transpose()?;
        return print(&text);
    }
    records::write_json(output, &record)?;
    if args.json {
        print_json(&record)
    } else {
        print(&(results::simulate(&record, table::style()) + &threads(&record)))
    }
}

fn write_trace(plan: &Plan, record: &Record, log: &Log, file: OutputFile) -> Result {
    let apps: Vec<String> = record.apps.iter().map(|app| app.name.clone()).collect();
    let mut file = BufWriter::new(file);
    perfetto::write(&plan.used, &apps, log, &mut file).context("trace").map_err(Failure::Failed)?;
    let file = file.into_inner().map_err(|error| Failure::Failed(error.into_error().into()))?;
    file.finish()
}

/// Makes the folder of rt-app's logs, where there will be any.
fn prepare_rtapp(plan: &Plan, folder: &Path) -> Result {
    fn tell(steps: &[Step]) -> bool {
        steps.iter().any(|step| match step {
            Step::Iteration(_) => true,
            Step::Loop { body, .. } => tell(body),
            _ => false,
        })
    }
    let mut programs = plan.sets[0].apps.iter().flat_map(|app| &app.programs);
    if !programs.any(|program| tell(&program.steps)) {
        return Err(Failure::usage("--rtapp-log: none of the workloads is an rt-app file"));
    }
    let cannot = || format!("cannot make the folder {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot).map_err(Failure::Usage)
}

/// The rows of the threads, where they were asked for.
pub fn threads(record: &Record) -> String {
    let Some(threads) = &record.threads else { return String::new() };
    let kinds: Vec<&str> = record.kinds.keys().map(String::as_str).collect();
    let mut header =
        vec!["thread".to_owned(), "application".into(), "start s".into(), "end s".into()];
    header.extend(kinds.iter().map(|kind| format!("on {kind} s")));
    header.extend(["waited s", "blocked s", "migrations", "runs"].map(str::to_owned));
    // The columns that say least are dropped first: start and end, runs, migrations, blocked,
    // waited.
    let last = header.len() - 1;
    let timed = threads.iter().any(|thread| thread.timers.is_some());
    if timed {
        header
            .extend(["missed", "least slack us", "mean slack us", "latency us"].map(str::to_owned));
    }
    let droppable = [2, 3, last, last - 1, last - 2, last - 3];
    let mut rows = table::figures(header, 2);
    for thread in threads {
        let seconds = |time: f64| format!("{time:.6}");
        let mut row = vec![thread.name.clone(), thread.app.clone(), seconds(thread.started_s)];
        row.push(thread.ended_s.map_or("-".into(), seconds));
        row.extend(
            kinds
                .iter()
                .map(|kind| seconds(thread.time_on_kind_s.get(*kind).copied().unwrap_or(0.0))),
        );
        row.extend([seconds(thread.wait_s), seconds(thread.blocked_s)]);
        row.extend([thread.migrations.to_string(), thread.runs.to_string()]);
        if timed {
            let micros = |time: Option<f64>| time.map_or("-".into(), |time| format!("{time:.1}"));
            row.push(
                thread.timers.map_or("-".into(), |it| format!("{} of {}", it.missed, it.waits)),
            );
            row.extend([
                micros(thread.timers.map(|it| it.least_slack_us)),
                micros(thread.timers.map(|it| it.mean_slack_us)),
                micros(thread.timers.and_then(|it| it.mean_latency_us)),
            ]);
        }
        rows.add_row(row);
    }
    format!("\n{}", table::fitted(rows, &droppable, "--json has all"))
}
