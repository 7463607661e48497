//! The file of counts, and what has risen since.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

/// So much more than the file says is too much.
const MOST: f64 = 1.03;

/// What the paths took under one compiler.
pub struct Counts {
    pub compiler: String,
    pub rows: Vec<Count>,
}

/// What a path took.
pub struct Count {
    pub path: String,
    pub instructions: u64,
    /// The most that it had allocated at a time.
    pub bytes: u64,
}

fn file() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/counts.csv"))
}

impl Counts {
    pub fn read() -> Result<Self> {
        let text = fs::read_to_string(file()).context("tests/hot_paths/counts.csv")?;
        let mut lines = text.lines();
        let compiler =
            lines.next().and_then(|line| line.strip_prefix("# ")).context("counts.csv: no compiler")?.to_owned();
        let row = |line: &str| {
            let [path, instructions, bytes] = line.split(',').collect::<Vec<_>>()[..] else {
                bail!("counts.csv: expected path,instructions,bytes, found {line}")
            };
            Ok(Count { path: path.to_owned(), instructions: instructions.parse()?, bytes: bytes.parse()? })
        };
        Ok(Self { compiler, rows: lines.skip(1).map(row).collect::<Result<_>>()? })
    }

    pub fn write(&self) -> Result<()> {
        let mut text = format!("# {}\npath,instructions,bytes\n", self.compiler);
        for row in &self.rows {
            writeln!(text, "{},{},{}", row.path, row.instructions, row.bytes)?;
        }
        fs::write(file(), text).context("tests/hot_paths/counts.csv")
    }

    /// Prints each count beside what it was, and gives what has risen by too much, or is not in the file.
    pub fn print_beside(&self, before: &Self) -> Vec<String> {
        println!("{:<14} {:>14} {:>7} {:>12} {:>7}", "path", "instructions", "", "bytes", "");
        let mut risen = Vec::new();
        for row in &self.rows {
            let Some(was) = before.rows.iter().find(|was| was.path == row.path) else {
                risen.push(format!("{} (not in the file)", row.path));
                continue;
            };
            let over = |now: u64, was: u64| if now == was { 1.0 } else { now as f64 / was.max(1) as f64 };
            let (instructions, bytes) = (over(row.instructions, was.instructions), over(row.bytes, was.bytes));
            println!(
                "{:<14} {:>14} {:>+6.1}% {:>12} {:>+6.1}%",
                row.path,
                row.instructions,
                (instructions - 1.0) * 100.0,
                row.bytes,
                (bytes - 1.0) * 100.0
            );
            for (what, ratio) in [("instructions", instructions), ("bytes", bytes)] {
                if ratio > MOST {
                    risen.push(format!("{of} of {path}", of = what, path = row.path));
                }
            }
        }
        risen
    }
}
