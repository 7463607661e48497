//! A control group's quota of CPU time bounds how many workers a pool has by default.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_runtime::Pool;

/// Set in the process that is in the group.
const INSIDE: &str = "EVENKEEL_TEST_IN_GROUP";

/// A group with one CPU's worth of time, of either version of control groups; `None` where none may
/// be made.
struct Group(PathBuf);

impl Group {
    fn of_one_cpu() -> Option<Self> {
        let name = format!("evenkeel-quota-{}", std::process::id());
        for (parent, file, quota) in [
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000"),
            ("/sys/fs/cgroup", "cpu.max", "100000 100000"),
        ] {
            let folder = Path::new(parent).join(&name);
            if Path::new(parent).join("cgroup.procs").exists() && fs::create_dir(&folder).is_ok() {
                let group = Self(folder);
                if fs::write(group.0.join(file), quota).is_ok() {
                    return Some(group);
                }
            }
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_quota_of_one_cpu_is_one_worker_unless_more_are_asked_for() {
    if std::env::var_os(INSIDE).is_some() {
        assert_eq!(Pool::new().unwrap().workers(), 1);
        assert_eq!(Pool::builder().workers(2).build().unwrap().workers(), 2);
        return;
    }
    let Some(group) = Group::of_one_cpu() else {
        println!("skipped: no control group with a quota can be made here");
        return;
    };
    let script = "echo $$ >\"$0\" && exec \"$@\"";
    let test = std::env::current_exe().unwrap();
    let ended = Command::new("sh")
        .args(["-c", script])
        .arg(group.0.join("cgroup.procs"))
        .arg(test)
        .args(["--exact", "a_quota_of_one_cpu_is_one_worker_unless_more_are_asked_for"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    assert!(
        ended.status.success(),
        "{}{}",
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr)
    );
}
