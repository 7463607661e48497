//! Finds the cgroups of this host, and where in them this process may make its own.

use std::fs;
use std::path::{Path, PathBuf};

use super::Version;
use super::v1::V1;
use super::v2::V2;
use crate::error::VmError;

const ROOT: &str = "run it as root (sudo)";
const DELEGATE: &str = "run it as root (sudo), or in a cgroup of your own: systemd-run --user \
                        --scope -p Delegate=yes evenkeel vm …";

/// A host, as `/proc` shows it.
#[derive(Clone, Debug)]
pub struct Host {
    /// `/proc`, or a folder that stands for it.
    pub procfs: PathBuf,
}

/// A hierarchy that is mounted.
struct Mount {
    /// Its folder.
    at: PathBuf,
    /// The cgroup that is visible there; not `/` in containers.
    root: PathBuf,
}

impl Default for Host {
    fn default() -> Self {
        Self { procfs: "/proc".into() }
    }
}

impl Host {
    /// The version of cgroups, and the folder to make them in.
    pub(super) fn version(&self) -> Result<(Box<dyn Version>, PathBuf), VmError> {
        let read = |name: &str| {
            fs::read_to_string(self.procfs.join("self").join(name)).unwrap_or_default()
        };
        let (mounts, own) = (read("mountinfo"), read("cgroup"));
        if let Some(mount) = mount_of(&mounts, "cgroup", Some("cpu")) {
            let parent = mount.folder_of(&path_of(&own, Some("cpu")));
            return Ok((Box::new(V1), parent));
        }
        if let Some(mount) = mount_of(&mounts, "cgroup2", None) {
            let own = mount.folder_of(&path_of(&own, None));
            // The real root has no `cgroup.type`.
            if own.join("cgroup.type").exists() && has_cpu(&own) {
                return Ok((Box::new(V2::delegated(&own)), own));
            }
            if has_cpu(&mount.at) {
                return Ok((Box::new(V2::at_root(&mount.at)), mount.at));
            }
        }
        let what = "no cgroup hierarchy with the cpu controller is mounted here".to_owned();
        Err(VmError::NoCgroup {
            what,
            way_out: "mount one, or take a kernel with CONFIG_CFS_BANDWIDTH",
        })
    }

    /// The error for a first cgroup that could not be made.
    pub(super) fn no_leave(&self, error: VmError) -> VmError {
        let mounts = fs::read_to_string(self.procfs.join("self/mountinfo")).unwrap_or_default();
        let is_v1 = mount_of(&mounts, "cgroup", Some("cpu")).is_some();
        match error {
            VmError::Cgroup { file, error } => VmError::NoCgroup {
                what: format!("{}: {error}", file.display()),
                way_out: if is_v1 { ROOT } else { DELEGATE },
            },
            other => other,
        }
    }
}

impl Mount {
    /// The folder of a cgroup.
    fn folder_of(&self, cgroup: &Path) -> PathBuf {
        match cgroup.strip_prefix(&self.root) {
            Ok(rest) if rest.as_os_str().is_empty() => self.at.clone(),
            Ok(rest) => self.at.join(rest),
            // It is outside of what this process sees.
            Err(_) => self.at.clone(),
        }
    }
}

/// A line of mountinfo is `ID PARENT DEVICE ROOT PLACE OPTIONS… - TYPE SOURCE SUPER-OPTIONS`
/// (proc_pid_mountinfo(5)).
fn mount_of(mounts: &str, kind: &str, controller: Option<&str>) -> Option<Mount> {
    mounts.lines().find_map(|line| {
        let (place, file_system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, at) = (place.next()?, place.next()?);
        let mut file_system = file_system.split(' ');
        let is_kind = file_system.next()? == kind;
        let options = file_system.nth(1)?;
        let has = controller
            .is_none_or(|controller| options.split(',').any(|option| option == controller));
        (is_kind && has).then(|| Mount { at: unescaped(at), root: unescaped(root) })
    })
}

/// A line of `/proc/self/cgroup` is `ID:CONTROLLERS:PATH`; that of version 2 has neither number nor
/// controllers.
fn path_of(own: &str, controller: Option<&str>) -> PathBuf {
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = match controller {
            Some(controller) => controllers.split(',').any(|known| known == controller),
            None => id == "0" && controllers.is_empty(),
        };
        is_it.then_some(path)
    });
    PathBuf::from(path.unwrap_or("/"))
}

/// Blanks in mountinfo are `\040`.
fn unescaped(path: &str) -> PathBuf {
    PathBuf::from(path.replace("\\040", " "))
}

fn has_cpu(folder: &Path) -> bool {
    let controllers = fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
    controllers.split_whitespace().any(|controller| controller == "cpu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_container_paths_start_where_it_sees_the_hierarchy() {
        let mounts = "1 0 0:1 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let mount = mount_of(mounts, "cgroup", Some("cpu")).unwrap();
        assert_eq!(mount.folder_of(Path::new("/docker/abc/x")), Path::new("/sys/fs/cgroup/cpu/x"));
        assert_eq!(mount.folder_of(Path::new("/docker/abc")), Path::new("/sys/fs/cgroup/cpu"));
        assert_eq!(mount.folder_of(Path::new("/elsewhere")), Path::new("/sys/fs/cgroup/cpu"));
    }

    #[test]
    fn a_controller_is_not_the_start_of_another() {
        let mounts = "1 0 0:1 / /a rw - cgroup cgroup rw,cpuset\n2 0 0:2 / /b\\040c rw - cgroup \
                      cgroup rw,cpuacct,cpu\n";
        assert_eq!(mount_of(mounts, "cgroup", Some("cpu")).unwrap().at, Path::new("/b c"));
        assert_eq!(
            path_of("3:cpuset:/x\n2:cpu,cpuacct:/y:z\n0::/w\n", Some("cpu")),
            Path::new("/y:z")
        );
        assert_eq!(path_of("3:cpuset:/x\n0::/w\n", None), Path::new("/w"));
        assert_eq!(path_of("", None), Path::new("/"));
    }
}
