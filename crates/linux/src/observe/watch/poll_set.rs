//! What we sleep on: everything that may have news for us, behind one descriptor.
//!
//! Edge-triggered: a perf event whose thread has ended reports "hung up" at every look, and would
//! keep us awake for ever.

use std::{
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use rustix::{event::epoll, io::Errno, time::Timespec};

use super::WatchError;

/// Descriptors to sleep on.
#[derive(Debug)]
pub struct PollSet {
    epoll: OwnedFd,
}

impl PollSet {
    pub fn new() -> Result<Self, WatchError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| WatchError::Open { what: "epoll", source: error.into() })?;
        Ok(Self { epoll })
    }

    pub fn add(&self, source: impl AsFd) -> Result<(), WatchError> {
        epoll::add(
            &self.epoll,
            source,
            epoll::EventData::new_u64(0),
            epoll::EventFlags::IN | epoll::EventFlags::ET,
        )
        .map_err(|error| WatchError::Open { what: "epoll", source: error.into() })
    }

    /// Sleeps until one of them has news, at most this long. True if one has. A signal ends it too.
    pub fn wait(&self, timeout: Duration) -> Result<bool, WatchError> {
        let timeout = timespec(timeout);
        let mut events = [MaybeUninit::uninit(); 16];
        match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Ok((ready, _)) => Ok(!ready.is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(WatchError::Open { what: "waiting for news", source: error.into() }),
        }
    }
}

impl AsFd for PollSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// A clock that says when it is time to look again.
#[derive(Debug)]
pub struct Ticks {
    timer: OwnedFd,
}

impl Ticks {
    pub fn every(interval: Duration) -> Result<Self, WatchError> {
        use rustix::time::{
            Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create,
            timerfd_settime,
        };
        let fail = |error: Errno| WatchError::Open { what: "timerfd", source: error.into() };
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )
        .map_err(fail)?;
        let every = timespec(interval);
        timerfd_settime(
            &timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: every, it_value: every },
        )
        .map_err(fail)?;
        Ok(Self { timer })
    }

    /// True if an interval has ended since this was last asked.
    pub fn take(&self) -> bool {
        rustix::io::read(&self.timer, &mut [0u8; 8]).is_ok()
    }
}

impl AsFd for Ticks {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
