//! What is used of the C library. No crate stands between: this is compiled by itself.
#![expect(unsafe_code, reason = "functions of the C library")]

use std::ffi::{CStr, c_char, c_int, c_long, c_void};

/// As the kernel and glibc have it: 1024 CPUs.
pub const MASK_WORDS: usize = 16;
pub type Mask = [u64; MASK_WORDS];

pub const RTLD_NEXT: *mut c_void = -1_isize as *mut c_void;
const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *const c_void,
    symbol: *const c_char,
    address: *const c_void,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
    fn posix_fallocate(file: c_int, from: i64, length: i64) -> c_int;
    fn getrlimit(which: c_int, limits: *mut [u64; 2]) -> c_int;
    fn mmap(
        at: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
}

/// For opening files: a symbolic link is none.
#[cfg(target_arch = "x86_64")]
pub const NO_FOLLOW: c_int = 0o400_000;
#[cfg(target_arch = "aarch64")]
pub const NO_FOLLOW: c_int = 0o100_000;

#[cfg(target_arch = "x86_64")]
const SET_AFFINITY: c_long = 203;
#[cfg(target_arch = "x86_64")]
const GET_AFFINITY: c_long = 204;
#[cfg(target_arch = "aarch64")]
const SET_AFFINITY: c_long = 122;
#[cfg(target_arch = "aarch64")]
const GET_AFFINITY: c_long = 123;

/// The next definition of a symbol after this library's.
pub fn next(symbol: &CStr) -> *mut c_void {
    // SAFETY: a text that ends in zero.
    unsafe { dlsym(RTLD_NEXT, symbol.as_ptr()) }
}

/// A symbol as seen by the object that has this address in it: of itself and what it is linked
/// with. For objects that are loaded with RTLD_LOCAL, whose runtime [`next`] does not find.
pub fn seen_from(address: *const c_void, symbol: &CStr) -> *mut c_void {
    let Some(object) = object_of(address) else { return std::ptr::null_mut() };
    // SAFETY: the name is that of a loaded object; RTLD_NOLOAD loads nothing, and the handle is
    // given back.
    unsafe {
        let handle = dlopen(object.file.as_ptr(), RTLD_LAZY | RTLD_NOLOAD);
        if handle.is_null() {
            return handle;
        }
        let found = dlsym(handle, symbol.as_ptr());
        dlclose(handle);
        found
    }
}

pub struct Object {
    pub file: &'static CStr,
    pub base: usize,
}

/// The loaded object that an address is in.
pub fn object_of(address: *const c_void) -> Option<Object> {
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null(),
        symbol: std::ptr::null(),
        address: std::ptr::null(),
    };
    // SAFETY: `info` is of the form that dladdr writes; the name lives as long as the object.
    unsafe {
        (dladdr(address, &mut info) != 0 && !info.file.is_null())
            .then(|| Object { file: CStr::from_ptr(info.file), base: info.base as usize })
    }
}

/// Gives a file this length, with all of its room: a page that could not be had later would end the
/// process. Says whether it could.
pub fn make_room(file: c_int, length: usize) -> bool {
    const FILE_SIZE: c_int = 1;
    let mut limits = [0; 2];
    // SAFETY: the buffer is two numbers, as the interface has it.
    unsafe {
        getrlimit(FILE_SIZE, &mut limits) == 0
            && limits[0] >= length as u64
            && posix_fallocate(file, 0, length as i64) == 0
    }
}

/// The CPUs that a thread may use; 0 is the caller. By the system call: what is exported under the
/// C library's name here answers otherwise.
pub fn affinity(thread: c_int) -> Option<Mask> {
    let mut mask = [0; MASK_WORDS];
    // SAFETY: the buffer has the size that is said.
    let done = unsafe { syscall(GET_AFFINITY, thread, size_of::<Mask>(), mask.as_mut_ptr()) };
    (done > 0).then_some(mask)
}

pub fn set_affinity(thread: c_int, mask: &Mask) -> bool {
    // SAFETY: as above.
    unsafe { syscall(SET_AFFINITY, thread, size_of::<Mask>(), mask.as_ptr()) == 0 }
}

pub fn user() -> u32 {
    unsafe extern "C" {
        fn geteuid() -> u32;
    }
    // SAFETY: no conditions.
    unsafe { geteuid() }
}

pub fn close(file: c_int) {
    unsafe extern "C" {
        fn close(file: c_int) -> c_int;
    }
    // SAFETY: no conditions; what is closed is nobody else's.
    unsafe { close(file) };
}

pub fn in_child(run: extern "C" fn()) {
    // SAFETY: the function outlives the process.
    unsafe { pthread_atfork(None, None, Some(run)) };
}

pub fn now_ns() -> u64 {
    #[repr(C)]
    struct Time {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: c_int, time: *mut Time) -> c_int;
    }
    const MONOTONIC: c_int = 1;
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: as above.
    unsafe { clock_gettime(MONOTONIC, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

/// Maps the beginning of a file for the rest of the process, shared with others.
pub fn map_shared(file: c_int, length: usize, writes: bool) -> Option<*mut c_void> {
    const READ: c_int = 1;
    const WRITE: c_int = 2;
    const SHARED: c_int = 1;
    let protection = if writes { READ | WRITE } else { READ };
    // SAFETY: the kernel chooses the place.
    let at = unsafe { mmap(std::ptr::null_mut(), length, protection, SHARED, file, 0) };
    (at as isize != -1).then_some(at)
}
