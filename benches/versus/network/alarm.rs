//! Waits for sockets until a moment that is known to the microsecond: the poller itself rounds its
//! timeouts up to whole milliseconds.

pub(crate) use system::Alarm;

#[cfg(target_os = "linux")]
mod system {
    use mio::unix::SourceFd;
    use mio::{Events, Interest, Poll, Token};
    use nix::sys::time::{TimeSpec, TimeValLike};
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};
    use std::time::Instant;

    /// A timerfd among the poller's sources.
    pub(crate) struct Alarm {
        timer: TimerFd,
        set: Option<Instant>,
    }

    impl Alarm {
        pub(crate) fn new(poll: &Poll, token: Token) -> io::Result<Self> {
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
            let descriptor = timer.as_fd().as_raw_fd();
            poll.registry().register(&mut SourceFd(&descriptor), token, Interest::READABLE)?;
            Ok(Self { timer, set: None })
        }

        /// Waits for events, but no longer than until this moment.
        pub(crate) fn wait(
            &mut self,
            poll: &mut Poll,
            events: &mut Events,
            until: Instant,
        ) -> io::Result<()> {
            if self.set != Some(until) {
                let left = until.saturating_duration_since(Instant::now()).as_nanos();
                // Zero would switch the timer off.
                let left = i64::try_from(left).unwrap_or(i64::MAX).max(1);
                let expiration = Expiration::OneShot(TimeSpec::nanoseconds(left));
                self.timer.set(expiration, TimerSetTimeFlags::empty())?;
                self.set = Some(until);
            }
            poll.poll(events, None)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use mio::{Events, Poll, Token};
    use std::io;
    use std::time::Instant;

    /// The poller's timeout, as exact as the system makes it.
    pub(crate) struct Alarm;

    impl Alarm {
        pub(crate) fn new(_: &Poll, _: Token) -> io::Result<Self> {
            Ok(Self)
        }

        /// Waits for events, but no longer than until this moment.
        pub(crate) fn wait(
            &mut self,
            poll: &mut Poll,
            events: &mut Events,
            until: Instant,
        ) -> io::Result<()> {
            poll.poll(events, Some(until.saturating_duration_since(Instant::now())))
        }
    }
}
