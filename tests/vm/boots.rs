//! Commands that run in the lab.

use std::fs;

use evenkeel_files::machines;
use serde_json::Value;

use crate::{booted, tell_retry, test_name};

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_command_has_its_arguments_its_streams_and_its_exit_code() {
    // Every byte except NUL, from a shell that knows octal.
    let script = "i=1; while [ $i -lt 256 ]; do printf \"\\\\$(printf %03o $i)\"; i=$((i+1)); done
        echo \"$1|$2\" >/dev/stderr; exit 7";
    let Some(ended) = booted(&["--", "sh", "-c", script, "sh", "it's ü", "a  b\n"]) else {
        return;
    };
    assert_eq!(ended.code, 7, "{}", ended.stderr);
    assert_eq!(ended.stdout, (1..=255).collect::<Vec<u8>>());
    assert!(ended.stderr.ends_with("it's ü|a  b\n\n"), "{}", ended.stderr);
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_guest_has_what_schedulers_need_and_knows_its_machine() {
    let script = "set -e; cat \"$EVENKEEL_MACHINE\"; test -e /boot/config-$(uname -r); test -d \
                  /sys/fs/bpf; test -e /sys/kernel/btf/vmlinux
        test -e /sys/fs/cgroup/cgroup.procs; test -e /sys/kernel/tracing/trace; test -d \
        /sys/kernel/debug/sched; test -c /dev/null
        ip -o addr show lo | grep -q 127.0.0.1; cat /sys/kernel/sched_ext/state; hostname; nproc; \
        ulimit -l";
    // Kernels from 6.19 on are packaged in another way.
    let Some(ended) =
        booted(&["--cores", "1@60+1@40+2@20", "--kernel", "7.2", "--", "sh", "-c", script])
    else {
        return;
    };
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = ended.text();
    let (machine, rest) = text.split_at(text.find("disabled").unwrap());
    let machine = machines::parse(machine, "lab").unwrap();
    assert_eq!(machine.cores_label(), "1fast+1slow1.5+2slow3");
    assert_eq!(rest, "disabled\nlab\n4\nunlimited\n");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn programs_and_files_go_in_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let host = |name: &str| folder.path().join(name).display().to_string();
    fs::create_dir(host("in")).unwrap();
    fs::write(host("in/a"), "one\n").unwrap();
    // Programs of the host with libraries of their own, one by name and one by path. Nothing covers
    // files that were put into /tmp.
    let script = "rev /tmp/data/a; mv /tmp/data /data; /opt/print two; mkdir /tmp/out; cp /data/a \
                  /tmp/out/b; echo '{\"x\": [1, 2]}' >/tmp/result.json; echo e >&2; exit 3";
    let [data, out] = [format!("{}=/tmp/data", host("in")), format!("/tmp/out={}", host("out"))];
    let mut args = vec![
        "--with",
        "rev",
        "--with",
        "/usr/bin/printenv=/opt/print",
        "--file",
        &data,
        "--fetch",
        &out,
    ];
    args.extend([
        "--result",
        "/tmp/result.json",
        "--json",
        "--",
        "env",
        "two=2",
        "sh",
        "-c",
        script,
    ]);
    let Some(ended) = booted(&args) else { return };
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let record: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let keys: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
    let all = [
        "kernel",
        "cores",
        "smt",
        "exit_code",
        "seconds",
        "beat",
        "longest_pause_s",
        "stdout",
        "stderr",
        "result",
    ];
    assert_eq!(keys, all);
    assert!(record["kernel"].as_str().unwrap().starts_with("6.18."), "{record}");
    assert_eq!((&record["cores"], &record["exit_code"]), (&"2@60+2@20".into(), &3.into()));
    assert_eq!((&record["stdout"], &record["stderr"]), (&"eno\n2\n".into(), &"e\n".into()));
    assert_eq!(record["result"], serde_json::json!({"x": [1, 2]}));
    assert!(record["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(
        record["longest_pause_s"].as_f64().is_some_and(|it| it > 0.0),
        record["beat"] == true
    );
    assert_eq!(fs::read_to_string(host("out/b")).unwrap(), "one\n");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn slow_cores_are_slow() {
    let script = "spin() { taskset -c $1 sh -c 'i=0; trap \"echo \\$i >/tmp/$0; exit\" TERM
            while :; do i=$((i+1)); done' $1 & }
        spin 0; spin 1; spin 2; sleep 4; kill %1 %2 %3; wait; cat /tmp/0 /tmp/1 /tmp/2";
    // The emulator takes the same time on each core, 1 to 8 % of a core of the host. So equal steps
    // of quota are equal steps of work, and the ratio of work is not that of the quotas. `make
    // bench-vm-lab` has the figures of a quiet machine.
    let mut seen = Vec::new();
    for _ in 0..4 {
        let cores = ["--cores", "1@60+1@40+1@20", "--", "sh", "-c", script];
        let Some(ended) = booted(&cores) else { return };
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let done: Vec<f64> = ended.text().lines().map(|line| line.parse().unwrap()).collect();
        let [fast, mid, slow] = done[..] else { panic!("{done:?}") };
        let steps = (fast - mid) / (mid - slow);
        let emulator = 20.0 - slow * 40.0 / (fast - slow);
        if fast / slow > 2.4 && (0.7..1.4).contains(&steps) && emulator < 10.0 {
            return;
        }
        seen.push(done);
        let why = format!("others took from one of three cores: {:.0?}", seen.last());
        tell_retry(&test_name(), &why);
    }
    panic!("asked for equal steps, of which the last is to a third, got {seen:?}");
}
