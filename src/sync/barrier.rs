//! [`Barrier`]: tasks wait for each other, in groups of a fixed number.
//!
//! The list of waiting futures and the count of those that have arrived are under one lock. The word of a
//! place is the generation, the number of the group, in which its future has arrived. The future that
//! completes the group is the leader: it begins the next generation, and then takes out, in rounds, the
//! places of older ones. A future that arrives during the rounds belongs to the new generation or a later
//! one. Its place is behind those, and ends the rounds.
//!
//! No wake is lost: a future arrives and joins the list under the lock, so the leader's rounds find it. A
//! future that is polled before the rounds reach it sees that its generation is over, and leaves the list by
//! itself.

use super::await_place::awaited_here;
use crate::engine::task::budget;
use crate::engine::task::waker::set_note;
use crate::engine::wakers::{self, Locked, Place, WaitList};
use crate::impls::{impl_debug, impl_unwind_safe};
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::context;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Lets tasks wait for each other, until a fixed number of them has arrived.
///
/// Then all of them go on, and the barrier can be used again for the next group.
///
/// # Examples
///
/// ```
/// use liten::sync::Barrier;
/// use std::sync::Arc;
///
/// # liten::block_on(async {
/// let barrier = Arc::new(Barrier::new(10));
/// let tasks: Vec<_> = (0..10)
///     .map(|_| {
///         let barrier = barrier.clone();
///         liten::spawn(async move {
///             // No task goes on before all ten have come here.
///             barrier.wait().await.is_leader()
///         })
///     })
///     .collect();
/// let mut leaders = 0;
/// for task in tasks {
///     leaders += u32::from(task.await.unwrap());
/// }
/// assert_eq!(leaders, 1);
/// # });
/// ```
pub struct Barrier {
    count: usize,
    waiting: WaitList<Arrivals>,
}

#[derive(Debug)]
struct Arrivals {
    arrived: usize,
    generation: usize,
}

impl Barrier {
    /// Returns a barrier for groups of `n` tasks. With 0, as with 1, no task ever waits.
    pub fn new(n: usize) -> Self {
        Self { count: n.max(1), waiting: WaitList::new(Arrivals { arrived: 0, generation: 0 }) }
    }

    /// Waits until the group is complete. Returns for one task of the group that it is the leader.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: a future that was polled and then dropped still counts as arrived.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = BarrierWaitResult> {
        awaited_here(async move {
            let at = At::OnTheWay;
            BarrierWaitResult(Waiting { barrier: self, place: Place::new(0), at }.await)
        })
    }

    /// Wakes the futures of all generations before `now`.
    fn wake_before(&self, now: usize) {
        let is_before = |word| wakers::is_before(word, now);
        context::wake_together(|| self.waiting.wake(self.waiting.lock(), now, is_before));
    }
}

impl_debug!([] Barrier, this => "Barrier" { n: this.count, .. });

// No user code runs under the lock, so a panic leaves nothing half done.
impl_unwind_safe!([] Barrier);

/// Says whether a task was the leader of its group; made by [`Barrier::wait`].
#[derive(Debug, Clone)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns whether this task is the one that has completed the group.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

/// How far a future has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    OnTheWay,
    Arrived,
    /// It has completed the group of the generation before this one.
    Leads(usize),
}

pin_project! {
    /// Arrives when it is first polled; returns whether it leads.
    struct Waiting<'a> {
        barrier: &'a Barrier,
        #[pin]
        place: Place,
        at: At,
    }

    impl PinnedDrop for Waiting<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.barrier.waiting.leave(this.place.as_ref());
        }
    }
}

impl Future for Waiting<'_> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        if self.at == At::OnTheWay {
            // Without the budget, because other tasks wait for this arrival.
            return self.look(cx);
        }
        budget::poll_leaf(cx, |cx| self.look(cx))
    }
}

impl Waiting<'_> {
    fn look(self: Pin<&mut Self>, cx: &Context<'_>) -> Poll<bool> {
        let this = self.project();
        let (barrier, place, at) = (*this.barrier, this.place.as_ref(), this.at);
        if *at == At::Arrived && !place.is_linked() {
            return Poll::Ready(false);
        }
        let mut left = None;
        let poll = barrier.waiting.poll(place, cx, |locked: &mut Locked<'_, Arrivals>| {
            if *at == At::OnTheWay {
                *at = arrive(locked, barrier.count);
                place.prepare(locked.generation);
            } else if locked.word(&place) == Some(locked.generation) {
                return Poll::Pending;
            } else {
                left = locked.leave(place);
                return Poll::Ready(false);
            }
            if *at == At::Arrived { Poll::Pending } else { Poll::Ready(true) }
        });
        if poll.is_pending() {
            set_note(cx.waker(), PrimitiveKind::Barrier, barrier);
        }
        wakers::drop_all(left);
        if let At::Leads(now) = *at {
            barrier.wake_before(now);
        }
        poll
    }
}

/// Counts a future that arrives, and begins the next generation if it completes the group.
fn arrive(state: &mut Arrivals, count: usize) -> At {
    state.arrived += 1;
    if state.arrived < count {
        return At::Arrived;
    }
    state.arrived = 0;
    state.generation = state.generation.wrapping_add(1);
    At::Leads(state.generation)
}

#[cfg(all(test, liten_loom))]
mod loom;
