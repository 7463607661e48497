//! Mixes: applications that start together, each of which repeats until the longest has ended three
//! times. Also the ten analytical workloads: four applications, each of one constant speedup
//! factor.

use super::{SOURCE, multi, single};
use crate::programs::args::Args;
use crate::programs::build::{Builder, Context, compute};
use crate::programs::entry::{Entry, WorkloadInfo};
use crate::programs::error::WorkloadError;
use evenkeel_model::{Application, Repeat};
use evenkeel_model::{Phase, Scaling};

/// How often the longest application must end (the study's rule).
const ENDS: u32 = 3;

/// Time alone on a slow core of an application of W1 to W10, seconds. Assumption: some hundred
/// periods of swapping, so that their grain does not show.
const ANALYTICAL_SLOW_S: f64 = 120.0;

/// On quickia. ST single-threaded; H, M, L high, middle, low SF.
const ON_QUICKIA: [(&str, &[&str]); 9] = [
    ("4STH", &["calculix", "gamess", "GemsFDTD", "bzip2"]),
    ("3STH-1STM", &["calculix", "GemsFDTD", "bzip2", "h264ref"]),
    ("3STH-1STL", &["gamess", "GemsFDTD", "bzip2", "sjeng"]),
    ("3STH-1STL_B", &["calculix", "gamess", "sphinx3", "sjeng"]),
    ("2STH-2STM", &["gamess", "soplex", "povray", "h264ref"]),
    ("2STH-2STL", &["mcf", "calculix", "sjeng", "gobmk"]),
    ("2STH-2STL_B", &["gamess", "sphinx3", "gobmk", "libquantum"]),
    ("1STH-1STM-2STL", &["mcf", "h264ref", "sjeng", "gobmk"]),
    ("2STM-2STL", &["namd", "h264ref", "gobmk", "libquantum"]),
];

/// On amd-2b10s. HP highly parallel, PS partly serial. A shape asked of a mix is that of its
/// multithreaded programs.
const ON_AMD: [(&str, &[&str]); 10] = [
    ("2STH-1HPH-1HPM", &["gamess", "hmmer", "fma3d_m:5", "wupwise_m:5"]),
    ("3STH-1HPH", &["hmmer", "gobmk", "h264ref", "fma3d_m:9"]),
    ("2STH-1STL-1HPH", &["perlbench", "soplex", "h264ref", "fma3d_m:9"]),
    ("3ST-1PSH", &["gamess", "astar", "soplex", "blackscholes_ps:9"]),
    ("2STH-1PSH-1HPM", &["hmmer", "perlbench", "semphy:5", "wupwise_m:5"]),
    ("1STH-1PSH-1PSL", &["gobmk", "BLAST:6", "FFTW3D:5"]),
    ("2PSH-1PSL", &["BLAST:4", "semphy:4", "FFTW3D:4"]),
    ("1PSH-1PSL", &["semphy:6", "FFTW3D:6"]),
    ("2PSH-1HPM", &["BLAST:4", "semphy:4", "wupwise_m:4"]),
    ("1PSH-1HPH", &["BLAST:6", "fma3d_m:6"]),
];

/// For boards of four fast and four slow cores. Ours, not a study's: on such boards the studies'
/// mixes of four threads have a fast core for each.
const ON_BOARDS: [(&str, &[&str]); 1] = [(
    "4STH-2STM-2STL",
    &["calculix", "gamess", "GemsFDTD", "mcf", "h264ref", "povray", "sjeng", "libquantum"],
)];

/// SFs of the four applications of each analytical workload (two big and two small cores).
pub(super) const ANALYTICAL: [(&str, [f64; 4]); 10] = [
    ("W1", [4.7, 4.7, 1.0, 1.0]),
    ("W2", [4.7, 4.7, 2.9, 2.9]),
    ("W3", [4.3, 4.0, 4.0, 1.0]),
    ("W4", [2.9, 2.9, 2.1, 2.1]),
    ("W5", [4.7, 4.7, 3.6, 3.6]),
    ("W6", [4.7, 4.7, 4.3, 4.3]),
    ("W7", [3.2, 2.5, 1.7, 1.0]),
    ("W8", [4.0, 2.5, 2.5, 2.5]),
    ("W9", [4.7, 4.0, 3.2, 2.5]),
    ("W10", [4.0, 3.2, 2.5, 1.0]),
];

/// The registry's entries.
pub(super) fn entries() -> Vec<Entry> {
    let info =
        |name, summary| WorkloadInfo { name, summary, source: SOURCE, shapes: &[], knobs: &[] };
    let mix = |machine: &str, (name, members): (&'static str, &[&str])| Entry {
        info: WorkloadInfo {
            shapes: if members.iter().any(|member| is_multithreaded(member)) {
                multi::SHAPES
            } else {
                &[]
            },
            ..info(name, format!("mix on {machine}: {}", members.join(" ")))
        },
        build,
    };
    let analytical = |(name, factors): (&'static str, [f64; 4])| Entry {
        info: info(name, format!("four single-threaded applications of constant SF {factors:?}")),
        build: build_analytical,
    };
    ON_QUICKIA
        .into_iter()
        .map(|row| mix("quickia", row))
        .chain(ON_AMD.into_iter().map(|row| mix("amd-2b10s", row)))
        .chain(
            ON_BOARDS.into_iter().map(|row| mix("boards of 4 fast and 4 slow cores (ours)", row)),
        )
        .chain(ANALYTICAL.into_iter().map(analytical))
        .collect()
}

fn build(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let mut mixes = ON_QUICKIA.into_iter().chain(ON_AMD).chain(ON_BOARDS);
    let members =
        mixes.find(|(name, _)| *name == args.workload()).map_or(&[][..], |(_, members)| members);
    let mut apps = Vec::new();
    for member in members {
        let shaped = args
            .shape()
            .filter(|_| is_multithreaded(member))
            .map(|shape| format!("{member},{shape}"));
        for app in load_member(shaped.as_deref().unwrap_or(member), ctx)? {
            apps.push(Application { repeat: Repeat::UntilLongestEnded(ENDS), ..app });
        }
    }
    Ok(apps)
}

/// Makes one of the study's programs as a member of a mix.
fn load_member(spec: &str, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let args = Args::parse(spec)?;
    let mut known = single::entries().into_iter().chain(multi::entries());
    match known.find(|entry| entry.info.name == args.workload()) {
        Some(entry) => (entry.build)(&args, ctx),
        None => Err(WorkloadError::Unknown { name: spec.to_owned(), hint: String::new() }),
    }
}

/// True if a program of a mix is named with its threads.
fn is_multithreaded(member: &str) -> bool {
    member.contains(':')
}

fn build_analytical(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let found = ANALYTICAL.iter().find(|(name, _)| *name == args.workload());
    let factors = found.map_or(&[][..], |(_, factors)| factors);
    let application = |(number, &factor): (usize, &f64)| {
        let mut builder = Builder::new(format!("app{number}-sf{factor}"));
        let phase = builder.phase(Phase::new(format!("sf{factor}"), Scaling::Factor(factor)));
        // At one instruction per cycle of the slowest kind.
        let work = ANALYTICAL_SLOW_S * ctx.size * ctx.machine.reference.slowest_khz as f64 * 1e3;
        let mut steps = Vec::new();
        compute(&mut steps, (work as u64).max(1), phase);
        let program = builder.program(steps);
        builder.thread(format!("app{number}"), 0, program);
        Application { repeat: Repeat::UntilLongestEnded(ENDS), ..builder.finish() }
    };
    Ok((1..).zip(factors).map(application).collect())
}
