//! `mpsc` with senders that wait for room, and a receiver that waits for messages.

use super::crowd::{self, Crowd, Flag};
use crate::support::cases::cases;
use liten::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Adds a future that sends.
    Send,
    Poll(usize),
    Drop(usize),
    TrySend,
    Receive,
    ReceiveMany(usize),
    Close,
    DropSender,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => Just(Step::Send),
        8 => any::<usize>().prop_map(Step::Poll),
        4 => any::<usize>().prop_map(Step::Drop),
        2 => Just(Step::TrySend),
        6 => Just(Step::Receive),
        2 => (1..5_usize).prop_map(Step::ReceiveMany),
        1 => Just(Step::Close),
        1 => Just(Step::DropSender),
    ];
    vec(step, 1..80)
}

/// The sender that all futures clone theirs from.
enum Tx {
    Bounded(Sender<usize>),
    Unbounded(UnboundedSender<usize>),
}

impl Tx {
    fn send(&self, value: usize) -> Pin<Box<dyn Future<Output = bool>>> {
        match self {
            Self::Bounded(sender) => {
                let sender = sender.clone();
                Box::pin(async move { sender.send(value).await.is_ok() })
            }
            Self::Unbounded(sender) => {
                let sender = sender.clone();
                Box::pin(async move { sender.send(value).is_ok() })
            }
        }
    }

    fn try_send(&self, value: usize) -> bool {
        match self {
            Self::Bounded(sender) => sender.try_send(value).is_ok(),
            Self::Unbounded(sender) => sender.send(value).is_ok(),
        }
    }
}

enum Rx {
    Bounded(Receiver<usize>),
    Unbounded(UnboundedReceiver<usize>),
}

impl Rx {
    fn poll(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<Vec<usize>> {
        let mut buffer = Vec::new();
        let poll = match self {
            Self::Bounded(receiver) => receiver.poll_recv_many(cx, &mut buffer, most),
            Self::Unbounded(receiver) => receiver.poll_recv_many(cx, &mut buffer, most),
        };
        poll.map(|count| {
            assert_eq!(count, buffer.len());
            buffer
        })
    }

    fn poll_one(&mut self, cx: &mut Context<'_>) -> Poll<Option<usize>> {
        match self {
            Self::Bounded(receiver) => receiver.poll_recv(cx),
            Self::Unbounded(receiver) => receiver.poll_recv(cx),
        }
    }

    fn close(&mut self) {
        match self {
            Self::Bounded(receiver) => receiver.close(),
            Self::Unbounded(receiver) => receiver.close(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Bounded(receiver) => receiver.len(),
            Self::Unbounded(receiver) => receiver.len(),
        }
    }
}

/// The messages, the futures that have room but were not polled since, and those in line.
struct Model {
    bound: usize,
    queue: VecDeque<usize>,
    granted: Vec<usize>,
    line: VecDeque<usize>,
    closed: bool,
    /// What each future sends.
    values: Vec<usize>,
    sent: Vec<bool>,
    /// The futures that hold a sender, and the first sender.
    senders: usize,
}

impl Model {
    fn room(&self) -> usize {
        self.bound - self.queue.len() - self.granted.len()
    }

    fn settle(&mut self) {
        while self.room() > 0 && !self.closed {
            let Some(first) = self.line.pop_front() else { return };
            self.granted.push(first);
        }
    }

    fn try_send(&mut self, value: usize) -> bool {
        let sent = !self.closed && self.room() > 0;
        if sent {
            self.queue.push_back(value);
        }
        sent
    }

    fn take(&mut self, most: usize) -> Vec<usize> {
        let count = most.min(self.queue.len());
        let taken = self.queue.drain(..count).collect();
        self.settle();
        taken
    }

    /// Whether no message will come.
    fn has_ended(&self) -> bool {
        self.senders == 0 || (self.closed && self.queue.is_empty() && self.granted.is_empty())
    }

    fn receiver_is_ready(&self) -> bool {
        !self.queue.is_empty() || self.has_ended()
    }
}

impl crowd::Model for Model {
    fn poll(&mut self, at: usize, first: bool) -> bool {
        let granted = self.granted.contains(&at);
        self.granted.retain(|&other| other != at);
        let comes = (first || granted) && self.try_send(self.values[at]);
        self.sent[at] = comes;
        if first && !comes && !self.closed {
            self.line.push_back(at);
        }
        let ready = comes || self.closed;
        self.senders -= usize::from(ready);
        ready
    }

    fn is_woken(&self, at: usize) -> bool {
        self.granted.contains(&at) || self.closed
    }

    fn give_up(&mut self, at: usize) {
        self.line.retain(|&other| other != at);
        self.granted.retain(|&other| other != at);
        self.senders -= 1;
        self.settle();
    }
}

/// A channel, and its model.
struct Beside {
    sender: Option<Tx>,
    receiver: Rx,
    /// Of the receiver, if it waits.
    waits: Option<Arc<Flag>>,
    crowd: Crowd<bool>,
    model: Model,
    next: usize,
}

impl Beside {
    /// With room for `bound` messages; for 0 without a bound.
    fn new(bound: usize) -> Self {
        let (sender, receiver) = match bound {
            0 => {
                let (sender, receiver) = mpsc::unbounded_channel();
                (Tx::Unbounded(sender), Rx::Unbounded(receiver))
            }
            _ => {
                let (sender, receiver) = mpsc::channel(bound);
                (Tx::Bounded(sender), Rx::Bounded(receiver))
            }
        };
        let model = Model {
            bound: if bound == 0 { usize::MAX } else { bound },
            queue: VecDeque::new(),
            granted: Vec::new(),
            line: VecDeque::new(),
            closed: false,
            values: Vec::new(),
            sent: Vec::new(),
            senders: 1,
        };
        Self { sender: Some(sender), receiver, waits: None, crowd: Crowd::new(), model, next: 0 }
    }

    fn step(&mut self, step: Step) {
        self.next += 1;
        let model = &mut self.model;
        match (step, &self.sender) {
            (Step::Send, Some(sender)) => {
                self.crowd.add(sender.send(self.next));
                model.values.push(self.next);
                model.sent.push(false);
                model.senders += 1;
            }
            (Step::TrySend, Some(sender)) => {
                assert_eq!(sender.try_send(self.next), model.try_send(self.next));
            }
            (Step::Poll(pick), _) => {
                let came = self.crowd.poll(pick, model).map(|(at, sent)| (at, *sent));
                if let Some((at, sent)) = came {
                    assert_eq!(sent, model.sent[at]);
                }
            }
            (Step::Drop(pick), _) => self.drop_future(pick),
            (Step::Receive, _) => self.receive(1),
            (Step::ReceiveMany(most), _) => self.receive(most),
            (Step::Close, _) => {
                self.receiver.close();
                model.closed = true;
                model.line.clear();
                // The receiver needs no wake for what it does itself.
                if model.has_ended() {
                    self.waits = None;
                }
            }
            (Step::DropSender, _) => {
                model.senders -= usize::from(self.sender.take().is_some());
            }
            (Step::Send | Step::TrySend, None) => {}
        }
        self.check();
    }

    fn drop_future(&mut self, pick: usize) {
        // One that was never polled holds a sender, and waits for nothing.
        let new = self.crowd.is_new(pick);
        self.crowd.remove(pick, &mut self.model);
        self.model.senders -= usize::from(new);
    }

    fn receive(&mut self, most: usize) {
        let flag = Arc::<Flag>::default();
        let waker = Waker::from(flag.clone());
        let cx = &mut Context::from_waker(&waker);
        let poll = match most {
            1 => self.receiver.poll_one(cx).map(|one| one.into_iter().collect()),
            _ => self.receiver.poll(cx, most),
        };
        assert_eq!(poll.is_ready(), self.model.receiver_is_ready());
        self.waits = Some(flag).filter(|_| poll.is_pending());
        if let Poll::Ready(got) = poll {
            assert_eq!(got, self.model.take(most));
        }
    }

    fn check(&self) {
        self.crowd.check(&self.model);
        assert_eq!(self.receiver.len(), self.model.queue.len());
        if let (Some(Tx::Bounded(sender)), false) = (&self.sender, self.model.closed) {
            let free = if self.model.line.is_empty() { self.model.room() } else { 0 };
            assert_eq!(sender.capacity(), free);
        }
        if let Some(flag) = &self.waits {
            assert!(flag.is_set() || !self.model.receiver_is_ready(), "the receiver sleeps");
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_channel_does_what_its_model_does(bound in 0..4_usize, steps in steps()) {
        let mut beside = Beside::new(bound);
        steps.into_iter().for_each(|step| beside.step(step));
    }
}
