//! The queue's chunks and memory, and both channels beside a plain model: sequences of operations that
//! proptest makes up and shrinks to the shortest that fails.

use super::queue::Queue;
use super::*;
use crate::engine::rng::tests::cases;
use crate::engine::task::budget;
use crate::engine::wakers::tests::Count;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn now<F: Future>(future: F) -> F::Output {
    match poll(pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("not ready at once"),
    }
}

#[test]
fn values_leave_the_queue_in_order_whatever_their_number() {
    for count in [0, 1, 255, 256, 257, 511, 512, 513, 10_000] {
        let (mut shared, mut own) = (Queue::new(), Queue::new());
        for round in 0..3 {
            (0..count).for_each(|number| shared.push((round, number)));
            assert_eq!(shared.len(), count);
            own.take_all(&mut shared);
            assert_eq!((own.len(), shared.len()), (count, 0));
            let mut buffer = Vec::new();
            assert_eq!(own.pop_many(&mut buffer, count / 3), count / 3);
            assert_eq!(own.len(), count - count / 3);
            buffer.extend(std::iter::from_fn(|| own.pop()));
            assert!(buffer.into_iter().eq((0..count).map(|number| (round, number))));
            assert!(own.is_empty() && shared.is_empty());
        }
    }
}

#[test]
fn a_single_value_is_one_that_no_other_is_before() {
    let mut queue = Queue::new();
    assert_eq!(queue.pop_single(), None);
    queue.push(0);
    assert_eq!(queue.pop_single(), Some(0));
    assert!(queue.is_empty());
    for count in [2, 256, 257, 512, 513] {
        (0..count).for_each(|number| queue.push(number));
        assert_eq!(queue.pop_single(), None, "of {count}");
        assert!((1..count).all(|number| queue.pop() == Some(number - 1)));
        // The last one may lie in the first chunk, or in one of its own.
        let last = queue.pop_single().or_else(|| queue.pop());
        assert_eq!((last, queue.len()), (Some(count - 1), 0));
    }
}

/// Two chunks in each of two queues, and the handles of a few.
#[test]
fn a_burst_leaves_little_memory_behind() {
    let (mut shared, mut own) = (Queue::new(), Queue::new());
    assert_eq!(shared.memory(), (0, 0));
    for _ in 0..3 {
        (0..1_000_000_u64).for_each(|number| shared.push(number));
        own.take_all(&mut shared);
        while own.pop().is_some() {}
        let (values, handles) = own.memory();
        assert!(values <= 512 && handles <= 32, "{values} {handles}");
        let (values, handles) = shared.memory();
        assert!(values <= 512 && handles <= 32, "{values} {handles}");
    }
}

#[test]
fn large_values_and_values_without_a_size_are_queued_too() {
    let mut queue = Queue::new();
    (0..100).for_each(|number| queue.push([number; 1024]));
    assert!((0..100).all(|number| queue.pop() == Some([number; 1024])));
    let mut queue = Queue::new();
    (0..1_000).for_each(|_| queue.push(()));
    assert_eq!(queue.len(), 1_000);
    assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 1_000);
}

#[test]
fn many_messages_are_one_wake() {
    let (woken, waker) = Count::new();
    let (sender, mut receiver) = unbounded_channel();
    assert!(receiver.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    let others: Vec<_> = (0..10).map(|_| sender.clone()).collect();
    others.iter().for_each(|sender| sender.send(()).unwrap());
    assert_eq!(woken.get(), 1);
}

/// All that is woken is taken out of the receiver: nothing keeps the task's memory.
#[test]
fn the_receiver_lets_go_of_its_waker() {
    let (woken, waker) = Count::new();
    let (sender, mut receiver) = channel::<()>(1);
    assert!(receiver.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(Arc::strong_count(&woken), 3);
    drop(receiver);
    assert_eq!(Arc::strong_count(&woken), 2);
    drop(sender);
}

/// A waker that panics on its way keeps neither the message nor later ones.
#[test]
fn a_panicking_waker_loses_no_message() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics");
        }
    }
    let (sender, mut receiver) = channel(2);
    let bad = Waker::from(Arc::new(Bad));
    assert!(receiver.poll_recv(&mut Context::from_waker(&bad)).is_pending());
    let sends = || sender.try_send(1).unwrap();
    assert!(std::panic::catch_unwind(sends).is_err());
    sender.try_send(2).unwrap();
    assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(1), Ok(2)));
    // In destructors it is kept in.
    assert!(receiver.poll_recv(&mut Context::from_waker(&bad)).is_pending());
    drop(sender);
    assert_eq!(now(receiver.recv()), None);
}

/// A permit's message is not kept for a receiver that has gone.
#[test]
fn a_permit_without_a_receiver_drops_its_message() {
    let (sender, receiver) = channel(1);
    let permit = sender.try_reserve().unwrap();
    drop(receiver);
    let value = Arc::new(());
    permit.send(value.clone());
    assert_eq!(Arc::strong_count(&value), 1);
}

/// A sender that waits for its budget has a permit. The receiver of a closed channel waits for that.
#[test]
fn a_send_that_is_given_up_for_lack_of_budget_wakes_the_receiver_of_a_closed_channel() {
    let (woken, waker) = Count::new();
    let spent = |send: Pin<&mut dyn Future<Output = Result<(), error::SendError<u8>>>>| {
        let _budget = budget::full();
        let cx = &mut Context::from_waker(Waker::noop());
        while budget::poll_proceed(cx).is_ready() {}
        send.poll(cx)
    };
    for polls_again in [true, false] {
        let (sender, mut receiver) = channel(2);
        let mut send = Box::pin(sender.send(1));
        assert!(spent(send.as_mut()).is_pending());
        receiver.close();
        assert_eq!(receiver.capacity(), 1);
        let before = woken.get();
        assert!(receiver.poll_recv(&mut Context::from_waker(&waker)).is_pending());
        if polls_again {
            assert_eq!(now(send), Err(error::SendError(1)));
        } else {
            drop(send);
        }
        assert_eq!(woken.get(), before + 1);
        assert_eq!((now(receiver.recv()), receiver.capacity()), (None, 2));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send,
    SendMany(usize),
    Reserve(usize),
    SendReserved,
    DropPermit,
    Receive,
    ReceiveMany(usize),
    TryReceive,
    Wait,
    Close,
    Clone,
    DropSender,
    Downgrade,
    Upgrade,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Send),
        2 => prop_oneof![4 => 0..600_usize, 1 => Just(257)].prop_map(Step::SendMany),
        2 => (0..5_usize).prop_map(Step::Reserve),
        3 => Just(Step::SendReserved),
        2 => Just(Step::DropPermit),
        5 => Just(Step::Receive),
        3 => (0..700_usize).prop_map(Step::ReceiveMany),
        2 => Just(Step::TryReceive),
        2 => Just(Step::Wait),
        1 => Just(Step::Close),
        1 => Just(Step::Clone),
        2 => Just(Step::DropSender),
        1 => Just(Step::Downgrade),
        1 => Just(Step::Upgrade),
    ];
    vec(step, 1..80)
}

/// What a channel should be.
#[derive(Default)]
struct Model {
    queue: VecDeque<usize>,
    bound: usize,
    permits: usize,
    closed: bool,
    sent: usize,
}

impl Model {
    fn capacity(&self) -> usize {
        self.bound - self.queue.len() - self.permits
    }

    fn push(&mut self) -> usize {
        self.queue.push_back(self.sent);
        self.sent += 1;
        self.sent - 1
    }

    fn next(&mut self, senders: usize) -> Poll<Option<usize>> {
        let ended = senders == 0 || (self.closed && self.permits == 0);
        match self.queue.pop_front() {
            Some(value) => Poll::Ready(Some(value)),
            None if ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

fn try_recv(receiver: &mut Receiver<usize>) -> Poll<Option<usize>> {
    match receiver.try_recv() {
        Ok(value) => Poll::Ready(Some(value)),
        Err(error::TryRecvError::Disconnected) => Poll::Ready(None),
        Err(error::TryRecvError::Empty) => Poll::Pending,
    }
}

/// A channel, and its model.
struct Beside {
    model: Model,
    senders: Vec<Sender<usize>>,
    weak: Vec<WeakSender<usize>>,
    permits: Vec<OwnedPermit<usize>>,
    receiver: Receiver<usize>,
}

impl Beside {
    fn step(&mut self, step: &Step) {
        let senders = self.senders.len() + self.permits.len();
        let (model, receiver) = (&mut self.model, &mut self.receiver);
        match (step, self.senders.last()) {
            (Step::Send, Some(sender)) => Self::send(model, sender),
            (Step::SendMany(count), Some(sender)) => {
                (0..*count).for_each(|_| Self::send(model, sender));
            }
            (Step::Reserve(count), Some(sender)) => {
                for _ in 0..*count {
                    let reserved = sender.clone().try_reserve_owned();
                    assert_eq!(reserved.is_ok(), !model.closed && model.capacity() > 0);
                    model.permits += usize::from(reserved.is_ok());
                    self.permits.extend(reserved);
                }
            }
            (Step::SendReserved, _) => {
                if let Some(permit) = self.permits.pop() {
                    model.permits -= 1;
                    drop(permit.send(model.push()));
                }
            }
            (Step::DropPermit, _) => {
                model.permits -= usize::from(self.permits.pop().is_some());
            }
            (Step::Receive, _) => assert_eq!(poll(pin!(receiver.recv())), model.next(senders)),
            (Step::TryReceive, _) => assert_eq!(try_recv(receiver), model.next(senders)),
            (Step::ReceiveMany(limit), _) => self.receive_many(senders, *limit),
            (Step::Wait, Some(sender)) => {
                let mut send = pin!(sender.reserve());
                let refused = model.closed;
                match poll(send.as_mut()) {
                    Poll::Ready(Ok(_)) => assert!(!refused && model.capacity() > 0),
                    Poll::Ready(Err(_)) => assert!(refused),
                    Poll::Pending => assert!(!refused && model.capacity() == 0),
                }
            }
            (Step::Close, _) => {
                model.closed = true;
                receiver.close();
            }
            (Step::Clone, Some(sender)) => self.senders.push(sender.clone()),
            (Step::DropSender, _) => drop(self.senders.pop()),
            (Step::Downgrade, Some(sender)) => self.weak.push(sender.downgrade()),
            (Step::Upgrade, _) => {
                if let Some(weak) = self.weak.last() {
                    let upgraded = weak.upgrade();
                    assert_eq!(upgraded.is_some(), senders > 0);
                    self.senders.extend(upgraded);
                }
            }
            (_, None) => {}
        }
        self.compare();
    }

    fn receive_many(&mut self, senders: usize, limit: usize) {
        let mut buffer = Vec::new();
        let got = poll(pin!(self.receiver.recv_many(&mut buffer, limit)));
        let mut expected = Vec::new();
        let mut end = Poll::Ready(None);
        while expected.len() < limit {
            match self.model.next(senders) {
                Poll::Ready(Some(value)) => expected.push(value),
                last => {
                    end = last;
                    break;
                }
            }
        }
        assert_eq!(buffer, expected);
        let waits = expected.is_empty() && limit > 0 && end.is_pending();
        assert_eq!(got, if waits { Poll::Pending } else { Poll::Ready(expected.len()) });
    }

    fn send(model: &mut Model, sender: &Sender<usize>) {
        let accepted = !model.closed && model.capacity() > 0;
        assert_eq!(sender.try_send(model.sent).is_ok(), accepted);
        if accepted {
            model.push();
        }
    }

    fn compare(&self) {
        let (model, receiver) = (&self.model, &self.receiver);
        let senders = self.senders.len() + self.permits.len();
        assert_eq!(receiver.len(), model.queue.len());
        assert_eq!(receiver.is_empty(), model.queue.is_empty());
        assert_eq!(receiver.capacity(), model.capacity());
        assert_eq!(receiver.is_closed(), model.closed || senders == 0);
        assert_eq!(receiver.sender_strong_count(), senders);
        assert_eq!(receiver.sender_weak_count(), self.weak.len());
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn properties_of_a_channel(bound in prop_oneof![1..4_usize, 100..900_usize], steps in steps()) {
        let (sender, receiver) = channel(bound);
        let mut beside = Beside {
            model: Model { bound, ..Model::default() },
            senders: vec![sender],
            weak: Vec::new(),
            permits: Vec::new(),
            receiver,
        };
        steps.iter().for_each(|step| beside.step(step));
    }
}
