//! What each task's future is wrapped in: its span for `tracing`, what ends the runtime when it panics, and
//! the clock for the time that it is ready.

use super::extras::{Extras, Tracking};
use super::random::Seeds;
use super::fate::{Ending, Fate, Member, Spawning};
use super::span::{Spanned, TaskSpan};
use super::task_meta::TaskMeta;
use super::times::Times;
use crate::runtime::Handle;
use liten::task::JoinHandle;
use pin_project_lite::pin_project;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe, Location};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

pin_project! {
    pub(crate) struct Spawned<F> {
        #[pin]
        future: Spanned<F>,
        member: Option<Member>,
        clock: Option<Clock>,
        // Of a runtime whose choices have a seed.
        seeded: Option<Arc<Extras>>,
    }
}

/// The future of a `block_on`.
pub(crate) type Root<F> = Ending<F>;

/// Wraps the future of the `block_on` of a runtime.
pub(crate) fn of_runtime<F>(future: F, handle: &Handle) -> Root<F> {
    Ending::new(future, Extras::rare_of(handle).and_then(|extras| extras.fate()))
}

/// Wraps the future of the `block_on` of a handle. It runs none of the tasks, and goes on if they end.
pub(crate) fn of_handle<F>(future: F, _: &Handle) -> Root<F> {
    Ending::new(future, None)
}

/// The half that the thread has which spawns.
pub(crate) struct Spawn {
    span: TaskSpan,
    spawning: Option<Spawning>,
}

/// Wraps `future`, which is an `Original` or lies in a box. `kind` and `name` are for the span; `extras` is
/// what the runtime or the set has.
pub(crate) fn wrap<Original, F>(
    future: F,
    kind: &'static str,
    name: Option<&str>,
    place: &'static Location<'static>,
    extras: Option<Arc<Extras>>,
) -> (Spawn, Spawned<F>) {
    let span = TaskSpan::new::<Original>(kind, name, place);
    let member = extras.as_ref().and_then(|extras| extras.fate()).map(Fate::begin);
    let spawning = member.as_ref().map(Member::spawning);
    let future = Spanned::new(future, span.clone());
    let seeded = extras.clone().filter(|extras| extras.seeds.is_some());
    let clock = extras.filter(|extras| extras.tracking.is_some());
    let clock = clock.map(|extras| Clock { ready: Some(Instant::now()), woken: None, extras, place });
    (Spawn { span, spawning }, Spawned { future, member, clock, seeded })
}

impl Spawn {
    /// Whether the runtime or the set has ended by a panic.
    pub(crate) fn is_too_late(&self) -> bool {
        self.spawning.as_ref().is_some_and(Spawning::is_too_late)
    }

    /// Returns the handle of a task that was cancelled before it ran. Nothing needs to drive the runtime for
    /// that: the task is one of a set that goes at once.
    pub(crate) fn cancelled<F>(self, future: Spawned<F>) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        liten::task::LocalSet::new().spawn_local(future)
    }

    /// The task is spawned.
    pub(crate) fn done<T>(self, handle: JoinHandle<T>) -> JoinHandle<T> {
        self.span.begin(handle.id());
        if let Some(spawning) = self.spawning {
            spawning.spawned(handle.abort_handle());
        }
        handle
    }
}

impl<F: Future> Future for Spawned<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let _deferring = crate::trace::deferring();
        Extras::polls_here();
        let poll = self.poll_wrapped(cx);
        if poll.is_pending() {
            Extras::polled();
        }
        poll
    }
}

impl<F: Future> Spawned<F> {
    fn poll_wrapped(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let seeds = this.seeded.as_ref().and_then(|extras| extras.seeds.as_ref());
        let _seeded = seeds.map(Seeds::enter_task);
        if this.member.is_none() && this.clock.is_none() {
            return this.future.poll(cx);
        }
        let mut polled = |cx: &mut Context<'_>| {
            panic::catch_unwind(AssertUnwindSafe(|| this.future.as_mut().poll(cx)))
        };
        let poll = match this.clock {
            Some(clock) => clock.poll(cx, polled),
            None => polled(cx),
        };
        poll.unwrap_or_else(|payload| {
            this.member.iter().for_each(Member::panicked);
            panic::resume_unwind(payload)
        })
    }
}

/// Measures how long a task is ready before it is polled.
struct Clock {
    /// Since when it is ready, before the first poll.
    ready: Option<Instant>,
    woken: Option<Arc<Stamp>>,
    extras: Arc<Extras>,
    place: &'static Location<'static>,
}

impl Clock {
    fn poll<T, E>(
        &mut self,
        cx: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Result<Poll<T>, E>,
    ) -> Result<Poll<T>, E> {
        let new = || Arc::new(Stamp { at: Mutex::default(), waker: cx.waker().clone() });
        let stamp = self.woken.get_or_insert_with(new);
        let since = self.ready.take().or_else(|| stamp.at().take());
        // A poll without a wake is one that liten makes to see where the task waits.
        let latency = since.map(|since| since.elapsed());
        let tracking = self.extras.tracking.as_ref().expect("or there would be no clock");
        let Tracking { before_poll, after_poll, times } = tracking;
        times.iter().zip(latency).for_each(|(times, latency)| times.count(latency));
        let meta = TaskMeta {
            id: liten::task::id(),
            spawned_at: self.place,
            schedule_latency: latency,
            lifetime: PhantomData,
        };
        before_poll.iter().for_each(|hook| hook(&meta));
        let result = twice_if_traced(cx, &stamp.waker, &Waker::from(stamp.clone()), &mut poll);
        stamp.polled();
        after_poll.iter().for_each(|hook| hook(&meta));
        result
    }
}

/// Polls with `own`, a waker over `task`, which is the task's.
///
/// A task has one waker, but for the polls in which liten sees where it waits. The waker of these has to
/// reach each place where the task leaves it. So there are two such polls: the second one leaves `own`.
pub(super) fn twice_if_traced<T, E>(
    cx: &mut Context<'_>,
    task: &Waker,
    own: &Waker,
    mut poll: impl FnMut(&mut Context<'_>) -> Result<Poll<T>, E>,
) -> Result<Poll<T>, E> {
    if !task.will_wake(cx.waker()) {
        let traced = poll(cx);
        if !matches!(traced, Ok(Poll::Pending)) {
            return traced;
        }
    }
    poll(&mut Context::from_waker(own))
}

/// A waker that notes when it is called.
struct Stamp {
    at: Mutex<Option<Instant>>,
    waker: Waker,
}

impl Stamp {
    fn at(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After a poll: the task cannot be polled before that, whenever it was woken.
    fn polled(&self) {
        self.at().iter_mut().for_each(|at| *at = Instant::now());
    }
}

impl Wake for Stamp {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The first wake is the one that makes it ready.
        self.at().get_or_insert_with(Instant::now);
        self.waker.wake_by_ref();
    }
}
