//! The guest's ordinary tools: busybox, a single program that needs no libraries.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::elf;
use super::tree::Tree;
use crate::error::VmError;
use crate::kernel::Store;

/// The path of Debian's packages busybox-static and busybox.
const HOSTS: &str = "/bin/busybox";
/// Its path in the guest.
const PLACE: &str = "/bin/busybox";

/// A busybox, and the tools that it has.
pub struct Busybox {
    program: PathBuf,
    /// Paths of its tools, as `bin/ls`.
    tools: Vec<PathBuf>,
}

impl Busybox {
    /// The host's busybox if it needs no libraries, else one from the archive.
    ///
    /// # Errors
    /// It cannot be fetched, or does not run.
    pub fn find(store: &Store, say: &dyn Fn(&str)) -> Result<Self, VmError> {
        let program = match elf::is_static(Path::new(HOSTS)) {
            true => PathBuf::from(HOSTS),
            false => store.program("busybox", "busybox-static", say)?,
        };
        let mut list = Command::new(&program);
        list.arg("--list-full").stdin(Stdio::null()).stderr(Stdio::null());
        let output = list.output().map_err(VmError::file(&program))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let tools = text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect();
        Ok(Self { program, tools })
    }

    /// True if it has a tool of this name.
    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.file_name().is_some_and(|tool| tool == name))
    }

    /// Puts it and its tools into the image, except tools whose place is taken.
    ///
    /// # Errors
    /// It can no longer be read.
    pub fn put(&self, tree: &mut Tree) -> Result<(), VmError> {
        tree.copy(PLACE, &self.program)?;
        for tool in self.tools.iter().map(|tool| Path::new("/").join(tool)) {
            if tree.at(&tool).is_none() {
                tree.link(&tool, PLACE)?;
            }
        }
        Ok(())
    }
}
