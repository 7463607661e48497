//! Tables for a terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use evenkeel_metrics::{AppRow, Record};

use crate::columns::{Best, Column, shown as measures};
use crate::figure::number;
use crate::labels;

/// How a table is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal. If a table is wider, its least important columns are left out, and
    /// a line says which.
    pub width: usize,
    /// What has all that is left out, for that line.
    pub rest: &'static str,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 100, rest: "--csv and --json have all" }
    }
}

/// Marks the best value of a column.
const BEST: &str = "*";

/// Policies side by side: one row a record, a table for each machine, cores and workloads. The best
/// of each measure within a table is marked; columns without a value are left out.
pub fn compare(records: &[Record], style: Style) -> String {
    let groups = labels::groups(records);
    let names = labels::policies(records);
    let mut shown = measures(&records.iter().collect::<Vec<_>>());
    let seeds =
        records.iter().any(|record| Some(record.seed) != records.first().map(|first| first.seed));
    let draw = |shown: &[&Column]| -> Vec<String> {
        groups
            .iter()
            .map(|group| compare_table(records, &group.records, &names, shown, seeds))
            .collect()
    };
    let (mut tables, mut left_out) = (draw(&shown), vec![]);
    while tables.iter().any(|table| widest(table) > style.width) && shown.len() > 1 {
        let Some((least, _)) = shown.iter().enumerate().max_by_key(|(_, column)| column.rank)
        else {
            break;
        };
        left_out.push(shown.remove(least).title);
        tables = draw(&shown);
    }

    let mut text = String::new();
    for (group, table) in groups.iter().zip(tables) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&wrapped(&group.title(), style.width));
        text.push_str(&table);
        text.push('\n');
        for row in group.records.iter().map(|&row| &records[row]) {
            if let Some(error) = &row.error {
                text.push_str(&wrapped(
                    &labels::plain(&format!("{} failed: {error}", row.policy)),
                    style.width,
                ));
            }
        }
    }
    let mut notes = vec![];
    let is_marked = text.lines().any(|line| line.contains(BEST));
    if groups.iter().any(|group| group.records.len() > 1) && is_marked {
        notes.push(format!("{BEST} best of its column."));
    }
    if !left_out.is_empty() {
        notes.push(format!("Too narrow for {}: {}.", left_out.join(", "), style.rest));
    }
    if !notes.is_empty() {
        text.push('\n');
        text.push_str(&wrapped(&notes.join(" "), style.width));
    }
    text
}

fn compare_table(
    all: &[Record],
    numbers: &[usize],
    names: &[String],
    shown: &[&Column],
    seeds: bool,
) -> String {
    let rows: Vec<&Record> = numbers.iter().map(|&number| &all[number]).collect();
    let mut table = blank();
    let mut header = vec![Cell::new("policy ")];
    if seeds {
        header.push(right("seed "));
    }
    // Leaves room for the mark, so that figures are aligned.
    header.extend(shown.iter().map(|column| right(format!("{} \n{} ", column.title, column.unit))));
    table.set_header(header);
    for (row, &number) in rows.iter().zip(numbers) {
        let mut cells = vec![Cell::new(labels::plain(&names[number]) + " ")];
        if seeds {
            cells.push(right(format!("{} ", row.seed)));
        }
        for column in shown {
            let text = column.cell(row).unwrap_or("-".into());
            let mark = if is_best(column, row, &rows) { BEST } else { " " };
            cells.push(right(text + mark));
        }
        table.add_row(cells);
    }
    drawn(table, 1)
}

/// True if no other run is better, and one is worse, as far as the figures shown and their
/// intervals tell.
pub(crate) fn is_best(column: &Column, row: &Record, rows: &[&Record]) -> bool {
    let Some(value) = column.value(row) else { return false };
    let sign = match column.best {
        Best::None => return false,
        Best::Least => 1.0,
        Best::Greatest => -1.0,
    };
    let within = |row: &Record| column.interval(row).unwrap_or(0.0);
    // Less than nothing: the other one is better.
    let behind = |other: &Record| -> Option<f64> {
        let there = column.value(other)?;
        let is_told = column.format(there) != column.format(value)
            && (there - value).abs() > within(row) + within(other);
        is_told.then_some(sign * (there - value))
    };
    let told: Vec<f64> = rows.iter().filter_map(|other| behind(other)).collect();
    !told.is_empty() && told.iter().all(|behind| *behind > 0.0)
}

/// One run: its measures, its applications and the kinds of core.
pub fn simulate(record: &Record, style: Style) -> String {
    let title = format!(
        "{} under {} on {} ({})",
        labels::workloads(record),
        record.policy,
        record.machine,
        record.cores
    );
    let mut text = wrapped(&labels::plain(&title), style.width);
    if let Some(error) = &record.error {
        text.push_str(&wrapped(&format!("failed: {error}"), style.width));
        return text;
    }

    let mut table = blank();
    for column in measures(&[record]) {
        if let Some(value) = column.value(record) {
            table.add_row([
                Cell::new(column.title),
                right(column.format(value)),
                Cell::new(column.unit),
            ]);
        }
    }
    text.push_str(&format!("\n{}\n", drawn(table, 2)));

    if !record.apps.is_empty() {
        text.push_str(&format!("\n{}\n", apps(record, style)));
    }
    if !record.kinds.is_empty() {
        text.push_str(&format!("\n{}\n", kinds(record)));
    }
    text
}

fn apps(record: &Record, style: Style) -> String {
    /// A column of the table, and its rank: if the table is too wide, the column of the greatest
    /// rank is dropped first.
    type AppColumn<'a> = (String, u8, Box<dyn Fn(&AppRow) -> String + 'a>);
    let mut shown: Vec<AppColumn<'_>> = vec![
        ("threads".into(), 1, Box::new(|app| app.threads.to_string())),
        ("completion\ns".into(), 0, Box::new(|app| number(app.completion_s))),
    ];
    if record.apps.iter().any(|app| app.slowdown.is_some()) {
        shown.push(("slowdown".into(), 0, Box::new(|app| app.slowdown.map_or("-".into(), number))));
    }
    for kind in record.kinds.keys() {
        let on = move |app: &AppRow| number(app.time_on_kind_s.get(kind).copied().unwrap_or(0.0));
        shown.push((format!("on {}\ns", labels::plain(kind)), 2, Box::new(on)));
    }
    shown.push(("waited\ns".into(), 3, Box::new(|app| number(app.wait_s))));
    shown.push(("blocked\ns".into(), 5, Box::new(|app| number(app.blocked_s))));
    shown.push(("migrations".into(), 4, Box::new(|app| app.migrations.to_string())));
    loop {
        let mut table = blank();
        table.set_header(
            [Cell::new("application")]
                .into_iter()
                .chain(shown.iter().map(|column| right(&column.0))),
        );
        for app in &record.apps {
            let name = Cell::new(labels::plain(&labels::short(&app.name, 24)));
            table.add_row(
                [name].into_iter().chain(shown.iter().map(|column| right((column.2)(app)))),
            );
        }
        let text = drawn(table, 2);
        match shown.iter().enumerate().max_by_key(|(_, column)| column.1) {
            Some((least, _)) if widest(&text) > style.width && shown.len() > 2 => {
                drop(shown.remove(least))
            }
            _ => return text,
        }
    }
}

fn kinds(record: &Record) -> String {
    let energy = record.kinds.values().any(|kind| kind.energy_j.is_some());
    let mut table = blank();
    let mut header = vec![Cell::new("kind"), right("busy\ns"), right("idle\ns"), right("busy\n%")];
    if energy {
        header.extend([right("energy\nJ"), right("power\nW")]);
    }
    table.set_header(header);
    for (name, kind) in &record.kinds {
        let all = kind.busy_s + kind.idle_s;
        let share = if all > 0.0 { 100.0 * kind.busy_s / all } else { 0.0 };
        let mut cells = vec![
            Cell::new(labels::plain(name)),
            right(number(kind.busy_s)),
            right(number(kind.idle_s)),
            right(format!("{share:.1}")),
        ];
        if energy {
            let optional = |value: Option<f64>| right(value.map_or("-".into(), number));
            cells.extend([optional(kind.energy_j), optional(kind.mean_power_w)]);
        }
        table.add_row(cells);
    }
    drawn(table, 2)
}

/// A style with only a line under the header.
const RULED: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

fn blank() -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// The table's text, with `between` spaces between columns and none at the end of a line.
fn drawn(mut table: Table, between: u16) -> String {
    let last = table.column_count().saturating_sub(1);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if number == last { 0 } else { between }));
    }
    table.trim_fmt()
}

/// A table with these headings and alignments.
pub(crate) fn ruled<R: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = String>,
    rows: impl IntoIterator<Item = R>,
    aligned_right: &[bool],
) -> String {
    let mut table = blank();
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for (column, _) in table.column_iter_mut().zip(aligned_right).filter(|(_, right)| **right) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    drawn(table, 1)
}

fn right(content: impl ToString) -> Cell {
    Cell::new(content).set_alignment(CellAlignment::Right)
}

fn widest(table: &str) -> usize {
    table.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
}

/// Text in lines of at most `width`, broken at spaces where there are any.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        if length > 0 && length + 1 + letters > width {
            lines.push('\n');
            length = 0;
        }
        if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += letters;
    }
    lines.push('\n');
    lines
}
