//! Machines that are built in, and machines by name or path.

use std::io::Read as _;
use std::path::Path;

use super::MAX_FILE_BYTES;
use super::error::MachineError;
use super::read::parse;
use evenkeel_machine::Machine;

/// A machine file that is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name: that of the file under `machines/`, and of the machine in it.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../../machines/", $name, ".toml")) }),*]
    };
}

/// Boards and chips first, then the machines of published studies.
const PRESETS: &[Preset] = presets![
    "odroid-xu3",
    "hikey960",
    "pixel6",
    "rk3588",
    "apple-m1",
    "juno-r0",
    "alder-lake",
    "odroid-xu3-paper",
    "odroid-xu3-mclas",
    "quickia",
    "amd-2b10s",
    "amp-1f7s",
    "amp-1f7s-4",
    "amp-1f7s-2",
    "amp-2f6s",
    "amp-2f6s-4",
    "amp-2f6s-2",
    "amp-4f4s",
    "amp-4f4s-4",
    "amp-4f4s-2",
    "amp-8f",
    "amp-8s",
];

/// Names no further apart than this (Jaro-Winkler, 1 = equal) are worth a mention.
const NEAR: f64 = 0.8;

/// How many near names an error mentions.
const MENTIONED: usize = 3;

/// Names longer than this resemble no preset: no distance is computed.
const LONGEST_NAME: usize = 64;

/// The machines that are built in.
pub const fn presets() -> &'static [Preset] {
    PRESETS
}

/// A built-in name as the list spells it, whatever its case; any other text unchanged.
pub fn canonical(name: &str) -> String {
    let is_it = |preset: &&Preset| preset.name.eq_ignore_ascii_case(name);
    let preset = PRESETS.iter().find(is_it).filter(|_| !Path::new(name).exists());
    preset.map_or(name, |preset| preset.name).to_owned()
}

/// A machine that is built in, whatever the case of its name.
///
/// # Errors
/// [`MachineError::Unknown`] where there is none of that name.
pub fn preset(name: &str) -> Result<Machine, MachineError> {
    // No two presets differ by case only: a test checks this.
    match PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(name)) {
        Some(preset) => parse(preset.text, &format!("machines/{}.toml", preset.name)),
        None => Err(MachineError::Unknown { name: name.to_owned(), near: near(name) }),
    }
}

/// A machine by the name of a preset, else by the path of a machine file, else by a preset's name
/// in another case.
///
/// # Errors
/// Neither a preset nor a file; a file that cannot be read, is not text, is longer than
/// [`MAX_FILE_BYTES`], or describes no machine.
pub fn load(name_or_path: &str) -> Result<Machine, MachineError> {
    if PRESETS.iter().any(|preset| preset.name == name_or_path) {
        return preset(name_or_path);
    }
    match read(Path::new(name_or_path)) {
        Err(MachineError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            preset(name_or_path)
        }
        text => parse(&text?, name_or_path),
    }
}

fn read(path: &Path) -> Result<String, MachineError> {
    let failed = |source| MachineError::Read { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more than the limit tells a file that is too long from one of exactly the limit.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(MachineError::TooLarge {
            file: path.display().to_string(),
            limit: MAX_FILE_BYTES,
        });
    }
    String::from_utf8(bytes).map_err(|error| {
        failed(std::io::Error::new(std::io::ErrorKind::InvalidData, error.utf8_error()))
    })
}

fn near(name: &str) -> Vec<&'static str> {
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let lower = name.to_ascii_lowercase();
    let similarity = |preset: &Preset| (strsim::jaro_winkler(&lower, preset.name), preset.name);
    let mut near: Vec<(f64, &'static str)> =
        PRESETS.iter().map(similarity).filter(|(near, _)| *near >= NEAR).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(MENTIONED).map(|(_, name)| name).collect()
}
