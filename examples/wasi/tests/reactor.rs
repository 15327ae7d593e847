//! Which task waits for which pollable: the life of a wait, and what is left of it.

use component::scripted::ScriptedHost;
use component::witness::{Witness, reentrant};
use liten::wasi::{Host, Reactor, WaitFor};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn scripted() -> (ScriptedHost, Reactor<ScriptedHost>) {
    let host = ScriptedHost::new();
    (host.clone(), Reactor::with_host(host))
}

fn poll<H: Host>(wait: &mut WaitFor<H>, waker: &Waker) -> bool {
    Pin::new(wait).poll(&mut Context::from_waker(waker)).is_ready()
}

#[test]
fn clones_are_the_same_reactor() {
    let (host, reactor) = scripted();
    let clone = reactor.clone();
    let (pollable, signal) = host.signal();
    let mut wait = reactor.wait_for(pollable);
    assert!(!poll(&mut wait, Waker::noop()));
    assert_eq!((reactor.len(), clone.len()), (1, 1));
    signal.set();
    assert_eq!(clone.turn(None), 1);
    assert!(poll(&mut wait, Waker::noop()));
    assert!(reactor.is_empty());
}

#[test]
fn a_wait_registers_when_it_is_polled_and_leaves_nothing_when_it_is_ready() {
    let (host, reactor) = scripted();
    let (witness, waker) = Witness::new();
    let (pollable, signal) = host.signal();
    let mut wait = reactor.wait_for(pollable);
    assert_eq!(reactor.len(), 0, "not before");
    assert!(!poll(&mut wait, &waker));
    assert_eq!((reactor.len(), witness.wakers()), (1, 2));
    signal.set();
    assert!(!poll(&mut wait, &waker), "only a turn asks the host");
    assert_eq!(reactor.turn(None), 1);
    assert_eq!((witness.wakes(), witness.wakers(), reactor.len()), (1, 1, 0));
    assert!(poll(&mut wait, &waker));
    assert_eq!(host.alive(), 0, "what is done has let go of its pollable");
    assert!(poll(&mut wait, &waker), "and stays ready");
    assert_eq!((reactor.len(), host.alive()), (0, 0));
    assert_eq!(host.looks(), 0);
}

#[test]
fn the_waker_of_the_last_poll_counts() {
    let (host, reactor) = scripted();
    let (first, first_waker) = Witness::new();
    let (second, second_waker) = Witness::new();
    let (pollable, signal) = host.signal();
    let mut wait = reactor.wait_for(pollable);
    assert!(!poll(&mut wait, &first_waker));
    assert!(!poll(&mut wait, &first_waker));
    assert_eq!(first.wakers(), 2, "the same one is not cloned again");
    assert!(!poll(&mut wait, &second_waker));
    assert_eq!((first.wakers(), second.wakers()), (1, 2), "replaced");
    signal.set();
    reactor.turn(None);
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
}

#[test]
fn a_wait_that_is_dropped_leaves_nothing_and_no_task_is_woken() {
    let (host, reactor) = scripted();
    let (witness, waker) = Witness::new();
    let (pollable, signal) = host.signal();
    let (other, other_signal) = host.signal();
    let mut wait = reactor.wait_for(pollable);
    let mut stays = reactor.wait_for(other);
    assert!(!poll(&mut wait, &waker) && !poll(&mut stays, Waker::noop()));
    drop(wait);
    assert_eq!((reactor.len(), witness.wakers(), host.alive()), (1, 1, 1));
    signal.set();
    other_signal.set();
    assert_eq!(reactor.turn(None), 1, "what is left still works");
    assert_eq!(witness.wakes(), 0);
    assert!(poll(&mut stays, Waker::noop()));
    drop(stays);
    assert_eq!((reactor.len(), host.alive()), (0, 0));
}

#[test]
fn a_wait_that_was_never_polled_costs_the_reactor_nothing() {
    let (host, reactor) = scripted();
    drop(reactor.wait_for(host.signal().0));
    assert_eq!((reactor.len(), host.alive()), (0, 0));
}

#[test]
fn a_pollable_that_was_ready_before_is_ready_at_the_first_turn() {
    let (host, reactor) = scripted();
    let (pollable, signal) = host.signal();
    signal.set();
    let mut wait = reactor.wait_for(pollable);
    assert!(!poll(&mut wait, Waker::noop()));
    assert_eq!(reactor.turn(Some(Duration::ZERO)), 1, "without blocking");
    assert!(poll(&mut wait, Waker::noop()));
}

#[test]
fn all_tasks_that_wait_for_one_pollable_are_woken() {
    let (host, reactor) = scripted();
    let (pollable, signal) = host.signal();
    let registration = reactor.register(pollable);
    let (witnesses, wakers): (Vec<_>, Vec<_>) = (0..3).map(|_| Witness::new()).unzip();
    let mut waits: Vec<_> = wakers.iter().map(|_| registration.wait()).collect();
    for (wait, waker) in waits.iter_mut().zip(&wakers) {
        assert!(!poll(wait, waker));
    }
    assert!(!registration.is_ready());
    drop(waits.remove(1));
    signal.set();
    assert!(registration.is_ready());
    assert_eq!(reactor.turn(None), 2);
    assert_eq!(witnesses.iter().map(|w| w.wakes()).collect::<Vec<_>>(), [1, 0, 1]);
    assert!(waits.iter_mut().all(|wait| poll(wait, Waker::noop())));
}

/// Either may go first; the pollable goes with the last.
#[test]
fn a_registration_and_its_waits_are_dropped_in_any_order() {
    let (host, reactor) = scripted();
    let registration = reactor.register(host.signal().0);
    let copy = registration.clone();
    let mut wait = registration.wait();
    assert!(!poll(&mut wait, Waker::noop()));
    drop(registration);
    drop(copy);
    assert_eq!((host.alive(), reactor.len()), (1, 1), "the wait goes on");
    drop(wait);
    assert_eq!((host.alive(), reactor.len()), (0, 0));

    let registration = reactor.register(host.signal().0);
    let mut wait = registration.wait();
    assert!(!poll(&mut wait, Waker::noop()));
    drop(wait);
    assert_eq!((host.alive(), reactor.len()), (1, 0), "no task waits, one owns");
    drop(registration);
    assert_eq!(host.alive(), 0);
}

#[test]
fn what_no_task_waits_for_is_not_put_before_the_host() {
    let (host, reactor) = scripted();
    let idle: Vec<_> = (0..10).map(|_| reactor.register(host.signal().0)).collect();
    let (pollable, signal) = host.signal();
    let mut wait = reactor.wait_for(pollable);
    assert!(!poll(&mut wait, Waker::noop()));
    signal.set();
    assert_eq!(reactor.turn(None), 1);
    assert_eq!(host.lists(), [1]);
    assert_eq!(idle.len(), 10);
}

#[test]
fn every_ready_waker_is_called_in_one_turn() {
    let (host, reactor) = scripted();
    let (pollables, signals): (Vec<_>, Vec<_>) = (0..100).map(|_| host.signal()).unzip();
    let mut waits: Vec<_> = pollables.into_iter().map(|p| reactor.wait_for(p)).collect();
    let (witnesses, wakers): (Vec<_>, Vec<_>) = waits.iter().map(|_| Witness::new()).unzip();
    for (wait, waker) in waits.iter_mut().zip(&wakers) {
        assert!(!poll(wait, waker));
    }
    host.while_blocked(move || signals.iter().skip(1).step_by(3).for_each(|s| s.set()));
    assert_eq!(reactor.turn(None), 33);
    for (i, witness) in witnesses.iter().enumerate() {
        assert_eq!(witness.wakes(), usize::from(i % 3 == 1));
    }
    assert_eq!(reactor.len(), 67);
}

#[test]
fn a_turn_blocks_for_its_limit_at_most() {
    let (host, reactor) = scripted();
    assert_eq!(reactor.turn(None), 0, "nothing would end it");
    assert_eq!(reactor.turn(Some(Duration::ZERO)), 0);
    assert_eq!(host.lists(), []);
    let mut wait = reactor.wait_for(host.clock(Duration::from_secs(3)));
    assert!(!poll(&mut wait, Waker::noop()));
    assert_eq!(reactor.turn(Some(Duration::from_secs(1))), 0);
    assert_eq!(host.now(), Duration::from_secs(1));
    assert_eq!(reactor.turn(Some(Duration::MAX)), 1);
    assert_eq!(host.now(), Duration::from_secs(3));
    drop(wait);
    assert_eq!(reactor.turn(Some(Duration::from_secs(1))), 0, "a pause");
    assert_eq!(host.now(), Duration::from_secs(4));
    assert_eq!(host.alive(), 0);
}

/// A call of the host is what costs.
#[test]
fn many_are_looked_at_in_one_call_that_does_not_block() {
    let (host, reactor) = scripted();
    let (pollables, signals): (Vec<_>, Vec<_>) = (0..10).map(|_| host.signal()).unzip();
    let mut waits: Vec<_> = pollables.into_iter().map(|p| reactor.wait_for(p)).collect();
    waits.iter_mut().for_each(|wait| assert!(!poll(wait, Waker::noop())));
    assert_eq!(reactor.turn(Some(Duration::ZERO)), 0);
    signals[3].set();
    assert_eq!(reactor.turn(Some(Duration::ZERO)), 1);
    assert_eq!((host.lists(), host.looks(), host.now()), (vec![11, 11], 0, Duration::ZERO));
    assert_eq!((reactor.len(), host.alive()), (9, 11), "one clock for both, kept for the next");
    drop(waits);
    assert_eq!((reactor.len(), host.alive()), (0, 0));
}

#[test]
fn two_reactors_do_not_hear_of_each_other() {
    let (host, reactor) = scripted();
    let (other_host, other) = scripted();
    let (pollable, signal) = host.signal();
    let (other_pollable, other_signal) = other_host.signal();
    let (mut wait, mut other_wait) = (reactor.wait_for(pollable), other.wait_for(other_pollable));
    assert!(!poll(&mut wait, Waker::noop()) && !poll(&mut other_wait, Waker::noop()));
    signal.set();
    other_signal.set();
    assert_eq!(reactor.turn(None), 1);
    assert!(!poll(&mut other_wait, Waker::noop()));
    assert_eq!(other.turn(None), 1);
    assert!(poll(&mut wait, Waker::noop()) && poll(&mut other_wait, Waker::noop()));
}

/// A waker that polls what it wakes at once, which is what some executors do: it waits, registers, drops
/// and turns on the reactor that calls it.
#[test]
fn a_waker_may_use_the_reactor_that_calls_it() {
    let (host, reactor) = scripted();
    let (pollables, signals): (Vec<_>, Vec<_>) = (0..3).map(|_| host.signal()).unzip();
    let [first, second, third] =
        <[_; 3]>::try_from(pollables).unwrap().map(|p| reactor.wait_for(p));
    let (mut first, second, third) = (first, Rc::new(RefCell::new(Some(second))), third);
    let third = Rc::new(RefCell::new(third));
    let (acts, turned) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let waker = {
        let (reactor, host, acts, turned) =
            (reactor.clone(), host.clone(), acts.clone(), turned.clone());
        let (second, third) = (second.clone(), third.clone());
        let wake = move || {
            acts.set(acts.get() + 1);
            // Drops a wait that is ready in this very turn, polls another one, begins a new one, and turns.
            second.borrow_mut().take();
            assert!(poll(&mut third.borrow_mut(), Waker::noop()));
            let (pollable, signal) = host.signal();
            let mut inner = reactor.wait_for(pollable);
            assert!(!poll(&mut inner, Waker::noop()));
            signal.set();
            turned.set(turned.get() + reactor.turn(None));
            assert!(poll(&mut inner, Waker::noop()));
        };
        reentrant::waker(wake, || ())
    };
    assert!(!poll(&mut first, &waker));
    assert!(!poll(second.borrow_mut().as_mut().unwrap(), Waker::noop()));
    assert!(!poll(&mut third.borrow_mut(), Waker::noop()));
    signals.iter().for_each(|s| s.set());
    assert_eq!(reactor.turn(None), 3);
    assert_eq!((acts.get(), turned.get()), (1, 1));
    assert!(poll(&mut first, Waker::noop()));
    // The waker owns two of the waits.
    drop((first, second, third, waker));
    assert_eq!((reactor.len(), host.alive()), (0, 0));
}

#[test]
fn a_waker_may_wake_another_wait_of_the_same_reactor_from_within() {
    let (host, reactor) = scripted();
    let (witness, innermost) = Witness::new();
    let outer = reentrant::waker(move || innermost.wake_by_ref(), || ());
    let (pollable, signal) = host.signal();
    let mut wait = reactor.wait_for(pollable);
    assert!(!poll(&mut wait, &outer));
    signal.set();
    reactor.turn(None);
    assert_eq!(witness.wakes(), 1);
}

/// The destructor of a waker runs at a replacement, at a drop of the wait, and after a wake; that of a
/// pollable likewise. All of them may come back.
#[test]
fn what_is_dropped_may_use_the_reactor_that_drops_it() {
    let (host, reactor) = scripted();
    let dropped = Rc::new(Cell::new(0));
    let intruder = || {
        let (host, reactor, dropped) = (host.clone(), reactor.clone(), dropped.clone());
        move || {
            dropped.set(dropped.get() + 1);
            let (pollable, signal) = host.signal();
            let mut wait = reactor.wait_for(pollable);
            assert!(!poll(&mut wait, Waker::noop()));
            signal.set();
            reactor.turn(None);
            assert!(poll(&mut wait, Waker::noop()));
            let mut given_up = reactor.wait_for(host.signal().0);
            assert!(!poll(&mut given_up, Waker::noop()));
        }
    };
    // Replaced.
    let mut wait = reactor.wait_for(host.signal_with_drop(intruder()).0);
    assert!(!poll(&mut wait, &reentrant::waker(|| (), intruder())));
    assert!(!poll(&mut wait, Waker::noop()));
    assert_eq!(dropped.get(), 1);
    // Dropped while it waits.
    assert!(!poll(&mut wait, &reentrant::waker(|| (), intruder())));
    drop(wait);
    assert_eq!(dropped.get(), 3);
    // Woken.
    let (pollable, signal) = host.signal_with_drop(intruder());
    let mut wait = reactor.wait_for(pollable);
    assert!(!poll(&mut wait, &reentrant::waker(|| (), intruder())));
    signal.set();
    reactor.turn(None);
    assert_eq!(dropped.get(), 4);
    drop(wait);
    assert_eq!(dropped.get(), 5);
    assert_eq!((reactor.len(), host.alive()), (0, 0));
}

/// A host that calls wakers in the middle of a poll, as one in a test may.
#[test]
fn the_reactor_may_be_changed_while_the_host_blocks() {
    let (host, reactor) = scripted();
    let (first, first_signal) = host.signal();
    let mut first = reactor.wait_for(first);
    let second = Rc::new(RefCell::new(Some(reactor.wait_for(host.signal().0))));
    let third = Rc::new(RefCell::new(None));
    assert!(!poll(&mut first, Waker::noop()));
    assert!(!poll(second.borrow_mut().as_mut().unwrap(), Waker::noop()));
    {
        let (reactor, inside) = (reactor.clone(), host.clone());
        let (second, third) = (second.clone(), third.clone());
        host.while_blocked(move || {
            second.borrow_mut().take();
            let mut wait = reactor.wait_for(inside.clock(Duration::from_secs(1)));
            assert!(!poll(&mut wait, Waker::noop()));
            *third.borrow_mut() = Some(wait);
            first_signal.set();
        });
    }
    assert_eq!(reactor.turn(None), 1);
    assert!(poll(&mut first, Waker::noop()));
    assert_eq!(
        (reactor.len(), reactor.turn(None)),
        (1, 1),
        "what came meanwhile is in the next list"
    );
    assert!(poll(third.borrow_mut().as_mut().unwrap(), Waker::noop()));
}

#[test]
fn a_wait_that_is_leaked_harms_no_other() {
    let (host, reactor) = scripted();
    let (witness, waker) = Witness::new();
    let (pollable, signal) = host.signal();
    for pollable in [pollable, host.signal().0] {
        let mut wait = reactor.wait_for(pollable);
        assert!(!poll(&mut wait, &waker));
        mem::forget(wait);
    }
    signal.set();
    assert_eq!(reactor.turn(None), 1);
    assert_eq!((witness.wakes(), witness.wakers(), reactor.len()), (1, 2, 1));
    // The other one is still waited for, for all that the reactor knows. It disturbs no one.
    let mut wait = reactor.wait_for(host.clock(Duration::from_secs(1)));
    assert!(!poll(&mut wait, Waker::noop()));
    assert_eq!(reactor.turn(None), 1);
    assert!(poll(&mut wait, Waker::noop()));
}

/// Behind the same four functions fits a system that tells of completion: the pollable is the operation,
/// and has the result.
#[test]
fn an_operation_that_completes_fits_behind_the_same_host() {
    struct Operation(Rc<RefCell<Option<Vec<u8>>>>);
    struct Completing;
    impl Host for Completing {
        type Pollable = Operation;
        fn ready(&self, operation: &Operation) -> bool {
            operation.0.borrow().is_some()
        }
        fn poll(&self, operations: &[&Operation]) -> Vec<u32> {
            operations.iter().for_each(|o| *o.0.borrow_mut() = Some(b"read".to_vec()));
            (0..operations.len() as u32).collect()
        }
        fn clock(&self, _: Duration) -> Operation {
            Operation(Rc::default())
        }
        fn interrupter(&self) -> Option<Waker> {
            None
        }
    }
    let reactor = Reactor::with_host(Completing);
    let bytes = reactor.block_on(async {
        let operation = reactor.register(Operation(Rc::default()));
        operation.wait().await;
        operation.pollable().0.take()
    });
    assert_eq!(bytes.as_deref(), Some(&b"read"[..]));
}

/// As `wait_for`, by hand: a future of a user's own needs nothing but a registration.
#[test]
fn a_future_made_by_hand_waits_through_a_registration() {
    struct Both(WaitFor<ScriptedHost>, WaitFor<ScriptedHost>);
    impl Future for Both {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            let first = Pin::new(&mut self.0).poll(cx).is_ready();
            let second = Pin::new(&mut self.1).poll(cx).is_ready();
            if first && second { Poll::Ready(()) } else { Poll::Pending }
        }
    }
    let (host, reactor) = scripted();
    let clock = |seconds| reactor.wait_for(host.clock(Duration::from_secs(seconds)));
    reactor.block_on(Both(clock(2), clock(1)));
    assert_eq!((host.now(), reactor.len(), host.alive()), (Duration::from_secs(2), 0, 0));
}
