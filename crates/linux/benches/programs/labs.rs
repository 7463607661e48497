//! The two labs, and what is ordered of a round in one.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::catalog::Program;
use super::ways::{Candidate, How};

/// A lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lab {
    /// `evenkeel lab`: a real-time thread makes CPUs of this host slow.
    Affinity,
    /// `evenkeel vm`: a guest on emulated cores with shares.
    Vm,
}

impl Lab {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Affinity, Self::Vm];

    /// Its name here.
    pub fn name(self) -> &'static str {
        match self {
            Self::Affinity => "affinity",
            Self::Vm => "vm",
        }
    }

    /// Of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|lab| lab.name() == name)
            .ok_or_else(|| format!("'{name}' is no lab, affinity and vm are"))
    }
}

/// A round in a lab.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// Where.
    pub lab: Lab,
    /// Its cores, as they are asked for.
    pub cores: String,
    /// For the rows.
    pub setting: String,
    /// From 1.
    pub round: usize,
    /// Names of programs.
    pub programs: Vec<String>,
    /// What is compared with the kernel alone.
    pub candidates: Vec<Candidate>,
    /// Programs count CPUs themselves, and are not told a number of threads.
    pub counts_itself: bool,
    /// Inputs are so many times as large.
    pub size: f64,
    /// More options of `run` and `schedule`.
    pub options: String,
    /// The binary, in the lab.
    pub evenkeel: String,
}

/// What the program is begun with in a lab.
pub const INSIDE: &str = "--inside";

impl Order {
    /// As arguments, after [`INSIDE`].
    pub fn words(&self) -> Vec<String> {
        let candidates: Vec<String> =
            self.candidates.iter().map(|it| How::Candidate(it.clone()).to_string()).collect();
        vec![
            self.lab.name().to_owned(),
            self.cores.clone(),
            self.setting.clone(),
            self.round.to_string(),
            self.programs.join(" "),
            candidates.join(" "),
            self.counts_itself.to_string(),
            self.size.to_string(),
            self.options.clone(),
            self.evenkeel.clone(),
        ]
    }

    /// From such arguments.
    ///
    /// # Errors
    /// They are not those.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let [
            lab,
            cores,
            setting,
            round,
            programs,
            candidates,
            counts_itself,
            size,
            options,
            evenkeel,
        ] = words
        else {
            return Err(format!("{} arguments after {INSIDE}, expected 10", words.len()));
        };
        let refused = |what: &str| format!("'{what}' is not what {INSIDE} takes there");
        let candidate = |text: &str| match text.parse()? {
            How::Candidate(candidate) => Ok(candidate),
            How::Kernel => Err(refused(text)),
        };
        Ok(Self {
            lab: Lab::named(lab)?,
            cores: cores.clone(),
            setting: setting.clone(),
            round: round.parse().map_err(|_| refused(round))?,
            programs: programs.split_whitespace().map(str::to_owned).collect(),
            candidates: candidates
                .split_whitespace()
                .map(candidate)
                .collect::<Result<_, String>>()?,
            counts_itself: counts_itself.parse().map_err(|_| refused(counts_itself))?,
            size: size.parse().map_err(|_| refused(size))?,
            options: options.clone(),
            evenkeel: evenkeel.clone(),
        })
    }
}

/// What labs need of this host.
pub struct Host {
    /// The binary.
    pub evenkeel: String,
    /// A folder with the program that is compiled here.
    pub compiled: PathBuf,
    /// Kernel of the guest.
    pub kernel: String,
}

impl Host {
    /// The command that has the round.
    ///
    /// # Errors
    /// Something is missing.
    pub fn command(&self, order: &Order, programs: &[&Program]) -> Result<Command, String> {
        let own = env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let mut command = Command::new(&self.evenkeel);
        match order.lab {
            Lab::Affinity => {
                command
                    .args(["lab", "--force", "--slow", &order.cores, "--"])
                    .arg(&own)
                    .arg(INSIDE)
                    .args(order.words());
                let path = env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
                let folders = [self.compiled.clone()].into_iter().chain(env::split_paths(&path));
                command.env(
                    "PATH",
                    env::join_paths(folders).map_err(|error| format!("PATH: {error}"))?,
                );
                // Others' schedulers on this host are none of ours.
                command.env("EVENKEEL_RUNTIME_DIR", self.compiled.join("runtime"));
            }
            Lab::Vm => {
                command.args([
                    "vm",
                    "--cores",
                    &order.cores,
                    "--kernel",
                    &self.kernel,
                    "--memory",
                    "4G",
                    "--timeout",
                    "600min",
                ]);
                let mut inside = order.clone();
                "/bin/evenkeel".clone_into(&mut inside.evenkeel);
                command.arg("--with").arg(placed(Path::new(&self.evenkeel), "/bin/evenkeel"));
                command.arg("--with").arg(placed(&own, "/bin/programs"));
                let mut packed: Vec<OsString> = Vec::new();
                for name in programs.iter().flat_map(|program| program.commands) {
                    packed.extend(self.packed(name)?);
                }
                command.args(packed).args(["--", "/bin/programs", INSIDE]).args(inside.words());
            }
        }
        Ok(command)
    }

    /// Arguments of `vm` that have a command in the guest with all that it loads later.
    fn packed(&self, name: &str) -> Result<Vec<OsString>, String> {
        let with = |what: OsString| [OsString::from("--with"), what];
        let file = |path: &Path| [OsString::from("--file"), placed(path, &path.to_string_lossy())];
        let same = |path: &Path| with(placed(path, &path.to_string_lossy()));
        Ok(match name {
            "static_loop" => with(self.compiled.join(name).into_os_string()).to_vec(),
            // A script that calls what is here, which loads its formats from beside it.
            "7z" => {
                let folder = Path::new("/usr/lib/p7zip");
                [
                    same(Path::new("/usr/bin/7z")),
                    same(&folder.join("7z")),
                    same(&folder.join("7z.so")),
                ]
                .concat()
            }
            "gcc" => {
                let compiler = printed("gcc", &["-print-prog-name=cc1"])?;
                let header = file(Path::new("/usr/include/stdc-predef.h"));
                [
                    same(Path::new("/usr/bin/gcc")),
                    same(Path::new(&compiler)),
                    same(Path::new("/usr/bin/as")),
                    header,
                ]
                .concat()
            }
            "/usr/bin/python3" => {
                let asked = "import sys, sysconfig, os; print(sysconfig.get_path('stdlib')); \
                             sys.path = [it for it in sys.path if 'dist-packages' in it]; \
                             print(*[os.path.join(it, 'numpy') for it in sys.path if \
                             os.path.isdir(os.path.join(it, 'numpy'))])";
                let folders = printed(name, &["-c", asked])?;
                let mut packed = same(Path::new(name)).to_vec();
                for folder in folders.split_whitespace().map(Path::new) {
                    packed.extend(file(folder));
                    for library in libraries_in(folder) {
                        packed.extend(same(&library));
                    }
                }
                packed
            }
            _ => with(name.into()).to_vec(),
        })
    }
}

/// `HOST=GUEST-PATH`.
fn placed(host: &Path, guest: &str) -> OsString {
    let mut word = host.as_os_str().to_owned();
    word.push("=");
    word.push(guest);
    word
}

fn printed(command: &str, args: &[&str]) -> Result<String, String> {
    let output =
        Command::new(command).args(args).output().map_err(|error| format!("{command}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!(
            "{command} {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// Modules in a folder of Python's, whose libraries the guest has to have, too.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.is_symlink() {
            found.extend(libraries_in(&path));
        } else if path.extension().is_some_and(|extension| extension == "so") && !path.is_symlink()
        {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let order = Order {
            lab: Lab::Vm,
            cores: "2@60+2@20".into(),
            setting: "0123".into(),
            round: 7,
            programs: vec!["xz".into(), "7z".into()],
            candidates: ["run/affinity/acfs", "schedule/sched_ext/age:swap=4"]
                .map(|text| match text.parse().unwrap() {
                    How::Candidate(candidate) => candidate,
                    How::Kernel => unreachable!(),
                })
                .to_vec(),
            counts_itself: false,
            size: 0.25,
            options: "--budget 20".into(),
            evenkeel: "/bin/evenkeel".into(),
        };
        assert_eq!(Order::parse(&order.words()), Ok(order.clone()));
        assert!(Order::parse(&order.words()[1..]).is_err());
    }
}
