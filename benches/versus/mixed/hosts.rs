//! What the mixed load needs of a runtime beside sockets and a yield.

use crate::runtimes::{Liten, Smol, Spawner, Tokio};
use crate::sockets::Sockets;
use crate::yields::Yield;
use std::future::Future;

pub(crate) trait Host: Sockets + Yield {
    /// The beginning of the names of all its threads; `None` if they have none of their own.
    const THREADS: Option<&'static str>;

    /// Runs what keeps a thread busy for long, in the way the runtime has for it.
    fn in_place<T: Send + 'static>(
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// Runs what keeps a thread busy for long on a thread that is there for that.
    fn offload<T: Send + 'static>(
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// Spawns what may wait, in the way the runtime has for it, and waits for its end.
    fn spawn_bulk<T: Send + 'static>(
        spawner: Self::Spawner,
        work: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        spawner.spawn(work)
    }
}

impl Host for Liten {
    const THREADS: Option<&'static str> = Some("liten-");

    async fn in_place<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        liten::task::block_in_place(work)
    }

    async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        liten::task::spawn_blocking(work).await.expect("it does not panic")
    }

    async fn spawn_bulk<T: Send + 'static>(
        _: Self::Spawner,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        liten::task::spawn_bulk(work).await.expect("it does not panic")
    }
}

impl Host for Tokio {
    const THREADS: Option<&'static str> = Some("tokio-");

    async fn in_place<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        tokio::task::block_in_place(work)
    }

    async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        tokio::task::spawn_blocking(work).await.expect("it does not panic")
    }
}

impl Host for Smol {
    const THREADS: Option<&'static str> = None;

    /// Not in place: smol has only its pool of threads for that.
    fn in_place<T: Send + 'static>(
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        Self::offload(work)
    }

    fn offload<T: Send + 'static>(
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        smol::unblock(work)
    }
}
