//! What cores do: how fast their threads go, what that draws, and what it is charged.

pub mod account;
pub mod contention;
pub mod core;
pub mod power;
pub mod sets;
pub mod speed;
