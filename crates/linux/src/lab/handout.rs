//! What a lab gives to the programs that it runs: the machine file, and where it is.
//!
//! The file is in a folder of its own that only its owner can enter, and both go when the lab ends.
//! A lab that is killed cannot clear up: each lab holds a lock on its file, which ends with the
//! process, and the next lab removes the folders whose file is not locked.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use evenkeel_machine::Machine;
use tempfile::TempDir;

use super::LabError;

/// The variable that names the machine file.
pub const MACHINE_VARIABLE: &str = "EVENKEEL_MACHINE";

const FOLDER_PREFIX: &str = "evenkeel-lab-";
const FILE_NAME: &str = "machine.toml";

/// A machine file for as long as this lives.
pub struct Handout {
    folder: TempDir,
    /// Held for its lock.
    _file: File,
}

impl Handout {
    /// Writes the machine into a folder in `parent`, and removes what labs that were killed have
    /// left there.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write(machine: &Machine, parent: &Path) -> Result<Self, LabError> {
        remove_abandoned(parent);
        let refused = |error| LabError::Write { file: parent.join(FOLDER_PREFIX), error };
        let mut builder = tempfile::Builder::new();
        builder.prefix(FOLDER_PREFIX).permissions(fs::Permissions::from_mode(0o700));
        let folder = builder.tempdir_in(parent).map_err(refused)?;
        let path = folder.path().join(FILE_NAME);
        let file = write_locked(&path, &evenkeel_files::machines::to_toml(machine))
            .map_err(|error| LabError::Write { file: path, error })?;
        Ok(Self { folder, _file: file })
    }

    /// Where the file is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(FILE_NAME)
    }
}

/// The file has its name only once it is complete and locked: if it is unlocked its lab is gone.
fn write_locked(path: &Path, text: &str) -> io::Result<File> {
    let unfinished = path.with_extension("part");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.lock()?;
    file.write_all(text.as_bytes())?;
    fs::rename(&unfinished, path)?;
    Ok(file)
}

/// Best effort: what cannot be removed does no harm.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let ours = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(FOLDER_PREFIX);
    for folder in
        entries.flatten().filter(|entry| ours(&entry.file_name())).map(|entry| entry.path())
    {
        let is_own = folder
            .symlink_metadata()
            .is_ok_and(|it| it.is_dir() && it.uid() == rustix::process::geteuid().as_raw());
        if !is_own {
            continue;
        }
        // The lock is held while the folder goes, so that no two labs remove it.
        if let Ok(file) = File::open(folder.join(FILE_NAME))
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::equal_cores;
    use super::*;
    use crate::observe::watch::Cpu;

    #[test]
    fn the_file_is_its_owners_and_goes_with_the_lab() {
        let parent = tempfile::tempdir().unwrap();
        let machine = equal_cores(&[Cpu(0), Cpu(3)]);
        let handout = Handout::write(&machine, parent.path()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = handout.path();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(
            evenkeel_files::machines::parse(&fs::read_to_string(&path).unwrap(), "lab").unwrap(),
            machine
        );
        drop(handout);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_lab_has_left_goes_with_the_next_and_what_a_living_one_has_stays() {
        let parent = tempfile::tempdir().unwrap();
        let machine = equal_cores(&[Cpu(0)]);
        let living = Handout::write(&machine, parent.path()).unwrap();
        // A killed process drops nothing, but its lock ends. To close the file is not enough for
        // that here: a process that another test forks meanwhile has it open, too, until it begins
        // its program.
        let mut killed = Handout::write(&machine, parent.path()).unwrap();
        killed.folder.disable_cleanup(true);
        let left = killed.path();
        killed._file.unlock().unwrap();
        drop(killed);
        assert!(left.exists());
        let next = Handout::write(&machine, parent.path()).unwrap();
        assert!(!left.exists() && living.path().exists() && next.path().exists());
    }
}
