//! Grids of simulated runs.
//!
//! A [`Grid`] has axes: machines, workloads, policies with their knobs, estimators, seeds. Its
//! [`Case`]s are their combinations, less those that it excludes, in an order of its own. A case
//! has an identity that does not depend on what else is in the grid, nor on the platform.

mod axis;
mod case;
mod grid;
mod run;
mod table;
pub mod words;

pub use axis::{AxisError, Value};
pub use case::Case;
pub use grid::{Grid, GridError};
pub use run::Runs;
pub use table::{Column, Table};
