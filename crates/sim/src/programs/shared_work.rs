//! Work that threads share: chunks of parallel loops, tasks of graphs, by the policies of `loops/`
//! and `graph/`.

use evenkeel_machine::Nanos;
use evenkeel_model::{TaskGraph, TaskId};
use evenkeel_policy::graph::{self, WorkerId};
use evenkeel_policy::{AppId, ThreadId, loops};

use crate::mechanism::Mechanism;
use crate::programs::execute::Next;
use crate::programs::objects::LoopRun;
use crate::programs::thread::{Part, WaitsFor};
use crate::trace::Listener;

/// How much a worker has to do for a task, and of which row.
fn work_of(graph: &TaskGraph, first_row: u32, task: TaskId) -> (u64, u32) {
    let spec = &graph.tasks[task.index()];
    (graph.take_cost.0.saturating_add(spec.work.0), first_row + spec.phase.0)
}

impl<L: Listener> Mechanism<'_, L> {
    /// The work that has just been done was part of something shared: says so there.
    pub fn end_part(&mut self, core: usize, thread: ThreadId, app: AppId) -> Option<Next> {
        let kind = self.cores[core].kind;
        let now = self.now;
        match std::mem::take(&mut self.threads[thread.index()].part) {
            Part::Step => {}
            Part::Chunk { shared, worker, iterations, since } => {
                let round = self.threads[thread.index()].rare().loop_rounds[shared as usize];
                let object = &mut self.objects(app).loops[shared as usize];
                let run = &mut object.runs[(round - object.first) as usize];
                run.add(worker, iterations, now);
                run.policy.done(worker, kind, iterations, now - since);
            }
            Part::Task { shared, task, since } => {
                self.end_task(core, thread, app, shared, task, since)
            }
            Part::Create { shared } => return self.created(core, thread, app, shared),
        }
        None
    }

    /// Takes the next chunk of a shared loop; none: the thread has no more to do in this execution.
    pub fn take_chunk(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        shared: u32,
    ) -> Option<Next> {
        let kind = self.cores[core].kind;
        let spec = &self.specs[app.index()].loops[shared as usize];
        let count = self.specs[app.index()].loops.len();
        let state = &mut self.threads[thread.index()];
        if state.rare().loop_rounds.is_empty() {
            let rare = state.rare_mut();
            (rare.loop_rounds, rare.loop_workers) = (vec![0; count], vec![None; count]);
        }
        let round = state.rare().loop_rounds[shared as usize];
        let object = &mut self.apps[app.index()].objects.loops[shared as usize];
        while object.runs.len() <= (round - object.first) as usize {
            // Checked before the run: the schedule is one that there is.
            let Ok(mut policy) = loops::make(&spec.schedule) else { return None };
            policy.start_again(spec.iterations, spec.workers, &object.speeds);
            object.runs.push_back(LoopRun::new(policy, self.now));
        }
        let worker = *state.rare_mut().loop_workers[shared as usize].get_or_insert_with(|| {
            object.workers += 1;
            object.workers - 1
        });
        let run = &mut object.runs[(round - object.first) as usize];
        if let Some((_, iterations)) = run.policy.take(worker, kind) {
            let work = spec.take_cost.0.saturating_add(iterations.saturating_mul(spec.work.0));
            let row = self.apps[app.index()].first_row + spec.phase.0;
            let part = Part::Chunk { shared, worker, iterations, since: self.now };
            return self.compute(thread, work, row, part);
        }
        run.finished += 1;
        while object.runs.front().is_some_and(|run| run.finished >= spec.workers) {
            object.speeds = object.runs.pop_front().map(|run| run.speeds()).unwrap_or_default();
            object.first += 1;
        }
        state.rare_mut().loop_rounds[shared as usize] += 1;
        state.pc += 1;
        None
    }

    /// Takes a task of a graph; waits where there is none; none: the graph is done, and the thread
    /// goes on.
    pub fn take_task(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        shared: u32,
    ) -> Option<Next> {
        let kind = self.cores[core].kind;
        let count = self.specs[app.index()].graphs.len();
        let state = &mut self.threads[thread.index()];
        if state.rare().graph_rounds.is_empty() {
            state.rare_mut().graph_rounds = vec![0; count];
        }
        let round = state.rare().graph_rounds[shared as usize];
        let first_row = self.apps[app.index()].first_row;
        let object = &mut self.apps[app.index()].objects.graphs[shared as usize];
        let mut is_master = false;
        while object.runs.len() <= (round - object.first) as usize {
            // Checked before the run: the policy is one that there is.
            let Ok(policy) = graph::make(&self.config.graph_policy, self.config.seed) else {
                return None;
            };
            object.begin(policy, self.now);
            is_master = true;
        }
        let (run, at) = object.run(round, self.now);
        let worker = WorkerId(*state.worker.get_or_insert_with(|| {
            run.workers += 1;
            run.workers - 1
        }));
        if is_master {
            return self.create(core, thread, app, shared);
        }
        if std::mem::take(&mut state.rare_mut().waited_for_task) {
            run.coming = run.coming.saturating_sub(1);
        }
        if let Some(task) = state.rare_mut().waits_for_data.take() {
            let (work, row) = work_of(at.graph, first_row, task);
            return self.compute(thread, work, row, Part::Task { shared, task, since: self.now });
        }
        let is_over = run.done as usize == at.graph.tasks.len();
        if !is_over && let Some(task) = run.policy.take(&at, worker, kind) {
            run.ready -= 1;
            let arrival = run.arrival(&at, task, worker);
            let (work, row) = work_of(at.graph, first_row, task);
            self.wake_workers(thread, app, shared, 0);
            if arrival > self.now {
                self.threads[thread.index()].rare_mut().waits_for_data = Some(task);
                return self.sleep_until(core, thread, arrival);
            }
            return self.compute(thread, work, row, Part::Task { shared, task, since: self.now });
        }
        if (run.done as usize) < at.graph.tasks.len() {
            run.line.push_back((thread, worker));
            state.rare_mut().waited_for_task = true;
            self.wake_workers(thread, app, shared, 0);
            return self.gone(core, thread, WaitsFor::Task(shared));
        }
        run.finished += 1;
        let workers = at.team.kinds.len();
        while object.runs.front().is_some_and(|run| run.finished as usize >= workers) {
            object.runs.pop_front();
            object.first += 1;
        }
        state.worker = None;
        state.rare_mut().graph_rounds[shared as usize] += 1;
        state.pc += 1;
        None
    }

    /// Wakes workers that wait, for tasks that no worker is on the way to; `about_to_ask` workers
    /// that do not wait will ask at once.
    fn wake_workers(&mut self, waker: ThreadId, app: AppId, shared: u32, about_to_ask: u32) {
        let round = self.threads[waker.index()].rare().graph_rounds[shared as usize];
        loop {
            let object = &mut self.apps[app.index()].objects.graphs[shared as usize];
            let (run, at) = object.run(round, self.now);
            let Some(next) = run.next_to_wake(&at, about_to_ask) else { return };
            self.wake(next, Some(waker));
        }
    }

    /// The master creates the next task, or, where creating costs nothing, all.
    fn create(&mut self, core: usize, thread: ThreadId, app: AppId, shared: u32) -> Option<Next> {
        let graph = std::sync::Arc::clone(&self.specs[app.index()].graphs[shared as usize]);
        if graph.create_cost.0 > 0 && !graph.tasks.is_empty() {
            let row = self.apps[app.index()].first_row + graph.tasks[0].phase.0;
            return self.compute(thread, graph.create_cost.0, row, Part::Create { shared });
        }
        self.release_created(thread, app, shared, graph.tasks.len() as u32);
        self.take_task(core, thread, app, shared)
    }

    /// The master has created a task: on with the next, or with running them.
    fn created(&mut self, core: usize, thread: ThreadId, app: AppId, shared: u32) -> Option<Next> {
        self.release_created(thread, app, shared, 1);
        let graph = &self.specs[app.index()].graphs[shared as usize];
        let round = self.threads[thread.index()].rare().graph_rounds[shared as usize];
        let object = &self.apps[app.index()].objects.graphs[shared as usize];
        let run = &object.runs[(round - object.first) as usize];
        if (run.created as usize) < graph.tasks.len() {
            self.create(core, thread, app, shared)
        } else {
            None
        }
    }

    /// So many tasks have been created at once.
    fn release_created(&mut self, thread: ThreadId, app: AppId, shared: u32, count: u32) {
        let round = self.threads[thread.index()].rare().graph_rounds[shared as usize];
        let object = &mut self.apps[app.index()].objects.graphs[shared as usize];
        let (run, at) = object.run(round, self.now);
        let tasks = run.created..run.created + count;
        for task in tasks.clone().map(TaskId) {
            run.policy.created(&at, task, at.graph.predecessors(task));
        }
        run.created += count;
        tasks.map(TaskId).for_each(|task| run.release(&at, task, None));
        self.wake_workers(thread, app, shared, 0);
    }

    fn end_task(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        shared: u32,
        task: TaskId,
        since: Nanos,
    ) {
        let kind = self.cores[core].kind;
        let state = &self.threads[thread.index()];
        let round = state.rare().graph_rounds[shared as usize];
        let by = state.worker.map(WorkerId);
        let object = &mut self.apps[app.index()].objects.graphs[shared as usize];
        let (run, at) = object.run(round, self.now);
        if let Some(worker) = by {
            run.policy.done(&at, worker, task, kind, self.now - since);
        }
        if run.end(task, by, self.now) {
            at.graph.successors(task).iter().for_each(|&next| run.release(&at, next, by));
        }
        // When all is done, all workers go on. Until then one task may be for the worker itself.
        if run.done as usize == at.graph.tasks.len() {
            let waiting: Vec<_> = run.line.drain(..).collect();
            waiting.into_iter().for_each(|(other, _)| self.wake(other, Some(thread)));
        } else {
            let asks = by.is_some_and(|worker| run.policy.would_take(&at, worker));
            self.wake_workers(thread, app, shared, u32::from(asks));
        }
    }
}
