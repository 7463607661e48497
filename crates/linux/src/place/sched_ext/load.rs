//! The kernel side: loaded, mapped, attached.

use std::cell::RefCell;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use evenkeel_machine::Nanos;
use libbpf_rs::{
    Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramInput,
    RingBuffer, RingBufferBuilder, set_print,
};

use super::error::{LoadError, explain};
use super::shared::{
    Command, CpuCtx, ExitInfo, Globals, MAX_COMMANDS, MAX_CPUS, MAX_QUEUES, Queue, Shared, Slot,
    text,
};

#[cfg(test)]
pub mod by_hand;

/// `src/bpf/main.bpf.c`, compiled.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/main.bpf.o"));

/// The scheduler, as the kernel lists it; also the struct_ops map's name.
pub const NAME: &str = "evenkeel";
/// The program that carries out commands.
const RUN_COMMANDS: &str = "evenkeel_run_commands";
/// The program that counts what threads retire, and its map.
const COUNT: &str = "evenkeel_switch";
const COUNTERS: &str = "instructions";

/// Threads that there is room for. Threads beyond this run by the mechanism's defaults.
pub const SLOTS: usize = 1 << 15;

/// Flags of `struct sched_ext_ops`, include/linux/sched/ext.h and kernel/sched/ext.c.
mod flags {
    pub const KEEP_BUILTIN_IDLE: u64 = 1;
    pub const ENQ_LAST: u64 = 1 << 1;
    pub const SWITCH_PARTIAL: u64 = 1 << 3;
    pub const ALLOW_QUEUED_WAKEUP: u64 = 1 << 5;
}

/// What the kernel logged while the program was being loaded.
static LOG: Mutex<String> = Mutex::new(String::new());
/// Bytes of it that are kept.
const MAX_LOG: usize = 1 << 20;

fn collect(_: PrintLevel, message: String) {
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    if log.len() < MAX_LOG {
        log.push_str(&message);
    }
}

/// How the scheduler is to be.
#[derive(Debug, Default)]
pub struct Setup {
    /// A counter of instructions on each of these CPUs, if what threads retire is to be counted.
    pub counters: Option<Vec<(u32, OwnedFd)>>,
    /// Only threads that ask for SCHED_EXT.
    pub partial: bool,
    /// The kernel ends it when a thread that could run has not run for so long. None: as long as
    /// the program says itself.
    pub watchdog: Option<Nanos>,
    /// `/sys/kernel/sched_ext/hotplug_seq` as it was when the CPUs were looked at.
    pub hotplug: u64,
}

/// What the kernel side does when it is asked. Detached when dropped: the kernel's own scheduler
/// goes on.
pub trait Program {
    /// See [`KernelSide::attach`].
    ///
    /// # Errors
    /// The kernel refuses.
    fn attach(&mut self) -> Result<(), LoadError>;
    /// See [`KernelSide::detach`].
    fn detach(&mut self);
    /// See [`KernelSide::counts`].
    fn counts(&self) -> bool;
    /// See [`KernelSide::events`].
    fn changed_slots(&self, into: &mut Vec<u32>);
    /// See [`KernelSide::doorbell`].
    fn doorbell(&self) -> BorrowedFd<'_>;
    /// Carries out the commands that are there.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    fn run_commands(&self) -> io::Result<()>;
}

/// The program of this crate, loaded.
struct Loaded {
    link: Option<Link>,
    /// The program that counts, and its counters.
    counting: Option<(Link, Vec<(u32, OwnedFd)>)>,
    ring: RingBuffer<'static>,
    doorbell: RingBuffer<'static>,
    posted: Rc<RefCell<Vec<u32>>>,
    object: Object,
}

/// The kernel side: what both sides share, and the program.
pub struct KernelSide {
    program: Box<dyn Program>,
    /// Threads, by slot.
    pub slots: Shared<Slot>,
    /// Free slots.
    pub free_slots: Shared<std::sync::atomic::AtomicU64>,
    /// Queues.
    pub queues: Shared<Queue>,
    /// CPUs, by number.
    pub cpus: Shared<CpuCtx>,
    /// Commands.
    pub commands: Shared<Command>,
    globals: Shared<Globals>,
    exit_info: Shared<ExitInfo>,
}

fn open(setup: &Setup) -> Result<OpenObject, libbpf_rs::Error> {
    // Aligned, as the reader of ELF files wants it.
    let program = PROGRAM.to_vec();
    let mut object = ObjectBuilder::default().open_memory(&program)?;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match name.as_str() {
            "slots" | "free_slots" => map.set_max_entries(SLOTS as u32)?,
            NAME => {
                let partial = if setup.partial { flags::SWITCH_PARTIAL } else { 0 };
                let flags = flags::KEEP_BUILTIN_IDLE
                    | flags::ENQ_LAST
                    | flags::ALLOW_QUEUED_WAKEUP
                    | partial;
                // The first three members of kernel.bpf.h's sched_ext_ops.
                if let Some(ops) = map.initial_value_mut().and_then(|value| value.get_mut(..20)) {
                    ops[..8].copy_from_slice(&flags.to_ne_bytes());
                    ops[8..16].copy_from_slice(&setup.hotplug.to_ne_bytes());
                    if let Some(watchdog) = setup.watchdog {
                        ops[16..].copy_from_slice(&((watchdog.0 / 1_000_000) as u32).to_ne_bytes());
                    }
                }
            }
            _ => {}
        }
    }
    if setup.counters.is_none()
        && let Some(mut program) = object.progs_mut().find(|program| program.name() == COUNT)
    {
        program.set_autoload(false);
    }
    Ok(object)
}

impl KernelSide {
    /// Loads the program; nothing is scheduled before [`KernelSide::attach`].
    ///
    /// # Errors
    /// No permission, no such kernel, a kernel that refuses the program.
    pub fn load(setup: Setup) -> Result<Self, LoadError> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let before = set_print(Some((PrintLevel::Info, collect)));
        let object = open(&setup).and_then(OpenObject::load);
        set_print(before);
        let log = || std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner));
        let object = object.map_err(|error| explain(&error, &log()))?;
        let posted = Rc::new(RefCell::new(Vec::new()));
        let heard = Rc::clone(&posted);
        let note = move |bytes: &[u8]| {
            if let Ok(bytes) = bytes.try_into() {
                heard.borrow_mut().push(u32::from_ne_bytes(bytes));
            }
            0
        };
        let ring = open_ring(&object, "events", note)?;
        let doorbell = open_ring(&object, "doorbell", |_: &[u8]| 0)?;
        // Without counting, speedup factors are what capacities, or names of programs, say.
        let counting = setup.counters.and_then(|counters| {
            let map = find(&object, COUNTERS).ok()?;
            for (cpu, event) in &counters {
                map.update(&cpu.to_ne_bytes(), &event.as_raw_fd().to_ne_bytes(), MapFlags::ANY)
                    .ok()?;
            }
            let program = object.progs_mut().find(|program| program.name() == COUNT)?;
            Some((program.attach().ok()?, counters))
        });
        Ok(Self {
            slots: map(&object, "slots", SLOTS)?,
            free_slots: map(&object, "free_slots", SLOTS)?,
            queues: map(&object, "queues", MAX_QUEUES)?,
            cpus: map(&object, "cpus", MAX_CPUS)?,
            commands: map(&object, "commands", MAX_COMMANDS)?,
            globals: map(&object, "globals_map", 1)?,
            exit_info: map(&object, "exit_info_map", 1)?,
            program: Box::new(Loaded { link: None, counting, ring, doorbell, posted, object }),
        })
    }

    /// Begins to schedule.
    ///
    /// # Errors
    /// Another scheduler is there. Where CPUs came or went since [`Setup::hotplug`] was read it
    /// begins, and the kernel ends it at once ([`Ended::is_hotplug`]).
    pub fn attach(&mut self) -> Result<(), LoadError> {
        self.program.attach()
    }

    /// Has the kernel's own scheduler take over.
    pub fn detach(&mut self) {
        self.program.detach();
    }

    /// True if it counts what threads retire.
    pub fn counts(&self) -> bool {
        self.program.counts()
    }

    /// What there is one of for all threads and CPUs.
    pub fn globals(&self) -> &Globals {
        &self.globals[0]
    }

    /// Slots in which something is pending, in order of when it first was.
    pub fn changed_slots(&self, into: &mut Vec<u32>) {
        self.program.changed_slots(into);
    }

    /// Readable when there are events that are worth waking for.
    pub fn doorbell(&self) -> BorrowedFd<'_> {
        self.program.doorbell()
    }

    /// Has the first so many commands carried out.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn run_commands(&self, count: usize) -> io::Result<()> {
        self.globals().command_count.store(count as u32, Relaxed);
        self.program.run_commands()
    }

    /// Why the kernel has ended it, if it has.
    pub fn ended(&self) -> Option<Ended> {
        let info = &self.exit_info[0];
        let kind = info.kind.load(Relaxed);
        (kind != 0).then(|| Ended {
            kind,
            code: info.code.load(Relaxed),
            reason: text(&info.reason),
            message: text(&info.message),
            dump: text(&info.dump),
        })
    }
}

impl Program for Loaded {
    fn attach(&mut self) -> Result<(), LoadError> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let before = set_print(Some((PrintLevel::Info, collect)));
        let mut maps = self.object.maps_mut();
        let attached = maps.find(|map| map.name() == NAME).map(|mut map| map.attach_struct_ops());
        set_print(before);
        let log = || std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner));
        match attached {
            Some(Ok(link)) => {
                self.link = Some(link);
                Ok(())
            }
            Some(Err(error)) => Err(explain(&error, &log())),
            None => Err(LoadError::Other("the program has no scheduler".into())),
        }
    }

    fn detach(&mut self) {
        self.link = None;
    }

    fn counts(&self) -> bool {
        self.counting.is_some()
    }

    fn changed_slots(&self, into: &mut Vec<u32>) {
        self.doorbell.consume_raw();
        self.ring.consume_raw();
        into.append(&mut self.posted.borrow_mut());
    }

    fn doorbell(&self) -> BorrowedFd<'_> {
        borrow(self.doorbell.epoll_fd())
    }

    fn run_commands(&self) -> io::Result<()> {
        let program = self.object.progs_mut().find(|program| program.name() == RUN_COMMANDS);
        let Some(program) = program else { return Err(io::ErrorKind::NotFound.into()) };
        program
            .test_run(ProgramInput::default())
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(())
    }
}

/// Why the kernel has ended a scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// `enum scx_exit_kind`, kernel/sched/ext_internal.h.
    pub kind: u32,
    /// Exit code, for kinds that have one.
    pub code: i64,
    /// In a few info.
    pub reason: String,
    /// In more words, or nothing.
    pub message: String,
    /// The kernel's state then, or nothing.
    pub dump: String,
}

/// `SCX_EXIT_SYSRQ`.
const SYSRQ: u32 = 67;

impl Ended {
    /// True if a user at the machine ended it: by sysrq-S.
    pub fn is_by_hand(&self) -> bool {
        self.kind == SYSRQ
    }

    /// True if CPUs came or went, and the scheduler is to begin anew.
    pub fn is_hotplug(&self) -> bool {
        // SCX_ECODE_ACT_RESTART.
        self.code & (1 << 48) != 0
    }
}

fn find<'a>(object: &'a Object, name: &str) -> Result<libbpf_rs::Map<'a>, LoadError> {
    let found = object.maps().find(|map| map.name() == name);
    found.ok_or_else(|| LoadError::Other(format!("the program has no map {name}")))
}

/// A reader of a ring of the program's.
fn open_ring(
    object: &Object,
    name: &str,
    heard: impl FnMut(&[u8]) -> i32 + 'static,
) -> Result<RingBuffer<'static>, LoadError> {
    let map = find(object, name)?;
    let mut builder = RingBufferBuilder::new();
    let ring = builder.add(&map, heard).and_then(|builder| std::mem::take(builder).build());
    ring.map_err(|error| explain(&error, ""))
}

fn map<T: super::shared::Plain>(
    object: &Object,
    name: &str,
    count: usize,
) -> Result<Shared<T>, LoadError> {
    let map = find(object, name)?;
    if map.value_size() as usize != size_of::<T>() {
        let (there, here) = (map.value_size(), size_of::<T>());
        return Err(LoadError::Other(format!(
            "a value of {name} has {there} bytes in the kernel and {here} here"
        )));
    }
    Shared::map(map.as_fd(), count)
        .map_err(|error| LoadError::Other(format!("cannot map {name}: {error}")))
}

#[allow(unsafe_code)]
fn borrow<'a>(fd: RawFd) -> BorrowedFd<'a> {
    // SAFETY: the ring's, which outlives what `doorbell` returns.
    unsafe { BorrowedFd::borrow_raw(fd) }
}
