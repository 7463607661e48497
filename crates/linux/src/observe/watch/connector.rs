//! The proc connector: the kernel's own news of forks, execs and exits, by netlink, of the whole
//! machine. No switches.
//!
//! Layouts: `include/uapi/linux/cn_proc.h`, `connector.h`, `netlink.h`. Numbers are those of the
//! first pid namespace, and only there is anything told.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use evenkeel_machine::Nanos;
use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind,
        netlink::{CONNECTOR, SocketAddrNetlink},
        recv, send, socket_with, sockopt,
    },
};

use super::{
    Tid, WatchError,
    record::{Record, What},
};

/// `CN_IDX_PROC`, `CN_VAL_PROC`.
const IDX_PROC: u32 = 1;
const VAL_PROC: u32 = 1;
/// `PROC_CN_MCAST_LISTEN`.
const LISTEN: u32 = 1;
/// `NLMSG_DONE`.
const NLMSG_DONE: u16 = 3;

/// `PROC_EVENT_*`.
const NONE: u32 = 0;
const FORK: u32 = 1;
const EXEC: u32 = 2;
const EXIT: u32 = 0x8000_0000;

/// Where an event begins in a message: after `nlmsghdr` and `cn_msg`.
const HEADERS: usize = 16 + 20;

/// Bytes of messages that may wait for us: some 10,000 with what the kernel keeps with each.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
/// The kernel answers the request to listen at once, unless it is not to be listened to from here.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);

/// A socket that the kernel sends its news to.
#[derive(Debug)]
pub struct Connector {
    socket: OwnedFd,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A message's event, or `None` if it says nothing to us. The outer is `None` if it is no message
/// of the connector.
fn decode(message: &[u8]) -> Option<Result<Record, u32>> {
    if word(message, 16)? != IDX_PROC {
        return None;
    }
    let event = message.get(HEADERS..)?;
    let kind = word(event, 0)?;
    let at = Nanos(u64::from_ne_bytes(event.get(8..16)?.try_into().ok()?));
    let tid = |place: usize| Some(Tid(i32::try_from(word(event, 16 + place * 4)?).ok()?));
    let what = match kind {
        FORK => {
            let (parent, parent_process, tid, process) = (tid(0)?, tid(1)?, tid(2)?, tid(3)?);
            // A thread is told to be its process's parent's child.
            if tid == process {
                What::Fork { tid, process, parent: Some(parent), parent_process }
            } else {
                What::Fork { tid, process, parent: None, parent_process: process }
            }
        }
        EXEC => What::Exec { process: tid(1)? },
        EXIT => What::Exit { tid: tid(0)? },
        other => return Some(Err(other)),
    };
    Some(Ok(Record { at, what }))
}

impl Connector {
    /// Begins to listen.
    ///
    /// # Errors
    /// If that is not allowed (before Linux 6.6 it takes `CAP_NET_ADMIN`), or the kernel does not
    /// answer: in a pid or user namespace it does not.
    pub fn open() -> Result<Self, WatchError> {
        let fail = |source: Errno| match source {
            Errno::PERM | Errno::ACCESS => {
                WatchError::Cannot("the proc connector: not allowed without CAP_NET_ADMIN")
            }
            other => WatchError::Open { what: "the proc connector", source: other.into() },
        };
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            Some(CONNECTOR),
        )
        .map_err(fail)?;
        // More room is better, and what there is does too.
        if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER_BYTES).is_err() {
            let _ = sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_BYTES);
        }
        bind(&socket, &SocketAddrNetlink::new(0, IDX_PROC)).map_err(fail)?;
        let this = Self { socket };
        this.listen().map_err(fail)?;
        Ok(this)
    }

    fn listen(&self) -> Result<(), Errno> {
        let operation = LISTEN.to_ne_bytes();
        let mut message = Vec::with_capacity(HEADERS + operation.len());
        let length = u32::try_from(HEADERS + operation.len()).unwrap_or(0);
        message.extend(length.to_ne_bytes());
        message.extend(NLMSG_DONE.to_ne_bytes());
        message.extend([0; 2 + 4 + 4]);
        for word in [IDX_PROC, VAL_PROC, 0, 0] {
            message.extend(word.to_ne_bytes());
        }
        message.extend(u16::try_from(operation.len()).unwrap_or(0).to_ne_bytes());
        message.extend([0; 2]);
        message.extend(operation);
        send(&self.socket, &message, SendFlags::empty())?;
        // The answer is an event of kind "none", with an error number or 0. What comes before it
        // was not asked for by us.
        let begun = Instant::now();
        let mut bytes = [0; 256];
        loop {
            match recv(&self.socket, &mut bytes[..], RecvFlags::empty()) {
                Ok((length, _)) => {
                    if let Some(Err(NONE)) = decode(&bytes[..length]) {
                        return match word(&bytes, HEADERS + 16) {
                            Some(0) => Ok(()),
                            Some(error) => Err(Errno::from_raw_os_error(
                                i32::try_from(error).unwrap_or(libc::EIO),
                            )),
                            None => Err(Errno::IO),
                        };
                    }
                }
                // Only where nothing is left to be read: we may have been stopped for that long,
                // with the answer waiting for us.
                Err(Errno::AGAIN) if begun.elapsed() >= ANSWER_TIMEOUT => {
                    return Err(Errno::TIMEDOUT);
                }
                Err(Errno::AGAIN) => std::thread::sleep(Duration::from_millis(1)),
                Err(Errno::NOBUFS) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What has been told since, in the order in which the kernel told it.
    pub fn drain(&mut self, mut each: impl FnMut(Record), now: Nanos) {
        let mut bytes = [0; 256];
        loop {
            match recv(&self.socket, &mut bytes[..], RecvFlags::empty()) {
                Ok((length, _)) => {
                    if let Some(Ok(record)) = decode(&bytes[..length]) {
                        each(record);
                    }
                }
                // Messages were dropped, at least one.
                Err(Errno::NOBUFS) => each(Record { at: now, what: What::Lost(1) }),
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

impl AsFd for Connector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u32, at: u64, data: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; HEADERS];
        bytes[16..20].copy_from_slice(&IDX_PROC.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(0u32.to_ne_bytes());
        bytes.extend(at.to_ne_bytes());
        bytes.extend(data.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_new_thread_belongs_to_its_process_and_a_new_process_to_its_parent() {
        let what = |bytes: &[u8]| decode(bytes).unwrap().map(|record| record.what);
        let process = What::Fork {
            tid: Tid(9),
            process: Tid(9),
            parent: Some(Tid(3)),
            parent_process: Tid(2),
        };
        assert_eq!(what(&message(FORK, 1, &[3, 2, 9, 9])), Ok(process));
        // The kernel names the shell that began the program as the parent of its thread.
        let thread =
            What::Fork { tid: Tid(10), process: Tid(9), parent: None, parent_process: Tid(9) };
        assert_eq!(what(&message(FORK, 1, &[2, 2, 10, 9])), Ok(thread));
    }

    proptest::proptest! {
        #[test]
        fn no_message_makes_it_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
