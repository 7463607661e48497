//! The page's text, tables and places for plots.

use std::fmt::Write;

use evenkeel_metrics::Record;

use super::data::{Data, Point};
use super::escape::text;
use super::{Described, Meta};
use crate::columns::{Best, shown};
use crate::labels::{self, distinct};
use crate::table::{is_best, number};

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
    let machines: Vec<String> = records.iter().map(|record| format!("{} ({})", record.machine, record.cores)).collect();
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
    if seeds > 1 {
        let _ = write!(lead, " {seeds} seeds: plots show their mean, tables each.");
    }
    let failed = records.iter().filter(|record| record.error.is_some()).count();
    if failed > 0 {
        let _ = write!(lead, " <b>{failed} of {} runs failed</b>; the table says why.", records.len());
    }
    format!("<p class=\"lead\">{lead}</p>\n")
}

fn counted<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

fn distinct_seeds(records: &[Record]) -> usize {
    records.iter().map(|record| record.seed).collect::<std::collections::BTreeSet<_>>().len()
}

/// Each policy against the baseline in a table; nothing for a single policy.
pub(super) fn summary(data: &Data) -> String {
    if data.policies.len() < 2 {
        return String::new();
    }
    /// Name, whether more is better, value.
    type Measure = (&'static str, bool, fn(&Point) -> Option<f64>);
    let measures: [Measure; 4] = [
        ("speedup", true, |point| Some(1.0 / point.time_s).filter(|rate| rate.is_finite())),
        ("energy", false, |point| point.energy_j),
        ("EDP", false, |point| point.edp_js),
        ("unfairness", false, |point| point.unfairness),
    ];
    let shown: Vec<_> = measures.into_iter().filter(|measure| data.any(measure.2)).collect();
    if shown.is_empty() {
        return String::new();
    }
    let values: Vec<Vec<Option<f64>>> = (0..data.policies.len())
        .map(|policy| shown.iter().map(|measure| data.against_baseline(policy, measure.2)).collect())
        .collect();
    let mut table = String::from("<table class=\"figures\">\n<thead><tr><th>policy</th>");
    for (name, greater, _) in &shown {
        let hint = if *greater { "more is better" } else { "less is better" };
        let _ = write!(table, "<th>{name}<small>{hint}</small></th>");
    }
    table.push_str("</tr></thead>\n<tbody>\n");
    for (policy, name) in data.policies.iter().enumerate() {
        let _ = write!(table, "<tr><th>{}{}</th>", swatch(data, policy), text(name));
        for (column, (_, greater, _)) in shown.iter().enumerate() {
            let all = || values.iter().filter_map(|row| row[column]);
            let most = if *greater { all().reduce(f64::max) } else { all().reduce(f64::min) };
            let shown = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.3}"));
            let value = shown(values[policy][column]);
            let best = value == shown(most) && all().any(|other| shown(Some(other)) != value);
            let class = if best { " class=\"best\"" } else { "" };
            let _ = write!(table, "<td{class}>{value}</td>");
        }
        table.push_str("</tr>\n");
    }
    table.push_str("</tbody>\n</table>\n");
    let over = match data.groups.len() {
        1 => String::new(),
        groups => format!("; geometric mean over {groups} workloads"),
    };
    let baseline = text(&data.policies[data.baseline]);
    format!(
        "<section>\n<h2>At a glance</h2>\n<p>Relative to {baseline}, which is 1{over}. Best values are bold.</p>\n\
         <div class=\"scroll\">{table}</div>\n</section>\n"
    )
}

/// The colour of a policy; the script gives it.
fn swatch(data: &Data, policy: usize) -> String {
    if data.policies.len() < 2 { String::new() } else { format!("<i class=\"swatch\" data-policy=\"{policy}\"></i>") }
}

/// Places for plots, each only where there is something to draw, or a sentence that says why there is nothing.
pub(super) fn plots(data: &Data) -> String {
    if data.points.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<noscript><p class=\"note\">The plots need JavaScript; the tables below have all figures.</p></noscript>\n",
    );
    let baseline = text(&data.policies[data.baseline]);
    if data.policies.len() > 1 {
        html.push_str(&section(
            "Speed, energy and EDP",
            &format!("Each policy divided by {baseline}; the dashed line is {baseline}."),
        ));
        html.push_str(&legend(data, true));
        html.push_str("<div class=\"plots\">\n");
        html.push_str(&figure("speedup", &format!("Speedup over {baseline} (more is better)")));
        if data.any(|point| point.energy_j) {
            html.push_str(&figure("energy", &format!("Energy relative to {baseline} (less is better)")));
            html.push_str(&figure("edp", &format!("Energy-delay product relative to {baseline} (less is better)")));
        }
        html.push_str("</div>\n");
        if !data.any(|point| point.energy_j) {
            html.push_str("<p class=\"note\">This machine has no power model: there is no energy to show.</p>\n");
        }
        html.push_str("</section>\n");
    }

    let throughput = |point: &Point| point.asp.or(point.stp);
    if data.any(|point| point.unfairness) && data.any(throughput) {
        let measure = if data.any(|point| point.asp) { "aggregate speedup (ASP)" } else { "system throughput (STP)" };
        html.push_str(&section(
            "Unfairness against throughput",
            &format!(
                "Each point is a policy on a workload. Best is low and to the right: fair, with a great {measure}."
            ),
        ));
        html.push_str(&legend(data, false));
        html.push_str(&plot("fairness", "Unfairness against throughput"));
        html.push_str("</section>\n");
    }

    if data.points.iter().any(|point| point.kinds.iter().flatten().any(|(busy, idle)| busy + idle > 0.0)) {
        html.push_str(&section(
            "Busy and idle time",
            "Time of all cores of a kind, with a thread on them (solid) and without (pale).",
        ));
        let all = if data.incomplete() { "all, added up, of policies that ran all" } else { "all, added up" };
        html.push_str(&choice(data, "kinds", (0..data.groups.len()).collect(), Some(all)));
        html.push_str(&plot("kinds", "Busy and idle time per kind of core"));
        html.push_str("</section>\n");
    }
    html.push_str(&timelines(data));
    html
}

fn timelines(data: &Data) -> String {
    let mut html = String::new();
    if data.timelines.is_empty() {
        return html;
    }
    html.push_str(&section(
        "Who ran where",
        "A lane for each core; gaps are idle time. All policies have the same scale of time. <span class=\"screen\">Drag the \
         ends of the slider under the last lane to zoom all of them<span class=\"mouse\">, or hold Ctrl and turn the wheel</span>.</span>",
    ));
    let mut groups: Vec<usize> = data.timelines.iter().map(|timeline| timeline.group).collect();
    groups.sort_unstable();
    groups.dedup();
    html.push_str(&choice(data, "timeline", groups, None));
    html.push_str("<div class=\"plot timelines\" data-plot=\"timeline\" role=\"img\" aria-label=\"Timeline of threads on cores\"></div>\n");
    let coarse = data.timelines.iter().filter_map(|timeline| timeline.column_s).fold(0.0, f64::max);
    if coarse > 0.0 {
        let _ = writeln!(
            html,
            "<p class=\"note\">Some runs had more context switches than can be drawn. Their time is cut into columns of up to {} ms, \
             and each column shows only the thread that ran longest in it, or nothing where the core idled for longer. \
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

fn figure(name: &str, caption: &str) -> String {
    format!("<figure><figcaption>{caption}</figcaption>{}</figure>\n", plot(name, caption))
}

fn plot(name: &str, what: &str) -> String {
    format!("<div><div class=\"plot\" data-plot=\"{name}\" role=\"img\" aria-label=\"{what}\"></div></div>\n")
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
        let _ = write!(html, "<option value=\"{group}\">{}</option>", text(&data.groups[group].name));
    }
    html.push_str("</select></label></p>\n");
    html
}

/// All records in tables, one for each group.
pub(super) fn runs(records: &[Record]) -> String {
    if records.is_empty() {
        return String::new();
    }
    let names = labels::policies(records);
    let shown = shown(&records.iter().collect::<Vec<_>>());
    let seeds = distinct_seeds(records) > 1;
    let compared = labels::groups(records).iter().any(|group| group.records.len() > 1);
    let mut html = section("All runs", if compared { "Best values of each workload are bold." } else { "" });
    html.push_str("<div class=\"scroll\"><table class=\"figures\">\n<thead><tr><th>policy</th>");
    if seeds {
        html.push_str("<th>seed</th>");
    }
    for column in &shown {
        let unit = if column.unit.is_empty() { "&nbsp;" } else { column.unit };
        let _ = write!(html, "<th>{}<small>{unit}</small></th>", column.title);
    }
    html.push_str("</tr></thead>\n");
    let width = shown.len() + 1 + usize::from(seeds);
    for group in labels::groups(records) {
        let rows: Vec<&Record> = group.records.iter().map(|&record| &records[record]).collect();
        let _ = writeln!(
            html,
            "<tbody>\n<tr class=\"group\"><th colspan=\"{width}\"><span>{}</span></th></tr>",
            text(&group.title())
        );
        for &record in &group.records {
            let _ = write!(html, "<tr><th>{}</th>", text(&names[record]));
            let record = &records[record];
            if seeds {
                let _ = write!(html, "<td>{}</td>", record.seed);
            }
            if let Some(error) = &record.error {
                let _ =
                    writeln!(html, "<td class=\"error\" colspan=\"{}\">failed: {}</td></tr>", shown.len(), text(error));
                continue;
            }
            for column in &shown {
                let class = if is_best(column, record, &rows) { " class=\"best\"" } else { "" };
                let value = column.value(record).map_or("–".into(), |value| column.format(value));
                let _ = write!(html, "<td{class}>{value}</td>");
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n");
    }
    html.push_str("</table></div>\n</section>\n");
    html
}

/// What the measures mean, of those that the records have.
pub(super) fn measures(records: &[Record]) -> String {
    let shown = shown(&records.iter().collect::<Vec<_>>());
    let mut list = String::new();
    for column in shown {
        let unit = if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
        let better = match column.best {
            Best::Least => " Less is better.",
            Best::Greatest => " More is better.",
            Best::None => "",
        };
        let _ = writeln!(list, "<dt>{}{unit}</dt><dd>{}{better}</dd>", column.title, text(column.meaning));
    }
    if list.is_empty() { list } else { format!("<section>\n<h2>Measures</h2>\n<dl>\n{list}</dl>\n</section>\n") }
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

/// Who made the page, and how; either may be empty: not known.
pub(super) fn footer(made_by: &str, command: &str) -> String {
    let mut html = String::from("<p>");
    if !command.is_empty() {
        let _ = write!(html, "Made by <code>{}</code> ", text(command));
    }
    let made_by = if made_by.is_empty() { "Evenkeel" } else { made_by };
    let _ = write!(
        html,
        "({}). This page is complete in one file and asks nothing of a network. Plots: Apache ECharts (Apache-2.0).</p>",
        text(made_by)
    );
    html
}
