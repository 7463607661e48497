//! Shared libraries that a program needs, found as the dynamic linker finds them (ld.so(8)): the
//! folders that the file itself names, those of the environment, those of the system. Unlike `ldd`,
//! it runs nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use goblin::elf::Elf;

use crate::error::VmError;

/// Folders that the linker knows by itself. Source: ld.so(8), with the folders of Debian's
/// architecture.
const SYSTEM: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// What an ELF file for Linux on x86-64 needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The dynamic linker, an absolute path; `None`: it needs none.
    pub interpreter: Option<PathBuf>,
    /// Names of libraries.
    pub libraries: Vec<String>,
    /// Folders to look in first.
    folders: Vec<PathBuf>,
}

/// Reads what a file needs; `None`: it is no ELF file.
///
/// # Errors
/// It cannot be read, is malformed, or is for another machine.
pub fn needs(file: &Path) -> Result<Option<Needs>, VmError> {
    let bytes = fs::read(file).map_err(VmError::file(file))?;
    needs_of(&bytes, file.parent().unwrap_or(Path::new("/")))
        .map_err(|why| VmError::Program { program: file.display().to_string(), why })
}

/// True if it is an ELF file that runs without libraries.
pub fn is_static(file: &Path) -> bool {
    matches!(needs(file), Ok(Some(Needs { interpreter: None, .. })))
}

fn needs_of(bytes: &[u8], origin: &Path) -> Result<Option<Needs>, String> {
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(None);
    }
    let elf = Elf::parse(bytes).map_err(|error| format!("malformed ELF file: {error}"))?;
    if elf.header.e_machine != goblin::elf::header::EM_X86_64 || !elf.is_64 {
        return Err("it is not for x86-64, which the guest is".to_owned());
    }
    let listed = |paths: &[&str]| -> Vec<PathBuf> {
        let folders =
            paths.iter().flat_map(|list| list.split(':')).filter(|folder| !folder.is_empty());
        folders.map(|folder| expand(folder, origin)).collect()
    };
    // RPATH counts only without a RUNPATH.
    let folders = if elf.runpaths.is_empty() { listed(&elf.rpaths) } else { listed(&elf.runpaths) };
    Ok(Some(Needs {
        interpreter: elf.interpreter.map(PathBuf::from),
        libraries: elf.libraries.iter().map(|&name| name.to_owned()).collect(),
        folders,
    }))
}

fn expand(folder: &str, origin: &Path) -> PathBuf {
    let origin = origin.to_string_lossy();
    PathBuf::from(folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))
}

/// The folders of libraries on this host.
pub struct Libraries {
    folders: Vec<PathBuf>,
}

impl Libraries {
    /// The folders of this host: those of `environment` (`LD_LIBRARY_PATH`), then those of
    /// `/etc/ld.so.conf`, then the linker's own.
    pub fn of_host(environment: Option<&std::ffi::OsStr>) -> Self {
        let mut folders: Vec<PathBuf> =
            environment.map(|list| std::env::split_paths(list).collect()).unwrap_or_default();
        folders.retain(|folder| folder.is_absolute());
        for file in configuration(Path::new("/etc")) {
            let text = fs::read_to_string(file).unwrap_or_default();
            folders.extend(
                text.lines().map(str::trim).filter(|line| line.starts_with('/')).map(PathBuf::from),
            );
        }
        folders.extend(SYSTEM.map(PathBuf::from));
        Self { folders }
    }

    /// All libraries that a file needs, directly or indirectly: the file of each by its name. The
    /// interpreter is among them under its whole path.
    ///
    /// # Errors
    /// A library cannot be found or read.
    pub fn of(&self, file: &Path) -> Result<BTreeMap<PathBuf, PathBuf>, VmError> {
        let mut found: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
        let mut rest = vec![fs::canonicalize(file).map_err(VmError::file(file))?];
        while let Some(file) = rest.pop() {
            let Some(needs) = needs(&file)? else { continue };
            if let Some(interpreter) = needs.interpreter.as_ref().filter(|path| path.is_absolute())
            {
                let there = fs::canonicalize(interpreter).map_err(VmError::file(interpreter))?;
                found.insert(interpreter.clone(), there);
            }
            for name in &needs.libraries {
                let key = PathBuf::from(name);
                let is_linker = found
                    .keys()
                    .any(|known| known.is_absolute() && known.file_name() == key.file_name());
                if is_linker || found.contains_key(&key) {
                    continue;
                }
                let library = self.find(name, &needs).ok_or_else(|| VmError::NoLibrary {
                    library: name.clone(),
                    needed_by: file.clone(),
                })?;
                rest.push(library.clone());
                found.insert(key, library);
            }
        }
        Ok(found)
    }

    fn find(&self, name: &str, needs: &Needs) -> Option<PathBuf> {
        // A name with a slash is a path.
        let candidates: Vec<PathBuf> = match name.contains('/') {
            true => vec![PathBuf::from(name)],
            false => {
                needs.folders.iter().chain(&self.folders).map(|folder| folder.join(name)).collect()
            }
        };
        // Files for other machines are skipped, as the linker does.
        let fits = |file: &PathBuf| file.is_file() && matches!(self::needs(file), Ok(Some(_)));
        candidates.into_iter().find(fits).and_then(|file| fs::canonicalize(file).ok())
    }
}

/// `ld.so.conf` and what it includes, which on Debian is all of `ld.so.conf.d`.
fn configuration(etc: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(etc.join("ld.so.conf.d")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "conf"));
    files.sort();
    files.insert(0, etc.join("ld.so.conf"));
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn libraries() -> Libraries {
        Libraries::of_host(None)
    }

    #[test]
    fn a_program_comes_with_its_linker_and_what_its_libraries_need() {
        let own = std::env::current_exe().unwrap();
        let found = libraries().of(&own).unwrap();
        assert!(found.contains_key(Path::new("/lib64/ld-linux-x86-64.so.2")), "{found:?}");
        assert!(found.contains_key(Path::new("libc.so.6")), "{found:?}");
        assert!(found.values().all(|file| file.is_absolute() && file.is_file()), "{found:?}");
        assert_eq!(
            found.keys().filter(|key| key.to_string_lossy().contains("ld-linux")).count(),
            1,
            "{found:?}"
        );
    }

    #[test]
    fn what_is_missing_is_named_with_who_needs_it() {
        let none = Libraries { folders: vec!["/no such folder".into()] };
        let error = none.of(&std::env::current_exe().unwrap()).unwrap_err().to_string();
        assert!(
            error.contains(" needs lib") && error.contains("in no folder of libraries"),
            "{error}"
        );
    }

    #[test]
    fn a_file_of_its_own_origin_is_looked_for_there() {
        assert_eq!(
            expand("$ORIGIN/../lib", Path::new("/opt/x/bin")),
            Path::new("/opt/x/bin/../lib")
        );
        assert_eq!(expand("${ORIGIN}", Path::new("/opt")), Path::new("/opt"));
    }

    #[test]
    fn a_script_is_no_elf_file_and_other_machines_are_refused() {
        assert_eq!(needs_of(b"#!/bin/sh\n", Path::new("/")), Ok(None));
        let mut own = fs::read(std::env::current_exe().unwrap()).unwrap();
        // e_machine: AArch64.
        own[18] = 183;
        assert!(needs_of(&own, Path::new("/")).unwrap_err().contains("not for x86-64"));
    }

    proptest! {
        #[test]
        fn malformed_files_are_refused_and_no_more(at in 0_usize..4096, byte in any::<u8>(), cut in 4_usize..5000) {
            let mut bytes = START.with(Vec::clone);
            bytes[at] = byte;
            bytes.truncate(cut);
            let _ = needs_of(&bytes, Path::new("/"));
        }
    }

    thread_local! {
        static START: Vec<u8> = fs::read(std::env::current_exe().unwrap()).unwrap()[..1 << 16].to_vec();
    }
}
