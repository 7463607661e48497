//! The words of rt-app's grammar (doc/tutorial.txt and src/rt-app_parse_config.c of
//! scheduler-tools/rt-app).

/// Events, in the order in which they are compared with the beginning of a key. The first that fits
/// is meant: `run2` and `runend` are runs and `runtime1` is a runtime.
pub const EVENTS: [(&str, Event); 20] = [
    ("lock", Event::Lock),
    ("unlock", Event::Unlock),
    ("wait", Event::Wait),
    ("signal", Event::Signal),
    ("broad", Event::Broadcast),
    ("sync", Event::Sync),
    ("sleep", Event::Sleep),
    ("runtime", Event::Runtime),
    ("run", Event::Run),
    ("timer", Event::Timer),
    ("suspend", Event::Suspend),
    ("resume", Event::Resume),
    ("memrun", Event::MemRun),
    ("mem", Event::Mem),
    ("iorun", Event::IoRun),
    ("yield", Event::Yield),
    ("barrier", Event::Barrier),
    ("fork", Event::Fork),
    ("sem_post", Event::SemaphorePost),
    ("sem_wait", Event::SemaphoreWait),
];

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Lock,
    Unlock,
    Wait,
    Signal,
    Broadcast,
    Sync,
    Sleep,
    Runtime,
    Run,
    Timer,
    Suspend,
    Resume,
    MemRun,
    Mem,
    IoRun,
    Yield,
    Barrier,
    Fork,
    SemaphorePost,
    SemaphoreWait,
}

impl Event {
    /// The event that a key means.
    pub fn of(key: &str) -> Option<Self> {
        if key == MEMBIND_OF_THE_TUTORIAL {
            return None;
        }
        EVENTS.iter().find(|(prefix, _)| key.starts_with(prefix)).map(|&(_, event)| event)
    }
}

/// Sections of a file.
pub const SECTIONS: [&str; 3] = ["tasks", "global", "resources"];

/// Keys of `global`: those that have an effect, and those that are only noted, if at all.
pub const GLOBAL: [&str; 5] =
    ["duration", "calibration", "default_policy", "io_device", "mem_buffer_size"];
pub const GLOBAL_NOTED: [&str; 11] = [
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "cumulative_slack",
    // Of older versions; the examples that come with rt-app still give the first.
    "frag",
    "fragment",
    "spacing",
];

/// Properties that a task and a phase may have: those that have an effect, and those that are only
/// noted.
pub const SHARED: [&str; 9] = [
    "loop",
    "policy",
    "priority",
    "cpus",
    "util_min",
    "util_max",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
];
pub const SHARED_NOTED: [&str; 4] =
    ["taskgroup", "dl-reclaim", "nodes_membind", MEMBIND_OF_THE_TUTORIAL];

/// The name that rt-app's tutorial gives `nodes_membind`. It begins as the event `mem` does, but is
/// not one.
pub const MEMBIND_OF_THE_TUTORIAL: &str = "membind_nodes";

/// Properties of a task only. `period` and `deadline` are older names of `dl-period` and
/// `dl-deadline`.
pub const TASK: [&str; 5] = ["instance", "delay", "phases", "period", "deadline"];

/// Keys of a timer, of a wait, of a memory access.
pub const TIMER: [&str; 3] = ["ref", "period", "mode"];
pub const WAIT: [&str; 2] = ["ref", "mutex"];
pub const MEMRUN: [&str; 6] = ["type", "size", "stride", "pattern", "count", "ref"];

/// Keys of a resource of older files.
pub const RESOURCE: [&str; 2] = ["type", "target"];

/// Everything that may stand in `global`.
pub fn of_global() -> impl Iterator<Item = &'static str> + Clone {
    GLOBAL.into_iter().chain(GLOBAL_NOTED)
}

/// Everything that may stand in a task, or in a phase. In a phase, a key that belongs to a task is
/// refused.
pub fn of_a_task() -> impl Iterator<Item = &'static str> + Clone {
    let events = EVENTS.iter().map(|&(name, _)| name);
    TASK.into_iter().chain(SHARED).chain(SHARED_NOTED).chain(events)
}

/// True if a key is only noted. A word that looks like such a key may be ignored.
pub fn is_only_noted(key: &str) -> bool {
    GLOBAL_NOTED.contains(&key) || SHARED_NOTED.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_two_events_that_begin_alike_is_meant_where_it_fits() {
        assert_eq!(Event::of("runtime1"), Some(Event::Runtime));
        assert_eq!(Event::of("run_end"), Some(Event::Run));
        assert_eq!(Event::of("memrun"), Some(Event::MemRun));
        assert_eq!(Event::of("mem2"), Some(Event::Mem));
        assert_eq!(Event::of("broadcast"), Some(Event::Broadcast));
        assert_eq!(Event::of("Run"), None);
    }

    #[test]
    fn no_property_is_taken_for_an_event() {
        for key in SHARED.into_iter().chain(SHARED_NOTED).chain(TASK) {
            assert_eq!(Event::of(key), None, "{key}");
        }
    }
}
