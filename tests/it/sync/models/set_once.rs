//! `SetOnce`.

use super::crowd::{self, Crowd};
use crate::support::cases::cases;
use liten::sync::SetOnce;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
enum Step {
    Wait,
    Poll(usize),
    Drop(usize),
    Set(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Wait),
        8 => any::<usize>().prop_map(Step::Poll),
        2 => any::<usize>().prop_map(Step::Drop),
        1 => any::<u32>().prop_map(Step::Set),
    ];
    vec(step, 1..40)
}

/// The value, for which all wait.
struct Model(Option<u32>);

impl crowd::Model for Model {
    fn poll(&mut self, _at: usize, _first: bool) -> bool {
        self.0.is_some()
    }

    fn is_woken(&self, _at: usize) -> bool {
        self.0.is_some()
    }

    fn give_up(&mut self, _at: usize) {}
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn it_does_what_its_model_does(given in prop::option::weighted(0.1, any::<u32>()), steps in steps()) {
        let once = Arc::new(SetOnce::new_with(given));
        let (mut crowd, mut model) = (Crowd::new(), Model(given));
        for step in steps {
            match step {
                Step::Wait => {
                    let once = once.clone();
                    crowd.add(async move { *once.wait().await });
                }
                Step::Poll(pick) => {
                    let came = crowd.poll(pick, &mut model).map(|(_, value)| *value);
                    prop_assert!(came.is_none() || came == model.0);
                }
                Step::Drop(pick) => drop(crowd.remove(pick, &mut model)),
                Step::Set(value) => {
                    let refused = once.set(value).err().map(|error| error.0);
                    prop_assert_eq!(refused, model.0.map(|_| value));
                    model.0.get_or_insert(value);
                }
            }
            crowd.check(&model);
            prop_assert_eq!(once.get().copied(), model.0);
            prop_assert_eq!(once.initialized(), model.0.is_some());
        }
    }
}
