//! A peer in C++: a process that lives as long as the bench, and stands still while others are
//! measured.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::cases::WORKERS;
use super::system::{Answer, System, Threads};

pub struct Peer {
    program: PathBuf,
    name: String,
    version: String,
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Programs in a folder, in the order of their names.
    pub fn all(folder: &Path, threads: Threads) -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut programs: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        programs.sort();
        programs.retain(|program| program.extension().is_none());
        programs.into_iter().filter_map(|program| Self::start(program, threads)).collect()
    }

    fn start(program: PathBuf, threads: Threads) -> Option<Self> {
        let places: Vec<_> = (0..WORKERS).map(|cpu| format!("{{{cpu}}}")).collect();
        let mut command = Command::new(&program);
        command.env("OMP_NUM_THREADS", WORKERS.to_string());
        match threads {
            Threads::Pinned => {
                command.env("OMP_PROC_BIND", "true").env("OMP_PLACES", places.join(","))
            }
            Threads::Free => command.env("OMP_PROC_BIND", "false").env("PEER_THREADS", "free"),
        };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (questions, answers) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut peer = Self {
            program,
            name: String::new(),
            version: String::new(),
            child,
            questions,
            answers,
        };
        let line = peer.line()?;
        let (name, version) = line.split_once(' ')?;
        (peer.name, peer.version) = (threads.of(name), version.into());
        peer.signal(Signal::STOP);
        Some(peer)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).ok()?;
        Some(line.trim().to_owned()).filter(|line| !line.is_empty())
    }

    /// Some systems spin for a while after their work is done, which would be at the cost of the
    /// next.
    fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    fn ask(&mut self, case: &str) -> Option<Answer> {
        writeln!(self.questions, "{case}").ok()?;
        let line = self.line()?;
        let (value, check) = line.split_once(' ')?;
        Some(Answer { value: value.parse().ok()?, check: check.parse().ok()? })
    }
}

impl System for Peer {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn run(&mut self, case: &str) -> Option<Answer> {
        if case.starts_with("memory-") {
            return Self::start(self.program.clone(), Threads::Pinned).and_then(|mut fresh| {
                fresh.signal(Signal::CONT);
                fresh.ask(case)
            });
        }
        self.signal(Signal::CONT);
        let answer = self.ask(case);
        self.signal(Signal::STOP);
        answer
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
