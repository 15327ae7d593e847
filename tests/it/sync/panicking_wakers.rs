//! Everything in `liten::sync` that several futures may wait for, with a waker that panics among them: the
//! others are woken all the same, and nothing that the futures wait for is lost.

use crate::support::guard::guarded;
use crate::support::probe::{Bell, Calls};
use crate::tasks::panicking_wakers::{Boxed, Fault, Faulty, caught};
use liten::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpsc, watch,
};
use std::any::Any;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What futures wait for, and what makes three of them ready, at once or one after the other.
struct Setting {
    wait: Box<dyn Fn() -> Boxed>,
    /// Returns what has to live on.
    fire: Box<dyn FnOnce() -> Box<dyn Any>>,
}

/// What it is, and how one is made.
type Row = (&'static str, fn() -> Setting);

fn setting<F, K>(wait: impl Fn() -> F + 'static, fire: impl FnOnce() -> K + 'static) -> Setting
where
    F: Future<Output = ()> + Send + 'static,
    K: 'static,
{
    Setting { wait: Box::new(move || Box::pin(wait())), fire: Box::new(move || Box::new(fire())) }
}

const PERMITS: [Row; 9] = [
    ("a permit", || permits(1)),
    ("many permits", || permits(1_000)),
    ("the end of the permits", || {
        let semaphore = Arc::new(Semaphore::new(1));
        let theirs = semaphore.clone();
        let wait = move || {
            let semaphore = theirs.clone();
            async move { assert!(semaphore.acquire_many(2).await.is_err()) }
        };
        setting(wait, move || semaphore.close())
    }),
    ("a mutex", || {
        let lock = Arc::new(Mutex::new(()));
        let guard = lock.clone().try_lock_owned().unwrap();
        setting(move || drop_output(lock.clone().lock_owned()), move || drop(guard))
    }),
    ("a lock to read", || {
        let lock = Arc::new(RwLock::new(()));
        let guard = lock.clone().try_write_owned().unwrap();
        setting(move || drop_output(lock.clone().read_owned()), move || drop(guard))
    }),
    ("a lock to write", || {
        let lock = Arc::new(RwLock::new(()));
        let guard = lock.clone().try_read_owned().unwrap();
        setting(move || drop_output(lock.clone().write_owned()), move || drop(guard))
    }),
    ("room for a message", || {
        let (sender, mut receiver) = full_channel(3);
        let wait = move || {
            let sender = sender.clone();
            async move { sender.send(()).await.unwrap() }
        };
        setting(wait, move || {
            (0..3).for_each(|_| receiver.try_recv().unwrap());
            receiver
        })
    }),
    ("room that goes from hand to hand", || {
        let (sender, mut receiver) = full_channel(1);
        let wait = move || {
            let sender = sender.clone();
            async move { drop(sender.reserve().await.unwrap()) }
        };
        setting(wait, move || {
            receiver.try_recv().unwrap();
            receiver
        })
    }),
    ("room in a channel that is closed", || {
        let (sender, receiver) = full_channel(1);
        let wait = move || {
            let sender = sender.clone();
            async move { assert!(sender.reserve().await.is_err()) }
        };
        setting(wait, move || drop(receiver))
    }),
];

fn permits(each: u32) -> Setting {
    let semaphore = Arc::new(Semaphore::new(0));
    let theirs = semaphore.clone();
    let wait = move || {
        let semaphore = theirs.clone();
        async move { semaphore.acquire_many(each).await.unwrap().forget() }
    };
    setting(wait, move || semaphore.add_permits(3 * each as usize))
}

async fn drop_output<F: Future>(future: F) {
    drop(future.await);
}

fn full_channel(bound: usize) -> (mpsc::Sender<()>, mpsc::Receiver<()>) {
    let (sender, receiver) = mpsc::channel(bound);
    (0..bound).for_each(|_| sender.try_send(()).unwrap());
    (sender, receiver)
}

const CHANNELS: [Row; 7] = [
    ("the end of a channel", || {
        let (sender, receiver) = mpsc::channel::<()>(1);
        let wait = move || {
            let sender = sender.clone();
            async move { sender.closed().await }
        };
        setting(wait, move || drop(receiver))
    }),
    ("the end of an unbounded channel", || {
        let (sender, receiver) = mpsc::unbounded_channel::<()>();
        let wait = move || {
            let sender = sender.clone();
            async move { sender.closed().await }
        };
        setting(wait, move || drop(receiver))
    }),
    ("a change", || {
        let (sender, receiver) = watch::channel(0);
        let wait = move || {
            let mut receiver = receiver.clone();
            async move { receiver.changed().await.unwrap() }
        };
        setting(wait, move || {
            sender.send(1).unwrap();
            sender
        })
    }),
    ("a value", || {
        let (sender, receiver) = watch::channel(0);
        let wait = move || {
            let mut receiver = receiver.clone();
            async move { assert_eq!(*receiver.wait_for(|value| *value > 0).await.unwrap(), 1) }
        };
        setting(wait, move || {
            sender.send(1).unwrap();
            sender
        })
    }),
    ("the last receiver of a watch", || {
        let (sender, receiver) = watch::channel(());
        let wait = move || {
            let sender = sender.clone();
            async move { sender.closed().await }
        };
        setting(wait, move || drop(receiver))
    }),
    ("a broadcast", || {
        let (sender, receiver) = broadcast::channel(1);
        let wait = move || {
            let mut receiver = receiver.resubscribe();
            async move { assert_eq!(receiver.recv().await, Ok(1)) }
        };
        setting(wait, move || {
            sender.send(1).unwrap();
            sender
        })
    }),
    ("the last receiver of a broadcast", || {
        let (sender, receiver) = broadcast::channel::<()>(1);
        let wait = move || {
            let sender = sender.clone();
            async move { sender.closed().await }
        };
        setting(wait, move || drop(receiver))
    }),
];

const OTHERS: [Row; 6] = [
    ("a notification for one", || notify(|notify| (0..3).for_each(|_| notify.notify_one()))),
    ("a notification for all", || notify(Notify::notify_waiters)),
    ("a barrier", || {
        let barrier = Arc::new(Barrier::new(4));
        let theirs = barrier.clone();
        let wait = move || {
            let barrier = theirs.clone();
            async move { _ = barrier.wait().await }
        };
        // A future that has panicked before it arrived, and is replaced here, is one more round.
        setting(wait, move || while poll(pin!(barrier.wait())).is_pending() {})
    }),
    ("a value that another task makes", || {
        let (cell, bell) = (Arc::new(OnceCell::new()), Bell::default());
        let (theirs, rings) = (cell.clone(), bell.clone());
        let mut makes: Boxed = Box::pin(async move {
            cell.get_or_init(|| async { bell.wait().await }).await;
        });
        assert!(poll(makes.as_mut()).is_pending());
        let wait = move || {
            let cell = theirs.clone();
            async move { assert_eq!(cell.get_or_init(|| async {}).await, &()) }
        };
        setting(wait, move || {
            rings.ring();
            assert!(poll(makes.as_mut()).is_ready());
        })
    }),
    ("a value that another task does not make", || {
        let cell = Arc::new(OnceCell::new());
        let theirs = cell.clone();
        let mut makes: Boxed = Box::pin(async move {
            cell.get_or_init(std::future::pending).await;
        });
        assert!(poll(makes.as_mut()).is_pending());
        let wait = move || {
            let cell = theirs.clone();
            async move { assert_eq!(cell.get_or_init(|| async {}).await, &()) }
        };
        setting(wait, move || drop(makes))
    }),
    ("a value that is set", || {
        let once = Arc::new(SetOnce::new());
        let theirs = once.clone();
        let wait = move || {
            let once = theirs.clone();
            async move { assert_eq!(once.wait().await, &1) }
        };
        setting(wait, move || once.set(1).unwrap())
    }),
];

fn notify(fire: fn(&Notify)) -> Setting {
    let notify = Arc::new(Notify::new());
    let theirs = notify.clone();
    setting(move || theirs.clone().notified_owned(), move || fire(&notify))
}

fn poll(future: Pin<&mut (impl Future + ?Sized)>) -> Poll<()> {
    future.poll(&mut Context::from_waker(Waker::noop())).map(drop)
}

/// What becomes of the future that was polled with the faulty waker.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Stays,
    GetsAnotherWaker,
    LeavesBefore,
    /// With what it was given, if it was.
    LeavesAfter,
}

const FATES: [Fate; 4] =
    [Fate::Stays, Fate::GetsAnotherWaker, Fate::LeavesBefore, Fate::LeavesAfter];

/// Calls `fire` in a destructor while a panic unwinds: one that came out of it would end the process.
fn fired_while_unwinding<K>(fire: impl FnOnce() -> K) -> Option<K> {
    struct InDrop<F: FnMut()>(F);
    impl<F: FnMut()> Drop for InDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let (mut fire, mut lives_on) = (Some(fire), None);
    let unwound = caught(|| {
        let _fires = InDrop(|| lives_on = fire.take().map(|fire| fire()));
        resume_unwind(Box::new("while something is held"));
    });
    assert_eq!(unwound, None::<()>);
    lives_on
}

/// A future that waits with a faulty waker between two that wait with good ones.
fn play(what: &str, setting: Setting, fault: Fault, fate: Fate, unwinding: bool) {
    let said = format!("{what}: {fault:?}, {fate:?}, unwinding {unwinding}");
    let Setting { wait, fire } = setting;
    let (first_calls, first_waker) = Calls::new();
    let (last_calls, last_waker) = Calls::new();
    let (bad, _) = Faulty::waker(fault);
    let [mut first, mut middle, mut last] = [wait(), wait(), wait()];
    assert!(first.as_mut().poll(&mut Context::from_waker(&first_waker)).is_pending(), "{said}");
    let polled = caught(|| middle.as_mut().poll(&mut Context::from_waker(&bad)));
    let waits = fault != Fault::Clone;
    assert_eq!(polled, waits.then_some(Poll::Pending), "{said}");
    assert!(last.as_mut().poll(&mut Context::from_waker(&last_waker)).is_pending(), "{said}");
    let mut middle = Some(middle);
    match fate {
        // A function that has panicked is not polled again.
        _ if !waits => drop(middle.take()),
        Fate::GetsAnotherWaker => {
            let polled = caught(|| middle.as_mut().map(|middle| poll(middle.as_mut())));
            assert_eq!(polled, Some(Some(Poll::Pending)), "{said}");
        }
        Fate::LeavesBefore => assert!(caught(|| drop(middle.take())).is_some(), "{said}"),
        Fate::Stays | Fate::LeavesAfter => {}
    }
    let lives_on = if unwinding { fired_while_unwinding(fire) } else { caught(fire) };
    assert!(lives_on.is_some(), "{said}: the panic comes to another");
    assert!(first_calls.get() > 0, "{said}");
    // Drops what it brings.
    assert!(poll(first.as_mut()).is_ready(), "{said}");
    match middle {
        Some(middle) if fate == Fate::LeavesAfter => {
            assert!(caught(|| drop(middle)).is_some(), "{said}");
        }
        Some(mut middle) => assert!(poll(middle.as_mut()).is_ready(), "{said}"),
        None => {}
    }
    assert!(last_calls.get() > 0, "{said}: it was not woken");
    assert!(poll(last.as_mut()).is_ready(), "{said}");
    drop((first, last, wait, lives_on, first_waker, last_waker));
    assert_eq!([first_calls, last_calls].map(|calls| Arc::strong_count(&calls)), [1, 1], "{said}");
    caught(|| drop(bad));
}

fn play_all(settings: &[Row]) {
    guarded(|| {
        for (what, new) in settings {
            for fault in [Fault::Clone, Fault::Wake, Fault::Drop] {
                for fate in FATES {
                    play(what, new(), fault, fate, false);
                    play(what, new(), fault, fate, true);
                }
            }
        }
    });
}

#[test]
fn a_faulty_waker_costs_no_other_its_permit() {
    play_all(&PERMITS);
}

#[test]
fn a_faulty_waker_costs_no_other_what_a_channel_tells() {
    play_all(&CHANNELS);
}

#[test]
fn a_faulty_waker_costs_no_other_a_notification_or_a_value() {
    play_all(&OTHERS);
}

/// A channel has one receiver. The panic of its waker comes to the sender, whose message has been sent; in a
/// destructor it does not.
#[test]
fn a_faulty_waker_of_a_receiver_loses_no_message() {
    guarded(|| {
        for fault in [Fault::Clone, Fault::Wake, Fault::Drop] {
            let (sender, mut receiver) = mpsc::unbounded_channel();
            let (bad, _) = Faulty::waker(fault);
            let left = (fault != Fault::Clone).then_some(Poll::Pending);
            let leave_waker = |receiver: &mut mpsc::UnboundedReceiver<_>| {
                let polled = caught(|| receiver.poll_recv(&mut Context::from_waker(&bad)));
                assert_eq!(polled, left, "{fault:?}");
            };
            let next = |receiver: &mut mpsc::UnboundedReceiver<_>| {
                let polled = caught(|| receiver.poll_recv(&mut Context::from_waker(Waker::noop())));
                polled.expect("the waker of an earlier poll is dropped here")
            };
            leave_waker(&mut receiver);
            assert_eq!(caught(|| sender.send(1)).is_some(), fault == Fault::Clone, "{fault:?}");
            assert_eq!(sender.send(2), Ok(()));
            assert_eq!(next(&mut receiver), Poll::Ready(Some(1)), "{fault:?}");
            assert_eq!(next(&mut receiver), Poll::Ready(Some(2)), "{fault:?}");
            leave_waker(&mut receiver);
            assert_eq!(next(&mut receiver), Poll::Pending, "{fault:?}");
            leave_waker(&mut receiver);
            let ends = sender.clone();
            assert!(caught(|| drop(sender)).is_some(), "{fault:?}");
            assert!(caught(|| drop(ends)).is_some(), "{fault:?}");
            assert_eq!(next(&mut receiver), Poll::Ready(None), "{fault:?}");
            let (_sender, mut receiver) = mpsc::unbounded_channel();
            leave_waker(&mut receiver);
            assert!(caught(|| drop(receiver)).is_some(), "{fault:?}");
            caught(|| drop(bad));
        }
    });
}
