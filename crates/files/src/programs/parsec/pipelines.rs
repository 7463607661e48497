//! The two pipelines: dedup and ferret. Serial stages at both ends, pooled ones in the middle,
//! bounded queues between.
//!
//! `threads` is the size of each pool, as in the suite's own versions: the threads of a pool
//! outnumber the cores and balance the stages by themselves. In the `tasks` shape each item is a
//! chain of tasks; a worker that reads or writes waits for the device, as in a runtime whose tasks
//! block: such tasks take the device's time on any kind of core.
//!
//! Assumptions: the shares of the work, queue capacities, the board's storage (an eMMC that reads
//! 100 MB/s and writes 40 MB/s), and that half of dedup's input remains after compression.

use evenkeel_machine::Nanos;

use super::characters::Character;
use crate::programs::build::{
    Builder, Context, Graph, bounded_tasks, compute, repeat, until_closed,
};
use crate::programs::error::WorkloadError;
use evenkeel_model::{ChannelId, LockId, PhaseId, Step};
use evenkeel_model::{Phase, Scaling};

const READ_BYTES_PER_S: u64 = 100_000_000;
const WRITE_BYTES_PER_S: u64 = 40_000_000;

/// Activity of a worker that waits for a device in a task. Assumption: hardly any.
const DEVICE_ACTIVITY: f64 = 0.05;

const fn transfer_time(bytes: u64, bytes_per_s: u64) -> Nanos {
    Nanos(bytes * 1_000_000_000 / bytes_per_s)
}

/// Waiting for a device inside a task: nanoseconds that pass at one pace on every kind of core.
fn device_phase() -> Phase {
    Phase {
        reference_time: true,
        activity: DEVICE_ACTIVITY,
        ..Phase::new("device", Scaling::Factor(1.0))
    }
}

/// A pool: `threads` threads that pass items from one queue to the next until the first one ends.
struct Pool {
    threads: u32,
    input: ChannelId,
    output: ChannelId,
}

impl Pool {
    /// `work`: what a thread does to an item, by its number in the pool; the last step sends.
    fn add(&self, builder: &mut Builder, role: &str, group: u32, work: impl Fn(u32) -> Vec<Step>) {
        for i in 0..self.threads {
            let mut body = vec![Step::Receive(self.input)];
            body.extend(work(i));
            let steps = vec![
                until_closed(body),
                Step::Close { channel: self.output, senders: self.threads },
            ];
            let program = builder.program(steps);
            builder.thread(format!("{role}{i}"), group, program);
        }
    }
}

/// dedup: 351 MB are cut into fragments, refined into chunks, looked up by their hash, compressed,
/// and written in order.
mod of_dedup {
    pub(super) const INPUT_BYTES: u64 = 351_000_000;
    pub(super) const FRAGMENT_BYTES: u64 = 128 << 10;
    pub(super) const CHUNKS: u64 = 16;
    pub(super) const FRAGMENTS: u64 = INPUT_BYTES / FRAGMENT_BYTES;
    pub(super) const QUEUE: u32 = 1_024;
    /// Locks of the hash table's buckets that the threads of the pool share.
    pub(super) const BUCKETS: u32 = 4;
    pub(super) const FRAGMENT: f64 = 0.04;
    pub(super) const REFINE: f64 = 0.18;
    pub(super) const HASH: f64 = 0.21;
    pub(super) const LOOKUP: f64 = 0.01;
    pub(super) const COMPRESS: f64 = 0.52;
    pub(super) const REORDER: f64 = 0.04;
}

struct DedupPieces {
    fragment: u64,
    refine: u64,
    hash: u64,
    lookup: u64,
    compress: u64,
    reorder: u64,
    read: Nanos,
    write: Nanos,
}

impl DedupPieces {
    fn new(character: &Character) -> Self {
        use of_dedup::*;
        Self {
            fragment: character.piece(FRAGMENT, FRAGMENTS),
            refine: character.piece(REFINE, FRAGMENTS),
            hash: character.piece(HASH, FRAGMENTS * CHUNKS),
            lookup: character.piece(LOOKUP, FRAGMENTS * CHUNKS),
            compress: character.piece(COMPRESS, FRAGMENTS * CHUNKS),
            reorder: character.piece(REORDER, FRAGMENTS * CHUNKS),
            read: transfer_time(FRAGMENT_BYTES, READ_BYTES_PER_S),
            write: transfer_time(FRAGMENT_BYTES / 2, WRITE_BYTES_PER_S),
        }
    }
}

/// The threaded dedup: pools of `threads` for refine, deduplicate and compress.
pub(super) fn dedup(
    builder: &mut Builder,
    ctx: &Context,
    character: &Character,
    phase: PhaseId,
    threads: u32,
) {
    use of_dedup::{BUCKETS, CHUNKS, FRAGMENTS, QUEUE};
    let pieces = DedupPieces::new(character);
    let fragments = ctx.scaled(FRAGMENTS);
    let device = builder.device();
    let [coarse, fine, unique, done] = [(); 4].map(|()| builder.channel(QUEUE));
    let buckets = builder.locks(BUCKETS);

    let mut read = vec![Step::Io { device, time: pieces.read }];
    compute(&mut read, pieces.fragment, phase);
    read.push(Step::Send(coarse));
    let mut steps = repeat(fragments, read);
    steps.push(Step::Close { channel: coarse, senders: 1 });
    let program = builder.program(steps);
    builder.thread("fragment", 0, program);

    Pool { threads, input: coarse, output: fine }.add(builder, "refine", 1, |_| {
        let mut steps = Vec::new();
        compute(&mut steps, pieces.refine, phase);
        steps.push(Step::Loop { times: Some(CHUNKS), body: vec![Step::Send(fine)] });
        steps
    });
    Pool { threads, input: fine, output: unique }.add(builder, "deduplicate", 2, |i| {
        let bucket = LockId(buckets.0 + i % BUCKETS);
        let mut steps = Vec::new();
        compute(&mut steps, pieces.hash, phase);
        steps.push(Step::Lock(bucket));
        compute(&mut steps, pieces.lookup, phase);
        steps.extend([Step::Unlock(bucket), Step::Send(unique)]);
        steps
    });
    Pool { threads, input: unique, output: done }.add(builder, "compress", 3, |_| {
        let mut steps = Vec::new();
        compute(&mut steps, pieces.compress, phase);
        steps.push(Step::Send(done));
        steps
    });

    let mut chunk = vec![Step::Receive(done)];
    compute(&mut chunk, pieces.reorder, phase);
    let mut write = repeat(CHUNKS, chunk);
    write.push(Step::Io { device, time: pieces.write });
    let program = builder.program(repeat(fragments, write));
    builder.thread("reorder", 4, program);
}

/// The graph of dedup: a chain per fragment, two tasks per chunk; reads in order, writes in order.
pub(super) fn dedup_graph(
    builder: &mut Builder,
    ctx: &Context,
    character: &Character,
    phase: PhaseId,
) -> Result<Step, WorkloadError> {
    use of_dedup::{CHUNKS, FRAGMENTS};
    const TASKS_PER_FRAGMENT: u64 = 5 + 2 * CHUNKS;
    let pieces = DedupPieces::new(character);
    let fragments = ctx.scaled(FRAGMENTS);
    bounded_tasks(character.name, fragments.saturating_mul(TASKS_PER_FRAGMENT))?;
    let device = builder.phase(device_phase());
    let mut graph = Graph::default();
    let (mut read, mut written) = (None, None);
    for _ in 0..fragments {
        let load = graph.task(pieces.read.0, device, read);
        read = Some(load);
        let fragment = graph.task(pieces.fragment, phase, [load]);
        let refine = graph.task(pieces.refine, phase, [fragment]);
        let chunk = |_| {
            let hash = graph.task(pieces.hash + pieces.lookup, phase, [refine]);
            graph.task(pieces.compress, phase, [hash])
        };
        let chunks: Vec<_> = (0..CHUNKS).map(chunk).collect();
        let reorder = graph.task(CHUNKS * pieces.reorder, phase, chunks.into_iter().chain(written));
        written = Some(graph.task(pieces.write.0, device, [reorder]));
    }
    let graph = graph.finish(character.name)?;
    Ok(Step::RunTasks(builder.graph(graph)))
}

/// ferret: similarity search for 3,500 images. Load, then segment, extract, index and rank in
/// pools, then write.
mod of_ferret {
    pub(super) const QUERIES: u64 = 3_500;
    pub(super) const QUEUE: u32 = 20;
    pub(super) const IMAGE_BYTES: u64 = 32 << 10;
    pub(super) const LOAD: f64 = 0.01;
    pub(super) const POOLS: [(&str, f64); 4] =
        [("segment", 0.10), ("extract", 0.08), ("index", 0.25), ("rank", 0.55)];
    pub(super) const WRITE: f64 = 0.01;
}

/// The threaded ferret: four pools of `threads`.
pub(super) fn ferret(
    builder: &mut Builder,
    ctx: &Context,
    character: &Character,
    phase: PhaseId,
    threads: u32,
) {
    use of_ferret::{IMAGE_BYTES, LOAD, POOLS, QUERIES, QUEUE, WRITE};
    let device = builder.device();
    let first = builder.channel(QUEUE);
    let mut load = vec![Step::Io { device, time: transfer_time(IMAGE_BYTES, READ_BYTES_PER_S) }];
    compute(&mut load, character.piece(LOAD, QUERIES), phase);
    load.push(Step::Send(first));
    let mut steps = repeat(ctx.scaled(QUERIES), load);
    steps.push(Step::Close { channel: first, senders: 1 });
    let program = builder.program(steps);
    builder.thread("load", 0, program);

    let mut input = first;
    for (group, (role, share)) in (1..).zip(POOLS) {
        let output = builder.channel(QUEUE);
        Pool { threads, input, output }.add(builder, role, group, |_| {
            let mut steps = Vec::new();
            compute(&mut steps, character.piece(share, QUERIES), phase);
            steps.push(Step::Send(output));
            steps
        });
        input = output;
    }

    let mut write = vec![Step::Receive(input)];
    compute(&mut write, character.piece(WRITE, QUERIES), phase);
    let program = builder.program(vec![until_closed(write)]);
    builder.thread("write", POOLS.len() as u32 + 1, program);
}

/// The graph of ferret: a chain per query; loads in order, results in order.
pub(super) fn ferret_graph(
    builder: &mut Builder,
    ctx: &Context,
    character: &Character,
    phase: PhaseId,
) -> Result<Step, WorkloadError> {
    use of_ferret::{IMAGE_BYTES, LOAD, POOLS, QUERIES, WRITE};
    const TASKS_PER_QUERY: u64 = POOLS.len() as u64 + 3;
    let queries = ctx.scaled(QUERIES);
    bounded_tasks(character.name, queries.saturating_mul(TASKS_PER_QUERY))?;
    let device = builder.phase(device_phase());
    let mut graph = Graph::default();
    let (mut read, mut written) = (None, None);
    for _ in 0..queries {
        let image = graph.task(transfer_time(IMAGE_BYTES, READ_BYTES_PER_S).0, device, read);
        read = Some(image);
        let mut last = graph.task(character.piece(LOAD, QUERIES), phase, [image]);
        for (_, share) in POOLS {
            last = graph.task(character.piece(share, QUERIES), phase, [last]);
        }
        written = Some(graph.task(
            character.piece(WRITE, QUERIES),
            phase,
            [last].into_iter().chain(written),
        ));
    }
    let graph = graph.finish(character.name)?;
    Ok(Step::RunTasks(builder.graph(graph)))
}
