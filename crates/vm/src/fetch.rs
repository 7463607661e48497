//! Files that are brought back from the guest.

use std::fs;
use std::io::{self, Read, Seek as _};
use std::path::{Component, Path, PathBuf};

use tar::Archive;

use crate::error::VmError;

/// The longest result record that is read.
const MAX_RESULT: u64 = 64 << 20;

/// Something that is brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Its absolute path in the guest: a file or a folder.
    pub guest: PathBuf,
    /// Where it goes on the host. A file that is there is replaced, a folder only where it is
    /// empty.
    pub host: PathBuf,
}

/// An archive that the guest has sent.
pub struct Brought {
    archive: fs::File,
}

impl Brought {
    /// The archive in this file, read from its start.
    pub fn new(archive: fs::File) -> Self {
        Self { archive }
    }

    /// Moves a file or folder that was asked for to its place, once it is complete.
    ///
    /// # Errors
    /// It was not there in the guest, or its place cannot be written.
    pub fn put(&mut self, fetch: &Fetch) -> Result<(), VmError> {
        let refused = |why: String| VmError::Fetch { guest: fetch.guest.clone(), why };
        let inside = fetch.guest.strip_prefix("/").unwrap_or(&fetch.guest);
        let parent =
            fetch.host.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let unfinished = tempfile::Builder::new()
            .prefix(".evenkeel-")
            .tempdir_in(parent)
            .map_err(|error| refused(format!("{}: {error}", parent.display())))?;
        let mut archive = self.entries().map_err(|error| refused(error.to_string()))?;
        for entry in archive.entries().map_err(|error| refused(error.to_string()))? {
            let unpacked = entry.and_then(|mut entry| {
                let is_wanted = plain(&entry.path()?).starts_with(inside);
                if is_wanted { entry.unpack_in(unfinished.path()).map(drop) } else { Ok(()) }
            });
            unpacked.map_err(|error| refused(format!("the archive ends early: {error}")))?;
        }
        let made = unfinished.path().join(inside);
        if made.symlink_metadata().is_err() {
            return Err(refused("it is not there".to_owned()));
        }
        fs::rename(&made, &fetch.host)
            .map_err(|error| refused(format!("{}: {error}", fetch.host.display())))
    }

    /// The content of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// It is longer than a record may be, or the archive is not whole.
    pub fn read(&mut self, guest: &Path) -> Result<Option<Vec<u8>>, VmError> {
        let refused = |why: String| VmError::Fetch { guest: guest.to_owned(), why };
        let inside = guest.strip_prefix("/").unwrap_or(guest);
        let read = |archive: &mut Archive<fs::File>| -> io::Result<Option<Vec<u8>>> {
            for entry in archive.entries()? {
                let entry = entry?;
                if entry.header().entry_type().is_file() && plain(&entry.path()?) == inside {
                    let mut bytes = Vec::new();
                    entry.take(MAX_RESULT + 1).read_to_end(&mut bytes)?;
                    return Ok(Some(bytes));
                }
            }
            Ok(None)
        };
        let bytes = self
            .entries()
            .and_then(|mut archive| read(&mut archive))
            .map_err(|error| refused(error.to_string()))?;
        match bytes {
            Some(bytes) if bytes.len() as u64 > MAX_RESULT => {
                Err(refused("it is longer than 64 MiB".to_owned()))
            }
            bytes => Ok(bytes),
        }
    }

    fn entries(&mut self) -> io::Result<Archive<fs::File>> {
        self.archive.rewind()?;
        let mut archive = Archive::new(self.archive.try_clone()?);
        archive.set_preserve_permissions(false);
        archive.set_preserve_mtime(false);
        Ok(archive)
    }
}

fn plain(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn brought(entries: &[(&str, &str)]) -> Brought {
        let mut builder = tar::Builder::new(tempfile::tempfile().unwrap());
        for (name, text) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            // A guest could write such a name; the builder refuses to.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        Brought::new(builder.into_inner().unwrap())
    }

    fn fetch(guest: &str, host: &Path) -> Fetch {
        Fetch { guest: guest.into(), host: host.to_owned() }
    }

    #[test]
    fn files_and_folders_go_where_they_are_to_be() {
        let host = tempfile::tempdir().unwrap();
        let mut brought =
            brought(&[("./tmp/a", "one"), ("./tmp/d/b", "two"), ("./tmp/d/c", "three")]);
        let place = |name: &str| host.path().join(name);
        fs::write(place("a"), "old").unwrap();
        brought.put(&fetch("/tmp/a", &place("a"))).unwrap();
        brought.put(&fetch("/tmp/d", &place("folder"))).unwrap();
        assert_eq!(fs::read_to_string(place("a")).unwrap(), "one");
        assert_eq!(fs::read_to_string(place("folder/c")).unwrap(), "three");
        assert_eq!(fs::read_dir(host.path()).unwrap().count(), 2);
        assert_eq!(brought.read(Path::new("/tmp/d/b")).unwrap().as_deref(), Some(&b"two"[..]));
        assert_eq!(brought.read(Path::new("/tmp/d")).unwrap(), None);
    }

    #[test]
    fn what_was_not_there_is_said() {
        let host = tempfile::tempdir().unwrap();
        let error = brought(&[]).put(&fetch("/tmp/gone", &host.path().join("x"))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot bring /tmp/gone back from the guest: it is not there"
        );
        let error =
            brought(&[("./x", "")]).put(&fetch("/x", Path::new("/no such folder/x"))).unwrap_err();
        assert!(error.to_string().contains("/no such folder"), "{error}");
        let mut cut = tempfile::tempfile().unwrap();
        cut.write_all(&[b'x'; 700]).unwrap();
        assert!(Brought::new(cut).put(&fetch("/x", &host.path().join("x"))).is_err());
    }

    #[test]
    fn an_archive_does_not_reach_out_of_its_place() {
        let host = tempfile::tempdir().unwrap();
        let inner = host.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let _ = brought(&[("tmp/../../../out", "x"), ("tmp/a", "y")])
            .put(&fetch("/tmp", &inner.join("tmp")));
        assert!(!host.path().join("out").exists());
    }
}
