//! Tables of lists and descriptions: plain, aligned, as wide as the terminal. Those of results are `evenkeel-report`'s.

use std::fmt::Display;

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};
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

/// As [`text`], but where the terminal is narrower than the table, columns of `droppable` are left out, in that order, until
/// it fits, and a line says which and that `instead` has them.
pub fn fitted(table: Table, droppable: &[usize], instead: &str) -> String {
    let width = terminal_size::terminal_size().map(|(width, _)| width.0.into());
    fitted_to(table, droppable, instead, width)
}

fn fitted_to(mut table: Table, droppable: &[usize], instead: &str, width: Option<usize>) -> String {
    const BETWEEN: usize = 2;
    let widths = table.column_max_content_widths();
    let mut needed: usize = widths.iter().map(|&width| usize::from(width) + BETWEEN).sum::<usize>() - BETWEEN;
    let mut left_out = Vec::new();
    for &index in droppable {
        if width.is_none_or(|width| needed <= width) {
            break;
        }
        needed -= usize::from(widths[index]) + BETWEEN;
        left_out.extend(table.header().and_then(|row| row.cell_iter().nth(index)).map(|cell| cell.content()));
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    let note = match left_out.as_slice() {
        [] => String::new(),
        titles => format!("\nToo narrow for {}: {instead}.\n", titles.join(", ")),
    };
    text(table) + &note
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_left_out_in_order_and_named() {
        let table = || {
            let mut table = figures(["name", "one", "two"].map(str::to_owned).to_vec(), 1);
            table.add_row(["x".repeat(20), "1".repeat(20), "2".repeat(20)]);
            table
        };
        let drawn = |width| fitted_to(table(), &[2, 1], "--json has all", width);
        assert_eq!(drawn(None), drawn(Some(64)));
        assert!(drawn(Some(64)).contains("two") && !drawn(Some(64)).contains("narrow"));
        let narrow = drawn(Some(63));
        assert!(narrow.contains("1111") && !narrow.contains("2222"), "{narrow}");
        assert!(narrow.ends_with("\nToo narrow for two: --json has all.\n"), "{narrow}");
        assert!(drawn(Some(30)).ends_with("Too narrow for two, one: --json has all.\n"));
    }
}
