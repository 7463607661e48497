//! A kernel side that does nothing by itself, for tests: memory of its own, and events that the
//! test writes.

use super::super::shared::Plain;
use super::*;

/// Slots for which events were posted.
pub type Posted = Rc<RefCell<Vec<u32>>>;

struct ByHand(Posted);

impl Program for ByHand {
    fn attach(&mut self) -> Result<(), LoadError> {
        Ok(())
    }

    fn detach(&mut self) {}

    fn counts(&self) -> bool {
        false
    }

    fn changed_slots(&self, into: &mut Vec<u32>) {
        into.append(&mut self.0.borrow_mut());
    }

    fn doorbell(&self) -> BorrowedFd<'_> {
        borrow(0)
    }

    fn run_commands(&self) -> io::Result<()> {
        Ok(())
    }
}

fn memory<T: Plain>(count: usize) -> Shared<T> {
    let file = rustix::fs::memfd_create("evenkeel", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, (count * size_of::<T>()) as u64).unwrap();
    Shared::map(&file, count).unwrap()
}

/// With room for so many threads.
pub fn kernel(slots: usize) -> (KernelSide, Posted) {
    let posted = Posted::default();
    let side = KernelSide {
        program: Box::new(ByHand(Rc::clone(&posted))),
        slots: memory(slots),
        free_slots: memory(slots),
        queues: memory(MAX_QUEUES),
        cpus: memory(MAX_CPUS),
        commands: memory(MAX_COMMANDS),
        globals: memory(1),
        exit_info: memory(1),
    };
    (side, posted)
}
