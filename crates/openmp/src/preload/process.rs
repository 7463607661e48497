//! This process as the command sees it: what was set up, and what is told.
//!
//! Nothing happens before the first parallel region, so that a program without OpenMP costs
//! nothing. A child of fork goes on without: it has neither the threads nor the file.
#![expect(unsafe_code, reason = "shared memory")]

use std::env;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use crate::layout::{FOLDER, MAGIC, Note, Process, SETUP, Setup};
use crate::{place, sys};

const UNKNOWN: u8 = 0;
const BEGINNING: u8 = 1;
const ON: u8 = 2;
const OFF: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
static SETUP_OF: AtomicPtr<Setup> = AtomicPtr::new(null_mut());
static TOLD: AtomicPtr<Process> = AtomicPtr::new(null_mut());

/// Whether loops of this process are divided by us.
#[inline]
pub fn is_on() -> bool {
    STATE.load(Ordering::Acquire) == ON
}

/// Leaves the rest of the process alone.
pub fn end() {
    STATE.store(OFF, Ordering::Release);
}

/// At the first region: what was set up, if anything was. Says whether it was.
#[inline]
pub fn begin() -> bool {
    match STATE.load(Ordering::Acquire) {
        ON => true,
        UNKNOWN => first(),
        _ => false,
    }
}

#[cold]
fn first() -> bool {
    if STATE.compare_exchange(UNKNOWN, BEGINNING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return is_on();
    }
    let mapped = map();
    STATE.store(if mapped.is_some() { ON } else { OFF }, Ordering::Release);
    mapped.is_some()
}

fn map() -> Option<()> {
    let folder = env::var_os(FOLDER)?;
    let folder = Path::new(&folder);
    let setup: *mut Setup = shared(&File::open(folder.join(SETUP)).ok()?, false)?;
    // SAFETY: the mapping is there for good and has the size; only plain numbers are in it.
    let is_known = unsafe { (*setup).magic == MAGIC && (*setup).cpus > 1 };
    if !is_known {
        return None;
    }
    let name = folder.join(std::process::id().to_string());
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(name)
        .ok()?;
    file.set_len(size_of::<Process>() as u64).ok()?;
    let told: *mut Process = shared(&file, true)?;
    SETUP_OF.store(setup, Ordering::Release);
    TOLD.store(told, Ordering::Release);
    // SAFETY: as above; a file that has just been made holds zeros, which are valid.
    unsafe { (*told).magic.store(MAGIC, Ordering::Release) };
    sys::in_child(child);
    Some(())
}

fn shared<T>(file: &File, writes: bool) -> Option<*mut T> {
    if file.metadata().ok()?.len() < size_of::<T>() as u64 {
        return None;
    }
    sys::map_shared(file.as_raw_fd(), size_of::<T>(), writes).map(|at| at.cast())
}

extern "C" fn child() {
    end();
    place::release();
}

/// What was set up. Only where [`is_on`] was true once.
pub fn setup() -> &'static Setup {
    // SAFETY: stored before the state was, and mapped for good.
    unsafe { &*SETUP_OF.load(Ordering::Acquire) }
}

/// What this process tells. Only where [`is_on`] was true once.
pub fn told() -> &'static Process {
    // SAFETY: as above.
    unsafe { &*TOLD.load(Ordering::Acquire) }
}

/// Tells why something was left alone.
pub fn note(note: Note) {
    told().notes.fetch_or(1 << note as u32, Ordering::Relaxed);
}
