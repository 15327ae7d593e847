//! Models of "no signal is lost" (source.rs, signals.rs): the production look, the production listeners and
//! the production readiness. The pair of sockets is a flag, and a signal a thread that counts, writes and
//! reports, as handler and driver do one after the other.

use super::super::kind::SignalKind;
use super::super::positions::Asker;
use super::super::signals::Signals;
use super::look;
use crate::engine::driver::readiness::{Direction, Readiness, Ready};
use crate::engine::park::Parker;
use crate::engine::park::loom::waker_of;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{Way, thread};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

struct SignalSource {
    signals: Arc<Signals>,
    /// There is a byte in the socket.
    is_full: AtomicBool,
    readiness: Readiness,
}

impl SignalSource {
    fn new() -> Arc<Self> {
        Self::of(Arc::new(Signals::new(SignalKind::user_defined1())))
    }

    fn of(signals: Arc<Signals>) -> Arc<Self> {
        let source = Arc::new(Self {
            signals,
            is_full: AtomicBool::new(false),
            readiness: Readiness::new(mio::Interest::READABLE),
        });
        source.signals.begin_reports();
        source.look();
        source
    }

    fn signal(&self) {
        self.signals.raise();
        // AcqRel: the system orders a write and the read that takes the byte.
        self.is_full.swap(true, Ordering::AcqRel);
        let mut wakes = Vec::new();
        self.readiness.set(Ready::READABLE, &mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    }

    /// A signal to a handler that takes the socket for full if there is a byte in it.
    fn signal_or_find_it_full(&self) {
        self.signals.raise();
        // Relaxed: the system looks for room without a lock.
        if self.is_full.load(Ordering::Relaxed) {
            return;
        }
        self.is_full.swap(true, Ordering::AcqRel);
        let mut wakes = Vec::new();
        self.readiness.set(Ready::READABLE, &mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    }

    /// `SignalSource::look`.
    fn look(self: &Arc<Self>) {
        let waker = Waker::from(self.clone());
        let drain = || self.drain(&mut Context::from_waker(&waker));
        look(drain, |has_ended, wakes| {
            self.signals.report(wakes);
            if has_ended {
                self.signals.end_reports(wakes);
            }
        });
    }

    /// `SignalSource::poll_drain`.
    fn drain(&self, cx: &mut Context<'_>) -> bool {
        loop {
            let Poll::Ready(event) = self.readiness.poll_ready(cx, Direction::Read) else {
                return false;
            };
            let Ok(event) = event else { return true };
            while self.is_full.swap(false, Ordering::AcqRel) {}
            self.readiness.clear_would_block(event, Direction::Read);
        }
    }

    /// Sleeps until it has seen `signals`; for ever if nothing wakes it, which loom reports as a deadlock.
    fn listen(&self, signals: usize) {
        let parker = Parker::new();
        let waker = waker_of(&parker);
        let mut listener = self.signals.listen(Asker::current(0));
        while listener.seen != signals {
            if self
                .signals
                .poll(&mut listener, Asker::current(0), &mut Context::from_waker(&waker))
                .is_pending()
            {
                parker.park();
            }
        }
        self.signals.leave(&listener);
    }

    /// The driver is closed. Its waker refers to the source, which would never be freed.
    fn close(&self) {
        let mut wakes = Vec::new();
        self.readiness.shutdown(&mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    }
}

impl Wake for SignalSource {
    fn wake(self: Arc<Self>) {
        self.look();
    }
}

fn beside(source: &Arc<SignalSource>, f: fn(&SignalSource)) -> thread::JoinHandle<()> {
    let source = source.clone();
    thread::spawn(move || f(&source))
}

/// A look reads and clears again and again, so each preemption more costs ten times as long.
fn bounded(f: impl Fn(Way) + Copy + Send + Sync + 'static) {
    for way in Way::BOTH {
        let mut builder = ::loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(move || f(way));
    }
}

/// Two threads have one signal each, for these sources, and a listener sees both.
fn two_signals_are_seen(
    way: Way,
    [one, other]: [&Arc<SignalSource>; 2],
    signal: fn(&SignalSource),
) {
    let signals = [one, other].map(|source| beside(source, signal));
    way.here();
    one.listen(2);
    signals.into_iter().for_each(|thread| thread.join().expect("no panic"));
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
        source.close();
    });
}

/// Two threads read of signals at once, so that one of them may take the byte of the other's.
#[test]
fn a_signal_whose_byte_another_look_has_taken_is_seen() {
    bounded(|way| {
        let source = SignalSource::new();
        two_signals_are_seen(way, [&source; 2], SignalSource::signal);
        source.close();
    });
}

/// Each of two runtimes reports one of two signals, as if no thread drove the other one then.
#[test]
fn a_signal_is_seen_whichever_runtime_reports_it() {
    bounded(|way| {
        let source = SignalSource::new();
        let other = SignalSource::of(source.signals.clone());
        two_signals_are_seen(way, [&source, &other], SignalSource::signal);
        source.close();
        other.close();
    });
}

/// One of two signals may find the byte of the other one in the socket, which has room for no more. Without
/// the two fences the look that takes the byte may miss its count.
#[test]
fn a_signal_that_finds_the_socket_full_is_seen() {
    bounded(|way| {
        let source = SignalSource::new();
        two_signals_are_seen(way, [&source; 2], SignalSource::signal_or_find_it_full);
        source.close();
    });
}

/// One look wakes all listeners.
#[test]
fn a_signal_is_seen_by_two_listeners() {
    bounded(|way| {
        let source = SignalSource::new();
        let signal = beside(&source, SignalSource::signal);
        way.here();
        let other = beside(&source, |source| source.listen(1));
        source.listen(1);
        signal.join().expect("no panic");
        other.join().expect("no panic");
        source.close();
    });
}

/// A listener that lies down while the runtime ends is told.
#[test]
fn a_listener_is_told_of_the_end_of_its_runtime() {
    bounded(|way| {
        let source = SignalSource::new();
        let end = beside(&source, SignalSource::close);
        way.here();
        let parker = Parker::new();
        let waker = waker_of(&parker);
        let mut listener = source.signals.listen(Asker::current(0));
        let mut poll = || {
            source.signals.poll(&mut listener, Asker::current(0), &mut Context::from_waker(&waker))
        };
        while poll() != Poll::Ready(None) {
            parker.park();
        }
        end.join().expect("no panic");
    });
}
