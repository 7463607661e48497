//! "ACFS": Saez, Pousa, Castro, Chaver and Prieto-Matias, Journal of Parallel and Distributed
//! Computing 102, 2017.

mod amd;
mod analytical;
mod estimators;
mod factors;
mod phases;
mod priorities;
mod quickia;
mod random_mixes;
mod swap_cost;
mod swap_period;
mod table;
mod told;
mod unfairness_factor;

use evenkeel_machine::{KindId, Machine};
use evenkeel_metrics::{Record, measures};
use evenkeel_model::{Application, Repeat};
use evenkeel_policy::bounds::{Optimum, opt_unfairness};

use crate::{Experiment, Runs, Study, StudyError};

/// The ACFS study.
pub const STUDY: Study = Study {
    name: "acfs",
    title: "Towards completely fair scheduling on asymmetric single-ISA multicore processors",
    source: "Journal of Parallel and Distributed Computing 102, 2017",
    about: "how equal the slowdowns of programs that compete for big cores can be made, and what \
            that costs in throughput",
    experiments: &[
        Experiment {
            number: 1,
            title: "Ten workloads analytically: throughput, unfairness, shares of the big cores",
            setting: analytical::SETTING,
            carry_out: analytical::carry_out,
        },
        Experiment {
            number: 2,
            title: "Swap period reached against the number of threads",
            setting: swap_period::SETTING,
            carry_out: swap_period::carry_out,
        },
        Experiment {
            number: 3,
            title: "Nine mixes on quickia: unfairness and aggregate speedup",
            setting: quickia::SETTING,
            carry_out: quickia::carry_out,
        },
        Experiment {
            number: 4,
            title: "Mixes with multithreaded programs on amd-2b10s",
            setting: amd::SETTING,
            carry_out: amd::carry_out,
        },
        Experiment {
            number: 5,
            title: "Priorities: the weight of one of four programs is raised",
            setting: priorities::SETTING,
            carry_out: priorities::carry_out,
        },
        Experiment {
            number: 6,
            title: "Unfairness factor: unfairness against throughput",
            setting: unfairness_factor::SETTING,
            carry_out: unfairness_factor::carry_out,
        },
        Experiment {
            number: 7,
            title: "Swap period from 100 ms to 1 s: what swaps cost light and memory-bound \
                    programs",
            setting: swap_cost::SETTING,
            carry_out: swap_cost::carry_out,
        },
        Experiment {
            number: 8,
            title: "Speedup factors told from counters: predicted against observed",
            setting: factors::SETTING,
            carry_out: factors::carry_out,
        },
        Experiment {
            number: 9,
            title: "Speedup factor against single metrics",
            setting: factors::SINGLE_SETTING,
            carry_out: factors::single_metrics,
        },
        Experiment {
            number: 10,
            title: "Speedup factor over time, and its phases",
            setting: phases::SETTING,
            carry_out: phases::carry_out,
        },
    ],
};

/// Machine of the mixes of single-threaded programs.
const QUICKIA: &str = "quickia";

/// Machine of the mixes with multithreaded ones.
const AMD: &str = "amd-2b10s";

/// The mixes on quickia (`evenkeel workloads`).
const MIXES: [&str; 9] = [
    "4STH",
    "3STH-1STM",
    "3STH-1STL",
    "3STH-1STL_B",
    "2STH-2STM",
    "2STH-2STL",
    "2STH-2STL_B",
    "1STH-1STM-2STL",
    "2STM-2STL",
];

/// The policies compared, in the order of the study's figures.
const SCHEDULERS: [&str; 7] =
    ["hsp", "prop-sp", "round-robin", "a-dwrr", "eqp", "acfs", "acfs-static"];

/// How often the longest program of a mix must end (the study's rule).
const ENDS: u32 = 3;

/// A mix of these programs. One that ends starts again until the longest has ended [`ENDS`] times.
fn mix(
    runs: &Runs,
    machine: &Machine,
    programs: &[impl AsRef<str>],
    size: f64,
) -> Result<Vec<Application>, StudyError> {
    let mut apps = Vec::new();
    for program in programs {
        apps.extend(runs.load(machine, program.as_ref(), size)?);
    }
    for app in &mut apps {
        app.repeat = Repeat::UntilLongestEnded(ENDS);
    }
    Ok(apps)
}

/// Unfairness of a run; 1 for a single application.
fn unfairness(record: &Record) -> f64 {
    record.unfairness.unwrap_or(1.0)
}

/// Aggregate speedup of a run.
fn asp(record: &Record) -> f64 {
    record.asp.unwrap_or(0.0)
}

/// The bound for single-threaded programs that ran together, by their factors over a whole run:
/// time alone on a small core / on a big one.
fn bound(machine: &Machine, record: &Record) -> Optimum {
    let factors: Vec<f64> =
        record.apps.iter().map(|app| app.alone_slow_s / app.alone_fast_s).collect();
    opt_unfairness(&factors, machine.cores_of(KindId(0)).count())
}

/// Arithmetic mean; no figure for no value.
fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    measures::mean(values).unwrap_or(f64::NAN)
}
