//! Scheduling parameters of tasks and phases: policy, priority, deadline budget, utilisation
//! clamps, CPUs.
//!
//! rt-app sets those of a task when a thread starts, and those of a phase whenever the phase
//! begins. What a phase does not give stays as it was; only the CPUs return to the task's.

use std::sync::Arc;

use evenkeel_machine::{CoreId, Nanos};

use super::error::{Fault, Problem};
use super::json::{Member, Value};
use super::notes::Notes;
use super::place::{GREATEST, Place};
use evenkeel_model::{Class, Step};

/// Priority of a real-time thread that gives none (rt-app's default).
const DEFAULT_REAL_TIME_PRIORITY: i64 = 10;

/// The greatest utilisation clamp: a whole core of the fastest kind.
const FULL_UTIL: u32 = 1024;

/// The highest CPU number that a file may give.
pub const MAX_CPU: i64 = 4095;

/// A Linux scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Other,
    Batch,
    Idle,
    Fifo,
    RoundRobin,
    Deadline,
}

impl Policy {
    pub fn read(place: Place<'_>, member: &Member) -> Result<Self, Fault> {
        const EXPECTED: &str =
            "SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR or SCHED_DEADLINE";
        match place.text(member, EXPECTED)? {
            "SCHED_OTHER" => Ok(Self::Other),
            "SCHED_BATCH" => Ok(Self::Batch),
            "SCHED_IDLE" => Ok(Self::Idle),
            "SCHED_FIFO" => Ok(Self::Fifo),
            "SCHED_RR" => Ok(Self::RoundRobin),
            "SCHED_DEADLINE" => Ok(Self::Deadline),
            _ => Err(place.wrong(member, EXPECTED)),
        }
    }

    fn default_priority(self) -> i64 {
        if matches!(self, Self::Fifo | Self::RoundRobin) { DEFAULT_REAL_TIME_PRIORITY } else { 0 }
    }
}

/// The parameters that one object, a task or a phase, gives.
#[derive(Default)]
pub struct Parameters<'t> {
    policy: Option<(Policy, &'t Member)>,
    priority: Option<(i64, &'t Member)>,
    /// Budget of SCHED_DEADLINE, us.
    runtime: Option<(u64, &'t Member)>,
    /// The budget under its older name, where that is also an event: it counts for SCHED_DEADLINE
    /// only.
    runtime_of_event: Option<(u64, &'t Member)>,
    period: Option<(u64, &'t Member)>,
    deadline: Option<(u64, &'t Member)>,
    util_min: Option<(i64, &'t Member)>,
    util_max: Option<(i64, &'t Member)>,
    pub cores: Option<Arc<[CoreId]>>,
    taskgroup: Option<&'t Member>,
}

impl<'t> Parameters<'t> {
    /// Takes the older name of `dl-runtime`, which in a task without phases (`inline`) is also an
    /// event.
    pub fn take_older_runtime(
        &mut self,
        place: Place<'_>,
        member: &'t Member,
        inline: bool,
    ) -> Result<(), Fault> {
        let slot = if inline { &mut self.runtime_of_event } else { &mut self.runtime };
        if slot.is_none() {
            *slot = Some((place.natural(member, "a number of microseconds")?, member));
        }
        Ok(())
    }

    fn has_budget(&self) -> bool {
        self.runtime.is_some() || self.period.is_some() || self.deadline.is_some()
    }

    /// Takes a member if it is one of these parameters.
    pub fn take(
        &mut self,
        place: Place<'_>,
        member: &'t Member,
        notes: &mut Notes,
    ) -> Result<bool, Fault> {
        const CLAMP: &str = "a utilisation from 0 to 1024, or -1 for the system's default";
        match member.key.as_str() {
            "policy" => self.policy = Some((Policy::read(place, member)?, member)),
            "priority" => {
                self.priority =
                    Some((place.integer(member, -GREATEST..=GREATEST, "a whole number")?, member));
            }
            "dl-runtime" => {
                self.runtime = Some((place.natural(member, "a number of microseconds")?, member))
            }
            "dl-period" | "period" => {
                let period = place.natural(member, "a number of microseconds")?;
                if member.key == "dl-period" || self.period.is_none() {
                    self.period = Some((period, member));
                }
            }
            "dl-deadline" | "deadline" => {
                let deadline = place.natural(member, "a number of microseconds")?;
                if member.key == "dl-deadline" || self.deadline.is_none() {
                    self.deadline = Some((deadline, member));
                }
            }
            // A key of the rt-app branch that the deadline_reclaim examples are for.
            "dl-reclaim" => {
                place.boolean(member)?;
                notes.add("dl-reclaim: a budget that others leave unused is not lent here");
            }
            "util_min" => {
                self.util_min =
                    Some((place.integer(member, -1..=i64::from(FULL_UTIL), CLAMP)?, member))
            }
            "util_max" => {
                self.util_max =
                    Some((place.integer(member, -1..=i64::from(FULL_UTIL), CLAMP)?, member))
            }
            "cpus" => self.cores = Some(cores(place, member)?),
            "taskgroup" => self.taskgroup = taskgroup(place, member, notes)?,
            "nodes_membind" | super::keys::MEMBIND_OF_THE_TUTORIAL => {
                place.array(member, "an array of node numbers")?;
                notes.add("nodes_membind: memory has no nodes here");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn cores(place: Place<'_>, member: &Member) -> Result<Arc<[CoreId]>, Fault> {
    const EXPECTED: &str = "an array of CPU numbers from 0 to 4095";
    let mut cores = Vec::new();
    for node in place.array(member, EXPECTED)? {
        match node.value {
            Value::Integer(cpu) if (0..=MAX_CPU).contains(&cpu) => {
                cores.push(CoreId(cpu.unsigned_abs() as u32))
            }
            _ => {
                let element =
                    Member { at: member.at, key: String::new(), value: Some(node.clone()) };
                let problem = Problem::Value {
                    found: element.shown(),
                    expected: "a CPU number from 0 to 4095",
                };
                return Err(place.fault_of(node.at, &member.key, problem));
            }
        }
    }
    if cores.is_empty() {
        return Err(place.contradiction(member, "no CPU to run on"));
    }
    cores.sort_unstable();
    cores.dedup();
    Ok(cores.into())
}

fn taskgroup<'t>(
    place: Place<'_>,
    member: &'t Member,
    notes: &mut Notes,
) -> Result<Option<&'t Member>, Fault> {
    const EXPECTED: &str = "a path that begins with '/', or an empty string";
    let path = place.text(member, EXPECTED)?;
    if path.is_empty() {
        return Ok(None);
    }
    if !path.starts_with('/') {
        return Err(place.wrong(member, EXPECTED));
    }
    notes.add("taskgroup: threads have no control groups here");
    Ok(Some(member))
}

/// The parameters in force.
#[derive(Clone, Debug)]
pub struct Schedule {
    policy: Policy,
    /// Nice value or real-time priority, as the policy has it.
    priority: i64,
    class: Class,
    /// The last nice value of the thread under a normal policy.
    pub nice: i8,
    pub util_min: u32,
    pub util_max: u32,
    /// The task's own CPUs.
    pub cores: Option<Arc<[CoreId]>>,
    grouped: bool,
}

impl Schedule {
    /// The parameters of a task whose key is at `at`.
    pub fn of_task(
        given: &Parameters<'_>,
        default: Policy,
        place: Place<'_>,
        at: usize,
        notes: &mut Notes,
    ) -> Result<Self, Fault> {
        let mut schedule = Self {
            policy: default,
            priority: default.default_priority(),
            class: Class::Normal,
            nice: 0,
            util_min: 0,
            util_max: FULL_UTIL,
            cores: given.cores.clone(),
            grouped: false,
        };
        schedule.set_class(given, true, place, at, notes)?;
        schedule.set_clamps(given, place)?;
        schedule.set_group(given, place)?;
        Ok(schedule)
    }

    pub fn class(&self) -> Class {
        self.class
    }

    /// What a phase whose key is at `at` changes, as steps.
    pub fn enter_phase(
        &mut self,
        given: &Parameters<'_>,
        place: Place<'_>,
        at: usize,
        notes: &mut Notes,
    ) -> Result<Vec<Step>, Fault> {
        let mut steps = Vec::new();
        if given.policy.is_some() || given.priority.is_some() || given.has_budget() {
            self.set_class(given, given.policy.is_some(), place, at, notes)?;
            steps.push(Step::SetClass(self.class));
            if matches!(self.policy, Policy::Other | Policy::Batch) {
                steps.push(Step::SetNice(self.nice));
            }
        }
        if given.util_min.is_some() || given.util_max.is_some() {
            self.set_clamps(given, place)?;
            steps.push(Step::SetClamps {
                util_min: given.util_min.map(|_| self.util_min),
                util_max: given.util_max.map(|_| self.util_max),
            });
        }
        self.set_group(given, place)?;
        Ok(steps)
    }

    /// Sets policy, priority and budget. With `fresh` the policy is chosen anew, so its defaults
    /// apply.
    fn set_class(
        &mut self,
        given: &Parameters<'_>,
        fresh: bool,
        place: Place<'_>,
        at: usize,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        if let Some((policy, _)) = given.policy {
            self.policy = policy;
        }
        let default = if fresh { self.policy.default_priority() } else { self.priority };
        self.priority = given.priority.map_or(default, |(priority, _)| priority);
        let budget_given = given.has_budget();
        if budget_given && self.policy != Policy::Deadline {
            notes.add(
                "dl-runtime, dl-period, dl-deadline of a thread that is not SCHED_DEADLINE: \
                       without effect",
            );
        }
        let out_of_range = |expected| {
            let found = self.priority.to_string();
            let at = given.priority.map_or(at, |(_, member)| member.value_at());
            Err(place.fault_of(at, "priority", Problem::Value { found, expected }))
        };
        self.class = match (self.policy, u8::try_from(self.priority), i8::try_from(self.priority)) {
            (Policy::Other | Policy::Batch, _, Ok(nice @ -20..=19)) => {
                self.nice = nice;
                Class::Normal
            }
            (Policy::Idle, _, Ok(-20..=19)) => Class::Idle,
            (Policy::Other | Policy::Batch | Policy::Idle, _, _) => {
                return out_of_range("a nice value from -20 to 19");
            }
            (Policy::Fifo, Ok(priority @ 1..=99), _) => {
                Class::RealTime { priority, round_robin: false }
            }
            (Policy::RoundRobin, Ok(priority @ 1..=99), _) => {
                Class::RealTime { priority, round_robin: true }
            }
            (Policy::Fifo | Policy::RoundRobin, _, _) => {
                return out_of_range("a real-time priority from 1 to 99");
            }
            (Policy::Deadline, _, _) => {
                if given.priority.is_some_and(|(priority, _)| priority != 0) {
                    notes.add("priority of a thread that is SCHED_DEADLINE: without effect");
                }
                if fresh || budget_given { deadline(given, place, at)? } else { self.class }
            }
        };
        Ok(())
    }

    fn set_clamps(&mut self, given: &Parameters<'_>, place: Place<'_>) -> Result<(), Fault> {
        // -1 resets a clamp.
        let clamp = |value: i64, default| u32::try_from(value).unwrap_or(default);
        if let Some((value, _)) = given.util_min {
            self.util_min = clamp(value, 0);
        }
        if let Some((value, _)) = given.util_max {
            self.util_max = clamp(value, FULL_UTIL);
        }
        match given.util_min.or(given.util_max) {
            Some((_, member)) if self.util_min > self.util_max => {
                let (least, most) = (self.util_min, self.util_max);
                Err(place.contradiction(
                    member,
                    format!("util_min {least} is greater than util_max {most}"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Only SCHED_OTHER and SCHED_IDLE take task groups; rt-app refuses others.
    fn set_group(&mut self, given: &Parameters<'_>, place: Place<'_>) -> Result<(), Fault> {
        self.grouped |= given.taskgroup.is_some();
        let fits = matches!(self.policy, Policy::Other | Policy::Batch | Policy::Idle);
        match given.taskgroup.or(given.policy.map(|(_, member)| member)) {
            Some(member) if self.grouped && !fits => Err(place.contradiction(
                member,
                "a taskgroup asks for SCHED_OTHER, SCHED_BATCH or SCHED_IDLE",
            )),
            _ => Ok(()),
        }
    }
}

fn deadline(given: &Parameters<'_>, place: Place<'_>, at: usize) -> Result<Class, Fault> {
    let runtime = given.runtime.or(given.runtime_of_event).map_or(0, |(us, _)| us);
    let period = given.period.map_or(runtime, |(us, _)| us);
    let deadline = given.deadline.map_or(period, |(us, _)| us);
    if runtime == 0 || runtime > deadline || deadline > period {
        let member = given.runtime.or(given.deadline).or(given.period).map(|(_, member)| member);
        let at = member.or(given.policy.map(|(_, member)| member)).map_or(at, Member::value_at);
        let what = format!(
            "SCHED_DEADLINE asks for 0 < dl-runtime <= dl-deadline <= dl-period; found {runtime}, \
             {deadline} and {period} us"
        );
        return Err(place.fault(at, Problem::Contradiction(what)));
    }
    let us = Nanos::from_micros;
    Ok(Class::Deadline { runtime: us(runtime), period: us(period), deadline: us(deadline) })
}
