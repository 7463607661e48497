//! Slow cores: each virtual core is a thread of the emulator, and a CPU quota of the host's kernel
//! limits that thread.
//!
//! The quotas are set in a cgroup for each thread, in one folder for the lab, `evenkeel-vm-PID`.
//! Under cgroup v1 that is a folder of the `cpu` hierarchy. Under v2 only threads of one *threaded
//! domain* can be in different cgroups. If this process may make cgroups at the root, the lab's
//! folder is the domain, with the emulator in it. Below a delegated cgroup, this process's own
//! cgroup is the domain, and the emulator is in it already.
//!
//! A later lab removes what killed ones have left.

mod host;
mod metronome;
mod places;
mod rounds;
mod threads;
mod v1;
mod v2;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use host::Host;
pub use metronome::Metronome;
pub use places::{bind, places};
pub use rounds::Rounds;
pub use threads::{ThreadsError, vcpus};

use crate::cores::Quota;
use crate::error::VmError;

/// Prefix of a lab's folder; the number of the process that made it follows.
const FOLDER_PREFIX: &str = "evenkeel-vm-";
/// The lab's weight among other work on this host, relative to that of a process. Its quotas bound
/// what it gets.
const WEIGHT: u64 = 16;
/// How long a cgroup may take to be seen empty after its last thread has ended.
const EMPTY: Duration = Duration::from_secs(2);

/// The files of one version of cgroups.
trait Version {
    /// Makes a lab's folder.
    fn make(&self, lab: &Path) -> Result<(), VmError>;
    /// Makes the cgroup of one core, in the lab's folder.
    fn make_core(&self, core: &Path) -> Result<(), VmError>;
    /// Takes the emulator in, before its threads are put into cgroups.
    fn adopt(&self, lab: &Path, process: u32) -> Result<(), VmError>;
    /// Puts a thread into the cgroup of a core.
    fn put(&self, core: &Path, thread: u32) -> Result<(), VmError>;
    /// Sets a limit, or none.
    fn limit(&self, core: &Path, quota: Option<Quota>) -> Result<(), VmError>;
    /// Sets the lab's weight; 1 is that of a process.
    fn weigh(&self, lab: &Path, weight: u64) -> Result<(), VmError>;
    /// Undoes what was done above the lab's folder.
    fn leave(&self);
}

/// A cgroup for each core of a lab. Dropping it removes them.
pub struct Throttle {
    version: Box<dyn Version>,
    /// The folder that has the folders of labs.
    parent: PathBuf,
    procfs: PathBuf,
    folder: PathBuf,
    cores: Vec<PathBuf>,
    quotas: Vec<Quota>,
}

impl Throttle {
    /// Makes the cgroups, without limits yet.
    ///
    /// # Errors
    /// There are no cgroups, or no permission to make any.
    pub fn prepare(host: &Host, quotas: &[Quota]) -> Result<Self, VmError> {
        let (version, parent) = host.version()?;
        remove_abandoned(&parent, &host.procfs);
        let folder = parent.join(format!("{FOLDER_PREFIX}{}", std::process::id()));
        let cores = (0..quotas.len()).map(|core| folder.join(format!("cpu{core}"))).collect();
        let procfs = host.procfs.clone();
        let throttle = Self { version, parent, procfs, folder, cores, quotas: quotas.to_vec() };
        throttle.version.make(&throttle.folder).map_err(|error| host.no_leave(error))?;
        Ok(throttle)
    }

    /// Puts the threads of an emulator into their cgroups, the first into that of the first core.
    ///
    /// # Errors
    /// A thread has ended, or the kernel refuses.
    pub fn adopt(&self, process: u32, threads: &[u32]) -> Result<(), VmError> {
        self.version.adopt(&self.folder, process)?;
        for (core, &thread) in self.cores.iter().zip(threads) {
            self.version.make_core(core)?;
            self.version.put(core, thread)?;
        }
        Ok(())
    }

    /// Makes the cores as slow as asked.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn limit(&self) -> Result<(), VmError> {
        self.version.weigh(&self.folder, WEIGHT)?;
        for (core, &quota) in self.cores.iter().zip(&self.quotas) {
            self.version.limit(core, Some(quota).filter(|quota| !quota.is_all()))?;
        }
        Ok(())
    }

    /// Makes all cores as fast as the host's.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn lift(&self) -> Result<(), VmError> {
        self.cores.iter().try_for_each(|core| self.version.limit(core, None))
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let began = Instant::now();
        while !remove(&self.folder) && began.elapsed() < EMPTY {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Folders that still had threads when this lab began: threads die slowly on a busy host.
        remove_abandoned(&self.parent, &self.procfs);
        self.version.leave();
    }
}

/// Removes a lab's folder; false if it still has a thread.
fn remove(folder: &Path) -> bool {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
    match fs::remove_dir(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Removes the folders of ended processes. One that cannot be removed still has a thread, and
/// stays.
fn remove_abandoned(parent: &Path, procfs: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(FOLDER_PREFIX))
            .and_then(|pid| pid.parse::<u32>().ok());
        if owner.is_some_and(|owner| !procfs.join(owner.to_string()).exists()) {
            remove(&entry.path());
        }
    }
}

fn write(folder: &Path, name: &str, text: impl AsRef<str>) -> Result<(), VmError> {
    let file = folder.join(name);
    fs::write(&file, text.as_ref()).map_err(|error| VmError::Cgroup { file, error })
}

fn make_folder(folder: &Path) -> Result<(), VmError> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(VmError::Cgroup { file: folder.to_owned(), error })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::Cores;

    /// A host whose files are all in one folder. They are plain files, so a test can read what was
    /// written.
    struct Fake {
        root: tempfile::TempDir,
    }

    impl Fake {
        fn new(mounts: &str, own: &str) -> Self {
            let root = tempfile::tempdir().unwrap();
            let fake = Self { root };
            fake.write(
                "proc/self/mountinfo",
                &mounts.replace("ROOT", &fake.root.path().display().to_string()),
            );
            fake.write("proc/self/cgroup", own);
            fake
        }

        fn v1() -> Self {
            let fake = Self::new(
                "30 25 0:26 / ROOT/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n",
                "4:cpu,cpuacct:/me\n",
            );
            fake.write("cpu/me/tasks", "");
            fake
        }

        /// `own`: this process's cgroup; `controllers`: those that it may give to its children.
        fn v2(own: &str, controllers: &str) -> Self {
            let fake = Self::new(
                "30 25 0:26 / ROOT/cg rw shared:9 - cgroup2 cgroup2 rw\n",
                &format!("0::{own}\n"),
            );
            fake.write("cg/cgroup.controllers", "cpu memory");
            fake.write("cg/cgroup.subtree_control", "");
            if own != "/" {
                fake.write(&format!("cg{own}/cgroup.controllers"), controllers);
                fake.write(&format!("cg{own}/cgroup.subtree_control"), "");
            }
            fake
        }

        fn write(&self, path: &str, text: &str) {
            let file = self.root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }

        fn read(&self, path: &str) -> String {
            let path = path.replace("LAB", &format!("evenkeel-vm-{}", std::process::id()));
            fs::read_to_string(self.root.path().join(&path))
                .unwrap_or_else(|error| panic!("{path}: {error}"))
        }

        fn host(&self) -> Host {
            Host { procfs: self.root.path().join("proc") }
        }

        fn throttle(&self) -> Throttle {
            let cores: Cores = "1@60+1@20+1@100".parse().unwrap();
            let throttle = Throttle::prepare(&self.host(), &cores.quotas()).unwrap();
            throttle.adopt(10, &[11, 12, 13]).unwrap();
            throttle.limit().unwrap();
            throttle
        }
    }

    #[test]
    fn under_version_1_each_thread_is_a_task_of_its_own_quota() {
        let fake = Fake::v1();
        let throttle = fake.throttle();
        assert_eq!(fake.read("cpu/me/LAB/cpu0/tasks"), "11");
        assert_eq!(fake.read("cpu/me/LAB/cpu0/cpu.cfs_period_us"), "5000");
        assert_eq!(fake.read("cpu/me/LAB/cpu0/cpu.cfs_quota_us"), "3000");
        assert_eq!(fake.read("cpu/me/LAB/cpu1/cpu.cfs_quota_us"), "1000");
        assert_eq!(fake.read("cpu/me/LAB/cpu2/cpu.cfs_quota_us"), "-1");
        assert_eq!(fake.read("cpu/me/LAB/cpu.shares"), "16384");
        throttle.lift().unwrap();
        assert_eq!(fake.read("cpu/me/LAB/cpu1/cpu.cfs_quota_us"), "-1");
    }

    #[test]
    fn under_version_2_the_lab_is_a_threaded_domain_at_the_root() {
        let fake = Fake::v2("/user.slice/session", "memory pids");
        let _throttle = fake.throttle();
        assert_eq!(fake.read("cg/cgroup.subtree_control"), "+cpu");
        assert_eq!(fake.read("cg/LAB/cgroup.procs"), "10");
        assert_eq!(fake.read("cg/LAB/cgroup.subtree_control"), "+cpu");
        assert_eq!(fake.read("cg/LAB/cpu.weight"), "1600");
        assert_eq!(fake.read("cg/LAB/cpu1/cgroup.type"), "threaded");
        assert_eq!(fake.read("cg/LAB/cpu1/cgroup.threads"), "12");
        assert_eq!(fake.read("cg/LAB/cpu1/cpu.max"), "1000 5000");
        assert_eq!(fake.read("cg/LAB/cpu2/cpu.max"), "max 5000");
    }

    #[test]
    fn under_version_2_a_delegated_cgroup_is_the_domain_and_gets_back_what_it_was() {
        let fake = Fake::v2("/me.scope", "cpu memory");
        fake.write("cg/me.scope/cgroup.type", "domain");
        let throttle = fake.throttle();
        assert_eq!(fake.read("cg/me.scope/cgroup.subtree_control"), "+cpu");
        assert_eq!(fake.read("cg/me.scope/LAB/cgroup.type"), "threaded");
        assert_eq!(fake.read("cg/me.scope/LAB/cpu0/cgroup.type"), "threaded");
        assert_eq!(fake.read("cg/me.scope/LAB/cpu0/cgroup.threads"), "11");
        let folder = throttle.folder.clone();
        // Plain files are not removed with their folder, unlike those of the kernel.
        fs::remove_dir_all(&folder).unwrap();
        drop(throttle);
        assert_eq!(fake.read("cg/me.scope/cgroup.subtree_control"), "-cpu");
    }

    #[test]
    fn what_a_killed_lab_has_left_goes_and_what_a_living_one_has_stays() {
        let fake = Fake::v1();
        let parent = fake.root.path().join("cpu/me");
        for name in ["evenkeel-vm-7/cpu0", "evenkeel-vm-8/cpu0", "evenkeel-vm-x", "other"] {
            fs::create_dir_all(parent.join(name)).unwrap();
        }
        fs::create_dir_all(fake.root.path().join("proc/8")).unwrap();
        let _throttle = fake.throttle();
        assert!(!parent.join("evenkeel-vm-7").exists());
        assert!(
            parent.join("evenkeel-vm-8/cpu0").exists() && parent.join("evenkeel-vm-x").exists()
        );
        assert!(parent.join("other").exists());
    }

    #[test]
    fn without_cgroups_it_is_said_what_is_missing() {
        let none = Fake::new("30 25 0:26 / ROOT/x rw - tmpfs tmpfs rw\n", "0::/\n");
        let error = Throttle::prepare(&none.host(), &[]).err().unwrap().to_string();
        assert!(
            error.starts_with("cannot throttle cores: no cgroup hierarchy with the cpu controller"),
            "{error}"
        );
        assert!(error.contains("@100"), "{error}");
        let without = Fake::v2("/", "");
        without.write("cg/cgroup.controllers", "memory pids");
        let error = Throttle::prepare(&without.host(), &[]).err().unwrap().to_string();
        assert!(error.contains("no cgroup hierarchy with the cpu controller"), "{error}");
    }

    #[test]
    fn without_leave_the_folder_and_the_way_out_are_named() {
        let fake = Fake::v1();
        // A file in place of the folder: root is refused, too.
        fs::remove_dir_all(fake.root.path().join("cpu/me")).unwrap();
        fake.write("cpu/me", "");
        let error = Throttle::prepare(&fake.host(), &[]).err().unwrap();
        assert!(matches!(error, VmError::NoCgroup { .. }) && error.is_usage(), "{error}");
        let error = error.to_string();
        assert!(error.contains("/cpu/me/evenkeel-vm-") && error.contains("sudo"), "{error}");
    }
}
