//! A runtime for WASI 0.2 components: one thread, no tasks unless asked for, and everything waits for
//! pollables.
//!
//! On `wasm32-wasip2` this is what the rest of the crate stands on. Elsewhere it is the feature `wasi`, on
//! a host made of a condition variable, so that code for components can be run and tested as an ordinary
//! program.
//!
//! ```
//! use liten::wasi::{Host, block_on};
//! use std::time::Duration;
//!
//! block_on(|reactor| async move {
//!     reactor.wait_for(reactor.host().clock(Duration::from_millis(1))).await;
//! });
//! ```
//!
//! # The parts
//!
//! Each is useful without those above it.
//!
//! | part | what it does |
//! |---|---|
//! | [`Host`] | four functions: is it ready, block, make a clock, get me out of there |
//! | [`Poller`] | pollables under keys; positions become keys |
//! | [`Reactor`] | futures that wait for pollables; wakes those that are ready |
//! | [`block_on`](fn@block_on) | polls one future, and turns the reactor while it waits |
//!
//! There is no spawn here. Joins, races and groups of any crate give as much concurrency as is wanted, by
//! futures that borrow; for tasks there is `liten::task`.
//!
//! Readiness, not completion: interest is in one operation, for one wait, and never in a file descriptor. A
//! completion-based system (WASI 0.3) would be another [`Host::Pollable`], one per operation under way, and
//! leave the rest as it is.

#[cfg(not(target_family = "wasm"))]
use crate::component;
#[cfg(not(target_family = "wasm"))]
use std::future::Future;

#[cfg(target_family = "wasm")]
pub use crate::component::WasiHost;
#[cfg(not(target_family = "wasm"))]
pub use crate::component::{Event, NativeHost, NativePollable};
pub use crate::component::{EventKey, Host, Poller, Reactor, Registration, SystemHost, WaitFor};
#[cfg(target_family = "wasm")]
pub use crate::runtime::block_on::block_on_with as block_on;

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
    let _entered = component::enter(reactor.clone());
    reactor.block_on(make(reactor.clone()))
}
