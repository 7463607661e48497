//! rt-app files: JSON in which scheduler engineers describe periodic, pipelined and mixed loads
//! (<https://github.com/scheduler-tools/rt-app>, doc/tutorial.txt; where manual and code differ,
//! the code is followed).
//!
//! ```text
//! bytes --json--> tree with places --global, task, event--> Application
//! ```
//!
//! Every section, key and event is carried out; or noted (once a kind, in [`Application::notes`])
//! if it has no meaning in a simulator; or refused with its place. docs/simulate/rt-app.md says
//! which, and how each event maps to the model.
//!
//! Limits keep memory in proportion to the file, whatever it holds: 65,536 threads, 32 levels of
//! nesting, names of 256 bytes.

mod error;
mod event;
mod global;
mod json;
mod keys;
mod memory;
mod names;
mod notes;
mod place;
mod schedule;
mod task;

#[cfg(test)]
mod shipped;

pub use error::{Near, Problem, RtAppError};
pub use memory::{
    CHASE_MEMORY_NS, CHASE_NS, DEFAULT_BUFFER_BYTES, DEVICE_NS_PER_BYTE, FILL_BYTES_PER_NS,
    LINE_BYTES, NULL_WRITE_NS, TOUCH_NS_PER_BYTE,
};
pub use task::{MAX_NAME_BYTES, MAX_THREADS};

use error::{Fault, Problem as P};
use json::{Member, Value};

pub(crate) use json::has_object_member;
use place::{Given, Place};

use crate::text::behind;
use evenkeel_model::Application;

/// Reads an rt-app file. `file_name` is for messages, and its stem names the application.
///
/// # Errors
/// The first fault, with line and column, the task, phase and key that it is about, what was found
/// and what was expected.
pub fn parse(text: impl AsRef<[u8]>, file_name: &str) -> Result<Application, RtAppError> {
    read(text.as_ref(), file_name, false)
}

/// As [`parse`]; with `iterations`, programs also report the iterations of their phases
/// ([`evenkeel_model::Step::Iteration`]).
///
/// # Errors
/// As [`parse`].
pub fn read(text: &[u8], file_name: &str, iterations: bool) -> Result<Application, RtAppError> {
    let bytes = without_mark(text);
    let name = std::path::Path::new(file_name)
        .file_stem()
        .map_or(file_name.into(), |stem| stem.to_string_lossy());
    application(bytes, &name, iterations).map_err(|fault| fault.within(file_name, bytes))
}

/// True if a file is meant as rt-app's: its content is an object with a member `tasks` that is an
/// object. Faults elsewhere in it do not matter, so that [`parse`] can report them.
pub fn looks_like_rtapp(text: impl AsRef<[u8]>) -> bool {
    json::has_object_member(&String::from_utf8_lossy(without_mark(text.as_ref())), "tasks")
}

/// The text without the byte order mark with which some editors begin a file.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

fn application(bytes: &[u8], name: &str, iterations: bool) -> Result<Application, Fault> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| Fault::text(error.valid_up_to(), P::NotUtf8))?;
    let (root, rest) = json::read(text)?;
    let Value::Object(members) = root.value else {
        let problem =
            P::Syntax { found: "another value".to_owned(), expected: "an object with 'tasks'" };
        return Err(Fault::text(root.at, problem));
    };
    let mut given = Given::default();
    let mut notes = notes::Notes::of(rest.map(|at| behind(&text[..at])));
    let (mut tasks, mut global, mut resources) = (None, None, None);
    for member in &members {
        if !given.is_known(Place::Root, member, "section", keys::SECTIONS, &mut notes)? {
            continue;
        }
        let slot: &mut Option<&Member> = match member.key.as_str() {
            "tasks" => &mut tasks,
            "global" => &mut global,
            _ => &mut resources,
        };
        *slot = Some(member);
    }
    let tasks =
        tasks.ok_or_else(|| Place::Root.fault(root.at, P::Missing("the section 'tasks'")))?;
    let global = global.map_or(Ok(global::Global::default()), |section| {
        global::Global::read(section, &mut notes)
    })?;
    let mut named = names::Resources::default();
    if let Some(section) = resources {
        global::read_resources(section, &mut named, &mut notes)?;
    }
    task::read(name, tasks, global, named, notes, iterations)
}
