//! `Listeners`: the listeners of one runtime for one kind of signals.
//!
//! A listener compares the count of the signals, which is the process's (`signals.rs`), with the one that it
//! was told of last. So it can go on in the `Listeners` of another runtime.
//!
//! A wake is not lost, because the two sides take the same lock. A listener looks at the count and, if it has
//! not changed, leaves its waker, both under one hold of the lock. The source (`source.rs`) calls `report`
//! after each signal; this looks at the count, and takes the wakers if it has changed. Either the listener
//! comes first, then `report` finds its waker. Or `report` comes first, then the listener sees the count that
//! `report` saw, or a later one.

use super::kind::SignalKind;
use super::positions::Asker;
use super::signals::Signals;
use crate::engine::sync_shim::Mutex;
use crate::engine::task::waker::set_note;
use crate::engine::wakers;
use crate::primitive_kind::PrimitiveKind;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

pub(super) struct Listeners {
    signals: Arc<Signals>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The count at the last report.
    reported: usize,
    has_ended: bool,
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
    pub(super) fn new(signals: Arc<Signals>) -> Self {
        // Every listener is made after this, and so sees this count, or a later one.
        let state = State { reported: signals.count(), ..State::default() };
        Self { signals, state: Mutex::new(state) }
    }

    pub(super) fn kind(&self) -> SignalKind {
        self.signals.kind()
    }

    /// Returns a new listener of the current task.
    pub(super) fn listen(&self) -> Listener {
        let asker = Asker::current();
        let seen = self.signals.first(asker);
        Listener { number: self.number(), seen, asker }
    }

    fn number(&self) -> u64 {
        let mut state = self.state.lock();
        state.next += 1;
        state.next
    }

    /// Moves a listener of this runtime to `other`, where it goes on with the same signal.
    pub(super) fn move_to(&self, other: &Self, listener: &mut Listener) {
        let waker = self.state.lock().waiting.remove(&listener.number);
        listener.number = other.number();
        wakers::drop_all(waker);
    }

    /// Ready when there was a signal that this listener was not told of, or with `None` if there was none and
    /// the runtime has ended.
    pub(super) fn poll(&self, listener: &mut Listener, cx: &mut Context<'_>) -> Poll<Option<()>> {
        listener.asker = Asker::current();
        // Cloned and dropped without the lock: both may run a task's own code.
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        let count = self.signals.count();
        let (answer, unused) = if count != listener.seen {
            listener.seen = count;
            self.signals.told(listener.asker, count);
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
        self.signals.left(listener.asker, listener.seen);
        let waker = self.state.lock().waiting.remove(&listener.number);
        wakers::drop_all(waker);
    }

    /// Moves the wakers of the listeners into `wakes` if there was a signal since the last report, or if the
    /// runtime has ended; calls none.
    pub(super) fn report(&self, has_ended: bool, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        let count = self.signals.count();
        state.has_ended |= has_ended;
        if count != state.reported || has_ended {
            state.reported = count;
            wakes.extend(std::mem::take(&mut state.waiting).into_values());
        }
    }
}
