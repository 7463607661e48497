//! Reads small files under a root. A missing file gives nothing; one that cannot be read or
//! understood gives nothing and a problem.

use std::cell::RefCell;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::cpus::{parse_cpus, parse_mask, parse_number};

/// Greatest number of bytes that are read of a file. A page holds any attribute of sysfs;
/// `/proc/cpuinfo` has some kilobytes per CPU.
const MAX_BYTES: u64 = 1 << 24;

/// Greatest number of problems that are kept. A damaged tree has the same one for each CPU.
const MAX_PROBLEMS: usize = 20;

/// Greatest number of characters of a file that a problem quotes.
const SHOWN: usize = 30;

/// A folder that stands for `/sys`.
pub(super) struct Tree {
    root: PathBuf,
    problems: RefCell<Vec<String>>,
}

impl Tree {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), problems: RefCell::default() }
    }

    /// The problems: files that could not be read or understood.
    pub fn into_problems(self) -> Vec<String> {
        let mut problems = self.problems.into_inner();
        let surplus = problems.len().saturating_sub(MAX_PROBLEMS);
        if surplus > 0 {
            problems.truncate(MAX_PROBLEMS);
            problems.push(format!("and {surplus} more files like these"));
        }
        problems
    }

    /// Notes that a file is not as expected.
    pub fn problem(&self, path: &str, what: &str) {
        self.problems.borrow_mut().push(format!("{path}: {what}"));
    }

    /// A file's text without blanks at its ends; `None` if it is missing, empty or not readable. A
    /// zero byte counts as a blank: some kernels end lists with one (hwloc's recording of a Kunpeng
    /// 920).
    pub fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let read = std::fs::File::open(self.root.join(path))
            .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
        match read {
            Ok(_) => {}
            // A CPU that goes offline meanwhile takes its files along: ENODEV, or ENXIO.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return None;
            }
            Err(error) => {
                self.problem(path, &format!("cannot be read ({error}): not used"));
                return None;
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
                Some(text.to_owned()).filter(|text| !text.is_empty())
            }
            Err(_) => {
                self.problem(path, "no text found: not used");
                None
            }
        }
    }

    /// A whole number from 1 to `most`.
    pub fn number(&self, path: &str, most: u64) -> Option<u64> {
        let text = self.text(path)?;
        match text.parse::<u64>() {
            Ok(number) if (1..=most).contains(&number) => Some(number),
            _ => {
                self.problem(
                    path,
                    &format!(
                        "'{}' found, expected a number from 1 to {most}: not used",
                        shown(&text)
                    ),
                );
                None
            }
        }
    }

    /// Whole numbers from 1 to `most`, ascending, without duplicates; `None` if there are none.
    pub fn numbers(&self, path: &str, most: u64) -> Option<Vec<u64>> {
        let text = self.text(path)?;
        let mut numbers = Vec::new();
        for word in text.split_whitespace() {
            match word.parse::<u64>() {
                Ok(number) if (1..=most).contains(&number) => numbers.push(number),
                _ => {
                    let found = shown(word);
                    self.problem(
                        path,
                        &format!(
                            "'{found}' found, expected numbers from 1 to {most}: it is left out"
                        ),
                    );
                }
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Some(numbers).filter(|numbers| !numbers.is_empty())
    }

    /// A list of CPUs, ascending; `None` if the file is missing, empty or not a list.
    pub fn cpus(&self, path: &str) -> Option<Vec<u32>> {
        match parse_cpus(&self.text(path)?) {
            Ok(mut cpus) => {
                cpus.sort_unstable();
                Some(cpus)
            }
            Err(error) => {
                self.problem(path, &format!("{error}: not used"));
                None
            }
        }
    }

    /// CPUs of a list or, for kernels that lack it, of the corresponding mask; ascending.
    pub fn cpus_or_mask(&self, list: &str, mask: &str) -> Option<Vec<u32>> {
        self.cpus(list).or_else(|| {
            let text = self.text(mask)?;
            let cpus = parse_mask(&text);
            if cpus.is_none() {
                let found = shown(&text);
                self.problem(
                    mask,
                    &format!("'{found}' found, expected a mask, as 0000000f: not used"),
                );
            }
            cpus.filter(|cpus| !cpus.is_empty())
        })
    }

    /// A register, as the kernel prints it: `0x00000000411fd050`.
    pub fn register(&self, path: &str) -> Option<u64> {
        let text = self.text(path)?;
        let value = parse_number(&text);
        if value.is_none() {
            self.problem(
                path,
                &format!("'{}' found, expected a number, as 0x411fd050: not used", shown(&text)),
            );
        }
        value
    }

    /// The text of `/proc/cpuinfo`. It is beside the root if that is a folder named `sys`, as in a
    /// recording of a machine.
    pub fn cpuinfo(&self) -> Option<String> {
        let beside = self.root.file_name().is_some_and(|name| name == "sys");
        beside.then(|| self.text("../proc/cpuinfo")).flatten()
    }

    /// A size in bytes, written as for caches: `512K`.
    pub fn size(&self, path: &str) -> Option<u64> {
        let text = self.text(path)?;
        let size = parse_size(&text);
        if size.is_none() {
            self.problem(
                path,
                &format!("'{}' found, expected a size, as 512K: not used", shown(&text)),
            );
        }
        size
    }

    /// Names in a folder, in the order of the numbers in them: `hwmon2` before `hwmon10`.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = match std::fs::read_dir(self.root.join(path)) {
            Ok(entries) => entries,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Vec::new();
            }
            Err(error) => {
                self.problem(path, &format!("cannot be listed ({error}): not used"));
                return Vec::new();
            }
        };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by_cached_key(|name| natural(name));
        names
    }
}

/// The largest plausible cache, bytes: the most that a machine file may state.
const MAX_CACHE_BYTES: u64 = 1_000_000_000 * 1_024;

/// A size with sysfs's unit for caches, `K`, or a larger one. `None` if it exceeds what a machine
/// file may state.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (1..=MAX_CACHE_BYTES).contains(&bytes).then_some(bytes)
}

/// A sort key that compares the numbers in a name by value: text and numbers alternate.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let (text, after) =
            rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let (digits, after) =
            after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len()));
        key.push((text.to_owned(), digits.parse().unwrap_or(0)));
        rest = after;
    }
    key
}

/// The text, shortened and on one line.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).collect();
    short.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_are_read_as_sysfs_writes_them() {
        assert_eq!(parse_size("512K"), Some(512 << 10));
        assert_eq!(parse_size("2048K"), Some(2 << 20));
        assert_eq!(parse_size("30M"), Some(30 << 20));
        assert_eq!(parse_size("1G"), Some(1 << 30));
        assert_eq!(parse_size("64"), Some(64));
        for text in [
            "",
            "K",
            "-1K",
            "0K",
            "+5K",
            "1.5M",
            "12KB",
            "99999999999999999999K",
            "18446744073709551615G",
            "é",
        ] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn names_with_numbers_are_in_the_order_of_the_numbers() {
        let mut names =
            ["hwmon10", "hwmon2", "intel-rapl:1", "intel-rapl:0:1", "intel-rapl:0", "hwmon1"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(
            names,
            ["hwmon1", "hwmon2", "hwmon10", "intel-rapl:0", "intel-rapl:0:1", "intel-rapl:1"]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_met_with_a_size_within_bounds_or_none(text in "\\PC*|[0-9]{0,24}[KMGT]?") {
            if let Some(size) = parse_size(&text) {
                prop_assert!((1..=MAX_CACHE_BYTES).contains(&size));
            }
        }
    }
}
