//! hackbench: groups of 20 senders and 20 receivers; each sender sends every message to each
//! receiver of its group, over that receiver's pipe or socket. All start together once all exist.
//!
//! With `start=forked` a main thread creates them one after the other, as the program does: the
//! receivers, then the senders of each group. When all are ready, the program starts its clock and
//! releases them; here the main thread ends at that moment, so its end gives that time. With
//! `start=together` all threads exist from the beginning, none is forked, and each sets itself up.
//!
//! Assumptions: messages of 100 bytes (hackbench's default); the instructions of a system call by
//! channel; what a process costs beyond a thread. A process has page tables of its own: it takes
//! longer to create, and reloads some translations at each message.

use super::kernel_phase;
use crate::programs::args::Args;
use crate::programs::build::{Builder, Context, compute, repeat};
use crate::programs::entry::{Entry, KnobInfo, WorkloadInfo};
use crate::programs::error::WorkloadError;
use evenkeel_model::{Application, PhaseId, ProgramId, SemaphoreId, Step, ThreadSpec};

/// Senders of a group, and receivers (hackbench's default).
const PEERS: u32 = 20;

/// Counts the threads that are ready, for the main thread.
const READY: SemaphoreId = SemaphoreId(0);

/// The most messages of one run.
const MOST_MESSAGES: u64 = 1_000_000_000;

/// How the costs of a thread and a process differ.
#[derive(Clone, Copy)]
struct Mode {
    /// Instructions to set one up.
    start: u64,
    /// Instructions more per message sent or received.
    per_message: u64,
    /// Bytes.
    working_set: u64,
}
const THREAD: Mode = Mode { start: 30_000, per_message: 0, working_set: 4 << 10 };
const PROCESS: Mode = Mode { start: 150_000, per_message: 400, working_set: 16 << 10 };

/// How the costs of a pipe and a socket differ.
#[derive(Clone, Copy)]
struct Channel {
    /// Instructions to write a message.
    write: u64,
    /// Instructions to read one.
    read: u64,
    /// How many messages it holds.
    capacity: u32,
}
/// 64 KiB of messages of 100 bytes.
const PIPE: Channel = Channel { write: 1_500, read: 1_300, capacity: 655 };
/// 208 KiB of buffer, of which a message takes 768 bytes with its header.
const SOCKET: Channel = Channel { write: 2_600, read: 2_200, capacity: 277 };

pub(super) fn entry() -> Entry {
    const KNOBS: &[KnobInfo] = &[
        KnobInfo {
            name: "groups",
            default: "10",
            meaning: "groups of 20 senders and 20 receivers, 1 to 1000",
        },
        KnobInfo {
            name: "loops",
            default: "20",
            meaning: "messages of each sender to each receiver (times --size)",
        },
        KnobInfo { name: "mode", default: "process", meaning: "process or thread" },
        KnobInfo { name: "channel", default: "socket", meaning: "socket or pipe" },
        KnobInfo {
            name: "start",
            default: "together",
            meaning: "together, or forked: by a main thread, one after the other",
        },
    ];
    let summary =
        "20 senders x 20 receivers a group, each to each: wake-ups and hand-overs".to_owned();
    let source = "hackbench (rt-tests; perf bench sched messaging)";
    Entry {
        info: WorkloadInfo { name: "hackbench", summary, source, shapes: &[], knobs: KNOBS },
        build,
    }
}

fn build(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let groups = args.count("groups", 10, 1, 1_000)?;
    let loops = ctx.scaled(args.whole("loops", 20, 1, 1_000_000)?);
    let mode = args.word("mode", &[("process", PROCESS), ("thread", THREAD)])?;
    let channel = args.word("channel", &[("socket", SOCKET), ("pipe", PIPE)])?;
    let messages = u64::from(groups * PEERS * PEERS).saturating_mul(loops);
    if messages > MOST_MESSAGES {
        let workload = args.workload().to_owned();
        return Err(WorkloadError::TooLarge {
            workload,
            count: messages,
            what: "messages",
            most: MOST_MESSAGES,
        });
    }

    let forked = args.word("start", &[("together", false), ("forked", true)])?;

    let mut builder = Builder::new("hackbench");
    let phase = builder.phase(kernel_phase("message", mode.working_set));
    let go = builder.barrier(groups * 2 * PEERS + u32::from(forked));
    let mut threads = Vec::new();
    let begin = || {
        let mut steps = Vec::new();
        if forked {
            steps.push(Step::SemaphorePost(READY));
        } else {
            compute(&mut steps, mode.start, phase);
        }
        steps.push(Step::Barrier(go));
        steps
    };
    for group in 0..groups {
        let inboxes: Vec<_> = (0..PEERS).map(|_| builder.pipe(channel.capacity)).collect();
        let mut round = Vec::new();
        for &inbox in &inboxes {
            compute(&mut round, channel.write + mode.per_message, phase);
            round.push(Step::Send(inbox));
        }
        let mut send = begin();
        send.extend(repeat(loops, round));
        let sender = builder.program(send);
        for i in 0..PEERS {
            threads.push(member(format!("g{group}-send{i}"), 2 * group, sender));
        }
        for (i, &inbox) in inboxes.iter().enumerate() {
            let mut message = vec![Step::Receive(inbox)];
            compute(&mut message, channel.read + mode.per_message, phase);
            let mut receive = begin();
            receive.extend(repeat(u64::from(PEERS) * loops, message));
            let receiver = builder.program(receive);
            threads.push(member(format!("g{group}-receive{i}"), 2 * group + 1, receiver));
        }
    }
    if forked {
        let mut main = set_up(&threads, mode.start, phase);
        main.extend(repeat(threads.len() as u64, vec![Step::SemaphoreWait(READY)]));
        main.push(Step::Barrier(go));
        let main = builder.program(main);
        builder.thread("main", 2 * groups, main);
        builder.app().semaphores = vec![0];
        builder.app().templates = threads;
    } else {
        builder.app().threads = threads;
    }
    Ok(vec![builder.finish()])
}

fn member(name: String, group: u32, program: ProgramId) -> ThreadSpec {
    ThreadSpec { group, ..ThreadSpec::new(name, program) }
}

/// What the main thread begins with: receivers of each group first, then its senders.
fn set_up(templates: &[ThreadSpec], start: u64, phase: PhaseId) -> Vec<Step> {
    let mut steps = Vec::new();
    for group in 0..templates.len() as u32 / (2 * PEERS) {
        let (senders, receivers) = (group * 2 * PEERS, group * 2 * PEERS + PEERS);
        for template in (receivers..receivers + PEERS).chain(senders..senders + PEERS) {
            compute(&mut steps, start, phase);
            steps.push(Step::Fork(template));
        }
    }
    steps
}
