//! Names that programs give to tasks, loops and stages. The runtime needs them for good, and
//! callers have them for the time of a call, so each is kept, once.

use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, text};

/// The kept copy of a name. `earlier` is a likely one, which avoids the search.
pub fn known(name: &str, earlier: Option<&'static str>) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    if let Some(earlier) = earlier.filter(|earlier| *earlier == name) {
        return earlier;
    }
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    names.get(name).copied().unwrap_or_else(|| {
        let name: &'static str = name.to_owned().leak();
        names.insert(name);
        name
    })
}

/// The name that a caller gives; `None` for NULL.
pub fn given(name: *const c_char) -> Result<Option<&'static str>, Error> {
    thread_local! {
        static LAST: Cell<Option<&'static str>> = const { Cell::new(None) };
    }
    if name.is_null() {
        return Ok(None);
    }
    let name = known(text(name, "label")?, LAST.get());
    LAST.set(Some(name));
    Ok(Some(name))
}
