//! The table of a bench: medians, spread, ratios; on the terminal and in docs/benchmarks.md.

use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Default)]
pub struct Table {
    rows: Vec<(String, &'static str, Vec<f64>)>,
}

impl Table {
    /// Adds a measurement to a row.
    pub fn add(&mut self, name: &str, unit: &'static str, value: f64) {
        match self.rows.iter_mut().find(|(known, ..)| known == name) {
            Some((.., values)) => values.push(value),
            None => self.rows.push((name.to_owned(), unit, vec![value])),
        }
    }

    fn values(&self, start: &str) -> Option<&[f64]> {
        let (.., values) = self.rows.iter().find(|(name, ..)| name.starts_with(start))?;
        Some(values)
    }

    /// Of two rows, the ratio in each round: what slows a round down slows both.
    fn ratios(&self, a: &str, b: &str) -> Option<Vec<f64>> {
        let rounds = self.values(a)?.iter().zip(self.values(b)?);
        Some(rounds.map(|(a, b)| a / b).collect())
    }

    /// Rows and ratios as Markdown.
    fn render(&self) -> String {
        let mut text =
            String::from("| what | median | least | greatest | unit |\n| --- | ---: | ---: | ---: | --- |\n");
        for (name, unit, values) in &self.rows {
            let (least, greatest) = extremes(values);
            let _ = writeln!(
                text,
                "| {name} | {} | {} | {} | {unit} |",
                figure(median(values)),
                figure(least),
                figure(greatest)
            );
        }
        let ratio = |a: &str, b: &str| self.ratios(a, b);
        let ratios = [
            ("switches under acfs / switches of SimPy", ratio("64 threads on 8 cores, acfs", "SimPy"), "at least 20"),
            (
                "switches under acfs / events of simcore",
                ratio("64 threads on 8 cores, acfs", "simcore"),
                "at least 0.5",
            ),
            (
                "cost per switch, 10,000 threads on 1,024 cores / 64 on 8",
                ratio("64 threads on 8 cores, acfs", "10,000 threads"),
                "at most 2.5",
            ),
        ];
        text.push_str(
            "\n| ratio, round by round | median | least | greatest | asked for |\n| --- | ---: | ---: | ---: | --- |\n",
        );
        for (name, value, bound) in ratios {
            if let Some(values) = value {
                let (least, greatest) = extremes(&values);
                let _ = writeln!(text, "| {name} | {:.2} | {least:.2} | {greatest:.2} | {bound} |", median(&values));
            }
        }
        text
    }

    pub fn print(&self) {
        println!("{}", self.render());
    }

    /// Replaces the engine's part of docs/benchmarks.md.
    pub fn write(&self) -> std::io::Result<()> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.md");
        let text = format!(
            "# Benchmarks\n\nWritten by `make bench` on {}, on {}. Medians of several rounds in one run, the cases in turn. \
             These machines are noisy: compare ratios, not figures of different runs.\n\n## The simulator\n\n\
             Context switches per second of one host core; energy and swaps on. Asked for: at least 5 million per second in \
             the first row, at most 1,024 bytes per thread, less than 30 ms to the first result.\n\n{}",
            today(),
            host(),
            self.render()
        );
        let temporary = path.with_extension("md.new");
        std::fs::write(&temporary, text)?;
        std::fs::rename(temporary, path)
    }
}

fn extremes(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn figure(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 1e4 => format!("{:.0} k", v / 1e3),
        v => format!("{v:.1}"),
    }
}

fn today() -> String {
    let output = std::process::Command::new("date").arg("+%Y-%m-%d").output();
    output.map_or_else(|_| "an unknown day".into(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn host() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": an unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{} ({cores} cores)", model.trim_start_matches([' ', '\t', ':']))
}
