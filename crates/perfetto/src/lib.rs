//! Traces for Perfetto (<https://ui.perfetto.dev>), in its native protobuf format: what the
//! simulator's and the runtime's have in common.
//!
//! Packets are written as *sequences* with interned names and a clock that counts from packet to
//! packet, so that a slice takes some 30 bytes. A file may hold several sequences, one behind the
//! other: appending one to a file makes a valid file.

pub mod proto;
mod sequence;

pub use sequence::Sequence;
