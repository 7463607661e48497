//! Tables of lists and descriptions: plain, aligned, as wide as the terminal. Those of results are
//! `evenkeel-report`'s.

use std::fmt::Display;

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
use evenkeel_report::table::Style;

/// A style with only a line under the header.
const RULED: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table of text with these columns; long cells are wrapped to the terminal.
pub fn plain<const N: usize>(header: [&str; N]) -> Table {
    let mut table = blank();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    if let Some(width) = width() {
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table
}

/// The number of columns: from `COLUMNS`, else from the terminal; `None` if neither says, as in a
/// pipe.
pub fn width() -> Option<usize> {
    let said =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse::<usize>().ok());
    let said = said.filter(|columns| *columns > 0);
    said.or_else(|| terminal_size::terminal_size().map(|(width, _)| width.0.into()))
}

/// Wraps text to the terminal: a line is broken between words, and goes on behind `indent` blanks.
pub fn wrapped(text: &str, indent: usize) -> String {
    wrapped_to(text, indent, width())
}

/// Wraps to this width. A word that is longer than a line is left whole: it may be a path or a
/// command.
fn wrapped_to(text: &str, indent: usize, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let mut column = 0;
        for (index, word) in line.split(' ').enumerate() {
            let length = word.chars().count();
            if index > 0 && column + 1 + length > width && column >= indent {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else if index > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
        out.push_str(end);
    }
    out
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

/// The table's text, with three spaces between columns and none at the end of a line.
pub fn text(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// As [`text`], but if the terminal is narrower than the table, columns of `droppable` are left
/// out, in that order, until it fits. A line then names them and says that `instead` has them.
pub fn fitted(table: Table, droppable: &[usize], instead: &str) -> String {
    fitted_to(table, droppable, instead, width())
}

fn fitted_to(mut table: Table, droppable: &[usize], instead: &str, width: Option<usize>) -> String {
    // The padding that `text` sets, and the separator.
    const BETWEEN: usize = 3;
    let widths = table.column_max_content_widths();
    let mut needed: usize =
        widths.iter().map(|&width| usize::from(width) + BETWEEN).sum::<usize>() - BETWEEN;
    let mut left_out = Vec::new();
    for &index in droppable {
        if width.is_none_or(|width| needed <= width) {
            break;
        }
        needed -= usize::from(widths[index]) + BETWEEN;
        left_out.extend(
            table.header().and_then(|row| row.cell_iter().nth(index)).map(|cell| cell.content()),
        );
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    let note = match left_out.as_slice() {
        [] => String::new(),
        titles => {
            wrapped_to(&format!("\nToo narrow for {}: {instead}.\n", titles.join(", ")), 0, width)
        }
    };
    text(table) + &note
}

/// The style of result tables here.
pub fn style() -> Style {
    width().map_or_else(Style::default, |width| Style { width, ..Style::default() })
}

/// Names and their values, one line each, with the names in a column.
pub fn facts(facts: &[(&str, &dyn Display)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    facts.iter().map(|(name, value)| wrapped(&format!("{name:<width$}{value}\n"), width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_go_on_indented() {
        let text = "name  one two three\nlong/path/that/is/one/word\n";
        assert_eq!(wrapped_to(text, 6, None), text);
        assert_eq!(
            wrapped_to(text, 6, Some(14)),
            "name  one two\n      three\nlong/path/that/is/one/word\n"
        );
        assert_eq!(wrapped_to("a\n\n b c", 2, Some(3)), "a\n\n b\n  c");
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out_in_order_and_named() {
        let table = || {
            let mut table = figures(["name", "one", "two"].map(str::to_owned).to_vec(), 1);
            table.add_row(["x".repeat(20), "1".repeat(20), "2".repeat(20)]);
            table
        };
        let drawn = |width| fitted_to(table(), &[2, 1], "--json has all", width);
        assert_eq!(drawn(None), drawn(Some(66)));
        assert!(drawn(Some(66)).contains("two") && !drawn(Some(66)).contains("narrow"));
        let narrow = drawn(Some(65));
        assert!(narrow.contains("1111") && !narrow.contains("2222"), "{narrow}");
        assert!(narrow.ends_with("\nToo narrow for two: --json has all.\n"), "{narrow}");
        assert!(drawn(Some(30)).ends_with("\nToo narrow for two, one:\n--json has all.\n"));
    }
}
