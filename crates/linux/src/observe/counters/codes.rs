//! How a PMU is asked for an event: by its own names for them in sysfs, else by the kernel's
//! general ones.

use evenkeel_estimate::Event;

use super::Pmu;

/// `PERF_TYPE_HARDWARE`.
const TYPE_HARDWARE: u32 = 0;
/// `PERF_TYPE_HW_CACHE`.
const TYPE_CACHE: u32 = 3;

/// A type and a number, as `perf_event_open(2)` takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Which PMU, or which general type.
    pub kind: u32,
    /// Which of its events.
    pub config: u64,
}

/// What PMUs call an event, those of Intel and AMD first, then those of Arm.
pub(super) const fn names(event: Event) -> &'static [&'static str] {
    match event {
        Event::Instructions => &["instructions", "inst_retired"],
        Event::Cycles => &["cpu-cycles", "cpu_cycles", "cycles"],
        Event::CacheReferences => &["cache-references", "ll_cache_rd", "l2d_cache"],
        Event::CacheMisses => &["cache-misses", "ll_cache_miss_rd", "l2d_cache_refill"],
        Event::Branches => &["branch-instructions", "br_retired"],
        Event::BranchMisses => &["branch-misses", "br_mis_pred_retired", "br_mis_pred"],
        Event::L1dMisses => &["l1d_cache_refill"],
        Event::L1iMisses => &["l1i_cache_refill"],
        Event::DtlbMisses => &["l1d_tlb_refill"],
        Event::ItlbMisses => &["l1i_tlb_refill"],
        Event::FrontendStalls => &["stalled-cycles-frontend", "stall_frontend"],
        Event::BackendStalls => &["stalled-cycles-backend", "stall_backend"],
    }
}

/// The kernel's general event: `PERF_COUNT_HW_*`, or a cache, an operation (0: read) and a result
/// (1: miss).
const fn general(event: Event) -> (u32, u64) {
    const MISS: u64 = 1 << 16;
    match event {
        Event::Cycles => (TYPE_HARDWARE, 0),
        Event::Instructions => (TYPE_HARDWARE, 1),
        Event::CacheReferences => (TYPE_HARDWARE, 2),
        Event::CacheMisses => (TYPE_HARDWARE, 3),
        Event::Branches => (TYPE_HARDWARE, 4),
        Event::BranchMisses => (TYPE_HARDWARE, 5),
        Event::FrontendStalls => (TYPE_HARDWARE, 7),
        Event::BackendStalls => (TYPE_HARDWARE, 8),
        Event::L1dMisses => (TYPE_CACHE, MISS),
        Event::L1iMisses => (TYPE_CACHE, MISS | 1),
        Event::DtlbMisses => (TYPE_CACHE, MISS | 3),
        Event::ItlbMisses => (TYPE_CACHE, MISS | 4),
    }
}

impl Pmu {
    /// How it is asked for an event.
    #[must_use]
    pub fn code(&self, event: Event) -> Code {
        if let Some(config) = self.named[event as usize] {
            return Code { kind: self.kind, config };
        }
        let (kind, config) = general(event);
        // Of several PMUs the upper half says which (Linux 5.13; Arm: 6.6).
        let which = if self.cpus.is_some() { u64::from(self.kind) << 32 } else { 0 };
        Code { kind, config: config | which }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::watch::Cpu;

    #[test]
    fn what_a_pmu_has_no_name_for_is_asked_for_in_general_of_that_pmu() {
        let mut named = [None; Event::ALL.len()];
        named[Event::CacheMisses as usize] = Some(0x412e);
        let atom = Pmu {
            name: "cpu_atom".into(),
            cpus: Some(vec![Cpu(4)]),
            kind: 10,
            instructions: 0xc0,
            cycles: 0x3c,
            named,
        };
        assert_eq!(atom.code(Event::CacheMisses), Code { kind: 10, config: 0x412e });
        assert_eq!(atom.code(Event::L1dMisses), Code { kind: 3, config: 0xa_0001_0000 });
        assert_eq!(atom.code(Event::BranchMisses), Code { kind: 0, config: 0xa_0000_0005 });
        let only = Pmu { cpus: None, ..atom };
        assert_eq!(only.code(Event::ItlbMisses), Code { kind: 3, config: 0x1_0004 });
    }
}
