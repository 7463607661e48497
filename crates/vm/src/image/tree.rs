//! The guest's files before they are written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use crate::error::VmError;

/// A node at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A folder.
    Folder {
        /// Permissions.
        mode: u32,
    },
    /// A file of the host's.
    Copy {
        /// Permissions.
        mode: u32,
        /// Its path on the host.
        of: PathBuf,
    },
    /// A file that is made.
    Text {
        /// Permissions.
        mode: u32,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// A symbolic link.
    Link {
        /// Its target.
        target: OsString,
    },
    /// A character device.
    Device {
        /// Permissions.
        mode: u32,
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32,
    },
}

/// Files by their absolute paths in the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<PathBuf, Node>,
}

impl Tree {
    /// All nodes, folders before their content.
    pub fn nodes(&self) -> impl Iterator<Item = (&Path, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_path(), node))
    }

    /// Size of all files, bytes.
    pub fn bytes(&self) -> u64 {
        let size = |node: &Node| match node {
            Node::Copy { of, .. } => fs::metadata(of).map_or(0, |metadata| metadata.len()),
            Node::Text { bytes, .. } => bytes.len() as u64,
            _ => 0,
        };
        self.nodes.values().map(size).sum()
    }

    /// The node at a path.
    pub fn at(&self, guest: &Path) -> Option<&Node> {
        self.nodes.get(guest)
    }

    /// Adds a folder, and those that contain it.
    pub fn folder(&mut self, guest: impl AsRef<Path>, mode: u32) {
        let guest = guest.as_ref();
        self.parents(guest);
        self.nodes.insert(guest.to_owned(), Node::Folder { mode });
    }

    /// Adds a file with this content, in place of any other.
    pub fn text(&mut self, guest: impl AsRef<Path>, mode: u32, bytes: impl Into<Vec<u8>>) {
        self.parents(guest.as_ref());
        self.nodes.insert(guest.as_ref().to_owned(), Node::Text { mode, bytes: bytes.into() });
    }

    /// A character device.
    pub fn device(&mut self, guest: impl AsRef<Path>, mode: u32, major: u32, minor: u32) {
        self.parents(guest.as_ref());
        self.nodes.insert(guest.as_ref().to_owned(), Node::Device { mode, major, minor });
    }

    /// Adds a symbolic link at a free place.
    ///
    /// # Errors
    /// Something else is there.
    pub fn link(
        &mut self,
        guest: impl AsRef<Path>,
        target: impl Into<OsString>,
    ) -> Result<(), VmError> {
        let target = target.into();
        let from = PathBuf::from(&target);
        self.put(guest.as_ref(), Node::Link { target }, &from)
    }

    /// Adds a file of the host, with its permissions to read and to execute. Adding the same file
    /// again is no mistake.
    ///
    /// # Errors
    /// It cannot be read, or another file is at that place.
    pub fn copy(&mut self, guest: impl AsRef<Path>, of: &Path) -> Result<(), VmError> {
        let metadata = fs::metadata(of).map_err(VmError::file(of))?;
        // Fails now, and not at the end of a long preparation.
        fs::File::open(of).map_err(VmError::file(of))?;
        let mode = metadata.permissions().mode() & 0o7777;
        self.put(guest.as_ref(), Node::Copy { mode, of: of.to_owned() }, of)
    }

    /// Adds a file, or a folder with all its content, of the host. Links stay links, except `of`
    /// itself.
    ///
    /// # Errors
    /// As [`Tree::copy`]; something is no file, folder or link.
    pub fn copy_all(&mut self, guest: &Path, of: &Path) -> Result<(), VmError> {
        let metadata = fs::metadata(of).map_err(VmError::file(of))?;
        if !metadata.is_dir() {
            return self.copy(guest, of);
        }
        self.folder(guest, metadata.permissions().mode() & 0o7777);
        for entry in fs::read_dir(of).map_err(VmError::file(of))? {
            let entry = entry.map_err(VmError::file(of))?;
            let (path, place) = (entry.path(), guest.join(entry.file_name()));
            let kind = entry.file_type().map_err(VmError::file(&path))?;
            if kind.is_symlink() {
                let target = fs::read_link(&path).map_err(VmError::file(&path))?;
                self.put(&place, Node::Link { target: target.into_os_string() }, &path)?;
            } else if kind.is_dir() || kind.is_file() {
                self.copy_all(&place, &path)?;
            } else {
                let error = io::Error::other("it is neither a file nor a folder nor a link");
                return Err(VmError::File { file: path, error });
            }
        }
        Ok(())
    }

    fn put(&mut self, guest: &Path, node: Node, from: &Path) -> Result<(), VmError> {
        match self.nodes.get(guest) {
            Some(other) if *other == node => return Ok(()),
            Some(other) => {
                let first = match other {
                    Node::Copy { of, .. } => of.clone(),
                    Node::Link { target } => target.into(),
                    _ => guest.to_owned(),
                };
                return Err(VmError::Twice {
                    first,
                    second: from.to_owned(),
                    guest: guest.to_owned(),
                });
            }
            None => {}
        }
        self.parents(guest);
        self.nodes.insert(guest.to_owned(), node);
        Ok(())
    }

    fn parents(&mut self, guest: &Path) {
        for folder in guest.ancestors().skip(1).filter(|folder| folder.parent().is_some()) {
            self.nodes.entry(folder.to_owned()).or_insert(Node::Folder { mode: 0o755 });
        }
    }
}

/// Folders that the kernel's own file systems cover in the guest.
const COVERED: [&str; 3] = ["/dev", "/proc", "/sys"];

/// A path in the guest as a user gives it: absolute, without `.` and `..`, and not in one of the
/// kernel's own file systems.
pub fn guest_path(text: &Path) -> Option<PathBuf> {
    let mut components = text.components();
    let is_absolute = components.next() == Some(Component::RootDir);
    let rest: PathBuf = components.clone().collect();
    let is_plain = components.all(|component| matches!(component, Component::Normal(_)));
    let path = Path::new("/").join(&rest);
    let is_covered = COVERED.iter().any(|covered| path.starts_with(covered));
    (is_absolute && is_plain && !is_covered && rest.to_str().is_some_and(|rest| !rest.is_empty()))
        .then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_comes_with_all_that_is_in_it() {
        let host = tempfile::tempdir().unwrap();
        fs::create_dir(host.path().join("sub")).unwrap();
        fs::write(host.path().join("sub/a"), "a").unwrap();
        std::os::unix::fs::symlink("sub/a", host.path().join("b")).unwrap();
        let mut tree = Tree::default();
        tree.copy_all(Path::new("/data/x"), host.path()).unwrap();
        let names: Vec<_> = tree.nodes().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(names, ["/data", "/data/x", "/data/x/b", "/data/x/sub", "/data/x/sub/a"]);
        assert_eq!(tree.at(Path::new("/data/x/b")), Some(&Node::Link { target: "sub/a".into() }));
        assert_eq!(tree.bytes(), 1);
    }

    #[test]
    fn two_files_in_one_place_are_refused_and_the_same_twice_is_not() {
        let mut tree = Tree::default();
        tree.copy("/bin/x", Path::new("/bin/sh")).unwrap();
        tree.copy("/bin/x", Path::new("/bin/sh")).unwrap();
        let error = tree.copy("/bin/x", Path::new("/bin/cat")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "'/bin/sh' and '/bin/cat' are both to be /bin/x in the guest"
        );
    }

    #[test]
    fn places_in_the_guest_are_absolute_and_plain() {
        assert_eq!(guest_path(Path::new("/a//b/")), Some("/a/b".into()));
        for bad in ["", "/", "a/b", "/a/../b", "../a", ".", "/proc/x", "/dev/null", "/sys"] {
            assert_eq!(guest_path(Path::new(bad)), None, "{bad}");
        }
    }
}
