//! Output: to stdout, and to files that are either complete or absent.
//!
//! A device or a pipe is written to in place. A file is written under a temporary name in its own
//! folder and renamed when it is complete, so that a reader finds the old file or the new one. The
//! folder is tried before the long work, not after it. After Ctrl-C no temporary is left.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use anyhow::Context as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tempfile::NamedTempFile;

use crate::error::{Failure, Result, ended_by};

/// Temporaries that exist now.
static TEMPORARIES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// What is done before a signal ends the process.
static AT_THE_END: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// A file that is being made.
pub struct OutputFile {
    temporary: NamedTempFile,
    target: PathBuf,
    /// A device or a pipe, as `/dev/stdout`: the temporary is copied to it, not renamed.
    special: bool,
}

impl OutputFile {
    /// Begins a file; what is at `target` stays until [`OutputFile::finish`].
    ///
    /// # Errors
    /// A target that is a folder, or a folder that is not there or cannot be written to.
    pub fn begin(target: &Path) -> Result<Self> {
        let unwritable = |error: anyhow::Error| {
            Failure::Usage(error.context(format!("cannot write {}", target.display())))
        };
        if target.is_dir() {
            return Err(unwritable(anyhow::anyhow!("it is a folder")));
        }
        if target == Path::new("-") {
            return Err(unwritable(anyhow::anyhow!(
                "expected the name of a file; /dev/stdout is stdout"
            )));
        }
        let special = target.metadata().is_ok_and(|metadata| !metadata.is_file());
        // The file that a link points to is replaced, not the link.
        let target = if special {
            target.to_owned()
        } else {
            target.canonicalize().unwrap_or_else(|_| target.to_owned())
        };
        let elsewhere = std::env::temp_dir();
        let folder = match target.parent() {
            _ if special => &elsewhere,
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        clean_up_when_interrupted();
        let mut living = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
        let temporary = tempfile::Builder::new()
            .prefix(".evenkeel-")
            .permissions(permissions())
            .tempfile_in(folder)
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => unwritable(anyhow::anyhow!("there is no such folder")),
                kind => unwritable(io::Error::from(kind).into()),
            })?;
        living.insert(temporary.path().to_owned());
        Ok(Self { temporary, target, special })
    }

    /// Puts the complete file into its place.
    ///
    /// # Errors
    /// The file system refuses; then nothing is left behind.
    pub fn finish(mut self) -> Result {
        let flushed = self.temporary.flush();
        let mut living = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
        living.remove(self.temporary.path());
        let place = || format!("cannot write {}", self.target.display());
        flushed.with_context(place).map_err(Failure::Failed)?;
        let target = self.target.clone();
        let kept = if self.special {
            let copy = |mut into| io::copy(&mut self.temporary.reopen()?, &mut into);
            std::fs::OpenOptions::new().write(true).open(&target).and_then(copy).map(drop)
        } else {
            self.temporary.persist(&target).map(drop).map_err(|error| error.error)
        };
        kept.with_context(|| format!("cannot write {}", target.display())).map_err(Failure::Failed)
    }

    /// Writes all of it, and puts it into its place.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn finish_with(mut self, content: &[u8]) -> Result {
        let written = self.temporary.write_all(content);
        written
            .with_context(|| format!("cannot write {}", self.target.display()))
            .map_err(Failure::Failed)?;
        self.finish()
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.temporary.flush()
    }
}

/// The permissions of any new file: a temporary's are for its owner only.
#[cfg(unix)]
fn permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::Permissions::from_mode(0o666)
}

#[cfg(not(unix))]
fn permissions() -> std::fs::Permissions {
    std::fs::Permissions::default()
}

/// Has something done when Ctrl-C or the like ends the process.
pub fn when_interrupted(last: impl Fn() + Send + 'static) {
    *AT_THE_END.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(last));
    clean_up_when_interrupted();
}

/// Sets a handler that removes temporaries. Until then, when there is no file to lose, these
/// signals end the process at once. A signal that is ignored, as SIGHUP under nohup, stays ignored.
fn clean_up_when_interrupted() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = ignored();
        let ending =
            [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        // If a handler cannot be set, the command goes on without one.
        let Ok(mut signals) = Signals::new(ending) else { return };
        std::thread::spawn(move || {
            let Some(signal) = signals.forever().next() else { return };
            let living = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
            for path in living.iter() {
                let _ = std::fs::remove_file(path);
            }
            if let Some(last) = &*AT_THE_END.lock().unwrap_or_else(PoisonError::into_inner) {
                last();
            }
            std::process::exit(ended_by(signal).into());
        });
    });
}

/// The signals that this process ignores, a bit each from signal 1 on; 0 if the kernel does not
/// say.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Prints text on stdout, with a newline at its end where it has none.
///
/// # Errors
/// [`Failure::ClosedPipe`] where the reader has gone.
pub fn print(text: &str) -> Result {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| {
        if !text.is_empty() && !text.ends_with('\n') {
            stdout.write_all(b"\n")?;
        }
        stdout.flush()
    });
    written.map_err(Failure::stdout)
}

/// Prints one JSON value on stdout.
///
/// # Errors
/// [`Failure::ClosedPipe`] where the reader has gone.
pub fn print_json(value: &impl serde::Serialize) -> Result {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::Failed(error.into()))?;
    print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        std::fs::write(&target, "old").unwrap();
        let file = OutputFile::begin(&target).unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "old");
        file.finish_with(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");

        let given_up = OutputFile::begin(&folder.path().join("other")).unwrap();
        drop(given_up);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "only the finished one is left"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_device_stays_a_device_and_a_link_a_link() {
        use std::os::unix::fs::FileTypeExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (device, file) = (folder.path().join("null"), folder.path().join("file"));
        std::os::unix::fs::symlink("/dev/null", &device).unwrap();
        OutputFile::begin(&device).unwrap().finish_with(b"gone").unwrap();
        assert!(device.is_symlink() && device.metadata().unwrap().file_type().is_char_device());

        let link = folder.path().join("link");
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        OutputFile::begin(&link).unwrap().finish_with(b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    }
}
