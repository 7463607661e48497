//! What happens next: a calendar of slots, and the ordered lines that it and the queues are made
//! of.

pub mod heap;
pub mod line;
pub mod owners;
pub mod run;
pub mod slots;
