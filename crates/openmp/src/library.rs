//! The library that is preloaded, as a file.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::layout::digest;

/// The library itself; empty where it is not made for this target.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/evenkeel_omp.so"));
/// Its name in the cache. The digest is part of it, so that versions stand side by side.
const NAME: &str = "evenkeel-omp";

/// Why there is no library to preload.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// It is made for x86-64 and 64-bit Arm, for programs of the GNU C library.
    #[error("this build has no library to preload: expected x86-64 or aarch64 with glibc")]
    Target,
    /// It cannot be written.
    #[error("{}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    /// A folder that others may write would let them have the program run what they want.
    #[error("{}: others may write here, expected a folder of this user's alone", .0.display())]
    Shared(PathBuf),
}

/// The library's path in this cache. It is written where it is not there, or not as it should be.
///
/// # Errors
/// The cache cannot be written, or others may write there.
pub fn unpack(cache: &Path) -> Result<PathBuf, LibraryError> {
    if LIBRARY.is_empty() {
        return Err(LibraryError::Target);
    }
    let folder = cache.join("omp");
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| LibraryError::Write(path, error)
    };
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed(&folder))?;
    let of = fs::metadata(&folder).map_err(failed(&folder))?;
    if of.mode() & 0o022 != 0 || of.uid() != rustix::process::geteuid().as_raw() {
        return Err(LibraryError::Shared(folder));
    }
    let path = folder.join(format!("{NAME}-{:016x}.so", digest(LIBRARY)));
    // Compared as a whole: 300 KiB are read in no time.
    if fs::read(&path).is_ok_and(|there| there == LIBRARY) {
        return Ok(path);
    }
    let beside = folder.join(format!("{NAME}-{}.new", std::process::id()));
    let write = || {
        let mut file = fs::File::create(&beside)?;
        file.set_permissions(Permissions::from_mode(0o700))?;
        file.write_all(LIBRARY)?;
        fs::rename(&beside, &path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&beside);
        LibraryError::Write(path.clone(), error)
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_was_changed_is_written_anew() {
        let cache = std::env::temp_dir().join(format!("evenkeel-omp-test-{}", std::process::id()));
        let path = unpack(&cache).unwrap();
        fs::write(&path, b"something else").unwrap();
        assert_eq!(unpack(&cache).unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), LIBRARY);
        fs::remove_dir_all(&cache).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        let cache =
            std::env::temp_dir().join(format!("evenkeel-omp-shared-{}", std::process::id()));
        fs::create_dir_all(cache.join("omp")).unwrap();
        fs::set_permissions(cache.join("omp"), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(unpack(&cache), Err(LibraryError::Shared(_))));
        fs::remove_dir_all(&cache).unwrap();
    }
}
