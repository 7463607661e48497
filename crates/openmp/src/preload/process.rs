//! This process as the command sees it: what was set up, and what is told.
//!
//! Nothing happens before the first parallel region, so that a program without OpenMP costs
//! nothing. A child of fork goes on without: it has neither the threads nor the file.
#![expect(unsafe_code, reason = "shared memory")]

use std::env;
use std::ffi::{OsStr, c_void};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use crate::layout::{FOLDER, MAGIC, MAX_CPUS, MAX_KINDS, Note, Process, SETUP, Setup};
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
    // Sums are then to be the same in each run, which depends on the division.
    if is_set("KMP_DETERMINISTIC_REDUCTION") {
        return None;
    }
    let folder = env::var_os(FOLDER)?;
    let folder = Path::new(&folder);
    let file = open(OpenOptions::new().read(true), &folder.join(SETUP))?;
    let of = [folder.symlink_metadata().ok()?, file.metadata().ok()?];
    // Whoever could write here would write into this process.
    if of.iter().any(|of| of.uid() != sys::user() || of.mode() & 0o022 != 0) {
        return None;
    }
    let setup: *mut Setup = shared(&file, false)?;
    // SAFETY: the mapping is there for good and has the size; only plain numbers are in it.
    if !is_sound(unsafe { &*setup }) {
        return None;
    }
    // A process may replace itself, and numbers are used again in containers.
    let new = |n: u32| {
        let name = folder.join(format!("{}.{n}", std::process::id()));
        open(OpenOptions::new().read(true).write(true).create_new(true).mode(0o600), &name)
    };
    let file = (0..MOST_FILES).find_map(new)?;
    if !sys::make_room(file.as_raw_fd(), size_of::<Process>()) {
        return None;
    }
    let told: *mut Process = shared(&file, true)?;
    SETUP_OF.store(setup, Ordering::Release);
    TOLD.store(told, Ordering::Release);
    // SAFETY: as above; a file that has just been made holds zeros, which are valid.
    unsafe { (*told).magic.store(MAGIC, Ordering::Release) };
    place::begin();
    sys::in_child(child);
    Some(())
}

/// Records of one process number.
const MOST_FILES: u32 = 16;

fn open(options: &mut OpenOptions, path: &Path) -> Option<File> {
    options.custom_flags(sys::NO_FOLLOW).open(path).ok()
}

pub fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}

fn is_sound(setup: &Setup) -> bool {
    setup.magic == MAGIC
        && (2..=MAX_CPUS as u32).contains(&setup.cpus)
        && setup.cpu[..setup.cpus as usize].iter().all(|cpu| {
            (cpu.number as usize) < sys::MASK_WORDS * 64 && (cpu.kind as usize) < MAX_KINDS
        })
}

fn shared<T>(file: &File, writes: bool) -> Option<*mut T> {
    if file.metadata().ok()?.len() < size_of::<T>() as u64 {
        return None;
    }
    sys::map_shared(file.as_raw_fd(), size_of::<T>(), writes).map(|at| at.cast())
}

extern "C" fn child() {
    end();
    place::in_child();
}

/// A file beside the library, for what processes share.
pub fn file(name: &str) -> Option<File> {
    let library = sys::object_of(map as *const c_void)?;
    let folder = Path::new(OsStr::from_bytes(library.file.to_bytes())).parent()?;
    let mut options = OpenOptions::new();
    open(
        options.read(true).write(true).create(true).truncate(false).mode(0o600),
        &folder.join(name),
    )
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
    let (notes, bit) = (&told().notes, 1 << note as u32);
    if notes.load(Ordering::Relaxed) & bit == 0 {
        notes.fetch_or(bit, Ordering::Relaxed);
    }
}
