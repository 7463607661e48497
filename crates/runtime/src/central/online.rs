//! Tasks of scopes under a policy behind a lock. They are numbered as they are created, and the
//! policy keeps the order of the ready ones.
//!
//! All scopes of a pool share the source: a path is followed, or a queue kept, over all tasks.
//! Numbers begin again each time that no task is left.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use crate::job::JobRef;
use crate::registry::Registry;
use crate::task::TaskRef;
use crate::worker::Worker;

use super::{CentralScheduler, TaskSource, wake_for_tasks};

/// The task source for tasks of scopes, as they are created.
pub struct OnlineTasks(Mutex<State>);

struct State {
    scheduler: CentralScheduler,
    /// Number of the first in `tasks`.
    first: u32,
    /// Tasks that are not done, and some that are.
    tasks: VecDeque<Pending>,
    /// Numbers of the tasks with dependences that are not done.
    numbers: HashMap<TaskRef, TaskId>,
    /// How many are not done.
    pending: usize,
}

#[derive(Clone, Copy)]
struct Pending {
    /// None: done.
    job: Option<JobRef>,
    /// True if others may wait for it.
    has_dependences: bool,
    begun: Option<Instant>,
}

impl State {
    /// A number for a new task, unless there are no more.
    fn number(&mut self, job: JobRef, has_dependences: bool, before: &[TaskId]) -> Option<TaskId> {
        let task = TaskId(self.first.checked_add(u32::try_from(self.tasks.len()).ok()?)?);
        self.tasks.push_back(Pending { job: Some(job), has_dependences, begun: None });
        self.pending += 1;
        self.scheduler.created(task, before);
        Some(task)
    }

    fn task(&mut self, task: TaskId) -> &mut Pending {
        &mut self.tasks[(task.0 - self.first) as usize]
    }

    /// A task is done, or no other task waits for it.
    fn remove(&mut self, task: TaskId) {
        self.task(task).job = None;
        self.pending -= 1;
        while self.tasks.front().is_some_and(|task| task.job.is_none()) {
            self.tasks.pop_front();
            self.first += 1;
        }
        if self.pending == 0 {
            self.first = 0;
            self.scheduler.start();
        }
    }
}

impl OnlineTasks {
    /// Tasks under a policy that does not ask for the graph.
    pub fn new(scheduler: CentralScheduler) -> Self {
        Self(Mutex::new(State {
            scheduler,
            first: 0,
            tasks: VecDeque::new(),
            numbers: HashMap::new(),
            pending: 0,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A task is being created that waits for these, or those of them that are not done.
    pub fn created(&self, task: TaskRef, before: &[TaskRef]) {
        let mut state = self.lock();
        let before: Vec<_> =
            before.iter().filter_map(|before| state.numbers.get(before).copied()).collect();
        if let Some(number) = state.number(task.job(), true, &before) {
            state.numbers.insert(task, number);
        }
    }

    /// A task with dependences is ready as soon as it has been created.
    pub fn ready(&self, worker: &Worker, task: TaskRef) {
        self.release(worker, &[task]);
    }

    /// A task is done, and has released these.
    pub fn done(&self, worker: &Worker, task: TaskRef, released: &[TaskRef]) {
        let mut state = self.lock();
        if let Some(number) = state.numbers.remove(&task) {
            let begun = state.task(number).begun;
            let time = begun.map_or(Nanos::ZERO, |begun| Nanos(begun.elapsed().as_nanos() as u64));
            state.scheduler.done(worker.index, number, time);
            state.remove(number);
        }
        drop(state);
        self.release(worker, released);
    }

    fn release(&self, worker: &Worker, tasks: &[TaskRef]) {
        if tasks.is_empty() {
            return;
        }
        let mut state = self.lock();
        for task in tasks {
            match state.numbers.get(task).copied() {
                Some(number) => state.scheduler.ready(number, Some(worker.index)),
                None => worker.push(task.job()),
            }
        }
        drop(state);
        wake_for_tasks(self, worker.registry(), Some(worker.index), tasks.len());
    }

    /// Takes an independent task. `by`: the worker that created it, if one did. Gives it back if
    /// there are no more numbers.
    pub fn spawn(&self, registry: &Registry, job: JobRef, by: Option<usize>) -> Result<(), JobRef> {
        let mut state = self.lock();
        let number = state.number(job, false, &[]).ok_or(job)?;
        state.scheduler.ready(number, by);
        drop(state);
        wake_for_tasks(self, registry, by, 1);
        Ok(())
    }
}

impl TaskSource for OnlineTasks {
    fn take(&self, worker: &Worker) -> Option<JobRef> {
        let mut state = self.lock();
        let number = state.scheduler.take(worker.index)?;
        let task = state.task(number);
        task.begun = Some(Instant::now());
        let Pending { job, has_dependences, .. } = *task;
        if !has_dependences {
            state.scheduler.forget(worker.index, number);
            state.remove(number);
        }
        drop(state);
        wake_for_tasks(self, worker.registry(), Some(worker.index), 1);
        job
    }

    fn with_scheduler(&self, f: &mut dyn FnMut(&mut CentralScheduler)) {
        f(&mut self.lock().scheduler);
    }
}
