//! The table of a bench: medians, spread, ratios; on the terminal and in
//! docs/benchmarks/simulator.md.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::Timed;

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
        let mut text = String::from(
            "| what | median | least | greatest | unit |\n| --- | ---: | ---: | ---: | --- |\n",
        );
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
            (
                "turns under acfs / turns of SimPy",
                ratio("64 threads on 8 cores, acfs", "SimPy"),
                "at least 20",
            ),
            (
                "turns under acfs / events of simcore",
                ratio("64 threads on 8 cores, acfs", "simcore"),
                "at least 0.5",
            ),
            (
                "cost per turn, 10,000 threads on 1,024 cores / 64 on 8",
                ratio("64 threads on 8 cores, acfs", "10,000 threads"),
                "at most 2.5",
            ),
        ];
        text.push_str(
            "\n| ratio, round by round | median | least | greatest | asked for |\n| --- | ---: | \
             ---: | ---: | --- |\n",
        );
        for (name, value, bound) in ratios {
            if let Some(values) = value {
                let (least, greatest) = extremes(&values);
                let _ = writeln!(
                    text,
                    "| {name} | {:.2} | {least:.2} | {greatest:.2} | {bound} |",
                    median(&values)
                );
            }
        }
        text
    }

    pub fn print(&self) {
        println!("{}", self.render());
    }

    /// Writes docs/benchmarks/simulator.md.
    pub fn write(&self, policies: &Policies) -> std::io::Result<()> {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks/simulator.md");
        let text = format!(
            "# Benchmarks\n\nWritten by `make bench` on {}, on {}. Medians of several rounds in \
             one run, the cases in turn. \
             These machines are noisy: compare ratios, not figures of different runs.\n\n## The \
             simulator\n\n\
             Turns per second of one host core, energy and swaps on. A turn is a thread's time on \
             a core up to the end of its slice or its work, \
             whether or not another thread has the next: acfs lets a thread have several slices in \
             a row. Asked for: at least 5 million per second in \
             the first row, at most 1,024 bytes per thread, less than 30 ms to the first \
             result.\n\n{}\n{}",
            today(),
            host(),
            self.render(),
            policies.render()
        );
        let temporary = path.with_extension("md.new");
        std::fs::write(&temporary, text)?;
        std::fs::rename(temporary, path)
    }
}

/// Of one policy on one case, a value a round.
#[derive(Default)]
struct Rates {
    /// Turns per second.
    turns: Vec<f64>,
    /// The same / those under acfs, right before it.
    to_acfs: Vec<f64>,
    /// Simulated time per second / the same under acfs.
    simulated: Vec<f64>,
}

/// How fast the simulator is under each policy, beside acfs: on the small case and on the large
/// one.
#[derive(Default)]
pub struct Policies(Vec<(&'static str, [Rates; 2])>);

impl Policies {
    /// Adds a round of a policy: each case under acfs and under the policy.
    pub fn add(&mut self, policy: &'static str, runs: [[Timed; 2]; 2]) {
        if self.0.iter().all(|(known, _)| *known != policy) {
            self.0.push((policy, <[Rates; 2]>::default()));
        }
        let Some((_, cases)) = self.0.iter_mut().find(|(known, _)| *known == policy) else {
            return;
        };
        for (case, [acfs, own]) in cases.iter_mut().zip(runs) {
            case.turns.push(own.rate());
            case.to_acfs.push(own.rate() / acfs.rate());
            case.simulated.push(own.pace() / acfs.pace());
        }
    }

    fn render(&self) -> String {
        let mut text = String::from(
            "### Under each policy\n\nTurns per second, and in relation to those under acfs, which \
             runs right before each; asked for: at \
             least a third. A policy that lets threads run for longer, or has more to decide, has \
             fewer turns to spread its work over: so beside it how \
             much time of the machine is simulated in a second, in relation to acfs.\n\n\
             | policy | 64 threads on 8 cores | to acfs | simulated time | 10,000 threads on 1,024 \
             cores | to acfs | simulated time |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
        for (policy, [small, large]) in &self.0 {
            let _ = writeln!(
                text,
                "| {policy} | {} | {:.2} | {:.2} | {} | {:.2} | {:.2} |",
                figure(median(&small.turns)),
                median(&small.to_acfs),
                median(&small.simulated),
                figure(median(&large.turns)),
                median(&large.to_acfs),
                median(&large.simulated)
            );
        }
        text.push_str(BELOW);
        text
    }

    pub fn print(&self) {
        println!("{}", self.render());
    }
}

/// What holds those up that are slower than a third.
const BELOW: &str = "\n`age` and `fca-age` deal all threads anew every 10 ms, which is as long as \
                     a thread runs. To each thread that a core takes up belong 8 that are dealt on \
                     the small case, 10 on the large one; some 4 and 6 of those change queues. \
                     Only those that ran have to be sorted in anew. Of one that changes queues \
                     nothing is read but its place and its entry there. About half of the \
                     instructions are the deal, a fifth the queues. The large case is six seconds \
                     long, so its beginning counts, where each of 8,000 starts has a group of \
                     cores dealt to anew. `a-dwrr` lets threads run for 11 to 30 ms and looks \
                     around every 4. In the last part of a round it also looks, at the end of each \
                     slice, whether all that are left run, and for whom to take over. Runs are not \
                     longer by as much: for the same work, `acfs` has switches every 3 ms.\n";

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
    output.map_or_else(
        |_| "an unknown day".into(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

fn host() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or(": an unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    // The flag that x86 processors show to guests.
    let virtual_machine = if info.contains(" hypervisor") { " of a virtual machine" } else { "" };
    format!("{} ({cores} cores{virtual_machine})", model.trim_start_matches([' ', '\t', ':']))
}
