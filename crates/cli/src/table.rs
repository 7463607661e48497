//! Tables of lists and descriptions: plain, aligned, as wide as the terminal. Those of results are `evenkeel-report`'s.

use std::fmt::Display;

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use evenkeel_report::table::Style;

/// Nothing but a line under the header.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table of text with these columns; long cells are wrapped to the terminal.
pub fn plain<const N: usize>(header: [&str; N]) -> Table {
    let mut table = blank();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    if let Some((width, _)) = terminal_size::terminal_size() {
        table.set_width(width.0);
    }
    table
}

/// A table of figures: all columns but the first few are aligned to the right.
pub fn figures(header: Vec<String>, left: usize) -> Table {
    let mut table = blank();
    table.set_header(header.into_iter().map(Cell::new));
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn blank() -> Table {
    let mut table = Table::new();
    table.load_style(RULED);
    table
}

/// With two spaces between columns, and none at the end of a line, which no one sees and every `diff` does.
pub fn text(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// How tables of results look here.
pub fn style() -> Style {
    terminal_size::terminal_size().map_or_else(Style::default, |(width, _)| Style { width: width.0.into() })
}

/// A name and what is said of it, one line each, the names in a column.
pub fn facts(facts: &[(&str, &dyn Display)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    facts.iter().map(|(name, value)| format!("{name:<width$}{value}\n")).collect()
}
