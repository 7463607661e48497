//! `sweep --on slurm`: with scripts that stand for Slurm's commands, and with Slurm itself where
//! tests/setup-slurm.sh has started it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::sweep::{GRID, Place};
use crate::{Ended, evenkeel, eventually, is_ignored};

/// Submits by carrying out each task at once, as many as its argument `--array` has.
const SBATCH: &str = r#"
cat >"$FAKE/script"
echo "$@" >>"$FAKE/submitted"
for argument; do
    case $argument in
    --array=*) indices=${argument#--array=} ;;
    --output=*) output=${argument#--output=} ;;
    esac
done
for range in $(echo "$indices" | tr , ' '); do
    for index in $(seq "${range%-*}" "${range#*-}"); do
        file=$(echo "$output" | sed "s/%A/7/; s/%a/$index/")
        SLURM_ARRAY_TASK_ID=$index sh "$FAKE/script" 2>"$file"
    done
done
echo 7
"#;

/// Says what a file has.
const SQUEUE: &str = "echo \"$@\" >>\"$FAKE/asked\"; cat \"$FAKE/queue\" 2>/dev/null || true";

/// A place with commands that stand for Slurm's.
struct Fake {
    place: Place,
}

impl Fake {
    fn with(sbatch: &str, squeue: &str) -> Self {
        let fake = Self { place: Place::with(GRID) };
        fs::create_dir(fake.place.path("bin")).unwrap();
        let commands = [("sbatch", sbatch), ("squeue", squeue), ("scancel", "echo >&2; exit 1")];
        for (name, script) in commands {
            let file = fake.place.path(&format!("bin/{name}"));
            fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fake
    }

    fn sweep(&self, more: &[&str]) -> Command {
        self.with_commands(self.place.sweep(&[&["--on", "slurm"], more].concat()))
    }

    fn with_commands(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.place.path("bin")));
        command.env("FAKE", self.place.path("."));
        command
    }

    fn ended(&self, more: &[&str]) -> Ended {
        Ended::of(self.sweep(more).output().unwrap())
    }

    /// The submissions, a line of arguments each.
    fn submitted(&self) -> Vec<String> {
        let text = fs::read_to_string(self.place.path("submitted")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_sweep_by_tasks_has_the_bytes_of_a_local_one_and_leaves_nothing_else() {
    let local = Place::with(GRID);
    local.ended(&[]).done();
    let fake = Fake::with(SBATCH, SQUEUE);
    let more = ["--tasks", "5", "--jobs", "2", "--sbatch", "--qos=low -p x", "--json"];
    let ended = fake.ended(&more).done();
    assert!(ended.stderr.contains("note: job 7: 5 tasks of 2 CPUs\n"), "{}", ended.stderr);
    let done = ended.json();
    assert_eq!(
        ["cases", "carried_out", "failed", "parts"].map(|name| done[name].as_u64().unwrap()),
        [24, 24, 0, 24]
    );
    assert_eq!(fake.place.parts(), local.parts());
    let [submitted] = &fake.submitted()[..] else { panic!("{:?}", fake.submitted()) };
    assert!(submitted.starts_with("--qos=low -p x --parsable --job-name=evenkeel-"));
    assert!(submitted.contains(" --array=1-5 --cpus-per-task=2 "), "{submitted}");
    let asked = fs::read_to_string(fake.place.path("asked")).unwrap();
    let name = submitted.split("--job-name=").nth(1).unwrap().split(' ').next().unwrap();
    assert!(asked.lines().all(|line| line.contains(&format!("--name={name} "))), "{asked}");
}

#[test]
fn a_grid_on_stdin_and_seeds_reach_the_tasks() {
    let local = Place::with(GRID);
    local.ended(&["--seeds", "3"]).done();
    let fake = Fake::with(SBATCH, SQUEUE);
    let out = fake.place.path("out");
    let args = ["sweep", "-", "-o", &out, "--on", "slurm", "--seeds", "3"];
    let mut command = fake.with_commands(crate::command(&args));
    command.stdin(fs::File::open(fake.place.path("grid.toml")).unwrap());
    Ended::of(command.output().unwrap()).done();
    assert_eq!(fake.place.parts(), local.parts());
}

#[test]
fn only_tasks_whose_share_lacks_a_part_are_submitted() {
    let fake = Fake::with(SBATCH, SQUEUE);
    for share in (1..=24).filter(|share| ![3, 7, 8, 9].contains(share)) {
        fake.place.ended(&["--shard", &format!("{share}/24")]).done();
    }
    assert!(fake.ended(&[]).stderr.contains("20 of 24 parts of this grid are there; --resume"));
    // Four parts lack: four tasks at most, and it is theirs that is looked at.
    fake.ended(&["--resume", "--tasks", "24"]).done();
    let [submitted] = &fake.submitted()[..] else { panic!("{:?}", fake.submitted()) };
    assert!(submitted.contains(" --array=1,3-4 "), "{submitted}");
    let again = fake.ended(&["--resume", "--json"]).done().json();
    assert_eq!((again["carried_out"].as_u64(), fake.submitted().len()), (Some(0), 1));
}

#[test]
fn what_slurm_refuses_is_one_line_and_nothing_is_written() {
    let refusing = "echo 'sbatch: error: invalid partition specified: x' >&2
                    echo 'sbatch: error: Batch job submission failed: Invalid x' >&2; exit 1";
    let away = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1";
    for (sbatch, squeue, expected) in [
        (refusing, SQUEUE, "sbatch: invalid partition specified: x; Batch job submission failed"),
        (SBATCH, away, "squeue: slurm_load_jobs error: Unable to contact slurm controller"),
        (
            "echo 'sbatch: error: Invalid job array specification' >&2; exit 1",
            SQUEUE,
            "sbatch: Invalid job array specification; --tasks N makes a smaller one",
        ),
        ("echo what", SQUEUE, "sbatch: 'what' found, expected the number of a job"),
        ("exit 3", SQUEUE, "sbatch: exit status: 3"),
    ] {
        let fake = Fake::with(sbatch, squeue);
        let ended = fake.ended(&[]);
        assert_eq!((ended.code, ended.stderr.lines().count()), (1, 1), "{}", ended.stderr);
        assert!(ended.stderr.starts_with(&format!("error: {expected}")), "{}", ended.stderr);
        assert!(!fs::exists(fake.place.path("out")).unwrap(), "{expected}");
    }
    let place = Place::with(GRID);
    let ended = place.sweep(&["--on", "slurm"]).env("PATH", place.path("")).output().unwrap();
    let ended = Ended::of(ended);
    let expected = "error: --on slurm takes Slurm's own commands: 'sbatch': ";
    assert!(ended.code == 1 && ended.stderr.starts_with(expected), "{}", ended.stderr);
    for (more, expected) in [
        (&["--on", "pbs"][..], "expected slurm, dask or dask=ADDRESS"),
        (&["--on", "slurm", "--shard", "1/2"], "cannot be used with '--shard <I/N>'"),
        (&["--on", "slurm", "--tasks", "0"], "0 is not in 1..=1000000"),
        (&["--on", "slurm", "--sbatch", "job.sh"], "expected flags of sbatch, as --mem=4G"),
        (&["--on", "dask", "--tasks", "2"], "--tasks and --sbatch are for --on slurm"),
        (&["--tasks", "2"], "--on <ENGINE>"),
    ] {
        let ended = place.ended(more);
        assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    assert!(place.parts().is_empty());
}

#[test]
fn a_job_whose_number_was_lost_on_its_way_is_watched() {
    let late = "echo '7|RUNNING|None' >\"$FAKE/queue\"
                { sleep 1; rm \"$FAKE/queue\"; } >/dev/null 2>&1 &
                echo 'sbatch: error: Batch job submission failed: Socket timed out' >&2; exit 1";
    let fake = Fake::with(&SBATCH.replace("echo 7\n", late), SQUEUE);
    let said = fake.ended(&["--tasks", "2"]).done().stderr;
    let watching = "note: watching what was submitted before: job 7: 1 running\n";
    assert_eq!((said.as_str(), fake.submitted().len()), (watching, 1));
}

#[test]
fn tasks_that_write_nothing_are_submitted_three_times_and_then_quoted() {
    let failing = SBATCH.replace("sh \"$FAKE/script\"", "sh -c 'echo No space left >&2'");
    let fake = Fake::with(&failing, SQUEUE);
    let ended = fake.ended(&["--tasks", "2"]);
    assert_eq!((ended.code, fake.submitted().len()), (1, 3), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap();
    assert_eq!(
        last,
        "error: 3 jobs ended and no part was written; the last output of a task: No space left"
    );
    // What tasks said is left to be looked at, and the sweep goes on from there.
    assert!(fs::exists(fake.place.path("out/slurm/task-7-1.txt")).unwrap());
    let silent = Fake::with("cat >/dev/null; echo 7", SQUEUE);
    let said = silent.ended(&[]).stderr;
    assert!(said.contains("nor any output of a task; ") && said.contains("where nodes see it"));
}

#[test]
fn a_job_that_is_there_is_watched_and_not_submitted_again() {
    const SIGINT: i32 = 2;
    if is_ignored(SIGINT) {
        return;
    }
    let waiting = "cat >/dev/null; echo \"$@\" >>\"$FAKE/submitted\"
                   echo '7|PENDING|Priority' >\"$FAKE/queue\"; echo 7";
    let fake = Fake::with(waiting, SQUEUE);
    let stopped = begun(fake.sweep(&["--tasks", "3"]), "note: job 7: 3 tasks of 1 CPU");
    let said = interrupted(stopped);
    assert_eq!(
        said.trim_end(),
        "note: job 7 goes on; --on slurm --resume watches it again, scancel 7 ends it"
    );
    let watching =
        "note: watching what was submitted before: job 7: 0 running, 1 waiting (Priority)";
    let again = begun(fake.sweep(&["--resume"]), watching);
    let share = |share: &str| fake.place.ended(&["--shard", share]).done();
    share("1/2");
    share("2/2");
    fs::remove_file(fake.place.path("queue")).unwrap();
    assert!(again.0.wait_with_output().unwrap().status.success());
    assert_eq!(fake.submitted().len(), 1);
    assert!(!fs::exists(fake.place.path("out/slurm")).unwrap());
}

#[test]
fn a_dry_run_says_how_many_tasks_there_would_be_and_asks_nobody() {
    let place = Place::with(GRID);
    let grid = place.path("grid.toml");
    let args = ["sweep", &grid, "--dry-run", "--on", "slurm"];
    let text = evenkeel(&args).done().stdout;
    assert!(text.trim_end().ends_with(" with 1 task of 1 CPU"), "{text}");
    let more = [&args[..], &["--tasks", "1000000", "--jobs", "2", "--json"]].concat();
    let plan = evenkeel(&more).done().json();
    assert_eq!((plan["tasks"].as_u64(), plan["jobs"].as_u64()), (Some(24), Some(48)));
}

/// Starts a command, and waits for a line on stderr that begins so.
fn begun(mut command: Command, line: &str) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while stderr.read_line(&mut said).unwrap() > 0 {
        if said.lines().last().is_some_and(|last| last.starts_with(line)) {
            return (child, stderr);
        }
    }
    panic!("{:?} before '{line}': {said}", child.wait());
}

/// Ctrl-C; gives what is said after it.
fn interrupted((mut child, mut stderr): (Child, BufReader<std::process::ChildStderr>)) -> String {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut said = String::new();
    while stderr.read_line(&mut said).unwrap() > 0 {}
    said
}

/// Slurm as it runs here; none: one line says so.
struct Slurm {
    configuration: PathBuf,
}

impl Slurm {
    fn here() -> Option<Self> {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/slurm/slurm.conf");
        let configuration = std::env::var_os("SLURM_CONF").map_or(ours, PathBuf::from);
        let slurm = Self { configuration };
        let is_up = |ended: Output| ended.status.success() && !ended.stdout.is_empty();
        // Without its configuration Slurm waits for a minute.
        if slurm.configuration.exists()
            && slurm.of("sinfo", &["--noheader"]).output().is_ok_and(is_up)
        {
            return Some(slurm);
        }
        let required = std::env::var("EVENKEEL_SLURM").is_ok_and(|it| it == "required");
        assert!(!required, "no Slurm, which EVENKEEL_SLURM=required requires");
        eprintln!("skipped: no Slurm is up (tests/setup-slurm.sh)");
        None
    }

    fn of(&self, command: &str, args: &[&str]) -> Command {
        let mut command = Command::new(command);
        command.args(args).env("SLURM_CONF", &self.configuration);
        command
    }

    fn sweep(&self, place: &Place, more: &[&str]) -> Command {
        let mut command = place.sweep(&[&["--on", "slurm"], more].concat());
        command.env("SLURM_CONF", &self.configuration);
        command
    }
}

#[test]
fn a_sweep_by_slurm_has_the_bytes_of_a_local_one() {
    let Some(slurm) = Slurm::here() else { return };
    let (local, place) = (Place::with(GRID), Place::with(GRID));
    local.ended(&[]).done();
    let ended = Ended::of(slurm.sweep(&place, &["--tasks", "4", "--json"]).output().unwrap());
    let done = ended.done().json();
    assert_eq!((done["carried_out"].as_u64(), done["failed"].as_u64()), (Some(24), Some(0)));
    assert_eq!(place.parts(), local.parts());
}

#[test]
fn after_ctrl_c_the_same_job_is_watched_while_it_waits_and_runs() {
    const SIGINT: i32 = 2;
    let Some(slurm) = Slurm::here().filter(|_| !is_ignored(SIGINT)) else { return };
    let (local, place) = (Place::with(GRID), Place::with(GRID));
    local.ended(&[]).done();
    let later = ["--tasks", "2", "--sbatch", "--begin=now+4"];
    let said = interrupted(begun(slurm.sweep(&place, &later), "note: job "));
    let number = said.strip_prefix("note: job ").unwrap().split(' ').next().unwrap().to_owned();
    assert!(said.ends_with(&format!("scancel {number} ends it\n")), "{said}");
    let watching = format!("note: watching what was submitted before: job {number}: ");
    let (child, mut stderr) = begun(slurm.sweep(&place, &["--resume"]), &watching);
    assert!(child.wait_with_output().unwrap().status.success());
    let mut more = String::new();
    assert_eq!(stderr.read_line(&mut more).unwrap(), 0, "{more}");
    assert_eq!(place.parts(), local.parts());
}

#[test]
fn tasks_that_are_killed_at_random_leave_the_bytes_of_an_undisturbed_sweep() {
    killed_at_random(60, "0.2", 10);
}

/// For `make sweep-test`.
#[test]
#[ignore = "takes minutes: make sweep-test"]
fn ten_thousand_cases_whose_tasks_are_killed_at_random_have_the_bytes_of_an_undisturbed_sweep() {
    killed_at_random(834, "0.1", 60);
}

/// A sweep of twelve cases for each seed, while tasks are killed or cancelled.
fn killed_at_random(seeds: u32, size: &str, kills: usize) {
    let Some(slurm) = Slurm::here() else { return };
    let seeds = format!("seed = {{ from = 1, to = {seeds}, step = 1 }}");
    let grid = GRID.replace("seed = [3, 4]", &seeds).replace("0.02", size);
    let (calm, killed) = (Place::with(&grid), Place::with(&grid));
    calm.ended(&[]).done();
    let (out, begun) = (killed.path("out"), Instant::now());
    let child = slurm
        .sweep(&killed, &["--tasks", "8"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let watcher = child.id();
    let ended = std::thread::spawn(move || child.wait_with_output().unwrap());
    let (mut random, mut done) = (0x9e37_79b9_u64, BTreeMap::<&str, usize>::new());
    let mut parts = 0;
    while !ended.is_finished() && done.values().sum::<usize>() < kills {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_millis((random >> 40) % 100));
        // A part between two kills, on however slow a machine: else the sweep is rightly given up.
        let there = parts_below(Path::new(&out));
        if there == parts {
            continue;
        }
        let tasks = tasks_of(&out, watcher);
        let Some((pid, job)) = tasks.get((random >> 33) as usize % tasks.len().max(1)) else {
            continue;
        };
        let (how, mut command) = match random >> 62 {
            0 => ("scancel", slurm.of("scancel", &[job])),
            _ => ("kill -9", Command::new("kill")),
        };
        if how != "scancel" {
            command.args(["-9", pid]);
        }
        if command.stderr(Stdio::null()).status().unwrap().success() {
            *done.entry(how).or_default() += 1;
            parts = there;
        }
    }
    let ended = Ended::of(ended.join().unwrap()).done();
    assert!(done.values().sum::<usize>() > 0, "never killed while it ran");
    eprintln!("{done:?} in {:.0} s; {}", begun.elapsed().as_secs_f64(), ended.stderr);
    eventually("no task is left", || tasks_of(&out, watcher).is_empty());
    // A temporary of the last minute is left where it is.
    let is_result = |name: &Path| !name.to_string_lossy().contains(".evenkeel-");
    let parts: BTreeMap<_, _> =
        killed.parts().into_iter().filter(|(name, _)| is_result(name)).collect();
    assert_eq!(parts, calm.parts());
}

/// How many parts there are.
fn parts_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_name().to_string_lossy().starts_with("part-") {
            true => 1,
            false => parts_below(&entry.path()),
        })
        .sum()
}

/// Processes that carry out a sweep into a folder, one excepted, with their tasks as scancel takes
/// them.
fn tasks_of(out: &str, excepted: u32) -> Vec<(String, String)> {
    let mut tasks = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if pid == excepted.to_string() || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let command = String::from_utf8_lossy(&read("cmdline")).into_owned();
        if !command.split('\0').any(|word| word == out) || !command.contains("--shard") {
            continue;
        }
        let environment = String::from_utf8_lossy(&read("environ")).into_owned();
        let of = |name: &str| {
            let line = environment.split('\0').find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().to_owned()
        };
        let job = format!("{}_{}", of("SLURM_ARRAY_JOB_ID="), of("SLURM_ARRAY_TASK_ID="));
        tasks.push((pid, job));
    }
    tasks
}
