//! Each short sequence of calls against a plain model, and what the model does not cover.

use super::error::{RecvError, TryRecvError};
use super::{Receiver, Sender, channel};
use crate::engine::wakers::tests::Count;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// Counts its drops.
#[derive(Debug)]
struct Value(Arc<AtomicUsize>);

impl Drop for Value {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What is called, the wakers with their number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Send,
    DropSender,
    PollClosed(usize),
    Poll(usize),
    TryRecv,
    Close,
    DropReceiver,
}

const CALLS: [Call; 9] = [
    Call::Send,
    Call::DropSender,
    Call::PollClosed(0),
    Call::PollClosed(1),
    Call::Poll(2),
    Call::Poll(3),
    Call::TryRecv,
    Call::Close,
    Call::DropReceiver,
];

/// What ended the channel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Sent,
    Dropped,
    Closed,
}

/// The channel as a plain value. Wakers by their number.
#[derive(Default)]
struct Model {
    end: Option<End>,
    terminated: bool,
    taken: bool,
    left: [Option<usize>; 2],
    rings: [usize; 4],
    values_dropped: usize,
}

const SENDERS: usize = 0;
const RECEIVERS: usize = 1;

impl Model {
    /// The first end: wakes the other half, forgets both wakers.
    fn end(&mut self, end: End) {
        if self.end.is_none() {
            self.end = Some(end);
            let woken = if end == End::Closed { SENDERS } else { RECEIVERS };
            if let Some(waker) = self.left[woken] {
                self.rings[waker] += 1;
            }
            self.left = [None; 2];
        }
    }

    /// The receiver takes what there is.
    fn finish(&mut self) -> bool {
        let has_value = self.has_value();
        self.terminated = true;
        self.taken |= has_value;
        self.values_dropped += usize::from(has_value);
        has_value
    }

    fn has_value(&self) -> bool {
        self.end == Some(End::Sent) && !self.taken && !self.terminated
    }
}

/// The channel beside its model.
struct Pair {
    sender: Option<Sender<Value>>,
    receiver: Option<Receiver<Value>>,
    model: Model,
    bells: [Arc<Count>; 4],
    dropped: Arc<AtomicUsize>,
}

impl Pair {
    fn new() -> Self {
        let (sender, receiver) = channel();
        Self {
            sender: Some(sender),
            receiver: Some(receiver),
            model: Model::default(),
            bells: Default::default(),
            dropped: Arc::default(),
        }
    }

    /// Makes the call on both, unless there is no half to make it on, or it would panic.
    fn call(&mut self, call: Call) {
        match call {
            Call::Send | Call::DropSender | Call::PollClosed(_) => self.call_sender(call),
            _ => self.call_receiver(call),
        }
        self.compare();
    }

    fn call_sender(&mut self, call: Call) {
        let Some(mut sender) = self.sender.take() else { return };
        match call {
            Call::Send => {
                self.model.end(End::Sent);
                let fails = self.model.end != Some(End::Sent);
                let sent = sender.send(Value(self.dropped.clone()));
                assert_eq!(sent.is_err(), fails);
                self.model.values_dropped += usize::from(fails);
                // A receiver that has been dropped has closed the channel: it leaves no value behind.
            }
            Call::DropSender => {
                self.model.end(End::Dropped);
                drop(sender);
            }
            Call::PollClosed(number) => {
                let waker = self.bells[number].waker();
                let polled = sender.poll_closed(&mut Context::from_waker(&waker));
                assert_eq!(polled.is_ready(), self.model.end == Some(End::Closed));
                if polled.is_pending() {
                    self.model.left[SENDERS] = Some(number);
                }
                self.sender = Some(sender);
            }
            _ => unreachable!("the receiver's"),
        }
    }

    fn call_receiver(&mut self, call: Call) {
        let Some(mut receiver) = self.receiver.take() else { return };
        let model = &mut self.model;
        match call {
            Call::Poll(number) if !model.terminated => {
                let waker = self.bells[number].waker();
                let polled = Pin::new(&mut receiver).poll(&mut Context::from_waker(&waker));
                assert_eq!(polled.is_ready(), model.end.is_some());
                match polled {
                    Poll::Pending => model.left[RECEIVERS] = Some(number),
                    Poll::Ready(result) => assert_eq!(result.is_ok(), model.finish()),
                }
            }
            Call::Poll(_) => {}
            Call::TryRecv => match receiver.try_recv() {
                Ok(_) => assert!(model.finish()),
                Err(TryRecvError::Empty) => assert!(model.end.is_none()),
                Err(TryRecvError::Closed) => {
                    assert!(model.end.is_some());
                    assert!(!model.finish());
                }
            },
            Call::Close => {
                model.end(End::Closed);
                receiver.close();
            }
            Call::DropReceiver => {
                model.end(End::Closed);
                model.finish();
                drop(receiver);
                return;
            }
            _ => unreachable!("the sender's"),
        }
        self.receiver = Some(receiver);
    }

    fn compare(&self) {
        let model = &self.model;
        if let Some(sender) = &self.sender {
            assert_eq!(sender.is_closed(), model.end == Some(End::Closed));
        }
        if let Some(receiver) = &self.receiver {
            assert_eq!(receiver.is_terminated(), model.terminated);
            assert_eq!(receiver.is_empty(), !model.has_value());
        }
        assert_eq!(self.dropped.load(Ordering::Relaxed), model.values_dropped);
        for (number, bell) in self.bells.iter().enumerate() {
            assert_eq!(bell.get(), model.rings[number], "wakes of {number}");
            let kept = usize::from(model.left.contains(&Some(number)));
            assert_eq!(Arc::strong_count(bell), 1 + kept, "clones of {number}");
        }
    }
}

fn play(calls: &[Call]) {
    let mut pair = Pair::new();
    for call in calls {
        pair.call(*call);
    }
    for call in [Call::DropSender, Call::DropReceiver] {
        pair.call(call);
    }
}

/// All of up to six calls: no state of the word needs more to be reached. Miri would take days for six.
#[test]
fn every_short_sequence_of_calls_does_what_the_model_does() {
    fn extend(calls: &mut Vec<Call>) {
        let played = catch_unwind(AssertUnwindSafe(|| play(calls)));
        assert!(played.is_ok(), "not as the model: {calls:?}");
        if calls.len() < if cfg!(miri) { 3 } else { 6 } {
            for call in CALLS {
                calls.push(call);
                extend(calls);
                calls.pop();
            }
        }
    }
    extend(&mut Vec::new());
}

#[test]
#[should_panic(expected = "called after complete")]
fn a_receiver_that_has_been_ready_must_not_be_polled() {
    let (sender, mut receiver) = channel();
    sender.send(1).expect("it is there");
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(Pin::new(&mut receiver).poll(&mut cx), Poll::Ready(Ok(1)));
    let _ = Pin::new(&mut receiver).poll(&mut cx);
}

#[test]
fn the_halves_are_a_pointer_each() {
    assert_eq!(size_of::<Sender<[u64; 8]>>(), size_of::<usize>());
    assert_eq!(size_of::<Receiver<[u64; 8]>>(), size_of::<usize>());
}

#[test]
fn values_of_any_layout_come_as_they_went() {
    #[repr(align(128))]
    #[derive(Clone, Debug, PartialEq)]
    struct Aligned(u8);
    fn check<T: Clone + PartialEq + std::fmt::Debug>(value: T) {
        let (sender, mut receiver) = channel();
        sender.send(value.clone()).expect("it is there");
        assert_eq!(receiver.try_recv(), Ok(value));
    }
    check(());
    check(Aligned(7));
    check([u128::MAX; 1_000]);
    check(String::from("text"));
}

#[test]
fn errors_say_what_tokios_say() {
    assert_eq!(RecvError(()).to_string(), "channel closed");
    assert_eq!(TryRecvError::Empty.to_string(), "channel empty");
    assert_eq!(TryRecvError::Closed.to_string(), "channel closed");
}
