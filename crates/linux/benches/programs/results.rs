//! What turns came to, as a file of comma-separated values that can be gone on with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::statistics::geometric_mean;
use super::ways::How;

/// Names of the columns.
pub const HEAD: &str =
    "setting,lab,cores,round,place,program,how,seconds,whole_s,cpu_s,checksum,failure";

/// One turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What else has to be the same for rows to be compared: the binary, sizes, threads.
    pub setting: String,
    /// The lab's name.
    pub lab: String,
    /// How slow its cores are, as it says.
    pub cores: String,
    /// From 1.
    pub round: usize,
    /// Which turn at the program it was in this round, from 0.
    pub place: usize,
    /// The program.
    pub program: String,
    /// What it ran under.
    pub how: How,
    /// From the program's start to its end.
    pub seconds: f64,
    /// The same with whatever Evenkeel did before and after.
    pub whole: f64,
    /// CPU time of the program.
    pub cpu: f64,
    /// Of its output; empty where that is not the same each time.
    pub checksum: String,
    /// What went wrong; empty: nothing.
    pub failure: String,
}

impl Row {
    /// A line of the file.
    pub fn line(&self) -> String {
        let plain = |text: &str| text.replace([',', '\n', '\r'], ";");
        format!(
            "{},{},{},{},{},{},{},{:.3},{:.3},{:.2},{},{}",
            self.setting,
            self.lab,
            plain(&self.cores),
            self.round,
            self.place,
            self.program,
            self.how,
            self.seconds,
            self.whole,
            self.cpu,
            self.checksum,
            plain(&self.failure)
        )
    }

    /// Reads such a line.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split(',').collect();
        let [
            setting,
            lab,
            cores,
            round,
            place,
            program,
            how,
            seconds,
            whole,
            cpu,
            checksum,
            failure,
        ] = fields[..]
        else {
            return Err(format!("{} columns found, expected those of {HEAD}", fields.len()));
        };
        let whole_number =
            |text: &str| text.parse::<usize>().map_err(|_| format!("'{text}' is no whole number"));
        let number = |text: &str| {
            let number =
                text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| format!("'{text}' is no time"))
        };
        Ok(Self {
            setting: setting.to_owned(),
            lab: lab.to_owned(),
            cores: cores.to_owned(),
            round: whole_number(round)?,
            place: whole_number(place)?,
            program: program.to_owned(),
            how: how.parse()?,
            seconds: number(seconds)?,
            whole: number(whole)?,
            cpu: number(cpu)?,
            checksum: checksum.to_owned(),
            failure: failure.to_owned(),
        })
    }

    /// Whether its time counts.
    pub fn is_good(&self) -> bool {
        self.failure.is_empty() && self.seconds > 0.0
    }
}

/// All turns of the file; none where there is no file. A last line that was broken off is passed
/// over.
///
/// # Errors
/// It cannot be read, or a line is none of ours.
pub fn read(file: &Path) -> Result<Vec<Row>, String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
    let rows = complete.lines().enumerate().filter(|(_, line)| *line != HEAD && !line.is_empty());
    rows.map(|(at, line)| {
        Row::parse(line).map_err(|why| format!("{}:{}: {why}", file.display(), at + 1))
    })
    .collect()
}

/// Adds a turn at the end of the file, at once: a session that is broken off has lost nothing.
pub fn append(file: &Path, row: &Row) -> io::Result<()> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut open = fs::OpenOptions::new().create(true).append(true).open(file)?;
    if text.is_empty() {
        writeln!(open, "{HEAD}")?;
    } else if !text.ends_with('\n') {
        // The line that a session was writing when it was broken off.
        open.set_len(text.rfind('\n').map_or(0, |at| at + 1) as u64)?;
    }
    writeln!(open, "{}", row.line())
}

/// Time under what over the kernel's alone, by program and what it ran under: one a round, by
/// round.
///
/// The kernel's is the geometric mean of its turns just before and after. A turn that failed, or
/// whose output is not that of the kernel's, has none.
pub fn ratios(rows: &[Row]) -> BTreeMap<(String, How), BTreeMap<usize, f64>> {
    let mut turns: BTreeMap<(usize, &str), Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_good()) {
        turns.entry((row.round, &row.program)).or_default().push(row);
    }
    let mut ratios: BTreeMap<(String, How), BTreeMap<usize, f64>> = BTreeMap::new();
    for ((round, program), mut turns) in turns {
        turns.sort_by_key(|row| row.place);
        let kernel: Vec<&Row> =
            turns.iter().copied().filter(|row| row.how == How::Kernel).collect();
        for row in turns.iter().filter(|row| row.how != How::Kernel) {
            let before = kernel.iter().rev().find(|other| other.place < row.place);
            let after = kernel.iter().find(|other| other.place > row.place);
            let beside: Vec<f64> =
                before.into_iter().chain(after).map(|other| other.seconds).collect();
            if let Some(mean) = geometric_mean(&beside) {
                ratios
                    .entry((program.to_owned(), row.how.clone()))
                    .or_default()
                    .insert(round, row.seconds / mean);
            }
        }
    }
    ratios
}

/// Rounds in which each of these programs had all its turns, whatever they came to.
pub fn complete_rounds(rows: &[Row], programs: &[&str], turns: usize) -> usize {
    let mut had: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for row in rows {
        *had.entry((row.round, &row.program)).or_default() += 1;
    }
    let rounds: BTreeSet<usize> = rows.iter().map(|row| row.round).collect();
    let is_complete = |round: &usize| {
        programs.iter().all(|program| had.get(&(*round, *program)).is_some_and(|had| *had >= turns))
    };
    rounds.iter().filter(|round| is_complete(round)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn row(round: usize, place: usize, how: &str, seconds: f64) -> Row {
        Row {
            setting: "s".into(),
            lab: "affinity".into(),
            cores: "1=3.0".into(),
            round,
            place,
            program: "xz".into(),
            how: how.parse().unwrap(),
            seconds,
            whole: seconds,
            cpu: 1.0,
            checksum: "0123456789abcdef".into(),
            failure: String::new(),
        }
    }

    #[test]
    fn a_turn_is_compared_with_the_kernels_before_and_after_it() {
        let ours = "run/affinity/acfs";
        let rows = [
            row(1, 0, "kernel", 1.0),
            row(1, 1, ours, 3.0),
            row(1, 2, "kernel", 4.0),
            row(2, 1, ours, 9.0),
        ];
        let ratios = ratios(&rows);
        let of = &ratios[&("xz".to_owned(), ours.parse().unwrap())];
        assert_eq!(of.len(), 1, "round 2 has nothing to compare with");
        assert!((of[&1] - 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_turn_that_failed_has_no_ratio() {
        let failed = Row { failure: "exit code 1".into(), ..row(1, 1, "run/affinity/acfs", 3.0) };
        assert!(ratios(&[row(1, 0, "kernel", 1.0), failed]).is_empty());
        let failed = Row { failure: "killed".into(), ..row(1, 0, "kernel", 1.0) };
        assert!(ratios(&[failed, row(1, 1, "run/affinity/acfs", 3.0)]).is_empty());
    }

    #[test]
    fn the_file_is_read_as_it_was_written_and_a_line_that_was_broken_off_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.csv");
        assert_eq!(read(&file), Ok(vec![]));
        let rows = [
            row(1, 0, "kernel", 1.5),
            Row { failure: "a; b".into(), ..row(1, 1, "attach/affinity/age", 2.0) },
        ];
        append(&file, &rows[0]).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text + "s,affinity,1=3.0,1,1,xz,atta").unwrap();
        assert_eq!(read(&file).unwrap(), rows[..1]);
        append(&file, &rows[1]).unwrap();
        assert_eq!(read(&file).unwrap(), rows);
        fs::write(&file, format!("{HEAD}\n1,2\n")).unwrap();
        assert!(read(&file).unwrap_err().contains("x.csv:2: 2 columns found"));
    }

    #[test]
    fn a_round_that_was_broken_off_is_not_complete() {
        let rows = [
            row(1, 0, "kernel", 1.0),
            row(1, 1, "run/affinity/acfs", 1.0),
            row(2, 0, "kernel", 1.0),
        ];
        assert_eq!(complete_rounds(&rows, &["xz"], 2), 1);
        assert_eq!(complete_rounds(&rows, &["xz", "7z"], 2), 0);
    }
}
