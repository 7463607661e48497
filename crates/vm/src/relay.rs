//! Passes on the output of a channel.
//!
//! A port of the guest that is not read blocks the core that writes to it, with interrupts off. So
//! one thread reads all output at once, and another passes it on as fast as the receiver takes it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The most bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// Chunks that may wait: 256 MiB. Beyond that the guest waits.
const WAITING: usize = 4096;

/// Output on its way to a receiver.
pub struct Relay<W> {
    passing: JoinHandle<W>,
    is_refused: Arc<AtomicBool>,
}

impl<W: Write + Send + 'static> Relay<W> {
    /// Starts to pass on from a channel to a receiver.
    pub fn start(mut from: UnixStream, mut to: W) -> Self {
        let (send, receive) = sync_channel::<Vec<u8>>(WAITING);
        thread::spawn(move || {
            let mut chunk = vec![0; CHUNK];
            while let Some(some @ 1..) = read(&mut from, &mut chunk) {
                if send.send(chunk[..some].to_vec()).is_err() {
                    // The receiver has gone. The guest must not wait for that.
                    let _ = io::copy(&mut from, &mut io::sink());
                    return;
                }
            }
        });
        let is_refused = Arc::new(AtomicBool::new(false));
        let refused = Arc::clone(&is_refused);
        let passing = thread::spawn(move || {
            for chunk in receive {
                if to.write_all(&chunk).and_then(|()| to.flush()).is_err() {
                    refused.store(true, Ordering::Relaxed);
                    break;
                }
            }
            to
        });
        Self { passing, is_refused }
    }

    /// True if the receiver no longer takes the output.
    pub fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Waits until the channel is closed and all output passed on; `None` if the thread has
    /// panicked.
    pub fn finish(self) -> Option<W> {
        self.passing.join().ok()
    }
}

/// Output that is kept.
#[derive(Default)]
pub struct Kept {
    bytes: Arc<Mutex<Vec<u8>>>,
    reading: Option<JoinHandle<()>>,
}

/// The most bytes of a log that are kept: the last ones.
const LOG: usize = 4 << 20;

impl Kept {
    /// Starts to keep the output of a channel.
    pub fn start(mut from: UnixStream) -> Self {
        let kept = Arc::default();
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::clone(&kept);
        let reading = thread::spawn(move || {
            let mut chunk = vec![0; CHUNK];
            while let Some(some @ 1..) = read(&mut from, &mut chunk) {
                let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend(&chunk[..some]);
                let over = bytes.len().saturating_sub(LOG);
                bytes.drain(..over);
            }
        });
        Self { bytes: kept, reading: Some(reading) }
    }

    /// All of the output, once the channel is closed.
    pub fn whole(mut self) -> String {
        if let Some(reading) = self.reading.take() {
            // After a panic the output so far is used.
            let _ = reading.join();
        }
        self.text()
    }

    /// The output so far. Bytes that are no text are left out.
    pub fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).replace('\r', "")
    }
}

fn read(from: &mut UnixStream, chunk: &mut [u8]) -> Option<usize> {
    loop {
        match from.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_pass_in_order() {
        let (mut guest, host) = UnixStream::pair().unwrap();
        let relay = Relay::start(host, Vec::new());
        let all: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        guest.write_all(&all).unwrap();
        drop(guest);
        assert!(relay.finish().unwrap() == all, "differs");
    }

    #[test]
    fn a_reader_who_has_gone_does_not_hold_up_the_guest() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (mut guest, host) = UnixStream::pair().unwrap();
        let relay = Relay::start(host, Gone);
        guest.write_all(&vec![1; 8 << 20]).unwrap();
        assert!(relay.is_refused());
        drop(guest);
        relay.finish().unwrap();
    }

    #[test]
    fn of_a_log_what_came_last_is_kept() {
        let (mut guest, host) = UnixStream::pair().unwrap();
        let kept = Kept::start(host);
        guest.write_all(&vec![b'x'; LOG]).unwrap();
        guest.write_all(b"the end\r\n").unwrap();
        drop(guest);
        let text = kept.whole();
        assert!(text.ends_with("the end\n") && text.len() <= LOG);
    }
}
