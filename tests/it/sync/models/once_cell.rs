//! `OnceCell`.

use super::crowd::{self, Crowd};
use crate::support::cases::cases;
use liten::sync::{OnceCell, SetError};
use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// What a future makes, or `Err` if it fails.
type Outcome = Result<u32, ()>;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Adds a future that wants the value.
    Want,
    Poll(usize),
    Drop(usize),
    /// Says what the future would make if it is its turn. Until then it waits in the middle of making it.
    Finish(usize, Outcome),
    Set(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop_oneof![any::<u32>().prop_map(Ok), Just(Err(())), Just(Err(()))];
    let step = prop_oneof![
        6 => Just(Step::Want),
        9 => any::<usize>().prop_map(Step::Poll),
        3 => any::<usize>().prop_map(Step::Drop),
        3 => (any::<usize>(), outcome).prop_map(|(pick, outcome)| Step::Finish(pick, outcome)),
        1 => any::<u32>().prop_map(Step::Set),
    ];
    vec(step, 1..60)
}

/// The work of one future.
#[derive(Default)]
struct Work {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

async fn make(work: Rc<RefCell<Work>>) -> Outcome {
    poll_fn(|cx| {
        let mut work = work.borrow_mut();
        work.waker = Some(cx.waker().clone());
        work.outcome.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// One future makes the value at a time; the others stand in line.
#[derive(Default)]
struct Model {
    value: Option<u32>,
    maker: Option<usize>,
    /// The maker has been polled since it was its turn.
    begun: bool,
    line: VecDeque<usize>,
    outcomes: Vec<Option<Outcome>>,
    woken: Vec<bool>,
    /// What a future that is ready returns.
    answers: Vec<Option<Outcome>>,
}

impl Model {
    fn add(&mut self) {
        self.outcomes.push(None);
        self.woken.push(false);
        self.answers.push(None);
    }

    fn hand_on(&mut self) {
        self.maker = self.line.pop_front();
        self.begun = false;
        if let Some(maker) = self.maker {
            self.woken[maker] = true;
        }
    }

    fn finish(&mut self, at: usize, outcome: Outcome) {
        self.outcomes[at] = Some(outcome);
        self.woken[at] |= self.maker == Some(at) && self.begun;
    }

    fn poll_maker(&mut self, at: usize) -> bool {
        self.begun = true;
        self.woken[at] = false;
        match self.outcomes[at] {
            None => return false,
            Some(Ok(value)) => {
                self.value = Some(value);
                self.maker = None;
                for waits in self.line.drain(..) {
                    self.woken[waits] = true;
                }
            }
            Some(Err(())) => self.hand_on(),
        }
        self.answers[at] = self.outcomes[at];
        true
    }
}

impl crowd::Model for Model {
    fn poll(&mut self, at: usize, first: bool) -> bool {
        if let Some(value) = self.value {
            self.answers[at] = Some(Ok(value));
            return true;
        }
        if first {
            match self.maker {
                None => self.maker = Some(at),
                Some(_) => self.line.push_back(at),
            }
        }
        self.maker == Some(at) && self.poll_maker(at)
    }

    fn is_woken(&self, at: usize) -> bool {
        self.woken[at]
    }

    fn give_up(&mut self, at: usize) {
        self.line.retain(|&other| other != at);
        if self.maker == Some(at) {
            self.hand_on();
        }
    }
}

fn set(cell: &OnceCell<u32>, model: &mut Model, value: u32) {
    let expected = match (model.value, model.maker) {
        (Some(_), _) => Err(SetError::AlreadyInitializedError(value)),
        (None, Some(_)) => Err(SetError::InitializingError(value)),
        (None, None) => Ok(()),
    };
    assert_eq!(cell.set(value), expected);
    if expected.is_ok() {
        model.value = Some(value);
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn it_does_what_its_model_does(steps in steps()) {
        let cell = Rc::new(OnceCell::new());
        let mut work: Vec<Rc<RefCell<Work>>> = Vec::new();
        let (mut crowd, mut model) = (Crowd::new(), Model::default());
        for step in steps {
            match step {
                Step::Want => {
                    let (cell, own) = (cell.clone(), Rc::<RefCell<Work>>::default());
                    work.push(own.clone());
                    model.add();
                    crowd.add(async move {
                        cell.get_or_try_init(|| make(own)).await.copied()
                    });
                }
                Step::Poll(pick) => {
                    let came = crowd.poll(pick, &mut model).map(|(at, answer)| (at, *answer));
                    if let Some((at, answer)) = came {
                        prop_assert_eq!(Some(answer), model.answers[at]);
                    }
                }
                Step::Drop(pick) => drop(crowd.remove(pick, &mut model)),
                Step::Finish(pick, outcome) => if let Some(at) = crowd.place(pick) {
                    model.finish(at, outcome);
                    work[at].borrow_mut().outcome = Some(outcome);
                    let waker = work[at].borrow_mut().waker.take();
                    waker.into_iter().for_each(Waker::wake);
                },
                Step::Set(value) => set(&cell, &mut model, value),
            }
            crowd.check(&model);
            prop_assert_eq!(cell.get().copied(), model.value);
            prop_assert_eq!(cell.initialized(), model.value.is_some());
        }
    }
}
