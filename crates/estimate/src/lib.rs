//! A thread's speedup factors from performance counters.
//!
//! A [`Trace`] has what a program's counters showed on each kind of core, in windows of equal
//! work. [`train`](training::train) makes a [`Model`] of the traces of several programs. On each
//! kind it chooses the metrics that tell most and that the kind's counters can count, and fits an
//! additive regression of the factor on them. A mechanism then reads a thread's counters in
//! [`Rounds`] of event sets, and asks the model.
//!
//! The method is that of Saez, Pousa, Castro, Chaver and Prieto-Matias (ACFS, JPDC 102, 2017,
//! section 4 and appendix A). This crate opens no counter and knows no file format.

mod accuracy;
pub mod generated;
mod metric;
mod model;
pub mod modelled;
mod on_machine;
mod phases;
pub mod pie;
mod regression;
mod rounds;
mod sets;
mod trace;
pub mod training;
pub mod windows;

pub use accuracy::Accuracy;
pub use metric::{Counts, Event, METRICS, Metric, MetricValues};
pub use model::{Model, Predictor};
pub use on_machine::{LEAST_TIME, MachineModel, ModelError, Watched};
pub use phases::{Cut, cut_into};
pub use regression::{Additive, Settings, StepFunction, Table, TableError, TrainError, Trained};
pub use rounds::{PERIOD, Round, Rounds};
pub use sets::{Counters, EventSet, EventSets};
pub use trace::{Trace, TraceError, TracedKind, Window};
