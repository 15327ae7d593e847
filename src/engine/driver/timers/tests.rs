use super::{AT_ONCE, Closed, NONE, TimerEntry};
use crate::engine::driver::Driver;
use crate::engine::driver::wheel::due_at;
use crate::engine::wakers::tests::Count;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// A guard against hanging, never the expected time.
const LONG: Duration = Duration::from_secs(20);
const HOUR: Duration = Duration::from_secs(3_600);
const MS: Duration = Duration::from_millis(1);

fn driver(shards: usize) -> Arc<Driver> {
    Driver::new(shards).expect("a poller")
}

fn entry(driver: &Driver, shard: usize, delay: Duration) -> TimerEntry {
    TimerEntry::new(driver.timers().shard(shard).clone(), Instant::now() + delay)
}

fn poll(entry: &mut TimerEntry, waker: &Waker) -> Poll<()> {
    entry.poll(&mut Context::from_waker(waker)).map(|fired| fired.expect("the driver is there"))
}

/// A registered timer that is due soon: in `delay`, or later if this thread was held up for longer.
fn soon(driver: &Driver, shard: usize, mut delay: Duration, waker: &Waker) -> TimerEntry {
    loop {
        let mut timer = entry(driver, shard, delay);
        if poll(&mut timer, waker).is_pending() {
            return timer;
        }
        delay *= 2;
    }
}

/// Turns the driver until `done`, waking outside the seat as every driver of it must.
fn turn_until(driver: &Driver, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    let mut wakes = Vec::new();
    while !done() {
        assert!(Instant::now() < end, "nothing happens");
        let mut seat = driver.try_seat().expect("a free seat");
        seat.turn(Some(LONG), &mut wakes);
        drop(seat);
        wakes.drain(..).for_each(Waker::wake);
    }
}

#[test]
fn a_delayed_poll_waits_a_little_after_a_deadline_that_has_just_passed() {
    let driver = driver(1);
    let (count, waker) = Count::new();
    let poll = |timer: &mut TimerEntry, delay| {
        timer.poll_delayed(&mut Context::from_waker(&waker), delay).map(|fired| fired.is_ok())
    };
    // An hour: longer than this thread can be held up.
    let mut late = entry(&driver, 0, Duration::ZERO);
    assert!(poll(&mut late, HOUR).is_pending());
    assert_eq!(driver.timers().shard(0).len(), 1);
    let mut long_ago = entry(&driver, 0, Duration::ZERO);
    thread::sleep(MS);
    assert_eq!(poll(&mut long_ago, MS), Poll::Ready(true));

    let mut soon_late = entry(&driver, 0, Duration::ZERO);
    let end = soon_late.deadline() + 20 * MS;
    if poll(&mut soon_late, 20 * MS).is_pending() {
        turn_until(&driver, || count.get() > 0);
    }
    assert_eq!(poll(&mut soon_late, 20 * MS), Poll::Ready(true));
    assert!(Instant::now() >= end, "fired early");

    driver.stop_clock().expect("a clock that goes");
    let mut paused = TimerEntry::new(driver.timers().shard(0).clone(), driver.clock().now());
    assert_eq!(poll(&mut paused, HOUR), Poll::Ready(true));
}

#[test]
fn fires_once_and_never_early() {
    let driver = driver(2);
    for delay in [MS / 10, MS, 3 * MS, 20 * MS] {
        let (count, waker) = Count::new();
        let mut timer = soon(&driver, 0, delay, &waker);
        turn_until(&driver, || count.get() > 0);
        assert!(Instant::now() >= timer.deadline());
        assert_eq!(poll(&mut timer, &waker), Poll::Ready(()));
        // Asking again does no harm.
        assert_eq!(poll(&mut timer, &waker), Poll::Ready(()));
        assert_eq!(count.get(), 1);
        assert_eq!(driver.timers().shard(0).len(), 0);
    }
    assert_eq!(driver.timers().next_deadline(), None);
}

#[test]
fn what_is_due_already_is_not_registered() {
    let driver = driver(1);
    let mut timer = entry(&driver, 0, Duration::ZERO);
    assert_eq!(poll(&mut timer, Waker::noop()), Poll::Ready(()));
    let before_the_driver = Instant::now().checked_sub(HOUR).unwrap_or_else(Instant::now);
    let mut timer = TimerEntry::new(driver.timers().shard(0).clone(), before_the_driver);
    assert_eq!(poll(&mut timer, Waker::noop()), Poll::Ready(()));
    assert_eq!(driver.timers().next_deadline(), None);
}

/// Also if an earlier deadline is still known, of a timer that has gone: no thread might ever turn the driver
/// for that one.
#[test]
fn what_is_due_already_waits_for_no_turn() {
    let driver = driver(1);
    let mut gone = soon(&driver, 0, MS, Waker::noop());
    let mut fired = entry(&driver, 0, Duration::ZERO);
    assert_eq!(poll(&mut fired, Waker::noop()), Poll::Ready(()));
    gone.reset(gone.deadline() - HOUR.min(gone.deadline().duration_since(driver.timers().epoch)));
    assert_eq!(poll(&mut fired, Waker::noop()), Poll::Ready(()), "it stays ready");
    drop(gone);
    let mut passed = entry(&driver, 0, Duration::ZERO);
    assert!(driver.timers().next_deadline().is_some(), "the bound is still there");
    assert_eq!(poll(&mut passed, Waker::noop()), Poll::Ready(()));
}

#[test]
fn dropping_forgets_at_once() {
    let driver = driver(1);
    let shard = driver.timers().shard(0);
    let (count, waker) = Count::new();
    let mut timer = entry(&driver, 0, HOUR);
    assert_eq!(shard.len(), 0, "registered at the first poll, not before");
    assert_eq!(poll(&mut timer, &waker), Poll::Pending);
    assert_eq!(shard.len(), 1);
    drop(timer);
    assert_eq!(shard.len(), 0);
    drop(waker);
    assert_eq!(Arc::strong_count(&count), 1, "the waker is gone too");
}

/// It lies in the future of every task that sleeps.
#[test]
fn a_timer_takes_little_room() {
    assert!(size_of::<TimerEntry>() <= 32);
}

#[test]
fn one_turn_fires_every_shard() {
    let driver = driver(4);
    let (count, waker) = Count::new();
    let mut timers: Vec<TimerEntry> = (0..40).map(|n| entry(&driver, n % 4, HOUR)).collect();
    for timer in &mut timers {
        assert_eq!(poll(timer, &waker), Poll::Pending);
    }
    for shard in 0..4 {
        assert_eq!(driver.timers().shard(shard).len(), 10);
    }
    for timer in &mut timers {
        timer.reset(Instant::now() + MS);
    }
    turn_until(&driver, || count.get() == 40);
    assert!(timers.iter_mut().all(|timer| poll(timer, &waker).is_ready()));
}

#[test]
fn no_shards_means_one() {
    let driver = driver(0);
    assert_eq!(poll(&mut entry(&driver, 7, HOUR), Waker::noop()), Poll::Pending);
}

#[test]
fn the_bound_moves_down_only_when_it_must() {
    let driver = driver(1);
    let next = || driver.timers().next_deadline().unwrap_or(NONE);
    let mut first = entry(&driver, 0, HOUR);
    assert_eq!(poll(&mut first, Waker::noop()), Poll::Pending);
    let bound = next();
    assert_eq!(bound, due_at(super::since(driver.timers().epoch, first.deadline())));
    // Timeouts behind it come and go unnoticed.
    let mut later = entry(&driver, 0, 2 * HOUR);
    assert_eq!(poll(&mut later, Waker::noop()), Poll::Pending);
    drop(later);
    assert_eq!(next(), bound);
    // Cancelling leaves the bound, so registering the next timeout does not move it either.
    drop(first);
    let mut second = entry(&driver, 0, HOUR + HOUR / 2);
    assert_eq!(poll(&mut second, Waker::noop()), Poll::Pending);
    assert_eq!(next(), bound);
    // When it has come, it is corrected.
    let mut wakes = Vec::new();
    driver.timers().expire(bound, &mut wakes);
    assert!(wakes.is_empty());
    assert_eq!(next(), due_at(super::since(driver.timers().epoch, second.deadline())));
    // And an earlier one lowers it.
    let mut third = entry(&driver, 0, HOUR / 2);
    assert_eq!(poll(&mut third, Waker::noop()), Poll::Pending);
    assert!(next() < bound);
}

#[test]
fn an_earlier_deadline_ends_the_sleep_of_the_seat() {
    let driver = driver(2);
    let mut far = entry(&driver, 0, HOUR);
    assert_eq!(poll(&mut far, Waker::noop()), Poll::Pending);
    for round in 0..50 {
        let sleeper = {
            let driver = driver.clone();
            thread::spawn(move || {
                let mut wakes = Vec::new();
                let mut seat = driver.try_seat().expect("a free seat");
                let start = Instant::now();
                while wakes.is_empty() && start.elapsed() < LONG {
                    seat.turn(None, &mut wakes);
                }
                wakes.len()
            })
        };
        // Sometimes before the thread sleeps, sometimes after, mostly somewhere in between.
        if round % 3 == 0 {
            thread::sleep(MS);
        }
        let mut near = soon(&driver, 1, MS, Waker::noop());
        assert_eq!(sleeper.join().expect("no panic"), 1);
        assert_eq!(poll(&mut near, Waker::noop()), Poll::Ready(()));
    }
}

#[test]
fn the_last_waker_is_the_one_that_is_woken() {
    let driver = driver(1);
    let (old_count, old) = Count::new();
    let (new_count, new) = Count::new();
    let mut timer = entry(&driver, 0, HOUR);
    assert_eq!(poll(&mut timer, &old), Poll::Pending);
    assert_eq!(poll(&mut timer, &old), Poll::Pending);
    // Ours, the handle, and one in the wheel: the second poll stored nothing.
    assert_eq!(Arc::strong_count(&old_count), 3);
    assert_eq!(poll(&mut timer, &new), Poll::Pending);
    assert_eq!(Arc::strong_count(&old_count), 2);
    timer.reset(Instant::now());
    turn_until(&driver, || new_count.get() > 0);
    assert_eq!((old_count.get(), new_count.get()), (0, 1));
}

/// Owns a timer, as a task does, and drops it when its last waker goes.
struct Owner(#[expect(dead_code, reason = "dropped")] Mutex<Option<TimerEntry>>);

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_waker_may_own_another_timer_of_the_shard() {
    let driver = driver(1);
    let owning = || {
        let mut owned = entry(&driver, 0, HOUR);
        assert_eq!(poll(&mut owned, Waker::noop()), Poll::Pending);
        Waker::from(Arc::new(Owner(Mutex::new(Some(owned)))))
    };
    // Cancelled, replaced, refused: in each case the drop of the waker enters the shard again.
    let mut timer = entry(&driver, 0, HOUR);
    assert_eq!(poll(&mut timer, &owning()), Poll::Pending);
    assert_eq!(driver.timers().shard(0).len(), 2);
    drop(timer);
    assert_eq!(driver.timers().shard(0).len(), 0);

    let mut timer = entry(&driver, 0, HOUR);
    assert_eq!(poll(&mut timer, &owning()), Poll::Pending);
    assert_eq!(poll(&mut timer, Waker::noop()), Poll::Pending);
    assert_eq!(driver.timers().shard(0).len(), 1);

    let last = owning();
    driver.close(&mut Vec::new());
    let mut refused = entry(&driver, 0, HOUR);
    let result = catch_unwind(AssertUnwindSafe(|| poll(&mut refused, &last)));
    assert!(result.is_err());
    drop(last);
}

#[test]
fn a_reset_moves_the_timer_with_its_waker() {
    let driver = driver(1);
    let shard = driver.timers().shard(0);
    let (count, waker) = Count::new();
    let mut timer = entry(&driver, 0, HOUR);
    timer.reset(Instant::now() + 2 * HOUR);
    assert_eq!(shard.len(), 0, "no task waits, nothing to move");
    assert_eq!(poll(&mut timer, &waker), Poll::Pending);

    // Without another poll, the task is woken at the new deadline.
    let deadline = Instant::now() + 5 * MS;
    timer.reset(deadline);
    assert_eq!((shard.len(), timer.deadline()), (1, deadline));
    turn_until(&driver, || count.get() > 0);
    assert!(Instant::now() >= deadline);

    // It has fired, but a reset makes it wait again.
    timer.reset(Instant::now() + HOUR);
    assert_eq!(poll(&mut timer, &waker), Poll::Pending);
    timer.reset(Instant::now());
    turn_until(&driver, || count.get() > 1);
    assert_eq!(poll(&mut timer, &waker), Poll::Ready(()));
    timer.reset(Instant::now() + HOUR);
    assert_eq!(poll(&mut timer, &waker), Poll::Pending);
    drop(timer);
    assert_eq!((shard.len(), count.get()), (0, 2));
}

#[test]
fn a_reset_to_what_is_due_needs_no_turn() {
    let driver = driver(1);
    let shard = driver.timers().shard(0);
    for past in [Duration::ZERO, MS] {
        let (count, waker) = Count::new();
        let mut timer = entry(&driver, 0, HOUR);
        assert_eq!(poll(&mut timer, &waker), Poll::Pending);
        timer.reset(Instant::now().checked_sub(past).unwrap());
        assert_eq!((shard.len(), count.get()), (0, 1), "the task that waits is woken");
        assert_eq!(poll(&mut timer, &waker), Poll::Ready(()));
        assert_eq!(poll(&mut timer, &waker), Poll::Ready(()), "for good");
    }
}

/// The old deadline has passed, too, but no thread has noticed.
#[test]
fn a_reset_from_what_is_due_to_what_is_due_needs_no_turn() {
    let driver = driver(1);
    let (count, waker) = Count::new();
    let mut timer = soon(&driver, 0, MS, &waker);
    let later = timer.deadline() + MS;
    while Instant::now() < later {
        thread::yield_now();
    }
    timer.reset(later);
    assert_eq!((driver.timers().shard(0).len(), count.get()), (0, 1), "the task is woken");
    assert_eq!(poll(&mut timer, &waker), Poll::Ready(()));
}

#[test]
fn a_deadline_that_was_put_off_wakes_no_task() {
    let driver = driver(1);
    let timers = driver.timers();
    let due = |timer: &TimerEntry| due_at(super::since(timers.epoch, timer.deadline()));
    let (count, waker) = Count::new();
    let mut timer = entry(&driver, 0, HOUR);
    assert_eq!(poll(&mut timer, &waker), Poll::Pending);
    let first = due(&timer);
    for hours in 2..5 {
        timer.reset(timer.deadline() + HOUR * hours);
        assert_eq!(timers.next_deadline(), Some(first), "the poller hears nothing of it");
    }
    // The listing tells the deadline that is kept.
    timers.list(|_| Some(()), |(), left| assert!(left > 5 * HOUR));

    let mut wakes = Vec::new();
    timers.expire(first, &mut wakes);
    assert_eq!(timers.next_deadline(), Some(due(&timer)));
    timers.expire(due(&timer) - 1, &mut wakes);
    assert!(wakes.is_empty());
    timers.expire(due(&timer), &mut wakes);
    wakes.drain(..).for_each(Waker::wake);
    assert_eq!(count.get(), 1);
    assert_eq!(poll(&mut timer, &waker), Poll::Ready(()));
}

#[test]
fn a_clock_that_stands_still_jumps_past_a_deadline_that_was_put_off() {
    let driver = driver(2);
    driver.stop_clock().expect("a clock that goes");
    let start = driver.clock().now();
    let at = |shard, hours| {
        let shard = driver.timers().shard(shard).clone();
        let mut timer = TimerEntry::new(shard, start + HOUR * hours);
        assert_eq!(poll(&mut timer, Waker::noop()), Poll::Pending);
        timer
    };
    let mut put_off = [at(0, 1), at(1, 1)];
    let _kept = [at(0, 2), at(1, 4)];
    put_off[0].reset(start + 3 * HOUR);
    put_off[1].reset(start + 5 * HOUR);
    for hours in 2..6 {
        let mut wakes = Vec::new();
        driver.begin_quiescent_point(true, &mut wakes);
        assert_eq!((wakes.len(), driver.clock().now() - start), (1, HOUR * hours));
    }
}

/// Otherwise a timer that another thread registers, between the deadline that was given up and the one that
/// never comes, would not ring, and the holder of the seat would sleep without a limit.
#[test]
fn a_clock_that_stands_still_forgets_a_deadline_that_was_put_off_for_ever() {
    let driver = driver(1);
    driver.stop_clock().expect("a clock that goes");
    let start = driver.clock().now();
    let mut timer = TimerEntry::new(driver.timers().shard(0).clone(), start + HOUR);
    assert_eq!(poll(&mut timer, Waker::noop()), Poll::Pending);
    timer.reset(start + 24 * 365 * 700 * HOUR);
    let mut wakes = Vec::new();
    driver.begin_quiescent_point(true, &mut wakes);
    assert_eq!((wakes.len(), driver.clock().now()), (0, start));
    let far = super::since(driver.timers().epoch, start + 500 * 24 * 365 * HOUR);
    let next = driver.timers().next_deadline();
    assert!(next.is_none_or(|next| next > far), "{next:?}");
}

/// The waker is foreign code: it may panic, and it may come back to the shard.
#[test]
fn a_reset_to_what_is_due_outlives_the_waker_that_it_calls() {
    struct Bad(Mutex<Option<TimerEntry>>);
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().unwrap().take());
            panic!("a waker that panics");
        }
    }

    let driver = driver(1);
    let shard = driver.timers().shard(0);
    let mut other = entry(&driver, 0, HOUR);
    assert_eq!(poll(&mut other, Waker::noop()), Poll::Pending);
    let bad = Waker::from(Arc::new(Bad(Mutex::new(Some(other)))));
    let mut timer = entry(&driver, 0, HOUR);
    assert_eq!(poll(&mut timer, &bad), Poll::Pending);
    assert_eq!(shard.len(), 2);
    timer.reset(Instant::now());
    assert_eq!(shard.len(), 0);
    assert_eq!(poll(&mut timer, Waker::noop()), Poll::Ready(()));
}

#[test]
fn far_deadlines_wait() {
    let driver = driver(1);
    let start = Instant::now();
    for years in [1, 30, 600, 100_000] {
        let Some(deadline) = start.checked_add(Duration::from_secs(years * 365 * 86_400)) else {
            continue;
        };
        let mut timer = TimerEntry::new(driver.timers().shard(0).clone(), deadline);
        assert_eq!(poll(&mut timer, Waker::noop()), Poll::Pending);
        let mut wakes = Vec::new();
        driver.try_seat().unwrap().turn(Some(MS), &mut wakes);
        assert!(wakes.is_empty());
    }
}

#[test]
fn closing_hands_out_every_waker_and_refuses_new_ones() {
    let driver = driver(3);
    let (count, waker) = Count::new();
    let mut waiting: Vec<TimerEntry> = (0..9).map(|n| entry(&driver, n, HOUR)).collect();
    for timer in &mut waiting {
        assert_eq!(poll(timer, &waker), Poll::Pending);
    }
    let mut passing = soon(&driver, 0, MS, &waker);
    let mut wakes = Vec::new();
    driver.close(&mut wakes);
    assert_eq!(wakes.len(), 10);
    wakes.drain(..).for_each(Waker::wake);
    assert_eq!(count.get(), 10);
    assert_eq!(driver.timers().next_deadline(), None);

    let mut late = entry(&driver, 1, HOUR);
    for timer in waiting.iter_mut().chain([&mut late]) {
        // Once more after the error: it does not pretend to be ready.
        for _ in 0..2 {
            let polled = timer.poll(&mut Context::from_waker(&waker));
            assert_eq!(polled, Poll::Ready(Err(Closed)));
        }
    }
    // Time goes on without the driver.
    while Instant::now() < passing.deadline() {
        thread::yield_now();
    }
    assert_eq!(poll(&mut passing, &waker), Poll::Ready(()));
    late.reset(Instant::now());
    assert_eq!(poll(&mut late, &waker), Poll::Ready(()));
}

/// Says which timer was woken.
struct Report(usize, mpsc::Sender<usize>);

impl Wake for Report {
    fn wake(self: Arc<Self>) {
        // The receiver is gone only if the test has failed.
        let _ = self.1.send(self.0);
    }
}

/// Threads register, replace, cancel and wait while one thread sits: every timer that is kept fires, none
/// is early.
#[test]
fn no_timer_is_lost_between_threads() {
    const THREADS: usize = 4;
    const TIMERS: usize = 300;
    let driver = driver(2);
    let stop = Arc::new(AtomicBool::new(false));
    let sitter = {
        let (driver, stop) = (driver.clone(), stop.clone());
        thread::spawn(move || turn_until(&driver, || stop.load(Ordering::SeqCst)))
    };
    let workers: Vec<_> = (0..THREADS)
        .map(|worker| {
            let driver = driver.clone();
            thread::spawn(move || {
                let (sender, receiver) = mpsc::channel();
                let mut timers = Vec::new();
                for n in 0..TIMERS {
                    let report = |name| Waker::from(Arc::new(Report(name, sender.clone())));
                    let mut timer = entry(&driver, worker + n % 2, MS * (n as u32 * 7 % 23) / 2);
                    let mut cancelled = entry(&driver, worker, HOUR);
                    assert_eq!(poll(&mut cancelled, &report(usize::MAX)), Poll::Pending);
                    if poll(&mut timer, &report(usize::MAX - 1)).is_ready()
                        || poll(&mut timer, &report(n)).is_ready()
                    {
                        sender.send(n).expect("open");
                    }
                    timers.push(timer);
                    if n % 16 == 0 {
                        thread::sleep(MS);
                    }
                }
                let mut left = TIMERS;
                while left > 0 {
                    let n = receiver.recv_timeout(LONG).expect("a lost timer");
                    assert_ne!(n, usize::MAX, "a cancelled timer");
                    if let Some(timer) = timers.get_mut(n) {
                        assert!(Instant::now() >= timer.deadline());
                        assert_eq!(poll(timer, Waker::noop()), Poll::Ready(()));
                        left -= 1;
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().expect("a worker of the test");
    }
    stop.store(true, Ordering::SeqCst);
    driver.wake();
    sitter.join().expect("the sitter");
    for shard in 0..2 {
        assert_eq!(driver.timers().shard(shard).len(), 0);
    }
}

/// Timers are told of without the lock, and few are looked at under one taking of it.
#[test]
fn many_timers_are_listed_with_few_of_them_under_the_lock() {
    let driver = driver(2);
    let mut timers: Vec<_> = (0..1_000).map(|number| entry(&driver, number % 2, HOUR)).collect();
    timers.iter_mut().for_each(|timer| assert!(poll(timer, Waker::noop()).is_pending()));
    let (looked_at, told) = (Cell::new(0), Cell::new(0));
    let name = |_: &Waker| {
        looked_at.set(looked_at.get() + 1);
        assert!(looked_at.get() <= AT_ONCE, "too many under one lock");
        // Every tenth is not one that is told of.
        (looked_at.get() % 10 != 0).then_some(())
    };
    driver.timers().list(name, |(), left| {
        assert!(left <= HOUR && left > HOUR / 2, "{left:?}");
        looked_at.set(0);
        told.set(told.get() + 1);
        // Takes the locks: it would wait for ever if the list held one.
        for shard in 0..2 {
            assert!(poll(&mut entry(&driver, shard, HOUR), Waker::noop()).is_pending());
        }
    });
    assert!((901..1_000).contains(&told.get()), "{}", told.get());
}
