//! Broadcast channels: what tokio's own tests do not look at.

use crate::support::cases::cases;
use crate::support::guard::{guarded, workers};
use crate::support::probe::{Calls, Count, OnDrop};
use liten::sync::broadcast::error::{RecvError, TryRecvError};
use liten::sync::broadcast::{self, Receiver, Sender};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

#[derive(Debug, Clone)]
enum Step {
    Send,
    /// By the receiver at this place, modulo their number.
    Receive(usize),
    Subscribe,
    Resubscribe(usize),
    Leave(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => Just(Step::Send),
        6 => any::<usize>().prop_map(Step::Receive),
        1 => Just(Step::Subscribe),
        1 => any::<usize>().prop_map(Step::Resubscribe),
        1 => any::<usize>().prop_map(Step::Leave),
    ]
}

/// All values ever sent, and where each receiver stands.
#[derive(Default)]
struct Model {
    sent: usize,
    at: Vec<usize>,
}

impl Model {
    fn receive(&mut self, index: usize, capacity: usize) -> Result<usize, TryRecvError> {
        let at = &mut self.at[index];
        let oldest = self.sent.saturating_sub(capacity);
        if *at < oldest {
            let lag = (oldest - *at) as u64;
            *at = oldest;
            return Err(TryRecvError::Lagged(lag));
        }
        if *at == self.sent {
            return Err(TryRecvError::Empty);
        }
        *at += 1;
        Ok(*at - 1)
    }

    /// What has to be kept.
    fn kept(&self, capacity: usize) -> usize {
        let oldest = self.sent.saturating_sub(capacity);
        self.at.iter().map(|&at| self.sent - at.max(oldest)).max().unwrap_or(0)
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn it_behaves_like_a_list_of_all_values(places in 1_usize..6, steps in vec(step(), 0..80)) {
        let dropped = Count::default();
        let (sender, receiver) = broadcast::channel(places);
        let capacity = places.next_power_of_two();
        let mut receivers = vec![receiver];
        let mut model = Model { sent: 0, at: vec![0] };
        let value = |number: usize| Arc::new((number, OnDrop(dropped.clone())));
        for step in steps {
            match step {
                Step::Send => match sender.send(value(model.sent)) {
                    Ok(count) => {
                        prop_assert_eq!(count, receivers.len());
                        model.sent += 1;
                    }
                    Err(_) => prop_assert!(receivers.is_empty()),
                },
                Step::Subscribe => {
                    receivers.push(sender.subscribe());
                    model.at.push(model.sent);
                }
                Step::Receive(index) if !receivers.is_empty() => {
                    let index = index % receivers.len();
                    let got = receivers[index].try_recv().map(|value| value.0);
                    prop_assert_eq!(got, model.receive(index, capacity));
                    prop_assert_eq!(receivers[index].len(), model.sent - model.at[index]);
                }
                Step::Resubscribe(index) if !receivers.is_empty() => {
                    receivers.push(receivers[index % receivers.len()].resubscribe());
                    model.at.push(model.sent);
                }
                Step::Leave(index) if !receivers.is_empty() => {
                    let index = index % receivers.len();
                    receivers.remove(index);
                    model.at.remove(index);
                }
                _ => {}
            }
            prop_assert_eq!(sender.len(), model.kept(capacity));
            prop_assert_eq!(sender.is_empty(), model.kept(capacity) == 0);
            prop_assert_eq!(sender.receiver_count(), receivers.len());
        }
        drop((sender, receivers));
        // Those that were refused, too.
        prop_assert!(dropped.get() >= model.sent);
    }
}

/// Sends from its destructor into the channel that it is dropped by.
#[derive(Clone, Debug)]
struct Nosy(Option<Sender<Nosy>>);

impl Drop for Nosy {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(Nosy(None));
            assert!(sender.len() <= 1);
        }
    }
}

#[test]
fn a_destructor_of_a_value_may_use_the_channel() {
    guarded(|| {
        let (sender, mut receiver) = broadcast::channel(1);
        sender.send(Nosy(Some(sender.clone()))).unwrap();
        // Overwrites the first one, whose destructor overwrites this one.
        sender.send(Nosy(Some(sender.clone()))).unwrap();
        assert_eq!(receiver.try_recv().map(drop), Err(TryRecvError::Lagged(3)));
        drop(receiver.try_recv());
        sender.send(Nosy(Some(sender.clone()))).unwrap();
        drop(receiver);
        assert!(sender.send(Nosy(None)).is_err());
    });
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

#[test]
fn a_waker_that_panics_costs_no_other_receiver_its_wake() {
    guarded(|| {
        let (sender, mut first) = broadcast::channel(4);
        let (mut second, (calls, waker)) = (sender.subscribe(), Calls::new());
        let panics = Waker::from(Arc::new(Panics));
        let (mut one, mut two) = (pin!(first.recv()), pin!(second.recv()));
        assert!(one.as_mut().poll(&mut Context::from_waker(&panics)).is_pending());
        assert!(two.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(sender.send(5).unwrap(), 2);
        assert_eq!(calls.get(), 1);
        for receiver in [one, two] {
            assert_eq!(receiver.poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(5)));
        }
    });
}

/// Runs a closure when it is dropped.
struct Runs(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Drop for Runs {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run();
        }
    }
}

impl std::fmt::Debug for Runs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Runs")
    }
}

fn runs(run: impl FnOnce() + Send + Sync + 'static) -> Arc<Runs> {
    Arc::new(Runs(Some(Box::new(run))))
}

/// The values that come after a receiver has left are not its own, however far it is overtaken while it
/// leaves.
#[test]
fn a_receiver_that_is_overtaken_while_it_leaves_takes_nothing_from_the_others() {
    guarded(|| {
        let (sender, leaves) = broadcast::channel(2);
        let mut stays = sender.subscribe();
        let sends = sender.clone();
        sender
            .send(runs(move || {
                for _ in 0..3 {
                    assert_eq!(sends.send(Arc::new(Runs(None))).unwrap(), 1);
                }
            }))
            .unwrap();
        sender.send(Arc::new(Runs(None))).unwrap();
        drop((stays.try_recv(), stays.try_recv()));
        // Drops the first value, whose destructor overwrites the second one and more.
        drop(leaves);
        assert_eq!(sender.len(), 2);
        assert!(matches!(stays.try_recv(), Err(TryRecvError::Lagged(1))));
        assert!(stays.try_recv().is_ok());
        assert!(stays.try_recv().is_ok());
        assert!(matches!(stays.try_recv(), Err(TryRecvError::Empty)));
    });
}

#[test]
fn a_destructor_that_panics_keeps_no_value_and_no_wait_for_the_last_receiver() {
    guarded(|| {
        let (sender, receiver) = broadcast::channel(4);
        let ((calls, waker), dropped) = (Calls::new(), Count::default());
        let mut closed = pin!(sender.closed());
        assert!(closed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        sender.send(runs(|| panic!("a destructor that panics"))).unwrap();
        let drops = OnDrop(dropped.clone());
        sender.send(runs(move || drop(drops))).unwrap();
        let leave = std::panic::AssertUnwindSafe(move || drop(receiver));
        assert!(std::panic::catch_unwind(leave).is_err());
        assert_eq!((sender.len(), dropped.get()), (0, 1));
        assert_eq!(calls.get(), 1);
        assert!(closed.poll(&mut Context::from_waker(&waker)).is_ready());
    });
}

/// Polls its future at once when it is woken, after it has made sure that there is a receiver again.
struct Eager {
    sender: Sender<()>,
    back: Arc<Mutex<Option<Receiver<()>>>>,
    wakes: Count,
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl Wake for Eager {
    fn wake(self: Arc<Self>) {
        if self.wakes.add() > 1_000 {
            // Ends what would go on for ever.
            return;
        }
        self.back.lock().unwrap().get_or_insert_with(|| self.sender.subscribe());
        let waker = Waker::from(self.clone());
        if let Some(future) = &mut *self.future.lock().unwrap() {
            let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
        }
    }
}

/// Each of the crowd waits again at once, because there is a receiver again.
#[test]
fn a_crowd_that_waits_on_is_woken_once_for_a_receiver_that_goes() {
    guarded(|| {
        let (sender, receiver) = broadcast::channel(1);
        let (back, wakes) = (Arc::new(Mutex::new(None)), Count::default());
        let crowd: Vec<_> = (0..100)
            .map(|_| {
                let waits = sender.clone();
                let eager = Arc::new(Eager {
                    sender: sender.clone(),
                    back: back.clone(),
                    wakes: wakes.clone(),
                    future: Mutex::new(Some(Box::pin(async move { waits.closed().await }))),
                });
                let waker = Waker::from(eager.clone());
                let mut future = eager.future.lock().unwrap();
                let waits = future.as_mut().expect("just made").as_mut();
                assert!(waits.poll(&mut Context::from_waker(&waker)).is_pending());
                drop(future);
                eager
            })
            .collect();
        drop(receiver);
        // They hold themselves through their wakers.
        crowd.iter().for_each(|eager| drop(eager.future.lock().unwrap().take()));
        assert!((1..=100).contains(&wakes.get()), "{} wakes", wakes.get());
    });
}

/// What each of the receivers got, in two runtimes.
#[test]
fn a_crowd_in_two_runtimes_gets_every_value_or_is_told() {
    const VALUES: usize = 2_000;
    guarded(|| {
        let (here, there) = (workers(2), workers(1));
        let (sender, _) = broadcast::channel(64);
        async fn drain(mut receiver: Receiver<usize>) -> (VecDeque<usize>, u64) {
            let (mut values, mut missed) = (VecDeque::new(), 0);
            loop {
                match receiver.recv().await {
                    Ok(value) => values.push_back(value),
                    Err(RecvError::Lagged(count)) => missed += count,
                    Err(RecvError::Closed) => return (values, missed),
                }
            }
        }
        let crowd = |runtime: &liten::runtime::Runtime| {
            (0..50).map(|_| runtime.spawn(drain(sender.subscribe()))).collect::<Vec<_>>()
        };
        let (ours, theirs) = (crowd(&here), crowd(&there));
        let sends = here.spawn(async move {
            for value in 0..VALUES {
                sender.send(value).unwrap();
                if value % 16 == 0 {
                    liten::task::yield_now().await;
                }
            }
        });
        here.block_on(async {
            sends.await.unwrap();
            for receiver in ours.into_iter().chain(theirs) {
                let (values, missed) = receiver.await.unwrap();
                assert_eq!(values.len() as u64 + missed, VALUES as u64);
                assert!(values.iter().is_sorted());
                assert_eq!(values.back(), Some(&(VALUES - 1)));
            }
        });
    });
}

/// The receiver drops what was for it, without a call within a call for each.
#[test]
fn a_receiver_with_a_million_values_drops_each_once() {
    #[derive(Clone)]
    struct Value(#[allow(dead_code, reason = "it counts")] Arc<OnDrop>);

    guarded(|| {
        let dropped = Count::default();
        let (sender, receiver) = broadcast::channel(1_000_000);
        for _ in 0..1_000_000 {
            assert!(sender.send(Value(Arc::new(OnDrop(dropped.clone())))).is_ok());
        }
        assert_eq!((receiver.len(), dropped.get()), (1_000_000, 0));
        let small = thread::Builder::new().stack_size(64 * 1024);
        small.spawn(|| drop(receiver)).unwrap().join().unwrap();
        assert_eq!((sender.len(), dropped.get()), (0, 1_000_000));
    });
}
