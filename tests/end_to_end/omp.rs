//! `evenkeel omp`: programs as they are, on a machine that is said to have two kinds of core.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Ended, command};

/// A loop of 1,000 iterations, three times; what it prints does not depend on the division.
const LOOP: &str = "
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    long sum = 0;
    for (int n = 0; n < 3; n++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 1000; i++) sum += i;
    }
    printf(\"%ld\\n\", sum);
    if (count > 1) abort();
    return 7;
}
";

/// A folder for programs, and a machine of the CPUs that this process may use, the last of them
/// slow; `None`, and a line that says so, where there is one CPU alone.
fn machine() -> Option<(tempfile::TempDir, PathBuf)> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let cpus = evenkeel_machine::parse_cpus(list.trim()).unwrap();
    let Some((slow, fast)) = cpus.split_last().filter(|(_, fast)| !fast.is_empty()) else {
        println!("skipped: needs two CPUs");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.toml");
    let kind = |name: &str, capacity: u32| {
        format!(
            "[[kinds]]\nname = \"{name}\"\nsource = \"a test\"\n\
             operating_points = [{{ mhz = 1000, capacity = {capacity} }}]\n"
        )
    };
    let cluster = |name: &str, cpus: &[u32]| {
        let (count, list) = (cpus.len(), evenkeel_machine::write_cpus(cpus.iter().copied()));
        format!("[[clusters]]\nkind = \"{name}\"\ncores = {count}\ncpus = \"{list}\"\n")
    };
    let text = format!(
        "name = \"two-kinds\"\ndescription = \"of a test\"\nsource = \"a test\"\n{}{}{}{}",
        kind("fast", 1024),
        kind("slow", 256),
        cluster("fast", fast),
        cluster("slow", &[*slow])
    );
    fs::write(&file, text).unwrap();
    Some((folder, file))
}

/// Compiles it; `None`, and a line that says so, where there is no such compiler.
fn compiled(folder: &Path, compiler: &[&str], source: &str) -> Option<PathBuf> {
    let file = folder.join("program.c");
    fs::write(&file, source).unwrap();
    let program = folder.join("program");
    let done =
        Command::new(compiler[0]).args(&compiler[1..]).arg("-o").args([&program, &file]).output();
    match done {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => {
            println!("skipped: {compiler:?}: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
        Err(error) => {
            println!("skipped: {}: {error}", compiler[0]);
            None
        }
    }
}

const CLANG: [&str; 2] = ["clang-19", "-fopenmp"];

fn omp(machine: &Path, words: &[&str]) -> Command {
    let mut command = command(&["omp", "-m"]);
    command.arg(machine).args(words);
    // One program of a cache is placed at a time, and tests run side by side.
    command.env("EVENKEEL_CACHE", machine.with_file_name("cache"));
    command
}

fn ended(command: &mut Command) -> Ended {
    Ended::of(command.output().unwrap())
}

#[test]
fn a_loop_is_divided_and_the_program_says_what_it_would() {
    let Some((folder, machine)) = machine() else { return };
    let Some(program) = compiled(folder.path(), &CLANG, LOOP) else { return };
    let ended =
        ended(omp(&machine, &["--by", "capacity", "--json", "--explain", "--"]).arg(&program));
    assert_eq!(ended.code, 7, "{ended:?}");
    let (said, json) = ended.stdout.split_once('\n').unwrap();
    assert_eq!(said, "1498500");
    let json: Value = serde_json::from_str(json).unwrap();
    let region = &json["processes"][0]["regions"][0];
    assert_eq!(region["instances"], 3);
    assert_eq!(region["loops"][0]["phase"], "given");
    assert_eq!(region["loops"][0]["iterations"], 1000);
    let slow = region["loops"][0]["shares"]["slow"].as_f64().unwrap();
    assert!(slow > 0.0 && slow < 0.21, "{json}");
    assert!(ended.stderr.contains("divided by capacity"), "{}", ended.stderr);
}

#[test]
fn what_was_learned_is_used_from_the_first_run_of_a_region_on() {
    let Some((folder, machine)) = machine() else { return };
    // One region, and in it a loop that is run once.
    const ONCE: &str = "
#include <stdio.h>
static double values[3000000];
int main(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 3000000; i++)
        for (int k = 0; k < (i < 1000000 ? 40 : 2); k++) values[i] = values[i] * 0.5 + i;
    printf(\"%g\\n\", values[2999999]);
    return 0;
}
";
    let Some(program) = compiled(folder.path(), &CLANG, ONCE) else { return };
    let profile = folder.path().join("profile.json");
    let (said, flag) = (profile.to_str().unwrap(), "OMP_NUM_THREADS");
    let learned = ended(omp(&machine, &["--learn", said, "--"]).arg(&program).env(flag, "2"));
    assert_eq!(learned.code, 0, "{learned:?}");
    let text = fs::read_to_string(&profile).unwrap();
    assert!(text.contains("3000000"), "{text} {learned:?}");
    let words = ["--use", said, "--json", "--"];
    let used = ended(omp(&machine, &words).arg(&program).env(flag, "2"));
    let (_, json) = used.stdout.split_once('\n').unwrap();
    let json: Value = serde_json::from_str(json).unwrap();
    assert_eq!(json["processes"][0]["regions"][0]["loops"][0]["phase"], "given", "{json}");

    fs::write(&profile, "{}").unwrap();
    let refused = ended(omp(&machine, &words).arg(&program));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("profile.json: no profile of"), "{}", refused.stderr);
}

#[test]
fn without_explain_nothing_is_said() {
    let Some((folder, machine)) = machine() else { return };
    let Some(program) = compiled(folder.path(), &CLANG, LOOP) else { return };
    let ended = ended(omp(&machine, &["--"]).arg(&program));
    assert_eq!((ended.code, &*ended.stdout, &*ended.stderr), (7, "1498500\n", ""));
}

#[test]
fn a_umask_that_shares_files_with_a_group_is_no_hindrance() {
    let Some((folder, machine)) = machine() else { return };
    let Some(program) = compiled(folder.path(), &CLANG, LOOP) else { return };
    let mut command = Command::new("sh");
    command.args(["-c", "umask 002; exec \"$0\" \"$@\""]);
    let omp = omp(&machine, &["--explain", "--"]);
    command.arg(omp.get_program()).args(omp.get_args()).arg(&program);
    command.env("EVENKEEL_CACHE", folder.path().join("other"));
    let ended = ended(&mut command);
    assert!(ended.stderr.contains("main"), "{ended:?}");
}

#[test]
fn a_crash_is_the_programs_own() {
    let Some((folder, machine)) = machine() else { return };
    let Some(program) = compiled(folder.path(), &CLANG, LOOP) else { return };
    let stock = Command::new(&program).arg("crash").output().unwrap();
    let ended = ended(omp(&machine, &["--explain", "--"]).arg(&program).arg("crash"));
    assert_eq!(ended.code, 128 + stock.status.signal().unwrap());
    assert_eq!(ended.stdout, String::from_utf8(stock.stdout).unwrap());
    assert!(ended.stderr.contains("main"), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_preloaded_runs_as_it_is_and_a_line_says_why() {
    let Some((folder, machine)) = machine() else { return };
    let plain = "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 3; }\n";
    let cases: [(&[&str], u32, &str); 4] = [
        (&["cc", "-static"], 0o755, "it is linked statically"),
        (&["musl-gcc"], 0o755, "it is linked with musl"),
        (&["cc"], 0o4755, "it is set-user-ID, set-group-ID or has capabilities"),
        (&["cc"], 0o755, "no parallel region was seen"),
    ];
    for (compiler, mode, why) in cases {
        let Some(program) = compiled(folder.path(), compiler, plain) else { continue };
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        let ended = ended(omp(&machine, &["--explain", "--"]).arg(&program));
        assert_eq!((ended.code, &*ended.stdout), (3, "ran\n"), "{why}: {ended:?}");
        assert!(ended.stderr.contains(why), "{why}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

#[test]
fn cores_of_one_kind_are_left_alone() {
    let Some((folder, machine)) = machine() else { return };
    let text = fs::read_to_string(&machine).unwrap().replace("capacity = 256", "capacity = 1024");
    let equal = folder.path().join("equal.toml");
    fs::write(&equal, text).unwrap();
    let ended = ended(&mut omp(&equal, &["--", "sh", "-c", "echo \"[$LD_PRELOAD]\"; exit 5"]));
    assert_eq!((ended.code, &*ended.stdout), (5, "[]\n"));
    assert!(ended.stderr.contains("all cores are of one kind"), "{}", ended.stderr);
}

#[test]
fn what_is_preloaded_already_is_kept() {
    let Some((_folder, machine)) = machine() else { return };
    let mut command = omp(&machine, &["--", "sh", "-c", "echo $LD_PRELOAD"]);
    // The loader says so where there is no such library, and goes on.
    let ended = ended(command.env("LD_PRELOAD", "/nowhere/other.so"));
    assert!(ended.stdout.trim_end().ends_with(":/nowhere/other.so"), "{ended:?}");
}

#[test]
fn a_program_that_is_not_there_ends_as_in_a_shell() {
    let Some((folder, machine)) = machine() else { return };
    assert_eq!(ended(&mut omp(&machine, &["--", "/no/such/program"])).code, 127);
    let file = folder.path().join("text");
    fs::write(&file, "text").unwrap();
    assert_eq!(ended(omp(&machine, &["--"]).arg(&file)).code, 126);
    assert_eq!(ended(&mut omp(&machine, &[])).code, 2);
}

#[test]
fn threads_and_programs_that_it_starts_have_all_cpus() {
    const STARTS: &str = "
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
static void *count(void *unused) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    printf(\"%d\\n\", CPU_COUNT(&set));
    return unused;
}
int main(void) {
    static double a[1000];
    for (int n = 0; n < 3; n++) {
#pragma omp parallel for
        for (int i = 0; i < 1000; i++) a[i] += i;
    }
    count(0);
    pthread_t thread;
    pthread_create(&thread, 0, count, 0);
    pthread_join(thread, 0);
    fflush(stdout);
    return system(\"nproc\");
}
";
    let Some((folder, machine)) = machine() else { return };
    let Some(program) = compiled(folder.path(), &CLANG, STARTS) else { return };
    let all = std::thread::available_parallelism().unwrap();
    let ended = ended(omp(&machine, &["--"]).arg(&program).env_remove("OMP_NUM_THREADS"));
    assert_eq!(ended.stdout, format!("{all}\n{all}\n{all}\n"), "{ended:?}");
}
