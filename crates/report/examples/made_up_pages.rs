//! Writes pages from made-up records into a directory, for tests/run-browser.sh: many runs, few,
//! none, without power, and with names that would break a careless page.
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;

use evenkeel_metrics::{Knob, LatencySummary, Record, WakeupLatency};
use evenkeel_report::Timeline;
use evenkeel_report::html::{self, Described, Meta, page};

const POLICIES: [&str; 5] = ["linux", "gts", "acfs", "hsp", "round-robin"];
const PROGRAMS: [&str; 9] = ["BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP", "UA"];

fn main() {
    let directory = std::env::args().nth(1).unwrap_or_else(|| {
        eprintln!("usage: made_up_pages DIRECTORY");
        std::process::exit(2)
    });
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory).unwrap();
    let write = |name: &str, html: String| std::fs::write(directory.join(name), html).unwrap();

    write("programs.html", programs());
    write("pairs.html", pairs());
    write("one-run.html", one_run());
    write("no-power.html", no_power());
    write("outlier.html", outlier());
    write("timed.html", timed());
    write("many-policies.html", many_policies());
    write("hostile.html", hostile());
    write(
        "made-up-study.html",
        html::study(&common::study::study("hsp"), "evenkeel reproduce made-up"),
    );
    write(
        "hostile-study.html",
        html::study(&common::study::study("</script><img src=x onerror=alert(3)>&amp;\"'"), ""),
    );
    write("empty.html", page(&[], &[], &Meta::default()));
}

fn meta() -> Meta {
    let described = |name: &str, text: &str, source: &str| Described {
        name: name.into(),
        text: text.into(),
        source: source.into(),
    };
    Meta {
        baseline: Some("linux".into()),
        machines: vec![described(
            "made-up",
            "Two clusters of four cores that no one built.",
            "Figures made up for a test.",
        )],
        workloads: PROGRAMS
            .iter()
            .map(|name| described(name, "A program in parallel loops.", "Made up."))
            .collect(),
        policies: POLICIES
            .iter()
            .map(|name| described(name, "Decides who runs where.", "Made up."))
            .collect(),
        made_by: "made_up_pages".into(),
        command: "cargo run -p evenkeel-report --example made_up_pages -- target/browser/pages"
            .into(),
        ..Meta::default()
    }
}

fn programs() -> String {
    let (machine, mut dice) = (common::machine(4), common::Dice(7));
    let (mut records, mut timelines) = (vec![], vec![]);
    for (number, program) in PROGRAMS.into_iter().enumerate() {
        for (rank, policy) in POLICIES.into_iter().enumerate() {
            let time = 4.0 + number as f64 + dice.roll(300) as f64 / 100.0 - rank as f64 * 0.3;
            records.push(common::record(
                policy,
                &[program],
                time,
                Some(time * (4.0 + dice.roll(200) as f64 / 100.0)),
            ));
            let log = common::log(
                &machine,
                1,
                8,
                300 + 40 * number as u64,
                11 * rank as u64 + number as u64,
            );
            timelines.push(Timeline::new(records.len() - 1, &machine, &[program.into()], &log));
        }
    }
    page(&records, &timelines, &meta())
}

fn pairs() -> String {
    let (machine, mut dice) = (common::machine(4), common::Dice(3));
    let (mut records, mut timelines) = (vec![], vec![]);
    for mix in [["mcf", "povray"], ["gcc", "namd"], ["hmmer", "lbm"]] {
        for (rank, policy) in POLICIES.into_iter().enumerate() {
            let time = 5.0 + dice.roll(300) as f64 / 100.0 - rank as f64 * 0.2;
            let mut record = common::record(policy, &mix, time, Some(time * 5.0));
            record.unfairness = Some(1.0 + dice.roll(150) as f64 / 100.0);
            record.asp = Some(0.8 + dice.roll(120) as f64 / 100.0);
            records.push(record);
            let log = common::log(&machine, 2, 12, 4_000, rank as u64);
            timelines.push(Timeline::new(
                records.len() - 1,
                &machine,
                &mix.map(String::from),
                &log,
            ));
        }
    }
    let mut other = records[2].clone();
    other.knobs.insert("uf".into(), Knob::Number(1.3));
    other.makespan_s *= 0.95;
    records.push(other);
    page(&records, &timelines, &meta())
}

fn one_run() -> String {
    let machine = common::machine(2);
    let log = common::log(&machine, 1, 6, 60, 5);
    let timeline = Timeline::new(0, &machine, &["EP".into()], &log);
    page(&[common::record("linux", &["EP"], 3.5, Some(12.0))], &[timeline], &Meta::default())
}

fn no_power() -> String {
    let records = ["linux", "gts", "acfs"]
        .map(|policy| common::record(policy, &["EP"], policy.len() as f64, None));
    page(&records, &[], &meta())
}

/// One workload on which all policies are dozens of times as fast as the baseline.
fn outlier() -> String {
    let mut dice = common::Dice(11);
    let mut records = vec![];
    for (number, program) in
        PROGRAMS.into_iter().chain(["a-mix/of-four_programs-with-a-long-name"]).enumerate()
    {
        for (rank, policy) in POLICIES.into_iter().enumerate() {
            let outlying = if number == PROGRAMS.len() && rank == 0 { 60.0 } else { 1.0 };
            let time = (4.0 + dice.roll(200) as f64 / 100.0) * outlying;
            records.push(common::record(policy, &[program], time, Some(time * 5.0)));
        }
    }
    page(&records, &[], &Meta { answer: "acfs is the fastest.".into(), ..meta() })
}

/// Workloads that end at a set time: they differ in their latencies.
fn timed() -> String {
    const WORKLOADS: [&str; 2] = ["workloads/rtapp-mixed.json", "audio.json"];
    let mut records = vec![];
    for workload in WORKLOADS {
        for (rank, policy) in POLICIES.into_iter().enumerate() {
            let mut record = common::record(policy, &[workload], 5.0, Some(4.0 + rank as f64));
            let p99 = [32.3, 1376.0, 40.2, 32.3, 55.0][rank];
            let all = LatencySummary { p50: 4.0, p99, max: 4.0 * p99, least: 1.0, mean: 8.0 };
            record.apps[0].cut_at_s = Some(5.0);
            record.wakeup_latency_us = Some(WakeupLatency { all, kinds: Default::default() });
            records.push(record);
        }
    }
    page(&records, &[], &meta())
}

/// More policies than there are colours.
fn many_policies() -> String {
    let (machine, mut dice) = (common::machine(4), common::Dice(13));
    let (mut records, mut timelines) = (vec![], vec![]);
    for program in &PROGRAMS[..2] {
        for number in 0..20 {
            let policy = if number == 0 { "linux".into() } else { format!("policy-{number}") };
            let time = 4.0 + dice.roll(200) as f64 / 100.0;
            records.push(common::record(&policy, &[program], time, Some(time * 5.0)));
            let log = common::log(&machine, 1, 8, 60, number);
            timelines.push(Timeline::new(records.len() - 1, &machine, &[(*program).into()], &log));
        }
    }
    page(&records, &timelines, &meta())
}

fn hostile() -> String {
    const NAMES: [&str; 2] =
        ["</script><b>bold</b><script>alert(1)</script>", "<img src=x onerror=alert(2)>&amp;\"'"];
    let machine = common::machine(2);
    let log = common::log(&machine, 2, 6, 60, 5);
    let mut records: Vec<Record> = vec![];
    for policy in NAMES {
        records.push(common::record(policy, &NAMES, 3.0 + records.len() as f64, Some(9.0)));
    }
    let mut failed = common::record("</td></table>", &NAMES, 1.0, None);
    failed.error = Some("<h1>deadlock</h1>".into());
    records.push(failed);
    let timeline = Timeline::new(0, &machine, &NAMES.map(String::from), &log);
    let all =
        NAMES.map(|name| Described { name: name.into(), text: name.into(), source: name.into() });
    let meta = Meta {
        title: NAMES[0].into(),
        machines: all.to_vec(),
        workloads: all.to_vec(),
        policies: all.to_vec(),
        command: NAMES[1].into(),
        made_by: NAMES[0].into(),
        answer: NAMES[1].into(),
        ..Meta::default()
    };
    page(&records, &[timeline], &meta)
}
