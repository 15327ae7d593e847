//! The runtimes' timers.

use crate::runtimes::{Liten, Runtime, Smol, Tokio};
use std::future::Future;
use std::time::Instant;

pub(crate) trait Clock: Runtime {
    fn sleep_until(deadline: Instant) -> impl Future<Output = ()> + Send;
}

impl Clock for Liten {
    fn sleep_until(deadline: Instant) -> impl Future<Output = ()> + Send {
        liten::time::sleep_until(deadline.into())
    }
}

impl Clock for Tokio {
    fn sleep_until(deadline: Instant) -> impl Future<Output = ()> + Send {
        tokio::time::sleep_until(deadline.into())
    }
}

impl Clock for Smol {
    fn sleep_until(deadline: Instant) -> impl Future<Output = ()> + Send {
        let timer = smol::Timer::at(deadline);
        async move {
            timer.await;
        }
    }
}
