//! bodytrack: a particle filter that follows a body through 261 frames of four cameras.
//!
//! Each frame: one thread loads the images; rows and columns are filtered in tickets of 8; five
//! annealing layers follow, each of which weighs 4,000 particles in tickets of 4 and then resamples
//! in one thread; one thread writes the pose. In the `tasks` shape the images of later frames are
//! loaded and filtered while earlier ones are still tracked: only the order of loads, of the
//! particles and of the poses is kept.
//!
//! Assumptions: images of 640 x 480; the shares of the work (drawing new particles is counted with
//! weighing them, as the suite's threads share both; what is left of resampling is a cumulative sum
//! and a search); tasks of 16 particles and 32 rows (the study: "many, fine").

use super::characters::Character;
use crate::programs::build::{Builder, Context, Graph, bounded_tasks};
use crate::programs::course::{Needs, Part, Shared};
use crate::programs::error::WorkloadError;
use evenkeel_model::TaskId;
use evenkeel_model::{PhaseId, Step};

const FRAMES: u64 = 261;
const CAMERAS: u64 = 4;
const ROWS: u64 = 480;
const COLUMNS: u64 = 640;
const PARTICLES: u64 = 4_000;
const LAYERS: u64 = 5;
const PARTICLES_PER_TICKET: u64 = 4;
const ROWS_PER_TICKET: u64 = 8;
const PARTICLES_PER_TASK: u64 = 16;
const ROWS_PER_TASK: u64 = 32;

/// Work of one piece of each sort, instructions.
struct Pieces {
    load: u64,
    row: u64,
    column: u64,
    maps: u64,
    particle: u64,
    resample: u64,
    write: u64,
}

impl Pieces {
    fn new(character: &Character) -> Self {
        let piece = |share: f64, per_frame: u64| character.piece(share, FRAMES * per_frame);
        Self {
            load: piece(0.015, 1),
            row: piece(0.05, CAMERAS * ROWS),
            column: piece(0.05, CAMERAS * COLUMNS),
            maps: piece(0.005, 1),
            particle: piece(0.855, LAYERS * PARTICLES),
            resample: piece(0.005, LAYERS),
            write: piece(0.02, 1),
        }
    }
}

/// The course of the threaded and the loop versions.
pub(super) fn course(ctx: &Context, character: &Character, phase: PhaseId) -> Vec<Part> {
    let pieces = Pieces::new(character);
    let one = |work| Part::Serial { work, phase };
    let all = |items, work, chunk| {
        let (needs, ticket, tasks) = (Needs::All, Some(chunk), items);
        Part::Shared(Shared { items, work, phase, tasks, needs, chunk, ticket, border: None })
    };
    let layer = vec![all(PARTICLES, pieces.particle, PARTICLES_PER_TICKET), one(pieces.resample)];
    let frame = vec![
        one(pieces.load),
        all(CAMERAS * ROWS, pieces.row, ROWS_PER_TICKET),
        all(CAMERAS * COLUMNS, pieces.column, ROWS_PER_TICKET),
        one(pieces.maps),
        Part::Repeat { times: LAYERS, synchronised: true, parts: layer },
        one(pieces.write),
    ];
    vec![Part::Repeat { times: ctx.scaled(FRAMES), synchronised: true, parts: frame }]
}

/// Tasks of one frame.
pub(super) const TASKS_PER_FRAME: u64 =
    3 + CAMERAS * (ROWS + COLUMNS) / ROWS_PER_TASK + LAYERS * (PARTICLES / PARTICLES_PER_TASK + 1);

/// The graph of all frames.
pub(super) fn graph(
    builder: &mut Builder,
    ctx: &Context,
    character: &Character,
    phase: PhaseId,
) -> Result<Step, WorkloadError> {
    let frames = ctx.scaled(FRAMES);
    bounded_tasks(character.name, frames.saturating_mul(TASKS_PER_FRAME))?;
    let pieces = Pieces::new(character);
    let mut graph = Graph::default();
    let (mut loaded, mut resampled, mut written): (Option<TaskId>, Option<TaskId>, Option<TaskId>) =
        (None, None, None);
    for _ in 0..frames {
        let load = graph.task(pieces.load, phase, loaded);
        loaded = Some(load);
        let mut filtered = Vec::new();
        for _ in 0..CAMERAS {
            let row = |_| graph.task(ROWS_PER_TASK * pieces.row, phase, [load]);
            let rows: Vec<_> = (0..ROWS / ROWS_PER_TASK).map(row).collect();
            let column = |_| graph.task(ROWS_PER_TASK * pieces.column, phase, rows.iter().copied());
            filtered.extend((0..COLUMNS / ROWS_PER_TASK).map(column));
        }
        let maps = graph.task(pieces.maps, phase, filtered);
        for layer in 0..LAYERS {
            let maps = (layer == 0).then_some(maps);
            let weigh = |_| {
                graph.task(
                    PARTICLES_PER_TASK * pieces.particle,
                    phase,
                    resampled.into_iter().chain(maps),
                )
            };
            let weighed: Vec<_> = (0..PARTICLES / PARTICLES_PER_TASK).map(weigh).collect();
            resampled = Some(graph.task(pieces.resample, phase, weighed));
        }
        written = Some(graph.task(pieces.write, phase, resampled.into_iter().chain(written)));
    }
    let graph = graph.finish(character.name)?;
    Ok(Step::RunTasks(builder.graph(graph)))
}
