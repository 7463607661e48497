//! Checks that an application can be carried out: every index exists, every number is in its range,
//! no endless loop does nothing. A mechanism checks this once before it runs an application and
//! relies on it from then on.

use crate::model::{Application, Class, Step, ThreadSpec};
use crate::phase::{Phase, Scaling};

/// The deepest nesting of loops that a program may have.
pub const MAX_LOOP_DEPTH: usize = 64;

impl Application {
    /// Checks every index and every range.
    ///
    /// # Errors
    /// The first fault: where it is, what was found, what is valid.
    pub fn validate(&self) -> Result<(), String> {
        let checked = self.validate_objects().and_then(|()| self.validate_programs());
        checked.map_err(|what| format!("application '{}': {what}", self.name))
    }

    fn validate_objects(&self) -> Result<(), String> {
        if self.phases.is_empty() {
            return Err("no phase, and a thread is always in one".to_owned());
        }
        for (i, phase) in self.phases.iter().enumerate() {
            check_phase(phase).map_err(|what| format!("phase {i} '{}': {what}", phase.name))?;
        }
        for (kind, list) in [("thread", &self.threads), ("template", &self.templates)] {
            for (i, thread) in list.iter().enumerate() {
                self.check_thread(thread)
                    .map_err(|what| format!("{kind} {i} '{}': {what}", thread.name))?;
            }
        }
        let capacities: Vec<u32> = self.channels.iter().map(|channel| channel.capacity).collect();
        for (kind, list) in [("barrier", &self.barriers), ("channel", &capacities)] {
            if let Some(i) = list.iter().position(|&n| n == 0) {
                return Err(format!("{kind} {i}: 0 found, expected at least 1"));
            }
        }
        for (i, parallel) in self.loops.iter().enumerate() {
            let place = |what| format!("parallel loop {i}: {what}");
            within("phase", parallel.phase.0, self.phases.len()).map_err(place)?;
            if parallel.workers == 0 {
                return Err(place("no workers".to_owned()));
            }
        }
        for (i, graph) in self.graphs.iter().enumerate() {
            for (t, task) in graph.tasks.iter().enumerate() {
                within("phase", task.phase.0, self.phases.len())
                    .map_err(|what| format!("graph {i}, task {t}: {what}"))?;
            }
        }
        Ok(())
    }

    fn check_thread(&self, thread: &ThreadSpec) -> Result<(), String> {
        within("program", thread.program.0, self.programs.len())?;
        check_nice(thread.nice)?;
        check_class(thread.class)?;
        check_affinity(thread.affinity.as_deref())?;
        if thread.util_min > thread.util_max {
            return Err(format!(
                "util_min {} is greater than util_max {}",
                thread.util_min, thread.util_max
            ));
        }
        check_clamp(Some(thread.util_max))
    }

    fn validate_programs(&self) -> Result<(), String> {
        self.programs.iter().enumerate().try_for_each(|(i, program)| {
            self.check_steps(&program.steps, 0).map_err(|what| format!("program {i}, step {what}"))
        })
    }

    fn check_steps(&self, steps: &[Step], depth: usize) -> Result<(), String> {
        if depth > MAX_LOOP_DEPTH {
            return Err(format!("0: loops nest deeper than {MAX_LOOP_DEPTH}"));
        }
        for (i, step) in steps.iter().enumerate() {
            if let Step::Loop { times, body } = step {
                self.check_steps(body, depth + 1).map_err(|what| format!("{i}.{what}"))?;
                if *times == Some(0) {
                    return Err(format!("{i}: a loop of 0 times"));
                }
                if times.is_none() && !self.may_take_time(body) {
                    return Err(format!("{i}: loops for ever and no step of it takes time"));
                }
            } else {
                self.check_step(step).map_err(|what| format!("{i}: {what}"))?;
            }
        }
        Ok(())
    }

    fn check_step(&self, step: &Step) -> Result<(), String> {
        match step {
            Step::Compute { phase, .. } | Step::Busy { phase, .. } => {
                within("phase", phase.0, self.phases.len())
            }
            Step::Timer { timer, .. } => {
                within("timer", timer.0, self.timers as usize + self.private_timers as usize)
            }
            Step::Barrier(barrier) => within("barrier", barrier.0, self.barriers.len()),
            Step::Lock(lock) | Step::Unlock(lock) => within("lock", lock.0, self.locks as usize),
            Step::Wait { condition, lock } | Step::SignalAndWait { condition, lock } => {
                within("condition", condition.0, self.conditions as usize)?;
                lock.map_or(Ok(()), |lock| within("lock", lock.0, self.locks as usize))
            }
            Step::Signal(condition) | Step::Broadcast(condition) => {
                within("condition", condition.0, self.conditions as usize)
            }
            Step::SemaphorePost(semaphore) | Step::SemaphoreWait(semaphore) => {
                within("semaphore", semaphore.0, self.semaphores.len())
            }
            Step::Send(channel) | Step::Receive(channel) => {
                within("channel", channel.0, self.channels.len())
            }
            Step::Close { channel, senders } => {
                within("channel", channel.0, self.channels.len())?;
                if *senders == 0 { Err("closes for 0 senders".to_owned()) } else { Ok(()) }
            }
            Step::Io { device, .. } => within("device", device.0, self.devices as usize),
            Step::Fork(template) => within("template", *template, self.templates.len()),
            Step::ParallelFor(parallel) => within("parallel loop", parallel.0, self.loops.len()),
            Step::RunTasks(graph) => within("graph", graph.0, self.graphs.len()),
            Step::SetClass(class) => check_class(*class),
            Step::SetNice(nice) => check_nice(*nice),
            Step::SetAffinity(cores) => check_affinity(cores.as_deref()),
            Step::SetClamps { util_min, util_max } => {
                check_clamp(*util_min).and_then(|()| check_clamp(*util_max))
            }
            Step::Loop { .. }
            | Step::Sleep(_)
            | Step::JoinAll
            | Step::Suspend
            | Step::Resume(_)
            | Step::Yield
            | Step::Milestone
            | Step::Iteration(_) => Ok(()),
        }
    }

    /// True if these steps hold a loop that runs for ever in no time.
    pub fn spins(&self, steps: &[Step]) -> bool {
        steps.iter().any(|step| match step {
            Step::Loop { times, body } => {
                (times.is_none() && !self.may_take_time(body)) || self.spins(body)
            }
            _ => false,
        })
    }

    /// True if a pass over these steps can take time or block. An endless loop of one that cannot
    /// would hold the clock still.
    pub(crate) fn may_take_time(&self, steps: &[Step]) -> bool {
        steps.iter().any(|step| match step {
            Step::Compute { work, .. } => work.0 > 0,
            Step::Busy { time, .. } | Step::Sleep(time) | Step::Io { time, .. } => time.0 > 0,
            Step::Timer { period, .. } => period.0 > 0,
            Step::Barrier(barrier) => {
                self.barriers.get(barrier.index()).is_some_and(|&parties| parties > 1)
            }
            Step::Wait { .. }
            | Step::SignalAndWait { .. }
            | Step::SemaphoreWait(_)
            | Step::Send(_)
            | Step::Receive(_)
            | Step::JoinAll
            | Step::Suspend
            | Step::ParallelFor(_)
            | Step::RunTasks(_) => true,
            Step::Loop { body, .. } => self.may_take_time(body),
            Step::Lock(_)
            | Step::Unlock(_)
            | Step::Signal(_)
            | Step::Broadcast(_)
            | Step::SemaphorePost(_)
            | Step::Close { .. }
            | Step::Fork(_)
            | Step::Resume(_)
            | Step::Yield
            | Step::Milestone
            | Step::Iteration(_)
            | Step::SetClass(_)
            | Step::SetNice(_)
            | Step::SetAffinity(_)
            | Step::SetClamps { .. } => false,
        })
    }
}

fn within(what: &str, index: u32, count: usize) -> Result<(), String> {
    if (index as usize) < count { Ok(()) } else { Err(format!("{what} {index} of {count}")) }
}

fn check_phase(phase: &Phase) -> Result<(), String> {
    let finite = |what: &str, value: f64, least: f64| {
        if value.is_finite() && value >= least {
            Ok(())
        } else {
            Err(format!("{what} {value} found, expected at least {least}"))
        }
    };
    if !(phase.ipc.is_finite() && phase.ipc > 0.0) {
        return Err(format!("ipc {} found, expected greater than 0", phase.ipc));
    }
    finite("bytes_per_instruction", phase.bytes_per_instruction, 0.0)?;
    finite("activity", phase.activity, 0.0)?;
    if let Some(character) = &phase.character {
        if phase.reference_time {
            return Err(
                "a character beside reference_time found, expected work in instructions".to_owned()
            );
        }
        character.validate()?;
    }
    match phase.scaling {
        Scaling::Capacity => Ok(()),
        Scaling::Factor(factor) => finite("speedup factor", factor, 1.0),
        Scaling::MeasuredAt { factor, capacity_ratio } => {
            if !(factor.is_finite() && factor > 0.0) {
                return Err(format!("speedup factor {factor} found, expected greater than 0"));
            }
            if !(capacity_ratio.is_finite() && capacity_ratio > 1.0) {
                return Err(format!(
                    "capacity ratio {capacity_ratio} found, expected greater than 1"
                ));
            }
            Ok(())
        }
    }
}

fn check_nice(nice: i8) -> Result<(), String> {
    if (-20..=19).contains(&nice) {
        Ok(())
    } else {
        Err(format!("nice {nice} found, expected -20 to 19"))
    }
}

fn check_class(class: Class) -> Result<(), String> {
    match class {
        Class::Normal | Class::Idle => Ok(()),
        Class::RealTime { priority, .. } if (1..=99).contains(&priority) => Ok(()),
        Class::RealTime { priority, .. } => {
            Err(format!("real-time priority {priority} found, expected 1 to 99"))
        }
        Class::Deadline { runtime, period, deadline }
            if runtime.0 > 0 && runtime <= deadline && deadline <= period =>
        {
            Ok(())
        }
        Class::Deadline { runtime, period, deadline } => Err(format!(
            "deadline class with runtime {runtime}, deadline {deadline}, period {period}: \
             expected 0 < runtime <= deadline <= period"
        )),
    }
}

fn check_affinity<T>(cores: Option<&[T]>) -> Result<(), String> {
    if cores.is_some_and(<[T]>::is_empty) { Err("may run on no core".to_owned()) } else { Ok(()) }
}

fn check_clamp(clamp: Option<u32>) -> Result<(), String> {
    match clamp {
        Some(value) if value > 1024 => {
            Err(format!("utilisation clamp {value} found, expected 0 to 1024"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{Nanos, Work};

    use super::*;
    use crate::ids::{BarrierId, LockId, PhaseId, ProgramId};
    use crate::model::Program;

    fn application(steps: Vec<Step>) -> Application {
        Application {
            name: "app".to_owned(),
            phases: vec![Phase::new("run", Scaling::Capacity)],
            programs: vec![Program { steps }],
            threads: vec![ThreadSpec::new("t", ProgramId(0))],
            ..Application::default()
        }
    }

    fn compute(work: u64) -> Step {
        Step::Compute { work: Work(work), phase: PhaseId(0) }
    }

    #[test]
    fn a_plain_application_is_valid() {
        assert_eq!(application(vec![compute(1)]).validate(), Ok(()));
    }

    #[test]
    fn an_index_out_of_range_is_named_with_its_place() {
        let inner = Step::Loop { times: Some(2), body: vec![compute(1), Step::Lock(LockId(7))] };
        let found = application(vec![compute(1), inner]).validate();
        assert_eq!(found, Err("application 'app': program 0, step 1.1: lock 7 of 0".to_owned()));
    }

    #[test]
    fn an_endless_loop_must_take_time() {
        let endless = |body| application(vec![Step::Loop { times: None, body }]).validate();
        assert_eq!(endless(vec![compute(1)]), Ok(()));
        assert!(endless(vec![compute(0), Step::Yield, Step::Sleep(Nanos(0))]).is_err());
        assert!(endless(vec![Step::Loop { times: Some(3), body: vec![Step::Yield] }]).is_err());
    }

    #[test]
    fn a_loop_of_no_times_and_a_barrier_of_nobody_are_refused() {
        assert!(
            application(vec![Step::Loop { times: Some(0), body: vec![compute(1)] }])
                .validate()
                .is_err()
        );
        let mut nobody = application(vec![Step::Barrier(BarrierId(0))]);
        nobody.barriers = vec![0];
        assert!(nobody.validate().is_err());
    }

    #[test]
    fn ranges_of_threads_are_checked() {
        let with = |change: fn(&mut ThreadSpec)| {
            let mut app = application(vec![compute(1)]);
            app.threads.iter_mut().for_each(change);
            app.validate()
        };
        assert!(with(|t| t.nice = 20).is_err());
        assert!(with(|t| t.affinity = Some(vec![])).is_err());
        assert!(with(|t| t.util_min = 1025).is_err());
        assert!(with(|t| t.util_max = 1025).is_err());
        assert!(with(|t| t.program = ProgramId(1)).is_err());
        assert!(with(|t| t.class = Class::RealTime { priority: 0, round_robin: false }).is_err());
        let budget = |runtime, deadline, period| Class::Deadline {
            runtime: Nanos(runtime),
            deadline: Nanos(deadline),
            period: Nanos(period),
        };
        assert_eq!(check_class(budget(1, 2, 3)), Ok(()));
        assert!(check_class(budget(0, 2, 3)).is_err());
        assert!(check_class(budget(3, 2, 3)).is_err());
        assert!(check_class(budget(1, 4, 3)).is_err());
    }

    #[test]
    fn an_application_has_a_phase_even_if_it_never_computes() {
        let mut app = application(vec![Step::Sleep(Nanos(1))]);
        assert_eq!(app.validate(), Ok(()));
        app.phases.clear();
        assert!(app.validate().is_err());
    }

    #[test]
    fn nesting_is_bounded() {
        let nest = |levels: usize| {
            let steps = (0..levels)
                .fold(vec![compute(1)], |body, _| vec![Step::Loop { times: Some(1), body }]);
            application(steps).validate()
        };
        assert_eq!(nest(MAX_LOOP_DEPTH), Ok(()));
        assert!(nest(MAX_LOOP_DEPTH + 1).is_err());
    }
}
