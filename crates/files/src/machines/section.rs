//! One table of a machine file. Its keys are checked against those that the format has and its
//! values against rules; an error names the place.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{MachineError, Place};
use super::rule::{Located, Rule};

/// Text of a value that an error repeats, at most, in characters.
const SHOWN: usize = 40;

/// Keys no further apart than this (Jaro-Winkler, 1 = equal) count as a slip of the pen.
const NEAR: f64 = 0.8;

/// The file that is read.
pub(super) struct Document<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Document<'_> {
    /// The place of a byte. It takes one pass over the text, so it is made only for an error.
    pub fn place(&self, offset: usize) -> Box<Place> {
        let mut before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        if let Some((_, last)) = before.rsplit_once('\n') {
            before = last;
        }
        Box::new(Place { file: self.file.to_owned(), line, column: before.chars().count() + 1 })
    }

    /// An error about a value. `subject` names its table: `kind 'big': `, or is empty.
    pub fn error(
        &self,
        subject: &str,
        key: &str,
        span: &Range<usize>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> MachineError {
        MachineError::Value {
            place: self.place(span.start),
            subject: subject.to_owned(),
            key: key.to_owned(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// What stands there, short and on one line.
    pub fn shown(&self, span: &Range<usize>) -> String {
        let text = self.text.get(span.clone()).unwrap_or_default();
        let mut shown = String::new();
        for c in text.chars().take(SHOWN) {
            if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
        }
        if text.chars().nth(SHOWN).is_some() {
            shown.push('…');
        }
        shown
    }
}

/// A table whose keys are all known.
pub(super) struct Section<'a> {
    document: &'a Document<'a>,
    table: &'a DeTable<'a>,
    start: usize,
    subject: String,
}

impl<'a> Section<'a> {
    /// A table that starts at byte `start`; `subject` names it in errors: `kind 'big': `.
    pub fn new(
        document: &'a Document<'a>,
        table: &'a DeTable<'a>,
        start: usize,
        subject: String,
        keys: &[&'static str],
    ) -> Result<Self, MachineError> {
        let section = Self { document, table, start, subject };
        let strangers = table.keys().filter(|key| !keys.contains(&key.get_ref().as_ref()));
        match strangers.min_by_key(|key| key.span().start) {
            Some(key) => Err(MachineError::UnknownKey {
                place: document.place(key.span().start),
                subject: section.subject,
                key: document.shown(&key.span()),
                expected: alternatives(key.get_ref(), keys),
            }),
            None => Ok(section),
        }
    }

    /// An error about the value of `key` that stands at `span`.
    pub fn error(
        &self,
        key: &str,
        span: &Range<usize>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> MachineError {
        self.document.error(&self.subject, key, span, found, expected)
    }

    /// An error about a key that is not there.
    pub fn missing(&self, key: &'static str, expected: impl Into<String>) -> MachineError {
        MachineError::Missing {
            place: self.document.place(self.start),
            subject: self.subject.clone(),
            key,
            expected: expected.into(),
        }
    }

    /// A number within a rule.
    pub fn number(&self, key: &str, rule: Rule) -> Result<Option<Located<f64>>, MachineError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let number = match value.get_ref() {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
                .ok()
                .map(|value| value as f64),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if rule.admits(number) => {
                Ok(Some(Located { value: number, span: value.span() }))
            }
            _ => Err(self.error(
                key,
                &value.span(),
                self.document.shown(&value.span()),
                rule.expected(number),
            )),
        }
    }

    /// A number within a rule, that must be there.
    pub fn required_number(
        &self,
        key: &'static str,
        rule: Rule,
    ) -> Result<Located<f64>, MachineError> {
        self.number(key, rule)?.ok_or_else(|| self.missing(key, rule.expected(None)))
    }

    /// A string.
    pub fn string(
        &self,
        key: &str,
        expected: &str,
    ) -> Result<Option<Located<&'a str>>, MachineError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(Located { value: text.as_ref(), span: value.span() })),
            _ => Err(self.mismatch(key, value, expected)),
        }
    }

    /// A string that must be there, not be empty and be of one line.
    pub fn name(
        &self,
        key: &'static str,
        expected: &str,
    ) -> Result<Located<&'a str>, MachineError> {
        let name = self.string(key, expected)?.ok_or_else(|| self.missing(key, expected))?;
        if name.value.is_empty() || name.value.contains(char::is_control) {
            return Err(self.error(key, &name.span, self.document.shown(&name.span), expected));
        }
        Ok(name)
    }

    /// A description; empty if the key is not there.
    pub fn prose(&self, key: &str) -> Result<String, MachineError> {
        Ok(self
            .string(key, "text in quotes")?
            .map_or_else(String::new, |text| text.value.to_owned()))
    }

    /// `true` or `false`.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, MachineError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(Some(*flag)),
            _ => Err(self.mismatch(key, value, "true or false")),
        }
    }

    /// A table within this one; `subject` as in [`Section::new`].
    pub fn table(
        &self,
        key: &str,
        subject: &str,
        keys: &[&'static str],
    ) -> Result<Option<Section<'a>>, MachineError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Table(table) => {
                Section::new(self.document, table, value.span().start, subject.to_owned(), keys)
                    .map(Some)
            }
            _ => Err(self.mismatch(key, value, "a table")),
        }
    }

    /// The tables of an array, each with where it starts; `None`: the key is not there.
    pub fn tables(
        &self,
        key: &str,
        expected: &str,
    ) -> Result<Option<Vec<Located<&'a DeTable<'a>>>>, MachineError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let DeValue::Array(array) = value.get_ref() else {
            return Err(self.mismatch(key, value, expected));
        };
        let tables = array.iter().map(|item| match item.get_ref() {
            DeValue::Table(table) => Ok(Located { value: table, span: item.span() }),
            _ => Err(self.mismatch(key, item, expected)),
        });
        tables.collect::<Result<Vec<_>, _>>().map(Some)
    }

    fn mismatch(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> MachineError {
        self.error(key, &value.span(), self.document.shown(&value.span()), expected)
    }
}

/// The keys that `key` was likely meant to be, or all.
fn alternatives(key: &str, keys: &[&'static str]) -> String {
    // A key may be as long as the file: beyond this length no distance is computed.
    if key.len() <= 4 * SHOWN {
        let similarity = |candidate: &&&str| strsim::jaro_winkler(key, candidate);
        let nearest = keys.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
        if let Some(nearest) = nearest.filter(|nearest| similarity(nearest) >= NEAR) {
            return format!("perhaps {nearest}");
        }
    }
    format!("one of {}", keys.join(", "))
}
