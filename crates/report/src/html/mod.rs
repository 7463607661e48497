//! A page with plots: one file that needs nothing else, for a screen, a phone and paper.
//!
//! Drawn by Apache ECharts, which the page holds (see assets/echarts). Without scripts the tables
//! and the text remain.

mod data;
mod drawing;
mod escape;
mod glance;
mod parts;
mod study;

use evenkeel_metrics::Record;
use serde::Serialize;

pub use study::{exhibits, study};

use crate::timeline::Timeline;
use data::Data;
use escape::{json, text};

const STYLE: &str = include_str!("../../assets/page.css");
const FRAME: &str = include_str!("../../assets/frame.js");
const BARS: &str = include_str!("../../assets/bars.js");
const PLOTS: &str = include_str!("../../assets/page.js");
const ECHARTS: &str = include_str!("../../assets/echarts/echarts.min.js");

/// What a page says besides the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Heading; empty: made from the records.
    pub title: String,
    /// The result of the runs in a sentence, which comes first on the page; empty:
    /// [`crate::verdict`] of the records.
    pub answer: String,
    /// The policy that others are compared with; `None`, or not among the records: `linux`, or the
    /// first record's.
    pub baseline: Option<String>,
    /// Machines that records name.
    pub machines: Vec<Described>,
    /// Workloads that records name.
    pub workloads: Vec<Described>,
    /// Policies that records name.
    pub policies: Vec<Described>,
    /// What made the records: `evenkeel 0.1.0`.
    pub made_by: String,
    /// The command that made the records, so that it can be run again; empty: not known.
    pub command: String,
}

/// Something that a page names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// Name, as records have it.
    pub name: String,
    /// A sentence.
    pub text: String,
    /// Source of it, or of its figures; may be empty.
    pub source: String,
}

/// A page of plots and tables of records, with timelines of some of them.
///
/// The same input gives the same bytes. Timelines together show at most some 60,000 stretches; the
/// page says if one is coarser than the run.
pub fn page(records: &[Record], timelines: &[Timeline], meta: &Meta) -> String {
    let data = Data::new(records, timelines, meta);
    let title = if meta.title.is_empty() { parts::title(records) } else { meta.title.clone() };
    let header = parts::answer(records, &data, meta) + &parts::setting(records, &data);
    let main = [
        glance::summary(&data),
        parts::plots(&data),
        parts::runs(records, &data),
        parts::measures(records, &data),
        parts::sources(meta),
    ];
    document(
        &title,
        &header,
        &main.concat(),
        &parts::footer(&meta.made_by, &meta.command),
        &data,
        PLOTS,
    )
}

/// A whole page: `header` and `main` are HTML, `data` is what the script draws from.
fn document(
    title: &str,
    header: &str,
    main: &str,
    footer: &str,
    data: &impl Serialize,
    script: &str,
) -> String {
    let mut page = String::with_capacity(ECHARTS.len() + (256 << 10));
    page.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    // The page may fetch nothing: whatever a name contains, the browser loads nothing from
    // elsewhere.
    page.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n",
    );
    page.push_str(&format!(
        "<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        text(title)
    ));
    page.push_str(&format!("<header>\n<h1>{}</h1>\n{header}</header>\n", text(title)));
    page.push_str(&format!("<main>\n{main}</main>\n<footer>{footer}</footer>\n"));
    page.push_str(&format!(
        "<script type=\"application/json\" id=\"data\">{}</script>\n",
        json(data)
    ));
    page.push_str(&format!(
        "<script>\n{ECHARTS}</script>\n<script>\n{FRAME}{BARS}{script}</script>\n</body>\n</html>\n"
    ));
    page
}
