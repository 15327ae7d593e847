//! The runtimes' timers.

use crate::runtimes::{Liten, Runtime, Smol, Tokio};
use std::future::Future;
use std::time::{Duration, Instant};

pub(crate) trait Clock: Runtime {
    fn sleep_until(deadline: Instant) -> impl Future<Output = ()> + Send + 'static;

    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static;
}

impl Clock for Liten {
    fn sleep_until(deadline: Instant) -> impl Future<Output = ()> + Send + 'static {
        liten::time::sleep_until(deadline.into())
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        liten::time::sleep(duration)
    }
}

impl Clock for Tokio {
    fn sleep_until(deadline: Instant) -> impl Future<Output = ()> + Send + 'static {
        tokio::time::sleep_until(deadline.into())
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        tokio::time::sleep(duration)
    }
}

impl Clock for Smol {
    fn sleep_until(deadline: Instant) -> impl Future<Output = ()> + Send + 'static {
        until(smol::Timer::at(deadline))
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        until(smol::Timer::after(duration))
    }
}

async fn until(timer: smol::Timer) {
    timer.await;
}
