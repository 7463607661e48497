//! The nine programs of PARSEC as the maturity study runs them (JPDC 2019), each in the shapes that
//! it is compared in.

mod bodytrack;
mod characters;
mod data_parallel;
mod pipelines;

use characters::Character;

use super::args::Args;
use super::build::{Builder, Context};
use super::course::{Part, Shape, add_threads, add_workers};
use super::entry::{Entry, KnobInfo, WorkloadInfo};
use super::error::WorkloadError;
use evenkeel_model::{Application, PhaseId, Step};

const SOURCE: &str =
    "PARSEC 3.0; ratios and inputs: On the Maturity of Parallel Applications for AMCs, JPDC 2019";

/// Shapes of a program whose parallel parts are loops.
const LOOPS_AND_TASKS: &[&str] = &[
    "pinned",
    "loop-static",
    "loop-dynamic",
    "loop-guided",
    "loop-aid-static",
    "loop-aid-dynamic",
    "loop-aid-affinity",
    "tasks",
];

/// Shapes of a pipeline.
const PIPELINE: &[&str] = &["pinned", "tasks"];

const THREADS: KnobInfo = KnobInfo {
    name: "threads",
    default: "number of cores",
    meaning: "worker threads; in the pinned shape of dedup and ferret, of each pool",
};

const CHUNK: KnobInfo = KnobInfo {
    name: "chunk",
    default: "by program",
    meaning: "iterations handed out at once by loop-dynamic, at least by loop-guided, and to \
              sample by loop-aid-…",
};

/// Threads that follow a course.
type Course = fn(&Context, &Character, PhaseId) -> Vec<Part>;

/// Threads of their own making, with pools of so many.
type Pools = fn(&mut Builder, &Context, &Character, PhaseId, u32);

/// A task graph of their own making: the step that runs it.
type OwnGraph = fn(&mut Builder, &Context, &Character, PhaseId) -> Result<Step, WorkloadError>;

/// How a program is made.
enum Structure {
    /// All shapes from one course.
    Course(Course),
    /// Threads and loops from a course, tasks otherwise.
    CourseAndGraph(Course, OwnGraph),
    /// A pipeline: pools, or tasks.
    Pipeline(Pools, OwnGraph),
}
use Structure::{Course as FromCourse, CourseAndGraph, Pipeline};

const PROGRAMS: [(&str, &str, Structure); 9] = [
    (
        "blackscholes",
        "option pricing: equal blocks, 100 runs, joined after each",
        FromCourse(data_parallel::blackscholes),
    ),
    (
        "bodytrack",
        "particle filter: per frame tickets of rows, 5 layers of tickets of particles, serial \
         parts between",
        CourseAndGraph(bodytrack::course, bodytrack::graph),
    ),
    (
        "canneal",
        "simulated annealing: memory-bound swaps, a barrier per temperature",
        FromCourse(data_parallel::canneal),
    ),
    (
        "dedup",
        "deduplication: pipeline of 5 stages, 3 of them pools, I/O at both ends",
        Pipeline(pipelines::dedup, pipelines::dedup_graph),
    ),
    (
        "facesim",
        "face simulation: short phases with a barrier each",
        FromCourse(data_parallel::facesim),
    ),
    (
        "ferret",
        "similarity search: pipeline of 6 stages, 4 of them pools",
        Pipeline(pipelines::ferret, pipelines::ferret_graph),
    ),
    (
        "fluidanimate",
        "fluid dynamics: 10 barriers a frame, locks at the borders",
        FromCourse(data_parallel::fluidanimate),
    ),
    (
        "streamcluster",
        "clustering: 9 barriers per gain computation, short phases",
        FromCourse(data_parallel::streamcluster),
    ),
    (
        "swaptions",
        "Monte Carlo pricing: 128 equal items, one join",
        FromCourse(data_parallel::swaptions),
    ),
];

/// The registry's entries.
pub(super) fn entries() -> Vec<Entry> {
    let entry = |(name, summary, structure): &(&'static str, &str, Structure)| {
        let pipeline = matches!(structure, Pipeline(..));
        let info = WorkloadInfo {
            name,
            summary: (*summary).to_owned(),
            source: SOURCE,
            shapes: if pipeline { PIPELINE } else { LOOPS_AND_TASKS },
            knobs: if pipeline { &[THREADS] } else { &[THREADS, CHUNK] },
        };
        Entry { info, build }
    };
    PROGRAMS.iter().map(entry).collect()
}

/// How much faster one big core of the study's board runs this program than one little; `None` for
/// any other name.
pub fn big_little_ratio(program: &str) -> Option<f64> {
    Character::of(program).map(|character| character.ratio)
}

fn build(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let structure = PROGRAMS
        .iter()
        .find(|(name, _, _)| *name == args.workload())
        .map(|(_, _, structure)| structure);
    let Some((character, structure)) = Character::of(args.workload()).zip(structure) else {
        return Ok(Vec::new());
    };
    let threads = args.threads(ctx.workers())?;
    let shape = Shape::named(args.shape());
    let suffix = args
        .shape()
        .filter(|_| shape != Shape::Pinned)
        .map_or(String::new(), |shape| format!(":{shape}"));
    let mut builder = Builder::new(format!("{}{suffix}", character.name));
    let phase = builder.phase(character.phase());
    match (structure, shape) {
        (CourseAndGraph(_, graph) | Pipeline(_, graph), Shape::Tasks) => {
            let step = graph(&mut builder, ctx, character, phase)?;
            add_workers(&mut builder, vec![step], threads);
        }
        (Pipeline(pools, _), _) => pools(&mut builder, ctx, character, phase, threads),
        (FromCourse(course) | CourseAndGraph(course, _), shape) => {
            let mut course = course(ctx, character, phase);
            if let Some(chunk) = args.optional_whole("chunk", 1, u64::MAX)? {
                set_chunk(&mut course, chunk);
            }
            add_threads(&mut builder, &course, shape, threads)?;
        }
    }
    Ok(vec![builder.finish()])
}

fn set_chunk(course: &mut [Part], chunk: u64) {
    for part in course {
        match part {
            Part::Shared(shared) => shared.chunk = chunk,
            Part::Repeat { parts, .. } => set_chunk(parts, chunk),
            Part::Serial { .. } | Part::Barrier => {}
        }
    }
}

#[cfg(test)]
mod tests;
