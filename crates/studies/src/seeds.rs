//! A study over several seeds: the mean of each figure, with its 95 % interval.

use evenkeel_metrics::Interval;

use crate::{CarriedOut, Cell, Exhibit, Reproduction};

/// The mean of a study over seeds. Remarks are those that all seeds have in common. A table with
/// other rows for another seed is the first one's, and a remark says so. `None`: of nothing.
#[must_use]
pub fn over_seeds(all: &[Reproduction]) -> Option<Reproduction> {
    let [first, _, ..] = all else { return all.first().cloned() };
    let experiment = |(place, carried_out): (usize, &CarriedOut)| {
        let table = |(number, exhibit): (usize, &Exhibit)| {
            let of_seed =
                |it: &Reproduction| it.experiments.get(place)?.tables.get(number).cloned();
            let tables: Option<Vec<Exhibit>> = all.iter().map(of_seed).collect();
            tables.and_then(|tables| mean(&tables)).unwrap_or_else(|| {
                let remark = format!("Of seed {} alone: with others its rows differ.", first.seed);
                let remarks = exhibit.remarks.iter().cloned().chain([remark]).collect();
                Exhibit { remarks, ..exhibit.clone() }
            })
        };
        let tables = carried_out.tables.iter().enumerate().map(table).collect();
        CarriedOut { tables, ..carried_out.clone() }
    };
    let experiments = first.experiments.iter().enumerate().map(experiment).collect();
    Some(Reproduction { seeds: Some(all.len() as u64), experiments, ..first.clone() })
}

/// The mean of tables; `None` where their rows or columns differ.
fn mean(tables: &[Exhibit]) -> Option<Exhibit> {
    let first = tables.first()?;
    let is_same =
        |other: &Exhibit| other.columns == first.columns && other.rows.len() == first.rows.len();
    if !tables.iter().all(is_same) {
        return None;
    }
    let (mut rows, mut ci95) = (Vec::new(), Vec::new());
    for (number, row) in first.rows.iter().enumerate() {
        let (mut cells, mut halves) = (Vec::new(), Vec::new());
        for column in 0..row.len() {
            let all = tables.iter().map(|table| table.rows[number].get(column));
            let (cell, half) = mean_cell(&all.collect::<Option<Vec<&Cell>>>()?)?;
            cells.push(cell);
            halves.push(half);
        }
        rows.push(cells);
        ci95.push(halves);
    }
    let is_everywhere = |remark: &&String| tables.iter().all(|it| it.remarks.contains(remark));
    let remarks = first.remarks.iter().filter(is_everywhere).cloned().collect();
    Some(Exhibit { rows, ci95, remarks, ..first.clone() })
}

/// The mean of a cell, and half its interval. A figure that one seed lacks has none; a name that is
/// not the same for all has no place in a table of means.
fn mean_cell(cells: &[&Cell]) -> Option<(Cell, f64)> {
    let first = *cells.first()?;
    if cells.iter().any(|cell| matches!(cell, Cell::Text(_))) {
        return cells.iter().all(|cell| *cell == first).then(|| (first.clone(), 0.0));
    }
    let number = |cell: &&Cell| match cell {
        Cell::Number(number) if number.is_finite() => Some(*number),
        _ => None,
    };
    let numbers: Option<Vec<f64>> = cells.iter().map(number).collect();
    let Some(numbers) = numbers else { return Some((Cell::Missing, 0.0)) };
    let Interval { mean, half_width } = Interval::of(&numbers);
    Some((Cell::Number(mean), half_width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    fn seed(seed: u64, speedup: f64, best: &str) -> Reproduction {
        let table = Exhibit {
            title: "speedups".into(),
            columns: vec![Column::new("program", ""), Column::new("speedup", "")],
            rows: vec![vec!["mcf".into(), speedup.into()], vec![best.into(), Cell::Missing]],
            remarks: vec!["true of all".into(), format!("true of {seed}")],
            ..Exhibit::default()
        };
        let carried_out = CarriedOut { number: 3, title: "", setting: "", tables: vec![table] };
        Reproduction {
            study: "study",
            title: "",
            source: "",
            live: false,
            quick: false,
            seed,
            seeds: None,
            made_by: String::new(),
            experiments: vec![carried_out],
        }
    }

    #[test]
    fn figures_are_means_with_intervals_and_remarks_those_of_all_seeds() {
        let all = [seed(1, 1.0, "lbm"), seed(2, 2.0, "lbm"), seed(3, 3.0, "lbm")];
        let mean = over_seeds(&all).unwrap();
        let table = &mean.experiments[0].tables[0];
        assert_eq!((mean.seed, mean.seeds), (1, Some(3)));
        assert_eq!(table.rows[0], vec![Cell::from("mcf"), Cell::from(2.0)]);
        // t(0.975, 2) = 4.30265 of any table, and s = 1.
        assert!((table.interval(0, 1) - 4.30265 / 3.0_f64.sqrt()).abs() < 1e-4);
        assert_eq!((table.interval(0, 0), table.rows[1][1].clone()), (0.0, Cell::Missing));
        assert_eq!(table.remarks, ["true of all"]);
    }

    #[test]
    fn rows_that_another_seed_does_not_have_are_those_of_the_first_which_is_said() {
        let all = [seed(1, 1.0, "lbm"), seed(2, 2.0, "gcc")];
        let mean = over_seeds(&all).unwrap();
        let table = &mean.experiments[0].tables[0];
        assert_eq!(table.rows, all[0].experiments[0].tables[0].rows);
        let said = "Of seed 1 alone: with others its rows differ.";
        assert_eq!(table.remarks.last().map(String::as_str), Some(said));
    }
}
