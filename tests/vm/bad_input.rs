//! Mistakes give one line, before anything is fetched or booted.

use std::fs;

use crate::{Ended, cache, root, vm};

/// A cache with a kernel that is not one.
fn with_kernel() -> tempfile::TempDir {
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("vm/kernels/6.18.15+deb13-amd64");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("vmlinuz"), "").unwrap();
    let needed = ["BLK_DEV_INITRD", "VIRTIO_PCI", "VIRTIO_CONSOLE", "DEVTMPFS", "SCHED_CLASS_EXT"];
    fs::write(folder.join("config"), needed.map(|name| format!("CONFIG_{name}=y\n")).concat())
        .unwrap();
    cache
}

#[track_caller]
fn refused(args: &[&str], code: i32, said: &str) {
    let kernels = with_kernel();
    let ended = Ended::of(vm(args).env("EVENKEEL_CACHE", kernels.path()).output().unwrap());
    assert_eq!((ended.code, ended.text().as_str()), (code, ""), "{args:?}: {}", ended.stderr);
    assert!(
        ended.stderr.contains(said) && ended.stderr.lines().count() == 1,
        "{args:?}: {}",
        ended.stderr
    );
}

#[test]
fn cores_that_no_lab_can_have() {
    for (cores, said) in [
        ("0@60", "no core at all"),
        ("2@0", "from 1 to 100"),
        ("2@150", "from 1 to 100"),
        ("300@1", "more than 64 cores"),
        ("2", "expected COUNT@PERCENT, as 2@60+2@20"),
        ("", "expected COUNT@PERCENT"),
        ("fast", "expected COUNT@PERCENT"),
    ] {
        refused(&["--cores", cores, "--", "true"], 2, said);
    }
    refused(
        &["--cores", "1@60+2@20", "--smt", "--", "true"],
        2,
        "'1@60' cannot be pairs of SMT siblings",
    );
}

#[test]
fn kernels_that_are_none() {
    refused(
        &["--kernel", "six", "--", "true"],
        2,
        "kernel 'six': expected a series as 6.18, a release as",
    );
    refused(&["--kernel", "6", "--", "true"], 2, "expected a series");
    refused(&["--kernel", "/no/such/vmlinuz", "--", "true"], 2, "/no/such/vmlinuz: No such file");
    refused(&["--kernel", "/proc/version", "--", "true"], 2, "/proc/version is no kernel image");
}

#[test]
fn places_and_sizes_that_are_none() {
    refused(&["--with", "=x", "--", "true"], 2, "expected BINARY or BINARY=GUEST-PATH");
    refused(&["--file", "a=b", "--", "true"], 2, "expected HOST=GUEST-PATH");
    refused(&["--file", "a=/proc/a", "--", "true"], 2, "expected HOST=GUEST-PATH");
    refused(&["--fetch", "a=b", "--", "true"], 2, "expected GUEST-PATH=HOST");
    refused(&["--memory", "lots", "--", "true"], 2, "expected a size, as 512M or 2G");
    refused(&["--timeout", "soon", "--", "true"], 2, "expected a duration");
    refused(&["--result", "x", "--", "true"], 2, "expected an absolute path");
    refused(&[], 2, "CMD");
}

#[test]
fn programs_that_are_not_there() {
    let is_installed = |program: &str| {
        std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .any(|it| it.join(program).exists())
    };
    if !is_installed("qemu-system-x86_64") {
        println!("skipped: qemu-system-x86_64 is not installed");
        return;
    }
    // A whole core needs no limit, and so no permission.
    let cores = ["--cores", "1@100"];
    let one = |more: &[&str], said: &str| refused(&[&cores[..], more].concat(), 2, said);
    let command = |program: &str, code: i32, said: &str| {
        refused(&[&cores[..], &["--", program]].concat(), code, said)
    };
    command("no-such-program", 127, "cannot run 'no-such-program': no such program in PATH");
    let text = root().join("README.md").canonicalize().unwrap().display().to_string();
    command(&text, 126, &format!("cannot run '{text}': permission denied"));
    one(&["--with", "no-such-program", "--", "true"], "no program 'no-such-program' for the guest");
    one(&["--with", "/etc/passwd", "--", "true"], "'/etc/passwd' for the guest: permission denied");
    one(&["--file", "/no/such=/x", "--", "true"], "/no/such: No such file");
    one(&["--memory", "64M", "--", "true"], "does not fit a memory of 64 MiB: --memory");
    one(
        &["--with", "/bin/ls=/x", "--with", "/bin/cat=/x", "--", "true"],
        "are both to be /x in the guest",
    );
}

#[test]
fn more_than_the_host_has() {
    let said = "the cores 64@100 take 6400 % of a host core together";
    let ended = Ended::of(
        vm(&["--cores", "64@100", "--", "true"])
            .env("EVENKEEL_CACHE", with_kernel().path())
            .output()
            .unwrap(),
    );
    if ended.stderr.contains("is not installed") {
        println!("skipped: {}", ended.stderr.trim_end());
        return;
    }
    assert!(
        ended.code == 2 && ended.stderr.contains(said) && ended.stderr.contains("--force"),
        "{}",
        ended.stderr
    );
}

#[test]
fn without_qemu_its_package_is_named() {
    let kernels = with_kernel();
    let mut command = vm(&["--", "true"]);
    let ended = Ended::of(
        command
            .env("EVENKEEL_CACHE", kernels.path())
            .env("PATH", "/no such folder")
            .output()
            .unwrap(),
    );
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("apt install qemu-system-x86"), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn without_a_network_it_is_said_what_could_not_be_fetched() {
    if !std::path::Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists() {
        println!("skipped: no keys of Debian's archive");
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    // A port without a listener.
    let mirror = "http://127.0.0.1:9/debian";
    let ended = Ended::of(
        vm(&["--cores", "1@100", "--", "true"])
            .env("EVENKEEL_CACHE", cache.path())
            .env("EVENKEEL_DEBIAN_MIRROR", mirror)
            .output()
            .unwrap(),
    );
    if ended.stderr.contains("is not installed") {
        println!("skipped: {}", ended.stderr.trim_end());
        return;
    }
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let errors: Vec<&str> =
        ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(
        errors.len() == 1 && errors[0].contains("cannot fetch lists of packages"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let mut command = vm(&["--", "true"]);
    let ended = Ended::of(command.env("EVENKEEL_CACHE", "/proc/no such folder").output().unwrap());
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("/proc/no such folder"), "{}", ended.stderr);
    let mut command = vm(&["--", "true"]);
    command.env_remove("EVENKEEL_CACHE").env_remove("XDG_CACHE_HOME").env_remove("HOME");
    let ended = Ended::of(command.output().unwrap());
    assert!(ended.stderr.contains("no folder for a cache"), "{}", ended.stderr);
    assert!(!cache().join("vm/.unfinished").exists());
}
