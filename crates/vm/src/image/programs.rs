//! Programs of the host that will run in the guest.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use evenkeel_linux::program;

use super::busybox::Busybox;
use super::elf::{self, Libraries};
use super::tree::Tree;
use crate::error::VmError;

/// The folder that the guest's shell searches first.
const PROGRAMS: &str = "/usr/local/bin";
/// The folder that Debian's dynamic linker searches by default.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";
/// The longest chain of interpreters that a kernel follows (`bprm` recursion in fs/exec.c).
const MAX_DEPTH: usize = 5;

/// The host's programs and libraries, as found through its environment.
pub struct Programs {
    path: OsString,
    libraries: Libraries,
}

impl Programs {
    /// Uses this process's `PATH` and `LD_LIBRARY_PATH`.
    pub fn of_host() -> Self {
        let libraries = Libraries::of_host(std::env::var_os("LD_LIBRARY_PATH").as_deref());
        Self { path: std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()), libraries }
    }

    /// The file of a program or of a shared library: a path, or a program's name in one of the
    /// folders of `PATH`.
    ///
    /// # Errors
    /// It does not exist, or is neither executable nor an ELF file.
    pub fn find(&self, program: &OsStr) -> Result<PathBuf, VmError> {
        match program::find(program, Some(self.path.clone())) {
            // Shared libraries need not be executable.
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied
                    && program.as_bytes().contains(&b'/')
                    && matches!(elf::needs(Path::new(program)), Ok(Some(_))) =>
            {
                Ok(program.into())
            }
            found => {
                found.map_err(|error| VmError::NoProgram { program: program.to_owned(), error })
            }
        }
    }

    /// Puts a program into the image with all that it needs: at `guest`, or under its name where
    /// the shell finds it. Returns its place.
    ///
    /// # Errors
    /// It or one of its libraries is not there or not for this machine; its place is taken.
    pub fn put(
        &self,
        tree: &mut Tree,
        program: &OsStr,
        guest: Option<&Path>,
    ) -> Result<PathBuf, VmError> {
        let file = self.find(program)?;
        let place = match guest {
            Some(guest) => guest.to_owned(),
            None => Path::new(PROGRAMS).join(file.file_name().unwrap_or(program)),
        };
        self.put_file(tree, &file, &place, 0)?;
        Ok(place)
    }

    /// Puts the first word of the command into the image, unless the guest or busybox has it
    /// already.
    ///
    /// # Errors
    /// As [`Programs::put`].
    pub fn put_command(
        &self,
        tree: &mut Tree,
        busybox: &Busybox,
        word: &OsStr,
    ) -> Result<(), VmError> {
        let is_path = word.as_bytes().contains(&b'/');
        let name = Path::new(word).file_name().unwrap_or(word);
        let is_there = |guest: &Path| tree.at(guest).is_some();
        let is_own = match is_path {
            true => is_there(Path::new(word)),
            false => {
                is_there(&Path::new(PROGRAMS).join(word)) || busybox.has(&name.to_string_lossy())
            }
        };
        if is_own {
            return Ok(());
        }
        // A path is put where the command names it; a relative one starts in the guest's root.
        let guest = is_path.then(|| Path::new("/").join(word));
        let guest = match guest {
            Some(path) => Some(super::tree::guest_path(&path).ok_or_else(|| VmError::Program {
                program: word.to_string_lossy().into_owned(),
                why: "its path has no place in the guest; --with BINARY gives it one".to_owned(),
            })?),
            None => None,
        };
        self.put(tree, word, guest.as_deref()).map(drop)
    }

    fn put_file(
        &self,
        tree: &mut Tree,
        file: &Path,
        place: &Path,
        depth: usize,
    ) -> Result<(), VmError> {
        tree.copy(place, file)?;
        match elf::needs(file)? {
            Some(_) => self.put_libraries(tree, file),
            None => self.put_interpreter(tree, file, depth),
        }
    }

    fn put_libraries(&self, tree: &mut Tree, file: &Path) -> Result<(), VmError> {
        for (name, library) in self.libraries.of(file)? {
            // Only the linker is named by its whole path.
            let place = if name.is_absolute() {
                name
            } else {
                Path::new(LIBRARIES).join(name.file_name().unwrap_or_default())
            };
            tree.copy(place, &library)?;
        }
        Ok(())
    }

    /// Puts the interpreter of a script's `#!` into the image.
    fn put_interpreter(&self, tree: &mut Tree, script: &Path, depth: usize) -> Result<(), VmError> {
        let refused = |why: String| VmError::Program { program: script.display().to_string(), why };
        let start = fs::read(script).map_err(VmError::file(script))?;
        let line = start
            .strip_prefix(b"#!")
            .map(|rest| rest.split(|&byte| byte == b'\n').next().unwrap_or(rest));
        let words = line.map(|line| String::from_utf8_lossy(line).into_owned());
        let words: Vec<&str> = words.iter().flat_map(|line| line.split_whitespace()).collect();
        let Some(&interpreter) = words.first() else {
            return Err(refused("it is neither an ELF file nor a script with #!".to_owned()));
        };
        if depth >= MAX_DEPTH {
            return Err(refused("its interpreters are scripts without end".to_owned()));
        }
        // Busybox provides these at the same paths.
        match interpreter {
            "/bin/sh" | "/bin/ash" | "/usr/bin/awk" => return Ok(()),
            "/usr/bin/env" => {
                let name =
                    words.get(1).ok_or_else(|| refused("env without a program".to_owned()))?;
                if *name == "sh" {
                    return Ok(());
                }
                let file = self.find(OsStr::new(name))?;
                return self.put_file(tree, &file, &Path::new(PROGRAMS).join(name), depth + 1);
            }
            _ => {}
        }
        if !Path::new(interpreter).is_file() {
            return Err(refused(format!("its interpreter {interpreter} is not there")));
        }
        self.put_file(tree, Path::new(interpreter), Path::new(interpreter), depth + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn programs() -> Programs {
        Programs {
            path: "/no such folder:/usr/bin:/bin".into(),
            libraries: Libraries::of_host(None),
        }
    }

    fn script(text: &str) -> tempfile::TempPath {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o755)).unwrap();
        file.into_temp_path()
    }

    #[test]
    fn a_program_is_put_where_the_shell_looks_or_where_it_is_told() {
        let mut tree = Tree::default();
        let own = std::env::current_exe().unwrap();
        let place = programs().put(&mut tree, own.as_os_str(), None).unwrap();
        assert_eq!(place, Path::new("/usr/local/bin").join(own.file_name().unwrap()));
        assert!(tree.at(Path::new("/lib64/ld-linux-x86-64.so.2")).is_some());
        assert!(tree.at(Path::new("/usr/lib/x86_64-linux-gnu/libc.so.6")).is_some());
        programs().put(&mut tree, own.as_os_str(), Some(Path::new("/opt/it"))).unwrap();
        assert!(tree.at(Path::new("/opt/it")).is_some());
    }

    #[test]
    fn a_shared_library_brings_those_that_it_needs() {
        let host = tempfile::tempdir().unwrap();
        let library = host.path().join("plugin.so");
        fs::copy(std::env::current_exe().unwrap(), &library).unwrap();
        fs::set_permissions(&library, fs::Permissions::from_mode(0o644)).unwrap();
        let mut tree = Tree::default();
        programs().put(&mut tree, library.as_os_str(), Some(Path::new("/opt/plugin.so"))).unwrap();
        assert!(tree.at(Path::new("/opt/plugin.so")).is_some());
        assert!(tree.at(Path::new("/usr/lib/x86_64-linux-gnu/libc.so.6")).is_some());
    }

    #[test]
    fn a_script_brings_its_interpreter() {
        let mut tree = Tree::default();
        let bash = script("#!/bin/bash -e\ntrue\n");
        programs().put(&mut tree, bash.as_os_str(), Some(Path::new("/x"))).unwrap();
        assert!(tree.at(Path::new("/bin/bash")).is_some());
        let env = script("#!/usr/bin/env bash\n");
        programs().put(&mut tree, env.as_os_str(), Some(Path::new("/y"))).unwrap();
        assert!(tree.at(Path::new("/usr/local/bin/bash")).is_some());
        let shell = script("#!/bin/sh\n");
        programs().put(&mut tree, shell.as_os_str(), Some(Path::new("/z"))).unwrap();
        assert!(tree.at(Path::new("/bin/sh")).is_none(), "busybox's");
    }

    #[test]
    fn what_cannot_run_is_refused_by_name() {
        let put = |program: &OsStr| {
            programs()
                .put(&mut Tree::default(), program, Some(Path::new("/x")))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            put("no-such-program".as_ref()),
            "no program 'no-such-program' for the guest: no such program in PATH"
        );
        assert!(put("/no/such".as_ref()).contains("No such file or directory"));
        assert!(put("/".as_ref()).contains("it is a folder"));
        assert!(put("/proc/self/status".as_ref()).contains("permission denied"));
        assert!(put(script("echo\n").as_os_str()).contains("neither an ELF file nor a script"));
        assert!(put(script("#!/no/such\n").as_os_str()).contains("/no/such is not there"));
        assert!(put(script("#!\n").as_os_str()).contains("neither"));
    }
}
