//! How long something took: for the trace, and for whoever learns what tasks cost.

use std::time::Instant;

use evenkeel_machine::Nanos;

use crate::costs::Label;
use crate::trace::What;
use crate::worker::Worker;

/// Something that runs until this is dropped, be it by a panic. See [`Worker::time`].
pub struct Timed<'a> {
    worker: &'a Worker,
    label: Label,
    what: What,
    since: Instant,
}

impl<'a> Timed<'a> {
    /// Begins now.
    pub fn begin(worker: &'a Worker, label: Label, what: What) -> Self {
        Self { worker, label, what, since: Instant::now() }
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let (worker, now) = (self.worker, Instant::now());
        let time = (now - self.since).as_nanos() as u64;
        // What is learnt of a loop is what an iteration costs.
        let units = if let What::Chunk(_, _, count) = self.what { count.max(1) } else { 1 };
        if worker.registry().learns {
            worker.registry().costs.learn(self.label, worker.kind, Nanos(time / units));
        }
        if let Some(recorder) = worker.recorder() {
            recorder.lasted(self.what, self.since, now);
        }
    }
}
