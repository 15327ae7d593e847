//! `Source`: the pollable of a resource, for any number of tasks that wait for it.
//!
//! Everything that waits for the host goes this way: an operation is tried; if it would block, its resource
//! is asked for a pollable (`subscribe`), once; the reactor waits for that; the operation is tried again.
//!
//! The traits of futures-io poll, and never say when a task has lost interest. So a source has one waiter in
//! the reactor, whose waker wakes all the tasks that have asked since the last time. A task that has gone
//! costs one needless wake. Nothing is lost with it: an operation takes bytes and returns them in the same
//! poll, and waiting takes none.

use super::{Reactor, Registration, WaitFor};
use crate::engine::sync_shim::Mutex;
use crate::engine::task::budget;
use crate::engine::wakers::{self, Line};
use crate::impls::impl_debug;
use send_wrapper::SendWrapper;
use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use wasip2::io::poll::Pollable;

/// The pollable of one resource.
///
/// A pollable is a child of what it was subscribed to, and the host may trap if the parent goes first. So in
/// each struct a source stands **above** its resource: fields are dropped from top to bottom.
///
/// The reactor stays on its thread, but what waits for it shall go where natively it goes: into the tasks of
/// [`spawn`](crate::spawn()), which have to be `Send`. Hence the wrapper, which panics on another thread.
/// WASI 0.2 has no other thread.
pub(crate) struct Source {
    subscription: SendWrapper<RefCell<Option<Subscription>>>,
    tasks: Arc<Tasks>,
}

struct Subscription {
    waiter: Option<WaitFor>,
    registration: Registration,
    reactor: Reactor,
}

impl Subscription {
    /// Has the reactor wake `tasks` when the pollable is ready.
    fn wait(&mut self, tasks: &Arc<Tasks>) {
        let all = Waker::from(Arc::clone(tasks));
        let mut cx = Context::from_waker(&all);
        // A waiter that has been woken is used up. It leaves no other waiter behind, because its wake has
        // woken all of them.
        let is_waiting =
            self.waiter.as_mut().is_some_and(|waiter| Pin::new(waiter).poll(&mut cx).is_pending());
        if !is_waiting {
            let waiter = self.waiter.insert(self.registration.wait());
            // The first poll only tells the reactor of it.
            let _ = Pin::new(waiter).poll(&mut cx);
        }
    }
}

/// The tasks that wait for a source.
struct Tasks(Mutex<Line>);

impl Source {
    pub(crate) fn new() -> Self {
        let tasks = Arc::new(Tasks(Mutex::new(Line::new())));
        Self { subscription: SendWrapper::new(RefCell::new(None)), tasks }
    }

    /// Runs `operation` until it does not block; in between, the task of `cx` waits for the pollable.
    ///
    /// `operation` must return `WouldBlock` if it could do nothing, and in no other case.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        subscribe: impl FnOnce() -> Pollable,
        operation: impl FnOnce() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        budget::poll_leaf(cx, |cx| match operation() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.wait(cx, subscribe);
                Poll::Pending
            }
            result => Poll::Ready(result),
        })
    }

    /// [`poll_io`](Self::poll_io) as a future.
    pub(crate) async fn io<R>(
        &self,
        subscribe: impl Fn() -> Pollable,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        poll_fn(|cx| self.poll_io(cx, &subscribe, &mut operation)).await
    }

    /// Ready if the pollable is.
    pub(crate) fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        subscribe: impl FnOnce() -> Pollable,
    ) -> Poll<()> {
        let is_ready = self.with_subscription(subscribe, |subscription| {
            let is_ready = subscription.registration.is_ready();
            if !is_ready {
                subscription.wait(&self.tasks);
            }
            is_ready
        });
        if is_ready {
            return budget::poll_proceed(cx);
        }
        self.tasks.join(cx.waker());
        Poll::Pending
    }

    /// Has the task of `cx` woken when the pollable is ready.
    ///
    /// Readiness is a level: a pollable that became ready after the operation was tried still is when the
    /// reactor asks.
    fn wait(&self, cx: &mut Context<'_>, subscribe: impl FnOnce() -> Pollable) {
        self.with_subscription(subscribe, |subscription| subscription.wait(&self.tasks));
        self.tasks.join(cx.waker());
    }

    /// Runs `f` with the pollable, registered with the reactor that is turning now.
    fn with_subscription<R>(
        &self,
        subscribe: impl FnOnce() -> Pollable,
        f: impl FnOnce(&mut Subscription) -> R,
    ) -> R {
        let reactor = Reactor::current();
        let mut slot = self.subscription.borrow_mut();
        let is_here = |kept: &Subscription| Rc::ptr_eq(&kept.reactor.inner, &reactor.inner);
        let elsewhere = slot.take_if(|kept| !is_here(kept));
        let subscription = slot.get_or_insert_with(|| Subscription {
            waiter: None,
            registration: reactor.register(subscribe()),
            reactor: reactor.clone(),
        });
        let result = f(subscription);
        drop(slot);
        if elsewhere.is_some() {
            // The resource has outlived its reactor, or is used in two runtimes by turns: a future that
            // waits in the other one tries again there.
            drop(elsewhere);
            self.wake();
        }
        result
    }

    /// Gives the pollable back to the host, because its resource is about to go.
    ///
    /// It wakes no task that waits for it; [`wake`](Self::wake) does.
    pub(crate) fn unsubscribe(&self) {
        let subscription = self.subscription.replace(None);
        drop(subscription);
    }

    /// Makes all waiting tasks try again.
    pub(crate) fn wake(&self) {
        self.tasks.wake_all();
    }
}

impl_debug!([] Source, "Source");

impl Tasks {
    fn join(&self, waker: &Waker) {
        if self.0.lock().holds(waker) {
            return;
        }
        // Outside the lock: it may come back here.
        let clone = waker.clone();
        let swept = self.0.lock().join(clone);
        if let Some(line) = swept {
            line.wake();
        }
    }

    fn wake_all(&self) {
        let mut tasks = Vec::new();
        let line = self.0.lock().take(&mut tasks);
        line.into_iter().for_each(|mut line| line.move_into(&mut tasks));
        wakers::wake_all(&mut tasks);
    }
}

impl Wake for Tasks {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}
