//! Trace files: one for all pools of a process, there as a whole or not at all.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Result, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A file that this process has written: its identity (device, inode, length), which tells it from
/// one that another program has put there, and the number of pools in it.
struct Written {
    identity: (u64, u64, u64),
    pools: u32,
}

static WRITTEN: Mutex<Option<HashMap<PathBuf, Written>>> = Mutex::new(None);

/// The absolute path of a file, if it can be written.
pub fn probe(path: &Path) -> Result<PathBuf> {
    // Behind links, for what is renamed takes the place of a link, and not of what it leads to.
    let path = fs::canonicalize(path).or_else(|_| std::path::absolute(path))?;
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if is_replaced(&path) {
        let temporary = temporary(&path);
        File::create(&temporary)?;
        fs::remove_file(temporary)?;
    } else {
        OpenOptions::new().write(true).open(&path)?;
    }
    Ok(path)
}

/// Devices and pipes are written to as they are.
fn is_replaced(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |it| it.is_file())
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    name.into()
}

/// Writes a pool's part of a file: the first of this process to a new one, others behind it.
/// `write` gets the part's number, from 1.
pub fn append(path: &Path, write: impl FnOnce(u32, &mut dyn Write) -> Result<()>) -> Result<()> {
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let written = written.get_or_insert_default();
    let replaced = is_replaced(path);
    let before = written
        .get(path)
        .filter(|it| !replaced || identity(path).is_ok_and(|now| now == it.identity));
    let pools = before.map_or(0, |it| it.pools) + 1;
    let target = if replaced { temporary(path) } else { path.to_path_buf() };
    let result = (|| {
        if replaced && pools == 1 {
            File::create(&target)?;
        } else if replaced {
            fs::copy(path, &target)?;
        }
        let mut out = BufWriter::new(OpenOptions::new().append(true).open(&target)?);
        write(pools, &mut out)?;
        out.flush()?;
        if replaced { fs::rename(&target, path) } else { Ok(()) }
    })();
    match result {
        Ok(()) => {
            let identity = identity(path)?;
            written.insert(path.to_path_buf(), Written { identity, pools });
        }
        Err(_) if replaced => drop(fs::remove_file(&target)),
        Err(_) => {}
    }
    result
}

fn identity(path: &Path) -> Result<(u64, u64, u64)> {
    fs::metadata(path).map(|it| (it.dev(), it.ino(), it.len()))
}
