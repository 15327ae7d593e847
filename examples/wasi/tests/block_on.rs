//! Running a future to its end: what it may be, what wakes it, and what is said when nothing can.

use component::guard::guarded;
use component::scripted::ScriptedHost;
use component::witness::Counted;
use futures_concurrency::prelude::*;
use futures_lite::future::{pending, poll_fn, poll_once, yield_now};
use liten::wasi::{Host, Reactor, SystemHost, block_on};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);

async fn sleep<H: Host>(duration: Duration, reactor: &Reactor<H>) {
    reactor.wait_for(reactor.host().clock(duration)).await;
}

#[test]
fn a_sleep_lasts_at_least_as_long_as_asked() {
    guarded(|| {
        let start = Instant::now();
        block_on(|reactor| async move { sleep(SHORT, &reactor).await });
        assert!(start.elapsed() >= SHORT);
    });
}

#[test]
fn the_future_may_borrow_and_need_not_be_send() {
    guarded(|| {
        let log = RefCell::new(vec!["before"]);
        let word = String::from("inside");
        let log_ref = &log;
        let length = block_on(|reactor| {
            let (word, not_send) = (&word, Rc::new(7));
            async move {
                sleep(Duration::from_millis(1), &reactor).await;
                log_ref.borrow_mut().push(word);
                word.len() + *not_send
            }
        });
        assert_eq!(length, 13);
        log.borrow_mut().push("after");
        assert_eq!(log.into_inner(), ["before", "inside", "after"]);
    });
}

#[test]
fn it_returns_when_the_root_is_ready_and_drops_the_rest() {
    guarded(|| {
        let host = ScriptedHost::new();
        let reactor = Reactor::with_host(host.clone());
        let output = reactor.block_on(async {
            let never = async {
                reactor.wait_for(host.signal().0).await;
                "never"
            };
            let soon = async {
                sleep(SHORT, &reactor).await;
                "soon"
            };
            (never, soon).race().await
        });
        assert_eq!(output, "soon");
        assert_eq!((host.now(), reactor.len(), host.alive()), (SHORT, 0, 0));
    });
}

/// Two waits of one future take as long as the longer one.
#[test]
fn two_waits_at_once_take_as_long_as_the_longer_one() {
    guarded(|| {
        let host = ScriptedHost::new();
        let reactor = Reactor::with_host(host.clone());
        reactor.block_on(async {
            (sleep(2 * SHORT, &reactor), sleep(3 * SHORT, &reactor)).join().await
        });
        assert_eq!(host.now(), 3 * SHORT);
        assert_eq!(host.lists(), [2, 1]);
    });
}

#[test]
fn the_root_is_polled_once_per_wake() {
    guarded(|| {
        let host = ScriptedHost::new();
        let reactor = Reactor::with_host(host.clone());
        let polls = AtomicUsize::new(0);
        reactor.block_on(Counted::new(
            async {
                for _ in 0..10 {
                    sleep(SHORT, &reactor).await;
                }
            },
            &polls,
        ));
        assert_eq!(polls.load(Ordering::SeqCst), 11);
        assert_eq!(host.lists().len(), 10);
    });
}

/// Nothing is registered, and WASI traps on an empty list; so does the scripted host.
#[test]
fn a_future_that_wakes_itself_goes_on_though_nothing_is_waited_for() {
    guarded(|| {
        let host = ScriptedHost::new();
        let reactor = Reactor::with_host(host.clone());
        reactor.block_on(async {
            for _ in 0..1_000 {
                yield_now().await;
            }
        });
        assert_eq!(host.lists(), []);
        block_on(|_| async {
            for _ in 0..1_000 {
                yield_now().await;
            }
        });
    });
}

/// A root that never rests does not keep the host from being asked.
#[test]
fn a_root_that_always_wakes_itself_does_not_starve_what_waits() {
    guarded(|| {
        let host = ScriptedHost::new();
        let reactor = Reactor::with_host(host.clone());
        let (pollable, signal) = host.signal();
        let rounds = Cell::new(0);
        let restless = async {
            loop {
                rounds.set(rounds.get() + 1);
                if rounds.get() == 5 {
                    signal.set();
                }
                yield_now().await;
            }
        };
        reactor.block_on((reactor.wait_for(pollable), restless).race());
        assert!((5..=7).contains(&rounds.get()), "{} rounds", rounds.get());
        assert_eq!(reactor.len(), 0);
        // The clock of the system goes on by itself.
        block_on(|reactor| async move {
            let restless = async {
                loop {
                    yield_now().await;
                }
            };
            (sleep(SHORT, &reactor), restless).race().await
        });
    });
}

/// Nor does a future whose pollables are ready each time starve what is joined with it.
#[test]
fn what_is_always_ready_does_not_starve_what_waits() {
    guarded(|| {
        let host = ScriptedHost::new();
        let reactor = Reactor::with_host(host.clone());
        let (pollable, signal) = host.signal();
        signal.set();
        let ready = reactor.register(pollable);
        let greedy = async {
            loop {
                ready.wait().await;
            }
        };
        let (other, other_signal) = host.signal();
        other_signal.set();
        reactor.block_on((greedy, reactor.wait_for(other)).race());
        assert_eq!(reactor.len(), 0);
    });
}

#[test]
fn a_wake_before_the_future_returns_pending_counts() {
    guarded(|| {
        let mut polls = 0;
        block_on(|_| {
            poll_fn(|cx| {
                polls += 1;
                cx.waker().wake_by_ref();
                let clone = cx.waker().clone();
                clone.wake();
                if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
            })
        });
        assert_eq!(polls, 3);
    });
}

#[test]
fn a_waker_that_outlives_everything_is_harmless() {
    guarded(|| {
        let kept: RefCell<Vec<Waker>> = RefCell::default();
        block_on(|reactor| {
            let kept = &kept;
            async move {
                for _ in 0..3 {
                    poll_fn(|cx| {
                        kept.borrow_mut().push(cx.waker().clone());
                        Poll::Ready(())
                    })
                    .await;
                    sleep(Duration::from_millis(1), &reactor).await;
                }
            }
        });
        let kept = kept.into_inner();
        assert_eq!(kept.len(), 3);
        kept.iter().for_each(Waker::wake_by_ref);
        kept.into_iter().for_each(Waker::wake);
    });
}

/// The reactor can be named, or found; they are the same.
#[test]
fn the_reactor_is_given_and_found() {
    guarded(|| {
        assert!(Reactor::try_current().is_none());
        block_on(|given| async move {
            let found = Reactor::current();
            let mut wait = given.wait_for(given.host().clock(Duration::MAX));
            assert!(poll_once(&mut wait).await.is_none());
            assert_eq!(found.len(), 1);
        });
        assert!(Reactor::try_current().is_none());
    });
}

#[test]
fn block_on_nests_and_the_inner_one_serves_the_outer_ones_waits() {
    guarded(|| {
        let order = RefCell::new(Vec::new());
        block_on(|outer| {
            let order = &order;
            async move {
                let soon = async {
                    sleep(10 * SHORT, &outer).await;
                    order.borrow_mut().push("outer");
                };
                let nested = async {
                    yield_now().await;
                    block_on(|inner| async move {
                        assert_eq!(inner.len(), 1, "the same reactor");
                        sleep(20 * SHORT, &inner).await;
                        order.borrow_mut().push("inner");
                        assert_eq!(inner.len(), 0, "the outer wait has been woken meanwhile");
                    });
                    assert!(Reactor::try_current().is_some(), "the outer one is current again");
                };
                (soon, nested).join().await;
            }
        });
        assert_eq!(order.into_inner(), ["inner", "outer"]);
    });
}

#[test]
fn two_reactors_in_one_program_take_turns() {
    guarded(|| {
        let other = Reactor::with_host(SystemHost::new());
        let (one, two) = block_on(|reactor| {
            let other = &other;
            async move {
                sleep(Duration::from_millis(1), &reactor).await;
                other.block_on(sleep(Duration::from_millis(1), other));
                (reactor.len(), other.len())
            }
        });
        assert_eq!((one, two), (0, 0));
    });
}

#[test]
fn a_reactor_serves_many_roots_one_after_the_other() {
    guarded(|| {
        let reactor = Reactor::new();
        for round in 0..100 {
            assert_eq!(
                reactor.block_on(async {
                    reactor.wait_for(reactor.host().clock(Duration::ZERO)).await;
                    round
                }),
                round
            );
            assert!(reactor.is_empty());
        }
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn nothing_waited_for_and_nothing_awake_is_a_deadlock() {
    guarded(|| {
        block_on(|_| pending::<()>());
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn on_a_host_without_threads_a_kept_waker_changes_nothing() {
    guarded(|| {
        let kept = RefCell::new(None);
        Reactor::with_host(ScriptedHost::new()).block_on(poll_fn(|cx| {
            *kept.borrow_mut() = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
    });
}

/// What the inner one waits for is something that the outer one would have to do.
#[test]
#[should_panic(expected = "deadlock")]
fn a_nested_wait_for_the_outer_root_is_a_deadlock() {
    guarded(|| {
        block_on(|_| async {
            let done = Cell::new(false);
            let inner = async {
                yield_now().await;
                block_on(|_| poll_fn(|_| if done.get() { Poll::Ready(()) } else { Poll::Pending }));
            };
            let outer = async {
                for _ in 0..3 {
                    yield_now().await;
                }
                done.set(true);
            };
            (inner, outer).join().await;
        });
    });
}
