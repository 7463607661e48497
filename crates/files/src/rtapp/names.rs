//! The numbers that the model gives to the resources that events name. A resource exists once an
//! event names it; the section `resources` of older files adds nothing but aliases.

use std::collections::{BTreeMap, BTreeSet};

/// Numbers for names, in the order in which they are met.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<String, u32>);

impl Names {
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.0.get(name) {
            return number;
        }
        let number = self.count();
        self.0.insert(name.to_owned(), number);
        number
    }

    pub fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}

/// The threads of a barrier, and where it is named.
#[derive(Debug)]
pub struct Barrier {
    pub name: String,
    /// The instances, existing from the start, of the tasks that name it.
    pub parties: u32,
    /// The task that named it last.
    pub last_task: usize,
    /// Byte offset of the event that named it first.
    pub at: usize,
}

/// Everything that has a name in a file.
#[derive(Debug, Default)]
pub struct Resources {
    pub locks: Names,
    pub conditions: Names,
    pub semaphores: Names,
    /// Timers that tasks share.
    pub timers: Names,
    pub barriers: Vec<Barrier>,
    barrier_names: Names,
    /// Shared timers that some event uses as absolute; they are absolute for all events.
    pub absolute_timers: BTreeSet<u32>,
    /// Buffers that memory accesses share, by their type and name: size, stride, and true if
    /// accesses are in order.
    pub buffers: BTreeMap<(String, String), (u64, u64, bool)>,
    /// Older files: the conditions that signals of other names stand for.
    aliases: BTreeMap<String, String>,
}

impl Resources {
    pub fn alias(&mut self, name: &str, target: &str) {
        self.aliases.insert(name.to_owned(), target.to_owned());
    }

    /// The number of the condition that a name stands for.
    pub fn condition(&mut self, name: &str) -> u32 {
        let target = self.aliases.get(name).map_or(name, String::as_str);
        self.conditions.number(target)
    }

    /// The number of a barrier that `task` with its `instances` names at `at`. The flag is true if
    /// that task has named it before.
    pub fn barrier(&mut self, name: &str, task: usize, instances: u32, at: usize) -> (u32, bool) {
        let number = self.barrier_names.number(name);
        let Some(barrier) = self.barriers.get_mut(number as usize) else {
            self.barriers.push(Barrier {
                name: name.to_owned(),
                parties: instances,
                last_task: task,
                at,
            });
            return (number, false);
        };
        let again = barrier.last_task == task;
        if !again {
            barrier.parties = barrier.parties.saturating_add(instances);
            barrier.last_task = task;
        }
        (number, again)
    }
}
