//! Finished runs for people and other programs: tables for a terminal, CSV, a page with plots, a
//! trace for Perfetto.

mod columns;
pub mod csv;
mod exhibit;
pub mod figure;
pub mod html;
mod labels;
pub mod perfetto;
pub mod rtapp;
pub mod sweep;
pub mod table;
mod timeline;
mod verdict;

pub use exhibit::study;
pub use labels::policies as policy_labels;
pub use timeline::{MOST_STRETCHES, Stretch, Timeline, TimelineThread};
pub use verdict::{BASELINE, default_baseline, verdict};
