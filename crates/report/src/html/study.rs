//! The page of a study carried out again: its experiments, their figures and tables.

use std::fmt::Write;

use evenkeel_studies::{CarriedOut, Exhibit, Reproduction};
use serde::Serialize;

use super::drawing::{Drawing, Panel};
use super::escape::text;
use super::{document, parts};
use crate::exhibit::{cells, is_text, quick, seeds};

const PLOTS: &str = include_str!("../../assets/study.js");

const NO_PLOTS: &str = "<noscript><p class=\"note\">The plots need JavaScript; the tables have all \
                        figures.</p></noscript>\n";

/// The data of the page's plots.
#[derive(Default, Serialize)]
struct Data {
    figures: Vec<Drawing>,
}

/// A page of the figures and tables of a study. `command` made it; empty: not known.
///
/// The same input gives the same bytes.
pub fn study(study: &Reproduction, command: &str) -> String {
    let mut data = Data::default();
    let mut main = NO_PLOTS.to_owned();
    for experiment in &study.experiments {
        main.push_str(&section(experiment, &mut data));
    }
    document(
        study.title,
        &header(study),
        &main,
        &parts::footer(&study.made_by, command),
        &data,
        PLOTS,
    )
}

/// A page of some exhibits: a title, what is shown, and what made it.
///
/// The same input gives the same bytes.
pub fn exhibits(
    title: &str,
    lead: &str,
    exhibits: &[Exhibit],
    made_by: &str,
    command: &str,
) -> String {
    let mut data = Data::default();
    let mut main = NO_PLOTS.to_owned();
    for exhibit in exhibits {
        main.push_str(&one(exhibit, &mut data));
    }
    let header = format!("<p class=\"lead\">{}</p>\n", text(lead));
    document(title, &header, &main, &parts::footer(made_by, command), &data, PLOTS)
}

/// The lead paragraph, and links to the experiments.
fn header(study: &Reproduction) -> String {
    let how = if study.live {
        "its programs run on this machine, beside what the simulator says of it"
    } else {
        "carried out again in the simulator, with the rows, columns and units of the study"
    };
    let mut html = format!(
        "<p class=\"lead\">The experiments of <b>{}</b> ({}), {how}. No parameter is fitted to \
         what it found. {}</p>\n",
        text(study.study),
        text(study.source),
        seeds(study)
    );
    if let Some(quick) = quick(study) {
        let _ = writeln!(html, "<p class=\"note\">{quick}</p>");
    }
    html.push_str("<nav><ol>\n");
    for experiment in &study.experiments {
        let number = experiment.number;
        let _ = writeln!(
            html,
            "<li value=\"{number}\"><a href=\"#experiment-{number}\">{}</a>{}</li>",
            text(experiment.title),
            finding(experiment)
        );
    }
    html.push_str("</ol></nav>\n");
    html
}

/// What an experiment has shown, in its first remark; empty where it has none.
fn finding(experiment: &CarriedOut) -> String {
    let remark = experiment.tables.iter().flat_map(|exhibit| &exhibit.remarks).next();
    remark.map_or(String::new(), |remark| format!("<small>{}</small>", text(remark)))
}

fn section(experiment: &CarriedOut, data: &mut Data) -> String {
    let mut html = format!(
        "<section id=\"experiment-{0}\">\n<h2>{0}. {1}</h2>\n<p>{2}</p>\n",
        experiment.number,
        text(experiment.title),
        text(experiment.setting)
    );
    for exhibit in &experiment.tables {
        html.push_str(&one(exhibit, data));
    }
    html.push_str("</section>\n");
    html
}

fn one(exhibit: &Exhibit, data: &mut Data) -> String {
    let mut html = format!("<h3>{}</h3>\n", text(&exhibit.title));
    html.push_str(&figures(exhibit, data));
    html.push_str(&table(exhibit));
    html.push_str(&remarks(exhibit));
    html
}

/// Room for the figures that can be drawn; small ones stand beside each other.
fn figures(exhibit: &Exhibit, data: &mut Data) -> String {
    let drawn = exhibit
        .figures
        .iter()
        .filter_map(|figure| Some((&figure.title, Drawing::new(exhibit, figure)?)));
    let drawn: Vec<(&String, Drawing)> = drawn.collect();
    let alone = drawn.len() == 1;
    let mut html = String::from("<div class=\"abreast\">\n");
    for (title, drawing) in drawn {
        let is_whole = alone || drawing.is_wide() || drawing.panels.len() > 1;
        let class = if is_whole { " class=\"whole\"" } else { "" };
        let _ = writeln!(html, "<figure{class}>");
        // A figure with the title of its table is told from others by its axes.
        if *title != exhibit.title {
            let _ = writeln!(html, "<figcaption>{}</figcaption>", text(title));
        }
        html.push_str(&place(title, &drawing, data.figures.len()));
        html.push_str("</figure>\n");
        data.figures.push(drawing);
    }
    html.push_str("</div>\n");
    html
}

/// Room for what the script draws of a figure.
fn place(title: &str, drawing: &Drawing, number: usize) -> String {
    let mut html = String::new();
    if drawing.series.len() > 1 {
        let _ = writeln!(html, "<p class=\"key\" data-key=\"{number}\"></p>");
    }
    let _ = writeln!(
        html,
        "<div class=\"panels{}\">",
        if drawing.is_wide() || drawing.panels.len() == 1 { " wide" } else { "" }
    );
    for (panel, Panel { title: name, .. }) in drawing.panels.iter().enumerate() {
        let label = if name.is_empty() { title.to_owned() } else { format!("{title}: {name}") };
        html.push_str("<div>");
        if !name.is_empty() {
            let _ = write!(html, "<b>{}</b>", text(name));
        }
        let _ = writeln!(
            html,
            "<div class=\"plot\" data-plot=\"figure\" data-figure=\"{number}\" \
             data-panel=\"{panel}\" role=\"img\" aria-label=\"{}\"></div></div>",
            text(&label)
        );
    }
    html.push_str("</div>\n");
    if drawing.leaves_out {
        html.push_str(
            "<p class=\"note\">A logarithmic axis has no place for 0: the table has it.</p>\n",
        );
    }
    html
}

fn table(exhibit: &Exhibit) -> String {
    let is_left: Vec<bool> =
        (0..exhibit.columns.len()).map(|column| is_text(exhibit, column)).collect();
    let class =
        |column: usize| if is_left.get(column) == Some(&true) { " class=\"text\"" } else { "" };
    let units = exhibit.columns.iter().any(|column| !column.unit.is_empty());
    let many = if exhibit.columns.len() > parts::COLUMNS_ON_PAPER { " many" } else { "" };
    let mut html = format!("<table class=\"figures{many}\">\n<thead><tr>");
    for (number, column) in exhibit.columns.iter().enumerate() {
        let unit = match column.unit {
            "" if units => "<small>&nbsp;</small>".into(),
            "" => String::new(),
            unit => format!("<small>{}</small>", text(unit)),
        };
        let _ = write!(html, "<th{}>{}{unit}</th>", class(number), text(&column.name));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in cells(exhibit) {
        html.push_str("<tr>");
        for (number, cell) in row.iter().enumerate() {
            let tag = if number == 0 { "th" } else { "td" };
            let _ = write!(html, "<{tag}{}>{}</{tag}>", class(number), text(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>");
    parts::scroll(&html)
}

fn remarks(exhibit: &Exhibit) -> String {
    exhibit
        .remarks
        .iter()
        .map(|remark| format!("<p class=\"note\">{}</p>\n", text(remark)))
        .collect()
}
