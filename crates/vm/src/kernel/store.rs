//! A cache of fetched kernels.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::archive::{Archive, Listed, is_kernel_file, stand_in};
use super::{Kernel, Release, Wanted, deb, has_malformed_btf};
use crate::error::VmError;

/// Environment variable: the folder of everything that Evenkeel fetches once.
pub const CACHE_VARIABLE: &str = "EVENKEEL_CACHE";

/// A cache of kernels. One process at a time changes it; others wait.
pub struct Store {
    folder: PathBuf,
    /// Keeps the lock.
    _lock: File,
}

/// A kernel that is available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// Which.
    pub release: Release,
    /// True if it is in the cache already.
    pub is_cached: bool,
    /// True if its BTF is known to be malformed, so that sched_ext schedulers do not load.
    pub has_malformed_btf: bool,
}

/// Where the cache is: `$EVENKEEL_CACHE`, else `$XDG_CACHE_HOME/evenkeel`, else
/// `~/.cache/evenkeel`; `None`: none of these is set.
pub fn default_cache() -> Option<PathBuf> {
    cache_of(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

fn cache_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = variable(CACHE_VARIABLE).map(PathBuf::from);
    let xdg = || variable("XDG_CACHE_HOME").map(|folder| Path::new(&folder).join("evenkeel"));
    let home = || variable("HOME").map(|folder| Path::new(&folder).join(".cache/evenkeel"));
    let folder = named.or_else(xdg).or_else(home)?;
    // apt runs in folders of its own, so the path must be absolute.
    std::path::absolute(folder).ok()
}

impl Store {
    /// Opens the part of this cache that has kernels, and waits while another process uses it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(cache: &Path) -> Result<Self, VmError> {
        let folder = cache.join("vm");
        let kernels = folder.join("kernels");
        fs::create_dir_all(&kernels).map_err(VmError::file(&kernels))?;
        let path = folder.join("lock");
        let lock = File::create(&path).map_err(VmError::file(&path))?;
        lock.lock().map_err(VmError::file(&path))?;
        let store = Self { folder, _lock: lock };
        store.remove_unfinished();
        Ok(store)
    }

    /// Removes what processes have left that were killed while they fetched. This process holds the
    /// lock, so no other fetches now.
    fn remove_unfinished(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(UNFINISHED))
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }

    /// The kernel asked for: the newest in the cache that matches. If there is none, or only ones
    /// whose BTF is known to be malformed, the newest is fetched from the archive; that may take a
    /// minute, and `say` is called first.
    ///
    /// # Errors
    /// No such kernel, no network, no apt.
    pub fn kernel(&self, wanted: &Wanted, say: &dyn Fn(&str)) -> Result<Kernel, VmError> {
        let cached = best(self.cached().into_iter(), wanted, |release| release);
        // The archive may have a better kernel of the same series.
        if let Some(release) =
            cached.filter(|release| wanted.is_one() || !has_malformed_btf(release))
        {
            return self.kept(&release);
        }
        let archive = Archive::open(&self.folder.join("apt"))?;
        let listed = self.listed(
            &archive,
            |kernels| kernels.iter().any(|kernel| wanted.is(&kernel.release)),
            say,
        )?;
        let Some(kernel) = best(listed.iter(), wanted, |kernel| &kernel.release) else {
            let mut series: Vec<String> =
                listed.iter().map(|kernel| kernel.release.series()).collect();
            series.dedup();
            let series = if series.is_empty() { "none".to_owned() } else { series.join(", ") };
            return Err(VmError::NoKernel {
                wanted: wanted.to_string(),
                place: archive.place(),
                series,
            });
        };
        if !self.place(&kernel.release).exists() {
            say(&format!("fetching kernel {} into {}", kernel.release, self.folder.display()));
            self.fetch(&archive, kernel, &listed)?;
        }
        self.kept(&kernel.release)
    }

    /// Kernels on the archive's lists. The lists are fetched again if they are old or do not
    /// `suffice`.
    fn listed(
        &self,
        archive: &Archive,
        suffice: impl Fn(&[Listed]) -> bool,
        say: &dyn Fn(&str),
    ) -> Result<Vec<Listed>, VmError> {
        if archive.is_fresh() {
            let kernels = archive.kernels()?;
            if suffice(&kernels) {
                return Ok(kernels);
            }
        }
        say(&format!("fetching lists of packages of {}", archive.place()));
        archive.refresh()?;
        archive.kernels()
    }

    fn fetch(&self, archive: &Archive, kernel: &Listed, listed: &[Listed]) -> Result<(), VmError> {
        let unfinished = self.unfinished()?;
        let made = unfinished.path().join("kernel");
        fs::create_dir(&made).map_err(VmError::file(&made))?;
        let take = |package: &str, names: &[&str]| -> Result<bool, VmError> {
            let deb = archive.download(package, unfinished.path())?;
            let place = |path: &Path| {
                names.iter().find(|name| is_kernel_file(path, name)).map(|name| made.join(name))
            };
            let found = deb::extract(&deb, names.len(), place)?;
            fs::remove_file(&deb).map_err(VmError::file(&deb))?;
            Ok(found == names.len())
        };
        let lacks = |package: &str| VmError::Archive {
            what: format!("package {package}"),
            said: "it has no kernel image with its configuration".to_owned(),
        };
        let (image, is_split) = (&kernel.image, kernel.is_split);
        let names: &[&str] = if is_split { &["vmlinuz"] } else { &["vmlinuz", "config"] };
        if !take(image, names)? {
            return Err(lacks(image));
        }
        if is_split {
            let source = if kernel.config.is_some() {
                Some(kernel)
            } else {
                stand_in(listed, &kernel.release)
            };
            let source = source.ok_or_else(|| lacks(image))?;
            let package = source.config.as_ref().unwrap_or(&source.image);
            if !take(package, &["config"])? {
                return Err(lacks(package));
            }
            if source.release != kernel.release {
                let note = made.join(CONFIG_OF);
                fs::write(&note, source.release.to_string()).map_err(VmError::file(&note))?;
            }
        }
        let place = self.place(&kernel.release);
        fs::rename(&made, &place).map_err(VmError::file(&place))
    }

    /// The program of this name in a package. It needs no libraries.
    ///
    /// # Errors
    /// No network, no apt.
    pub fn program(
        &self,
        name: &str,
        package: &str,
        say: &dyn Fn(&str),
    ) -> Result<PathBuf, VmError> {
        let place = self.folder.join(name);
        if place.is_file() {
            return Ok(place);
        }
        let archive = Archive::open(&self.folder.join("apt"))?;
        self.listed(&archive, |_| true, say)?;
        say(&format!("fetching {package} into {}", self.folder.display()));
        let unfinished = self.unfinished()?;
        let deb = archive.download(package, unfinished.path())?;
        let made = unfinished.path().join(name);
        let is_it = |path: &Path| path.ends_with(Path::new("bin").join(name)).then(|| made.clone());
        if deb::extract(&deb, 1, is_it)? != 1 {
            return Err(VmError::Archive {
                what: format!("package {package}"),
                said: format!("it has no {name}"),
            });
        }
        make_executable(&made)?;
        fs::rename(&made, &place).map_err(VmError::file(&place))?;
        Ok(place)
    }

    fn unfinished(&self) -> Result<TempDir, VmError> {
        tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&self.folder)
            .map_err(VmError::file(&self.folder))
    }

    fn place(&self, release: &Release) -> PathBuf {
        self.folder.join("kernels").join(release.to_string())
    }

    fn cached(&self) -> Vec<Release> {
        let entries = fs::read_dir(self.folder.join("kernels")).into_iter().flatten().flatten();
        let mut releases: Vec<Release> = entries
            .filter_map(|entry| Release::parse(&entry.file_name().to_string_lossy()))
            .collect();
        releases.sort();
        releases
    }

    fn kept(&self, release: &Release) -> Result<Kernel, VmError> {
        let folder = self.place(release);
        let config_of = fs::read_to_string(folder.join(CONFIG_OF)).ok();
        let kernel = Kernel {
            release: release.to_string(),
            vmlinuz: folder.join("vmlinuz"),
            config: folder.join("config"),
            config_of,
        };
        for file in [&kernel.vmlinuz, &kernel.config] {
            fs::metadata(file).map_err(VmError::file(file))?;
        }
        Ok(kernel)
    }

    /// Kernels in the cache and in the archive, oldest first. Without a network, those in the cache
    /// and on older lists; `say` is called with a note.
    ///
    /// # Errors
    /// No apt.
    pub fn available(&self, say: &dyn Fn(&str)) -> Result<Vec<Available>, VmError> {
        let archive = Archive::open(&self.folder.join("apt"))?;
        let listed = match self.listed(&archive, |_| true, say) {
            Ok(listed) => listed,
            Err(error @ VmError::Archive { .. }) => {
                say(&format!("{error}; those of older lists follow"));
                archive.kernels()?
            }
            Err(error) => return Err(error),
        };
        let cached = self.cached();
        let mut releases: Vec<Release> =
            listed.into_iter().map(|kernel| kernel.release).chain(cached.clone()).collect();
        releases.sort();
        releases.dedup();
        let row = |release: Release| Available {
            is_cached: cached.contains(&release),
            has_malformed_btf: has_malformed_btf(&release),
            release,
        };
        Ok(releases.into_iter().map(row).collect())
    }
}

/// Prefix of folders that are being filled.
const UNFINISHED: &str = ".unfinished-";
/// The file that names the release of the configuration, if it is not the kernel's own.
const CONFIG_OF: &str = "config-of";

/// The newest that matches. Kernels whose BTF is known to be malformed count only if there are no
/// others.
fn best<T>(
    kernels: impl Iterator<Item = T>,
    wanted: &Wanted,
    release: impl Fn(&T) -> &Release,
) -> Option<T> {
    let key = |kernel: &T| (!has_malformed_btf(release(kernel)), release(kernel).clone());
    kernels.filter(|kernel| wanted.is(release(kernel))).max_by_key(key)
}

fn make_executable(file: &Path) -> Result<(), VmError> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).map_err(VmError::file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn releases(names: &[&str]) -> Vec<Release> {
        names.iter().map(|name| Release::parse(&format!("{name}-amd64")).unwrap()).collect()
    }

    #[test]
    fn of_a_series_the_newest_is_taken_that_can_load_schedulers() {
        let all = releases(&[
            "7.2.11+deb14",
            "7.2.12+deb13",
            "7.1.3+deb13",
            "7.1.13+deb13",
            "6.18.15+deb13",
            "6.18.5+deb13",
        ]);
        let best = |wanted: &str| {
            let best = best(all.iter(), &wanted.parse().unwrap(), |release| release);
            best.map(|release| release.to_string().replace("-amd64", ""))
        };
        assert_eq!(best("7.2").as_deref(), Some("7.2.11+deb14"));
        assert_eq!(best("7.2.12").as_deref(), Some("7.2.12+deb13"));
        assert_eq!(best("7.1").as_deref(), Some("7.1.13+deb13"));
        assert_eq!(best("6.18").as_deref(), Some("6.18.15+deb13"));
        assert_eq!(best("6.17"), None);
    }

    #[test]
    fn the_cache_is_where_the_environment_says() {
        let cache = |set: &[(&str, &str)]| {
            cache_of(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            })
        };
        let home = ("HOME", "/home/me");
        assert_eq!(cache(&[home]), Some("/home/me/.cache/evenkeel".into()));
        assert_eq!(cache(&[home, ("XDG_CACHE_HOME", "/c")]), Some("/c/evenkeel".into()));
        assert_eq!(
            cache(&[home, ("XDG_CACHE_HOME", "/c"), ("EVENKEEL_CACHE", "/e")]),
            Some("/e".into())
        );
        assert_eq!(cache(&[]), None);
        assert!(cache(&[("EVENKEEL_CACHE", "target/vm-cache")]).unwrap().is_absolute());
    }

    #[test]
    fn a_kernel_in_the_cache_needs_no_archive_and_what_was_left_half_done_goes() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("vm/kernels/6.18.15+deb13-amd64");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(cache.path().join("vm/.unfinished-x/kernel")).unwrap();
        for name in ["vmlinuz", "config"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::write(folder.join(CONFIG_OF), "7.2.13+deb14-amd64").unwrap();
        let store = Store::open(cache.path()).unwrap();
        let kernel =
            store.kernel(&"6.18".parse().unwrap(), &|_| panic!("nothing is fetched")).unwrap();
        assert_eq!(
            (kernel.release.as_str(), kernel.vmlinuz),
            ("6.18.15+deb13-amd64", folder.join("vmlinuz"))
        );
        assert_eq!(kernel.config_of.as_deref(), Some("7.2.13+deb14-amd64"));
        assert!(!cache.path().join("vm/.unfinished-x").exists());
    }
}
