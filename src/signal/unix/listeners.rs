//! `Listeners`: the listeners of one runtime for one kind of signals, and how many signals there were.
//!
//! The signal handler raises the count and does nothing else here. A listener compares the count with the one
//! that it was told of last. The count stays when the last listener is dropped, so a signal between two
//! listeners is not lost; from which count on the next one listens is said by `positions`.
//!
//! A wake is not lost, because the two sides take the same lock. A listener looks at the count and, if it has
//! not changed, leaves its waker, both under one hold of the lock. The source (`source.rs`) calls `report`
//! after each signal; this looks at the count, and takes the wakers if it has changed. Either the listener
//! comes first, then `report` finds its waker. Or `report` comes first, then the listener sees the count that
//! `report` saw, or a later one.

use super::kind::SignalKind;
use super::positions::{Asker, Positions};
use crate::engine::sync_shim::Mutex;
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering, fence};
use crate::engine::task::waker::set_note;
use crate::engine::wakers;
use crate::primitive_kind::PrimitiveKind;
use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

pub(super) struct Listeners {
    kind: SignalKind,
    /// How many signals there were since the handler was installed for this runtime. It may come round. A
    /// listener asks only whether it has changed, and would have to sleep through 2^32 signals, at the least,
    /// to be mistaken.
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The count at the last report.
    reported: usize,
    has_ended: bool,
    positions: Positions,
    /// The number of the next listener.
    next: u64,
    /// The wakers of the listeners that wait, by the listeners' numbers.
    waiting: BTreeMap<u64, Waker>,
}

/// One listener, as [`Listeners`] knows it.
pub(super) struct Listener {
    number: u64,
    /// The count that it was told of last.
    pub(super) seen: usize,
    /// What has polled it last.
    asker: Asker,
}

impl Listeners {
    pub(super) fn new(kind: SignalKind) -> Self {
        Self { kind, count: AtomicUsize::new(0), state: Mutex::new(State::default()) }
    }

    pub(super) fn kind(&self) -> SignalKind {
        self.kind
    }

    /// Counts a signal. A signal handler may call it: all it does is an atomic addition and a fence.
    pub(super) fn raise(&self) {
        // Ordering: Relaxed; the fence orders it before the handler's write to the source's socket.
        self.count.fetch_add(1, Ordering::Relaxed);
        // Ordering: partner of the fence in `source::look`; see the header of `source.rs`.
        fence(Ordering::SeqCst);
    }

    fn count(&self) -> usize {
        // Ordering: Relaxed. What `report` sees is ordered by the fences; that a listener sees no less is a
        // matter of the lock, under which both look.
        self.count.load(Ordering::Relaxed)
    }

    /// Returns a new listener of the current task.
    pub(super) fn listen(&self) -> Listener {
        let asker = Asker::current();
        let mut state = self.state.lock();
        state.next += 1;
        Listener { number: state.next, seen: state.positions.first(asker), asker }
    }

    /// Ready when there was a signal that this listener was not told of, or with `None` if there was none and
    /// the runtime has ended.
    pub(super) fn poll(&self, listener: &mut Listener, cx: &mut Context<'_>) -> Poll<Option<()>> {
        listener.asker = Asker::current();
        // Cloned and dropped without the lock: both may run a task's own code.
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        let count = self.count();
        let (answer, unused) = if count != listener.seen {
            listener.seen = count;
            state.positions.told(listener.asker, count);
            (Poll::Ready(Some(())), state.waiting.remove(&listener.number))
        } else if state.has_ended {
            (Poll::Ready(None), None)
        } else {
            (Poll::Pending, state.waiting.insert(listener.number, waker))
        };
        drop(state);
        drop(unused);
        if answer.is_pending() {
            set_note(cx.waker(), PrimitiveKind::Signal, self);
        }
        answer
    }

    /// The listener is dropped; the next one of the same task goes on where it was.
    pub(super) fn leave(&self, listener: &Listener) {
        let mut state = self.state.lock();
        state.positions.left(listener.asker, listener.seen);
        let waker = state.waiting.remove(&listener.number);
        drop(state);
        wakers::drop_all(waker);
    }

    /// Moves the wakers of the listeners into `wakes` if there was a signal since the last report, or if the
    /// runtime has ended; calls none.
    pub(super) fn report(&self, has_ended: bool, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        let count = self.count();
        state.has_ended |= has_ended;
        if count != state.reported || has_ended {
            state.reported = count;
            wakes.extend(std::mem::take(&mut state.waiting).into_values());
        }
    }
}
