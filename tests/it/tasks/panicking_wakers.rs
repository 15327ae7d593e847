//! Wakers that panic: when they are cloned, called or dropped. A task that waits beside them is woken all the
//! same, no worker is lost, and what they were waiting with works on.

#![allow(unsafe_code)]

use crate::support::guard::{guarded, named, until, workers};
use crate::support::loopback::udp_pair;
use crate::support::probe::{Bell, Count};
use crate::tasks::panic::worker_ids;
use liten::net::UdpSocket;
use liten::runtime::Runtime;
use liten::task::JoinHandle;
use liten::time::{Duration, Instant};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// When a waker panics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    Clone,
    /// Both ways of calling it.
    Wake,
    Drop,
}

const FAULTS: [Fault; 3] = [Fault::Clone, Fault::Wake, Fault::Drop];

pub(crate) struct Faulty {
    fault: Fault,
    /// How often it has been called or dropped.
    ends: Count,
}

impl Faulty {
    const VTABLE: RawWakerVTable =
        RawWakerVTable::new(Self::clone, Self::wake, Self::wake_by_ref, Self::drop);

    pub(crate) fn waker(fault: Fault) -> (Waker, Count) {
        let ends = Count::default();
        let data = Arc::into_raw(Arc::new(Self { fault, ends: ends.clone() }));
        // SAFETY: the functions below keep the count of the `Arc` that `data` comes from, whether they panic
        // or not, and what is in it may be used from any thread.
        (unsafe { Waker::from_raw(RawWaker::new(data.cast(), &Self::VTABLE)) }, ends)
    }

    fn panic_if(&self, fault: Fault) {
        if self.fault == fault {
            // As a panic, without a message.
            resume_unwind(Box::new("a waker"));
        }
    }

    /// # Safety
    ///
    /// Here and below: as `RawWakerVTable` says.
    unsafe fn clone(data: *const ()) -> RawWaker {
        // SAFETY: a waker exists, so its reference is counted.
        unsafe { (*data.cast::<Self>()).panic_if(Fault::Clone) };
        // SAFETY: as above; the new waker's reference is counted here.
        unsafe { Arc::increment_strong_count(data.cast::<Self>()) };
        RawWaker::new(data, &Self::VTABLE)
    }

    /// # Safety
    ///
    /// See `clone`.
    unsafe fn wake(data: *const ()) {
        // SAFETY: the waker's reference goes with this call.
        let faulty = unsafe { Arc::from_raw(data.cast::<Self>()) };
        faulty.ends.add();
        faulty.panic_if(Fault::Wake);
        faulty.panic_if(Fault::Drop);
    }

    /// # Safety
    ///
    /// See `clone`.
    unsafe fn wake_by_ref(data: *const ()) {
        // SAFETY: a waker exists, so its reference is counted.
        let faulty = unsafe { &*data.cast::<Self>() };
        faulty.ends.add();
        faulty.panic_if(Fault::Wake);
    }

    /// # Safety
    ///
    /// See `clone`.
    unsafe fn drop(data: *const ()) {
        // SAFETY: the waker's reference goes with this call.
        let faulty = unsafe { Arc::from_raw(data.cast::<Self>()) };
        faulty.ends.add();
        faulty.panic_if(Fault::Drop);
    }
}

/// The panic, if there was one, is the caller's to ignore.
pub(crate) fn caught<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

/// What a waker may be left with.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Task,
    Job,
    Timer,
    /// `poll_` functions of a socket.
    Line,
    /// `readable` of a socket.
    Keyed,
}

const KINDS: [Kind; 5] = [Kind::Task, Kind::Job, Kind::Timer, Kind::Line, Kind::Keyed];

pub(crate) type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Something to wait for, three tasks that wait for the same already, and what brings it about.
struct Setting {
    leaf: Boxed,
    neighbours: Vec<JoinHandle<()>>,
    fire: Box<dyn FnOnce()>,
}

fn joined(mut task: JoinHandle<()>) -> Boxed {
    Box::pin(poll_fn(move |cx| Pin::new(&mut task).poll(cx).map(Result::unwrap)))
}

/// A future that waits until something can be received, and takes nothing.
pub(crate) fn peeked(socket: &Arc<UdpSocket>) -> Boxed {
    let socket = Arc::clone(socket);
    Box::pin(poll_fn(move |cx| {
        socket.poll_peek(cx, &mut [0; 8]).map(|peeked| assert_eq!(peeked.unwrap(), 1))
    }))
}

pub(crate) fn readable(socket: &Arc<UdpSocket>) -> Boxed {
    let socket = Arc::clone(socket);
    let mut waiting: Option<Boxed> = None;
    Box::pin(poll_fn(move |cx| {
        // One that has panicked is gone: an `async fn` cannot be polled after that.
        let mut future = waiting.take().unwrap_or_else(|| {
            let socket = Arc::clone(&socket);
            Box::pin(async move { socket.readable().await.unwrap() })
        });
        let polled = future.as_mut().poll(cx);
        if polled.is_pending() {
            waiting = Some(future);
        }
        polled
    }))
}

impl Setting {
    fn new(runtime: &Runtime, kind: Kind) -> Self {
        let mut neighbours = Vec::new();
        let mut beside = |future: Boxed| neighbours.push(runtime.spawn(future));
        let (leaf, fire): (Boxed, Box<dyn FnOnce()>) = match kind {
            Kind::Task => {
                let bell = Bell::default();
                let wait = |bell: Bell| Box::pin(async move { bell.wait().await });
                (0..3).for_each(|_| beside(wait(bell.clone())));
                let task = runtime.spawn(wait(bell.clone()));
                (joined(task), Box::new(move || bell.ring()))
            }
            Kind::Job => {
                let (release, released) = mpsc::channel::<()>();
                let job = runtime.spawn_blocking(move || released.recv().unwrap_or(()));
                (joined(job), Box::new(move || drop(release)))
            }
            Kind::Timer => {
                let _entered = runtime.enter();
                let sleep = liten::time::sleep(Duration::MAX);
                let sleep = Arc::new(Mutex::new(sleep));
                let locked = Arc::clone(&sleep);
                let leaf = poll_fn(move |cx| {
                    let mut sleep = locked.lock().unwrap_or_else(PoisonError::into_inner);
                    Pin::new(&mut *sleep).poll(cx)
                });
                let time = Instant::now() + Duration::from_millis(10);
                (0..3).for_each(|_| {
                    beside(Box::pin(async move { liten::time::sleep_until(time).await }));
                });
                let fire = move || {
                    let mut sleep = sleep.lock().unwrap_or_else(PoisonError::into_inner);
                    Pin::new(&mut *sleep).reset(time);
                };
                (Box::pin(leaf), Box::new(fire))
            }
            Kind::Line | Kind::Keyed => {
                let (first, second) = runtime.block_on(udp_pair());
                // Readiness is a hint: a new socket counts as ready until it is known to be empty.
                let is_empty = || second.try_recv(&mut [0; 8]).is_err();
                (0..3).for_each(|_| assert!(is_empty()));
                let second = Arc::new(second);
                let wait = if matches!(kind, Kind::Line) { peeked } else { readable };
                (0..3).for_each(|_| beside(wait(&second)));
                let fire = move || assert_eq!(first.try_send(b"x").unwrap(), 1);
                (wait(&second), Box::new(fire))
            }
        };
        Self { leaf, neighbours, fire }
    }
}

/// What becomes of the future that a faulty waker was left with.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// What it waits for happens.
    Fire,
    /// It is polled with another waker.
    Replace,
    Drop,
    /// The runtime ends first.
    End,
}

fn play(runtime: Runtime, kind: Kind, fault: Fault, way: Way) -> Option<Runtime> {
    let Setting { mut leaf, neighbours, fire } = Setting::new(&runtime, kind);
    let (waker, ends) = Faulty::waker(fault);
    let polled = caught(|| leaf.as_mut().poll(&mut Context::from_waker(&waker)));
    let waits = polled == Some(Poll::Pending);
    // Readiness may come with the registration.
    let mut over = polled == Some(Poll::Ready(()));
    assert_eq!(polled.is_none(), fault == Fault::Clone, "{kind:?} {way:?}");
    // From here on the leaf has the only one.
    caught(|| drop(waker));
    let before = ends.get();
    match way {
        Way::Fire => {
            fire();
            if waits {
                until(|| ends.get() > before);
            }
        }
        Way::Replace => {
            over |= poll_idly(&mut leaf) == Poll::Ready(());
            fire();
        }
        Way::Drop => {
            drop(std::mem::replace(&mut leaf, Box::pin(async {})));
            // The timer goes only here: it was shared.
            fire();
        }
        Way::End => {
            drop(runtime);
            drop(leaf);
            return None;
        }
    }
    runtime.block_on(async {
        for neighbour in neighbours {
            neighbour.await.unwrap();
        }
    });
    if !over {
        runtime.block_on(leaf);
    }
    Some(runtime)
}

fn poll_idly(leaf: &mut Boxed) -> Poll<()> {
    leaf.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_faulty_waker_costs_no_other_task_anything() {
    guarded(|| {
        for count in [1, 2] {
            let mut runtime = named(count, "faulty");
            let before = worker_ids(&runtime, count);
            for kind in KINDS {
                for fault in FAULTS {
                    for way in [Way::Fire, Way::Replace, Way::Drop] {
                        runtime = play(runtime, kind, fault, way).unwrap();
                    }
                }
            }
            assert_eq!(worker_ids(&runtime, count), before);
        }
    });
}

#[test]
fn a_runtime_ends_although_wakers_panic() {
    guarded(|| {
        for kind in KINDS {
            for fault in FAULTS {
                if !matches!(kind, Kind::Job) {
                    play(workers(1), kind, fault, Way::End);
                }
            }
        }
    });
}

/// So many make a crowd: the next one that comes to the line has them all looked after.
const CROWD: usize = 32;

/// Tasks that wait on one socket, and are known to do so.
fn crowd(runtime: &Runtime, socket: &Arc<UdpSocket>, count: usize) -> Vec<JoinHandle<()>> {
    let tasks = (0..count).map(|_| runtime.spawn(peeked(socket))).collect();
    until(|| runtime.metrics().num_cold_tasks() == count);
    tasks
}

fn assert_all_woken(runtime: &Runtime, tasks: Vec<JoinHandle<()>>, what: &str) {
    runtime.block_on(async {
        let all = liten::time::timeout(Duration::from_secs(10), async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert!(all.await.is_ok(), "{what}: tasks that waited beside it were not woken");
    });
}

/// An empty socket, and one that sends to it.
pub(crate) fn empty_socket(runtime: &Runtime) -> (UdpSocket, Arc<UdpSocket>) {
    let (first, second) = runtime.block_on(udp_pair());
    (0..3).for_each(|_| assert!(second.try_recv(&mut [0; 8]).is_err()));
    (first, Arc::new(second))
}

#[test]
fn a_clone_that_panics_at_the_end_of_a_crowd_costs_no_wake() {
    guarded(|| {
        let runtime = workers(1);
        let (first, second) = empty_socket(&runtime);
        let tasks = crowd(&runtime, &second, CROWD);
        let (waker, _) = Faulty::waker(Fault::Clone);
        let mut late = peeked(&second);
        assert!(caught(|| late.as_mut().poll(&mut Context::from_waker(&waker))).is_none());
        first.try_send(b"x").unwrap();
        assert_all_woken(&runtime, tasks, "a clone that panics");
    });
}

/// Nor does it make the one panic that came last, which has done nothing.
#[test]
fn a_wake_that_panics_in_a_crowd_costs_no_wake() {
    for fault in [Fault::Wake, Fault::Drop] {
        guarded(|| {
            let runtime = workers(1);
            let (first, second) = empty_socket(&runtime);
            let (waker, _) = Faulty::waker(fault);
            let mut faulty = peeked(&second);
            assert!(faulty.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            caught(|| drop(waker));
            let mut tasks = crowd(&runtime, &second, CROWD - 1);
            tasks.push(runtime.spawn(peeked(&second)));
            until(|| tasks[CROWD - 1].is_finished() || runtime.metrics().num_cold_tasks() == CROWD);
            first.try_send(b"x").unwrap();
            assert_all_woken(&runtime, tasks, "a wake that panics");
        });
    }
}

/// No task that waits has made the waker: it came from what polls it, and is dropped at a time that is ours
/// to choose.
#[test]
fn a_panic_of_a_wakers_destructor_stays_with_us() {
    guarded(|| {
        let runtime = workers(1);
        let _entered = runtime.enter();
        let leaves: [fn(&Runtime) -> Boxed; 4] = [
            |_| Box::pin(liten::time::sleep(Duration::MAX)),
            |_| {
                let never =
                    liten::time::timeout(Duration::from_secs(3_600), std::future::pending::<()>());
                Box::pin(async move { assert!(never.await.is_err()) })
            },
            |runtime| peeked(&empty_socket(runtime).1),
            |runtime| readable(&empty_socket(runtime).1),
        ];
        for (kind, leaf) in leaves.iter().enumerate() {
            for replace in [false, true] {
                let mut leaf = leaf(&runtime);
                let mut left_with = Vec::new();
                // Two, because a panic while another one is on its way ends the process.
                for _ in 0..2 {
                    let (waker, ends) = Faulty::waker(Fault::Drop);
                    let polled = caught(|| leaf.as_mut().poll(&mut Context::from_waker(&waker)));
                    assert_eq!(polled, Some(Poll::Pending), "leaf {kind}: a waker was replaced");
                    caught(|| drop(waker));
                    left_with.push(ends);
                }
                if replace {
                    let polled = caught(|| poll_idly(&mut leaf));
                    assert_eq!(polled, Some(Poll::Pending), "leaf {kind}: the last was replaced");
                }
                assert!(caught(|| drop(leaf)).is_some(), "leaf {kind}: a waker was dropped");
                // Once by us here, once by what kept it.
                assert!(left_with.iter().all(|ends| ends.get() == 2), "leaf {kind}: one is kept");
            }
        }
    });
}
