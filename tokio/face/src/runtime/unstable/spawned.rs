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

/// Wraps the future of a `block_on`.
pub(crate) fn root<F>(future: F, handle: &Handle) -> Root<F> {
    Ending::root(future, Extras::rare_of(handle).and_then(|extras| extras.fate()))
}

/// The half that the thread has which spawns.
pub(crate) struct Spawn {
    span: TaskSpan,
    spawning: Option<Spawning>,
}

/// Wraps `future`. `kind` and `name` are for the span; `extras` is what the runtime or the set has.
pub(crate) fn wrap<F>(
    future: F,
    kind: &'static str,
    name: Option<&str>,
    place: &'static Location<'static>,
    extras: Option<Arc<Extras>>,
) -> (Spawn, Spawned<F>) {
    let span = TaskSpan::new::<F>(kind, name, place);
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
        let this = self.project();
        let seeds = this.seeded.as_ref().and_then(|extras| extras.seeds.as_ref());
        let _seeded = seeds.map(Seeds::enter_task);
        if this.member.is_none() && this.clock.is_none() {
            return this.future.poll(cx);
        }
        let polled = |cx: &mut Context<'_>| {
            panic::catch_unwind(AssertUnwindSafe(|| this.future.poll(cx)))
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
    fn poll<R>(&mut self, cx: &mut Context<'_>, poll: impl FnOnce(&mut Context<'_>) -> R) -> R {
        let stamp = self.stamp(cx.waker());
        let since = self.ready.take().or_else(|| stamp.at().take());
        // A poll without a wake of its waker is one that liten makes to see where the task waits.
        let latency = since.map_or(Duration::ZERO, |since| since.elapsed());
        let tracking = self.extras.tracking.as_ref().expect("or there would be no clock");
        let Tracking { before_poll, after_poll, times } = tracking;
        times.iter().for_each(|times| times.count(latency));
        let meta = TaskMeta {
            id: liten::task::id(),
            spawned_at: self.place,
            schedule_latency: Some(latency),
            lifetime: PhantomData,
        };
        before_poll.iter().for_each(|hook| hook(&meta));
        let result = poll(&mut Context::from_waker(&Waker::from(stamp)));
        after_poll.iter().for_each(|hook| hook(&meta));
        result
    }

    /// The waker that notes when it is called, over `waker`.
    fn stamp(&mut self, waker: &Waker) -> Arc<Stamp> {
        match &self.woken {
            Some(stamp) if stamp.waker.will_wake(waker) => stamp.clone(),
            _ => {
                let stamp = Arc::new(Stamp { at: Mutex::default(), waker: waker.clone() });
                self.woken.insert(stamp).clone()
            }
        }
    }
}

struct Stamp {
    at: Mutex<Option<Instant>>,
    waker: Waker,
}

impl Stamp {
    fn at(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
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
