//! The files of a guest: those of its first process, and those that the user asked for.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use evenkeel_linux::lab::MACHINE_VARIABLE;
use evenkeel_machine::{KINDS_VARIABLE, KindList, Machine};

use super::MACHINE_FILE;
use crate::error::VmError;
use crate::image::{Busybox, Programs, Tree, command_script, environment_script, quoted};
use crate::kernel::Kernel;

const INIT: &str = include_str!("init.sh");

/// What a guest is to contain.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// More programs of the host, and their place in the guest; `None`: where the shell finds them.
    pub programs: Vec<(OsString, Option<PathBuf>)>,
    /// Files and folders of the host, and their place in the guest.
    pub files: Vec<(PathBuf, PathBuf)>,
}

/// The tree of files of a guest. `machine` is its description; at the end the guest sends those
/// paths of `brought_back` that exist.
///
/// # Errors
/// A program or file is missing, or two have the same place.
pub fn assemble(
    contents: &Contents,
    kernel: &Kernel,
    machine: &Machine,
    busybox: &Busybox,
    brought_back: &[PathBuf],
) -> Result<Tree, VmError> {
    let mut tree = Tree::default();
    for folder in [
        "/bin",
        "/dev",
        "/etc",
        "/proc",
        "/run",
        "/sbin",
        "/sys",
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/var",
    ] {
        tree.folder(folder, 0o755);
    }
    tree.folder("/root", 0o700);
    tree.folder("/tmp", 0o1777);
    // Without the device the first process has no output.
    tree.device("/dev/console", 0o600, 5, 1);
    tree.text("/init", 0o755, INIT);
    tree.text(
        "/etc/passwd",
        0o644,
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    );
    tree.text("/etc/group", 0o644, "root:x:0:\nnogroup:x:65534:\n");
    tree.text("/etc/hostname", 0o644, "lab\n");
    tree.text("/etc/hosts", 0o644, "127.0.0.1 localhost lab\n");
    tree.text(MACHINE_FILE, 0o644, evenkeel_files::machines::to_toml(machine));
    tree.text("/etc/evenkeel/command", 0o644, command_script(&contents.command));
    let kinds = KindList::from(machine).to_string();
    let environment = [(MACHINE_VARIABLE, MACHINE_FILE), (KINDS_VARIABLE, &kinds)];
    tree.text("/etc/evenkeel/environment", 0o644, environment_script(&environment));
    tree.text("/etc/evenkeel/files", 0o644, files_script(brought_back));
    // libbpf reads the configuration there; without it loading fails with EINVAL and no further
    // word.
    tree.copy(format!("/boot/config-{}", kernel.release), &kernel.config)?;

    let programs = Programs::of_host();
    for (program, guest) in &contents.programs {
        programs.put(&mut tree, program, guest.as_deref())?;
    }
    for (host, guest) in &contents.files {
        tree.copy_all(guest, host)?;
    }
    if let Some(word) = contents.command.first() {
        programs.put_command(&mut tree, busybox, word)?;
    }
    busybox.put(&mut tree)?;
    Ok(tree)
}

/// A script that writes an archive of those paths that exist.
fn files_script(paths: &[PathBuf]) -> Vec<u8> {
    let mut script = b"set --\n".to_vec();
    for path in paths {
        let name = path.strip_prefix("/").unwrap_or(path);
        let name = quoted(Path::new(".").join(name).as_os_str().as_bytes());
        script.extend(b"[ -e ");
        script.extend(&name);
        script.extend(b" ] && set -- \"$@\" ");
        script.extend(&name);
        script.push(b'\n');
    }
    script.extend(b"[ $# -eq 0 ] || tar -c -f - \"$@\"\n");
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_is_a_script_that_a_shell_can_read() {
        let mut check = std::process::Command::new("/bin/sh");
        check.arg("-n").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guest/init.sh"));
        assert!(check.status().unwrap().success());
    }

    #[test]
    fn only_files_that_are_there_are_sent() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("it's"), "x").unwrap();
        let script = String::from_utf8(files_script(&["/it's".into(), "/gone".into()])).unwrap();
        let mut shell = std::process::Command::new("/bin/sh");
        let output = shell.arg("-c").arg(script).current_dir(folder.path()).output().unwrap();
        let mut archive = tar::Archive::new(output.stdout.as_slice());
        let names: Vec<PathBuf> =
            archive.entries().unwrap().map(|it| it.unwrap().path().unwrap().into_owned()).collect();
        assert_eq!(names, [PathBuf::from("./it's")]);
    }
}
