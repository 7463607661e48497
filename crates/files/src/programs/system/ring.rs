//! context-ring: a token goes round a ring of processes; the process that has it sums its own data
//! and passes it on (lat_ctx of lmbench). One process at a time can run, so the result is the cost
//! of switching, of waking, and of moving to a colder or slower core.

use super::kernel_phase;
use crate::programs::args::Args;
use crate::programs::build::{Builder, Context, compute, repeat};
use crate::programs::entry::{Entry, KnobInfo, WorkloadInfo};
use crate::programs::error::WorkloadError;
use evenkeel_model::{Application, Step};

/// Instructions to sum one word of 4 bytes: a load, an addition, and half of the loop's own,
/// unrolled. Assumption.
const INSTRUCTIONS_PER_WORD: f64 = 2.5;

/// Instructions of reading and writing the token through a pipe. Assumption.
const TOKEN: u64 = 2_500;

pub(super) fn entry() -> Entry {
    const KNOBS: &[KnobInfo] = &[
        KnobInfo { name: "procs", default: "8", meaning: "processes in the ring, 2 to 4096" },
        KnobInfo { name: "kib", default: "32", meaning: "data of each process, KiB, 0 to 65536" },
        KnobInfo {
            name: "rounds",
            default: "2000",
            meaning: "times that the token goes round (times --size)",
        },
    ];
    let summary =
        "a token round a ring of processes: context switches between warm working sets".to_owned();
    let info = WorkloadInfo {
        name: "context-ring",
        summary,
        source: "lat_ctx, lmbench 3",
        shapes: &[],
        knobs: KNOBS,
    };
    Entry { info, build }
}

fn build(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let processes = args.count("procs", 8, 2, 4_096)?;
    let data_bytes = args.whole("kib", 32, 0, 65_536)? << 10;
    let rounds = ctx.scaled(args.whole("rounds", 2_000, 1, 100_000_000)?);
    let mut builder = Builder::new("context-ring");
    let phase = builder.phase(kernel_phase("token", data_bytes));
    let work = TOKEN + (data_bytes as f64 / 4.0 * INSTRUCTIONS_PER_WORD) as u64;
    let links: Vec<_> = (0..processes).map(|_| builder.pipe(1)).collect();
    for (i, &next) in links.iter().enumerate() {
        let before = links[(i + links.len() - 1) % links.len()];
        // The first process makes the token and keeps it at the end.
        let mut turn = Vec::new();
        if i == 0 {
            compute(&mut turn, work, phase);
            turn.extend([Step::Send(next), Step::Receive(before)]);
        } else {
            turn.push(Step::Receive(before));
            compute(&mut turn, work, phase);
            turn.push(Step::Send(next));
        }
        let program = builder.program(repeat(rounds, turn));
        builder.thread(format!("process{i}"), 0, program);
    }
    Ok(vec![builder.finish()])
}
