//! Hosts and wakers that do what they should not.

use component::guard::guarded;
use component::scripted::ScriptedHost;
use component::witness::Witness;
use liten::wasi::{Host, Reactor, WaitFor};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

fn scripted() -> (ScriptedHost, Reactor<ScriptedHost>) {
    let host = ScriptedHost::new();
    (host.clone(), Reactor::with_host(host))
}

fn poll<H: Host>(wait: &mut WaitFor<H>, waker: &Waker) -> bool {
    Pin::new(wait).poll(&mut Context::from_waker(waker)).is_ready()
}

/// The last position is that of the clock for the limit.
#[test]
fn positions_that_do_not_exist_or_come_twice_wake_no_task_twice() {
    guarded(|| {
        let (host, reactor) = scripted();
        let (witness, waker) = Witness::new();
        let mut waits: Vec<_> = (0..3).map(|_| reactor.wait_for(host.signal().0)).collect();
        waits.iter_mut().for_each(|wait| assert!(!poll(wait, &waker)));
        host.answer(&[3, 1, 4, 1, u32::MAX, 1]);
        assert_eq!(reactor.turn(Some(Duration::from_secs(1))), 1);
        assert_eq!((witness.wakes(), reactor.len()), (1, 2));
        assert!(
            !poll(&mut waits[0], &waker)
                && poll(&mut waits[1], &waker)
                && !poll(&mut waits[2], &waker)
        );
    });
}

/// Nothing is there to interrupt it, so it would be asked again and again, for ever.
#[test]
#[should_panic(expected = "although nothing is ready")]
fn a_host_that_returns_for_no_reason_is_reported() {
    guarded(|| {
        let (host, reactor) = scripted();
        host.answer(&[]);
        reactor.block_on(reactor.wait_for(host.signal().0));
    });
}

#[test]
#[should_panic(expected = "although nothing is ready")]
fn a_host_that_names_only_what_does_not_exist_is_reported() {
    guarded(|| {
        let (host, reactor) = scripted();
        host.answer(&[1]);
        reactor.block_on(reactor.wait_for(host.signal().0));
    });
}

/// If it lies about what is ready, the task that waited finds out by asking for the result: a wait may end
/// too soon, and nothing is lost.
#[test]
fn a_host_that_lies_ends_a_wait_and_harms_no_other() {
    guarded(|| {
        let (host, reactor) = scripted();
        let (pollable, signal) = host.signal();
        let registration = reactor.register(pollable);
        let mut waits = 0;
        host.answer(&[0]);
        host.while_blocked(move || signal.set());
        reactor.block_on(async {
            while !registration.is_ready() {
                registration.wait().await;
                waits += 1;
            }
        });
        assert_eq!(waits, 2);
    });
}

/// Where a panic can be caught.
#[cfg(panic = "unwind")]
mod unwinding {
    use super::*;
    use component::witness::reentrant;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_waker_that_panics_does_not_keep_the_others_from_being_called() {
        let (host, reactor) = scripted();
        let (witness, good) = Witness::new();
        let bad = reentrant::waker(|| panic!("a waker that panics"), || ());
        let bad_drop = reentrant::waker(|| (), || panic!("a waker whose destructor panics"));
        let mut waits: Vec<_> =
            (0..4).map(|_| reactor.wait_for(host.clock(Duration::ZERO))).collect();
        for (wait, waker) in waits.iter_mut().zip([&good, &bad, &bad_drop, &good]) {
            assert!(!poll(wait, waker));
        }
        drop((bad, bad_drop));
        assert_eq!(reactor.turn(None), 4);
        assert_eq!((witness.wakes(), reactor.len()), (2, 0));
        assert!(waits.iter_mut().all(|wait| poll(wait, Waker::noop())));
    }

    #[test]
    fn a_waker_whose_destructor_panics_may_be_replaced_and_dropped() {
        let (host, reactor) = scripted();
        let bad = || reentrant::waker(|| (), || panic!("a waker whose destructor panics"));
        let mut wait = reactor.wait_for(host.signal().0);
        assert!(!poll(&mut wait, &bad()));
        assert!(!poll(&mut wait, &bad()));
        drop(wait);
        assert_eq!((reactor.len(), host.alive()), (0, 0));
    }

    /// The reactor can be used afterwards, and what was under way is still there.
    #[test]
    fn a_panic_in_the_host_the_root_or_the_closure_leaves_the_reactor_whole() {
        let (host, reactor) = scripted();
        let mut outer = reactor.wait_for(host.clock(Duration::from_secs(1)));
        assert!(!poll(&mut outer, Waker::noop()));
        host.while_blocked(|| panic!("a host that panics"));
        let in_host = || reactor.block_on(reactor.wait_for(host.signal().0));
        assert!(catch_unwind(AssertUnwindSafe(in_host)).is_err());
        let in_root = || {
            reactor.block_on(async {
                reactor.wait_for(host.clock(Duration::ZERO)).await;
                panic!("a root that panics")
            })
        };
        assert!(catch_unwind(AssertUnwindSafe(in_root)).is_err());
        assert_eq!((reactor.len(), host.alive()), (1, 1));
        let in_closure = || {
            liten::wasi::block_on(|_| {
                if true {
                    panic!("a closure that panics");
                }
                std::future::ready(())
            })
        };
        assert!(catch_unwind(in_closure).is_err());
        assert!(Reactor::try_current().is_none());
        reactor.block_on(outer);
        assert_eq!((reactor.len(), host.alive()), (0, 0));
    }
}
