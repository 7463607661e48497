//! Knobs: the parameters of a policy, with defaults, units and bounds, set by name.

use std::collections::BTreeMap;
use std::fmt;

use evenkeel_machine::{Nanos, split_time};

/// The value of a knob.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, in the knob's unit.
    Number(f64),
    /// One of a set of words.
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// Description of a knob.
#[derive(Clone, Copy, Debug)]
pub enum Knob {
    /// A number within bounds.
    Number {
        /// Name, as in `--set name=value`.
        name: &'static str,
        /// Default.
        default: f64,
        /// Least and greatest value.
        bounds: (f64, f64),
        /// Unit, or an empty string.
        unit: &'static str,
        /// What it does, and where its default comes from.
        about: &'static str,
    },
    /// One of a set of words; the first is the default.
    Word {
        /// Name, as in `--set name=value`.
        name: &'static str,
        /// Possible values, the default first.
        words: &'static [&'static str],
        /// What it does.
        about: &'static str,
    },
}

impl Knob {
    /// Name, as in `--set name=value`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Number { name, .. } | Self::Word { name, .. } => name,
        }
    }

    /// What it does.
    pub const fn about(&self) -> &'static str {
        match self {
            Self::Number { about, .. } | Self::Word { about, .. } => about,
        }
    }

    /// The knob's default value.
    pub fn default(&self) -> Value {
        match self {
            Self::Number { default, .. } => Value::Number(*default),
            Self::Word { words, .. } => Value::Word(words[0]),
        }
    }

    fn parse(&self, text: &str) -> Result<Value, String> {
        match self {
            Self::Number { bounds: (least, greatest), unit, .. } => {
                let expected = || {
                    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                    format!("expected a number from {least} to {greatest}{unit}")
                };
                let number =
                    in_unit(text, unit).filter(|number| (*least..=*greatest).contains(number));
                number.map(Value::Number).ok_or_else(expected)
            }
            Self::Word { words, .. } => words
                .iter()
                .find(|word| **word == text)
                .map(|word| Value::Word(word))
                .ok_or_else(|| format!("expected one of {}", words.join(", "))),
        }
    }
}

/// A number given in a unit: without a suffix it is in `unit`; a time may have any unit of time,
/// other numbers their own unit.
fn in_unit(text: &str, unit: &str) -> Option<f64> {
    match split_time(text) {
        // Division is exact where multiplication is not.
        Some((number, ns)) if unit == "ms" => Some(number.parse::<f64>().ok()? * ns / 1e6),
        _ => text.strip_suffix(unit).unwrap_or(text).trim_end().parse().ok(),
    }
}

/// A knob that does not exist, or a value that it does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnobError {
    /// No such knob.
    #[error("{policy} has no knob '{name}'; it has {known}")]
    Unknown {
        /// Policy.
        policy: String,
        /// As asked for.
        name: String,
        /// The knobs that exist, for people.
        known: String,
    },
    /// A value that the knob does not accept.
    #[error("knob {name} of {policy}: '{text}' found, {expected}")]
    Bad {
        /// Policy.
        policy: String,
        /// Knob.
        name: String,
        /// As given.
        text: String,
        /// Description of accepted values.
        expected: String,
    },
}

/// Every knob of one policy, with the value in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knobs(BTreeMap<&'static str, Value>);

impl Knobs {
    /// The defaults of `known`, overridden by `set` (name, value); the last of several wins.
    ///
    /// # Errors
    /// A name that is not known, a value that does not fit.
    pub fn new(policy: &str, known: &[Knob], set: &[(String, String)]) -> Result<Self, KnobError> {
        let mut values: BTreeMap<_, _> =
            known.iter().map(|knob| (knob.name(), knob.default())).collect();
        for (name, text) in set {
            let knob = known.iter().find(|knob| knob.name() == name).ok_or_else(|| {
                KnobError::Unknown {
                    policy: policy.into(),
                    name: name.clone(),
                    known: match known {
                        [] => "none".into(),
                        _ => known.iter().map(Knob::name).collect::<Vec<_>>().join(", "),
                    },
                }
            })?;
            let value = knob.parse(text).map_err(|expected| KnobError::Bad {
                policy: policy.into(),
                name: name.clone(),
                text: text.clone(),
                expected,
            })?;
            values.insert(knob.name(), value);
        }
        Ok(Self(values))
    }

    /// A number. Panics if the policy did not declare the knob, which is a bug in the policy.
    pub fn number(&self, name: &str) -> f64 {
        match self.0.get(name) {
            Some(Value::Number(number)) => *number,
            other => unreachable!("knob {name} is {other:?}, not a number"),
        }
    }

    /// A number of milliseconds, as time.
    pub fn millis(&self, name: &str) -> Nanos {
        Nanos((self.number(name) * 1e6) as u64)
    }

    /// A word. Panics as [`Knobs::number`] does.
    pub fn word(&self, name: &str) -> &'static str {
        match self.0.get(name) {
            Some(Value::Word(word)) => word,
            other => unreachable!("knob {name} is {other:?}, not a word"),
        }
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(unit: &'static str, text: &str) -> Result<Value, String> {
        Knob::Number { name: "knob", default: 1.0, bounds: (0.1, 1000.0), unit, about: "" }
            .parse(text)
    }

    #[test]
    fn a_number_may_have_its_unit_after_it() {
        for text in ["850", "850ms", "850 ms", "0.85s", "850000us", "850000µs", "850000000ns"] {
            assert_eq!(value("ms", text), Ok(Value::Number(850.0)), "{text}");
        }
        assert_eq!(value("ms", "100000ns"), Ok(Value::Number(0.1)));
        assert_eq!(value("ms", "0.01min"), Ok(Value::Number(600.0)));
        assert_eq!(value("%", "20%"), Ok(Value::Number(20.0)));
        assert_eq!(value("", "1.5"), Ok(Value::Number(1.5)));
    }

    #[test]
    fn another_unit_and_what_is_beyond_the_bounds_are_refused() {
        for (unit, text) in [
            ("ms", "5%"),
            ("ms", "ms"),
            ("ms", "2s"),
            ("ms", "1us"),
            ("ms", "nan"),
            ("ms", "-5ms"),
            ("", "3s"),
            ("%", "infinity"),
        ] {
            let why = value(unit, text).unwrap_err();
            assert!(why.starts_with("expected a number from 0.1 to 1000"), "{text}: {why}");
        }
    }
}
