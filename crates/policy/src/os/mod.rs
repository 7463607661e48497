//! Policies of the operating-system level: which thread runs on which core. One file a policy; each says what it is, where it
//! comes from, its rule and its knobs on its first screen.

mod fair;
mod homes;
mod kind_queues;
mod level;
mod switching;

pub mod acfs;
pub mod combination;
pub mod cs;
pub mod gts;
pub mod hsp;
pub mod iks;
pub mod linux;
pub mod opt_unfairness;
pub mod pinned;
pub mod round_robin;
