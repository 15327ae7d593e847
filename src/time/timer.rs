//! The timer under `Sleep` and `Timeout`, and to which runtime it belongs.

use super::{Duration, Instant};
use crate::engine::driver::timers::{Closed, Shard, TimerEntry};
use crate::runtime::{context, tokio_words};
use std::panic::Location;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A timer of the runtime in which it was made. One that was made outside belongs to the runtime in which
/// it is first polled: a future that is put together before the runtime is there then works.
pub(super) enum Timer {
    Bound(TimerEntry),
    Unbound { deadline: Instant, made_at: &'static Location<'static> },
}

impl Timer {
    /// A timer that is not registered yet: costs no lock.
    ///
    /// Inlined, as all that returns it, so that it is made where it stays. Where it is made and then moved,
    /// the move waits for what was just written: 3 ns of the 55 that a timer takes which is polled once.
    #[inline]
    #[track_caller]
    pub(super) fn new(deadline: Instant) -> Self {
        match current_shard() {
            Some(shard) => Self::Bound(TimerEntry::new(shard, deadline.into_std())),
            None => Self::Unbound { deadline, made_at: Location::caller() },
        }
    }

    /// A timer that is due when `delay` has passed from now on.
    #[inline]
    #[track_caller]
    pub(super) fn after(delay: Duration) -> Self {
        Self::new(super::after(Instant::now(), delay))
    }

    pub(super) fn deadline(&self) -> Instant {
        match self {
            Self::Bound(entry) => Instant::from_std(entry.deadline()),
            Self::Unbound { deadline, .. } => *deadline,
        }
    }

    /// The time on the clock that the deadline is compared with.
    pub(super) fn now(&self) -> Instant {
        match self {
            Self::Bound(entry) => Instant::from_std(entry.now()),
            Self::Unbound { .. } => Instant::now(),
        }
    }

    /// Sets another deadline; see [`TimerEntry::reset`].
    pub(super) fn reset(&mut self, new: Instant) {
        match self {
            Self::Bound(entry) => entry.reset(new.into_std()),
            Self::Unbound { deadline, .. } => *deadline = new,
        }
    }

    /// See [`TimerEntry::poll`]; under the name `tokio` [`TimerEntry::poll_delayed`].
    ///
    /// # Panics
    ///
    /// If the runtime has been shut down and the deadline has not passed; and if it was made outside a
    /// runtime and is first polled outside a runtime too.
    #[inline(always)]
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match self {
                Self::Bound(entry) => {
                    let poll = match tokio_words::TIMER_TICK {
                        Some(delay) => entry.poll_delayed(cx, delay),
                        None => entry.poll(cx),
                    };
                    if let Poll::Ready(Err(Closed)) = poll {
                        tokio_words::timer_ended();
                    }
                    return poll.map(drop);
                }
                Self::Unbound { deadline, made_at } => {
                    *self = Self::Bound(TimerEntry::new(shard_here(made_at), deadline.into_std()));
                }
            }
        }
    }
}

/// The timers of this thread in the current runtime, if it is in one.
fn current_shard() -> Option<Arc<Shard>> {
    context::try_with_driver(|driver, shard| driver.timers().shard(shard).clone())
}

/// As [`current_shard`], for a timer that needs one.
#[cold]
fn shard_here(made_at: &'static Location<'static>) -> Arc<Shard> {
    context::with_driver_for(made_at, |driver, shard| driver.timers().shard(shard).clone())
}
