//! `Barrier`.

use super::crowd::{self, Crowd};
use crate::support::cases::cases;
use liten::sync::Barrier;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
enum Step {
    Wait,
    Poll(usize),
    Drop(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Wait),
        6 => any::<usize>().prop_map(Step::Poll),
        1 => any::<usize>().prop_map(Step::Drop),
    ];
    vec(step, 1..80)
}

/// The futures in the order in which they arrive; each `size` of them are a group.
#[derive(Default)]
struct Model {
    size: usize,
    arrived: Vec<usize>,
}

impl Model {
    /// The place of a future in that order.
    fn order(&self, at: usize) -> usize {
        self.arrived.iter().position(|&other| other == at).expect("it was polled")
    }

    fn is_complete(&self, at: usize) -> bool {
        self.order(at) < self.arrived.len() / self.size * self.size
    }

    /// The one that completes its group.
    fn is_leader(&self, at: usize) -> bool {
        (self.order(at) + 1) % self.size == 0
    }
}

impl crowd::Model for Model {
    fn poll(&mut self, at: usize, first: bool) -> bool {
        if first {
            self.arrived.push(at);
        }
        self.is_complete(at)
    }

    fn is_woken(&self, at: usize) -> bool {
        self.is_complete(at)
    }

    /// It has arrived all the same.
    fn give_up(&mut self, _at: usize) {}
}

proptest! {
    #![proptest_config(cases(256))]

    /// Also of more futures than are woken in one round.
    #[test]
    fn a_barrier_does_what_its_model_does(
        size in prop_oneof![4 => 0..5_usize, 1 => Just(70)],
        crowds in prop_oneof![3 => Just(1_usize), 1 => Just(40)],
        steps in steps(),
    ) {
        let barrier = Arc::new(Barrier::new(size));
        let mut crowd = Crowd::new();
        let mut model = Model { size: size.max(1), ..Model::default() };
        for step in steps {
            match step {
                Step::Wait => (0..crowds).for_each(|_| {
                    let barrier = barrier.clone();
                    crowd.add(async move { barrier.wait().await.is_leader() });
                }),
                Step::Poll(pick) => for number in 0..crowds {
                    let pick = pick.wrapping_add(2 * number);
                    let came = crowd.poll(pick, &mut model).map(|(at, leads)| (at, *leads));
                    if let Some((at, leads)) = came {
                        prop_assert_eq!(leads, model.is_leader(at));
                    }
                },
                Step::Drop(pick) => drop(crowd.remove(pick, &mut model)),
            }
            crowd.check(&model);
        }
    }
}
