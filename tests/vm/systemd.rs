//! The unit of `evenkeel service` under this host's own systemd, in the lab: it forbids nothing
//! that the scheduler needs.

use std::path::Path;

use crate::root;
use crate::sched_ext::guest_with;

#[test]
#[ignore = "boots a virtual machine, and takes long: make vm-test-long"]
fn the_systemd_unit_loads_the_scheduler_starts_it_again_and_ends_it_in_the_longer_run() {
    const SYSTEMD: &str = "/usr/lib/systemd/systemd";
    if !Path::new(SYSTEMD).exists() {
        println!("skipped: there is no systemd here");
        return;
    }
    let unit = format!(
        "{}=/etc/systemd/system/evenkeel.service",
        root().join("crates/cli/templates/evenkeel.service").display()
    );
    let script = format!("{}=/systemd.sh", root().join("tests/vm/systemd.sh").display());
    let systemd = format!("{SYSTEMD}={SYSTEMD}");
    let with = [
        "--memory",
        "2G",
        "--with",
        &systemd,
        "--with",
        "/usr/bin/systemctl=/usr/bin/systemctl",
        "--file",
        &unit,
        "--file",
        &script,
    ];
    let Some(ended) = guest_with("6.18", "/usr/bin/evenkeel", &with, &["sh", "/systemd.sh"]) else {
        return;
    };
    // Of the unit's capabilities CAP_IPC_LOCK, CAP_SYS_NICE, CAP_PERFMON and CAP_BPF remain once
    // the scheduler is loaded.
    let expected = "enabled\nCapEff: 000000c000804000\nNoNewPrivs: 1\nSeccomp: 2\nfour threads \
                    have run\n\
                    started again after kill -9\nstays ended after Alt-SysRq-S\nstays ended after \
                    SIGINT\nothers' files are there still\n";
    assert_eq!(ended.text(), expected, "{}", ended.stderr);
}
