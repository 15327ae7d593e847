//! `broadcast` with receivers that wait. `sync/broadcast.rs` has a model of those that do not.

use super::crowd::{self, Crowd};
use crate::support::cases::cases;
use liten::sync::broadcast::error::RecvError;
use liten::sync::broadcast::{Receiver, Sender};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    Subscribe,
    Poll(usize),
    /// A receiver, whether it waits or not.
    Drop(usize),
    /// A receiver that has received waits for the next value.
    Again(usize),
    Send(usize),
    DropSender,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Subscribe),
        8 => any::<usize>().prop_map(Step::Poll),
        2 => any::<usize>().prop_map(Step::Drop),
        6 => any::<usize>().prop_map(Step::Again),
        4 => (1..4_usize).prop_map(Step::Send),
        1 => Just(Step::DropSender),
    ];
    vec(step, 1..80)
}

type Answer = Result<usize, RecvError>;

async fn receive(mut receiver: Receiver<usize>) -> (Receiver<usize>, Answer) {
    let answer = receiver.recv().await;
    (receiver, answer)
}

/// The number of values that were sent, and of those that each receiver has behind it.
struct Model {
    capacity: usize,
    sent: usize,
    closed: bool,
    behind: Vec<usize>,
    answers: Vec<Option<Answer>>,
}

impl Model {
    fn add(&mut self, behind: usize) {
        self.behind.push(behind);
        self.answers.push(None);
    }
}

impl crowd::Model for Model {
    fn poll(&mut self, at: usize, _first: bool) -> bool {
        let behind = &mut self.behind[at];
        let oldest = self.sent.saturating_sub(self.capacity);
        self.answers[at] = if *behind < oldest {
            let missed = oldest - *behind;
            *behind = oldest;
            Some(Err(RecvError::Lagged(missed as u64)))
        } else if *behind < self.sent {
            *behind += 1;
            Some(Ok(*behind - 1))
        } else {
            self.closed.then_some(Err(RecvError::Closed))
        };
        self.answers[at].is_some()
    }

    fn is_woken(&self, at: usize) -> bool {
        self.behind[at] < self.sent || self.closed
    }

    fn give_up(&mut self, _at: usize) {}
}

fn play(
    sender: &mut Option<Sender<usize>>,
    crowd: &mut Crowd<(Receiver<usize>, Answer)>,
    model: &mut Model,
    step: Step,
) {
    match step {
        Step::Subscribe => {
            if let Some(sender) = sender {
                crowd.add(receive(sender.subscribe()));
                model.add(model.sent);
            }
        }
        Step::Poll(pick) => {
            let came = crowd.poll(pick, model).map(|(at, (_, answer))| (at, answer.clone()));
            if let Some((at, answer)) = came {
                assert_eq!(Some(answer), model.answers[at]);
            }
        }
        Step::Drop(pick) => drop(crowd.remove(pick, model)),
        Step::Again(pick) => {
            if let Some((at, (receiver, _))) = crowd.remove_ready(pick) {
                crowd.add(receive(receiver));
                model.add(model.behind[at]);
            }
        }
        Step::Send(count) => {
            for _ in 0..count {
                let sent = sender.as_ref().is_some_and(|sender| sender.send(model.sent).is_ok());
                model.sent += usize::from(sent);
            }
        }
        Step::DropSender => {
            model.closed = true;
            *sender = None;
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_channel_does_what_its_model_does(places in 1..5_usize, steps in steps()) {
        let mut sender = Some(Sender::new(places));
        let mut crowd = Crowd::new();
        let mut model = Model {
            capacity: places.next_power_of_two(),
            sent: 0,
            closed: false,
            behind: Vec::new(),
            answers: Vec::new(),
        };
        for step in steps {
            play(&mut sender, &mut crowd, &mut model, step);
            crowd.check(&model);
        }
    }
}
