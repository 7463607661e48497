//! Throttling under cgroup v2, tested in a guest, whatever the host has. This program also runs
//! there.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_linux::program::Signals;
use evenkeel_vm::guest::Contents;
use evenkeel_vm::image::Busybox;
use evenkeel_vm::kernel::Store;
use evenkeel_vm::throttle::{Host, Throttle, vcpus};
use evenkeel_vm::{Lab, Streams, VmError, check_host};

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn quotas_hold_under_version_2_at_the_root_and_in_a_delegated_cgroup() {
    if fs::read_to_string("/proc/sys/kernel/hostname").is_ok_and(|name| name.trim() == "lab") {
        in_the_guest();
        return;
    }
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/vm-cache");
    match run(&std::path::absolute(cache).unwrap()) {
        Ok(code) => assert_eq!(code, 0),
        Err(
            error @ (VmError::NotInstalled { .. }
            | VmError::NoCgroup { .. }
            | VmError::Archive { .. }),
        ) => {
            let required = std::env::var_os("EVENKEEL_VM").is_some_and(|it| it == "required");
            assert!(!required, "no lab, which EVENKEEL_VM requires: {error}");
            println!("skipped: {error}");
        }
        Err(error) => panic!("{error}\n{}", error.log().unwrap_or_default()),
    }
}

fn run(cache: &Path) -> Result<u8, VmError> {
    let say = |what: &str| println!("{what}");
    let cores = "2@80".parse()?;
    check_host(&cores, true, &say)?;
    let store = Store::open(cache)?;
    let kernel = store.kernel(&"6.18".parse()?, &say)?;
    let busybox = Busybox::find(&store, &say)?;
    drop(store);
    let own = std::env::current_exe().unwrap().into_os_string();
    let command = vec![own, "--ignored".into(), "--nocapture".into()];
    let lab = Lab {
        kernel,
        cores,
        memory_mib: 1024,
        contents: Contents { command, ..Contents::default() },
        fetches: Vec::new(),
        result: "/none".into(),
        timeout: Some(Duration::from_secs(120)),
    };
    let signals = Signals::hold().unwrap();
    let streams = Streams {
        booted: Box::new(|| ()),
        stdout: Box::new(std::io::stdout()),
        stderr: Box::new(std::io::stderr()),
    };
    Ok(lab.run(&busybox, &signals, streams, &say)?.exit_code)
}

fn in_the_guest() {
    let root = Path::new("/sys/fs/cgroup");
    measured();
    assert_eq!(
        fs::read_to_string(root.join("cgroup.procs"))
            .unwrap()
            .lines()
            .filter(|it| *it == own())
            .count(),
        0
    );
    // Returns to the own cgroup, and then enters one that looks delegated.
    fs::write(root.join("cgroup.procs"), own()).unwrap();
    let delegated = root.join("mine");
    fs::create_dir(&delegated).unwrap();
    fs::write(delegated.join("cgroup.procs"), own()).unwrap();
    measured();
    assert_eq!(fs::read_to_string(delegated.join("cgroup.subtree_control")).unwrap().trim(), "");
    assert_eq!(fs::read_to_string(delegated.join("cgroup.type")).unwrap().trim(), "domain");
}

fn own() -> String {
    std::process::id().to_string()
}

/// Two threads, named as an emulator names its virtual cores, that work under quotas of 60 and 20
/// percent.
fn measured() {
    let units = [const { AtomicU64::new(0) }; 2];
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (core, units) in units.iter().enumerate() {
            let work = || {
                while !is_over.load(Ordering::Relaxed) {
                    units.fetch_add(1, Ordering::Relaxed);
                }
            };
            std::thread::Builder::new()
                .name(format!("CPU {core}/TCG"))
                .spawn_scoped(scope, work)
                .unwrap();
        }
        let cores: evenkeel_vm::Cores = "1@60+1@20".parse().unwrap();
        let throttle = Throttle::prepare(&Host::default(), &cores.quotas()).unwrap();
        throttle
            .adopt(std::process::id(), &vcpus(Path::new("/proc"), std::process::id(), 2).unwrap())
            .unwrap();
        throttle.limit().unwrap();
        units.iter().for_each(|units| units.store(0, Ordering::Relaxed));
        std::thread::sleep(Duration::from_secs(4));
        let done = units.each_ref().map(|units| units.load(Ordering::Relaxed) as f64);
        throttle.lift().unwrap();
        is_over.store(true, Ordering::Relaxed);
        let ratio = done[0] / done[1];
        println!("ratio {ratio:.2}");
        // The host also holds up the guest's cores, so the bounds are wide.
        assert!((1.5..12.0).contains(&ratio), "{done:?}");
    });
}
