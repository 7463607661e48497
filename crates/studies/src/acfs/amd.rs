//! Mixes with multithreaded programs on amd-2b10s: the ten named ones, and random ones.
//!
//! The slowdown of a multithreaded program depends on its reference. Alone on the fastest cores, it
//! has two of them for all its threads. Alone on the whole machine, its first threads have the two
//! big cores and the others small ones. The first is Evenkeel's measure; both are shown.

use evenkeel_machine::Machine;
use evenkeel_metrics::{Record, measures};
use evenkeel_model::{Application, Repeat};

use super::table::ByPolicy;
use super::{AMD, SCHEDULERS, asp, mix, random_mixes, told, unfairness};
use crate::{Cell, Column, Exhibit, Runs, StudyError};

pub(super) const SETTING: &str = "Twelve threads on amd-2b10s (2 big at 2.1 GHz + 10 small at 0.8 \
                                  GHz): the ten named mixes, and 44 drawn by the seed from 14 \
                                  programs in the shapes of the named \
    ones (3 single-threaded + 9 threads, 2 + 5 + 5, 1 + 6 + 5, 4 + 4 + 4, 6 + 6). Programs start \
    again until the longest has ended three times. True speedup factors. Unfairness is told twice: \
    by \
    slowdowns over each program alone on the two big cores, and over each program alone on the \
    whole machine under hsp. opt-unfairness is left out: its model knows one \
    thread per application. Multithreaded programs deal out each parallel region in equal blocks, \
    as OpenMP does unless told otherwise; the named mixes then once more with regions \
    dealt out as threads ask. --quick: a tenth of the length, 4 random mixes.";

/// The named mixes (`evenkeel workloads`).
const NAMED: [&str; 10] = [
    "2STH-1HPH-1HPM",
    "3STH-1HPH",
    "2STH-1STL-1HPH",
    "3ST-1PSH",
    "2STH-1PSH-1HPM",
    "1STH-1PSH-1PSL",
    "2PSH-1PSL",
    "1PSH-1PSL",
    "2PSH-1HPM",
    "1PSH-1HPH",
];

/// How many mixes the study drew.
const DRAWN: usize = 44;
const QUICK_DRAWN: usize = 4;

/// Part of a program's full length, for a first look.
const QUICK_SIZE: f64 = 0.1;

/// The policy of a program that has the whole machine for itself: one that only maximises
/// throughput.
const ALONE: &str = "hsp";

/// A mix with its name.
type Mix = (String, Vec<Application>);

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let machine = evenkeel_files::machines::preset(AMD)?;
    let size = if runs.quick { QUICK_SIZE } else { 1.0 };
    let named = |shape: &str| {
        let mix = |name: &&str| {
            Ok(((*name).to_owned(), runs.load(&machine, &format!("{name}{shape}"), size)?))
        };
        NAMED.iter().map(mix).collect::<Result<Vec<Mix>, StudyError>>()
    };
    let drawn = random_mixes::draw(if runs.quick { QUICK_DRAWN } else { DRAWN }, runs.seed);
    let random = (1..)
        .zip(&drawn)
        .map(|(number, programs)| Ok((label(number), mix(runs, &machine, programs, size)?)));
    let random = random.collect::<Result<Vec<Mix>, StudyError>>()?;
    let ten = named("")?;
    let mut exhibits = measure(&machine, &ten, "ten named mixes", runs)?;
    exhibits.extend(measure(&machine, &random, "random mixes", runs)?);
    exhibits.push(programs_of(&drawn));
    exhibits.extend(measure(
        &machine,
        &named(":loop-dynamic")?,
        "ten named mixes, regions dealt out as threads ask",
        runs,
    )?);
    exhibits.extend(told::beside_the_oracle(&machine, &ten, "ten named mixes", runs)?);
    exhibits.extend(told::beside_the_oracle(&machine, &random, "random mixes", runs)?);
    Ok(exhibits)
}

fn label(number: u32) -> String {
    format!("R{number:02}")
}

/// Unfairness by either comparison, and ASP.
fn measure(
    machine: &Machine,
    mixes: &[Mix],
    which: &str,
    runs: &Runs,
) -> Result<Vec<Exhibit>, StudyError> {
    let mut cases = Vec::new();
    for (_, apps) in mixes {
        cases.extend(SCHEDULERS.map(|policy| runs.case(machine, apps.clone(), policy)));
    }
    let records = runs.records(&cases)?;
    let alone = Alone::measure(machine, mixes, runs)?;
    let over_whole = |apps: &[Application], record: &Record| {
        let slowdowns =
            apps.iter().zip(&record.apps).map(|(app, row)| row.completion_s / alone.seconds(app));
        measures::unfairness(&slowdowns.collect::<Vec<_>>()).unwrap_or(1.0)
    };
    type Measure<'a> = &'a dyn Fn(&[Application], &Record) -> f64;
    let measures: [(&str, &str, Measure<'_>); 3] = [
        ("Unfairness over alone on the big cores", "unfairness", &|_, record| unfairness(record)),
        ("Unfairness over alone on the whole machine", "unfairness", &over_whole),
        ("Aggregate speedup", "ASP", &|_, record| asp(record)),
    ];
    let exhibit = |(what, measure, of): (&str, &str, Measure<'_>)| {
        let rows = mixes.iter().zip(records.chunks(SCHEDULERS.len()));
        let rows = rows.map(|((name, apps), records)| {
            (name.clone(), records.iter().map(|it| of(apps, it)).collect())
        });
        let policies = SCHEDULERS.map(str::to_owned).to_vec();
        ByPolicy {
            title: format!("{what}, {which}"),
            measure: measure.into(),
            policies,
            rows: rows.collect(),
        }
        .exhibit()
    };
    Ok(measures.map(exhibit).into())
}

/// How long programs take with the whole machine to themselves.
struct Alone(Vec<(Application, f64)>);

impl Alone {
    fn measure(machine: &Machine, mixes: &[Mix], runs: &Runs) -> Result<Self, StudyError> {
        let mut programs: Vec<Application> = Vec::new();
        for app in mixes.iter().flat_map(|(_, apps)| apps) {
            if !programs.contains(app) {
                programs.push(app.clone());
            }
        }
        let case = |app: &Application| {
            runs.case(machine, vec![Application { repeat: Repeat::Once, ..app.clone() }], ALONE)
        };
        let outcomes = runs.outcomes(&programs.iter().map(case).collect::<Vec<_>>())?;
        Ok(Self(
            programs
                .into_iter()
                .zip(outcomes.iter().map(|outcome| outcome.makespan.as_secs_f64()))
                .collect(),
        ))
    }

    /// The time of a program of the mixes; others are not known.
    fn seconds(&self, app: &Application) -> f64 {
        self.0.iter().find(|(known, _)| known == app).map_or(f64::NAN, |(_, seconds)| *seconds)
    }
}

fn programs_of(drawn: &[Vec<String>]) -> Exhibit {
    let row = |(number, programs): (u32, &Vec<String>)| {
        vec![Cell::from(label(number)), programs.join(" ").into()]
    };
    Exhibit {
        title: "Programs of the random mixes, with their threads".into(),
        columns: vec![Column::new("workload", ""), Column::new("programs", "")],
        rows: (1..).zip(drawn).map(row).collect(),
        ..Exhibit::default()
    }
}
