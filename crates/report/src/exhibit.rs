//! The tables of studies: formatted cells, and the tables of a whole study for a terminal.

use evenkeel_studies::{Cell, Exhibit, Reproduction};

use crate::figure::number;
use crate::labels::plain;
use crate::table::{Style, ruled, wrapped};

/// Shown for a missing figure.
const NONE: &str = "-";

/// All cells of a table, formatted, by row. A column whose figures are all whole shows no decimals.
pub(crate) fn cells(exhibit: &Exhibit) -> Vec<Vec<String>> {
    let whole: Vec<bool> =
        (0..exhibit.columns.len()).map(|column| is_whole(exhibit, column)).collect();
    let shown = |(cell, &whole): (&Cell, &bool)| match cell {
        Cell::Text(text) => plain(text),
        Cell::Number(figure) if whole => format!("{figure:.0}"),
        Cell::Number(figure) if figure.is_finite() => number(*figure),
        Cell::Number(_) | Cell::Missing => NONE.into(),
    };
    let of_row = |(row, cells): (usize, &Vec<Cell>)| {
        let with_interval = |(column, text): (usize, String)| match exhibit.interval(row, column) {
            within if within > 0.0 => format!("{text} ±{}", number(within)),
            _ => text,
        };
        cells.iter().zip(&whole).map(shown).enumerate().map(with_interval).collect()
    };
    exhibit.rows.iter().enumerate().map(of_row).collect()
}

/// True if all figures of a column are whole numbers.
fn is_whole(exhibit: &Exhibit, column: usize) -> bool {
    let figures = exhibit.rows.iter().filter_map(|row| match row.get(column) {
        Some(Cell::Number(figure)) => Some(*figure),
        _ => None,
    });
    let mut figures = figures.peekable();
    figures.peek().is_some() && figures.all(|figure| figure.fract() == 0.0 && figure.abs() < 1e9)
}

/// True if a column has text, so that it is aligned to the left.
pub(crate) fn is_text(exhibit: &Exhibit, column: usize) -> bool {
    exhibit.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Text(_))))
}

/// The number of columns from the left that name the row: the text with which rows begin.
pub(crate) fn stub(exhibit: &Exhibit) -> usize {
    (0..exhibit.columns.len()).take_while(|&column| is_text(exhibit, column)).count().max(1)
}

/// A study carried out again, as text: each experiment with its setting, tables and remarks.
///
/// A table that is wider than `style` allows continues below, with the names of its rows repeated.
pub fn study(study: &Reproduction, style: Style) -> String {
    let mut text =
        wrapped(&format!("{}: {} ({})", study.study, study.title, study.source), style.width);
    if let Some(quick) = quick(study) {
        text.push_str(&wrapped(quick, style.width));
    }
    if study.seeds.is_some() {
        text.push_str(&wrapped(&seeds(study), style.width));
    }
    for experiment in &study.experiments {
        let heading = wrapped(&format!("{}. {}", experiment.number, experiment.title), style.width);
        text.push_str(&format!("\n{heading}{}\n", "═".repeat(longest_line(&heading))));
        text.push_str(&wrapped(experiment.setting, style.width));
        for exhibit in &experiment.tables {
            text.push_str(&format!("\n{}", wrapped(&plain(&exhibit.title), style.width)));
            text.push_str(&table(exhibit, style));
            for remark in &exhibit.remarks {
                text.push_str(&wrapped(&format!("* {}", plain(remark)), style.width));
            }
        }
    }
    text
}

/// The note for a quick look.
pub(crate) const fn quick(study: &Reproduction) -> Option<&'static str> {
    match (study.quick, study.live) {
        (false, _) => None,
        (true, false) => Some(
            "Quick: about a tenth of the runs, for a first look. Figures of the full study differ.",
        ),
        (true, true) => {
            Some("Quick: each case once, for a first look: chance decides several percent.")
        }
    }
}

/// Which seeds a study was carried out with.
pub(crate) fn seeds(study: &Reproduction) -> String {
    match study.seeds {
        None => format!("Seed {}.", study.seed),
        Some(count) => format!(
            "Figures are means over {count} seeds from {} on, with their 95 % intervals.",
            study.seed
        ),
    }
}

fn longest_line(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// The table, in as many pieces below each other as the width requires.
fn table(exhibit: &Exhibit, style: Style) -> String {
    const BETWEEN: usize = 2;
    let cells = cells(exhibit);
    let width = |column: usize| {
        let head = &exhibit.columns[column];
        let letters = |text: &str| text.chars().count();
        let below = cells.iter().filter_map(|row| row.get(column)).map(|cell| letters(cell)).max();
        letters(&head.name).max(letters(head.unit)).max(below.unwrap_or(0)) + BETWEEN
    };
    let stub: Vec<usize> = (0..stub(exhibit).min(exhibit.columns.len())).collect();
    let taken: usize = stub.iter().map(|&column| width(column)).sum();
    let mut pieces: Vec<Vec<usize>> = vec![stub.clone()];
    let mut used = taken;
    for column in stub.len()..exhibit.columns.len() {
        let begun = pieces.last().is_some_and(|piece| piece.len() > stub.len());
        if begun && used + width(column) > style.width + BETWEEN {
            pieces.push(stub.clone());
            used = taken;
        }
        used += width(column);
        if let Some(piece) = pieces.last_mut() {
            piece.push(column);
        }
    }
    let drawn = pieces.iter().map(|piece| piece_of(exhibit, &cells, piece));
    drawn.collect::<Vec<_>>().join("\n")
}

/// Some columns of the table.
fn piece_of(exhibit: &Exhibit, cells: &[Vec<String>], columns: &[usize]) -> String {
    let units = columns.iter().any(|&column| !exhibit.columns[column].unit.is_empty());
    let title = |&column: &usize| {
        let head = &exhibit.columns[column];
        let name = plain(&head.name);
        if units { format!("{name}\n{}", head.unit) } else { name }
    };
    let right: Vec<bool> = columns.iter().map(|&column| !is_text(exhibit, column)).collect();
    let rows = cells
        .iter()
        .map(|row| columns.iter().map(|&column| row.get(column).cloned().unwrap_or_default()));
    ruled(columns.iter().map(title), rows, &right) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_studies::Column;

    fn exhibit() -> Exhibit {
        let figures = ["one", "two", "three"].map(|name| Column::new(name, "s"));
        Exhibit {
            title: "Times".into(),
            columns: [Column::new("program", "")].into_iter().chain(figures).collect(),
            rows: vec![
                vec!["bodytrack".into(), 4.0.into(), 1.25.into(), Cell::Missing],
                vec!["ferret".into(), 12.0.into(), 2.0.into(), f64::NAN.into()],
            ],
            ..Exhibit::default()
        }
    }

    #[test]
    fn counts_are_whole_figures_have_four_places_and_what_is_missing_is_seen() {
        assert_eq!(
            cells(&exhibit()),
            [["bodytrack", "4", "1.250", "-"], ["ferret", "12", "2.000", "-"]]
        );
    }

    #[test]
    fn a_table_that_is_too_wide_goes_on_beneath_with_its_names() {
        let wide = table(&exhibit(), Style { width: 100, ..Style::default() });
        assert_eq!(wide.matches("bodytrack").count(), 1, "{wide}");
        let narrow = table(&exhibit(), Style { width: 21, ..Style::default() });
        assert_eq!(narrow.matches("bodytrack").count(), 2, "{narrow}");
        assert!(narrow.lines().all(|line| line.chars().count() <= 21), "{narrow}");
        let hopeless = table(&exhibit(), Style { width: 1, ..Style::default() });
        assert_eq!(hopeless.matches("bodytrack").count(), 3, "{hopeless}");
    }
}
