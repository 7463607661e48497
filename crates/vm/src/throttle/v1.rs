//! cgroup v1 (Documentation/scheduler/sched-bwc.rst).

use std::path::Path;

use super::{Version, make_folder, write};
use crate::cores::Quota;
use crate::error::VmError;

/// `cpu.shares` of a cgroup with the weight of a process.
const ONE: u64 = 1024;

/// The `cpu` hierarchy.
pub struct V1;

impl Version for V1 {
    fn make(&self, lab: &Path) -> Result<(), VmError> {
        make_folder(lab)
    }

    fn make_core(&self, core: &Path) -> Result<(), VmError> {
        make_folder(core)
    }

    fn adopt(&self, _lab: &Path, _process: u32) -> Result<(), VmError> {
        // Threads are put into cgroups one by one.
        Ok(())
    }

    fn put(&self, core: &Path, thread: u32) -> Result<(), VmError> {
        write(core, "tasks", thread.to_string())
    }

    fn limit(&self, core: &Path, quota: Option<Quota>) -> Result<(), VmError> {
        match quota {
            Some(Quota { period_us, quota_us }) => {
                write(core, "cpu.cfs_period_us", period_us.to_string())?;
                write(core, "cpu.cfs_quota_us", quota_us.to_string())
            }
            None => write(core, "cpu.cfs_quota_us", "-1"),
        }
    }

    fn weigh(&self, lab: &Path, weight: u64) -> Result<(), VmError> {
        write(lab, "cpu.shares", (weight * ONE).to_string())
    }

    fn leave(&self) {}
}
