//! The work of the cases: a library in C, compiled once (../peers/work.h), which all systems call.
#![expect(unsafe_code, reason = "functions of a library that is found while the bench runs")]

use std::ffi::{CString, c_char};
use std::path::Path;

use libloading::{Error, Library};

use super::cases::{CELLS, COARSE, OPTIONS, SHORT_LOOP};

type Iteration = extern "C" fn(usize);
type Stage = extern "C" fn(u64) -> u64;

/// See the file's head. Results are kept in the library: systems take turns.
pub struct Work {
    price: Iteration,
    short: Iteration,
    cell: Iteration,
    coarse: Iteration,
    item: Stage,
    change: Stage,
    collect: extern "C" fn(u64, u64) -> u64,
    count: extern "C" fn(*const c_char) -> usize,
    check: extern "C" fn(*const c_char) -> u64,
    clear: extern "C" fn(*const c_char),
}

impl Work {
    /// From the folder that setup.sh has filled.
    pub fn load(folder: &Path) -> Result<&'static Self, Error> {
        // SAFETY: it does nothing when it is loaded.
        let library = Box::leak(Box::new(unsafe { Library::new(folder.join("work.so"))? }));
        // SAFETY: the types are the header's, and the library stays.
        let work = unsafe {
            Self {
                price: *library.get(b"work_price")?,
                short: *library.get(b"work_short")?,
                cell: *library.get(b"work_cell")?,
                coarse: *library.get(b"work_coarse")?,
                item: *library.get(b"work_item")?,
                change: *library.get(b"work_change")?,
                collect: *library.get(b"work_collect")?,
                count: *library.get(b"work_count")?,
                check: *library.get(b"work_check")?,
                clear: *library.get(b"work_clear")?,
            }
        };
        for (family, count) in
            [("prices", OPTIONS), ("short", SHORT_LOOP), ("frames", CELLS), ("coarse", COARSE)]
        {
            assert_eq!(
                (work.count)(c_string(family).as_ptr()),
                count,
                "{family} in work.h, and in cases.rs"
            );
        }
        Ok(Box::leak(Box::new(work)))
    }

    pub fn price(&self, i: usize) {
        (self.price)(i);
    }

    pub fn short(&self, i: usize) {
        (self.short)(i);
    }

    pub fn cell(&self, i: usize) {
        (self.cell)(i);
    }

    pub fn coarse(&self, i: usize) {
        (self.coarse)(i);
    }

    pub fn item(&self, i: u64) -> u64 {
        (self.item)(i)
    }

    pub fn change(&self, x: u64) -> u64 {
        (self.change)(x)
    }

    pub fn collect(&self, last: u64, x: u64) -> u64 {
        (self.collect)(last, x)
    }

    /// Puts back what has to be before a case runs again.
    pub fn clear(&self, case: &str) {
        (self.clear)(c_string(case).as_ptr());
    }

    /// Of what a case wrote, a number that is the same in every system. None: no results of it are
    /// kept here.
    pub fn check(&self, case: &str) -> Option<u64> {
        let case = c_string(case);
        ((self.count)(case.as_ptr()) > 0).then(|| (self.check)(case.as_ptr()))
    }
}

fn c_string(text: &str) -> CString {
    CString::new(text).unwrap()
}
