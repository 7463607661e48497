//! Grids of simulated runs, carried out in parts that are written as Parquet.
//!
//! A [`Grid`] has axes: machines, workloads, policies with their knobs, estimators, seeds. Its
//! [`Case`]s are their combinations, less those that it excludes, in an order of its own. A case
//! has an identity that does not depend on what else is in the grid, nor on the platform.
//!
//! A [`Sweep`] cuts the grid into parts. Parts are cut by the grid and never by workers, so that a
//! part is the same bytes whoever carries it out. A part is written under a temporary name and
//! renamed into a [`Folder`]: one that is there is done.

mod axis;
mod case;
mod cells;
mod check;
mod folder;
mod grid;
mod hive;
mod inputs;
mod manifest;
mod parts;
mod prepared;
mod read;
mod row;
mod run;
mod shared;
mod sweep;
mod table;
pub mod words;

pub use axis::{AxisError, Value};
pub use case::Case;
pub use check::CheckError;
pub use folder::{Begin, Folder, FolderError};
pub use grid::{Grid, GridError};
pub use inputs::Inputs;
pub use manifest::{Manifest, SCHEMA};
pub use prepared::{Done, Named, Prepared};
pub use read::{MEASURES, Measured, ReadError, Results};
pub use row::{ColumnInfo, columns, table_of};
pub use run::Runs;
pub use sweep::{Shard, Sweep, SweepError, Watch};
pub use table::{Column, Table};
