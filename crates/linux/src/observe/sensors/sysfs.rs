//! Files and folders of sysfs, as sensors read them.

use std::fs;
use std::path::{Path, PathBuf};

use super::reading::text;

/// What is in a folder, by name, numbers by their size: `hwmon2` before `hwmon10`.
pub(super) fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<(String, PathBuf)> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    entries.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
    entries
}

/// The text of a file that may not be there.
pub(super) fn optional(file: &Path) -> Option<String> {
    text(file).ok().filter(|text| !text.is_empty())
}
