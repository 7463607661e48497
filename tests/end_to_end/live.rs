//! `evenkeel run` and `schedule` on real programs: what they pass through, what they refuse, and
//! that they leave nothing behind.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::{Ended, assert_valid, command, copy_of_evenkeel, eventually};

fn example(name: &str) -> String {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("examples").join(name);
    assert!(
        path.exists(),
        "built by cargo test --workspace, or cargo build -p evenkeel-linux --examples"
    );
    path.to_str().unwrap().to_owned()
}

/// The command with its own folder for masks, and outside any lab.
fn live(folder: &Path, args: &[&str]) -> Command {
    let mut live = command(args);
    live.env("EVENKEEL_RUNTIME_DIR", folder.join("evenkeel"))
        .env_remove("EVENKEEL_MACHINE")
        .env_remove("EVENKEEL_LAB");
    live
}

fn run(args: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let ended = Ended::of(live(folder.path(), &[&["run"], args].concat()).output().unwrap());
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new(), "no masks are left to be put back");
    ended
}

/// The files with masks.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(folder.join("evenkeel")) else { return Vec::new() };
    let paths = files.flatten().map(|file| file.path());
    paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("masks-")).collect()
}

fn cpus_of(process: u32) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned())
}

fn own_cpus() -> String {
    cpus_of(std::process::id()).unwrap()
}

#[test]
fn a_programs_output_and_exit_code_pass_through_and_the_record_is_valid() {
    let ended = run(&["-p", "acfs", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(ended.code, 7);
    let (out, record) = ended.stdout.split_once('\n').unwrap();
    assert_eq!(out, "out");
    assert!(ended.stderr.lines().any(|line| line == "err"), "{}", ended.stderr);
    let record: Value = serde_json::from_str(record).unwrap();
    assert_valid(&record);
    assert_eq!(record["policy"], "acfs");
    assert_eq!(record["live"]["mechanism"], "affinity");
}

#[test]
fn the_record_can_go_to_a_file_and_nothing_be_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let ended =
        run(&["-p", "age", "-q", "-o", file.to_str().unwrap(), "--", "sh", "-c", "echo out"])
            .done();
    assert_eq!(ended.stdout, "out\n");
    assert!(!ended.stderr.contains("time"), "{}", ended.stderr);
    assert_valid(&serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap());
}

#[test]
fn what_is_typed_and_piped_reaches_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = live(folder.path(), &["run", "-q", "-p", "linux", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"through\n").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"through\n");
}

/// The most runs of a program until the kernel had room for all its records, which is chance on a
/// busy machine. A thread that is lost by a bug of ours is lost in every run.
const ATTEMPTS: u32 = 3;

#[test]
fn every_thread_of_a_swarm_is_counted_and_what_it_forks_too() {
    for (words, threads, processes) in
        [(&["threads", "5000"][..], 5001, 1), (&["forks", "60"], 61, 61)]
    {
        let program = example("swarm");
        let args = [&["-p", "acfs", "--json", "--", &program], words].concat();
        let attempt = |_| -> Value {
            let ended = run(&args).done();
            serde_json::from_str(&ended.stdout[ended.stdout.find('{').unwrap()..]).unwrap()
        };
        let record = (0..ATTEMPTS).map(attempt).find(|record| record["live"]["missed"] == 0);
        let record = record.expect("nothing is missed in one of them");
        if !record["live"]["source"].as_str().unwrap().starts_with("perf") {
            println!("skipped: not every thread is seen by {}", record["live"]["source"]);
            continue;
        }
        let apps = record["apps"].as_array().unwrap();
        let seen: u64 = apps.iter().map(|app| app["threads"].as_u64().unwrap()).sum();
        // Some standard libraries start a thread for every process that waits for another.
        assert!(seen >= threads, "{words:?}: {seen}");
        assert_eq!(apps.len(), processes, "{words:?}");
    }
}

#[test]
fn a_thread_that_binds_itself_keeps_its_cpus() {
    let cpus = own_cpus();
    let last = cpus.rsplit([',', '-']).next().unwrap();
    let ended = run(&["-q", "-p", "acfs", "--", &example("worker"), "mask", last, "300"]).done();
    assert_eq!(ended.stdout.trim(), last);
}

#[test]
fn signals_that_are_sent_reach_the_program_and_its_end_is_ours() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = live(
        folder.path(),
        &[
            "run",
            "-p",
            "acfs",
            "--",
            "sh",
            "-c",
            "trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done",
        ],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_program_that_dies_of_a_signal_is_told_as_shells_do() {
    let ended = run(&["-q", "-p", "acfs", "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(ended.code, 137);
}

/// A program that works until the test is over, even if that fails.
struct Forever(Child);

impl Forever {
    fn start() -> Self {
        Self(
            Command::new(example("worker"))
                .arg("forever")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Forever {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program that works, under a `run` or `schedule` that is killed once it has bound the program.
fn killed(folder: &Path) -> Forever {
    let program = Forever::start();
    let pid = program.id().to_string();
    let mut schedule = live(folder, &["schedule", "-p", "pinned", "--pid", &pid])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let all = own_cpus();
    eventually("the program is bound", || cpus_of(program.id()).is_some_and(|cpus| cpus != all));
    schedule.kill().unwrap();
    assert_eq!(schedule.wait().unwrap().signal(), Some(9));
    program
}

#[test]
fn a_program_whose_scheduler_is_killed_goes_on_and_the_next_start_gives_it_its_cpus_back() {
    if !own_cpus().contains(['-', ',']) {
        return println!("skipped: needs two CPUs");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut program = killed(folder.path());
    assert!(program.0.try_wait().unwrap().is_none(), "it runs");
    assert_eq!(files(folder.path()).len(), 1, "what it had is written down");
    let next = Ended::of(
        live(folder.path(), &["run", "-q", "-p", "linux", "--", "true"]).output().unwrap(),
    )
    .done();
    assert!(next.stderr.contains("1 threads that a killed evenkeel had bound"), "{}", next.stderr);
    assert_eq!(cpus_of(program.id()), Some(own_cpus()));
    assert!(files(folder.path()).is_empty());
}

#[test]
fn an_interrupted_schedule_gives_cpus_back_and_a_second_one_is_refused_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let program = Forever::start();
    let pid = program.id().to_string();
    let mut schedule = live(folder.path(), &["schedule", "-p", "pinned", "--pid", &pid, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut stderr = BufReader::new(schedule.stderr.take().unwrap());
    stderr.read_line(&mut said).unwrap();
    assert!(said.starts_with("note: by affinity: "), "which mechanism comes first: {said}");
    said.clear();
    stderr.read_line(&mut said).unwrap();
    assert!(said.starts_with(&format!("note: scheduling process {pid} under pinned; ")), "{said}");
    let second = Ended::of(
        live(folder.path(), &["schedule", "-p", "linux", "--pid", &pid]).output().unwrap(),
    );
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains(&format!("(process {})", schedule.id())), "{}", second.stderr);
    let send = |signal: &str| {
        Command::new("kill").args([signal, &schedule.id().to_string()]).status().unwrap()
    };
    send("-TSTP");
    said.clear();
    stderr.read_line(&mut said).unwrap();
    assert!(said.contains("cannot be suspended"), "{said}");
    send("-INT");
    let ended = schedule.wait_with_output().unwrap();
    assert!(ended.status.success());
    assert_valid(&serde_json::from_slice(&ended.stdout).unwrap());
    assert_eq!(cpus_of(program.id()), Some(own_cpus()));
}

/// A machine file for equal CPUs that describes the first as fast and the second as a third as
/// fast.
fn fast_and_slow(folder: &Path) -> Option<String> {
    let cpus = evenkeel_machine::parse_cpus(&own_cpus()).unwrap();
    let [fast, slow] = cpus.get(..2)? else { return None };
    let cluster = |kind: &str, cpu: &u32| {
        format!("[[clusters]]\nkind = \"{kind}\"\ncores = 1\ncpus = \"{cpu}\"\n")
    };
    let kind = |name: &str, capacity: u32| {
        format!(
            "[[kinds]]\nname = \"{name}\"\noperating_points = [{{ mhz = 1000, capacity = \
             {capacity} }}]\n"
        )
    };
    let head = "name = \"made-up\"\ndescription = \"for a test\"\nsource = \"a test\"\n";
    let kinds = kind("fast", 1024) + &kind("slow", 341);
    let path = folder.join("made-up.toml");
    fs::write(&path, format!("{head}{kinds}{}{}", cluster("fast", fast), cluster("slow", slow)))
        .unwrap();
    Some(path.display().to_string())
}

#[test]
fn a_thread_that_sleeps_when_schedule_attaches_leaves_the_fast_core_to_the_one_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let Some(machine) = fast_and_slow(folder.path()) else {
        return println!("skipped: needs two CPUs");
    };
    for source in ["perf", "connector", "poll"] {
        for policy in ["acfs", "hsp", "age", "gts"] {
            // The first thread sleeps until the other has worked.
            let mut program = Command::new(example("worker"))
                .args(["spin", "1", "60000"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let process = program.id();
            let works = |tid: &String| {
                let stat = fs::read_to_string(format!("/proc/{process}/task/{tid}/stat"))
                    .unwrap_or_default();
                *tid != process.to_string() && stat.contains(") R ")
            };
            let threads = || -> Vec<String> {
                let tasks =
                    fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
                tasks.map(|task| task.file_name().into_string().unwrap()).collect()
            };
            eventually("one of two threads works", || {
                threads().len() == 2 && threads().iter().any(works)
            });
            let (args, pid) =
                (["schedule", "--backend", "affinity", "--json", "--threads"], process.to_string());
            let args =
                [&args[..], &["-m", &machine, "-p", policy, "--source", source, "--pid", &pid]]
                    .concat();
            let ended = live(folder.path(), &[&args[..], &["--duration", "600ms"]].concat())
                .output()
                .unwrap();
            let cpus = cpus_of(process);
            program.kill().unwrap();
            program.wait().unwrap();
            let ended = Ended::of(ended);
            if ended.code == 1 && source != "poll" {
                println!("skipped: {source}: {}", ended.stderr.trim());
                break;
            }
            let record: Value = serde_json::from_str(&ended.done().stdout).unwrap();
            assert_valid(&record);
            let of = |thread: &Value, kind: &str| thread["time_on_kind_s"][kind].as_f64().unwrap();
            for thread in record["threads"].as_array().unwrap() {
                let (fast, slow) = (of(thread, "fast"), of(thread, "slow"));
                if thread["name"] == pid.as_str() {
                    assert!(
                        fast + slow == 0.0 && thread["wait_s"] == 0.0,
                        "{policy}, {source}: it sleeps: {thread}"
                    );
                } else {
                    // Until a thread is placed, it runs where the kernel puts it.
                    assert!(fast > 0.8 * (fast + slow), "{policy}, {source}: it works: {thread}");
                }
            }
            assert_eq!(record["live"]["changes"], 1, "{policy}, {source}: one mask was set");
            assert!(
                record["makespan_s"].as_f64().unwrap() >= 0.6,
                "{policy}, {source}: the session's time"
            );
            assert_eq!(cpus, Some(own_cpus()), "{policy}, {source}");
        }
    }
}

#[test]
fn who_may_not_place_the_threads_of_others_is_told_so() {
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let folder = tempfile::tempdir().unwrap();
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root || Command::new("setpriv").arg("--version").output().is_err() {
        return println!("skipped: needs root and setpriv");
    }
    // A binary that other users may execute, wherever this is built.
    let binary = folder.path().join("evenkeel");
    copy_of_evenkeel(&binary);
    Command::new("chmod").args(["-R", "a+rx"]).arg(folder.path()).status().unwrap();
    let ended = Command::new(nobody[0])
        .args(&nobody[1..])
        .arg(&binary)
        .args(["schedule", "-p", "acfs", "--backend", "affinity", "--pid", "1", "--duration", "1s"])
        .env("EVENKEEL_RUNTIME_DIR", "/tmp/evenkeel-test-of-nobody")
        .output()
        .unwrap();
    let ended = Ended::of(ended);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let why = "error: process 1 is of another user: to place its threads takes CAP_SYS_NICE \
               (sudo); nothing can be placed";
    assert_eq!(ended.stderr.lines().last(), Some(why));
}

#[test]
fn what_a_program_leaves_running_gets_its_cpus_back_whatever_the_source() {
    let own = own_cpus();
    if !own.contains(['-', ',']) {
        return println!("skipped: needs two CPUs");
    }
    // The shell waits until it is bound, so that the program that it leaves behind inherits the
    // mask, and then until that program has been seen.
    let script = format!(
        "while grep -q '^Cpus_allowed_list:.{own}$' /proc/$$/status; do sleep 0.01; done; sleep \
         600 >/dev/null 2>&1 & \
         until grep -q \"^$! \" \"$EVENKEEL_RUNTIME_DIR\"/masks-*; do sleep 0.01; done; echo $!"
    );
    for source in ["perf", "connector", "poll"] {
        let folder = tempfile::tempdir().unwrap();
        let args = ["run", "-q", "-p", "pinned", "--grace", "0ms", "--source", source, "--"];
        let args = [&args[..], &["timeout", "60", "sh", "-c", &script]].concat();
        let ended = Ended::of(live(folder.path(), &args).output().unwrap());
        if ended.code == 1 {
            println!("skipped: {}", ended.stderr.trim());
            continue;
        }
        let left: u32 = ended.done().stdout.trim().parse().unwrap();
        let cpus = cpus_of(left);
        Command::new("kill").arg(left.to_string()).status().unwrap();
        assert_eq!(cpus.as_ref(), Some(&own), "{source}");
    }
}

#[test]
fn processes_whose_parents_have_ended_leave_no_zombies() {
    let folder = tempfile::tempdir().unwrap();
    // A process whose parent has ended stays in /proc until another process has waited for it.
    let script = "for i in 1 2 3 4 5; do sh -c 'sleep 0.05 >/dev/null & echo $!'; done | while \
                  read orphan; do \
                  tries=0; while [ -e /proc/$orphan ] && [ $tries -lt 100 ]; do sleep 0.1; \
                  tries=$((tries + 1)); done; \
                  if [ -e /proc/$orphan ]; then cat /proc/$orphan/stat; else echo gone; fi; done";
    let ended = Ended::of(
        live(folder.path(), &["run", "-q", "-p", "acfs", "--", "sh", "-c", script])
            .output()
            .unwrap(),
    );
    assert_eq!(ended.stdout, "gone\n".repeat(5));
}

#[test]
fn a_schedule_whose_reader_has_gone_gives_cpus_back() {
    let folder = tempfile::tempdir().unwrap();
    let program = Forever::start();
    let pid = program.id().to_string();
    let mut schedule =
        live(folder.path(), &["schedule", "-p", "pinned", "--pid", &pid, "--stats", "1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    drop(schedule.stdout.take());
    schedule.wait().unwrap();
    assert_eq!(cpus_of(program.id()), Some(own_cpus()));
    assert!(files(folder.path()).is_empty());
}

/// A `schedule` that has begun with a process, and its further output: the reader must stay open.
fn scheduling(folder: &Path, pid: &str) -> (Child, impl Sized) {
    let mut schedule = live(folder, &["schedule", "-p", "acfs", "--pid", pid])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(schedule.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("scheduling process")), "it has begun");
    (schedule, said)
}

#[test]
fn a_schedule_ends_with_the_processes_that_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let program = Forever::start();
    let pid = program.id().to_string();
    let (mut schedule, _said) = scheduling(folder.path(), &pid);
    drop(program);
    assert!(schedule.wait().unwrap().success());
}

#[test]
fn a_schedule_is_monitored_from_outside_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let program = Forever::start();
    let pid = program.id().to_string();
    let monitor = |json: &[&str]| {
        let args = [&["schedule", "--monitor", "1"], json].concat();
        live(folder.path(), &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let nobody = Ended::of(monitor(&[]).wait_with_output().unwrap());
    assert_eq!((nobody.code, nobody.stderr.lines().count()), (1, 1), "{}", nobody.stderr);
    assert!(nobody.stderr.contains("no `evenkeel schedule` runs"), "{}", nobody.stderr);

    // The socket of a killed scheduler does not disturb a new one.
    let socket = folder.path().join("evenkeel/schedule.sock");
    fs::create_dir_all(socket.parent().unwrap()).unwrap();
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let (mut schedule, _said) = scheduling(folder.path(), &pid);

    let (mut people, mut programs) = (monitor(&[]), monitor(&["--json"]));
    let mut line = String::new();
    BufReader::new(people.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("threads 1, runnable 1; per second: "), "{line}");
    Command::new("kill").args(["-INT", &people.id().to_string()]).status().unwrap();
    assert!(people.wait().unwrap().success(), "an interrupted monitor has done what it was asked");

    let mut lines = BufReader::new(programs.stdout.take().unwrap()).lines();
    let statistics: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(statistics["pid"], schedule.id());
    assert_eq!(
        (&statistics["policy"], &statistics["mechanism"]),
        (&"acfs".into(), &"affinity".into())
    );
    assert!(statistics["per_second"]["looks"].as_f64().unwrap() > 0.0, "{statistics}");
    drop(program);
    assert!(schedule.wait().unwrap().success());
    assert!(programs.wait().unwrap().success(), "a monitor ends with what it shows");
    assert!(!socket.exists());
}

#[test]
fn what_cannot_be_run_or_scheduled_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.toml");
    fs::write(
        &other,
        "name = \"o\"\ndescription = \"d\"\nsource = \"s\"\n[[kinds]]\nname = \"a\"\ncapacity = \
         1\nmax_mhz = 1000\n\
         [[clusters]]\nkind = \"a\"\ncores = 1\ncpus = \"999\"\n",
    )
    .unwrap();
    let other = other.to_str().unwrap();
    for (args, code, said) in [
        (&["run", "-p", "acfs", "--", "no-such-program"][..], 127, "cannot run 'no-such-program'"),
        (&["run", "-p", "acfs", "--", "/etc/passwd"], 126, "cannot run '/etc/passwd'"),
        (&["run", "-p", "nonsense", "--", "true"], 2, "no policy 'nonsense'"),
        (&["run", "-p", "acfs", "--set", "uf=0", "--", "true"], 2, "knob uf of acfs"),
        (&["run", "-p", "acfs", "--speedup", "gzip", "--", "true"], 2, "expected COMMAND=FACTOR"),
        (&["run", "-p", "acfs", "--budget", "0", "--", "true"], 2, "expected percent"),
        (&["run", "-p", "acfs"], 2, "COMMAND"),
        (&["run", "-p", "acfs", "-m", other, "--", "true"], 2, "has CPUs 999"),
        (&["run", "-p", "acfs", "-m", "no-such.toml", "--", "true"], 2, "no-such.toml"),
        (&["schedule"], 2, "--policy <POLICY>"),
        (&["schedule", "--monitor", "0"], 2, "--monitor"),
        (&["schedule", "--monitor", "1", "--stats", "1"], 2, "cannot be used with"),
        (&["schedule", "--monitor", "1", "-p", "acfs"], 2, "cannot be used with"),
        (&["schedule", "-p", "acfs", "--pid", "4194303"], 2, "no process 4194303"),
        (&["schedule", "-p", "acfs", "--pid", "0"], 2, "'0'"),
        (&["schedule", "-p", "acfs", "--cgroup", "/nowhere"], 2, "/nowhere: no cgroup found"),
    ] {
        let ended = Ended::of(live(folder.path(), args).output().unwrap());
        assert_eq!(ended.code, code, "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{args:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{args:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{args:?}");
    }
}

#[test]
fn threads_that_switch_all_the_time_are_asked_how_long_they_ran_in_place_of_being_told_of() {
    // Two threads that hand a byte to and fro.
    let program = "import os, threading, time\n\
                   a, b = os.pipe(), os.pipe()\n\
                   end = time.time() + 1.5\n\
                   def play(read, write):\n    \
                       while time.time() < end: os.write(write, b'x'); os.read(read, 1)\n    \
                       os.write(write, b'x')\n\
                   t = threading.Thread(target=play, args=(a[0], b[1])); t.start(); play(b[0], \
                   a[1]); t.join()\n\
                   open(os.environ['CPU_TIME'], 'w').write(str(time.process_time()))\n";
    if !Path::new("/usr/bin/python3").exists() {
        println!("skipped: no python3");
        return;
    }
    let cpu_time = tempfile::NamedTempFile::new().unwrap();
    let run = |program: &str| {
        let args = [
            "run",
            "--backend",
            "affinity",
            "-p",
            "acfs",
            "--json",
            "--",
            "/usr/bin/python3",
            "-c",
            program,
        ];
        Ended::of(command(&args).env("CPU_TIME", cpu_time.path()).output().unwrap()).done().json()
    };
    let quiet = run("import time\nfor i in range(20): time.sleep(0.05)");
    let source = |record: &Value| record["live"]["source"].as_str().unwrap().to_owned();
    if !source(&quiet).contains("every time a thread gets or leaves a core") {
        println!("skipped: perf's records of switches are not to be had here: {}", source(&quiet));
        return;
    }
    let record = run(program);
    assert!(source(&record).contains("no switches between threads"), "{record:#}");
    let app = &record["apps"][0];
    let had: f64 = app["time_on_kind_s"]
        .as_object()
        .unwrap()
        .values()
        .map(|time| time.as_f64().unwrap())
        .sum();
    // Their CPU time is known all the same.
    let used: f64 = fs::read_to_string(cpu_time.path()).unwrap().parse().unwrap();
    assert!(
        (0.8 * used..1.3 * used + 0.1).contains(&had),
        "{had} s, and it used {used} s: {record:#}"
    );
}
