//! interrupts: one pinned thread per core, which a periodic timer wakes (cyclictest). The result is
//! the wake-up latency per kind of core, idle and under load.
//!
//! The timer threads are normal ones unless `class=fifo`: cyclictest's own default, and the only
//! class that a policy places. The load never sleeps, so that every wake-up of the run is a
//! timer's. Assumption: low load is one such thread for every two cores, high load two for every
//! core. The run lasts for the given duration.
//!
//! `on=slow` routes the interrupts to the cores of the slowest kind: fast cores have none, and no
//! timer thread. An interrupt here is what it wakes; what its entry, its handler and an
//! inter-processor interrupt cost before that is not modelled.

use evenkeel_machine::Nanos;

use super::kernel_phase;
use crate::programs::args::Args;
use crate::programs::build::{Builder, Context, compute};
use crate::programs::entry::{Entry, KnobInfo, WorkloadInfo};
use crate::programs::error::WorkloadError;
use evenkeel_model::{Application, Class, Step, ThreadSpec, TimerId, TimerMode};
use evenkeel_model::{Phase, Scaling};

/// Instructions between a wake-up and the next wait: read the clock, note the latency. Assumption.
const HANDLER: u64 = 5_000;

/// Instructions of one turn of a load thread's endless loop: long, so that the loop itself costs
/// few events.
const LOAD_TURN: u64 = 1_000_000_000;

/// Priority of `class=fifo`, as people run cyclictest.
const FIFO_PRIORITY: u8 = 80;

#[derive(Clone, Copy, PartialEq)]
enum Load {
    Idle,
    Low,
    High,
}

impl Load {
    fn threads(self, cores: u32) -> u32 {
        match self {
            Self::Idle => 0,
            Self::Low => (cores / 2).max(1),
            Self::High => 2 * cores,
        }
    }
}

pub(super) fn entry() -> Entry {
    const KNOBS: &[KnobInfo] = &[
        KnobInfo {
            name: "load",
            default: "idle",
            meaning: "idle, low (a busy thread for every two cores) or high (two for each)",
        },
        KnobInfo {
            name: "on",
            default: "all",
            meaning: "cores that have interrupts: all, or slow (the slowest kind)",
        },
        KnobInfo {
            name: "class",
            default: "normal",
            meaning: "class of the timer threads: normal or fifo",
        },
        KnobInfo {
            name: "period_us",
            default: "10000",
            meaning: "period of the timers, microseconds",
        },
        KnobInfo { name: "seconds", default: "10", meaning: "how long, seconds (times --size)" },
    ];
    let summary =
        "a pinned periodic timer thread per core: wake-up latency, idle or under load".to_owned();
    let info = WorkloadInfo {
        name: "interrupts",
        summary,
        source: "cyclictest, rt-tests",
        shapes: &[],
        knobs: KNOBS,
    };
    Entry { info, build }
}

fn build(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let load =
        args.word("load", &[("idle", Load::Idle), ("low", Load::Low), ("high", Load::High)])?;
    let fifo = Class::RealTime { priority: FIFO_PRIORITY, round_robin: false };
    let class = args.word("class", &[("normal", Class::Normal), ("fifo", fifo)])?;
    let only_slow = args.word("on", &[("all", false), ("slow", true)])?;
    let period = Nanos::from_micros(args.whole("period_us", 10_000, 10, 1_000_000_000)?);
    let seconds = args.positive("seconds", 10.0, 1e6)? * ctx.size;

    let mut builder = Builder::new("interrupts");
    let handler = builder.phase(kernel_phase("handler", 4 << 10));
    for core in
        ctx.machine.cores.iter().filter(|core| !only_slow || core.kind == ctx.machine.slowest())
    {
        let mut body =
            vec![Step::Timer { timer: TimerId(core.id.0), period, mode: TimerMode::Absolute }];
        compute(&mut body, HANDLER, handler);
        let program = builder.program(vec![Step::Loop { times: None, body }]);
        let name = format!("timer{}", core.id.0);
        builder.spec(ThreadSpec {
            class,
            affinity: Some(vec![core.id]),
            ..ThreadSpec::new(name, program)
        });
    }
    let cores = ctx.machine.cores.len() as u32;
    builder.app().timers = cores;
    let busy = builder.phase(Phase::new("load", Scaling::Capacity));
    let mut turn = Vec::new();
    compute(&mut turn, LOAD_TURN, busy);
    add_load(&mut builder, turn, load.threads(cores));
    builder.app().duration = Some(Nanos(((seconds * 1e9) as u64).max(period.0)));
    Ok(vec![builder.finish()])
}

fn add_load(builder: &mut Builder, turn: Vec<Step>, threads: u32) {
    if threads > 0 {
        let endless = builder.program(vec![Step::Loop { times: None, body: turn }]);
        (0..threads).for_each(|i| builder.thread(format!("load{i}"), 1, endless));
    }
}
