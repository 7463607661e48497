//! The course of a data-parallel program, and what becomes of it in each shape.
//!
//! A course is a list of parts in order: items that threads share, work that one thread does alone,
//! repetitions. A shape says how threads share the items:
//!
//! - `pinned`: one equal block each (or tickets, where the threaded program has them), then a
//!   barrier;
//! - `loop-static`, `loop-dynamic`, `loop-guided`, `loop-aid-static`, `loop-aid-dynamic`,
//!   `loop-aid-affinity`: a parallel loop, then a barrier;
//! - `tasks`: blocks become tasks that wait only for the blocks whose results they read; no
//!   barrier.
//!
//! The first thread also does the serial work: there is no idle main thread beside the workers.

use evenkeel_machine::Work;

use super::build::{Builder, Graph, block, bounded_tasks, compute, repeat};
use super::error::WorkloadError;
use evenkeel_model::TaskId;
use evenkeel_model::{BarrierId, LockId, LoopId, ParallelLoop, PhaseId, Step};

/// Cost of taking a chunk of a parallel loop, instructions: an atomic addition that misses the
/// cache. Assumption.
const LOOP_TAKE: Work = Work(100);

/// Cost of taking a ticket, instructions: a mutex around a counter. Assumption.
const TICKET_TAKE: Work = Work(300);

/// How a program shares its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Threads with a block each.
    Pinned,
    /// A parallel loop by this schedule.
    Loop(Schedule),
    /// Tasks.
    Tasks,
}

/// Schedules of parallel loops: OpenMP's, and those for asymmetric cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    Static,
    Dynamic,
    Guided,
    AidStatic,
    AidDynamic,
    AidAffinity,
}

impl Schedule {
    /// The name of the loop policy, with a chunk for policies that hand out iterations repeatedly.
    fn with_chunk(self, chunk: u64) -> String {
        match self {
            Self::Static => "static".into(),
            Self::Dynamic => format!("dynamic,{chunk}"),
            Self::Guided => format!("guided,{chunk}"),
            Self::AidStatic => format!("aid-static,{chunk}"),
            Self::AidDynamic => format!("aid-dynamic,{chunk}"),
            Self::AidAffinity => format!("aid-affinity,{chunk}"),
        }
    }
}

impl Shape {
    /// By its name; `pinned` where none is given.
    pub(super) fn named(name: Option<&str>) -> Self {
        match name {
            Some("tasks") => Self::Tasks,
            Some("loop-static") => Self::Loop(Schedule::Static),
            Some("loop-dynamic") => Self::Loop(Schedule::Dynamic),
            Some("loop-guided") => Self::Loop(Schedule::Guided),
            Some("loop-aid-static") => Self::Loop(Schedule::AidStatic),
            Some("loop-aid-dynamic") => Self::Loop(Schedule::AidDynamic),
            Some("loop-aid-affinity") => Self::Loop(Schedule::AidAffinity),
            _ => Self::Pinned,
        }
    }
}

/// What a block of one part waits for in the `tasks` shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing that earlier parts do.
    Nothing,
    /// Its own block of the part before.
    SameBlock,
    /// Its own and the two next to it.
    Neighbours,
    /// All blocks.
    All,
}

/// Items that threads share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) items: u64,
    /// Work of one item, instructions.
    pub(super) work: u64,
    pub(super) phase: PhaseId,
    /// Number of blocks in the `tasks` shape.
    pub(super) tasks: u64,
    pub(super) needs: Needs,
    /// Iterations that `loop-dynamic` hands out at once, the fewest that `loop-guided` does, and
    /// the sampling chunk of `loop-aid-…`.
    pub(super) chunk: u64,
    /// The threaded program deals out tickets of this many items instead of blocks.
    pub(super) ticket: Option<u64>,
    /// The threaded program locks cells at the border between two blocks.
    pub(super) border: Option<Border>,
}

/// Cells at the border between the blocks of two threads, a lock each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Border {
    /// Locked sections of each thread at each of its borders.
    pub(super) cells: u32,
    /// Items that one locked section stands for.
    pub(super) items: u64,
}

/// A part of a course.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// One thread works, all wait for it at a barrier.
    Serial { work: u64, phase: PhaseId },
    /// All share items and meet at a barrier.
    Shared(Shared),
    /// A barrier of the threaded program that no dependence calls for.
    Barrier,
    /// Parts that are repeated. `synchronised`: each round needs all of the round before, so tasks
    /// of two rounds never overlap.
    Repeat { times: u64, synchronised: bool, parts: Vec<Part> },
}

/// Adds the threads that follow a course in a shape.
pub(super) fn add_threads(
    builder: &mut Builder,
    course: &[Part],
    shape: Shape,
    threads: u32,
) -> Result<(), WorkloadError> {
    if shape == Shape::Tasks {
        let workload = builder.app().name.clone();
        let steps = task_steps(builder, &workload, course)?;
        add_workers(builder, steps, threads);
        return Ok(());
    }
    let mut loops = Vec::new();
    add_loops(builder, course, shape, threads, &mut loops);
    let locks = course.iter().map(border_cells).max().unwrap_or(0);
    let first_lock = builder.locks(locks.saturating_mul(threads.saturating_sub(1))).0;
    let barrier = builder.barrier(threads);
    for i in 0..threads {
        let mut lowering =
            Lowering { thread: i, threads, barrier, loops: &loops, next: 0, first_lock };
        let steps = lowering.steps(course);
        let program = builder.program(steps);
        builder.thread(format!("worker{i}"), 0, program);
    }
    Ok(())
}

/// Adds threads that all run the same steps.
pub(super) fn add_workers(builder: &mut Builder, steps: Vec<Step>, threads: u32) {
    let program = builder.program(steps);
    (0..threads).for_each(|i| builder.thread(format!("worker{i}"), 0, program));
}

/// Makes the parallel loops of a course, in the order in which the threads come to them; none for a
/// block.
fn add_loops(
    builder: &mut Builder,
    course: &[Part],
    shape: Shape,
    threads: u32,
    loops: &mut Vec<Option<LoopId>>,
) {
    for part in course {
        match part {
            Part::Repeat { parts, .. } => add_loops(builder, parts, shape, threads, loops),
            Part::Shared(shared) => {
                let schedule = match (shape, shared.ticket) {
                    (Shape::Loop(schedule), _) => {
                        Some((schedule.with_chunk(shared.chunk), LOOP_TAKE))
                    }
                    (_, Some(ticket)) => Some((format!("dynamic,{ticket}"), TICKET_TAKE)),
                    (_, None) => None,
                };
                loops.push(schedule.map(|(schedule, take_cost)| {
                    builder.parallel_loop(ParallelLoop {
                        iterations: shared.items,
                        work: Work(shared.work),
                        phase: shared.phase,
                        workers: threads,
                        schedule,
                        take_cost,
                    })
                }));
            }
            Part::Serial { .. } | Part::Barrier => {}
        }
    }
}

fn border_cells(part: &Part) -> u32 {
    match part {
        Part::Shared(shared) => shared.border.map_or(0, |border| border.cells),
        Part::Repeat { parts, .. } => parts.iter().map(border_cells).max().unwrap_or(0),
        Part::Serial { .. } | Part::Barrier => 0,
    }
}

/// From a course to the steps of one thread.
struct Lowering<'a> {
    thread: u32,
    threads: u32,
    barrier: BarrierId,
    loops: &'a [Option<LoopId>],
    next: usize,
    first_lock: u32,
}

impl Lowering<'_> {
    fn steps(&mut self, course: &[Part]) -> Vec<Step> {
        let mut steps = Vec::new();
        for part in course {
            match part {
                Part::Repeat { times, parts, .. } => {
                    steps.extend(repeat(*times, self.steps(parts)));
                    continue;
                }
                Part::Serial { work, phase } if self.thread == 0 => {
                    compute(&mut steps, *work, *phase)
                }
                Part::Serial { .. } | Part::Barrier => {}
                Part::Shared(shared) => self.share(shared, &mut steps),
            }
            steps.push(Step::Barrier(self.barrier));
        }
        steps
    }

    fn share(&mut self, shared: &Shared, steps: &mut Vec<Step>) {
        let parallel = self.loops.get(self.next).copied().flatten();
        self.next += 1;
        if let Some(parallel) = parallel {
            steps.push(Step::ParallelFor(parallel));
            return;
        }
        let items = block(shared.items, self.thread.into(), self.threads.into());
        let Some(border) = shared.border else {
            compute(steps, items * shared.work, shared.phase);
            return;
        };
        // Both sides of a border take the same locks, each in its own pass over its own cells, in
        // the same order.
        let left = (self.thread > 0).then(|| self.thread - 1);
        let right = (self.thread + 1 < self.threads).then_some(self.thread);
        let mut inner = items;
        let mut locked = Vec::new();
        for side in left.into_iter().chain(right) {
            for cell in 0..border.cells {
                let here = border.items.min(inner);
                inner -= here;
                if here > 0 {
                    let lock = LockId(self.first_lock + side * border.cells + cell);
                    locked.push(Step::Lock(lock));
                    compute(&mut locked, here * shared.work, shared.phase);
                    locked.push(Step::Unlock(lock));
                }
            }
        }
        compute(steps, inner * shared.work, shared.phase);
        steps.append(&mut locked);
    }
}

/// The steps of every worker in the `tasks` shape: one graph for the whole course, or one that is
/// run again and again where rounds cannot overlap anyway.
fn task_steps(
    builder: &mut Builder,
    workload: &str,
    course: &[Part],
) -> Result<Vec<Step>, WorkloadError> {
    if let [Part::Repeat { times, synchronised: true, parts }] = course {
        return Ok(repeat(*times, task_steps(builder, workload, parts)?));
    }
    bounded_tasks(workload, count_tasks(course))?;
    let mut graph = Graph::default();
    add_tasks(&mut graph, course, &mut Vec::new());
    let graph = builder.graph(graph.finish(workload)?);
    Ok(vec![Step::RunTasks(graph)])
}

fn count_tasks(course: &[Part]) -> u64 {
    let count = |part: &Part| match part {
        Part::Serial { .. } => 1,
        Part::Shared(shared) => shared.tasks.min(shared.items),
        Part::Barrier => 0,
        Part::Repeat { times, parts, .. } => times.saturating_mul(count_tasks(parts)),
    };
    course.iter().map(count).fold(0, u64::saturating_add)
}

fn add_tasks(graph: &mut Graph, course: &[Part], before: &mut Vec<TaskId>) {
    for part in course {
        match part {
            Part::Barrier => {}
            Part::Serial { work, phase } => {
                *before = vec![graph.task(*work, *phase, before.iter().copied())]
            }
            Part::Repeat { times, parts, .. } => {
                (0..*times).for_each(|_| add_tasks(graph, parts, before))
            }
            Part::Shared(shared) => *before = add_blocks(graph, shared, before),
        }
    }
}

fn add_blocks(graph: &mut Graph, shared: &Shared, before: &[TaskId]) -> Vec<TaskId> {
    let blocks = shared.tasks.min(shared.items);
    let same_blocks = before.len() as u64 == blocks;
    let add = |i: u64| {
        let at = i as usize;
        let needed = match shared.needs {
            Needs::Nothing => &before[..0],
            Needs::SameBlock if same_blocks => &before[at..=at],
            Needs::Neighbours if same_blocks => {
                &before[at.saturating_sub(1)..before.len().min(at + 2)]
            }
            Needs::SameBlock | Needs::Neighbours | Needs::All => before,
        };
        graph.task(
            block(shared.items, i, blocks) * shared.work,
            shared.phase,
            needed.iter().copied(),
        )
    };
    (0..blocks).map(add).collect()
}
