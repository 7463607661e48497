//! Debian's archive, through a private apt: configuration, lists and packages are all under one
//! folder of the cache.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use super::{Release, mirror};
use crate::error::VmError;

/// Suites, besides the host's own, whose kernels are new enough.
const SUITES: [&str; 2] = ["trixie-backports", "sid"];
/// Debian's keys.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Environment variable: the mirror to fetch from instead of the host's.
pub const MIRROR_VARIABLE: &str = "EVENKEEL_DEBIAN_MIRROR";
/// The age from which lists of packages are fetched again.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// A private apt.
pub struct Archive {
    folder: PathBuf,
    mirror: String,
}

/// A kernel of the archive, and the package that has its image and its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Which.
    pub release: Release,
    /// The package with its image.
    pub image: String,
    /// The package with its configuration; `None`: the configuration is in the image's package, or,
    /// if `is_split`, is missing.
    pub config: Option<String>,
    /// True if image and configuration are in packages of their own, as from 6.19 on.
    pub is_split: bool,
}

impl Archive {
    /// Sets it up in this folder.
    ///
    /// # Errors
    /// The folder cannot be written, Debian's keys are missing.
    pub fn open(folder: &Path) -> Result<Self, VmError> {
        if !Path::new(KEYRING).exists() {
            return Err(VmError::NotInstalled {
                program: KEYRING,
                package: "debian-archive-keyring",
            });
        }
        let mirror = std::env::var(MIRROR_VARIABLE)
            .unwrap_or_else(|_| mirror::of_host(Path::new("/etc/apt")));
        let archive = Self { folder: folder.to_owned(), mirror };
        for part in ["lists/partial", "cache/archives/partial"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).map_err(VmError::file(&part))?;
        }
        let source = |suite: &str| {
            format!("deb [arch=amd64 signed-by={KEYRING}] {} {suite} main\n", archive.mirror)
        };
        archive.write("sources.list", &SUITES.map(source).concat())?;
        archive.write("status", "")?;
        archive.write("apt.conf", &archive.configuration())?;
        Ok(archive)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), VmError> {
        let file = self.folder.join(name);
        fs::write(&file, text).map_err(VmError::file(&file))
    }

    /// Uses the host's settings for the network (proxies, certificates), and not its sources, its
    /// state or its hooks.
    fn configuration(&self) -> String {
        let at = |name: &str| self.folder.join(name).display().to_string();
        format!(
            "#clear APT::Update::Pre-Invoke;\n\
             #clear APT::Update::Post-Invoke;\n\
             #clear APT::Update::Post-Invoke-Success;\n\
             #clear DPkg::Post-Invoke;\n\
             #clear APT::Architectures;\n\
             APT::Architecture \"amd64\";\n\
             APT::Architectures \"amd64\";\n\
             APT::Sandbox::User \"root\";\n\
             APT::Default-Release \"\";\n\
             Dir::Etc::SourceList \"{}\";\n\
             Dir::Etc::SourceParts \"/dev/null\";\n\
             Dir::Etc::Preferences \"/dev/null\";\n\
             Dir::Etc::PreferencesParts \"/dev/null\";\n\
             Dir::State::Lists \"{}\";\n\
             Dir::State::Status \"{}\";\n\
             Dir::Cache \"{}\";\n\
             Acquire::Languages \"none\";\n\
             Acquire::Retries \"2\";\n\
             Acquire::http::Timeout \"20\";\n\
             Acquire::https::Timeout \"20\";\n\
             Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
             Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled \"false\";\n",
            at("sources.list"),
            at("lists"),
            at("status"),
            at("cache"),
        )
    }

    /// The mirror that packages come from.
    pub fn place(&self) -> String {
        format!("{} ({})", SUITES.join(" and "), self.mirror)
    }

    /// True if the lists exist and are not too old.
    pub fn is_fresh(&self) -> bool {
        let age = || {
            SystemTime::now()
                .duration_since(fs::metadata(self.folder.join("updated")).ok()?.modified().ok()?)
                .ok()
        };
        age().is_some_and(|age| age < FRESH)
    }

    /// Fetches the lists of packages.
    ///
    /// # Errors
    /// No apt, no network, a mirror without these suites.
    pub fn refresh(&self) -> Result<(), VmError> {
        // Without `Error-Mode` apt only warns of lists that it could not fetch.
        let args = ["update", "-q", "-o", "APT::Update::Error-Mode=any"];
        self.apt(
            "apt-get",
            &self.folder,
            &args,
            &format!("cannot fetch lists of packages from {}", self.place()),
        )?;
        self.write("updated", "")
    }

    /// Kernels on the lists, oldest first.
    ///
    /// # Errors
    /// No apt.
    pub fn kernels(&self) -> Result<Vec<Listed>, VmError> {
        let pattern = "^linux-(image|binary|base)-[0-9]";
        let args = ["search", "--names-only", pattern];
        let text =
            self.apt("apt-cache", &self.folder, &args, "cannot read the lists of packages")?;
        Ok(listed(text.lines().filter_map(|line| line.split_whitespace().next())))
    }

    /// Fetches a package into a folder, and returns its path.
    ///
    /// # Errors
    /// No network, no such package.
    pub fn download(&self, package: &str, into: &Path) -> Result<PathBuf, VmError> {
        self.apt(
            "apt-get",
            into,
            &["download", "-q", package],
            &format!("cannot fetch {package} from {}", self.place()),
        )?;
        let start = format!("{package}_");
        let entries = fs::read_dir(into).map_err(VmError::file(into))?;
        let file =
            entries.flatten().find(|entry| entry.file_name().to_string_lossy().starts_with(&start));
        file.map(|entry| entry.path()).ok_or_else(|| VmError::Archive {
            what: format!("cannot fetch {package}"),
            said: "apt has left no file".to_owned(),
        })
    }

    fn apt(
        &self,
        tool: &'static str,
        folder: &Path,
        args: &[&str],
        what: &str,
    ) -> Result<String, VmError> {
        let mut command = Command::new(tool);
        command.arg("-c").arg(self.folder.join("apt.conf")).args(args).current_dir(folder);
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        let output = command.output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => VmError::NotInstalled { program: tool, package: "apt" },
            _ => VmError::System { what: "cannot start apt", error },
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said
            .lines()
            .find(|line| line.starts_with("E: "))
            .or(said.lines().next())
            .unwrap_or("it failed");
        let line = line.trim_start_matches("E: ").split_whitespace().collect::<Vec<_>>().join(" ");
        Err(VmError::Archive { what: what.to_owned(), said: line })
    }
}

/// The kernels that names of packages stand for.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Listed> {
    let (mut images, mut binaries, mut bases) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        for (start, kind) in [
            ("linux-image-", &mut images),
            ("linux-binary-", &mut binaries),
            ("linux-base-", &mut bases),
        ] {
            kind.extend(name.strip_prefix(start).and_then(Release::parse));
        }
    }
    // From 6.19 on the package linux-image is empty.
    images.retain(|release| !binaries.contains(release));
    let whole = images.into_iter().map(|release| Listed {
        image: format!("linux-image-{release}"),
        config: None,
        is_split: false,
        release,
    });
    let split = binaries.into_iter().map(|release| Listed {
        image: format!("linux-binary-{release}"),
        config: bases.contains(&release).then(|| format!("linux-base-{release}")),
        is_split: true,
        release,
    });
    let mut kernels: Vec<Listed> = whole.chain(split).collect();
    kernels.sort_by(|a, b| a.release.cmp(&b.release));
    kernels.dedup();
    kernels
}

/// The kernel whose configuration stands in for that of `release`, if that is gone: the next later
/// kernel that has one, or else the last before it.
pub fn stand_in<'a>(kernels: &'a [Listed], release: &Release) -> Option<&'a Listed> {
    let has_config = |kernel: &&Listed| !kernel.is_split || kernel.config.is_some();
    let alike =
        |kernel: &&Listed| has_config(kernel) && kernel.release.flavour() == release.flavour();
    let later = kernels.iter().filter(alike).find(|kernel| kernel.release > *release);
    later.or_else(|| kernels.iter().rfind(|kernel| alike(kernel)))
}

/// True if a file of a package is the kernel's `vmlinuz` or `config`: in `/boot` with the release
/// at the end of its name, or in the folder of the release's modules.
pub fn is_kernel_file(path: &Path, name: &str) -> bool {
    let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_named =
        file == name || file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    let parent = path.parent().map(Path::to_string_lossy).unwrap_or_default();
    let parent = parent.trim_start_matches("./");
    is_named
        && (parent == "boot"
            || parent.starts_with("usr/lib/modules/")
            || parent.starts_with("usr/lib/linux"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 10] = [
        "linux-image-6.18.15+deb13-amd64",
        "linux-image-6.18.15+deb13-amd64-dbg",
        "linux-image-7.0.13+deb13-amd64",
        "linux-binary-7.0.13+deb13-amd64",
        "linux-image-7.2.13+deb14-amd64",
        "linux-binary-7.2.13+deb14-amd64",
        "linux-base-7.2.13+deb14-amd64",
        "linux-binary-7.2.13+deb14-rt-amd64",
        "linux-binary-unsigned-7.2.13+deb14-amd64",
        "linux-base-sgx",
    ];

    #[test]
    fn a_kernel_is_one_package_or_two() {
        let kernels = listed(NAMES.into_iter());
        let rows: Vec<_> = kernels
            .iter()
            .map(|it| (it.image.as_str(), it.config.as_deref(), it.is_split))
            .collect();
        assert_eq!(
            rows,
            [
                ("linux-image-6.18.15+deb13-amd64", None, false),
                ("linux-binary-7.0.13+deb13-amd64", None, true),
                ("linux-binary-7.2.13+deb14-amd64", Some("linux-base-7.2.13+deb14-amd64"), true),
                ("linux-binary-7.2.13+deb14-rt-amd64", None, true),
            ]
        );
        let stand_in = |text: &str| {
            stand_in(&kernels, &Release::parse(text).unwrap()).map(|it| it.release.to_string())
        };
        assert_eq!(stand_in("7.0.13+deb13-amd64").as_deref(), Some("7.2.13+deb14-amd64"));
        assert_eq!(stand_in("7.3.1+deb14-amd64").as_deref(), Some("7.2.13+deb14-amd64"));
        assert_eq!(stand_in("7.2.13+deb14-rt-amd64"), None);
    }

    #[test]
    fn the_files_of_a_kernel_are_where_each_layout_has_them() {
        for (path, name) in [
            ("./boot/vmlinuz-6.18.15+deb13-amd64", "vmlinuz"),
            ("./usr/lib/modules/7.2.13+deb14-amd64/vmlinuz", "vmlinuz"),
            ("./boot/config-6.18.15+deb13-amd64", "config"),
            ("./usr/lib/modules/7.2.13+deb14-amd64/config", "config"),
        ] {
            assert!(is_kernel_file(Path::new(path), name), "{path}");
        }
        assert!(!is_kernel_file(Path::new("./usr/share/doc/config"), "config"));
        assert!(!is_kernel_file(Path::new("./boot/System.map-6"), "config"));
    }
}
