//! Extracts files from a Debian package without installing it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::VmError;

/// Reads the package until `wanted` has given places for `count` files, and writes each to its
/// place. Returns their number.
///
/// # Errors
/// No `dpkg-deb`, a package that it does not read, a place that cannot be written.
pub fn extract(
    package: &Path,
    count: usize,
    mut wanted: impl FnMut(&Path) -> Option<PathBuf>,
) -> Result<usize, VmError> {
    let failed = |said: String| VmError::Archive {
        what: format!("cannot read {}", package.display()),
        said,
    };
    let mut unpack = Command::new("dpkg-deb");
    unpack
        .arg("--fsys-tarfile")
        .arg(package)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = unpack.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => VmError::NotInstalled { program: "dpkg-deb", package: "dpkg" },
        _ => VmError::System { what: "cannot start dpkg-deb", error },
    })?;
    let Some(stdout) = child.stdout.take() else { return Err(failed("no output".to_owned())) };
    let mut taken = 0;
    let read = || -> io::Result<Result<(), VmError>> {
        for entry in tar::Archive::new(stdout).entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            let Some(place) =
                entry.header().entry_type().is_file().then(|| wanted(&path)).flatten()
            else {
                continue;
            };
            let copied = File::create(&place).and_then(|mut file| io::copy(&mut entry, &mut file));
            if let Err(error) = copied {
                return Ok(Err(VmError::File { file: place, error }));
            }
            taken += 1;
            if taken == count {
                break;
            }
        }
        Ok(Ok(()))
    };
    let done = read();
    // The rest of its output is not needed.
    let _ = child.kill();
    let _ = child.wait();
    done.map_err(|error| failed(error.to_string()))??;
    Ok(taken)
}
