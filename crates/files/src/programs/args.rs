//! How a built-in workload is asked for: `name[:argument[,argument…]]`, where an argument is a
//! shape (`tasks`), a knob (`loops=100`), or a bare number, which stands for `threads=`. No
//! character of it needs quoting in a shell.

use super::KnobInfo;
use super::error::WorkloadError;

/// The most threads that one knob may ask for.
const MOST_THREADS: u32 = 65_536;

/// What was asked of one built-in workload, before its builder has looked at it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Args {
    workload: String,
    shape: Option<String>,
    knobs: Vec<(String, String)>,
}

impl Args {
    /// Takes `name:arguments` apart. What is neither a number nor `key=value` is taken for a shape.
    pub(super) fn parse(spec: &str) -> Result<Self, WorkloadError> {
        let (workload, rest) =
            spec.split_once(':').map_or((spec, None), |(name, rest)| (name, Some(rest)));
        let mut args = Self { workload: workload.to_owned(), shape: None, knobs: Vec::new() };
        for argument in rest.into_iter().flat_map(|rest| rest.split(',')).map(str::trim) {
            if let Some((key, value)) = argument.split_once('=') {
                args.add_knob(key.trim(), value.trim())?;
            } else if argument.bytes().all(|byte| byte.is_ascii_digit()) && !argument.is_empty() {
                args.add_knob("threads", argument)?;
            } else if args.shape.is_none() && !argument.is_empty() {
                args.shape = Some(argument.to_owned());
            } else {
                return Err(WorkloadError::Argument {
                    workload: args.workload,
                    argument: argument.to_owned(),
                });
            }
        }
        Ok(args)
    }

    fn add_knob(&mut self, key: &str, value: &str) -> Result<(), WorkloadError> {
        if self.knobs.iter().any(|(known, _)| known == key) {
            return Err(WorkloadError::Argument {
                workload: self.workload.clone(),
                argument: format!("{key}={value} (a second time)"),
            });
        }
        self.knobs.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    /// The name before the colon.
    pub(super) fn workload(&self) -> &str {
        &self.workload
    }

    /// The shape asked for.
    pub(super) fn shape(&self) -> Option<&str> {
        self.shape.as_deref()
    }

    /// Without knobs whose value is their default as a word (`at_once=all`), as if they had not
    /// been given. A number stays: one given here overrides the number of workers of the whole
    /// command.
    pub(super) fn without_defaults_in_words(mut self, infos: &[KnobInfo]) -> Self {
        let is_default = |key: &str, value: &str| {
            infos.iter().any(|info| {
                info.name == key && info.default == value && value.parse::<f64>().is_err()
            })
        };
        self.knobs.retain(|(key, value)| !is_default(key, value));
        self
    }

    /// Checks that every knob is one of `known` and the shape, if any, one of `shapes`.
    pub(super) fn check(&self, shapes: &[&str], known: &[&str]) -> Result<(), WorkloadError> {
        if let Some(shape) = self.shape().filter(|shape| !shapes.contains(shape)) {
            return Err(WorkloadError::Shape {
                workload: self.workload.clone(),
                found: shape.to_owned(),
                expected: or_none(shapes),
            });
        }
        match self.knobs.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, _)) => Err(WorkloadError::UnknownKnob {
                workload: self.workload.clone(),
                found: key.clone(),
                expected: or_none(known),
            }),
            None => Ok(()),
        }
    }

    /// A whole number of a knob, within bounds; `default` where it was not given.
    pub(super) fn whole(
        &self,
        key: &str,
        default: u64,
        least: u64,
        most: u64,
    ) -> Result<u64, WorkloadError> {
        Ok(self.optional_whole(key, least, most)?.unwrap_or(default.clamp(least, most)))
    }

    /// A whole number of a knob, within bounds, where it was given.
    pub(super) fn optional_whole(
        &self,
        key: &str,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, WorkloadError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = whole_number(value).filter(|number| (least..=most).contains(number));
        let expected = || {
            if least == most {
                most.to_string()
            } else {
                format!("a whole number from {least} to {most}")
            }
        };
        number.map(Some).ok_or_else(|| self.bad(key, value, expected()))
    }

    /// As [`Args::whole`], where the bounds fit a `u32`.
    pub(super) fn count(
        &self,
        key: &str,
        default: u32,
        least: u32,
        most: u32,
    ) -> Result<u32, WorkloadError> {
        let number = self.whole(key, default.into(), least.into(), most.into())?;
        Ok(u32::try_from(number).unwrap_or(most))
    }

    /// The number of threads, at least one.
    pub(super) fn threads(&self, default: u32) -> Result<u32, WorkloadError> {
        self.count("threads", default, 1, MOST_THREADS)
    }

    /// A number above 0 and up to `most`; `default` where it was not given.
    pub(super) fn positive(
        &self,
        key: &str,
        default: f64,
        most: f64,
    ) -> Result<f64, WorkloadError> {
        let Some(value) = self.get(key) else { return Ok(default) };
        let number = value.parse::<f64>().ok().filter(|number| *number > 0.0 && *number <= most);
        number.ok_or_else(|| self.bad(key, value, format!("a number above 0 and up to {most}")))
    }

    /// A number within bounds; `default` where it was not given.
    pub(super) fn number(
        &self,
        key: &str,
        default: f64,
        least: f64,
        most: f64,
    ) -> Result<f64, WorkloadError> {
        let Some(value) = self.get(key) else { return Ok(default.clamp(least, most)) };
        let number = value.parse::<f64>().ok().filter(|number| (least..=most).contains(number));
        // Rounded down, so that the stated limit itself is allowed.
        let most = (1e3 * most).floor() / 1e3;
        number.ok_or_else(|| self.bad(key, value, format!("a number from {least} to {most}")))
    }

    /// One of some words; the first where it was not given.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T, WorkloadError> {
        let names = || words.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let value =
            self.get(key).or_else(|| words.first().map(|(name, _)| *name)).unwrap_or_default();
        let found = words.iter().find(|(name, _)| *name == value).map(|(_, meaning)| *meaning);
        found.ok_or_else(|| self.bad(key, value, format!("one of: {}", names())))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.knobs.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn bad(&self, key: &str, found: &str, expected: String) -> WorkloadError {
        WorkloadError::Knob {
            workload: self.workload.clone(),
            knob: key.to_owned(),
            found: found.to_owned(),
            expected,
        }
    }
}

/// A whole number in any of the forms in which large ones are written: `1000000000`,
/// `1_000_000_000`, `1e9`.
fn whole_number(text: &str) -> Option<u64> {
    // Floats represent every whole number up to here exactly.
    const EXACT: f64 = (1_u64 << 53) as f64;
    let digits = text.replace('_', "");
    let in_powers_of_ten =
        || digits.parse().ok().filter(|it: &f64| it.fract() == 0.0 && (0.0..=EXACT).contains(it));
    digits.parse().ok().or_else(|| in_powers_of_ten().map(|number| number as u64))
}

fn or_none(words: &[&str]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_a_knob_and_a_bare_thread_count_are_told_apart() {
        let args = Args::parse("blackscholes:tasks,8,chunk=5").unwrap();
        assert_eq!((args.workload(), args.shape()), ("blackscholes", Some("tasks")));
        assert_eq!(args.threads(1).unwrap(), 8);
        assert_eq!(args.whole("chunk", 1, 1, 10).unwrap(), 5);
    }

    #[test]
    fn great_whole_numbers_are_read_as_people_write_them() {
        let read = |text: &str| {
            let args = Args::parse(&format!("x:k={text}")).unwrap();
            args.whole("k", 0, 0, u64::MAX).map_err(|error| error.to_string())
        };
        for billion in ["1000000000", "1_000_000_000", "1e9", "1E9", "0.1e10"] {
            assert_eq!(read(billion), Ok(1_000_000_000), "{billion}");
        }
        assert_eq!(read("18446744073709551615"), Ok(u64::MAX), "as integer, to the last digit");
        for none in ["1.5", "1e-1", "-1e9", "1e16", "1e400", "inf", "nan", "e9", "_", ""] {
            assert!(read(none).unwrap_err().contains("expected a whole number from 0"), "{none}");
        }
    }

    #[test]
    fn the_greatest_number_that_is_said_to_do_does() {
        let most = 0.95 * 2.0_f64.sqrt();
        let read =
            |text: &str| Args::parse(&format!("x:k={text}")).unwrap().number("k", 0.0, 0.0, most);
        assert_eq!(
            read("1.344").unwrap_err().to_string(),
            "x: k=1.344: expected a number from 0 to 1.343"
        );
        assert_eq!(read("1.343").unwrap(), 1.343);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for spec in ["x:", "x:a,b", "x:4,threads=5", "x:a,,"] {
            assert!(matches!(Args::parse(spec), Err(WorkloadError::Argument { .. })), "{spec}");
        }
        let args = Args::parse("x:k=99,f=nan,w=c").unwrap();
        let said = |result: Result<u64, WorkloadError>| result.unwrap_err().to_string();
        assert_eq!(said(args.whole("k", 1, 1, 9)), "x: k=99: expected a whole number from 1 to 9");
        assert_eq!(said(args.whole("k", 1, 9, 9)), "x: k=99: expected 9");
        assert!(args.positive("f", 1.0, 2.0).is_err());
        assert!(
            args.word("w", &[("a", 1), ("b", 2)]).unwrap_err().to_string().contains("one of: a, b")
        );
        assert!(args.check(&[], &["k", "f"]).unwrap_err().to_string().contains("no knob 'w'"));
    }
}
