//! The future whose life is observed, its output, and what counts both.

use super::memory;
use super::model::{IN_FUTURE, IN_OUTPUT, IN_POLL, Plan};
use super::stage::{HeldThread, PATIENCE, Room};
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// Sees what happens to one task. The future and the output hold it, so its count tells whether they live.
#[derive(Default)]
pub(super) struct Witness {
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Default)]
struct Seen {
    polls: usize,
    future_drops: usize,
    made: usize,
    output_drops: usize,
    waker: Option<Waker>,
    /// Where the next poll stays for a while.
    gate: Option<HeldThread>,
}

impl Witness {
    pub(super) fn life(self: &Arc<Self>, plan: Plan) -> Life {
        Life { witness: self.clone(), plan }
    }

    /// Polls, drops of the future, outputs made, drops of the output.
    pub(super) fn counts(&self) -> [usize; 4] {
        let seen = self.seen();
        [seen.polls, seen.future_drops, seen.made, seen.output_drops]
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen());
        self.changed.notify_all();
    }

    /// Waits until so much has happened; that more has is seen by the comparison that follows.
    pub(super) fn wait_for(&self, polls: usize, future_drops: usize) {
        let short = |seen: &mut Seen| seen.polls < polls || seen.future_drops < future_drops;
        let waited = self.changed.wait_timeout_while(self.seen(), PATIENCE, short).unwrap();
        let (seen, gave_up) = waited;
        drop(seen);
        assert!(!gave_up.timed_out(), "a poll, or a drop, that does not come: {:?}", self.counts());
    }

    /// The next poll enters this room, and goes on when it is left.
    pub(super) fn gate(&self) -> Room {
        let (room, held) = Room::new();
        self.seen().gate = Some(held);
        room
    }

    /// The waker that a poll has left.
    pub(super) fn waker(&self) -> Option<Waker> {
        self.seen().waker.clone()
    }

    pub(super) fn take_waker(&self) -> Option<Waker> {
        self.seen().waker.take()
    }
}

/// Aligned as [`memory::ALIGNMENT`] says.
#[repr(align(1024))]
pub(super) struct Life {
    witness: Arc<Witness>,
    plan: Plan,
}

const _: () = assert!(align_of::<Life>() == memory::ALIGNMENT);

impl Life {
    /// Out of the box, whose memory is given back before this returns.
    pub(super) fn unbox(self: Box<Self>) -> Self {
        *self
    }

    /// The same life as a function.
    pub(super) fn call(mut self) -> Output {
        let polled = Pin::new(&mut self).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(output) = polled else { unreachable!("blocking work has no second poll") };
        // Not left to the end of the function: Rust leaks a value that is being returned when a destructor
        // panics (rust-lang/rust#47949).
        drop(self);
        output
    }
}

impl Future for Life {
    type Output = Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output> {
        let (witness, plan) = (&self.witness, self.plan);
        let (mut gate, mut polls) = (None, 0);
        witness.note(|seen| {
            seen.polls += 1;
            seen.waker.get_or_insert_with(|| cx.waker().clone());
            (gate, polls) = (seen.gate.take(), seen.polls);
        });
        gate.into_iter().for_each(HeldThread::stay);
        if plan.wakes.is_none_or(|wakes| polls <= wakes) {
            return Poll::Pending;
        }
        if plan.poll_panics {
            resume_unwind(Box::new(IN_POLL));
        }
        witness.note(|seen| seen.made += 1);
        Poll::Ready(Output { witness: witness.clone(), panics: plan.output_panics })
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.witness.note(|seen| seen.future_drops += 1);
        if self.plan.future_panics {
            resume_unwind(Box::new(IN_FUTURE));
        }
    }
}

pub(super) struct Output {
    witness: Arc<Witness>,
    panics: bool,
}

impl Drop for Output {
    fn drop(&mut self) {
        self.witness.note(|seen| seen.output_drops += 1);
        if self.panics {
            resume_unwind(Box::new(IN_OUTPUT));
        }
    }
}
