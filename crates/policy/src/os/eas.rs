//! `eas`: energy-aware scheduling: `linux` with the power model in force under any governor.
//!
//! ```text
//! while every core fits what it has        1280 util(c) < 1024 capacity(c)
//!   wakes     the previous core, or the roomiest of a cluster that adds less energy
//!   no thread is pulled or balanced but misfits
//! else over-utilised, until a balance finds it is not: as linux without a power model
//! starts      as linux: the cluster with most idle cores
//! ```
//!
//! The code is that of [`super::linux`], whose head has the rules; those of energy are at the head
//! of `linux/energy.rs`. As in the kernel, one thread that is always busy makes the machine
//! over-utilised, even on the largest core.
//!
//! Source: `find_energy_efficient_cpu` of kernel/sched/fair.c, Linux 6.12;
//! Documentation/scheduler/sched-energy.rst. A machine without a power model is refused: all
//! clusters would cost the same. With SMT the kernel has no energy-aware scheduling; here
//! capacities count then, too.
//!
//! Live, only a machine file has power (`--machine FILE`), loads count as if cores ran at their
//! highest clock, and the answer to a wake-up counts for the next one.
//!
//! Knobs: `clock` (schedutil), the assumed clock of clusters; `tick` (4 ms). A wake-up costs
//! O(cores), a tick O(threads).

use super::TICK;
use super::linux::{Linux, PowerModel};
use crate::contract::Knob;
use crate::entry::Entry;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "eas",
    summary: "linux with the power model in force: wakes threads where they cost least energy",
    source: "Linux's energy-aware scheduling (kernel/sched/fair.c of 6.12)",
    traits: &[],
    knobs: &[
        Knob::Word {
            name: "clock",
            words: &["schedutil", "top"],
            about: "at what clock clusters are taken to run: schedutil's for what their cores have \
                    to do, or the highest",
        },
        TICK,
    ],
    make: |knobs, _| {
        Box::new(Linux::new(knobs, PowerModel::Always { at_top: knobs.word("clock") == "top" }))
    },
};
