use super::error::Elapsed;
use super::*;
use crate::engine::wakers::tests::Flag;
use crate::runtime::Runtime;
use std::future::{Future, pending, ready};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, set_hook, take_hook};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// The message of the panic of `f`.
fn panic_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("no panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast_ref::<&str>().expect("a text")).to_owned(),
    }
}

/// The source files at which the panics of this thread point during `f`.
fn panics_at(f: impl FnOnce()) -> Vec<String> {
    let here = std::thread::current().id();
    let files = Arc::new(Mutex::new(Vec::new()));
    let usual = Arc::new(take_hook());
    let (seen, others) = (files.clone(), usual.clone());
    set_hook(Box::new(move |info| {
        if std::thread::current().id() != here {
            return others(info);
        }
        let file = info.location().map_or("", Location::file).to_owned();
        seen.lock().expect("no poison").push(file);
    }));
    f();
    set_hook(Box::new(move |info| usual(info)));
    let files = files.lock().expect("no poison");
    files.clone()
}

#[test]
fn zero_and_the_past_are_ready_at_the_first_poll() {
    let runtime = runtime();
    let _entered = runtime.enter();
    assert_eq!(poll_once(&mut sleep(Duration::ZERO)), Poll::Ready(()));
    assert_eq!(poll_once(&mut sleep_until(Instant::now())), Poll::Ready(()));
    assert_eq!(poll_once(&mut timeout(Duration::ZERO, ready(1))), Poll::Ready(Ok(1)));
    assert!(poll_once(&mut timeout(Duration::ZERO, pending::<()>())).is_ready());
}

#[test]
fn for_ever_is_thirty_years_and_stays_pending() {
    assert_eq!(FAR, Duration::from_secs(946_080_000));
    let runtime = runtime();
    let _entered = runtime.enter();
    let start = Instant::now();
    for delay in [25, 365, 3_650, 36_500, 1 << 30].map(|days| HOUR * 24 * days) {
        let mut sleep = sleep(delay);
        assert!(sleep.deadline() >= start + delay.min(FAR));
        assert!(poll_once(&mut sleep).is_pending());
    }
    for delay in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::MAX / 2] {
        assert!(poll_once(&mut sleep(delay)).is_pending());
        assert!(poll_once(&mut timeout(delay, pending::<()>())).is_pending());
        assert_eq!(poll_once(&mut timeout(delay, ready(1))), Poll::Ready(Ok(1)));
        assert!(after(start, delay) >= start + FAR);
    }
    // A moment that is too late to be put off.
    let mut last = start;
    for bit in (0..64).rev() {
        last = last.checked_add(Duration::from_secs(1 << bit)).unwrap_or(last);
    }
    assert_eq!(after(last, HOUR), last);
    assert!(poll_once(&mut sleep_until(last)).is_pending());
    // The driver has seen all these, and still works.
    runtime.block_on(async { sleep(MS).await });
}

#[test]
fn mistakes_are_explained_and_name_the_caller() {
    let outside: [fn(); 6] = [
        || _ = poll_once(&mut sleep(MS)),
        || _ = poll_once(&mut sleep_until(Instant::now())),
        || _ = poll_once(&mut timeout(MS, pending::<()>())),
        || _ = poll_once(&mut timeout_at(Instant::now(), pending::<()>())),
        || _ = poll_once(&mut pin!(interval(MS).tick())),
        || _ = poll_once(&mut pin!(interval_at(Instant::now(), MS).tick())),
    ];
    for mistake in outside {
        let message = panic_of(mistake);
        assert!(message.contains("outside a runtime"), "{message}");
        assert!(message.contains(file!()), "{message}");
    }
    // What needs no timer needs no runtime.
    assert_eq!(poll_once(&mut timeout(MS, ready(1))), Poll::Ready(Ok(1)));
    let files = panics_at(|| {
        let message = panic_of(|| drop(interval(Duration::ZERO)));
        assert!(message.contains("period"), "{message}");
    });
    assert_eq!(files, [file!()]);
}

#[test]
fn after_the_shutdown_only_what_has_passed_is_ready() {
    let runtime = runtime();
    let (mut passed, mut unpolled, mut waiting, mut limited) = {
        let _entered = runtime.enter();
        let limited = timeout(HOUR, pending::<()>());
        (sleep(MS), sleep(HOUR), sleep(HOUR), limited)
    };
    let (flag, waker) = Flag::new();
    let mut cx = Context::from_waker(&waker);
    assert!(Pin::new(&mut waiting).poll(&mut cx).is_pending());
    drop(runtime);
    while !passed.is_elapsed() {
        std::thread::yield_now();
    }
    assert!(flag.is_set(), "a task that waits is told");

    assert_eq!(poll_once(&mut passed), Poll::Ready(()));
    for lost in [&mut unpolled, &mut waiting] {
        let message = panic_of(|| assert!(poll_once(lost).is_pending()));
        assert!(message.contains("shut down"), "{message}");
    }
    let message = panic_of(|| assert!(poll_once(&mut limited).is_pending()));
    assert!(message.contains("shut down"), "{message}");
    assert!(!waiting.is_elapsed());
}

#[test]
fn timers_can_be_sent_shared_and_moved() {
    fn check<T: Send + Sync + Unpin>() {}
    check::<Sleep>();
    check::<Timeout<std::future::Ready<()>>>();
    check::<Interval>();
    check::<Elapsed>();
}

#[test]
fn debug_says_the_deadline() {
    let runtime = runtime();
    let _entered = runtime.enter();
    assert!(format!("{:?}", sleep(HOUR)).contains("deadline"));
    assert!(format!("{:?}", timeout(HOUR, ready(5))).contains('5'));
    assert!(format!("{:?}", interval(HOUR)).contains("period"));
}
