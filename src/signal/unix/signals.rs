//! `Signals`: the signals of one kind that the process was sent, and the listeners that are told of them.
//!
//! There is one for each kind that there was ever a listener for. It lasts as long as the process, as does
//! the handler that counts. A listener compares the count with the one that it was told of last. So no signal
//! is lost between two listeners, nor between two runtimes. `positions.rs` says from which count on a new
//! listener listens.
//!
//! Each runtime that has had a listener of the kind has a source (`source.rs`), which calls `report` after a
//! signal. The first report after a signal wakes all listeners, whichever runtimes their tasks belong to. So
//! a listener may be polled in any runtime, and is told as long as one of those with a source is driven.
//!
//! Rejected: a count and a list of listeners for each runtime, from its first listener to its end. A signal
//! that came after one runtime and before the next was lost, and a listener was deaf when its runtime had
//! ended, or was not driven.
//!
//! # No wake is lost
//!
//! The two sides take the same lock. A listener looks at the count and, if it has not changed, leaves its
//! waker, both under one hold of the lock. A report looks at the count under the lock, and takes all wakers
//! if it is not the one of the last report. Say that a listener has left its waker with the count `c`. The
//! first report that sees a later count takes that waker: no report before it has seen that count, because
//! the listener saw `c` after that report had released the lock.

#![allow(unsafe_code)]

use super::kind::SignalKind;
use super::positions::{Asker, Positions};
use crate::engine::sync_shim::Mutex;
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering, fence};
use crate::engine::task::waker::set_note;
use crate::engine::wakers;
use crate::primitive_kind::PrimitiveKind;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::process;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Of all kinds that there was ever a listener for, by the process that has counted them: a forked child
/// begins anew. Not the shim's lock, because no model has a process to itself.
static SIGNALS: parking_lot::Mutex<BTreeMap<(u32, c_int), Arc<Signals>>> =
    parking_lot::Mutex::new(BTreeMap::new());

pub(super) struct Signals {
    kind: SignalKind,
    /// How many there were since the handler was installed. It may come round. A listener asks only whether
    /// it has changed, and would have to sleep through 2^32 signals, at the least, to be mistaken.
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The count at the last report.
    reported: usize,
    /// The runtimes that report. Without any, listeners are told of the end.
    sources: usize,
    positions: Positions,
    /// The number of the next listener.
    next: u64,
    /// The wakers of the listeners that wait, by the listeners' numbers.
    waiting: BTreeMap<u64, Waker>,
}

/// One listener, as [`Signals`] knows it.
pub(super) struct Listener {
    number: u64,
    /// The count that it was told of last.
    pub(super) seen: usize,
    /// What has polled it last.
    asker: Asker,
}

impl Signals {
    /// Returns the signals of this kind, which are counted from now on.
    ///
    /// # Errors
    ///
    /// The system's, if it refuses the handler.
    pub(super) fn of(kind: SignalKind) -> io::Result<Arc<Self>> {
        let home = process::id();
        let key = (home, kind.as_raw_value());
        let mut all = SIGNALS.lock();
        if let Some(signals) = all.get(&key) {
            return Ok(signals.clone());
        }
        let signals = Arc::new(Self::new(kind));
        let counted = signals.clone();
        let action = move || {
            // A simulated host shares its handlers with all others.
            if process::id() == home {
                counted.raise();
            }
        };
        // SAFETY: the action may run in a signal handler, because all it does is a system call, an atomic
        // addition and a fence. It allocates nothing, takes no lock and cannot panic.
        unsafe { signal_hook_registry::register(kind.as_raw_value(), action) }?;
        all.insert(key, signals.clone());
        Ok(signals)
    }

    pub(super) fn new(kind: SignalKind) -> Self {
        Self { kind, count: AtomicUsize::new(0), state: Mutex::new(State::default()) }
    }

    pub(super) fn kind(&self) -> SignalKind {
        self.kind
    }

    /// Counts a signal. A signal handler may call it.
    pub(super) fn raise(&self) {
        // Ordering: Relaxed; the fence orders it before the handler's write to a source's socket.
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
    pub(super) fn listen(&self, asker: Asker) -> Listener {
        let mut state = self.state.lock();
        state.next += 1;
        Listener { number: state.next, seen: state.positions.first(asker), asker }
    }

    /// Ready when there was a signal that this listener, which `asker` polls, was not told of, or with `None`
    /// if there was none and no runtime is left that could report one.
    pub(super) fn poll(
        &self,
        listener: &mut Listener,
        asker: Asker,
        cx: &mut Context<'_>,
    ) -> Poll<Option<()>> {
        listener.asker = asker;
        // Cloned and dropped without the lock: both may run a task's own code.
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        let count = self.count();
        let (answer, unused) = if count != listener.seen {
            listener.seen = count;
            state.positions.told(asker, count);
            (Poll::Ready(Some(())), state.waiting.remove(&listener.number))
        } else if state.sources == 0 {
            (Poll::Ready(None), state.waiting.remove(&listener.number))
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

    /// A runtime reports from now on.
    pub(super) fn begin_reports(&self) {
        self.state.lock().sources += 1;
    }

    /// A runtime reports no more. Moves the wakers of the listeners into `wakes`, because it may have been
    /// the last one; calls none.
    pub(super) fn end_reports(&self, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        state.sources -= 1;
        wakes.extend(std::mem::take(&mut state.waiting).into_values());
    }

    /// Moves the wakers of the listeners into `wakes` if there was a signal since the last report; calls
    /// none.
    pub(super) fn report(&self, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        let count = self.count();
        if count != state.reported {
            state.reported = count;
            wakes.extend(std::mem::take(&mut state.waiting).into_values());
        }
    }
}
