//! A case: what one run is made of, and its identity.

use indexmap::IndexMap;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::axis::Value;

/// What one run is made of: a value for each axis that applies to it, by the axes' names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Case {
    values: IndexMap<String, Value>,
}

impl Case {
    /// Of these values.
    #[must_use]
    pub fn new(values: IndexMap<String, Value>) -> Self {
        Self { values }
    }

    /// The value on an axis; `None` where the axis is not in the grid, or does not apply.
    #[must_use]
    pub fn get(&self, axis: &str) -> Option<&Value> {
        self.values.get(axis)
    }

    /// All values, in the order of the axes.
    pub fn values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(axis, value)| (axis.as_str(), value))
    }

    /// Its description: one line of JSON, axes in the order of their names.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut values: Vec<_> = self.values.iter().collect();
        values.sort_by_key(|(axis, _)| *axis);
        let sorted: IndexMap<&String, &Value> = values.into_iter().collect();
        // Numbers are finite and keys are text: there is nothing to fail.
        serde_json::to_string(&sorted).unwrap_or_default()
    }

    /// The first half of the SHA-256 of [`Case::canonical`], 32 hexadecimal digits.
    #[must_use]
    pub fn identity(&self) -> String {
        hex(&Sha256::digest(self.canonical().as_bytes())[..16])
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_of_what_a_case_is_made_of_and_stays_what_it_is() {
        let of = |pairs: &[(&str, Value)]| {
            Case::new(
                pairs.iter().map(|(axis, value)| ((*axis).to_owned(), value.clone())).collect(),
            )
        };
        let machine = ("machine", Value::Word("quickia".into()));
        let case = of(&[("seed", Value::Whole(1)), machine.clone(), ("size", Value::Number(0.5))]);
        assert_eq!(case.canonical(), r#"{"machine":"quickia","seed":1,"size":0.5}"#);
        // What sha256sum says of that line.
        assert_eq!(case.identity(), "e2c958c5a14976a9a24056519db7890e");
        assert_ne!(of(&[machine, ("seed", Value::Whole(1))]).identity(), case.identity());
    }
}
