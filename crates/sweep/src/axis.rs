//! The values of an axis: a list, or a range of numbers.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Most values of an axis.
const MOST_VALUES: usize = 1_000_000;
/// Below this all whole numbers are exact.
const WHOLE: f64 = 9e15;

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A truth value.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Number(f64),
    /// A word, or the name of something.
    Word(String),
    /// Names of things that go together: workloads that run together.
    Together(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => f.write_str(word),
            Self::Together(words) => f.write_str(&words.join(" + ")),
        }
    }
}

/// Why an axis has no values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AxisError {
    /// A list of nothing.
    #[error("no value found, expected one or more")]
    Empty,
    /// A range that goes nowhere.
    #[error("from {from} to {to} found, expected from <= to")]
    Backwards {
        /// The first.
        from: f64,
        /// The last.
        to: f64,
    },
    /// Numbers that are none, or a step that leads nowhere.
    #[error("{what} {found} found, expected {expected}")]
    Number {
        /// Which.
        what: &'static str,
        /// What was found.
        found: f64,
        /// What would do.
        expected: &'static str,
    },
    /// Both or neither of what says how many values there are.
    #[error("expected one of step and count")]
    HowMany,
    /// More values than there is room for.
    #[error("more than {MOST_VALUES} values")]
    Many,
}

/// An axis as it is written: a value, a list, or a range.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// One after the other.
    List(Vec<Value>),
    /// Numbers at equal distances, or in equal ratios.
    Range(Range),
    /// The only one.
    One(Value),
}

/// A range of numbers, both ends included.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    from: f64,
    to: f64,
    #[serde(default)]
    step: Option<f64>,
    #[serde(default)]
    count: Option<u32>,
    /// True if the values are in equal ratios.
    #[serde(default)]
    log: bool,
}

impl<'de> Deserialize<'de> for Axis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const VALUE: &str = "expected a number, a word, true or false; in a list also a list of \
                             words, which go together";
        let value = |value: toml::Value| -> Result<Value, D::Error> {
            let found = value.to_string();
            value.try_into().map_err(|_| D::Error::custom(format!("{found} found, {VALUE}")))
        };
        match toml::Value::deserialize(deserializer)? {
            toml::Value::Array(all) => {
                all.into_iter().map(value).collect::<Result<_, _>>().map(Self::List)
            }
            toml::Value::Table(table) => {
                let error = |error: toml::de::Error| {
                    let what = error.message();
                    D::Error::custom(format!(
                        "{what}; a range has from, to, and step or count, and log for equal \
                         ratios; the axis of a knob is in quotes, as \"acfs.swap\""
                    ))
                };
                toml::Value::Table(table).try_into().map(Self::Range).map_err(error)
            }
            one => value(one).map(Self::One),
        }
    }
}

impl Axis {
    /// Its values, in order. A number that is whole is a whole one, however it is written.
    ///
    /// # Errors
    /// See [`AxisError`].
    pub fn values(&self) -> Result<Vec<Value>, AxisError> {
        let values = match self {
            Self::One(value) => vec![value.clone()],
            Self::List(values) => values.clone(),
            Self::Range(range) => range.values()?,
        };
        if values.is_empty() {
            return Err(AxisError::Empty);
        }
        let checked = |value: Value| match value {
            Value::Number(found) if !found.is_finite() => {
                Err(AxisError::Number { what: "value", found, expected: "a finite number" })
            }
            Value::Number(whole) if whole.fract() == 0.0 && whole.abs() < WHOLE => {
                Ok(Value::Whole(whole as i64))
            }
            Value::Together(names) if names.is_empty() => Err(AxisError::Empty),
            other => Ok(other),
        };
        values.into_iter().map(checked).collect()
    }
}

impl Range {
    fn values(&self) -> Result<Vec<Value>, AxisError> {
        let Self { from, to, step, count, log } = *self;
        for (what, found) in [("from", from), ("to", to)] {
            if !found.is_finite() || (log && found <= 0.0) {
                let expected =
                    if log { "a number above 0 in a log range" } else { "a finite number" };
                return Err(AxisError::Number { what, found, expected });
            }
        }
        if from > to {
            return Err(AxisError::Backwards { from, to });
        }
        let at = |part: f64| match log {
            true => (from.ln() + (to.ln() - from.ln()) * part).exp(),
            false => from + (to - from) * part,
        };
        match (step, count) {
            (Some(step), None) if !log => {
                if !(step.is_finite() && step > 0.0) {
                    let (what, expected) = ("step", "a number above 0");
                    return Err(AxisError::Number { what, found: step, expected });
                }
                // What is left by rounding is not to cost the last value.
                let steps = ((to - from) / step + 1e-9).floor();
                if steps >= MOST_VALUES as f64 {
                    return Err(AxisError::Many);
                }
                Ok((0..=steps as u64).map(|i| number(from + step * i as f64)).collect())
            }
            (None, Some(count)) => {
                if count as usize > MOST_VALUES {
                    return Err(AxisError::Many);
                }
                if count < 2 && from < to || count == 0 {
                    let (what, found) = ("count", f64::from(count));
                    let expected = "2 or more";
                    return Err(AxisError::Number { what, found, expected });
                }
                let last = f64::from(count - 1).max(1.0);
                Ok((0..count)
                    .map(|i| match i {
                        // The ends are as they were written.
                        0 => number(from),
                        _ if i + 1 == count => number(to),
                        _ => number(at(f64::from(i) / last)),
                    })
                    .collect())
            }
            _ => Err(AxisError::HowMany),
        }
    }
}

/// A number as a whole one, where it is.
fn number(number: f64) -> Value {
    // To twelve places: a tenth three times is to be 0.3.
    let rounded = match number {
        _ if number == 0.0 => 0.0,
        _ => {
            let scale = 10.0_f64.powi(12 - number.abs().log10().ceil() as i32);
            let rounded = (number * scale).round() / scale;
            if rounded.is_finite() { rounded } else { number }
        }
    };
    if rounded.fract() == 0.0 && rounded.abs() < WHOLE {
        Value::Whole(rounded as i64)
    } else {
        Value::Number(rounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Result<Vec<Value>, AxisError> {
        #[derive(Deserialize)]
        struct Document {
            axis: Axis,
        }
        toml::from_str::<Document>(&format!("axis = {text}")).unwrap().axis.values()
    }

    fn numbers(text: &str) -> Vec<f64> {
        let number = |value: Value| match value {
            Value::Whole(number) => number as f64,
            Value::Number(number) => number,
            other => panic!("{other:?}"),
        };
        values(text).unwrap().into_iter().map(number).collect()
    }

    #[test]
    fn ranges_have_both_ends_and_numbers_as_people_write_them() {
        assert_eq!(numbers("{ from = 0, to = 0.5, step = 0.1 }"), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]);
        assert_eq!(numbers("{ from = 100, to = 1000, step = 400 }"), [100.0, 500.0, 900.0]);
        assert_eq!(
            numbers("{ from = 1, to = 1000, count = 4, log = true }"),
            [1.0, 10.0, 100.0, 1000.0]
        );
        assert_eq!(numbers("{ from = 3, to = 3, count = 1 }"), [3.0]);
        assert_eq!(
            values("{ from = 1, to = 2, count = 2 }").unwrap(),
            [Value::Whole(1), Value::Whole(2)]
        );
    }

    #[test]
    fn lists_hold_words_numbers_and_what_goes_together() {
        let together = Value::Together(vec!["mcf".into(), "gobmk".into()]);
        assert_eq!(values("[\"ferret\", [\"mcf\", \"gobmk\"]]").unwrap()[1], together);
        assert_eq!(values("\"acfs\"").unwrap(), [Value::Word("acfs".into())]);
        let numbers = [Value::Whole(1), Value::Number(1.5), Value::Whole(2), Value::Flag(true)];
        assert_eq!(values("[1, 1.5, 2.0, true]").unwrap(), numbers);
    }

    #[test]
    fn what_has_no_values_says_why() {
        let error = |text: &str| values(text).unwrap_err().to_string();
        assert_eq!(error("[]"), "no value found, expected one or more");
        assert_eq!(
            error("{ from = 2, to = 1, step = 1 }"),
            "from 2 to 1 found, expected from <= to"
        );
        assert_eq!(error("{ from = 0, to = 1 }"), "expected one of step and count");
        assert_eq!(
            error("{ from = 0, to = 1, step = 0 }"),
            "step 0 found, expected a number above 0"
        );
        let log = error("{ from = 0, to = 1, count = 3, log = true }");
        assert_eq!(log, "from 0 found, expected a number above 0 in a log range");
        assert_eq!(error("{ from = 0, to = 1, step = 1e-9 }"), "more than 1000000 values");
    }
}
