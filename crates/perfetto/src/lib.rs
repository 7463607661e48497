//! Traces for Perfetto (<https://ui.perfetto.dev>), in its native protobuf format: the
//! code that the simulator and the runtime share.
//!
//! Packets are written as *sequences* with interned names and a clock that counts from packet to
//! packet, so that a slice takes some 30 bytes. A file may hold several sequences, one behind the
//! other. A sequence appended to a trace file makes a valid file, if no other sequence in the file
//! has its number.

pub mod proto;
mod sequence;

pub use sequence::Sequence;
