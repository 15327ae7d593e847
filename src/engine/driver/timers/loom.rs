//! Models of the timers: a timer fires once or not at all, and no thread sleeps past one.
//!
//! loom knows no time: deadlines lie years ahead, and a model says when they have come.

use super::*;
use crate::engine::driver::Driver;
use crate::engine::sync_shim::atomic::AtomicBool;
use crate::engine::sync_shim::{both_ways, clock, thread};
use crate::engine::wakers::tests::Flag;
use std::time::Duration;

const YEAR: Duration = Duration::from_secs(365 * 86_400);
/// Later than any deadline here.
const THE_END: u64 = u64::MAX - 1;

fn driver() -> Arc<Driver> {
    Driver::new(1).expect("a selector")
}

/// A timer `years` years from now.
fn timer(driver: &Driver, years: u32) -> TimerEntry {
    TimerEntry::new(driver.timers().shard(0).clone(), clock::now() + years * YEAR)
}

fn due(timer: &TimerEntry) -> u64 {
    wheel::due_at(since(timer.shard.epoch, timer.deadline))
}

fn poll(timer: &mut TimerEntry, waker: &Waker) -> Poll<()> {
    timer.poll(&mut Context::from_waker(waker)).map(|fired| fired.expect("the driver is there"))
}

/// A timer that waits.
struct Waiting {
    driver: Arc<Driver>,
    timer: TimerEntry,
    flag: Arc<Flag>,
    /// Sets the flag.
    waker: Waker,
    /// When the driver has something to do for it.
    first: u64,
}

impl Waiting {
    fn new() -> Self {
        let driver = driver();
        let (flag, waker) = Flag::new();
        let mut timer = timer(&driver, 1);
        assert!(poll(&mut timer, &waker).is_pending());
        let first = driver.timers().next_deadline().expect("just registered");
        Self { driver, timer, flag, waker, first }
    }
}

/// Expires what is due at `now`; returns how many timers that were.
fn expire(driver: &Driver, now: u64) -> usize {
    let mut wakes = Vec::new();
    driver.timers().expire(now, &mut wakes);
    wakes.len()
}

/// Expires what is due at `now` on another thread, and calls the wakers.
fn expire_beside(driver: &Arc<Driver>, now: u64) -> thread::JoinHandle<()> {
    let driver = driver.clone();
    thread::spawn(move || {
        let mut wakes = Vec::new();
        driver.timers().expire(now, &mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    })
}

/// A timer is dropped while it fires: its waker is called or dropped, once, and nothing is left of it.
#[test]
fn a_timer_that_is_dropped_while_it_fires_leaves_nothing() {
    both_ways(|way| {
        let driver = driver();
        let (flag, waker) = Flag::new();
        let mut timer = timer(&driver, 1);
        assert!(poll(&mut timer, &waker).is_pending());
        drop(waker);
        let dropped = Arc::new(AtomicBool::new(false));
        let holder = {
            let (driver, dropped) = (driver.clone(), dropped.clone());
            thread::spawn(move || {
                let mut wakes = Vec::new();
                let too_late = dropped.load(Ordering::Acquire);
                driver.timers().expire(THE_END, &mut wakes);
                assert!(wakes.is_empty() || !too_late, "a timer that was gone has fired");
            })
        };
        way.here();
        drop(timer);
        dropped.store(true, Ordering::Release);
        holder.join().expect("no panic");
        assert_eq!(Arc::strong_count(&flag), 1, "the waker is kept");
        driver.timers().expire(THE_END, &mut Vec::new());
        assert_eq!(driver.timers().next_deadline(), None);
    });
}

/// A timer changes hands while it fires: the task that polled it last finds it fired, or is woken.
#[test]
fn a_timer_that_changes_hands_while_it_fires_wakes_its_new_owner() {
    both_ways(|way| {
        let driver = driver();
        let ((_, old), (flag, new)) = (Flag::new(), Flag::new());
        let mut timer = timer(&driver, 1);
        assert!(poll(&mut timer, &old).is_pending());
        let holder = expire_beside(&driver, THE_END);
        way.here();
        let polled = poll(&mut timer, &new);
        holder.join().expect("no panic");
        assert!(polled.is_ready() || flag.is_set());
    });
}

/// A timer is put off while its first deadline expires: it has fired, and its task will poll it again, or it
/// waits for the new deadline and fires then.
#[test]
fn a_timer_that_is_put_off_while_it_fires_is_not_lost() {
    both_ways(|way| {
        let Waiting { driver, mut timer, flag, waker, first } = Waiting::new();
        let holder = expire_beside(&driver, first);
        way.here();
        timer.reset(timer.deadline() + 2 * YEAR);
        holder.join().expect("no panic");
        if flag.is_set() {
            assert!(poll(&mut timer, &waker).is_pending(), "registers again");
        }
        assert!(driver.timers().next_deadline().expect("it waits") <= due(&timer));
        assert_eq!(expire(&driver, THE_END), 1);
    });
}

/// A timer that was put off is brought forward again, to a deadline after its first one, while that expires:
/// it does not fire with the first one, and is in the bound afterwards.
#[test]
fn a_timer_that_is_brought_forward_while_an_earlier_deadline_expires_fires_in_time() {
    both_ways(|way| {
        let Waiting { driver, mut timer, flag, first, .. } = Waiting::new();
        timer.reset(timer.deadline() + 4 * YEAR);
        let holder = expire_beside(&driver, first);
        way.here();
        timer.reset(timer.deadline() - 2 * YEAR);
        holder.join().expect("no panic");
        assert!(!flag.is_set(), "fired for a deadline that was put off");
        assert!(driver.timers().next_deadline().expect("it waits") <= due(&timer));
        assert_eq!(expire(&driver, due(&timer)), 1);
    });
}

/// A timer is reset to the past while its first deadline expires: one of the two wakes its task, the next
/// poll is ready, and nothing is left.
#[test]
fn a_timer_that_is_reset_to_the_past_while_it_fires_wakes_its_task() {
    both_ways(|way| {
        let Waiting { driver, mut timer, flag, waker, first } = Waiting::new();
        let holder = expire_beside(&driver, first);
        way.here();
        timer.reset(timer.deadline() - YEAR);
        assert!(poll(&mut timer, &waker).is_ready());
        holder.join().expect("no panic");
        assert!(flag.is_set());
        assert_eq!(expire(&driver, THE_END), 0);
    });
}

/// A timer is registered while others expire, which sets the shard's bound anew: it is in the bound
/// afterwards.
#[test]
fn a_timer_registered_while_others_expire_is_in_the_bound() {
    both_ways(|way| {
        let driver = driver();
        let (_, waker) = Flag::new();
        let (mut early, mut late) = (timer(&driver, 1), timer(&driver, 3));
        assert!(poll(&mut early, &waker).is_pending());
        let first = driver.timers().next_deadline().expect("just registered");
        let holder = expire_beside(&driver, first);
        way.here();
        assert!(poll(&mut late, &waker).is_pending());
        holder.join().expect("no panic");
        let next = driver.timers().next_deadline().expect("one timer waits");
        assert!(next <= due(&late));
    });
}

/// A timer is registered while the timers are shut down: it is refused, or its waker is among those called.
#[test]
fn a_timer_registered_during_the_shutdown_is_told() {
    both_ways(|way| {
        let driver = driver();
        let (flag, waker) = Flag::new();
        let closer = {
            let driver = driver.clone();
            thread::spawn(move || {
                let mut wakes = Vec::new();
                driver.timers().close(&mut wakes);
                wakes.into_iter().for_each(Waker::wake);
            })
        };
        way.here();
        let shard = driver.timers().shard(0);
        let registered = shard.register(7, &waker);
        closer.join().expect("no panic");
        assert_eq!(registered.is_some(), flag.is_set());
        assert_eq!(driver.timers().next_deadline(), None);
    });
}

/// The first timer is registered while the holder of the seat goes to sleep without an end: the holder sees
/// it, or is rung.
#[test]
fn the_first_timer_is_seen_by_a_holder_that_falls_asleep() {
    ::loom::model(|| {
        let driver = driver();
        let registrar = {
            let driver = driver.clone();
            thread::spawn(move || {
                let (_, waker) = Flag::new();
                let mut timer = timer(&driver, 1);
                assert!(poll(&mut timer, &waker).is_pending());
                timer
            })
        };
        driver.try_seat().expect("the seat is free").turn(None, &mut Vec::new());
        let timer = registrar.join().expect("no panic");
        assert!(driver.timers().next_deadline().is_some());
        drop(timer);
    });
}
