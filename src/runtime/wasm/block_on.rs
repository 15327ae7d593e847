//! A runtime for one future.

use super::door::boxed_if_large;
use super::local_runtime::{LocalRuntime, refuse_in_task};
use crate::component::Reactor;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs `future` in a runtime that exists for this call; returns its output.
///
/// The future may borrow and need not be `Send`. Tasks that are left when it is done are dropped.
/// [`wasi::block_on`](crate::wasi::block_on) does the same for a future that wants the reactor.
///
/// # Panics
///
/// If called inside a task or another `block_on`, if `future` panics, or if it waits although nothing can
/// wake it any more.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    refuse_in_task("block_on");
    boxed_if_large!(root future: F => LocalRuntime::on(Reactor::new()).run(|_| future))
}

/// Returns the output of `future`, which must be ready at once: no other thread could make it ready.
///
/// For the blocking halves of channels and locks, which `what` names. No runtime is needed.
///
/// # Panics
///
/// At the caller, inside a task or a root. If the future is not ready.
#[track_caller]
pub(crate) fn wait_outside<F: Future>(what: &str, future: F) -> F::Output {
    refuse_in_task(what);
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!(
            "{what} would wait for ever: there is no other thread that could end the wait; use .await"
        ),
    }
}

/// Runs the future that `make` returns, and the tasks that are spawned meanwhile, on this thread; returns the
/// future's output.
///
/// The future may borrow from the caller and need not be `Send`. [`spawn`](crate::spawn),
/// [`spawn_local`](crate::task::spawn_local), timers and sockets belong to this call; tasks that are left
/// when the future is done are dropped. While it waits, the thread blocks in the host, until a timer is due
/// at the latest.
///
/// Inside another `block_on` both share a reactor: what the outer one waits for is woken meanwhile, and
/// polled once the inner one is done, as are its tasks. Timers belong to the one in which they were made and
/// fire in no other.
///
/// # Panics
///
/// If `make` or the future panics; and if the future waits although nothing can wake it any more, which would
/// be a deadlock: no pollable is waited for and no timer is left. A socket that a task has waited for counts
/// as waited for until it is ready or dropped.
#[track_caller]
pub fn block_on_with<F, Fut>(make: F) -> Fut::Output
where
    F: FnOnce(Reactor) -> Fut,
    Fut: Future,
{
    LocalRuntime::on(Reactor::try_current().unwrap_or_default()).run(make)
}
