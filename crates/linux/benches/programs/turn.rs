//! One turn of one program: under the kernel alone or a candidate, timed from its start to its end.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::catalog::{Given, Output};
use super::inputs;
use super::ways::{Candidate, How, Way};

/// How long a scheduler may take to begin (seconds in the VM lab), and to end.
const SCHEDULER: Duration = Duration::from_secs(120);
/// How long `schedule --pid` may go on after its processes.
const BY_ITSELF: Duration = Duration::from_secs(10);
/// `attach`: so long after the program began.
const ATTACHED_AFTER: Duration = Duration::from_secs(1);
/// How often it is looked whether something has ended. Times do not depend on it: `timed` takes
/// them.
const LOOK: Duration = Duration::from_millis(20);
/// What `evenkeel schedule` says when it has begun.
const BEGUN: &str = "scheduling ";

/// Where and with what turns are had.
pub struct Stage {
    /// The binary.
    pub evenkeel: PathBuf,
    /// This program, for `timed`.
    pub own: PathBuf,
    /// Where programs work.
    pub work: PathBuf,
    /// Options of `run` and `schedule` beside the policy, for a candidate.
    pub options: fn(&Candidate) -> Vec<String>,
    /// The same for all.
    pub more_options: Vec<String>,
    /// No turn is longer: whatever runs then is ended.
    pub limit: Duration,
}

/// What a turn came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// From the program's start to its end.
    pub seconds: f64,
    /// From the start of `evenkeel run`, if it is that, to its end.
    pub whole: f64,
    /// CPU time of the program.
    pub cpu: f64,
    /// Of its output, unless that varies.
    pub checksum: String,
}

/// `--timed FILE COMMAND…`: runs the command and writes how long it took, and its CPU time, in
/// seconds.
///
/// It stands between Evenkeel and the program in every turn, the kernel's too, so that loading and
/// unloading a scheduler are not taken for the program's time.
pub fn timed(file: &Path, words: &[String]) -> io::Result<ExitCode> {
    let (program, rest) = words.split_first().ok_or_else(|| io::Error::other("no command"))?;
    let began = Instant::now();
    let status = Command::new(program).args(rest).status()?;
    let seconds = began.elapsed().as_secs_f64();
    // Children's ticks of 10 ms (proc(5): cutime, cstime), after the name, which may have blanks.
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    fs::write(file, format!("{seconds:.6} {:.2}\n", ticks as f64 / 100.0))?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

impl Stage {
    /// Has the turn.
    ///
    /// # Errors
    /// What went wrong, in a line.
    pub fn turn(&self, given: &Given, output: Output, how: &How) -> Result<Outcome, String> {
        self.renew(given, output)?;
        let mut scheduler = match how {
            How::Candidate(it) if it.way == Way::Schedule => Some(self.begin_scheduler(it, &[])?),
            _ => None,
        };
        let began = Instant::now();
        let done = self.started(given, how).and_then(|mut program| {
            if let How::Candidate(it) = how
                && it.way == Way::Attach
            {
                std::thread::sleep(ATTACHED_AFTER);
                match self.begin_scheduler(it, &descendants(program.id())) {
                    Ok(begun) => scheduler = Some(begun),
                    Err(why) => {
                        end(&mut program);
                        return Err(why);
                    }
                }
            }
            self.waited(&mut program, began + self.limit)
        });
        let whole = began.elapsed().as_secs_f64();
        // Whatever the program did: the next turn is not to have this scheduler.
        let ended = scheduler.map_or(Ok(()), |scheduler| scheduler.end());
        done?;
        ended?;
        let times = fs::read_to_string(self.work.join("timed"))
            .map_err(|error| format!("no times: {error}"))?;
        let mut times = times.split_whitespace().filter_map(|time| time.parse::<f64>().ok());
        let (Some(seconds), Some(cpu)) = (times.next(), times.next()) else {
            return Err("no times".to_owned());
        };
        Ok(Outcome { seconds, whole, cpu, checksum: self.checksum(output)? })
    }

    fn renew(&self, given: &Given, output: Output) -> Result<(), String> {
        let renewed = given.inputs.iter().try_for_each(|input| input.renew(&self.work));
        let renewed = renewed.and_then(|()| inputs::remove(&self.work.join("timed")));
        let renewed = renewed.and_then(|()| match output {
            // A folder that inputs renew has to be there.
            Output::At(name) if !self.work.join(name).is_dir() => {
                inputs::remove(&self.work.join(name))
            }
            _ => Ok(()),
        });
        renewed.map_err(|error| format!("{}: {error}", self.work.display()))
    }

    /// The program, begun, in a process group of its own.
    fn started(&self, given: &Given, how: &How) -> Result<Child, String> {
        let mut words: Vec<String> = match how {
            How::Candidate(it) if it.way == Way::Run => self.evenkeel("run", it),
            _ => Vec::new(),
        };
        if !words.is_empty() {
            words.extend(["-q".to_owned(), "--".to_owned()]);
        }
        words.extend([
            self.own.display().to_string(),
            "--timed".to_owned(),
            self.work.join("timed").display().to_string(),
        ]);
        words.extend(given.words.iter().cloned());
        let opened = |name: &str| {
            File::open(self.work.join(name)).map_err(|error| format!("{name}: {error}"))
        };
        let made = |name: &str| {
            File::create(self.work.join(name)).map_err(|error| format!("{name}: {error}"))
        };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(given.environment.iter().map(|(name, value)| (name, value)));
        command
            .current_dir(&self.work)
            .process_group(0)
            .stdout(made("stdout")?)
            .stderr(made("stderr")?);
        command.stdin(given.stdin.map_or(Ok(Stdio::null()), |name| opened(name).map(Stdio::from))?);
        command.spawn().map_err(|error| format!("{}: {error}", words[0]))
    }

    fn evenkeel(&self, subcommand: &str, candidate: &Candidate) -> Vec<String> {
        let evenkeel = self.evenkeel.display().to_string();
        let words = [
            &evenkeel,
            subcommand,
            "--backend",
            candidate.mechanism.name(),
            "-p",
            &candidate.policy,
        ];
        let options = (self.options)(candidate);
        words
            .iter()
            .map(|&word| word.to_owned())
            .chain(options)
            .chain(self.more_options.iter().cloned())
            .collect()
    }

    fn waited(&self, program: &mut Child, until: Instant) -> Result<(), String> {
        match ended_by(program, until) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("{status}: {}", last_line(&self.work.join("stderr")))),
            None => {
                end(program);
                Err(format!("not done after {} s", self.limit.as_secs()))
            }
        }
    }

    /// `evenkeel schedule`, which schedules by the time that this returns.
    fn begin_scheduler(&self, candidate: &Candidate, pids: &[u32]) -> Result<Scheduler, String> {
        let mut words = self.evenkeel("schedule", candidate);
        words.extend(pids.iter().flat_map(|pid| ["--pid".to_owned(), pid.to_string()]));
        let log = self.work.join("scheduler");
        let made = || File::create(&log).map_err(|error| format!("{}: {error}", log.display()));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(made()?);
        let child =
            command.process_group(0).spawn().map_err(|error| format!("{}: {error}", words[0]))?;
        let mut scheduler = Scheduler { child, log, is_of_pids: !pids.is_empty() };
        let until = Instant::now() + SCHEDULER;
        while !fs::read_to_string(&scheduler.log).is_ok_and(|text| text.contains(BEGUN)) {
            if scheduler.child.try_wait().is_ok_and(|status| status.is_some())
                || Instant::now() >= until
            {
                end(&mut scheduler.child);
                return Err(format!(
                    "evenkeel schedule has not begun: {}",
                    last_line(&scheduler.log)
                ));
            }
            std::thread::sleep(LOOK);
        }
        Ok(scheduler)
    }

    fn checksum(&self, output: Output) -> Result<String, String> {
        let place = match output {
            Output::Printed => "stdout",
            Output::At(name) => name,
            Output::Varies => return Ok(String::new()),
        };
        let mut sum = Checksum::default();
        sum.add_all(&self.work.join(place)).map_err(|error| format!("output {place}: {error}"))?;
        Ok(format!("{:016x}", sum.0))
    }
}

struct Scheduler {
    child: Child,
    log: PathBuf,
    is_of_pids: bool,
}

impl Scheduler {
    /// Ends it; an error if it has ended before, or not well.
    fn end(mut self) -> Result<(), String> {
        // That of some processes ends by itself, with them.
        let early = if self.is_of_pids {
            ended_by(&mut self.child, Instant::now() + BY_ITSELF)
        } else {
            self.child.try_wait().ok().flatten()
        };
        if early.is_none() {
            signal(&self.child, Signal::INT);
        }
        match early.or_else(|| ended_by(&mut self.child, Instant::now() + SCHEDULER)) {
            Some(status) if status.success() && (self.is_of_pids || early.is_none()) => Ok(()),
            Some(status) => Err(format!("evenkeel schedule: {status}: {}", last_line(&self.log))),
            None => {
                end(&mut self.child);
                Err(format!("evenkeel schedule does not end: {}", last_line(&self.log)))
            }
        }
    }
}

fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended just now.
        let _ = kill_process(pid, signal);
    }
}

/// Ends it, first so that Evenkeel can give masks back, and all that it started.
fn end(child: &mut Child) {
    signal(child, Signal::TERM);
    let _ = ended_by(child, Instant::now() + Duration::from_secs(5));
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let _ = child.wait();
}

fn ended_by(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
            _ => return None,
        }
    }
}

/// A process and all that it and its children have forked.
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = BTreeSet::from([pid]);
    let mut rest = vec![pid];
    while let Some(parent) = rest.pop() {
        let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|child| child.parse().ok());
            rest.extend(children.filter(|child| found.insert(*child)));
        }
    }
    found.into_iter().collect()
}

fn last_line(file: &Path) -> String {
    let text = fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no word")
        .to_owned()
}

/// FNV-1a, 64 bits: tells outputs apart that differ by mistake, which is all that is asked here.
struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A file, or all that is in a folder, by name.
    fn add_all(&mut self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            let mut names: Vec<PathBuf> =
                fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
            names.sort();
            for name in names {
                self.add(name.file_name().unwrap_or_default().as_encoded_bytes());
                self.add_all(&name)?;
            }
            return Ok(());
        }
        self.add(&fs::read(path)?);
        Ok(())
    }
}

/// Of a file's content.
///
/// # Errors
/// It cannot be read.
pub fn checksum_of(file: &Path) -> io::Result<u64> {
    let mut sum = Checksum::default();
    sum.add_all(file)?;
    Ok(sum.0)
}

/// Of bytes.
pub fn checksum_of_bytes(bytes: &[u8]) -> u64 {
    let mut sum = Checksum::default();
    sum.add(bytes);
    sum.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_of_a_folder_depends_on_names_and_on_contents() {
        let sum = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in files {
                fs::write(folder.path().join(name), text).unwrap();
            }
            checksum_of(folder.path()).unwrap()
        };
        assert_eq!(sum(&[("a", "1"), ("b", "2")]), sum(&[("b", "2"), ("a", "1")]));
        assert_ne!(sum(&[("a", "1"), ("b", "2")]), sum(&[("a", "2"), ("b", "1")]));
        // FNV-1a's own example: "a".
        assert_eq!(checksum_of_bytes(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn a_process_and_its_children_are_found() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 30 & sleep 30; wait"])
            .process_group(0)
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while descendants(child.id()).len() < 3 && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        let found = descendants(child.id()).len();
        end(&mut child);
        assert_eq!(found, 3);
    }
}
