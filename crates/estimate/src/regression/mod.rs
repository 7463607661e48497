//! Additive regression: least-squares boosting by stumps.
//!
//! Friedman, "Stochastic gradient boosting", Computational Statistics and Data Analysis 38(4),
//! 2002. With targets y, features x and shrinkage v:
//!
//! ```text
//! F    = mean of y
//! r    = y - F(x)                                what is left, of a random part of the rows
//! f, t = the feature and threshold of least      sum (r - mean of r on its side)^2
//! h(x) = mean of r where x_f <= t, or where x_f > t
//! F    = F + v h                                 and so on, a stump each time
//! ```
//!
//! The stumps of one feature add up to a step function of it. So a result is one step function a
//! feature ([`Additive`]): it can be looked at, and a prediction is a binary search for each.

mod additive;
mod train;

pub use additive::{Additive, StepFunction};
pub use train::{Settings, Table, TableError, TrainError, Trained};
