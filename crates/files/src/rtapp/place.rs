//! Values of the tree as the types that keys need; a wrong one gives an error with its place.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::error::{Fault, Near, Problem};
use super::json::{Member, Node, Value};
use super::keys::is_only_noted;
use super::notes::Notes;
use crate::text::cut;

/// The greatest whole number that rt-app holds (32 bits). It silently takes a greater one for this.
pub const GREATEST: i64 = i32::MAX as i64;

/// Which part of the file is read.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    Root,
    Global,
    Resource(&'a str),
    Task(&'a str),
    Phase(&'a str, &'a str),
}

impl Place<'_> {
    pub fn fault(self, at: usize, problem: Problem) -> Fault {
        Fault { at, place: self.shown(), problem }
    }

    /// The part's name as messages begin with it.
    pub fn shown(self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Global => "global: ".to_owned(),
            Self::Resource(name) => format!("resource '{}': ", cut(name)),
            Self::Task(task) => format!("task '{}': ", cut(task)),
            Self::Phase(task, phase) => format!("task '{}', phase '{}': ", cut(task), cut(phase)),
        }
    }

    /// A fault of a key of this part.
    pub fn fault_of(self, at: usize, key: &str, problem: Problem) -> Fault {
        let mut fault = self.fault(at, problem);
        fault.place.push_str(&format!("{}: ", cut(key)));
        fault
    }

    pub fn contradiction(self, member: &Member, what: impl Into<String>) -> Fault {
        self.fault_of(member.value_at(), &member.key, Problem::Contradiction(what.into()))
    }

    pub fn wrong(self, member: &Member, expected: &'static str) -> Fault {
        let found = member.shown();
        self.fault_of(member.value_at(), &member.key, Problem::Value { found, expected })
    }

    pub fn integer(
        self,
        member: &Member,
        range: RangeInclusive<i64>,
        expected: &'static str,
    ) -> Result<i64, Fault> {
        match value(member) {
            Some(Value::Integer(number)) if range.contains(number) => Ok(*number),
            _ => Err(self.wrong(member, expected)),
        }
    }

    /// A whole number from 0 on.
    pub fn natural(self, member: &Member, expected: &'static str) -> Result<u64, Fault> {
        self.integer(member, 0..=GREATEST, expected).map(i64::unsigned_abs)
    }

    pub fn text<'t>(self, member: &'t Member, expected: &'static str) -> Result<&'t str, Fault> {
        match value(member) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(self.wrong(member, expected)),
        }
    }

    pub fn boolean(self, member: &Member) -> Result<bool, Fault> {
        match value(member) {
            Some(Value::Bool(value)) => Ok(*value),
            _ => Err(self.wrong(member, "true or false")),
        }
    }

    pub fn array<'t>(
        self,
        member: &'t Member,
        expected: &'static str,
    ) -> Result<&'t [Node], Fault> {
        match value(member) {
            Some(Value::Array(nodes)) => Ok(nodes),
            _ => Err(self.wrong(member, expected)),
        }
    }

    pub fn object<'t>(
        self,
        member: &'t Member,
        expected: &'static str,
    ) -> Result<&'t [Member], Fault> {
        match value(member) {
            Some(Value::Object(members)) => Ok(members),
            _ => Err(self.wrong(member, expected)),
        }
    }
}

fn value(member: &Member) -> Option<&Value> {
    member.value.as_ref().map(|node| &node.value)
}

/// The properties that an object has given so far. Each may be given once.
#[derive(Default)]
pub struct Given<'a>(BTreeSet<&'a str>);

impl<'a> Given<'a> {
    /// True if a key is one of the `known`. An unknown key is noted and ignored, as rt-app does;
    /// one that is probably a misspelt key with an effect is refused.
    pub fn is_known<'k>(
        &mut self,
        place: Place<'_>,
        member: &'a Member,
        what: &'static str,
        known: impl IntoIterator<Item = &'k str> + Clone,
        notes: &mut Notes,
    ) -> Result<bool, Fault> {
        let fault = |problem| Err(place.fault_of(member.at, &member.key, problem));
        if known.clone().into_iter().any(|known| known == member.key) {
            return if self.0.insert(&member.key) { Ok(true) } else { fault(Problem::Twice) };
        }
        let near =
            Near::misses(&member.key, known.into_iter().filter(|known| !is_only_noted(known)));
        if !near.0.is_empty() {
            return fault(Problem::Unknown { what, near });
        }
        notes.ignored(format!("{}{}", place.shown(), cut(&member.key)));
        Ok(false)
    }
}
