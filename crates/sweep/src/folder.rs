//! The folder that results are written to. A part that is there is done: it is written under a
//! temporary name and renamed.
//!
//! ```text
//! FOLDER/manifest.json
//! FOLDER/results/machine=odroid-xu3/policy=acfs/part-0123456789abcdef.parquet
//! ```

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::manifest::Manifest;

/// Temporary files have names that begin so.
const TEMPORARY: &str = ".evenkeel-";
/// A temporary file lives for less than this, even on a slow disk. Ours.
const ABANDONED: Duration = Duration::from_secs(60);
/// The bytes that a file of Parquet begins and ends with.
const MAGIC: &[u8] = b"PAR1";

/// Whether results may be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The folder is new, or empty.
    Anew,
    /// What is there is taken; it may be nothing.
    Resume,
}

/// Why a folder cannot be written to.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is something else.
    #[error("{folder}: files that are no sweep's found, expected a new or an empty folder")]
    Occupied {
        /// Folder.
        folder: String,
    },
    /// There are results of the same grid.
    #[error(
        "{folder}: {done} of {parts} parts of this grid are there; --resume goes on with the others"
    )]
    Begun {
        /// Folder.
        folder: String,
        /// How many parts are done.
        done: usize,
        /// Of how many.
        parts: u64,
    },
    /// There are results of another grid.
    #[error("{folder}: results of another sweep are there ({difference}); give another folder")]
    Other {
        /// Folder.
        folder: String,
        /// What differs.
        difference: String,
    },
    /// What should be a manifest is none.
    #[error("{path}: no manifest of a sweep: {what}")]
    Manifest {
        /// File.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// The file system refuses.
    #[error("cannot write {path}: {error}")]
    Write {
        /// File or folder.
        path: String,
        /// Why.
        error: io::Error,
    },
}

/// A folder with a manifest.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a folder, or goes on with one that is of the same manifest. `files` are all parts, as
    /// paths in it.
    ///
    /// # Errors
    /// See [`FolderError`]; then nothing has been written.
    pub fn begin(
        path: &Path,
        manifest: &Manifest,
        begin: Begin,
        files: &[PathBuf],
    ) -> Result<Self, FolderError> {
        let folder = Self { path: path.to_owned() };
        let shown = path.display().to_string();
        let file = path.join("manifest.json");
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match folder.write_manifest(manifest)? {
                    // Another share of this sweep may have begun it just now.
                    None => return Ok(folder),
                    Some(text) => text,
                }
            }
            Err(error) => {
                return Err(FolderError::Write { path: file.display().to_string(), error });
            }
        };
        let there = Manifest::parse(&text).map_err(|error| FolderError::Manifest {
            path: file.display().to_string(),
            what: error.to_string(),
        })?;
        if let Some(difference) = manifest.difference(&there) {
            return Err(FolderError::Other { folder: shown, difference });
        }
        if begin == Begin::Anew {
            let done = files.iter().filter(|file| folder.has(file)).count();
            return Err(FolderError::Begun { folder: shown, done, parts: manifest.parts });
        }
        Ok(folder)
    }

    /// Writes the manifest where there is none; gives that of another process which was quicker.
    fn write_manifest(&self, manifest: &Manifest) -> Result<Option<String>, FolderError> {
        let target = self.path.join("manifest.json");
        let refused = |error| FolderError::Write { path: target.display().to_string(), error };
        let is_occupied = fs::read_dir(&self.path).is_ok_and(|files| {
            files.flatten().any(|file| !is_temporary(&file.file_name().to_string_lossy()))
        });
        // Whoever has put something there may have put the manifest there, too.
        if let Ok(text) = fs::read_to_string(&target) {
            return Ok(Some(text));
        }
        if is_occupied {
            return Err(FolderError::Occupied { folder: self.path.display().to_string() });
        }
        fs::create_dir_all(&self.path).map_err(refused)?;
        let mut temporary = temporary_in(&self.path).map_err(refused)?;
        temporary.write_all(manifest.to_json().as_bytes()).map_err(refused)?;
        // A part that is torn is made again; without its manifest all of them would be nobody's.
        temporary.as_file().sync_all().map_err(refused)?;
        match temporary.persist_noclobber(&target) {
            Ok(_) => Ok(None),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                fs::read_to_string(&target).map(Some).map_err(refused)
            }
            Err(error) => Err(refused(error.error)),
        }
    }

    /// True if a part is there, whole. A machine that lost its power may have left less of it.
    #[must_use]
    pub fn has(&self, file: &Path) -> bool {
        is_whole(&self.path.join(file)).unwrap_or(false)
    }

    /// Writes a file, whole or not at all, whatever ends this process. It does not wait for the
    /// disk: what a machine without power leaves of a part has no end, and is made again.
    ///
    /// # Errors
    /// The file system refuses; then nothing is left behind.
    pub fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), FolderError> {
        let target = self.path.join(file);
        let refused = |error| FolderError::Write { path: target.display().to_string(), error };
        let parent = target.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent).map_err(refused)?;
        let mut temporary = temporary_in(parent).map_err(refused)?;
        temporary.write_all(bytes).map_err(refused)?;
        temporary.persist(&target).map_err(|error| refused(error.error)).map(drop)
    }

    /// Removes temporary files that somebody who was killed has left.
    pub fn sweep_up(&self) {
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if is_temporary(&entry.file_name().to_string_lossy()) && is_old(&path) {
                    // Another one may have been quicker.
                    let _ = fs::remove_file(path);
                }
            }
        }
    }
}

fn temporary_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(TEMPORARY).permissions(permissions()).tempfile_in(folder)
}

/// The permissions of any new file: a temporary's are for its owner only.
#[cfg(unix)]
fn permissions() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

#[cfg(not(unix))]
fn permissions() -> fs::Permissions {
    fs::Permissions::default()
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

fn is_old(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|then| SystemTime::now().duration_since(then).ok());
    age.is_some_and(|age| age > ABANDONED)
}

fn is_whole(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let (mut first, mut last) = ([0; 4], [0; 4]);
    file.read_exact(&mut first)?;
    file.seek(SeekFrom::End(-4))?;
    file.read_exact(&mut last)?;
    Ok(first == *MAGIC && last == *MAGIC && file.metadata()?.len() > 8)
}
