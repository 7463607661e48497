//! The system calls of perf events, and the memory that the kernel writes records to: the unsafe
//! part, and no more.
//!
//! Layouts and constants: `include/uapi/linux/perf_event.h`.
#![allow(unsafe_code)]

use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr::{self, NonNull},
    sync::atomic::{AtomicU64, Ordering},
};

use super::Attr;

/// `_IO('$', 0)`: enable; `_IO('$', 1)`: disable; `_IO('$', 5)`: send records to another event's
/// ring.
const IOC_ENABLE: u32 = 0x2400;
const IOC_DISABLE: u32 = 0x2401;
const IOC_SET_OUTPUT: u32 = 0x2405;

const FLAG_PID_CGROUP: libc::c_ulong = 1 << 2;
const FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

/// Places in the control page, `struct perf_event_mmap_page`.
const AT_DATA_HEAD: usize = 1024;
const AT_DATA_TAIL: usize = 1032;

/// What an event follows.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// One thread, and what it forks if the event is inherited. 0 is the caller.
    Thread(i32),
    /// Whatever runs on the CPU.
    All,
    /// Whatever runs on the CPU and belongs to the cgroup, whose directory this is.
    Cgroup(&'a File),
}

/// Opens an event. `cpu` is `None` for wherever the thread goes; `group` is the event that this one
/// counts together with.
///
/// # Errors
/// Those of `perf_event_open(2)`: EACCES or EPERM without the privilege, ENOENT where the machine
/// has no such counter, ESRCH if the thread is gone.
pub fn open(
    attr: &Attr,
    target: Target<'_>,
    cpu: Option<u32>,
    group: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    let (pid, flags) = match target {
        Target::Thread(tid) => (tid, FLAG_FD_CLOEXEC),
        Target::All => (-1, FLAG_FD_CLOEXEC),
        Target::Cgroup(directory) => (directory.as_raw_fd(), FLAG_FD_CLOEXEC | FLAG_PID_CGROUP),
    };
    let cpu = cpu.map_or(-1, |cpu| i32::try_from(cpu).unwrap_or(i32::MAX));
    let group = group.map_or(-1, |leader| leader.as_raw_fd());
    // SAFETY: `attr` is a live, initialised `struct perf_event_attr` whose `size` field says how
    // much of it is there; the kernel only reads it. The other arguments are numbers.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, ptr::from_ref(attr), pid, cpu, group, flags)
    };
    match i32::try_from(fd) {
        // SAFETY: the kernel has just made this descriptor for us, and nothing else owns it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn ioctl(event: BorrowedFd<'_>, request: u32, argument: i32) -> io::Result<()> {
    // SAFETY: the requests that this file makes take a number, not a pointer.
    let done = unsafe { libc::ioctl(event.as_raw_fd(), request.into(), argument) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets an event that was opened disabled begin.
///
/// # Errors
/// Those of `ioctl(2)`.
pub fn enable(event: BorrowedFd<'_>) -> io::Result<()> {
    ioctl(event, IOC_ENABLE, 0)
}

/// Has an event count no longer, until it is enabled again.
///
/// # Errors
/// Those of `ioctl(2)`.
pub fn disable(event: BorrowedFd<'_>) -> io::Result<()> {
    ioctl(event, IOC_DISABLE, 0)
}

/// Sends the records of `event` to the ring of `carrier`, which must be of the same CPU and clock.
///
/// # Errors
/// EINVAL if they do not match.
pub fn set_output(event: BorrowedFd<'_>, carrier: &Ring) -> io::Result<()> {
    ioctl(event, IOC_SET_OUTPUT, carrier.event.as_raw_fd())
}

/// The ring of one CPU that the kernel writes records to and we read them from.
///
/// The kernel moves the head, we the tail; what lies between is ours and is not written to until
/// the tail has passed it.
#[derive(Debug)]
pub struct Ring {
    event: OwnedFd,
    page: NonNull<u8>,
    mapped: usize,
    /// Where the data begin: after the control page.
    offset: usize,
    /// Bytes of data: a power of two.
    size: usize,
    head: u64,
    tail: u64,
}

// SAFETY: the mapping belongs to this value alone, is valid in every thread of the process, and is
// only touched through `&mut self`.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `pages` pages of data (a power of two) onto `event`.
    ///
    /// # Errors
    /// EPERM if that is more memory than the user may lock (`perf_event_mlock_kb`, `ulimit -l`,
    /// `CAP_IPC_LOCK`).
    pub fn map(event: OwnedFd, pages: usize) -> io::Result<Self> {
        let page_size = rustix::param::page_size();
        let pages = pages.next_power_of_two();
        let (offset, size) = (page_size, pages * page_size);
        let mapped = offset + size;
        // SAFETY: a new mapping where the kernel likes it, of a descriptor that is open; nothing of
        // ours is replaced.
        let at = unsafe {
            libc::mmap(
                ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let page = NonNull::new(at.cast())
            .ok_or_else(|| io::Error::other("the ring was mapped at address 0"))?;
        Ok(Self { event, page, mapped, offset, size, head: 0, tail: 0 })
    }

    fn shared(&self, at: usize) -> &AtomicU64 {
        // SAFETY: `at` is one of the two constants: inside the control page, aligned to 8, and
        // shared with the kernel, which reads and writes it as one 64-bit word.
        unsafe { &*self.page.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// Sees what the kernel has written by now. Returns the bytes that are there to be read.
    pub fn refresh(&mut self) -> usize {
        self.head = self.shared(AT_DATA_HEAD).load(Ordering::Acquire);
        usize::try_from(self.head - self.tail).unwrap_or(self.size)
    }

    /// Bytes of records that it holds when full.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Copies the next record, header first, into `into`, and steps past it; its length, at most
    /// that of `into` (the rest of a longer record is dropped). `None` when all that
    /// [`Ring::refresh`] saw has been read.
    pub fn next(&mut self, into: &mut [u8]) -> Option<usize> {
        if self.tail == self.head {
            return None;
        }
        let mut header = [0; 8];
        self.copy(&mut header);
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        let there = usize::try_from(self.head - self.tail).unwrap_or(0);
        if size < header.len() || size > there {
            // Not a record: nothing that follows can be trusted to begin where it seems to.
            self.tail = self.head;
            return None;
        }
        let length = size.min(into.len());
        self.copy(&mut into[..length]);
        self.tail += size as u64;
        Some(length)
    }

    /// Copies from the tail on, around the end of the ring.
    fn copy(&self, into: &mut [u8]) {
        let from = usize::try_from(self.tail).unwrap_or(0) & (self.size - 1);
        let first = into.len().min(self.size - from);
        // SAFETY: both parts lie within the data of the mapping (`from` < `size`, `first` ≤ `size`
        // - `from`, and no record is as long as the ring); the kernel does not write between the
        // tail and the head; `into` is ours and elsewhere.
        unsafe {
            let data = self.page.as_ptr().add(self.offset);
            ptr::copy_nonoverlapping(data.add(from), into.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(data, into.as_mut_ptr().add(first), into.len() - first);
        }
    }

    /// Gives the space of what has been read back to the kernel.
    pub fn release(&mut self) {
        self.shared(AT_DATA_TAIL).store(self.tail, Ordering::Release);
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is our mapping, whole, and nothing refers to it any more.
        unsafe { libc::munmap(self.page.as_ptr().cast(), self.mapped) };
    }
}
