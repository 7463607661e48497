//! Turns what a whole system did into facts about one program.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_machine::Nanos;

use super::facts::{Cpu, Fact, Tid, What};

/// An event of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When.
    pub at: Nanos,
    /// What.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A CPU took up another thread.
    Switch {
        /// Which.
        cpu: Cpu,
        /// The thread that left; number 0 is the idle thread.
        from: Tid,
        /// True if it could have gone on.
        preempted: bool,
        /// The thread that came.
        to: Tid,
    },
    /// A thread was woken.
    Waking {
        /// Which.
        tid: Tid,
        /// By which; none: from within an interrupt.
        by: Option<Tid>,
    },
    /// A thread was forked, or existed already (then it is its own parent or has none).
    Fork {
        /// Which.
        tid: Tid,
        /// Its process.
        process: Tid,
        /// The thread that forked it.
        parent: Option<Tid>,
    },
    /// A thread got a name.
    Name {
        /// Which.
        tid: Tid,
        /// Its process.
        process: Tid,
        /// The name.
        name: String,
        /// True if it has the name because it began another program.
        exec: bool,
    },
    /// A thread is ending.
    Exit {
        /// Which.
        tid: Tid,
    },
}

/// Which threads a program is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The command that `perf` started, and what it forks.
    Command,
    /// The threads with this name, from when they have it, and what they fork.
    Name(String),
    /// The threads of this process, and what they fork.
    Process(Tid),
    /// This process, from when it begins another program, and what it forks.
    Program(Tid),
}

/// The name that a thread of `perf` has between its fork and the start of the command.
const BEFORE_COMMAND: &str = "perf-exec";

/// Follows one program in the events of a system.
#[derive(Debug)]
pub struct Follower {
    selection: Selection,
    /// Threads that are followed, and since when each could have had a core.
    ours: BTreeMap<Tid, Nanos>,
    /// Those of them that are ending.
    ending: BTreeSet<Tid>,
    /// Threads that will begin the command.
    about_to: BTreeSet<Tid>,
    names: BTreeMap<Tid, String>,
    /// The thread on each CPU, and since when, as far as switches were seen.
    on_cpu: BTreeMap<Cpu, (Tid, Nanos)>,
    /// The name of the first thread that was followed, as it was last.
    first: Option<(Tid, String)>,
}

impl Follower {
    /// A follower that has seen no event.
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            ours: BTreeMap::new(),
            ending: BTreeSet::new(),
            about_to: BTreeSet::new(),
            names: BTreeMap::new(),
            on_cpu: BTreeMap::new(),
            first: None,
        }
    }

    /// The program's name: that of its first thread. `None`: nothing of it was seen.
    pub fn name(&self) -> Option<&str> {
        self.first.as_ref().map(|(_, name)| name.as_str())
    }

    /// How many threads it follows now: begun, and not ended.
    pub fn living(&self) -> usize {
        self.ours.len()
    }

    /// Adds to `facts` what this event says of the program. Events must come in the order of their
    /// times. Facts come in that order, too, except that a core taken unseen is reported late: sort
    /// them by time.
    pub fn take(&mut self, seen: Seen, facts: &mut Vec<Fact>) {
        let at = seen.at;
        match seen.event {
            Event::Switch { cpu, from, preempted, to } => {
                self.switch(at, cpu, from, preempted, to, facts)
            }
            Event::Waking { tid, by } => {
                if let Some(ready) = self.ours.get_mut(&tid) {
                    *ready = at;
                    let by = by.filter(|by| self.ours.contains_key(by));
                    facts.push(Fact { at, tid, what: What::Woke(by) });
                }
            }
            Event::Fork { tid, process, parent } => {
                let parent = parent.filter(|parent| self.ours.contains_key(parent));
                if let Some(name) = parent.and_then(|parent| self.names.get(&parent)) {
                    self.names.insert(tid, name.clone());
                }
                if parent.is_some() || self.selection == Selection::Process(process) {
                    self.follow(at, tid, process, parent, facts);
                }
            }
            Event::Name { tid, process, name, exec } => {
                self.named(at, tid, process, &name, exec, facts)
            }
            Event::Exit { tid } => {
                self.about_to.remove(&tid);
                // Its switch off the core comes later, and it may wake threads that wait for it.
                if self.ours.contains_key(&tid) && self.ending.insert(tid) {
                    facts.push(Fact { at, tid, what: What::Exited });
                }
            }
        }
    }

    fn switch(
        &mut self,
        at: Nanos,
        cpu: Cpu,
        from: Tid,
        preempted: bool,
        to: Tid,
        facts: &mut Vec<Fact>,
    ) {
        let before = self.on_cpu.insert(cpu, (to, at));
        if let Some((unseen, since)) = before.filter(|before| before.0 != from) {
            // A switch was missed. The thread that was on this CPU has left it, and the one that
            // leaves now got the CPU as soon as it could.
            if self.ours.contains_key(&unseen) {
                let goes_on = !self.ending.contains(&unseen);
                self.leave(at, unseen, cpu, goes_on, facts);
            }
            if let Some(ready) = self.ours.get(&from) {
                facts.push(Fact { at: since.max(*ready), tid: from, what: What::Took(cpu) });
            }
        }
        self.leave(at, from, cpu, preempted, facts);
        if self.ours.contains_key(&to) {
            facts.push(Fact { at, tid: to, what: What::Took(cpu) });
        }
    }

    fn leave(&mut self, at: Nanos, tid: Tid, cpu: Cpu, preempted: bool, facts: &mut Vec<Fact>) {
        let Some(ready) = self.ours.get_mut(&tid) else { return };
        *ready = at;
        facts.push(Fact { at, tid, what: What::Left { cpu, preempted } });
        if !preempted && self.ending.remove(&tid) {
            self.ours.remove(&tid);
        }
    }

    fn named(
        &mut self,
        at: Nanos,
        tid: Tid,
        process: Tid,
        name: &str,
        exec: bool,
        facts: &mut Vec<Fact>,
    ) {
        self.names.insert(tid, name.to_owned());
        if name == BEFORE_COMMAND {
            self.about_to.insert(tid);
            return;
        }
        let begins = match &self.selection {
            Selection::Command => exec && self.about_to.remove(&tid),
            Selection::Name(wanted) => name == wanted,
            Selection::Process(wanted) => process == *wanted,
            Selection::Program(wanted) => exec && tid == *wanted,
        };
        if begins && !self.ours.contains_key(&tid) {
            self.follow(at, tid, process, None, facts);
        } else if self.ours.contains_key(&tid) {
            facts.push(Fact { at, tid, what: What::Named(name.to_owned()) });
            if let Some((first, shown)) = &mut self.first
                && *first == tid
            {
                name.clone_into(shown);
            }
        }
    }

    /// Follows a thread from now on.
    pub fn follow(
        &mut self,
        at: Nanos,
        tid: Tid,
        process: Tid,
        parent: Option<Tid>,
        facts: &mut Vec<Fact>,
    ) {
        // Numbers are used again, and the end of the last thread with this number may have been
        // missed.
        if !self.ending.remove(&tid) && self.ours.contains_key(&tid) {
            return;
        }
        self.ours.insert(tid, at);
        facts.push(Fact { at, tid, what: What::Began { parent, process } });
        let name = self.names.get(&tid).cloned();
        if self.first.is_none() {
            self.first =
                Some((tid, name.clone().unwrap_or_else(|| format!("process {}", process.0))));
        }
        if let Some(name) = name {
            facts.push(Fact { at, tid, what: What::Named(name) });
        }
        if let Some((&cpu, _)) = self.on_cpu.iter().find(|(_, on)| on.0 == tid) {
            facts.push(Fact { at, tid, what: What::Took(cpu) });
        }
    }
}
