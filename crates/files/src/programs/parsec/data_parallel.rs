//! The data-parallel programs, and two programs whose threads share data in other ways but also
//! meet at barriers.
//!
//! Counts are those of the maturity study's inputs. Where a program's run would come to more events
//! than a simulation of a few seconds affords, or where the study gives no count, a constant says
//! what is taken instead.

use super::characters::Character;
use crate::programs::build::Context;
use crate::programs::course::{Border, Needs, Part, Shared};
use evenkeel_model::PhaseId;

/// Blocks of one parallel part in the `tasks` shape, where the study's number of tasks does not
/// give it. Assumption.
const BLOCKS: u64 = 32;

fn shared(items: u64, work: u64, phase: PhaseId, needs: Needs, chunk: u64) -> Shared {
    Shared { items, work, phase, tasks: BLOCKS, needs, chunk, ticket: None, border: None }
}

/// 10,000,000 options priced in 100 runs, joined after each. 64 tasks a run; a task of one run
/// needs its own block of the run before and nothing else.
pub(super) fn blackscholes(ctx: &Context, character: &Character, phase: PhaseId) -> Vec<Part> {
    const OPTIONS: u64 = 10_000_000;
    const RUNS: u64 = 100;
    const TASKS_PER_RUN: u64 = 64;
    const CHUNK: u64 = 10_000;
    let run = Shared {
        tasks: TASKS_PER_RUN,
        ..shared(OPTIONS, character.piece(1.0, OPTIONS * RUNS), phase, Needs::SameBlock, CHUNK)
    };
    vec![Part::Repeat {
        times: ctx.scaled(RUNS),
        synchronised: false,
        parts: vec![Part::Shared(run)],
    }]
}

/// 128 swaptions of 1,000,000 trials each: one join, one task each.
pub(super) fn swaptions(ctx: &Context, character: &Character, phase: PhaseId) -> Vec<Part> {
    const SWAPTIONS: u64 = 128;
    let items = ctx.scaled(SWAPTIONS);
    let all = shared(items, character.piece(1.0, SWAPTIONS), phase, Needs::Nothing, 1);
    vec![Part::Shared(Shared { tasks: items, ..all })]
}

/// 6,000 temperature steps of 15,000 lock-free swaps among 2,500,000 elements, one barrier a step.
/// The number of swaps a step is that of the suite's largest input. Which elements a swap reads is
/// not known beforehand, so tasks keep the step's barrier.
pub(super) fn canneal(ctx: &Context, character: &Character, phase: PhaseId) -> Vec<Part> {
    const STEPS: u64 = 6_000;
    const SWAPS: u64 = 15_000;
    const CHUNK: u64 = 250;
    let step = shared(SWAPS, character.piece(1.0, STEPS * SWAPS), phase, Needs::Nothing, CHUNK);
    vec![Part::Repeat {
        times: ctx.scaled(STEPS),
        synchronised: true,
        parts: vec![Part::Shared(step)],
    }]
}

/// 100 frames of a mesh of 372,126 tetrahedra: the state is brought up to date, then a
/// conjugate-gradient solver iterates; a barrier ends each phase. Assumption: 25 iterations a
/// frame, of a product with the matrix (which reads neighbouring blocks) and a vector update (which
/// needs the sum over all blocks).
pub(super) fn facesim(ctx: &Context, character: &Character, phase: PhaseId) -> Vec<Part> {
    const FRAMES: u64 = 100;
    const TETRAHEDRA: u64 = 372_126;
    const ITERATIONS: u64 = 25;
    const CHUNK: u64 = 1_000;
    const HEAD: f64 = 0.01;
    const STATE: f64 = 0.25;
    const PRODUCT: f64 = 0.59;
    const UPDATE: f64 = 0.15;
    let part = |share: f64, rounds: u64, needs| {
        let work = character.piece(share, FRAMES * rounds * TETRAHEDRA);
        Part::Shared(shared(TETRAHEDRA, work, phase, needs, CHUNK))
    };
    let iteration =
        vec![part(PRODUCT, ITERATIONS, Needs::Neighbours), part(UPDATE, ITERATIONS, Needs::All)];
    let frame = vec![
        Part::Serial { work: character.piece(HEAD, FRAMES), phase },
        part(STATE, 1, Needs::All),
        Part::Repeat { times: ITERATIONS, synchronised: false, parts: iteration },
    ];
    vec![Part::Repeat { times: ctx.scaled(FRAMES), synchronised: true, parts: frame }]
}

/// 500 frames of 500,000 particles in cells: 10 barriers a frame, a lock per cell at the border of
/// two threads' blocks in the phases that add to neighbouring cells. 32 tasks for each of 8 phases
/// and one that swaps the buffers: 257 a frame, 128,500 in all.
pub(super) fn fluidanimate(ctx: &Context, character: &Character, phase: PhaseId) -> Vec<Part> {
    const FRAMES: u64 = 500;
    const PARTICLES: u64 = 500_000;
    const CHUNK: u64 = 1_000;
    const SWAP: f64 = 0.001;
    /// Share of the work, and true if the phase writes to neighbouring cells. Assumption.
    const PHASES: [(f64, bool); 8] = [
        (0.029, false), // clear the cells
        (0.100, true),  // sort the particles into cells
        (0.040, false), // reset densities and forces
        (0.340, true),  // densities
        (0.030, false), // densities, second pass
        (0.360, true),  // forces
        (0.050, false), // collisions
        (0.050, false), // move the particles
    ];
    /// Assumption: the real program has thousands of border cells; one locked section here stands
    /// for many of them.
    const BORDER: Border = Border { cells: 8, items: 400 };
    let part = |(share, writes_neighbours): (f64, bool)| {
        let work = character.piece(share, FRAMES * PARTICLES);
        let border = writes_neighbours.then_some(BORDER);
        Part::Shared(Shared { border, ..shared(PARTICLES, work, phase, Needs::Neighbours, CHUNK) })
    };
    let swap = Part::Serial { work: character.piece(SWAP, FRAMES), phase };
    let phases = PHASES.into_iter().map(part);
    let frame = std::iter::once(swap).chain(phases).chain([Part::Barrier]).collect();
    vec![Part::Repeat { times: ctx.scaled(FRAMES), synchronised: false, parts: frame }]
}

/// 5 blocks of 200,000 points; every gain computation is nine short phases, a barrier after each.
/// Assumption: 1,000 gain computations a block (the real number depends on the data and is larger),
/// and the shares of the phases.
pub(super) fn streamcluster(ctx: &Context, character: &Character, phase: PhaseId) -> Vec<Part> {
    const BLOCKS_OF_POINTS: u64 = 5;
    const GAINS: u64 = 1_000;
    const POINTS: u64 = 200_000;
    const CHUNK: u64 = 2_000;
    let all = |share: f64, needs| {
        let work = character.piece(share, BLOCKS_OF_POINTS * GAINS * POINTS);
        Part::Shared(shared(POINTS, work, phase, needs, CHUNK))
    };
    let one =
        |share: f64| Part::Serial { work: character.piece(share, BLOCKS_OF_POINTS * GAINS), phase };
    let gain = vec![
        all(0.05, Needs::Nothing),    // count the open centres of each block
        one(0.001),                   // number them
        all(0.04, Needs::All),        // clear the table of what each centre would save
        all(0.69, Needs::SameBlock),  // distances to the candidate
        all(0.05, Needs::SameBlock),  // what each centre would save
        one(0.002),                   // is the candidate worth its cost?
        all(0.10, Needs::All),        // move points to the candidate
        all(0.064, Needs::SameBlock), // close centres
        one(0.003),                   // the new cost
    ];
    let gains = Part::Repeat { times: ctx.scaled(GAINS), synchronised: true, parts: gain };
    vec![Part::Repeat { times: BLOCKS_OF_POINTS, synchronised: true, parts: vec![gains] }]
}
