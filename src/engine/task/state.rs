//! The word that says what a task is doing: bits, transitions, and what the caller must do after each.
//!
//! Pure but for the one atomic: no transition calls other code. Each whose caller has to act returns a
//! `#[must_use]` action. The transitions of the join bits are not in the table: see "Join bits" below.
//!
//! | phase | SCHEDULED | WOKEN | COMPLETE | a [`Hot`](super::header::Hot) exists |
//! |---|---|---|---|---|
//! | hot: queued | 1 | 0, or 1 if woken again meanwhile | 0 | yes, in one queue |
//! | hot: running | 1 | 0, or 1 if woken during the poll | 0 | yes, on a runner's stack |
//! | cold | 0 | 0 | 0 | no |
//! | complete | – | – | 1, for ever | no |
//!
//! | transition | from | to | action |
//! |---|---|---|---|
//! | `wake` | cold | queued | `Schedule` |
//! |        | queued, running | same, WOKEN | `Noted` |
//! |        | complete | same | nothing |
//! | `start` | queued | running, WOKEN cleared | `Poll`; `Marked` if CANCELLED, TRACED or FOLLOWED |
//! | `pending` | running | cold | `Cold` |
//! |        | running, WOKEN | queued | `Requeue` |
//! |        | running, CANCELLED | same | `Cancel` |
//! | none, it has yielded | running | queued, bits unchanged | `run` gives it to `Runner::yielded` |
//! | `trace` | not complete | as after `wake`, plus TRACED | as of `wake` |
//! | `start_marked` | running, CANCELLED | same | `Cancel` |
//! |        | running, TRACED | running, TRACED cleared | `Trace` |
//! |        | running | same | `Poll` |
//! | `follow` | queued, running | same, with or without FOLLOWED | |
//! | `wake` | cold, FOLLOWED | queued | `ScheduleFollowed` |
//! | `pending` | running, WOKEN, FOLLOWED | queued | `RequeueFollowed` |
//! | `abort` | cold | queued, CANCELLED | `Schedule` |
//! |        | queued, running | same, CANCELLED | nothing |
//! | `mark` | cold | cold, SEEN | `New`, or `Old` if it was SEEN |
//! | `complete` | running | complete | which side owns the output, see there |
//!
//! SCHEDULED stays set through the poll. So a round trip costs two RMWs: one for the wake that sets it, one
//! for the `pending` that clears it; `start` is a load unless the task was woken while it was hot. WOKEN
//! is a bit and not a counter, which nexosim's executor has, so that a storm of wakes cannot overflow
//! anything.
//!
//! SEEN: a thread that looks at the task has found it cold, and the task has not gone cold again since.
//! `pending` clears it at no cost: its exchange clears SCHEDULED in any case. So a cold task that is SEEN has
//! been cold all the time since it was [marked](State::mark). Model
//! `a_seen_task_has_been_cold_all_the_time`.
//!
//! TRACED asks for a poll that notes where the task waits (traced.rs). It comes with a wake, so that a poll
//! follows before which `start_marked` clears it. A task that is cancelled keeps it, and is found to have
//! ended with it.
//!
//! FOLLOWED: the wait from the task's next wake to the poll after that is measured (followed.rs). Both see
//! the bits in a word that they read anyway, on any thread, so a task that is not followed pays nothing.
//!
//! The reference count is above the bits. It counts wakers, the JoinHandle, AbortHandles, and one *live*
//! reference that stands for "not complete yet". The queued reference is not counted: it follows from
//! SCHEDULED. The last to go frees, after all others (model `the_last_of_three_frees_what_all_have_used`).
//!
//! Join bits. JOIN_INTEREST: the JoinHandle exists. JOIN_WAKER: the waker slot is filled and readable by
//! the task; while it is 0 the slot belongs to the JoinHandle alone. Before COMPLETE both are changed by
//! the JoinHandle only. After COMPLETE the task, when it has woken the joiner, clears JOIN_WAKER, and
//! the JoinHandle, when it is dropped, clears JOIN_INTEREST: the second of the two finds the other's bit
//! cleared and empties the slot. So no complete task keeps a waker, which would keep another task, and
//! so on along a chain of joins (models `a_complete_task_keeps_no_join_waker`,
//! `the_slot_of_the_join_waker_changes_hands_both_ways`).

use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

const SCHEDULED: usize = 1;
const WOKEN: usize = 1 << 1;
const CANCELLED: usize = 1 << 2;
const COMPLETE: usize = 1 << 3;
const JOIN_INTEREST: usize = 1 << 4;
const JOIN_WAKER: usize = 1 << 5;
const SEEN: usize = 1 << 6;
const TRACED: usize = 1 << 7;
/// Three bits: 1 more than the number of a followed task.
const FOLLOWED: usize = 7 << FOLLOWED_SHIFT;
const FOLLOWED_SHIFT: u32 = 8;
const REF_ONE: usize = 1 << 11;

/// With a larger word a leak (`mem::forget` of clones in a loop) is about to wrap the count: abort, as Arc
/// does. That is at half of the references that fit: at 2^52, or at 2^20 on a 32-bit machine.
const MAX_WORD: usize = isize::MAX as usize;

/// The number under which a task with this word is followed.
fn number_in(word: usize) -> Option<u32> {
    ((word & FOLLOWED) >> FOLLOWED_SHIFT).checked_sub(1).map(|number| number as u32)
}

/// For how many waits that of a task stands which is followed under that number.
pub(crate) fn stands_for(number: u32) -> u64 {
    1 << (2 * number)
}

/// What a wake, which brings `flag`, makes of the word.
#[inline(always)]
fn woken(word: usize, flag: usize) -> (usize, Wake) {
    // One comparison where there is nothing special.
    if word & (COMPLETE | SCHEDULED | FOLLOWED) == 0 {
        (word | SCHEDULED | flag, Wake::Schedule)
    } else if word & COMPLETE != 0 {
        (word, Wake::Nothing)
    } else if word & SCHEDULED != 0 {
        (word | WOKEN | flag, Wake::Noted)
    } else {
        (word | SCHEDULED | flag, Wake::ScheduleFollowed)
    }
}

#[derive(Debug)]
pub(crate) struct State(AtomicUsize);

/// After a wake or an abort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wake {
    /// The task turned hot: the caller makes its `Hot` and puts it into a queue.
    Schedule,
    /// As [`Wake::Schedule`], and the task is followed: the caller notes when, before it queues the task.
    ScheduleFollowed,
    /// The task is hot already, perhaps running: its next poll, or the end of this one, answers the wake.
    Noted,
    Nothing,
}

/// Before a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Start {
    Poll,
    /// The task is to be cancelled or traced, or is followed. If [`ends_wait`](State::ends_wait) is true, the
    /// caller says that the wait ends. Then [`start_marked`](State::start_marked) tells what there is to do.
    Marked,
}

/// Before a poll of a task that is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Marked {
    Poll,
    /// Poll with a waker that notes where it is cloned.
    Trace,
    /// Drop the future instead of polling it, then complete.
    Cancel,
}

/// After a poll that returned Pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Pending {
    /// The task is cold. The caller must not touch it any more: another thread may be running it already.
    Cold,
    /// It was woken during the poll: back into a queue.
    Requeue,
    /// As [`Pending::Requeue`], and the task is followed: the caller notes when, before it queues the task.
    RequeueFollowed,
    /// It was aborted during the poll: drop the future, then complete.
    Cancel,
}

/// After a look at the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Mark {
    /// The task is not cold.
    Hot,
    /// It is cold, and no earlier look has marked it since; if this one marks, it is SEEN from now on.
    New,
    /// It has been cold since an earlier look.
    Old,
}

/// How a poll ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Polled {
    /// The output has been stored.
    Ready,
    Pending,
    /// Pending, and the task asked for another poll itself: by `yield_now`, or by waking itself.
    Yielded,
}

/// After a reference has been released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Released {
    /// It was the last one: the caller frees the cell.
    Free,
    /// There are others, and the caller touches the cell no more.
    Nothing,
}

impl Released {
    /// The word is `next`, without the reference.
    fn after(next: usize) -> Self {
        if next < REF_ONE { Released::Free } else { Released::Nothing }
    }
}

/// After the output has been stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Complete {
    /// The JoinHandle is gone: the caller drops the output, then calls `complete_detached`.
    OutputUnwanted,
    /// Complete; the live reference still belongs to the caller, which wakes the joiner by reference and
    /// then releases it.
    WakeJoiner,
    /// Complete, and the live reference is released.
    Released(Released),
}

/// After the JoinHandle has been dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum DropJoin {
    /// The task is complete: the JoinHandle owns the output, drops it and releases its reference. It
    /// empties the waker slot too if that is its own; else the task, which is just waking the joiner,
    /// will.
    Complete { slot_is_ours: bool },
    /// The task will not look at the waker slot again: the JoinHandle drops the waker and releases its
    /// reference.
    DropWaker,
    /// Nothing to drop; the reference has been released (and was not the last).
    Released,
}

impl State {
    /// A task that is queued for its first poll, with a JoinHandle.
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(SCHEDULED | JOIN_INTEREST | (2 * REF_ONE)))
    }

    /// Runs `step` on the current word until its result has been stored; `Err` ends without a store.
    ///
    /// Ordering: AcqRel on success for all transitions. Release, because the thread that runs the task after
    /// a wake must see what the waker's caller wrote (and a thread that wakes after `pending` must see the
    /// future as the poll left it); Acquire is the other end of the same pairs. Acquire on failure and on
    /// `Err`, because COMPLETE may be read there and the output behind it.
    fn update<T>(&self, mut step: impl FnMut(usize) -> Result<(usize, T), T>) -> T {
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            let (next, action) = match step(word) {
                Ok(change) => change,
                Err(action) => return action,
            };
            // Ordering: AcqRel and Acquire, for the reasons that the comment on `update` gives.
            match self.0.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return action,
                Err(current) => word = current,
            }
        }
    }

    /// A wake by reference.
    ///
    /// A task that is WOKEN already is written all the same: the RMW is what publishes this caller's
    /// writes to the poll that will answer the earlier wake.
    pub(crate) fn wake(&self) -> Wake {
        self.wake_with(0)
    }

    /// A wake by reference that asks for a poll with [`Marked::Trace`]. The caller holds the lock under which
    /// the task leaves its registry.
    pub(crate) fn trace(&self) -> Wake {
        self.wake_with(TRACED)
    }

    #[inline(always)]
    fn wake_with(&self, flag: usize) -> Wake {
        self.update(|word| match woken(word, flag) {
            (_, Wake::Nothing) => Err(Wake::Nothing),
            change => Ok(change),
        })
    }

    /// Whether a request for a trace is unanswered. After the task has left its registry none comes any more.
    pub(crate) fn is_traced(&self) -> bool {
        // Ordering: Relaxed, the registry's lock is between `trace` and this.
        self.0.load(Ordering::Relaxed) & TRACED != 0
    }

    /// A wake that consumes the waker: the wake and the release of its reference are one RMW. `None`: it was
    /// the last reference, and the caller frees the cell.
    pub(crate) fn wake_owned(&self) -> Option<Wake> {
        self.update(|word| {
            let (next, wake) = woken(word - REF_ONE, 0);
            // Before COMPLETE there is the live reference.
            let is_last = wake == Wake::Nothing && next < REF_ONE;
            Ok((next, (!is_last).then_some(wake)))
        })
    }

    /// Before a poll: forgets wakes that this poll answers.
    pub(crate) fn start(&self) -> Start {
        // Ordering: Acquire pairs with the AcqRel of the wake that scheduled the task. Wakes that come
        // after this load find SCHEDULED and set WOKEN, which `pending` sees.
        let mut word = self.0.load(Ordering::Acquire);
        debug_assert_eq!(word & (SCHEDULED | COMPLETE), SCHEDULED);
        if word & WOKEN != 0 {
            // Ordering: Acquire for the writes of the second waker, whose wake this poll answers. No
            // Release: this thread has written nothing that a waker reads.
            word = self.0.fetch_and(!WOKEN, Ordering::Acquire);
        }
        if word & (CANCELLED | TRACED | FOLLOWED) == 0 { Start::Poll } else { Start::Marked }
    }

    /// After [`Start::Marked`]: whether the wait of a followed task ends in a poll. That of a task that is to
    /// be cancelled does not.
    pub(crate) fn ends_wait(&self) -> bool {
        // Ordering: Relaxed, a matter of what is measured.
        let word = self.0.load(Ordering::Relaxed);
        word & FOLLOWED != 0 && word & CANCELLED == 0
    }

    /// After [`Start::Marked`], and after it was said that a wait ends. Reads the word again: a request may
    /// have come in between.
    pub(crate) fn start_marked(&self) -> Marked {
        // Ordering: Acquire, as in `start`.
        match self.0.load(Ordering::Acquire) & (CANCELLED | TRACED) {
            0 => Marked::Poll,
            TRACED => {
                // Ordering: Acquire, as for WOKEN: a request that finds this bit set is answered here. One
                // that comes after it sets the bit anew, with WOKEN.
                self.0.fetch_and(!TRACED, Ordering::Acquire);
                Marked::Trace
            }
            _ => Marked::Cancel,
        }
    }

    /// Follows the task under `number`, which is below 7, or not any more. Returns the number under which it
    /// was followed before. For the owner of the `Hot`.
    pub(crate) fn follow(&self, number: Option<u32>) -> Option<u32> {
        let bits = number.map_or(0, |number| ((number + 1) as usize) << FOLLOWED_SHIFT);
        debug_assert_eq!(bits & !FOLLOWED, 0);
        self.update(|word| Ok(((word & !FOLLOWED) | bits & FOLLOWED, number_in(word))))
    }

    /// The number under which the task is followed.
    pub(crate) fn followed(&self) -> Option<u32> {
        // Ordering: Relaxed: only the owner of the `Hot`, which asks, changes these bits.
        number_in(self.0.load(Ordering::Relaxed))
    }

    /// Whether the task is to be cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        // Ordering: Relaxed, it decides about the order of tasks alone.
        self.0.load(Ordering::Relaxed) & CANCELLED != 0
    }

    /// Whether the task is to be cancelled or traced, or is followed.
    pub(crate) fn is_marked(&self) -> bool {
        // Ordering: Relaxed, a matter of what is measured.
        self.0.load(Ordering::Relaxed) & (CANCELLED | TRACED | FOLLOWED) != 0
    }

    /// After a poll that returned Pending.
    pub(crate) fn pending(&self) -> Pending {
        self.update(|word| {
            debug_assert_eq!(word & (SCHEDULED | COMPLETE), SCHEDULED);
            if word & CANCELLED != 0 {
                Err(Pending::Cancel)
            } else if word & WOKEN != 0 {
                let is_followed = word & FOLLOWED != 0;
                let action = if is_followed { Pending::RequeueFollowed } else { Pending::Requeue };
                Ok((word & !WOKEN, action))
            } else {
                Ok((word & !(SCHEDULED | SEEN), Pending::Cold))
            }
        })
    }

    /// Asks the task to end without another poll.
    pub(crate) fn abort(&self) -> Wake {
        self.update(|word| {
            if word & (COMPLETE | CANCELLED) != 0 {
                Err(Wake::Nothing)
            } else if word & SCHEDULED != 0 {
                Ok((word | CANCELLED, Wake::Nothing))
            } else {
                Ok((word | CANCELLED | SCHEDULED, Wake::Schedule))
            }
        })
    }

    /// After the output has been stored in the cell.
    pub(crate) fn complete(&self) -> Complete {
        self.update(|word| {
            debug_assert_eq!(word & (SCHEDULED | COMPLETE), SCHEDULED);
            if word & JOIN_INTEREST == 0 {
                Err(Complete::OutputUnwanted)
            } else if word & JOIN_WAKER != 0 {
                Ok((word | COMPLETE, Complete::WakeJoiner))
            } else {
                let next = (word | COMPLETE) - REF_ONE;
                Ok((next, Complete::Released(Released::after(next))))
            }
        })
    }

    /// After the joiner has been woken: hands the slot back and releases the live reference. `None`: the
    /// JoinHandle is gone, so the caller empties the slot, and then releases the live reference.
    pub(crate) fn joiner_woken(&self) -> Option<Released> {
        self.update(|word| {
            debug_assert_eq!(word & (COMPLETE | JOIN_WAKER), COMPLETE | JOIN_WAKER);
            if word & JOIN_INTEREST == 0 {
                return Err(None);
            }
            let next = (word & !JOIN_WAKER) - REF_ONE;
            Ok((next, Some(Released::after(next))))
        })
    }

    /// Whether the JoinHandle exists. It may be dropped at any moment, but not come back.
    pub(crate) fn has_join_handle(&self) -> bool {
        // Ordering: Relaxed, what follows from it is decided again by `complete`.
        self.0.load(Ordering::Relaxed) & JOIN_INTEREST != 0
    }

    /// After the unwanted output has been dropped; releases the live reference.
    pub(crate) fn complete_detached(&self) -> Released {
        self.update(|word| {
            debug_assert_eq!(word & (SCHEDULED | COMPLETE | JOIN_INTEREST), SCHEDULED);
            let next = (word | COMPLETE) - REF_ONE;
            Ok((next, Released::after(next)))
        })
    }

    pub(crate) fn is_complete(&self) -> bool {
        // Ordering: Acquire pairs with `complete`: a caller that sees COMPLETE may read the output.
        self.0.load(Ordering::Acquire) & COMPLETE != 0
    }

    /// How many wakers of the task there are, with the AbortHandles, if it is cold. If there are none the
    /// task is *stuck*: nothing but an abort, or the end of its scheduler, makes it hot again.
    ///
    /// | what refers to a cold task | counted | can wake it |
    /// |---|---|---|
    /// | the live reference | 1, until COMPLETE | no |
    /// | the JoinHandle | 1 at least while JOIN_INTEREST is set | no, only abort it |
    /// | an AbortHandle | 1 | no, only abort it |
    /// | a waker, wherever it lies: wheel, source, wait list, join slot, user code | 1 | yes |
    /// | the registry | no | no, only abort it |
    /// | the waker that a poll borrows | no | yes, but then the task is SCHEDULED |
    ///
    /// So if no more is counted than the first two stand for, there is no waker. An AbortHandle looks like
    /// one and hides that a task is stuck; the answer 0 is never wrong. It also stays right: a new waker is
    /// cloned from another one, which is counted until the clone is, or in a poll, before `pending`.
    pub(crate) fn cold_wakers(&self) -> Option<usize> {
        // Ordering: Acquire pairs with the Release in `pending`, for what the poll has left with the task,
        // and in `release`, for what was done before a waker went. The answer 0 needs neither: one value that
        // the word had at any time is its proof, because only an abort ends that state.
        let word = self.0.load(Ordering::Acquire);
        let explained = if word & JOIN_INTEREST == 0 { 1 } else { 2 };
        (word & (SCHEDULED | COMPLETE) == 0).then(|| word / REF_ONE - explained)
    }

    /// Marks the task as SEEN if it is cold.
    ///
    /// The mark does not say whose it is: a second marker would hide from the first one that the task has run
    /// since. So a thread that marks makes sure that no other one does (`insight::deadlocks`).
    pub(crate) fn mark(&self) -> Mark {
        self.update(|word| match word & (SCHEDULED | COMPLETE | SEEN) {
            0 => Ok((word | SEEN, Mark::New)),
            SEEN => Err(Mark::Old),
            _ => Err(Mark::Hot),
        })
    }

    /// As [`mark`](Self::mark), without marking: `New` is a cold task that is not SEEN.
    pub(crate) fn seen(&self) -> Mark {
        // Ordering: Acquire pairs with the Release in `pending`, as in `mark`.
        match self.0.load(Ordering::Acquire) & (SCHEDULED | COMPLETE | SEEN) {
            0 => Mark::New,
            SEEN => Mark::Old,
            _ => Mark::Hot,
        }
    }

    /// Whether the waker slot is filled, for the JoinHandle.
    pub(crate) fn has_join_waker(&self) -> bool {
        // Ordering: Acquire pairs with `joiner_woken`, the only one beside this handle that clears the bit:
        // the task has read the slot before, and the handle writes it next.
        self.0.load(Ordering::Acquire) & JOIN_WAKER != 0
    }

    /// Gives the filled waker slot to the task, or takes it back from the task. For the JoinHandle, which
    /// knows whose it is. `Ready`: the task is complete, and nothing has changed; the output is there.
    pub(crate) fn flip_join_waker(&self) -> Poll<()> {
        self.update(|word| {
            if word & COMPLETE != 0 {
                Err(Poll::Ready(()))
            } else {
                Ok((word ^ JOIN_WAKER, Poll::Pending))
            }
        })
    }

    /// The JoinHandle goes away.
    pub(crate) fn drop_join(&self) -> DropJoin {
        self.update(|word| {
            if word & COMPLETE != 0 {
                let slot_is_ours = word & JOIN_WAKER == 0;
                Ok((word & !JOIN_INTEREST, DropJoin::Complete { slot_is_ours }))
            } else if word & JOIN_WAKER != 0 {
                Ok((word & !(JOIN_INTEREST | JOIN_WAKER), DropJoin::DropWaker))
            } else {
                // Not the last reference: the live one is there, because the task is not complete.
                Ok(((word & !JOIN_INTEREST) - REF_ONE, DropJoin::Released))
            }
        })
    }

    pub(crate) fn add_ref(&self) {
        // Ordering: Relaxed, as in Arc: the new reference is made from one that exists.
        if self.0.fetch_add(REF_ONE, Ordering::Relaxed) > MAX_WORD {
            std::process::abort();
        }
    }

    /// Releases a reference.
    pub(crate) fn release(&self) -> Released {
        // Ordering: Release, so that this holder's accesses come before the free; Acquire, so that the
        // holder that frees sees those of all the others.
        let before = self.0.fetch_sub(REF_ONE, Ordering::AcqRel);
        debug_assert!(before >= REF_ONE);
        Released::after(before - REF_ONE)
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
