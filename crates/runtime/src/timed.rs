//! Time that something took: for the trace, for learnt costs, and for slow workers that ask when
//! this one is free.

use std::time::Instant;

use evenkeel_machine::Nanos;

use crate::costs::Label;
use crate::give_way::FreeAt;
use crate::trace::What;
use crate::worker::Worker;

/// Something that runs until this is dropped, be it by a panic. See [`Worker::time`].
pub struct Timed<'a> {
    worker: &'a Worker,
    label: Label,
    what: What,
    since: Instant,
    /// None: no worker waits to hear of its end.
    before: Option<FreeAt>,
}

impl<'a> Timed<'a> {
    /// Begins now.
    pub fn begin(worker: &'a Worker, label: Label, what: What) -> Self {
        let since = Instant::now();
        // For loops the cost of an iteration is learnt, not that of a chunk.
        let is_task = matches!(what, What::Task(..)) && label != Label::default();
        let give_way = worker.registry().give_way.as_ref().filter(|_| is_task);
        let before = give_way.map(|it| it.begins(worker, label, since));
        Self { worker, label, what, since, before }
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let (worker, now) = (self.worker, Instant::now());
        let time = (now - self.since).as_nanos() as u64;
        // The unit of a loop's cost is an iteration.
        let units = if let What::Chunk(_, _, count) = self.what { count.max(1) } else { 1 };
        let registry = worker.registry();
        registry.costs.learn_mean(self.label, worker.kind, Nanos(time), units);
        if let Some((give_way, before)) = registry.give_way.as_ref().zip(self.before.take()) {
            give_way.ends(worker, before);
        }
        if let Some(recorder) = worker.recorder() {
            recorder.lasted(self.what, self.since, now);
        }
    }
}
