//! The page's text, tables and placeholders for plots.

use std::fmt::Write;

use evenkeel_metrics::Record;

use super::data::{Data, Point};
use super::escape::text;
use super::{Described, Meta};
use crate::columns::{Best, Column, shown};
use crate::figure::number;
use crate::labels::{self, distinct};
use crate::table::is_best;
use crate::verdict;

/// Columns that fit a sheet of paper without smaller letters.
pub(super) const COLUMNS_ON_PAPER: usize = 9;

/// A heading for records.
pub(super) fn title(records: &[Record]) -> String {
    let machines = distinct(records.iter().map(|record| record.machine.as_str()));
    let policies = distinct(records.iter().map(|record| record.policy.as_str()));
    match (&policies[..], &machines[..]) {
        ([], _) => "No runs".into(),
        ([policy], [machine]) => format!("{policy} on {machine}"),
        (_, [machine]) => format!("{} policies on {machine}", policies.len()),
        _ => format!("{} policies on {} machines", policies.len(), machines.len()),
    }
}

fn listed(names: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<String> = names.iter().take(most).map(|name| text(name.as_ref())).collect();
    let more = names.len().saturating_sub(most);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// What ran, in a paragraph.
pub(super) fn setting(records: &[Record], data: &Data) -> String {
    if records.is_empty() {
        return "<p class=\"lead\">There are no records to show.</p>\n".into();
    }
    let machines: Vec<String> =
        records.iter().map(|record| format!("{} ({})", record.machine, record.cores)).collect();
    let machines = distinct(machines.iter().map(String::as_str));
    let workloads: Vec<&str> = data.groups.iter().map(|group| group.name.as_str()).collect();
    let seeds = distinct_seeds(records);
    let mut lead = format!(
        "{}: <b>{}</b>. {}: {}. {}: {}.",
        counted(machines.len(), "Machine", "Machines"),
        listed(&machines, 6),
        counted(data.policies.len(), "Policy", "Policies"),
        listed(&data.policies, 12),
        counted(data.groups.len(), "Workload", "Workloads"),
        listed(&workloads, 12),
    );
    if data.policies.len() > 1 {
        let _ = write!(lead, " The baseline is <b>{}</b>.", text(&data.policies[data.baseline]));
    }
    let timed: Vec<&str> =
        data.groups.iter().filter(|group| group.timed).map(|group| group.name.as_str()).collect();
    if !timed.is_empty() {
        let ends = counted(timed.len(), "ends", "end");
        let _ = write!(
            lead,
            " {} {ends} at a set time: what tells policies apart is {}latency and energy, not \
             speed.",
            listed(&timed, 4),
            if data.any(|point| point.timer_waits) { "missed deadlines, " } else { "" },
        );
    }
    if seeds > 1 {
        let _ = write!(lead, " {seeds} seeds: plots show their mean, tables each.");
    }
    if let Some(count) = records.iter().find_map(|record| Some(record.seeds.as_ref()?.count)) {
        let _ = write!(
            lead,
            " Figures are means over {count} seeds with their 95 % intervals; timelines are of the \
             first seed."
        );
    }
    let failed = records.iter().filter(|record| record.error.is_some()).count();
    if failed > 0 {
        let _ =
            write!(lead, " <b>{failed} of {} runs failed</b>; the table says why.", records.len());
    }
    format!("<p class=\"lead\">{lead}</p>\n")
}

fn counted<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

fn distinct_seeds(records: &[Record]) -> usize {
    records.iter().map(|record| record.seed).collect::<std::collections::BTreeSet<_>>().len()
}

/// The first sentence of the page: the result of the runs, or of a single one.
pub(super) fn answer(records: &[Record], data: &Data, meta: &Meta) -> String {
    let said = match records {
        _ if !meta.answer.is_empty() => meta.answer.clone(),
        [run] if run.error.is_none() => of_one(run, data),
        _ => match verdict(records, meta.baseline.as_deref()) {
            Some(sentence) => sentence,
            None => return String::new(),
        },
    };
    format!("<p class=\"answer\">{}</p>\n", text(&said))
}

/// A run in a sentence.
fn of_one(run: &Record, data: &Data) -> String {
    let took = if data.any_free() { "took" } else { "ran for" };
    let energy = run.energy_j.map_or(String::new(), |joules| format!(" and {} J", number(joules)));
    let workloads = labels::workloads(run);
    let mut said =
        format!("{workloads} {took} {} s{energy} under {}", number(run.makespan_s), run.policy);
    if let Some(wake) = run.wakeup_latency_us.as_ref().filter(|_| !data.any_free()) {
        let _ = write!(said, "; 99 % of its wake-ups ran within {} µs", number(wake.all.p99));
    }
    if let Some(timers) = run.timers.filter(|_| !data.any_free()) {
        let missed = if timers.missed == 0 {
            "no".to_owned()
        } else {
            format!("{} of {}", timers.missed, timers.waits)
        };
        let deadlines =
            if timers.missed == 0 { "deadline was missed" } else { "deadlines were missed" };
        let _ = write!(
            said,
            "; {missed} {deadlines}, the least slack was {} µs",
            number(timers.least_slack_us)
        );
    }
    said + "."
}

/// A table that scrolls if there is no room for it.
pub(super) fn scroll(table: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">{table}</div>\n"
    )
}

/// The colour of a policy, which the script sets.
pub(super) fn swatch(data: &Data, policy: usize) -> String {
    if data.policies.len() < 2 {
        String::new()
    } else {
        format!("<i class=\"swatch\" data-policy=\"{policy}\"></i>")
    }
}

/// Placeholders for plots that have data, or a sentence that says why there is none.
pub(super) fn plots(data: &Data) -> String {
    if data.points.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<noscript><p class=\"note\">The plots need JavaScript; the tables below have all \
         figures.</p></noscript>\n",
    );
    if data.policies.len() > 1 {
        html.push_str(&comparison(data));
    }

    let throughput = |point: &Point| point.asp.or(point.stp);
    if data.any(|point| point.unfairness) && data.any(throughput) {
        let measure = if data.any(|point| point.asp) {
            "aggregate speedup (ASP)"
        } else {
            "system throughput (STP)"
        };
        html.push_str(&section(
            "Unfairness against throughput",
            &format!(
                "Each point is a policy on a workload. Best is low and to the right: fair, with a \
                 great {measure}."
            ),
        ));
        html.push_str(&legend(data, false));
        html.push_str(&plot("fairness", "Unfairness against throughput"));
        html.push_str("</section>\n");
    }

    if data
        .points
        .iter()
        .any(|point| point.kinds.iter().flatten().any(|(busy, idle)| busy + idle > 0.0))
    {
        html.push_str(&section(
            "Busy and idle time",
            "Time of all cores of a kind, with a thread on them (solid) and without (pale).",
        ));
        let all = if data.incomplete() {
            "all, added up, of policies that ran all"
        } else {
            "all, added up"
        };
        html.push_str(&choice(data, "kinds", (0..data.groups.len()).collect(), Some(all)));
        html.push_str(&plot("kinds", "Busy and idle time per kind of core"));
        html.push_str("</section>\n");
    }
    html.push_str(&timelines(data));
    html
}

/// Figures of all policies beside each other, of the measures that apply to what ran.
fn comparison(data: &Data) -> String {
    let baseline = text(&data.policies[data.baseline]);
    let has_energy = data.any(|point| point.energy_j);
    let timed = data.any_timed();
    let speed = data.any_free();
    let parts = [
        (timed && !speed, "latency"),
        (speed, "speed"),
        (has_energy, "energy"),
        (has_energy && speed, "EDP"),
        (timed && speed, "latency"),
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|part| part.0).map(|part| part.1).collect();
    let title = headed(&parts);
    let which = if data.any_free() { "Of workloads that end at a set time." } else { "" };
    let mut latency = String::new();
    if timed && data.any(|point| point.missed.filter(|missed| *missed > 0.0)) {
        latency.push_str(&figure("missed", "Missed deadlines, % (less is better)", which));
    }
    if timed {
        latency.push_str(&figure("wake-p99", "Wake-up latency, p99 (less is better)", which));
        latency.push_str(&figure("wake-max", "Longest wake-up latency (less is better)", which));
    }
    let mut ratios = String::new();
    if data.any_free() {
        ratios.push_str(&figure(
            "speedup",
            &format!("Speedup over {baseline} (more is better)"),
            "",
        ));
    }
    if has_energy {
        ratios.push_str(&figure(
            "energy",
            &format!("Energy relative to {baseline} (less is better)"),
            "",
        ));
        if data.any_free() {
            let caption = format!("EDP relative to {baseline} (less is better)");
            ratios.push_str(&figure("edp", &caption, ""));
        }
    }
    let both = if data.any_free() { ratios + &latency } else { latency + &ratios };
    let what = format!(
        "Each policy divided by {baseline}; the dashed line is {baseline}. Latencies are not \
         divided."
    );
    let what =
        if timed { what.as_str() } else { what.trim_end_matches(" Latencies are not divided.") };
    let mut html = section(&title, what);
    // Bars of a single workload have their policies' names.
    if data.groups.len() > 1 {
        html.push_str(&legend(data, !timed));
    }
    let _ = write!(html, "<div class=\"plots\">\n{both}</div>\n");
    if !has_energy {
        html.push_str(
            "<p class=\"note\">This machine has no power model: there is no energy to show.</p>\n",
        );
    }
    html.push_str("</section>\n");
    html
}

/// A heading of these parts.
fn headed(parts: &[&str]) -> String {
    let mut heading = match parts {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    };
    if let Some(first) = heading.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    heading
}

fn timelines(data: &Data) -> String {
    let mut html = String::new();
    if data.timelines.is_empty() {
        return html;
    }
    html.push_str(&section(
        "Who ran where",
        "A lane for each core; gaps are idle time. All policies have the same scale of time. <span \
         class=\"screen\">Drag the \
         ends of the slider under the last lane to zoom all of them<span class=\"mouse\">, or hold \
         Ctrl and turn the wheel</span>.</span>",
    ));
    let mut groups: Vec<usize> = data.timelines.iter().map(|timeline| timeline.group).collect();
    groups.sort_unstable();
    groups.dedup();
    html.push_str(&choice(data, "timeline", groups, None));
    html.push_str(
        "<div class=\"plot timelines\" data-plot=\"timeline\" role=\"img\" \
                   aria-label=\"Timeline of threads on cores\"></div>\n",
    );
    let coarse = data.timelines.iter().filter_map(|timeline| timeline.column_s).fold(0.0, f64::max);
    if coarse > 0.0 {
        let _ = writeln!(
            html,
            "<p class=\"note\">Some runs had more context switches than can be drawn. Their time \
             is cut into columns of up to {} ms, \
             and each column shows only the thread that ran longest in it, or nothing where the \
             core idled for longer. \
             <code>evenkeel simulate --trace FILE</code> keeps everything.</p>",
            number(coarse * 1e3)
        );
    }
    html.push_str("</section>\n");
    html
}

fn section(heading: &str, what: &str) -> String {
    let what = if what.is_empty() { String::new() } else { format!("<p>{what}</p>\n") };
    format!("<section>\n<h2>{heading}</h2>\n{what}")
}

/// `which` says which workloads it covers, if not all; may be empty.
fn figure(name: &str, caption: &str, which: &str) -> String {
    let which = if which.is_empty() { String::new() } else { format!("<small>{which}</small>") };
    format!("<figure><figcaption>{caption}{which}</figcaption>{}</figure>\n", plot(name, caption))
}

fn plot(name: &str, what: &str) -> String {
    format!(
        "<div><div class=\"plot\" data-plot=\"{name}\" role=\"img\" \
         aria-label=\"{what}\"></div></div>\n"
    )
}

fn legend(data: &Data, without_baseline: bool) -> String {
    let mut html = String::from("<p class=\"legend\">");
    for (policy, name) in data.policies.iter().enumerate() {
        let ran = data.points.iter().any(|point| point.policy == policy);
        if ran && !(without_baseline && policy == data.baseline) {
            let _ = write!(html, "<span>{}{}</span> ", swatch(data, policy), text(name));
        }
    }
    html.push_str("</p>\n");
    html
}

/// A choice of workload for a plot; all together first, where that makes sense.
fn choice(data: &Data, plot: &str, groups: Vec<usize>, all: Option<&str>) -> String {
    if groups.len() < 2 {
        return String::new();
    }
    let mut html = format!("<p class=\"choice\"><label>Workload <select data-choice=\"{plot}\">");
    if let Some(all) = all {
        let _ = write!(html, "<option value=\"-1\">{all}</option>");
    }
    for group in groups {
        let _ =
            write!(html, "<option value=\"{group}\">{}</option>", text(&data.groups[group].name));
    }
    html.push_str("</select></label></p>\n");
    html
}

/// All records in tables, one for each group.
pub(super) fn runs(records: &[Record], data: &Data) -> String {
    if records.is_empty() {
        return String::new();
    }
    let names = labels::policies(records);
    let shown = applying(records, data);
    let seeds = distinct_seeds(records) > 1;
    let compared = labels::groups(records).iter().any(|group| group.records.len() > 1);
    let mut html =
        section("All runs", if compared { "Best values of each workload are bold." } else { "" });
    let many = if shown.len() + usize::from(seeds) >= COLUMNS_ON_PAPER { " many" } else { "" };
    let mut table = format!("<table class=\"figures{many}\">\n<thead><tr><th>policy</th>");
    if seeds {
        table.push_str("<th>seed</th>");
    }
    for column in &shown {
        let unit = if column.unit.is_empty() { "&nbsp;" } else { column.unit };
        let _ = write!(table, "<th>{}<small>{unit}</small></th>", column.title);
    }
    table.push_str("</tr></thead>\n");
    let width = shown.len() + 1 + usize::from(seeds);
    for group in labels::groups(records) {
        let rows: Vec<&Record> = group.records.iter().map(|&record| &records[record]).collect();
        let _ = writeln!(
            table,
            "<tbody>\n<tr class=\"group\"><th colspan=\"{width}\"><span>{}</span></th></tr>",
            text(&group.title())
        );
        for &record in &group.records {
            let _ = write!(table, "<tr><th>{}</th>", text(&names[record]));
            let record = &records[record];
            if seeds {
                let _ = write!(table, "<td>{}</td>", record.seed);
            }
            if let Some(error) = &record.error {
                let _ = writeln!(
                    table,
                    "<td class=\"error\" colspan=\"{}\">failed: {}</td></tr>",
                    shown.len(),
                    text(error)
                );
                continue;
            }
            for column in &shown {
                let class = if is_best(column, record, &rows) { " class=\"best\"" } else { "" };
                let value = column.cell(record).unwrap_or("–".into());
                let _ = write!(table, "<td{class}>{value}</td>");
            }
            table.push_str("</tr>\n");
        }
        table.push_str("</tbody>\n");
    }
    table.push_str("</table>");
    html.push_str(&scroll(&table));
    html.push_str("</section>\n");
    html
}

/// The measures that the records have, without those that mean nothing if all runs end at a set
/// time.
fn applying(records: &[Record], data: &Data) -> Vec<&'static Column> {
    const OF_TIME: [&str; 3] = ["speedup", "EDP", "time"];
    let mut shown = shown(&records.iter().collect::<Vec<_>>());
    if !data.any_free() && !data.groups.is_empty() {
        shown.retain(|column| !OF_TIME.contains(&column.title));
        shown.sort_by_key(|column| !column.title.starts_with("wake"));
    }
    shown
}

/// The meaning of the measures that the records have.
pub(super) fn measures(records: &[Record], data: &Data) -> String {
    let shown = applying(records, data);
    let mut list = String::new();
    for column in shown {
        let unit =
            if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
        let better = match column.best {
            Best::Least => " Less is better.",
            Best::Greatest => " More is better.",
            Best::None => "",
        };
        let _ = writeln!(
            list,
            "<dt>{}{unit}</dt><dd>{}{better}</dd>",
            column.title,
            text(column.meaning)
        );
    }
    if list.is_empty() {
        list
    } else {
        format!("<section>\n<h2>Measures</h2>\n<dl>\n{list}</dl>\n</section>\n")
    }
}

/// Machines, workloads and policies with their sources.
pub(super) fn sources(meta: &Meta) -> String {
    let parts: [(&str, &[Described]); 3] =
        [("Machine", &meta.machines), ("Workloads", &meta.workloads), ("Policies", &meta.policies)];
    let mut html = String::new();
    for (heading, items) in parts.into_iter().filter(|part| !part.1.is_empty()) {
        let _ = writeln!(html, "<h3>{heading}</h3>\n<dl>");
        for item in items {
            let _ = write!(html, "<dt>{}</dt><dd>{}", text(&item.name), text(&item.text));
            if !item.source.is_empty() {
                let _ = write!(html, " <cite>{}</cite>", text(&item.source));
            }
            html.push_str("</dd>\n");
        }
        html.push_str("</dl>\n");
    }
    if html.is_empty() { html } else { format!("<section>\n<h2>What ran</h2>\n{html}</section>\n") }
}

/// The program that made the page, and the command; either may be empty: not known.
pub(super) fn footer(made_by: &str, command: &str) -> String {
    let mut html = String::from("<p>");
    if !command.is_empty() {
        let _ = write!(html, "Made by <code>{}</code> ", text(command));
    }
    let made_by = if made_by.is_empty() { "Evenkeel" } else { made_by };
    let _ = write!(
        html,
        "({}). This page is complete in one file and asks nothing of a network. Plots: Apache \
         ECharts (Apache-2.0).</p>",
        text(made_by)
    );
    html
}
