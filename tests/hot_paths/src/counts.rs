//! The file of counts, and what differs from it.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

/// A count may differ from the file's by this part.
const ROOM: f64 = 0.03;

/// The counts of all paths.
pub struct Counts {
    pub toolchain: String,
    pub rows: Vec<Count>,
}

/// The counts of a path.
pub struct Count {
    pub path: String,
    pub instructions: u64,
    /// The most bytes that it had allocated at a time.
    pub bytes: u64,
}

fn file() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/counts.csv"))
}

impl Counts {
    pub fn read() -> Result<Self> {
        let text = fs::read_to_string(file()).context("tests/hot_paths/counts.csv")?;
        let mut lines = text.lines();
        let head = lines.next().and_then(|line| line.strip_prefix("# "));
        let toolchain =
            head.context("counts.csv: expected '# ' and a toolchain in the first line")?.to_owned();
        let row = |line: &str| {
            let [path, instructions, bytes] = line.split(',').collect::<Vec<_>>()[..] else {
                bail!("counts.csv: expected path,instructions,bytes, found {line}")
            };
            Ok(Count {
                path: path.to_owned(),
                instructions: instructions.parse()?,
                bytes: bytes.parse()?,
            })
        };
        Ok(Self { toolchain, rows: lines.skip(1).map(row).collect::<Result<_>>()? })
    }

    pub fn write(&self) -> Result<()> {
        let mut text = format!("# {}\npath,instructions,bytes\n", self.toolchain);
        for row in &self.rows {
            writeln!(text, "{},{},{}", row.path, row.instructions, row.bytes)?;
        }
        fs::write(file(), text).context("tests/hot_paths/counts.csv")
    }

    /// Prints each count beside its old value. Gives the paths whose counts differ by too much, or
    /// that only one of the two has.
    pub fn print_beside(&self, before: &Self) -> Vec<String> {
        println!("{:<14} {:>14} {:>7} {:>12} {:>7}", "path", "instructions", "", "bytes", "");
        let gone =
            before.rows.iter().filter(|was| self.rows.iter().all(|row| row.path != was.path));
        let mut moved: Vec<String> =
            gone.map(|was| format!("{} (no such path)", was.path)).collect();
        for row in &self.rows {
            let Some(was) = before.rows.iter().find(|was| was.path == row.path) else {
                moved.push(format!("{} (not in the file)", row.path));
                continue;
            };
            let over = |now: u64, was: u64| {
                if now == was { 0.0 } else { now as f64 / was.max(1) as f64 - 1.0 }
            };
            let (instructions, bytes) =
                (over(row.instructions, was.instructions), over(row.bytes, was.bytes));
            let (in_percent, bytes_in_percent) = (instructions * 100.0, bytes * 100.0);
            println!(
                "{:<14} {:>14} {in_percent:>+6.1}% {:>12} {bytes_in_percent:>+6.1}%",
                row.path, row.instructions, row.bytes
            );
            let named = [("instructions", instructions), ("bytes", bytes)];
            let far = named.iter().filter(|(_, by)| by.abs() > ROOM);
            moved.extend(far.map(|(what, _)| format!("{what} of {}", row.path)));
        }
        moved
    }
}
