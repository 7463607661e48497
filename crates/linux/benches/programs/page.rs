//! The page: what all rounds come to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::catalog::{PROGRAMS, Program};
use super::labs::Lab;
use super::results::{Row, ratios};
use super::statistics::{Estimate, Verdict, geometric_mean};
use super::ways::{Candidate, How, Mechanism, Way};

/// What the page says beside the figures.
pub struct Head {
    /// When it was written.
    pub date: String,
    /// What it was measured on.
    pub host: String,
    /// Programs that could not be had here.
    pub missing: Vec<String>,
    /// Turns of another binary or of other sizes, which are left out.
    pub others: usize,
    /// Programs count CPUs themselves.
    pub counts_itself: bool,
    /// Options beside the policy.
    pub options: String,
}

/// The whole page.
pub fn page(head: &Head, rows: &[Row]) -> String {
    let mut text = "# Real programs under policies\n\n".to_owned();
    text += "The VM lab's kernel believes its cores equal, and two of its four are three times \
             slower: a kernel that knows \
             its hybrid processor would do better than \"the kernel alone\" does there. The \
             affinity lab's kernel sees a \
             real-time thread take its slow CPU away, and moves threads off it by itself. Both are \
             labs on a virtual machine \
             with few cores, not hybrid processors.\n\n";
    for lab in Lab::ALL {
        let _ = match Measured::of(lab, rows) {
            Some(it) => writeln!(text, "{}\n", it.answer()),
            None => writeln!(text, "No round in the {} lab yet.\n", lab.name()),
        };
    }
    let _ = writeln!(
        text,
        "Written by `make bench-programs` on {}, on {}. [Raw results](programs.csv).\n",
        head.date, head.host
    );
    text += METHOD;
    if head.counts_itself {
        text += "Programs count their CPUs themselves.\n";
    } else {
        text += "Programs that take a number of threads are told that of the lab's CPUs, because \
                 one that counts its CPUs \
                 late may see what its first thread was given \
                 ([live.md](../live/affinity.md#what-cannot-be-had-this-way)).\n";
    }
    if !head.options.is_empty() {
        let _ = writeln!(text, "Options of `run` and `schedule` beside these: `{}`.", head.options);
    }
    if !head.missing.is_empty() {
        let _ = writeln!(text, "Not to be had here, and left out: {}.", head.missing.join(", "));
    }
    if head.others > 0 {
        let _ = writeln!(
            text,
            "{} turns of other builds, sizes or options in the raw results are left out.",
            head.others
        );
    }
    for lab in Lab::ALL {
        if let Some(it) = Measured::of(lab, rows) {
            text += &it.section();
        }
    }
    text
}

/// How to read it.
const METHOD: &str = "A figure is a program's time over its time under the kernel alone, less is \
                      better. In each round a \
    program's turns follow each other, in an order that changes. The kernel alone has a turn \
    before and after each four of the others, and a turn is divided by the geometric \
    mean of the two nearest. What is given is the median over rounds, and \
    in parentheses where the true median is with 95 % certainty (sign test). \"Better\" \
    and \"worse\" are those whose \
    interval is on one side of 1; of a hundred cells with no difference up to five may say so by \
    chance. \
    `run` is `evenkeel run -- PROGRAM`; `schedule` is `evenkeel schedule`, which had begun with \
    the whole machine before the \
    program; `attach` is `evenkeel schedule --pid`, a second after the program began. The time is \
    the program's own: what \
    Evenkeel takes to begin and to end is not in it. Exit codes are checked, and outputs, where \
    they are the same each time.\n\n";

/// What a lab's rounds came to.
struct Measured<'a> {
    lab: Lab,
    rows: Vec<&'a Row>,
    ratios: BTreeMap<(String, How), BTreeMap<usize, f64>>,
    candidates: Vec<Candidate>,
    programs: Vec<&'static Program>,
}

impl<'a> Measured<'a> {
    /// `None`: nothing was measured there.
    fn of(lab: Lab, rows: &'a [Row]) -> Option<Self> {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.lab == lab.name()).collect();
        let owned: Vec<Row> = rows.iter().map(|&row| row.clone()).collect();
        let candidates: BTreeSet<Candidate> = rows
            .iter()
            .filter_map(|row| match &row.how {
                How::Candidate(candidate) => Some(candidate.clone()),
                How::Kernel => None,
            })
            .collect();
        let programs = PROGRAMS
            .iter()
            .filter(|program| rows.iter().any(|row| row.program == program.name))
            .collect();
        let candidates: Vec<Candidate> = candidates.into_iter().collect();
        (!rows.is_empty()).then(|| Self { lab, ratios: ratios(&owned), rows, candidates, programs })
    }

    fn estimate(&self, program: &Program, candidate: &Candidate) -> Option<Estimate> {
        let ratios =
            self.ratios.get(&(program.name.to_owned(), How::Candidate(candidate.clone())))?;
        Estimate::of(&ratios.values().copied().collect::<Vec<_>>())
    }

    /// The geometric mean over programs, without variants: one figure a round in which all of them
    /// have one.
    fn mean(&self, candidate: &Candidate) -> Option<Estimate> {
        let of = |program: &&&Program| {
            self.ratios.get(&(program.name.to_owned(), How::Candidate(candidate.clone())))
        };
        let counted = self.programs.iter().filter(|program| !program.is_variant);
        let each: Vec<&BTreeMap<usize, f64>> =
            counted.map(|program| of(&program)).collect::<Option<_>>()?;
        let rounds = each.first()?.keys();
        let mean = |round: &usize| {
            geometric_mean(
                &each
                    .iter()
                    .map(|ratios| ratios.get(round).copied())
                    .collect::<Option<Vec<_>>>()?,
            )
        };
        Estimate::of(&rounds.filter_map(mean).collect::<Vec<_>>())
    }

    /// Programs, variants too, with this verdict.
    fn with(&self, candidate: &Candidate, verdict: Verdict) -> Vec<&'static str> {
        let has = |program: &&Program| {
            self.estimate(program, candidate).is_some_and(|it| it.verdict() == verdict)
        };
        self.programs.iter().copied().filter(has).map(|program| program.name).collect()
    }

    fn rounds(&self) -> usize {
        self.rows.iter().map(|row| row.round).collect::<BTreeSet<_>>().len()
    }

    /// Checksums of the binaries, which settings begin with.
    fn builds(&self) -> Vec<&str> {
        let of = |row: &&'a Row| row.setting.split('-').next().unwrap_or_default();
        self.rows.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn has_intervals(&self) -> bool {
        self.candidates
            .iter()
            .any(|candidate| self.mean(candidate).is_some_and(|it| it.interval.is_some()))
    }

    fn counted(&self) -> usize {
        self.programs.iter().filter(|program| !program.is_variant).count()
    }

    fn name(&self) -> String {
        let cores: BTreeSet<&str> = self.rows.iter().map(|row| row.cores.as_str()).collect();
        match self.lab {
            Lab::Affinity => {
                // What the lab measured in each round, as 1=2.98;2=…: the least and the greatest
                // are enough.
                let (least, greatest) = (cores.first().unwrap_or(&""), cores.last().unwrap_or(&""));
                if least == greatest {
                    format!("affinity lab ({least})")
                } else {
                    format!("affinity lab ({least} to {greatest})")
                }
            }
            Lab::Vm => format!("VM lab ({})", cores.into_iter().collect::<Vec<_>>().join(", ")),
        }
    }

    /// The lab's answer in a sentence or two.
    fn answer(&self) -> String {
        let text = format!("**{}**, {} programs.", capital(&self.name()), self.counted());
        let best = |mechanism: Mechanism| {
            let its = self.candidates.iter().filter(|candidate| candidate.mechanism == mechanism);
            let means = its.filter_map(|candidate| Some((candidate, self.mean(candidate)?)));
            means.min_by(|(_, one), (_, other)| one.median.total_cmp(&other.median))
        };
        let mut said = Vec::new();
        for mechanism in Mechanism::ALL {
            if let Some((candidate, mean)) = best(mechanism) {
                let worse = self.with(candidate, Verdict::Worse);
                let worse = match (mean.verdict(), worse.is_empty()) {
                    (Verdict::TooFewRounds, _) => "which are worse cannot be said".to_owned(),
                    (_, true) => "none is told to be worse".to_owned(),
                    (_, false) => format!("worse: {}", worse.join(", ")),
                };
                said.push(format!(
                    " By {} `{} -p {}` comes to {:.2} of the kernel's time in the geometric mean \
                     ({}); {worse}",
                    mechanism.name(),
                    candidate.way.name(),
                    candidate.policy,
                    mean.median,
                    mean.verdict().told(),
                ));
            }
        }
        if said.is_empty() {
            return text + " No round is complete yet.";
        }
        text + &said.join(".") + "."
    }

    fn section(&self) -> String {
        let mut text = format!("\n## {}, rounds: {}\n\n", capital(&self.name()), self.rounds());
        let mechanisms: BTreeSet<Mechanism> =
            self.candidates.iter().map(|candidate| candidate.mechanism).collect();
        if self.lab == Lab::Affinity && !mechanisms.contains(&Mechanism::SchedExt) {
            text += "Without sched_ext: this host's kernel has none, or the binary was built \
                     without it.\n\n";
        }
        let _ =
            writeln!(text, "Measured with the binary of checksum {}.", self.builds().join(", "));
        if !self.has_intervals() {
            text += "So few rounds make no interval: nothing is said to be better or worse.\n";
        }
        text += "\n";
        text += &self.overview();
        for way in Way::ALL {
            for mechanism in Mechanism::ALL {
                let its: Vec<&Candidate> = self
                    .candidates
                    .iter()
                    .filter(|it| (it.way, it.mechanism) == (way, mechanism))
                    .collect();
                if !its.is_empty() {
                    let _ = write!(
                        text,
                        "\n### `{}` by {}\n\n{}",
                        way.name(),
                        mechanism.name(),
                        self.table(&its)
                    );
                }
            }
        }
        text += "\n### The kernel alone\n\n";
        text += &self.kernel();
        text += &self.failures();
        text
    }

    fn overview(&self) -> String {
        let mut text = format!(
            "The geometric mean is over {} programs, a variant of one is not counted again.\n\n\
             | | geometric mean | the most for one | is better | is worse | not told apart | \
             Evenkeel's own start and end |\n\
             | --- | ---: | --- | --- | --- | --- | ---: |\n",
            self.counted()
        );
        for candidate in &self.candidates {
            let most = self
                .programs
                .iter()
                .filter_map(|program| {
                    Some((program.name, self.estimate(program, candidate)?.median))
                })
                .max_by(|(_, one), (_, other)| one.total_cmp(other));
            let names = |verdict| match &self.with(candidate, verdict)[..] {
                [] => "-".to_owned(),
                names => names.join(", "),
            };
            let _ = writeln!(
                text,
                "| `{}` {}, {} | {} | {} | {} | {} | {} | {} |",
                candidate.way.name(),
                candidate.mechanism.name(),
                candidate.policy,
                cell(self.mean(candidate)),
                most.map_or("-".to_owned(), |(name, ratio)| format!("{ratio:.2} ({name})")),
                names(Verdict::Better),
                names(Verdict::Worse),
                names(Verdict::NotToldApart),
                self.overhead(candidate),
            );
        }
        text
    }

    /// Seconds that `evenkeel run` takes beside the program.
    fn overhead(&self, candidate: &Candidate) -> String {
        if candidate.way != Way::Run {
            return "-".to_owned();
        }
        let how = How::Candidate(candidate.clone());
        let mut beside: Vec<f64> = self
            .rows
            .iter()
            .filter(|row| row.how == how && row.is_good())
            .map(|row| row.whole - row.seconds)
            .collect();
        beside.sort_by(f64::total_cmp);
        beside.get(beside.len() / 2).map_or("-".to_owned(), |beside| format!("{beside:.2} s"))
    }

    fn table(&self, candidates: &[&Candidate]) -> String {
        let mut text = "| program |".to_owned();
        let told = self.has_intervals();
        candidates.iter().for_each(|candidate| {
            let _ = write!(text, " {} |{}", candidate.policy, if told { " |" } else { "" });
        });
        text += "\n| --- |";
        text += &if told { " ---: | --- |" } else { " ---: |" }.repeat(candidates.len());
        text.push('\n');
        for program in &self.programs {
            let _ = write!(text, "| {} |", program.name);
            for candidate in candidates {
                let estimate = self.estimate(program, candidate);
                if !told {
                    let _ = write!(
                        text,
                        " {} |",
                        estimate.map_or("failed".to_owned(), |_| ratio(estimate))
                    );
                    continue;
                }
                let verdict = match estimate.map(|it| it.verdict()) {
                    None => "failed",
                    Some(Verdict::Worse) => "**worse**",
                    Some(verdict) => verdict.told(),
                };
                let _ = write!(text, " {} | {verdict} |", ratio(estimate));
            }
            text.push('\n');
        }
        let _ = write!(text, "| geometric mean |");
        for candidate in candidates {
            let mean = self.mean(candidate);
            let _ = write!(text, " {} |", ratio(mean));
            if told {
                let _ = write!(text, " {} |", mean.map_or("-", |it| it.verdict().told()));
            }
        }
        text.push('\n');
        text
    }

    fn kernel(&self) -> String {
        let mut text =
            "| program | what it does | package | time, s: median (least to greatest) | \
                        CPU time, s |\n\
                        | --- | --- | --- | ---: | ---: |\n"
                .to_owned();
        for program in &self.programs {
            let its = self.rows.iter().filter(|row| {
                row.program == program.name && row.how == How::Kernel && row.is_good()
            });
            let (mut seconds, mut cpu): (Vec<f64>, Vec<f64>) =
                its.map(|row| (row.seconds, row.cpu)).unzip();
            seconds.sort_by(f64::total_cmp);
            cpu.sort_by(f64::total_cmp);
            let time = match &seconds[..] {
                [] => "failed".to_owned(),
                [least, .., greatest] => {
                    format!("{:.2} ({least:.2} to {greatest:.2})", seconds[seconds.len() / 2])
                }
                [only] => format!("{only:.2}"),
            };
            let cpu = cpu.get(cpu.len() / 2).map_or("-".to_owned(), |cpu| format!("{cpu:.2}"));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {time} | {cpu} |",
                program.name, program.told, program.packages
            );
        }
        text
    }

    fn failures(&self) -> String {
        let mut failures: BTreeMap<(&str, &How, &str), usize> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| !row.failure.is_empty()) {
            *failures.entry((&row.program, &row.how, &row.failure)).or_default() += 1;
        }
        if failures.is_empty() {
            return format!(
                "\nAll {} turns ended well, with the outputs of the kernel alone.\n",
                self.rows.len()
            );
        }
        let mut text =
            format!("\nOf {} turns these failed, and have no figure:\n\n", self.rows.len());
        for ((program, how, failure), times) in failures {
            let _ = writeln!(text, "- {program} under {how}, {times} times: {failure}");
        }
        text
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `0.85 (0.80 to 0.91)`.
fn ratio(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "-".to_owned(),
        Some(Estimate { median, interval: Some((least, greatest)), .. }) => {
            format!("{median:.2} ({least:.2} to {greatest:.2})")
        }
        Some(Estimate { median, interval: None, .. }) => format!("{median:.2}"),
    }
}

fn cell(estimate: Option<Estimate>) -> String {
    match estimate {
        Some(it) if it.interval.is_some() => {
            format!("{}, {}", ratio(estimate), it.verdict().told())
        }
        _ => ratio(estimate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of two programs: `xz` takes 0.8 of the kernel's time, `pigz` a time that each round
    /// is given.
    fn rows(pigz: &[f64]) -> Vec<Row> {
        let row = |program: &str, round, place, how: &str, seconds| Row {
            setting: "s".into(),
            lab: "affinity".into(),
            cores: "1=2.99".into(),
            round,
            place,
            program: program.into(),
            how: how.parse().unwrap(),
            seconds,
            whole: seconds + 0.1,
            cpu: 2.0,
            checksum: String::new(),
            failure: String::new(),
        };
        let mut rows = Vec::new();
        for (at, &ratio) in pigz.iter().enumerate() {
            for (program, ratio) in [("xz", 0.8 + 0.001 * at as f64), ("pigz", ratio)] {
                rows.push(row(program, at + 1, 0, "kernel", 2.0));
                rows.push(row(program, at + 1, 1, "run/affinity/acfs", 2.0 * ratio));
                rows.push(row(program, at + 1, 2, "kernel", 2.0));
            }
        }
        rows
    }

    fn head() -> Head {
        Head {
            date: "2026-11-28".into(),
            host: "a host".into(),
            missing: Vec::new(),
            others: 0,
            counts_itself: false,
            options: String::new(),
        }
    }

    #[test]
    fn the_page_begins_with_what_the_kernel_believes_and_answers_in_a_sentence() {
        let text = page(&head(), &rows(&[1.1, 1.11, 1.12, 1.13, 1.14, 1.15]));
        let mut lines = text.lines().filter(|line| !line.is_empty()).skip(1);
        assert!(lines.next().unwrap().starts_with("The VM lab's kernel believes its cores equal"));
        let answer = lines.next().unwrap();
        assert_eq!(
            answer,
            "**Affinity lab (1=2.99)**, 2 programs. By affinity `run -p acfs` comes to 0.95 of the \
             kernel's time in the \
             geometric mean (better); worse: pigz."
        );
        assert!(text.contains("| xz | 0.80 (0.80 to 0.81) | better |"), "{text}");
        assert!(text.contains("| pigz | 1.12 (1.10 to 1.15) | **worse** |"), "{text}");
        assert!(text.contains("All 36 turns ended well"), "{text}");
        assert!(text.contains("No round in the vm lab yet."), "{text}");
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let text = page(&head(), &rows(&[1.2, 0.9, 1.1, 0.95, 1.05, 1.0]));
        assert!(text.contains("| pigz | 1.02 (0.90 to 1.20) | not told apart |"), "{text}");
        let text = page(&head(), &rows(&[1.2, 1.2]));
        assert!(text.contains("| pigz | 1.20 |"), "{text}");
    }

    #[test]
    fn a_failure_is_named_and_has_no_figure() {
        let mut rows = rows(&[1.0]);
        rows[1].failure = "exit status: 1: no space".into();
        let text = page(&head(), &rows);
        assert!(text.contains("| xz | failed |"), "{text}");
        assert!(
            text.contains("- xz under run/affinity/acfs, 1 times: exit status: 1: no space"),
            "{text}"
        );
    }
}
