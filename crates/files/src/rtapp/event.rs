//! Events of a phase, as steps.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_machine::{Nanos, Work};

use super::error::{Fault, Near, Problem};
use super::global::Global;
use super::json::Member;
use super::keys::{self, Event};
use super::memory::{self, Access};
use super::names::{Names, Resources};
use super::notes::Notes;
use super::place::{GREATEST, Given, Place};
use evenkeel_model::{
    BarrierId, ConditionId, DeviceId, LockId, PhaseId, SemaphoreId, Step, TimerId, TimerMode,
};
use evenkeel_model::{Phase, ReferenceCore, Scaling};

/// Marks a timer of a thread's own until it is known how many timers are shared.
pub const PRIVATE_TIMER: u32 = 1 << 31;

/// The name that rt-app gives to a timer or condition without one.
const UNNAMED: &str = "unknown";

const MICROSECONDS: &str = "a number of microseconds";

/// What the events of all tasks share.
pub struct Events<'t> {
    pub global: Global,
    pub notes: Notes,
    pub resources: Resources,
    pub phases: Vec<Phase>,
    phase_numbers: BTreeMap<PhaseKey, PhaseId>,
    pub devices: u32,
    /// The first task of each name.
    pub tasks: BTreeMap<&'t str, usize>,
    /// Tasks that some event forks, in the order of their templates.
    pub forked: Vec<usize>,
    templates: BTreeMap<usize, u32>,
    /// True if programs report the iterations of their phases.
    pub iterations: bool,
}

/// A phase that events share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PhaseKey {
    Run,
    Fill,
    WriteToNull,
    Access(Access, u64),
}

/// The task whose events are read.
pub struct Task<'t> {
    pub index: usize,
    pub name: &'t str,
    pub instances: u32,
    /// Timers that each of its threads has of its own.
    pub timers: Names,
    /// The timers among these that some event uses as absolute.
    pub absolute_timers: BTreeSet<u32>,
    /// Locks held at this point of the program.
    held: BTreeSet<u32>,
}

impl<'t> Task<'t> {
    pub fn new(index: usize, name: &'t str, instances: u32) -> Self {
        let (timers, absolute_timers) = (Names::default(), BTreeSet::new());
        Self { index, name, instances, timers, absolute_timers, held: BTreeSet::new() }
    }
}

impl<'t> Events<'t> {
    pub fn new(
        global: Global,
        resources: Resources,
        notes: Notes,
        tasks: BTreeMap<&'t str, usize>,
    ) -> Self {
        let mut events = Self {
            global,
            notes,
            resources,
            phases: Vec::new(),
            phase_numbers: BTreeMap::new(),
            devices: 0,
            tasks,
            forked: Vec::new(),
            templates: BTreeMap::new(),
            iterations: false,
        };
        // Phase 0, in which every thread starts, even one without a `run`.
        events.run_phase();
        events
    }

    pub fn is_forked(&self, task: usize) -> bool {
        self.templates.contains_key(&task)
    }

    /// Appends what an event does.
    pub fn read(
        &mut self,
        event: Event,
        member: &Member,
        place: Place<'_>,
        task: &mut Task<'_>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Fault> {
        match event {
            Event::Run => {
                let work = Nanos::from_micros(place.natural(member, MICROSECONDS)?);
                let phase = self.run_phase();
                steps.extend((work.0 > 0).then_some(Step::Compute { work: Work(work.0), phase }));
            }
            Event::Runtime => {
                let time = Nanos::from_micros(place.natural(member, MICROSECONDS)?);
                let phase = self.run_phase();
                steps.extend((time.0 > 0).then_some(Step::Busy { time, phase }));
            }
            Event::Sleep => {
                let time = Nanos::from_micros(place.natural(member, MICROSECONDS)?);
                steps.extend((time.0 > 0).then_some(Step::Sleep(time)));
            }
            Event::Timer => steps.push(self.timer(member, place, task)?),
            Event::Lock => {
                let lock = self.lock(member, place)?;
                task.held.insert(lock.0);
                steps.push(Step::Lock(lock));
            }
            Event::Unlock => {
                let lock = self.lock(member, place)?;
                task.held.remove(&lock.0);
                steps.push(Step::Unlock(lock));
            }
            Event::Wait | Event::Sync => self.wait(event, member, place, task, steps)?,
            Event::Signal => steps.push(Step::Signal(self.condition(member, place)?)),
            Event::Broadcast => steps.push(Step::Broadcast(self.condition(member, place)?)),
            Event::Suspend => {
                let condition = self.suspended_on(member, place, task)?;
                steps.push(Step::Wait { condition, lock: None });
            }
            Event::Resume => {
                let name = place.text(member, "the name that threads are suspended on")?;
                steps.push(Step::Broadcast(ConditionId(self.resources.conditions.number(name))));
            }
            // rt-app ignores the value of a yield.
            Event::Yield => steps.push(Step::Yield),
            Event::Barrier => steps.push(Step::Barrier(self.barrier(member, place, task)?)),
            Event::SemaphorePost => steps.push(Step::SemaphorePost(self.semaphore(member, place)?)),
            Event::SemaphoreWait => steps.push(Step::SemaphoreWait(self.semaphore(member, place)?)),
            Event::Fork => steps.push(Step::Fork(self.fork(member, place)?)),
            Event::Mem => {
                let bytes = place.natural(member, "a number of bytes")?;
                let (phase, work) = memory::fill(bytes, self.global.buffer_bytes);
                self.compute(PhaseKey::Fill, work, || phase, steps);
            }
            Event::MemRun => self.memrun(member, place, steps)?,
            Event::IoRun => self.iorun(member, place, steps)?,
        }
        Ok(())
    }

    fn phase(&mut self, key: PhaseKey, make: impl FnOnce() -> Phase) -> PhaseId {
        *self.phase_numbers.entry(key).or_insert_with(|| {
            self.phases.push(make());
            PhaseId((self.phases.len() - 1) as u32)
        })
    }

    /// Work in nanoseconds of the core that rt-app was calibrated on, faster or slower as
    /// capacities are.
    fn run_phase(&mut self) -> PhaseId {
        let reference =
            self.global.calibrated_on.map_or(ReferenceCore::Fastest, ReferenceCore::Numbered);
        self.phase(PhaseKey::Run, || Phase {
            reference_time: true,
            reference,
            ..Phase::new("run", Scaling::Capacity)
        })
    }

    fn compute(
        &mut self,
        key: PhaseKey,
        work: u64,
        make: impl FnOnce() -> Phase,
        steps: &mut Vec<Step>,
    ) {
        let phase = self.phase(key, make);
        steps.extend((work > 0).then_some(Step::Compute { work: Work(work), phase }));
    }

    fn lock(&mut self, member: &Member, place: Place<'_>) -> Result<LockId, Fault> {
        let name = place.text(member, "the name of a mutex")?;
        Ok(LockId(self.resources.locks.number(name)))
    }

    fn condition(&mut self, member: &Member, place: Place<'_>) -> Result<ConditionId, Fault> {
        let name = place.text(member, "the name of a condition")?;
        Ok(ConditionId(self.resources.condition(name)))
    }

    /// The condition that a `suspend` waits for: of the name that it gives, else of its task.
    fn suspended_on(
        &mut self,
        member: &Member,
        place: Place<'_>,
        task: &Task<'_>,
    ) -> Result<ConditionId, Fault> {
        const EXPECTED: &str = "the name to be resumed by, or nothing for the task's own";
        let name = match member.value {
            None => "",
            Some(_) => place.text(member, EXPECTED)?,
        };
        let name = if name.is_empty() { task.name } else { name };
        Ok(ConditionId(self.resources.conditions.number(name)))
    }

    fn barrier(
        &mut self,
        member: &Member,
        place: Place<'_>,
        task: &Task<'_>,
    ) -> Result<BarrierId, Fault> {
        let name = place.text(member, "the name of a barrier")?;
        let (barrier, again) =
            self.resources.barrier(name, task.index, task.instances, member.value_at());
        if again {
            self.notes.add(
                "barrier named more than once by a task: each of its threads counts once \
                 (rt-app would count it each time)",
            );
        }
        Ok(BarrierId(barrier))
    }

    fn semaphore(&mut self, member: &Member, place: Place<'_>) -> Result<SemaphoreId, Fault> {
        let name = place.text(member, "the name of a semaphore")?;
        Ok(SemaphoreId(self.resources.semaphores.number(name)))
    }

    fn fork(&mut self, member: &Member, place: Place<'_>) -> Result<u32, Fault> {
        let name = place.text(member, "the name of a task")?;
        let Some(&task) = self.tasks.get(name) else {
            let near = Near::matches(name, self.tasks.keys().copied());
            let place = place.fault_of(
                member.value_at(),
                &member.key,
                Problem::Unknown { what: "task", near },
            );
            return Err(Fault { place: format!("{}{}: ", place.place, member.shown()), ..place });
        };
        let next = self.forked.len() as u32;
        Ok(*self.templates.entry(task).or_insert_with(|| {
            self.forked.push(task);
            next
        }))
    }

    fn timer(
        &mut self,
        member: &Member,
        place: Place<'_>,
        task: &mut Task<'_>,
    ) -> Result<Step, Fault> {
        let (mut name, mut period, mut absolute) = (UNNAMED, 0, false);
        let mut given = Given::default();
        for part in place.object(member, "an object with ref and period")? {
            if !given.is_known(place, part, "key of a timer", keys::TIMER, &mut self.notes)? {
                continue;
            }
            match part.key.as_str() {
                "ref" => name = place.text(part, "the name of a timer")?,
                "period" => period = place.natural(part, MICROSECONDS)?,
                "mode" => {
                    absolute = match place.text(part, "relative or absolute")? {
                        "absolute" => true,
                        "relative" => false,
                        _ => return Err(place.wrong(part, "relative or absolute")),
                    }
                }
                _ => {}
            }
        }
        let timer = if name.starts_with("unique") {
            let timer = task.timers.number(name);
            task.absolute_timers.extend(absolute.then_some(timer));
            timer | PRIVATE_TIMER
        } else {
            let timer = self.resources.timers.number(name);
            self.resources.absolute_timers.extend(absolute.then_some(timer));
            timer
        };
        Ok(Step::Timer {
            timer: TimerId(timer),
            period: Nanos::from_micros(period),
            mode: TimerMode::Relative,
        })
    }

    fn wait(
        &mut self,
        event: Event,
        member: &Member,
        place: Place<'_>,
        task: &Task<'_>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Fault> {
        let (mut condition, mut mutex) = (UNNAMED, None);
        let mut given = Given::default();
        for part in place.object(member, "an object with ref and mutex")? {
            if !given.is_known(place, part, "key of a wait", keys::WAIT, &mut self.notes)? {
                continue;
            }
            match part.key.as_str() {
                "ref" => condition = place.text(part, "the name of a condition")?,
                "mutex" => mutex = Some(place.text(part, "the name of a mutex")?),
                _ => {}
            }
        }
        let condition = ConditionId(self.resources.condition(condition));
        let lock = mutex.map(|mutex| LockId(self.resources.locks.number(mutex)));
        let step = match event {
            Event::Sync => Step::SignalAndWait { condition, lock },
            _ => Step::Wait { condition, lock },
        };
        match lock {
            // rt-app's manual says that sync takes its mutex; its code does not. Here a thread that
            // does not hold the mutex takes it.
            Some(lock) if !task.held.contains(&lock.0) => {
                steps.extend([Step::Lock(lock), step, Step::Unlock(lock)]);
            }
            _ => steps.push(step),
        }
        Ok(())
    }

    fn memrun(
        &mut self,
        member: &Member,
        place: Place<'_>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Fault> {
        const KINDS: &str = "read, write or chase";
        let (mut kind, mut count, mut buffer) = (None, None, None);
        let (mut bytes, mut stride, mut prefetched) =
            (self.global.buffer_bytes, memory::LINE_BYTES, false);
        let mut given = Given::default();
        for part in place.object(member, "an object with type, size and count")? {
            if !given.is_known(place, part, "key of a memrun", keys::MEMRUN, &mut self.notes)? {
                continue;
            }
            let positive =
                || place.integer(part, 1..=GREATEST, "a number from 1").map(i64::unsigned_abs);
            match part.key.as_str() {
                "type" => {
                    let text = place.text(part, KINDS)?;
                    if !["read", "write", "chase"].contains(&text) {
                        return Err(place.wrong(part, KINDS));
                    }
                    kind = Some(text);
                }
                "size" => bytes = positive()?,
                "stride" => stride = positive()?,
                "pattern" => {
                    prefetched = match place.text(part, "random or sequential")? {
                        "sequential" => true,
                        "random" => false,
                        _ => return Err(place.wrong(part, "random or sequential")),
                    }
                }
                "count" => count = Some(place.natural(part, "a number of accesses")?),
                "ref" => buffer = Some(place.text(part, "the name of a buffer")?),
                _ => {}
            }
        }
        let missing = |what| place.fault_of(member.value_at(), &member.key, Problem::Missing(what));
        let kind = kind.ok_or_else(|| missing("the key 'type'"))?;
        let chase = kind == "chase";
        let count = count.ok_or_else(|| missing("the key 'count'"))?;
        // Readers and writers have a buffer each, whatever its name; stride and pattern do not
        // matter to them.
        let layout = if chase { (bytes, stride, prefetched) } else { (bytes, 0, false) };
        if let Some(name) = buffer
            && *self.resources.buffers.entry((kind.to_owned(), name.to_owned())).or_insert(layout)
                != layout
        {
            let what =
                format!("'{name}' is shared, and was of another size, stride or pattern before");
            return Err(place.fault_of(
                member.value_at(),
                &member.key,
                Problem::Contradiction(what),
            ));
        }
        // A long stride leaves lines of the buffer untouched.
        let touched =
            if chase { bytes.min(bytes.div_ceil(stride) * memory::LINE_BYTES) } else { bytes };
        let access = if chase { Access::Chase { prefetched } } else { Access::Touch };
        let (phase, work) = memory::access(access, touched, count);
        self.compute(PhaseKey::Access(access, touched), work, || phase, steps);
        Ok(())
    }

    fn iorun(
        &mut self,
        member: &Member,
        place: Place<'_>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Fault> {
        let bytes = place.natural(member, "a number of bytes")?;
        if self.global.io_to_null {
            let work = memory::write_to_null(bytes, self.global.buffer_bytes);
            let phase = || Phase { reference_time: true, ..Phase::new("iorun", Scaling::Capacity) };
            self.compute(PhaseKey::WriteToNull, work, phase, steps);
        } else {
            self.devices = 1;
            let time = memory::write_to_device(bytes);
            steps.extend((time.0 > 0).then_some(Step::Io { device: DeviceId(0), time }));
        }
        Ok(())
    }
}
