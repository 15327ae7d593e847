//! `Signals`: how many signals of one kind the process was sent, and of which of them the listeners were
//! told.
//!
//! There is one for each kind that there was ever a listener for. It lasts as long as the process, as does
//! the handler that counts. So no signal is lost between two listeners, nor between two runtimes.
//! `positions.rs` says from which count on a new listener listens.
//!
//! Rejected: a count for each runtime, from its first listener to its end. A signal that came after one
//! runtime and before the next was lost, and a listener could not go on in another runtime than its first.

#![allow(unsafe_code)]

use super::kind::SignalKind;
use super::positions::{Asker, Positions};
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering, fence};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::sync::Arc;

/// Of all kinds that there was ever a listener for. Not the shim's lock, because no model has a process to
/// itself.
static SIGNALS: parking_lot::Mutex<BTreeMap<c_int, Arc<Signals>>> =
    parking_lot::Mutex::new(BTreeMap::new());

pub(super) struct Signals {
    kind: SignalKind,
    /// How many there were since the handler was installed. It may come round. A listener asks only whether
    /// it has changed, and would have to sleep through 2^32 signals, at the least, to be mistaken.
    count: AtomicUsize,
    positions: parking_lot::Mutex<Positions>,
}

impl Signals {
    /// Returns the signals of this kind, which are counted from now on.
    ///
    /// # Errors
    ///
    /// The system's, if it refuses the handler.
    pub(super) fn of(kind: SignalKind) -> io::Result<Arc<Self>> {
        let signal = kind.as_raw_value();
        let mut all = SIGNALS.lock();
        if let Some(signals) = all.get(&signal) {
            return Ok(signals.clone());
        }
        let signals = Arc::new(Self::new(kind));
        let counted = signals.clone();
        // SAFETY: the action may run in a signal handler, because all it does is an atomic addition and a
        // fence. It allocates nothing, takes no lock and cannot panic.
        unsafe { signal_hook_registry::register(signal, move || counted.raise()) }?;
        all.insert(signal, signals.clone());
        Ok(signals)
    }

    pub(super) fn new(kind: SignalKind) -> Self {
        let positions = parking_lot::Mutex::new(Positions::default());
        Self { kind, count: AtomicUsize::new(0), positions }
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

    pub(super) fn count(&self) -> usize {
        // Ordering: Relaxed. What `Listeners::report` sees is ordered by the fences; that a listener sees no
        // less is a matter of the lock, under which both look.
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the number of the last signal that a new listener of `asker` is not told of any more.
    pub(super) fn first(&self, asker: Asker) -> usize {
        self.positions.lock().first(asker)
    }

    /// A listener that `asker` polls is told of all signals up to `position`.
    pub(super) fn told(&self, asker: Asker, position: usize) {
        self.positions.lock().told(asker, position);
    }

    /// A listener that `asker` polled last is dropped at `position`.
    pub(super) fn left(&self, asker: Asker, position: usize) {
        self.positions.lock().left(asker, position);
    }
}
