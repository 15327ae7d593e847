//! Models of "no signal is lost" (source.rs): the production look and the production readiness. The pair of
//! sockets is a flag, and a signal a thread that writes and reports, as handler and driver do one after the
//! other.

use super::look;
use crate::engine::driver::readiness::{Direction, Readiness, Ready};
use crate::engine::park::Parker;
use crate::engine::park::loom::waker_of;
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::engine::sync_shim::{Arc, Way, thread};
use std::task::{Context, Poll, Waker};

struct SignalSource {
    count: AtomicUsize,
    /// There is a byte in the socket.
    is_full: AtomicBool,
    readiness: Readiness,
}

impl SignalSource {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            count: AtomicUsize::new(0),
            is_full: AtomicBool::new(false),
            readiness: Readiness::new(mio::Interest::READABLE),
        })
    }

    fn signal(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        // AcqRel: the system orders a write and the read that takes the byte.
        self.is_full.swap(true, Ordering::AcqRel);
        let mut wakes = Vec::new();
        self.readiness.set(Ready::READABLE, &mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    }

    /// `SignalSource::poll_drain`.
    fn drain(&self, cx: &mut Context<'_>) -> bool {
        loop {
            let Poll::Ready(event) = self.readiness.poll_ready(cx, Direction::Read) else {
                return true;
            };
            while self.is_full.swap(false, Ordering::AcqRel) {}
            fence(Ordering::Release);
            self.readiness.clear_would_block(event.expect("not shut down"), Direction::Read);
        }
    }

    /// Sleeps until it has seen `signals`; for ever if nothing wakes it, which loom reports as a deadlock.
    fn listen(&self, signals: usize) {
        let parker = Parker::new();
        let waker = waker_of(&parker);
        let mut cx = Context::from_waker(&waker);
        let mut seen = 0;
        while seen != signals {
            let count = || self.count.load(Ordering::Relaxed);
            if look(&mut seen, || self.drain(&mut cx), count).is_pending() {
                parker.park();
            }
        }
    }
}

fn beside(source: &Arc<SignalSource>, f: fn(&SignalSource)) -> thread::JoinHandle<()> {
    let source = source.clone();
    thread::spawn(move || f(&source))
}

/// A listener reads and clears again and again, so each preemption more costs ten times as long.
fn bounded(f: impl Fn(Way) + Copy + Send + Sync + 'static) {
    for way in Way::BOTH {
        let mut builder = ::loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(move || f(way));
    }
}

/// Two signals come while a listener looks and lies down: it sees the second one.
#[test]
fn a_signal_beside_a_listener_that_lies_down_is_seen() {
    bounded(|way| {
        let source = SignalSource::new();
        let signals = beside(&source, |source| (0..2).for_each(|_| source.signal()));
        way.here();
        source.listen(2);
        signals.join().expect("no panic");
    });
}

/// One listener takes the byte that tells two of a signal: the other one sees the signal, too.
#[test]
fn a_signal_whose_byte_another_listener_has_taken_is_seen() {
    bounded(|way| {
        let source = SignalSource::new();
        let signal = beside(&source, SignalSource::signal);
        way.here();
        let other = beside(&source, |source| source.listen(1));
        source.listen(1);
        signal.join().expect("no panic");
        other.join().expect("no panic");
    });
}
