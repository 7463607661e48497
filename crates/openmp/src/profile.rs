//! What was learned of a program, for its next run.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::layout::{KnownRow, MAX_KINDS, MAX_KNOWN, name_digest};
use crate::told::{Schedule, Told};

/// Version of the file. A file of another is refused.
const VERSION: u32 = 1;

/// A profile: static loops, and the speed of each kind of core in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    version: u32,
    /// Kinds of core, fastest first: a profile holds for machines of the same kinds.
    kinds: Vec<String>,
    objects: Vec<Object>,
}

/// A program or a library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    path: PathBuf,
    /// Of its bytes: after another build nothing is known of it.
    digest: String,
    loops: Vec<KnownLoop>,
}

/// A static loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownLoop {
    /// For people.
    place: String,
    /// Where in the object the region is.
    offset: u64,
    iterations: u64,
    /// Of each kind of the profile, relative to the fastest in this loop; 0: not known.
    speeds: Vec<f64>,
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("{}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// It is not of the form.
    #[error("{}: no profile of `evenkeel omp --learn`", .0.display())]
    Form(PathBuf, #[source] serde_json::Error),
    /// It is of another version.
    #[error("{}: version {found} found, expected {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: u32,
    },
    /// It was learned on a machine of other kinds.
    #[error("{}: learned on kinds {found}, and this machine has {expected}", path.display())]
    Kinds {
        /// The file.
        path: PathBuf,
        /// Its kinds.
        found: String,
        /// Those of the machine.
        expected: String,
    },
}

impl Profile {
    /// Of what processes told: loops that are divided by measured speeds.
    pub fn of(told: &[Told], kinds: &[String]) -> Self {
        let mut profile = Self { version: VERSION, kinds: kinds.to_vec(), objects: Vec::new() };
        for region in told.iter().flat_map(|process| &process.regions) {
            let loops = region
                .loops
                .iter()
                .filter(|of| of.schedule == Schedule::Static && of.phase.is_ours());
            for of in loops {
                profile.add(
                    &region.object,
                    KnownLoop {
                        place: region.place.clone(),
                        offset: region.offset,
                        iterations: of.trip,
                        speeds: relative(&of.shares[..kinds.len().min(MAX_KINDS)]),
                    },
                );
            }
        }
        profile
    }

    fn add(&mut self, path: &Path, new: KnownLoop) {
        let index = self.objects.iter().position(|object| object.path == path);
        let index = index.or_else(|| {
            let object = Object { path: path.to_owned(), digest: digest(path)?, loops: Vec::new() };
            self.objects.push(object);
            Some(self.objects.len() - 1)
        });
        let Some(object) = index.map(|index| &mut self.objects[index]) else { return };
        let is_new = |of: &KnownLoop| (of.offset, of.iterations) != (new.offset, new.iterations);
        if object.loops.iter().all(is_new) {
            object.loops.push(new);
        }
    }

    /// Loops that it has.
    pub fn loops(&self) -> usize {
        self.objects.iter().map(|object| object.loops.len()).sum()
    }

    /// As text.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Reads one for a machine of these kinds. What is known of objects that are no longer as they
    /// were is left out; their paths are returned.
    ///
    /// # Errors
    /// The file cannot be read, or is no profile for this machine.
    pub fn read(path: &Path, kinds: &[String]) -> Result<(Self, Vec<PathBuf>), ProfileError> {
        let bytes = fs::read(path).map_err(|error| ProfileError::Read(path.to_owned(), error))?;
        let mut profile: Self = serde_json::from_slice(&bytes)
            .map_err(|error| ProfileError::Form(path.to_owned(), error))?;
        if profile.version != VERSION {
            return Err(ProfileError::Version { path: path.to_owned(), found: profile.version });
        }
        if profile.kinds != kinds {
            return Err(ProfileError::Kinds {
                path: path.to_owned(),
                found: profile.kinds.join(", "),
                expected: kinds.join(", "),
            });
        }
        let is_current = |object: &Object| digest(&object.path).as_ref() == Some(&object.digest);
        let (current, others): (Vec<Object>, Vec<Object>) =
            profile.objects.into_iter().partition(is_current);
        profile.objects = current;
        Ok((profile, others.into_iter().map(|object| object.path).collect()))
    }

    /// For the library.
    pub(crate) fn rows(&self) -> Vec<KnownRow> {
        let loops =
            self.objects.iter().flat_map(|object| object.loops.iter().map(move |of| (object, of)));
        let row = |(object, of): (&Object, &KnownLoop)| {
            let mut speeds = [0; MAX_KINDS];
            for (speed, known) in speeds.iter_mut().zip(&of.speeds) {
                *speed = (known.clamp(0.0, 1.0) * 1e6) as u32;
            }
            let object = name_digest(object.path.as_os_str().as_encoded_bytes());
            KnownRow { object, offset: of.offset, trip: of.iterations, speeds }
        };
        loops.map(row).take(MAX_KNOWN).collect()
    }
}

/// Shares of threads as speeds: the fastest has 1.
fn relative(shares: &[f64]) -> Vec<f64> {
    let most = shares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    shares.iter().map(|share| share / most).collect()
}

fn digest(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(format!("{:016x}", crate::layout::digest(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::{Cost, Loop, Phase, Region};

    fn told(object: &Path, phase: Phase) -> Told {
        let none = Cost { executions: 1, each_ns: 1.0, waiting: 0.0 };
        let mut shares = [0.0; MAX_KINDS];
        shares[..2].copy_from_slice(&[0.75, 0.25]);
        let of = Loop {
            schedule: Schedule::Static,
            trip: 1000,
            phase,
            stock: none,
            ours: none,
            gain: None,
            shares,
        };
        let region = Region {
            object: object.to_owned(),
            offset: 0x1234,
            place: "main".to_owned(),
            source: String::new(),
            instances: 9,
            barriers: 0,
            threads: 2,
            loops: vec![of],
        };
        Told { process: 1, notes: Vec::new(), regions: vec![region] }
    }

    fn kinds() -> Vec<String> {
        vec!["P".to_owned(), "E".to_owned()]
    }

    #[test]
    fn a_profile_reads_back_and_holds_for_the_same_program_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (program, file) = (folder.path().join("program"), folder.path().join("profile"));
        fs::write(&program, "as it is").unwrap();
        let profile = Profile::of(&[told(&program, Phase::Frozen)], &kinds());
        assert_eq!(profile.loops(), 1);
        fs::write(&file, profile.to_json().unwrap()).unwrap();
        assert_eq!(Profile::read(&file, &kinds()).unwrap(), (profile, Vec::new()));
        let row = Profile::read(&file, &kinds()).unwrap().0.rows()[0];
        assert_eq!((row.trip, row.offset, row.speeds[0]), (1000, 0x1234, 1_000_000));
        assert_eq!(row.object, name_digest(b"program"));

        fs::write(&program, "compiled anew").unwrap();
        let (profile, others) = Profile::read(&file, &kinds()).unwrap();
        assert_eq!((profile.loops(), others), (0, vec![program]));
        let other = Profile::read(&file, &["big".to_owned()]);
        assert!(matches!(other, Err(ProfileError::Kinds { .. })));
        fs::write(&file, "{}").unwrap();
        assert!(matches!(Profile::read(&file, &kinds()), Err(ProfileError::Form(..))));
    }

    #[test]
    fn loops_that_are_left_alone_are_not_in_it() {
        let program = std::env::current_exe().unwrap();
        assert_eq!(Profile::of(&[told(&program, Phase::Balanced)], &kinds()).loops(), 0);
    }
}
