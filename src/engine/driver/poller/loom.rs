//! Models of the alarm word: the thread that sleeps is rung if there is a reason, wherever the two sides
//! meet.

use std::sync::Arc;
use std::time::Duration;

use ::loom::sync::{Condvar, Mutex};
use ::loom::thread;

use super::{AlarmWord, COALESCING};
use crate::engine::driver::Driver;
use crate::engine::park::{Parker, Unpark};
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};

/// Stands for the poller: a ring is kept until the next poll, which uses it up.
struct Poller {
    rings: Mutex<Rings>,
    bell: Condvar,
}

struct Rings {
    pending: bool,
    total: u32,
}

impl Poller {
    fn new() -> Self {
        Self { rings: Mutex::new(Rings { pending: false, total: 0 }), bell: Condvar::new() }
    }

    fn ring(&self) {
        let mut rings = self.rings.lock().unwrap();
        rings.pending = true;
        rings.total += 1;
        self.bell.notify_one();
    }

    /// Blocks for ever unless a thread rings: loom reports that as a deadlock.
    fn poll(&self) {
        let mut rings = self.rings.lock().unwrap();
        while !rings.pending {
            rings = self.bell.wait(rings).unwrap();
        }
        rings.pending = false;
    }

    fn rings(&self) -> u32 {
        self.rings.lock().unwrap().total
    }
}

struct Model {
    word: AlarmWord,
    poller: Poller,
    /// A shard's earliest deadline.
    next: AtomicU64,
    /// Something that was written before a `wake`.
    work: AtomicU64,
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            word: AlarmWord::new(),
            poller: Poller::new(),
            next: AtomicU64::new(u64::MAX),
            work: AtomicU64::new(0),
        })
    }

    fn wake(&self) {
        if self.word.notify() {
            self.poller.ring();
        }
    }

    fn register(&self, deadline: u64) {
        self.next.store(deadline, Ordering::Relaxed);
        if self.word.deadline_moved(deadline) {
            self.poller.ring();
        }
    }

    /// One sleep without an end, except that a timer would end it.
    fn sleep(&self) {
        if !self.word.announce(u64::MAX) {
            return;
        }
        if self.next.load(Ordering::Relaxed) == u64::MAX {
            self.poller.poll();
        }
        self.word.rise();
    }
}

/// Timers are coalesced: a new deadline does not end that, nor is it the deadline's business what does.
#[test]
fn a_coalesced_turn_is_ended_by_a_wake_and_not_by_a_deadline() {
    ::loom::model(|| {
        let model = Model::new();
        let registrar = thread::spawn({
            let model = model.clone();
            move || model.register(7)
        });
        let other = thread::spawn({
            let model = model.clone();
            move || {
                model.work.store(1, Ordering::Relaxed);
                let rings = model.word.notify();
                if rings {
                    model.poller.ring();
                }
                rings
            }
        });
        if model.word.announce(COALESCING) {
            model.poller.poll();
            model.word.rise();
        }
        assert_eq!(model.work.load(Ordering::Relaxed), 1);
        registrar.join().unwrap();
        assert_eq!(other.join().unwrap(), model.poller.rings() == 1);
    });
}

/// The wake may come before the sleep, between its announcement and the poll, or after.
#[test]
fn a_wake_ends_the_sleep_and_brings_what_was_written_before_it() {
    ::loom::model(|| {
        let model = Model::new();
        let other = thread::spawn({
            let model = model.clone();
            move || {
                // Relaxed on purpose: only the alarm word may carry it over.
                model.work.store(1, Ordering::Relaxed);
                model.wake();
            }
        });
        model.sleep();
        assert_eq!(model.work.load(Ordering::Relaxed), 1);
        other.join().unwrap();
    });
}

/// Two wakes ring at most once per sleep, and neither's work stays unseen when its wake has come in
/// time.
#[test]
fn wakes_of_one_sleep_ring_once() {
    ::loom::model(|| {
        let model = Model::new();
        let others = [0, 1].map(|_| {
            let model = model.clone();
            thread::spawn(move || {
                model.work.fetch_add(1, Ordering::Relaxed);
                model.wake();
            })
        });
        model.sleep();
        // The second wake may have come too late for that sleep: then it calls off the next one.
        if model.work.load(Ordering::Relaxed) < 2 {
            model.sleep();
        }
        assert_eq!(model.work.load(Ordering::Relaxed), 2);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(model.poller.rings() <= 2, "more rings than sleeps");
    });
}

/// Without either fence the holder sleeps past the new deadline.
#[test]
fn an_earlier_deadline_is_seen_or_rings() {
    ::loom::model(|| {
        let model = Model::new();
        let other = thread::spawn({
            let model = model.clone();
            move || model.register(7)
        });
        model.sleep();
        other.join().unwrap();
    });
}

/// Both reasons at once: the ring of one may stand for the other, but both have been written down.
#[test]
fn a_deadline_and_a_wake_together() {
    ::loom::model(|| {
        let model = Model::new();
        let registrar = thread::spawn({
            let model = model.clone();
            move || model.register(7)
        });
        let waker = thread::spawn({
            let model = model.clone();
            move || model.wake()
        });
        model.sleep();
        registrar.join().unwrap();
        waker.join().unwrap();
        assert!(model.poller.rings() <= 1, "more rings than sleeps");
    });
}

/// The holder's place in the poller, with a production driver: its poller is the system's.
fn driver() -> Arc<Driver> {
    Driver::new(1).expect("a selector")
}

/// A thread takes the seat while it is unparked: it does not block, or the poller is woken for it; and it
/// sees what was published before.
#[test]
fn a_thread_in_the_seat_is_woken_through_the_poller() {
    ::loom::model(|| {
        let (driver, parker) = (driver(), Parker::new());
        let published = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let (driver, published, unparker) =
                (driver.clone(), published.clone(), parker.unparker());
            move || {
                published.store(1, Ordering::Relaxed);
                if unparker.unpark() == Unpark::Poller {
                    driver.wake();
                }
            }
        });
        let mut seat = driver.try_seat().expect("the seat is free");
        parker.sit(|| seat.turn(None, &mut Vec::new()));
        drop(seat);
        assert_eq!(published.load(Ordering::Relaxed), 1);
        other.join().unwrap();
    });
}

/// The seat changes hands: its holder leaves with an event of its own, another thread sits down. A wake that
/// comes around that is seen by the one, or ends the sleep of the other.
#[test]
fn a_wake_while_the_seat_changes_hands_reaches_one_of_the_two() {
    ::loom::model(|| {
        let driver = driver();
        let work = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let (driver, work) = (driver.clone(), work.clone());
            move || {
                work.store(1, Ordering::Relaxed);
                driver.wake();
            }
        });
        // A sleep that ends by itself.
        driver
            .try_seat()
            .expect("the seat is free")
            .turn(Some(Duration::from_millis(1)), &mut Vec::new());
        let leaver = work.load(Ordering::Relaxed);
        let next = thread::spawn({
            let (driver, work) = (driver.clone(), work.clone());
            move || {
                let mut seat = driver.try_seat().expect("it has been left");
                if leaver == 0 {
                    seat.turn(None, &mut Vec::new());
                    assert_eq!(work.load(Ordering::Relaxed), 1);
                }
            }
        });
        next.join().unwrap();
        other.join().unwrap();
    });
}

/// A thread that gets the seat finds whatever the one before it has left there: one holder at a time, and the
/// count of comings and goings is whole.
#[test]
fn two_threads_never_sit_at_once() {
    ::loom::model(|| {
        let driver = driver();
        let sit = |driver: &Driver| {
            let seat = driver.try_seat();
            seat.map(|mut seat| seat.turn(Some(Duration::ZERO), &mut Vec::new())).is_some()
        };
        let other = thread::spawn({
            let driver = driver.clone();
            move || sit(&driver)
        });
        let mine = sit(&driver);
        let theirs = other.join().unwrap();
        assert!(mine || theirs, "the first one to ask gets it");
        assert_eq!(driver.attendance(), u64::from(mine) + u64::from(theirs));
        assert!(!driver.is_attended());
    });
}
