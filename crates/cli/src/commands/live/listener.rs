//! The socket of a `schedule`, at which `schedule --monitor` asks it for what it has done.
//!
//! A client that connects gets one snapshot as a line of JSON, and the connection is closed. The
//! line fits into the socket's buffer, so the scheduler waits for no reader. The socket is in the
//! folder of the lock, which one process at a time holds, so a socket found there is left over from
//! a process that has ended.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

use super::statistics::Snapshot;

/// The most connections that one call answers.
const AT_ONCE: usize = 16;

/// The socket's path in the folder of sessions' files.
pub fn place(folder: &Path) -> PathBuf {
    folder.join("schedule.sock")
}

/// The socket at which `schedule` answers `schedule --monitor`. Dropping it removes the file.
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Listens, for this user alone. The caller must hold the lock.
    ///
    /// # Errors
    /// The socket cannot be made there.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        let path = place(folder);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // `bind` gives its file the mode that the socket has then. A mode set afterwards would
        // leave a moment in which other users can connect.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        bind(&socket, &SocketAddrUnix::new(&path)?)?;
        listen(&socket, AT_ONCE as i32)?;
        Ok(Self { socket: socket.into(), path })
    }

    /// Answers the clients that have connected since the last call.
    ///
    /// It polls first: `accept` makes a socket and a file before it looks for a client, and this is
    /// called after each look at the threads.
    ///
    /// # Errors
    /// The process can open no more files. The socket would stay readable for ever.
    pub fn answer(&self, snapshot: impl Fn() -> Snapshot) -> io::Result<()> {
        for _ in 0..AT_ONCE {
            let mut socket = [PollFd::new(&self.socket, PollFlags::IN)];
            if poll(&mut socket, Some(&Timespec::default())).is_ok_and(|ready| ready == 0) {
                break;
            }
            let mut reader = match self.socket.accept() {
                Ok((reader, _)) => reader,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            let line = serde_json::to_string(&snapshot())? + "\n";
            // A reader that has gone, or has no room, gets no answer.
            let _ = reader.set_nonblocking(true).and_then(|()| reader.write_all(line.as_bytes()));
        }
        Ok(())
    }
}

impl AsFd for Listener {
    /// Readable when a client has connected.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // The next listener removes a file that is left.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn whoever_connects_gets_a_line_and_no_reader_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let listener = Listener::begin(folder.path()).unwrap();
        let path = place(folder.path());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // One client that never reads, one that has gone, one that reads.
        let _silent = UnixStream::connect(&path).unwrap();
        drop(UnixStream::connect(&path).unwrap());
        let mut reader = UnixStream::connect(&path).unwrap();
        listener.answer(|| Snapshot { threads: 3, ..Snapshot::default() }).unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(serde_json::from_str::<Snapshot>(text.trim_end()).unwrap().threads, 3);
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_one_has_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        drop(UnixListener::bind(place(folder.path())).unwrap());
        let _listener = Listener::begin(folder.path()).unwrap();
        UnixStream::connect(place(folder.path())).unwrap();
    }
}
