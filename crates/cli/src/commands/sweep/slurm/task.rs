//! What a task of an array job runs, and the folder that tasks have beside the results.
//!
//! ```text
//! FOLDER/slurm/grid.toml          the grid as it was given, which may have been stdin
//! FOLDER/slurm/task-123-4.txt     what task 4 of job 123 said
//! ```

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use evenkeel_sweep::Manifest;

use super::Tasks;

/// In the folder of a sweep.
pub const FOLDER: &str = "slurm";
const GRID: &str = "grid.toml";
/// Lines of a task's output that an error shows.
const LAST_LINES: usize = 3;

/// Where a sweep is, as nodes see it.
pub struct Place {
    /// The folder of the sweep.
    sweep: String,
    /// [`FOLDER`] in it.
    path: PathBuf,
}

impl Place {
    /// Of a sweep's folder, which need not be there yet.
    ///
    /// # Errors
    /// No current folder; a name that is no text.
    pub fn new(folder: &Path) -> anyhow::Result<Self> {
        let folder = resolved(&std::path::absolute(folder).context("no current folder")?);
        Ok(Self { path: folder.join(FOLDER), sweep: text_of(&folder)? })
    }

    /// Where grid and output of tasks are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the grid is, in the folder of the sweep.
    pub fn grid_in_folder(&self) -> PathBuf {
        Path::new(FOLDER).join(GRID)
    }

    /// The name of a job: it tells what is carried out, and where to.
    pub fn job(&self, manifest: &Manifest) -> String {
        format!("evenkeel-{}", manifest.digest_at(&self.sweep))
    }

    /// Where output of tasks goes, in Slurm's pattern.
    pub fn output(&self) -> String {
        format!("{}/{FOLDER}/task-%A-%a.txt", self.sweep.replace('%', "%%"))
    }

    /// What a task runs.
    ///
    /// # Errors
    /// It is not known where this binary is.
    pub fn script(&self, tasks: Tasks, seeds: Option<u32>) -> anyhow::Result<String> {
        let binary = std::env::current_exe().context("it is not known where this program is")?;
        let binary = quoted(&text_of(&binary)?);
        let grid = quoted(&format!("{}/{FOLDER}/{GRID}", self.sweep));
        let (folder, Tasks { count, cpus, .. }) = (quoted(&self.sweep), tasks);
        let seeds = seeds.map_or_else(String::new, |seeds| format!(" --seeds {seeds}"));
        Ok(format!(
            "#!/bin/sh\nexec {binary} sweep {grid} -o {folder} --resume \
             --shard \"$SLURM_ARRAY_TASK_ID/{count}\" --jobs {cpus}{seeds} >/dev/null\n"
        ))
    }

    /// Removes what tasks of earlier jobs said.
    pub fn clear(&self) {
        for (_, path) in self.outputs() {
            let _ = std::fs::remove_file(path);
        }
    }

    /// The last lines of what a task said, of that which spoke last.
    pub fn last_words(&self) -> Option<String> {
        let mut outputs = self.outputs();
        outputs.sort();
        outputs.iter().rev().find_map(|(_, path)| {
            let bytes = std::fs::read(path).ok()?;
            let text = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
            (!last.is_empty()).then(|| last.join("; "))
        })
    }

    /// What tasks said, with the time of their last word.
    fn outputs(&self) -> Vec<(SystemTime, PathBuf)> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let is_output = |name: &str| name.starts_with("task-") && name.ends_with(".txt");
        entries
            .filter(|entry| is_output(&entry.file_name().to_string_lossy()))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect()
    }
}

/// A path without links, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (there.canonicalize(), path.strip_prefix(there)) {
            // To join nothing would add a slash.
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path.to_owned()
}

/// A path in a script.
///
/// # Errors
/// It is no text.
pub fn text_of(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| anyhow!("{}: expected a name in UTF-8", path.display()))
}

/// A word of a shell's script.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use evenkeel_sweep::{Grid, Sweep};

    use super::*;

    #[test]
    fn the_name_of_a_job_tells_what_and_where_to_whether_the_folder_is_there_or_not() {
        let home = tempfile::tempdir().unwrap();
        let [folder, other] = ["a", "b"].map(|name| home.path().join(name));
        let grid = "[axes]\nmachine = \"quickia\"\nworkload = \"mcf\"\npolicy = \"hsp\"\n";
        let manifest = |seeds| {
            let grid = Grid::parse(grid, "grid.toml", Some(seeds)).unwrap();
            Sweep::new(grid).unwrap().manifest().clone()
        };
        let job = |folder: &Path, seeds| Place::new(folder).unwrap().job(&manifest(seeds));
        let before = job(&folder, 1);
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(job(&folder, 1), before);
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert_eq!(job(&link, 1), before);
        assert_eq!(before.len(), "evenkeel-".len() + 12);
        assert_ne!(job(&other, 1), before);
        assert_ne!(job(&folder, 2), before);
    }

    #[test]
    fn paths_keep_their_odd_characters() {
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
        let place = Place::new(Path::new("/no-such/50% of")).unwrap();
        assert_eq!(place.output(), "/no-such/50%% of/slurm/task-%A-%a.txt");
    }

    #[test]
    fn the_last_words_are_those_of_the_task_that_spoke_last() {
        let home = tempfile::tempdir().unwrap();
        let place = Place::new(home.path()).unwrap();
        assert_eq!(place.last_words(), None);
        std::fs::create_dir(place.path()).unwrap();
        let write = |name: &str, text: &str, seconds: u64| {
            let file = place.path().join(name);
            std::fs::write(&file, text).unwrap();
            let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            std::fs::File::options().write(true).open(file).unwrap().set_modified(then).unwrap();
        };
        write("task-1-2.txt", "one\n\ntwo\nthree\nfour\n", 1_000);
        write("task-1-1.txt", "earlier\n", 900);
        write("task-1-3.txt", "", 2_000);
        write("grid.toml", "[axes]\n", 3_000);
        assert_eq!(place.last_words().as_deref(), Some("two; three; four"));
        place.clear();
        assert_eq!(place.last_words(), None);
        assert!(place.path().join("grid.toml").exists());
    }
}
