//! The queue of a local executor, in two halves: what the executor's own thread queues, and an inbox for what
//! other threads send.
//!
//! The own half has no lock: a task that wakes its neighbour, which is
//! most of what happens on one thread, pays for a push and a pop. Only [`Home`] reaches it, and a `Home` is
//! made on the executor's thread only. Rejected: one queue under a lock, which cost four read-modify-writes
//! per wake, as many as all the rest of it; and an inbox without a lock, which would have to take the wakers
//! of the idle by another protocol, for the sake of the wakes that cross threads and pay for that anyway.
//!
//! Tasks that have yielded wait in a list of their own, a part of the own half. They run again when nothing
//! is ready, or when the next poll begins, behind what is ready by then: so neither kind starves the other.
//! The two lists show where a round of such tasks ends, after which a root that was woken has its turn, and
//! soon the driver ([`LocalExecutor`](super::LocalExecutor)'s `turn`). In one list the root waited for 61
//! polls.
//!
//! # No wake is lost
//!
//! A *visit* is one call of `run`, `run_until_completion` or `run_until_closed`: a future that runs the tasks
//! while it is polled. It goes idle when it has
//! found both halves empty: it leaves its waker in the list of the idle.
//!
//! *A push by another thread* goes into the inbox and takes the wakers from the list, under one lock. A visit
//! looks into the inbox and leaves its waker under the same lock. Whichever is first, the visit finds the
//! task, or the push finds the waker. `mail` plays no part in it: it only tells a visit that has enough of
//! its own to do that it should look, so that its tasks do not starve the others'.
//!
//! *A push by the executor's own thread* has no other thread to race with. It asks only which visit looks at
//! the own half next.
//!
//! | when it happens | which visit looks |
//! |---|---|
//! | during the poll of a visit (`polling`) | that one |
//! | otherwise, with a waker left since the last push from here that woke (`idle_left`) | all idle ones |
//! | otherwise | one that has been woken, or not been polled yet: it will be polled, or dropped |
//!
//! A visit does not end its poll without an empty own half, unless it has asked for another poll, or is over
//! (its future is ready, or has panicked) and dropped next. A visit that is dropped while the own half holds
//! tasks wakes the idle, as it may have been the one that would have looked. Models:
//! `a_foreign_wake_is_not_left_to_an_executor_that_sleeps`, `own_and_foreign_wakes_at_once_are_all_answered`,
//! `what_a_visit_leaves_behind_is_run_by_an_idle_one`, `a_push_between_two_polls_wakes_the_idle`,
//! `a_task_that_yields_is_not_left_to_a_visit_that_is_dropped`.
#![allow(unsafe_code)]

use crate::engine::scoped::{Replaced, replaced};
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::engine::sync_shim::{UnsafeCell, Used, modelled_thread_local};
use crate::engine::task::header::Hot;
use crate::engine::wakers::{self, Locked, Place, WaitList, is_before};
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, Waker};

/// How many places for tasks each half keeps while it is empty.
const MOST_PLACES: usize = 256;

/// Noted before a task is pushed: until then no executor has one.
pub(super) static TASKS: Used = Used::new();

modelled_thread_local! {
    /// The queue whose own half this thread may touch: compared, never followed.
    static HOME: Cell<*const Queue> = const { Cell::new(ptr::null()) };
}

/// Keeps a queue the one whose own half the calling thread may touch; made by [`Queue::at_home`].
pub(super) type AtHome = Replaced<*const Queue, fn(*const Queue) -> *const Queue>;

pub(super) struct Queue {
    own: UnsafeCell<Own>,
    /// How many tasks are in the own half, for threads that may not look.
    length: AtomicUsize,
    /// Whether there is something in the inbox.
    mail: AtomicBool,
    /// Beside the visits that found nothing to do. The word of each says after how many wakes of the idle it
    /// has come. Usually one.
    inbox: WaitList<Inbox>,
}

// SAFETY: `own` is reached through a `Home` only, which is on one thread at a time, that of the executor.
// What is in it may change threads with the executor (`Hot` and the two flags are Send). The rest is Sync by
// itself.
unsafe impl Sync for Queue {}

/// The half of the executor's own thread.
struct Own {
    hot: VecDeque<Hot>,
    /// Tasks that have yielded. They come behind the others when a visit begins to look.
    yielded: VecDeque<Hot>,
    /// Something else than a task that has yielded was queued, or the root polled, since the last
    /// [`Home::take_news`].
    news: bool,
    /// A visit has left its waker since the idle were last woken from here.
    idle_left: bool,
    /// A visit is being polled.
    polling: bool,
}

struct Inbox {
    hot: VecDeque<Hot>,
    /// How many tasks have come.
    came: u64,
    /// How often the idle visits have been woken.
    wakes: usize,
    /// Set when the executor is dropped: nothing is spawned any more.
    closed: bool,
}

impl Own {
    /// Gives back what a burst of tasks needed.
    #[inline]
    fn shrink(&mut self) {
        self.hot.shrink_to(MOST_PLACES);
        self.yielded.shrink_to(MOST_PLACES);
    }
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            own: UnsafeCell::new(Own {
                hot: VecDeque::new(),
                yielded: VecDeque::new(),
                news: false,
                idle_left: false,
                polling: false,
            }),
            length: AtomicUsize::new(0),
            mail: AtomicBool::new(false),
            inbox: WaitList::new(Inbox { hot: VecDeque::new(), came: 0, wakes: 0, closed: false }),
        }
    }

    /// The door to the own half.
    ///
    /// # Safety
    ///
    /// The calling thread is the executor's, and stays so as long as the result lives (which cannot leave
    /// it).
    pub(super) unsafe fn home(&self) -> Home<'_> {
        Home { queue: self, stays: PhantomData }
    }

    /// Says that the executor lives on this thread, until the result is dropped: what wakes its tasks needs
    /// no lock then.
    ///
    /// # Safety
    ///
    /// As for [`home`](Self::home) until the result is dropped. It is not forgotten, unless the executor is
    /// forgotten with it.
    pub(super) unsafe fn at_home(&self) -> AtHome {
        replaced(|home| HOME.replace(home), ptr::from_ref(self))
    }

    /// Whether the executor whose queue is at `address` lives on this thread, which has an [`AtHome`] for it.
    #[inline]
    pub(super) fn is_home(address: *const Self) -> bool {
        ptr::eq(HOME.get(), address)
    }

    /// Queues a woken task from any thread.
    pub(super) fn send(&self, task: Hot) {
        let mut inbox = self.inbox.lock();
        self.put(&mut inbox, task);
        self.wake_idle(inbox);
    }

    /// Queues a new task from any thread, and calls `count` under the lock; gives the task back if the
    /// executor is gone.
    pub(super) fn admit(&self, task: Hot, count: impl FnOnce()) -> Result<(), Hot> {
        let mut inbox = self.inbox.lock();
        if inbox.closed {
            return Err(task);
        }
        count();
        self.put(&mut inbox, task);
        self.wake_idle(inbox);
        Ok(())
    }

    fn put(&self, inbox: &mut Inbox, task: Hot) {
        inbox.hot.push_back(task);
        inbox.came += 1;
        // Ordering: Relaxed, no task is taken on the strength of it: `begin` reads it and then takes the
        // lock. A visit that reads an old value looks under the lock before it goes idle.
        self.mail.store(true, Ordering::Relaxed);
    }

    /// Admits nothing any more.
    pub(super) fn close(&self) {
        self.inbox.lock().closed = true;
    }

    /// As [`Queue::close`], and tells the visits.
    pub(super) fn close_and_tell(&self) {
        let mut inbox = self.inbox.lock();
        inbox.closed = true;
        self.wake_idle(inbox);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.inbox.lock().closed
    }

    /// How many tasks are queued in each of the halves, at about this moment: the own one is the first.
    pub(super) fn lengths(&self) -> [usize; 2] {
        // Ordering: Relaxed, a number for people; `note_length` writes it.
        [self.length.load(Ordering::Relaxed), self.inbox.lock().hot.len()]
    }

    /// How many tasks other threads have sent.
    pub(super) fn came(&self) -> u64 {
        self.inbox.lock().came
    }

    /// Wakes the visits that are idle, outside the lock. Not those that come back meanwhile: they have found
    /// nothing.
    fn wake_idle<'q>(&'q self, mut inbox: Locked<'q, Inbox>) {
        inbox.wakes = inbox.wakes.wrapping_add(1);
        let now = inbox.wakes;
        while inbox.front().is_some_and(|word| is_before(word, now)) {
            let waker = inbox.pop_front(now);
            drop(inbox);
            wakers::guard(|| waker.into_iter().for_each(Waker::wake));
            inbox = self.inbox.lock();
        }
    }
}

/// The own half of a queue, as the executor's thread sees it.
#[derive(Clone, Copy)]
pub(super) struct Home<'a> {
    queue: &'a Queue,
    /// Neither Send nor Sync.
    stays: PhantomData<*const ()>,
}

impl<'a> Home<'a> {
    /// Calls `f` with the own half. `f` calls nothing that could come back here: no waker, no destructor.
    #[inline]
    fn own<R>(self, f: impl FnOnce(&mut Own) -> R) -> R {
        // SAFETY: a `Home` is on the executor's thread, and so are all others of this queue. No second `f`
        // runs inside of the first: the callers, all in this impl, keep what is said above.
        self.queue.own.with_mut(|own| f(unsafe { &mut *own }))
    }

    /// Queues a task, and wakes the idle visits if none would look otherwise.
    pub(super) fn push(self, task: Hot) {
        let unseen = self.own(|own| {
            own.hot.push_back(task);
            own.news = true;
            self.note_length(own);
            own.idle_left && !own.polling
        });
        if unseen {
            self.wake_idle();
        }
    }

    /// Queues a task that asks for another poll, behind all that are ready. Called in a visit's poll, which
    /// asks for another one if it does not come to the task.
    #[inline]
    pub(super) fn yielded(self, task: Hot) {
        self.own(|own| {
            own.yielded.push_back(task);
            self.note_length(own);
        });
    }

    #[inline]
    pub(super) fn pop(self) -> Option<Hot> {
        self.own(|own| {
            let task = own.hot.pop_front();
            self.note_length(own);
            task
        })
    }

    fn note_length(self, own: &Own) {
        // Ordering: Relaxed, see `Queue::len`.
        self.queue.length.store(own.hot.len() + own.yielded.len(), Ordering::Relaxed);
    }

    pub(super) fn note_news(self) {
        self.own(|own| own.news = true);
    }

    pub(super) fn take_news(self) -> bool {
        self.own(|own| mem::take(&mut own.news))
    }

    /// Moves the tasks that others have sent behind those that are here, and yielded tasks behind that.
    pub(super) fn fetch(self) {
        self.fetch_from(&mut self.queue.inbox.lock());
        self.take_back();
    }

    /// Moves yielded tasks behind those that are ready.
    #[inline]
    fn take_back(self) {
        self.own(|own| match own.hot.is_empty() {
            // Most often: nothing is copied.
            true => mem::swap(&mut own.hot, &mut own.yielded),
            false => own.hot.append(&mut own.yielded),
        });
    }

    fn fetch_from(self, inbox: &mut Inbox) {
        self.own(|own| {
            own.news |= !inbox.hot.is_empty();
            own.hot.append(&mut inbox.hot);
            inbox.hot.shrink_to(MOST_PLACES);
            self.note_length(own);
        });
        // Ordering: Relaxed, see `put`. Under the lock, so that it is not newer than what was fetched.
        self.queue.mail.store(false, Ordering::Relaxed);
    }

    /// Wakes all visits that are idle.
    #[cold]
    pub(super) fn wake_idle(self) {
        self.own(|own| own.idle_left = false);
        self.queue.wake_idle(self.queue.inbox.lock());
    }

    /// Says that a visit is being polled, until the result is dropped.
    pub(super) fn polling(self) -> impl Sized + use<'a> {
        replaced(move |polling| self.own(|own| mem::replace(&mut own.polling, polling)), true)
    }
}

/// The next step of a visit.
pub(super) enum Next {
    Task(Hot),
    /// Nothing is ready, and tasks have yielded.
    Yielded,
    /// It waits for its waker, which it has left behind.
    Idle,
}

pin_project! {
    /// A visit, which leaves the idle when it ends.
    pub(super) struct Visit<'a> {
        home: Home<'a>,
        // Among the idle.
        #[pin]
        place: Place,
    }

    impl PinnedDrop for Visit<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.into_ref().project_ref();
            this.home.queue.inbox.leave(this.place);
            let has_tasks = this.home.own(|own| {
                let has_tasks = !own.hot.is_empty() || !own.yielded.is_empty();
                if !has_tasks {
                    own.shrink();
                }
                has_tasks
            });
            if has_tasks {
                this.home.wake_idle();
            }
        }
    }
}

impl<'a> Visit<'a> {
    pub(super) fn new(home: Home<'a>) -> Self {
        Self { home, place: Place::new(0) }
    }

    /// Before a number of `next`: looks into the inbox, if there is anything, and at yielded tasks.
    #[inline]
    pub(super) fn begin(self: Pin<&Self>) {
        if TASKS.is_noted() {
            // Ordering: Relaxed, see `Queue::put`.
            match self.home.queue.mail.load(Ordering::Relaxed) {
                true => self.home.fetch(),
                false => self.home.take_back(),
            }
        }
    }

    /// The next task; without one, and if none has yielded, leaves the waker of `cx` behind.
    #[inline]
    pub(super) fn next(self: Pin<&Self>, cx: &Context<'_>) -> Next {
        if TASKS.is_noted() {
            if let Some(task) = self.home.pop() {
                return Next::Task(task);
            }
            if self.home.own(|own| !own.yielded.is_empty()) {
                return Next::Yielded;
            }
        }
        self.fetch_or_leave(cx).map_or(Next::Idle, Next::Task)
    }

    /// The next task from the inbox; without one, leaves the waker of `cx` behind, under the same lock.
    ///
    /// The list clones and drops wakers outside the lock: both are user code. It may push to the own half,
    /// which is therefore asked again afterwards.
    fn fetch_or_leave(self: Pin<&Self>, cx: &Context<'_>) -> Option<Hot> {
        let place = self.project_ref().place;
        let next = || if TASKS.is_noted() { self.home.pop() } else { None };
        let polled = self.home.queue.inbox.poll(place, cx, |inbox| {
            if TASKS.is_noted() {
                self.home.fetch_from(inbox);
            }
            if let Some(task) = next() {
                return Poll::Ready(task);
            }
            self.home.own(|own| {
                own.idle_left = true;
                own.shrink();
            });
            if !place.is_linked() {
                place.prepare(inbox.wakes);
            }
            Poll::Pending
        });
        match polled {
            Poll::Ready(task) => Some(task),
            Poll::Pending => next(),
        }
    }
}
