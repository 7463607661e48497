//! The trace of a pool, kept until it is written.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use evenkeel_machine::Nanos;
use rustix::time::{ClockId, clock_gettime};

use super::recorder::{self, Log, Recorder};
use super::write::Recorded;
use super::{file, say};
use crate::team::Team;

/// The trace of a pool.
pub struct Trace {
    path: PathBuf,
    /// When it begins: on the clock of this process, and on the system's.
    began: Instant,
    boot: Nanos,
    /// Logs of workers that have ended.
    logs: Mutex<Vec<(usize, Log)>>,
}

impl Trace {
    /// One that begins now, to be written to a file. None, and a line on stderr: it cannot be
    /// written.
    pub fn begin(path: &str) -> Option<Self> {
        let process = std::process::id().to_string();
        let path = PathBuf::from(path.replace("%p", &process));
        match file::probe(&path) {
            Ok(path) => {
                let boot = clock_gettime(ClockId::Boottime);
                let boot = Nanos(boot.tv_sec as u64 * 1_000_000_000 + boot.tv_nsec as u64);
                Some(Self { path, began: Instant::now(), boot, logs: Mutex::default() })
            }
            Err(error) => {
                say(&format!(
                    "cannot write the trace {}: {error}; nothing is traced",
                    path.display()
                ));
                None
            }
        }
    }

    /// For a worker.
    pub fn recorder(&self) -> Recorder {
        Recorder::new(self.began)
    }

    /// Takes a worker's recording at its end.
    pub fn hand_in(&self, worker: usize, recorder: Recorder) {
        self.logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((worker, recorder.into_log()));
    }

    /// Writes it, and says on stderr what cannot be written.
    pub fn write(self, team: &Team, labels: Vec<&'static str>) {
        let mut logs: Vec<_> = (0..team.threads()).map(|_| Log::default()).collect();
        for (worker, log) in self.logs.into_inner().unwrap_or_else(PoisonError::into_inner) {
            logs[worker] = log;
        }
        let dropped: u64 = logs.iter().map(Log::dropped).sum();
        let path = self.path.display();
        if dropped > 0 {
            say(&format!(
                "trace {path}: {dropped} events left out: a worker has room for {}",
                recorder::ROOM
            ));
        }
        let mut logs: Vec<_> = logs.into_iter().map(Log::into_events).collect();
        // A reserve that was never needed has no track.
        logs.truncate(
            team.places.len() + usize::from(logs.last().is_some_and(|last| !last.is_empty())),
        );
        let recorded = Recorded { boot: self.boot, team, labels, logs };
        let written = file::append(&self.path, |number, out| recorded.write(number, out));
        if let Err(error) = written {
            say(&format!("cannot write the trace {path}: {error}"));
        }
    }
}
