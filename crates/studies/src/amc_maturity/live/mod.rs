//! The study on the machine at hand: times of the mini-apps there, and the simulator's prediction
//! for the study's programs on the same machine.
//!
//! The caller runs the apps and passes their times ([`Timed`]); here they become the study's
//! tables.

mod predict;
mod tables;

use evenkeel_machine::{KindId, Machine};

use super::{PROGRAMS, STUDY};
use crate::{CarriedOut, Reproduction, Runs, StudyError};

/// The cores that an app was run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// One of a kind.
    One(KindId),
    /// One of a kind, while each of the others runs a copy of the same.
    Copy(KindId),
    /// All of the machine.
    All,
}

/// An app in one of its versions on some cores, and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Its name in the suite.
    pub program: &'static str,
    /// [`SERIAL`], or one of [`VERSIONS`].
    pub version: &'static str,
    /// On which cores.
    pub on: Cores,
    /// One at least.
    pub runs: Vec<Run>,
}

/// What one run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Time of the parallel part, s.
    pub seconds: f64,
    /// Energy of the machine meanwhile, J; `None`: no sensor.
    pub joules: Option<f64>,
}

/// The version that runs on one core of each kind.
pub const SERIAL: &str = "serial";
/// The versions that run on all cores, and are predicted.
pub const VERSIONS: [&str; 4] = ["pinned", "loop-static", "loop-dynamic", "tasks"];

const SETTING: &str = "Nine programs, rewritten compactly (crates/apps/), run on this machine: \
                       serial on one core of each kind, and with pinned threads, as loops and as \
                       tasks \
    of Evenkeel's runtime on all cores; the median of the runs of each. Speedup is over the serial \
    program on one core of the slowest kind. \
    Ideal: the sum over all cores of their speed, measured by the serial program alone on one of \
    each kind, over that of the slowest; what is not parallel counts as if \
    it were. Copies: the same sum while all cores run the serial program at once, each its own \
    copy: nobody waits for anybody there, and what cores share \
    (memory, caches, the host) is in it. Simulated: the study's programs, which are larger and \
    other code of the same shape, on the model of this machine under `pinned`; with the \
    ratio of fastest to slowest core that the study has for each, carried over to these cores, and \
    again with the ratio measured here. Means are geometric. --quick: \
    each run once, and simulated inputs of a tenth of the size, swaptions' whole.";

/// The study's tables for a machine. `timed` has for each program the serial times on one core of
/// each kind, versions on all cores, and, if they were run, of each core those of its copy; a
/// program without its serial times is left out. `inputs` is their size.
///
/// # Errors
/// A simulated run fails.
pub fn reproduction(
    machine: &Machine,
    timed: &[Timed],
    inputs: &str,
    runs: &Runs,
    made_by: &str,
) -> Result<Reproduction, StudyError> {
    let measured = measured(machine, timed);
    let predicted = predict::all(runs, machine, &measured)?;
    let tables = vec![
        tables::speedups(machine, &measured, timed, inputs),
        tables::beside(&measured, &predicted),
        tables::times(machine, timed),
    ];
    Ok(Reproduction {
        study: STUDY.name,
        title: STUDY.title,
        source: STUDY.source,
        live: true,
        quick: runs.quick,
        seed: runs.seed,
        seeds: None,
        made_by: made_by.to_owned(),
        experiments: vec![CarriedOut {
            number: 1,
            title: "On this machine",
            setting: SETTING,
            tables,
        }],
    })
}

/// A program on this machine.
struct Measured {
    program: &'static str,
    /// Speed of one core of each kind over one of the slowest, fastest first.
    ratios: Vec<f64>,
    ideal: f64,
    /// Of copies on all cores, over one of the slowest alone.
    copies: Option<f64>,
    /// Of each version over one slowest core, in the order of [`VERSIONS`]; `None`: there is no
    /// such version.
    speedups: [Option<f64>; VERSIONS.len()],
}

impl Measured {
    /// Speed ratio of the fastest kind over the slowest.
    fn ratio(&self) -> f64 {
        self.ratios.first().copied().unwrap_or(1.0)
    }
}

fn measured(machine: &Machine, timed: &[Timed]) -> Vec<Measured> {
    let of = |program: &str, version: &str, on: Cores| {
        let found = timed
            .iter()
            .find(|it| it.program == program && it.version == version && it.on == on)?;
        Some(found.median())
    };
    let kinds = || (0..machine.kinds.len()).map(|rank| KindId(rank as u8));
    let copies = |program: &str, slowest: f64| {
        let is_copy = |it: &&Timed| it.program == program && matches!(it.on, Cores::Copy(_));
        let rates: Vec<f64> =
            timed.iter().filter(is_copy).map(|it| slowest / it.median()).collect();
        (!rates.is_empty()).then(|| rates.iter().sum())
    };
    let measured = |program: &'static str| {
        let times: Vec<f64> =
            kinds().map(|kind| of(program, SERIAL, Cores::One(kind))).collect::<Option<_>>()?;
        let slowest = *times.last()?;
        let ratios: Vec<f64> = times.iter().map(|time| slowest / time).collect();
        Some(Measured {
            program,
            ideal: machine.cores.iter().map(|core| ratios[core.kind.index()]).sum(),
            copies: copies(program, slowest),
            ratios,
            speedups: VERSIONS.map(|version| Some(slowest / of(program, version, Cores::All)?)),
        })
    };
    PROGRAMS.into_iter().filter_map(measured).collect()
}

impl Timed {
    /// Median time of the runs, s.
    fn median(&self) -> f64 {
        median(self.seconds())
    }

    fn seconds(&self) -> impl Iterator<Item = f64> + '_ {
        self.runs.iter().map(|run| run.seconds)
    }

    /// Mean energy of a run, J.
    fn joules(&self) -> Option<f64> {
        let joules = self.runs.iter().map(|run| run.joules).collect::<Option<Vec<f64>>>()?;
        evenkeel_metrics::measures::mean(joules)
    }
}

/// Of an even number of values the mean of the two in the middle; of none, no number.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    f64::midpoint(middle(values.len().saturating_sub(1) / 2), middle(values.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(version: &'static str, on: Cores, seconds: &[f64]) -> Timed {
        let runs = seconds.iter().map(|&seconds| Run { seconds, joules: None }).collect();
        Timed { program: "swaptions", version, on, runs }
    }

    #[test]
    fn speedups_are_over_the_median_of_serial_runs_on_one_slow_core() {
        let machine = evenkeel_files::machines::preset("odroid-xu3-paper").unwrap();
        let times = [
            timed(SERIAL, Cores::One(KindId(0)), &[4.0]),
            timed(SERIAL, Cores::One(KindId(1)), &[12.0, 90.0, 11.0]),
            timed("tasks", Cores::All, &[0.5, 1.0]),
            timed(SERIAL, Cores::Copy(KindId(0)), &[6.0]),
            timed(SERIAL, Cores::Copy(KindId(1)), &[12.0]),
        ];
        let measured = measured(&machine, &times);
        assert_eq!(measured.len(), 1, "the eight that were not run are left out");
        assert_eq!((measured[0].ratio(), measured[0].ideal), (3.0, 4.0 * 3.0 + 4.0));
        assert_eq!(measured[0].copies, Some(2.0 + 1.0), "of those that were run");
        assert_eq!(measured[0].speedups, [None, None, None, Some(16.0)]);
    }

    #[test]
    fn simulated_beside_the_ratio_measured_a_program_with_pinned_threads_gets_no_faster_than_slow_cores_let_it()
     {
        let machine = evenkeel_files::machines::preset("odroid-xu3-paper").unwrap();
        let times = [
            timed(SERIAL, Cores::One(KindId(0)), &[2.0]),
            timed(SERIAL, Cores::One(KindId(1)), &[8.0]),
            timed("pinned", Cores::All, &[1.0]),
        ];
        let runs = Runs::new(true, 1, &|_, _| ());
        let measured = measured(&machine, &times);
        let predicted = predict::all(&runs, &machine, &measured).unwrap();
        let pinned = predicted[0][0].as_ref().unwrap();
        assert!(
            (pinned.by_measured_ratio - 8.0).abs() < 0.1,
            "eight equal parts, at the pace of a slow core"
        );
        let text =
            format!("{:?}", reproduction(&machine, &times, "medium", &runs, "a test").unwrap());
        assert!(text.contains("no sensor"), "{text}");
    }
}
