//! The format: what stands in a file, under the names and with the units that it has there.

use serde::{Deserialize, Serialize};

/// Which version a file is of.
#[derive(Deserialize)]
pub struct Head {
    pub format: String,
}

/// A file.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub format: String,
    pub applications: Vec<Application>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    pub name: String,
    pub phases: Vec<Phase>,
    pub programs: Vec<Vec<Step>>,
    pub threads: Vec<Thread>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<Thread>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barriers: Vec<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub locks: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub conditions: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub semaphores: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Channel>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub timers: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub private_timers: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub devices: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<ParallelLoop>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<Graph>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub repeat_until_longest_ended: Option<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub duration_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A capacity, or `{"pipe": capacity}`.
#[derive(Deserialize, Serialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "something else found, expected a capacity, as 8, or {\"pipe\": 8}"
)]
pub enum Channel {
    Own(u32),
    Pipe { pipe: u32 },
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    pub name: String,
    pub scaling: Scaling,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub ipc: f64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub bytes_per_instruction: f64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub working_set_bytes: u64,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub activity: f64,
    /// Work is in nanoseconds on the reference core.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reference_time: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub reference: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub character: Option<Character>,
}

/// What a phase asks of a core. A curve is a list of sizes, in bytes, and misses per 1,000
/// instructions.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Character {
    pub parallelism: Parallelism,
    pub latency: f64,
    pub branches: f64,
    pub branch_misses: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_misses: Vec<(u64, f64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code_misses: Vec<(u64, f64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_tlb_misses: Vec<(u64, f64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code_tlb_misses: Vec<(u64, f64)>,
    pub memory_parallelism: f64,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Parallelism {
    pub coefficient: f64,
    pub exponent: f64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scaling {
    Capacity,
    Factor(f64),
    MeasuredAt { factor: f64, capacity_ratio: f64 },
}

#[derive(Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    #[default]
    Fastest,
    Core(u32),
    Capacity(f64),
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    pub name: String,
    pub program: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub group: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub nice: i8,
    #[serde(default, skip_serializing_if = "is_default")]
    pub class: Class,
    #[serde(default, skip_serializing_if = "is_default")]
    pub affinity: Option<Vec<u32>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub delay_ns: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub util_min: u32,
    #[serde(default = "full", skip_serializing_if = "is_full")]
    pub util_max: u32,
}

#[derive(Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Class {
    #[default]
    Normal,
    Idle,
    Fifo(u8),
    RoundRobin(u8),
    Deadline {
        runtime_ns: u64,
        period_ns: u64,
        deadline_ns: u64,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    Compute {
        work: u64,
        #[serde(default, skip_serializing_if = "is_default")]
        phase: u32,
    },
    Busy {
        time_ns: u64,
        #[serde(default, skip_serializing_if = "is_default")]
        phase: u32,
    },
    SleepNs(u64),
    Timer {
        timer: u32,
        period_ns: u64,
        #[serde(default, skip_serializing_if = "is_default")]
        absolute: bool,
    },
    Barrier(u32),
    Lock(u32),
    Unlock(u32),
    Wait(Condition),
    Signal(u32),
    Broadcast(u32),
    SignalAndWait(Condition),
    SemaphorePost(u32),
    SemaphoreWait(u32),
    Send(u32),
    Receive(u32),
    Close {
        channel: u32,
        senders: u32,
    },
    Io {
        device: u32,
        time_ns: u64,
    },
    Fork(u32),
    JoinAll,
    Suspend,
    Resume(String),
    Yield,
    Loop {
        /// Absent: for ever.
        #[serde(default, skip_serializing_if = "is_default")]
        times: Option<u64>,
        body: Vec<Step>,
    },
    ParallelFor(u32),
    RunTasks(u32),
    Milestone,
    IterationBegins,
    IterationEnds {
        phase: u32,
        of: u32,
        #[serde(default, skip_serializing_if = "is_default")]
        loops: Option<u64>,
    },
    SetClass(Class),
    SetNice(i8),
    /// `null`: all cores.
    SetAffinity(Option<Vec<u32>>),
    SetClamps {
        #[serde(default, skip_serializing_if = "is_default")]
        util_min: Option<u32>,
        #[serde(default, skip_serializing_if = "is_default")]
        util_max: Option<u32>,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    pub condition: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub lock: Option<u32>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ParallelLoop {
    pub iterations: u64,
    pub work: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub phase: u32,
    pub workers: u32,
    pub schedule: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub take_cost: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    pub tasks: Vec<Task>,
    /// Before and after, from an earlier to a later task.
    pub edges: Vec<(u32, u32)>,
    /// Bytes that each edge hands over, in the order of the edges; absent: nothing said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<u64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub create_cost: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub take_cost: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub work: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub phase: u32,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(value: &f64) -> bool {
    *value == 1.0
}

fn full() -> u32 {
    1024
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_full(value: &u32) -> bool {
    *value == full()
}
