//! What a run is made of, as it is written: on the command line and in a grid.

mod policy;
mod quantity;
mod refusal;
mod setting;

pub use policy::{PolicySpec, parts, policies, policy};
pub use quantity::{rate, time};
pub use refusal::{no_microarchitecture, no_task_graph};
pub use setting::{estimator, governor, model};
