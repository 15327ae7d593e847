//! Running a future to its end on the calling thread.

use super::current;
use super::drive::{Alone, drive};
use super::host::Host;
use super::reactor::Reactor;
use std::future::Future;

/// Runs the future that `make` returns, on this thread, and returns its output.
///
/// The future may borrow from the caller and need not be `Send`. While it waits, the thread blocks in the
/// host; between two polls of a future that keeps waking itself, the host is asked without blocking.
///
/// Inside another `block_on` of the same thread both share a reactor: what the outer one waits for is woken
/// meanwhile, and polled once the inner one is done.
///
/// # Panics
///
/// If `make` or the future panics; and if the future waits although nothing can wake it any more, which
/// would be a deadlock: no pollable is waited for, and, where there are threads, no clone of its waker is
/// alive.
///
/// # Examples
///
/// ```
/// use liten::wasi::{Host, block_on};
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let name = String::from("borrowed");
/// let length = block_on(|reactor| async move {
///     reactor.wait_for(reactor.host().clock(Duration::from_millis(5))).await;
///     name.len()
/// });
/// assert_eq!(length, 8);
/// assert!(start.elapsed() >= Duration::from_millis(5));
/// ```
// On wasm it is `runtime`'s, with tasks and timers.
#[cfg(not(target_family = "wasm"))]
#[track_caller]
pub fn block_on<F, Fut>(make: F) -> Fut::Output
where
    F: FnOnce(Reactor) -> Fut,
    Fut: Future,
{
    let reactor = Reactor::try_current().unwrap_or_default();
    let _entered = current::enter(reactor.clone());
    match drive(&reactor, &Alone, make(reactor.clone())) {
        Ok(output) => output,
        Err(deadlock) => deadlock.report(),
    }
}

impl<H: Host> Reactor<H> {
    /// Runs `future` on this thread until it is ready, and turns this reactor meanwhile.
    ///
    /// As [`block_on`](fn@super::block_on), for a reactor that is there already, on whatever host. It does
    /// not become the [current](Reactor::current) one.
    ///
    /// # Panics
    ///
    /// As [`block_on`](fn@super::block_on).
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match drive(self, &Alone, future) {
            Ok(output) => output,
            Err(deadlock) => deadlock.report(),
        }
    }
}
