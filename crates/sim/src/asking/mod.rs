//! The policy: what it is shown, when it is asked, and how its answers are carried out.

pub mod answers;
pub mod ask;
pub mod carry_out;
pub mod counters;
pub mod estimator;
pub mod load;
pub mod loads;
pub mod quiet;
pub mod ran;
