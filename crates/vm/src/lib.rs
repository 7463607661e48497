//! The hybrid VM lab: an unmodified Linux kernel meets cores that really are slower.
//!
//! [`kernel`] fetches a kernel of Debian's into a cache, [`image`] packs what the guest needs into
//! an initramfs, [`guest`] starts it in QEMU without hardware virtualisation and talks to it,
//! [`throttle`] gives each virtual core its share of a host core, and [`Lab`] puts them together:
//! it runs a command and brings back its results. `docs/labs/virtual-machines.md` says what the lab
//! models and what it does not.

mod cores;
mod error;
pub mod fetch;
pub mod guest;
pub mod image;
pub mod kernel;
mod lab;
mod machine;
mod relay;
pub mod throttle;

pub use cores::{Cores, CoresError, MAX_CORES, Quota};
pub use error::{Stage, VmError};
pub use lab::{Lab, Outcome, Streams, check_host};
