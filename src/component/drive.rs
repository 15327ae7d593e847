//! The loop of one thread: poll the root, ask the host, wake the tasks whose pollables are ready.
//!
//! The reactor knows nothing of timers and tasks, and this loop does not either: it asks an [`Attendant`]
//! how long the host may block, and tells it after each turn. What is polled as the root may run tasks in
//! turn.
//!
//! A root that is awake does not keep the others from the host: between two of its polls the host is asked
//! without blocking. When nothing is waited for, nothing is asked, as the list must not be empty.

use super::contract::Host;
use super::reactor::Reactor;
use super::root::Root;
use crate::engine::task::budget;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Stands between a root future and its reactor, and knows of deadlines that no pollable stands for.
pub(crate) trait Attendant {
    /// How long the host may block; `None` if nothing is due. Asked while the root is asleep, each time
    /// before the host is; what it wakes then ends the wait.
    fn limit(&self) -> Option<Duration>;

    /// The host has been asked, and the wakers have been called: fires what is due.
    fn after_turn(&self);
}

/// Knows of no deadline: there are no timers but the host's.
struct Unattended;

impl Attendant for Unattended {
    fn limit(&self) -> Option<Duration> {
        None
    }

    fn after_turn(&self) {}
}

/// Polls `future` until it is ready, and turns `reactor` in between.
///
/// # Errors
///
/// If nothing can wake the future any more. The public functions panic then, each at its own caller.
pub(crate) fn drive<H: Host, F: Future>(
    reactor: &Reactor<H>,
    attendant: &dyn Attendant,
    future: F,
) -> Result<F::Output, Deadlock> {
    let root = Root::new(reactor.interrupter().cloned());
    let mut future = pin!(future);
    let mut own = None;
    loop {
        if root.take_woken() {
            let waker = own.get_or_insert_with(|| root.waker());
            let mut cx = Context::from_waker(waker);
            let _budget = budget::full();
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return Ok(output);
            }
        }
        let ready = if root.enter_host() {
            let limit = attendant.limit();
            let ready = if root.is_woken() {
                // The attendant has woken it, or another thread just now: a host without an interrupter would
                // not hear of it.
                reactor.look()
            } else if reactor.is_empty() && limit.is_none() {
                // Only a waker that other code holds can end this.
                own = None;
                if root.is_lost() {
                    return Err(Deadlock);
                }
                reactor.ask(Some(Duration::MAX))
            } else {
                reactor.ask(limit)
            };
            root.leave_host();
            ready
        } else {
            reactor.look()
        };
        reactor.wake(ready);
        attendant.after_turn();
    }
}

impl<H: Host> Reactor<H> {
    /// Runs `future` on this thread until it is ready, and turns this reactor meanwhile.
    ///
    /// As [`block_on`](fn@crate::wasi::block_on), for a reactor that is there already, on whatever host. It
    /// does not become the [current](Reactor::current) one.
    ///
    /// # Panics
    ///
    /// As [`block_on`](fn@crate::wasi::block_on).
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match drive(self, &Unattended, future) {
            Ok(output) => output,
            Err(deadlock) => deadlock.report(),
        }
    }
}

/// The root waits, and nothing can wake it any more.
#[derive(Debug)]
pub(crate) struct Deadlock;

impl Deadlock {
    #[cold]
    #[track_caller]
    pub(crate) fn report(self) -> ! {
        panic!(
            "deadlock: the future in block_on waits, but for no pollable and no timer, and no code holds a \
             waker of it; wait through the reactor that block_on passes to its closure, or wake the future"
        );
    }
}
