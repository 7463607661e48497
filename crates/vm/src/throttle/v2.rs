//! cgroup v2 (Documentation/admin-guide/cgroup-v2.rst, "Threads").

use std::fs;
use std::path::{Path, PathBuf};

use super::{Version, make_folder, write};
use crate::cores::Quota;
use crate::error::VmError;

/// `cpu.weight` of a cgroup with the weight of a process.
const ONE: u64 = 100;
/// The period to write where there is no limit.
const PERIOD_US: u64 = 5_000;

/// The hierarchy, and the cgroup that labs are made in.
pub struct V2 {
    parent: PathBuf,
    /// True if the parent is this process's own cgroup, the domain of all threads in it.
    is_delegated: bool,
    /// True if it had the controller before.
    had_cpu: bool,
}

impl V2 {
    /// Labs are cgroups beside all others.
    pub fn at_root(root: &Path) -> Self {
        Self::new(root, false)
    }

    /// Labs are below this process's own cgroup.
    pub fn delegated(own: &Path) -> Self {
        Self::new(own, true)
    }

    fn new(parent: &Path, is_delegated: bool) -> Self {
        let controllers =
            fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
        let had_cpu = controllers.split_whitespace().any(|controller| controller == "cpu");
        Self { parent: parent.to_owned(), is_delegated, had_cpu }
    }
}

impl Version for V2 {
    fn make(&self, lab: &Path) -> Result<(), VmError> {
        if !self.had_cpu {
            write(&self.parent, "cgroup.subtree_control", "+cpu")?;
        }
        make_folder(lab)?;
        if self.is_delegated { write(lab, "cgroup.type", "threaded") } else { Ok(()) }
    }

    fn make_core(&self, core: &Path) -> Result<(), VmError> {
        make_folder(core)?;
        write(core, "cgroup.type", "threaded")
    }

    fn adopt(&self, lab: &Path, process: u32) -> Result<(), VmError> {
        if !self.is_delegated {
            write(lab, "cgroup.procs", process.to_string())?;
        }
        write(lab, "cgroup.subtree_control", "+cpu")
    }

    fn put(&self, core: &Path, thread: u32) -> Result<(), VmError> {
        write(core, "cgroup.threads", thread.to_string())
    }

    fn limit(&self, core: &Path, quota: Option<Quota>) -> Result<(), VmError> {
        let text = match quota {
            Some(Quota { period_us, quota_us }) => format!("{quota_us} {period_us}"),
            None => format!("max {PERIOD_US}"),
        };
        write(core, "cpu.max", text)
    }

    fn weigh(&self, lab: &Path, weight: u64) -> Result<(), VmError> {
        write(lab, "cpu.weight", (weight * ONE).to_string())
    }

    fn leave(&self) {
        // The kernel refuses while another lab is in it; that lab will then do this.
        if self.is_delegated && !self.had_cpu {
            let _ = write(&self.parent, "cgroup.subtree_control", "-cpu");
        }
    }
}
