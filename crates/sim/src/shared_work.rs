//! Work that threads share: chunks of parallel loops, tasks of graphs, by the policies of `loops/` and `graph/`.

use evenkeel_policy::graph::{self, WorkerId};
use evenkeel_policy::{AppId, ThreadId, loops};
use evenkeel_workload::TaskId;

use crate::execute::Next;
use crate::mechanism::Mechanism;
use crate::objects::{GraphRun, LoopRun};
use crate::thread::{Part, WaitsFor};
use crate::trace::Listener;

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
                run.policy.done(worker, kind, iterations, now - since);
            }
            Part::Task { shared, task, since } => self.end_task(core, thread, app, shared, task, since),
            Part::Create { shared } => return self.created(core, thread, app, shared),
        }
        None
    }

    /// Takes the next chunk of a shared loop; none: the thread has no more to do in this execution.
    pub fn take_chunk(&mut self, core: usize, thread: ThreadId, app: AppId, shared: u32) -> Option<Next> {
        let kind = self.cores[core].kind;
        let spec = &self.specs[app.index()].loops[shared as usize];
        let count = self.specs[app.index()].loops.len();
        let state = &mut self.threads[thread.index()];
        if state.rare().loop_rounds.is_empty() {
            state.rare_mut().loop_rounds = vec![0; count];
        }
        let round = state.rare().loop_rounds[shared as usize];
        let object = &mut self.apps[app.index()].objects.loops[shared as usize];
        while object.runs.len() <= (round - object.first) as usize {
            // Checked before the run: the schedule is one that there is.
            let Ok(mut policy) = loops::make(&spec.schedule) else { return None };
            policy.start(spec.iterations, spec.workers);
            object.runs.push_back(LoopRun { policy, arrived: 0, finished: 0 });
        }
        let run = &mut object.runs[(round - object.first) as usize];
        let worker = *state.worker.get_or_insert_with(|| {
            run.arrived += 1;
            run.arrived - 1
        });
        if let Some((_, iterations)) = run.policy.take(worker, kind) {
            let work = spec.take_cost.0.saturating_add(iterations.saturating_mul(spec.work.0));
            let row = self.apps[app.index()].first_row + spec.phase.0;
            let part = Part::Chunk { shared, worker, iterations, since: self.now };
            return self.compute(thread, work, row, part);
        }
        run.finished += 1;
        while object.runs.front().is_some_and(|run| run.finished >= spec.workers) {
            object.runs.pop_front();
            object.first += 1;
        }
        state.worker = None;
        state.rare_mut().loop_rounds[shared as usize] += 1;
        state.pc += 1;
        None
    }

    /// Takes a task of a graph; waits where there is none; none: the graph is done, and the thread goes on.
    pub fn take_task(&mut self, core: usize, thread: ThreadId, app: AppId, shared: u32) -> Option<Next> {
        let kind = self.cores[core].kind;
        let count = self.specs[app.index()].graphs.len();
        let state = &mut self.threads[thread.index()];
        if state.rare().graph_rounds.is_empty() {
            state.rare_mut().graph_rounds = vec![0; count];
        }
        let round = state.rare().graph_rounds[shared as usize];
        let graph = std::sync::Arc::clone(&self.specs[app.index()].graphs[shared as usize]);
        let object = &mut self.apps[app.index()].objects.graphs[shared as usize];
        let mut is_master = false;
        while object.runs.len() <= (round - object.first) as usize {
            let Ok(mut policy) = graph::make(&self.config.graph_policy) else { return None };
            policy.start(&graph, object.workers);
            let missing = (0..graph.tasks.len() as u32).map(|task| graph.predecessors(TaskId(task)) + 1).collect();
            let run =
                GraphRun { policy, missing, created: 0, done: 0, workers: 0, finished: 0, line: Default::default() };
            object.runs.push_back(run);
            is_master = true;
        }
        let run = &mut object.runs[(round - object.first) as usize];
        let worker = *state.worker.get_or_insert_with(|| {
            run.workers += 1;
            run.workers - 1
        });
        if is_master {
            return self.create(core, thread, app, shared);
        }
        if let Some(task) = run.policy.take(WorkerId(worker), kind) {
            let spec = &graph.tasks[task.index()];
            let row = self.apps[app.index()].first_row + spec.phase.0;
            let part = Part::Task { shared, task, since: self.now };
            return self.compute(thread, graph.take_cost.0.saturating_add(spec.work.0), row, part);
        }
        if (run.done as usize) < graph.tasks.len() {
            run.line.push_back(thread);
            return self.gone(core, thread, WaitsFor::Task(shared));
        }
        run.finished += 1;
        while object.runs.front().is_some_and(|run| run.finished >= object.workers) {
            object.runs.pop_front();
            object.first += 1;
        }
        state.worker = None;
        state.rare_mut().graph_rounds[shared as usize] += 1;
        state.pc += 1;
        None
    }

    /// The master creates the next task, or, where creating costs nothing, all.
    fn create(&mut self, core: usize, thread: ThreadId, app: AppId, shared: u32) -> Option<Next> {
        let graph = std::sync::Arc::clone(&self.specs[app.index()].graphs[shared as usize]);
        if graph.create_cost.0 > 0 && !graph.tasks.is_empty() {
            let row = self.apps[app.index()].first_row + graph.tasks[0].phase.0;
            return self.compute(thread, graph.create_cost.0, row, Part::Create { shared });
        }
        for _ in 0..graph.tasks.len() {
            self.release_created(thread, app, shared);
        }
        self.take_task(core, thread, app, shared)
    }

    /// The master has created a task: on with the next, or with running them.
    fn created(&mut self, core: usize, thread: ThreadId, app: AppId, shared: u32) -> Option<Next> {
        self.release_created(thread, app, shared);
        let graph = &self.specs[app.index()].graphs[shared as usize];
        let round = self.threads[thread.index()].rare().graph_rounds[shared as usize];
        let object = &self.apps[app.index()].objects.graphs[shared as usize];
        let run = &object.runs[(round - object.first) as usize];
        if (run.created as usize) < graph.tasks.len() { self.create(core, thread, app, shared) } else { None }
    }

    fn release_created(&mut self, thread: ThreadId, app: AppId, shared: u32) {
        let round = self.threads[thread.index()].rare().graph_rounds[shared as usize];
        let object = &mut self.apps[app.index()].objects.graphs[shared as usize];
        let run = &mut object.runs[(round - object.first) as usize];
        let task = TaskId(run.created);
        run.created += 1;
        if run.release(task) {
            run.policy.ready(&object.graph, task, None);
            if let Some(worker) = run.line.pop_front() {
                self.wake(worker, Some(thread));
            }
        }
    }

    fn end_task(
        &mut self,
        core: usize,
        thread: ThreadId,
        app: AppId,
        shared: u32,
        task: TaskId,
        since: evenkeel_machine::Nanos,
    ) {
        let kind = self.cores[core].kind;
        let elapsed = self.now - since;
        let state = &self.threads[thread.index()];
        let round = state.rare().graph_rounds[shared as usize];
        let by = state.worker.map(WorkerId);
        let object = &mut self.apps[app.index()].objects.graphs[shared as usize];
        let run = &mut object.runs[(round - object.first) as usize];
        run.policy.done(task, kind, elapsed);
        run.done += 1;
        let mut ready = 0;
        for &next in object.graph.successors(task) {
            if run.release(next) {
                run.policy.ready(&object.graph, next, by);
                ready += 1;
            }
        }
        // One of them is for the worker itself; when all is done, everybody goes on.
        let all_done = run.done as usize == object.graph.tasks.len();
        let wakes = if all_done { run.line.len() } else { run.line.len().min(ready.max(1) - 1) };
        let woken: Vec<ThreadId> = run.line.drain(..wakes).collect();
        for other in woken {
            self.wake(other, Some(thread));
        }
    }
}
