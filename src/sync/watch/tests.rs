use super::*;
use proptest::prelude::*;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

fn once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn versions_are_counted_past_the_end_of_the_word() {
    let (sender, mut receiver) = channel(0);
    let last = Version(STEP.wrapping_neg());
    sender.shared.state.store(last.0, Ordering::Relaxed);
    receiver.mark_unchanged();
    assert!(once(receiver.changed()).is_pending());
    sender.send(1).expect("a receiver");
    assert_eq!(sender.shared.state(), (Version(0), false));
    assert!(matches!(once(receiver.changed()), Poll::Ready(Ok(()))));
    receiver.mark_changed();
    assert_eq!(receiver.has_changed().ok(), Some(true));
}

#[test]
fn receivers_are_spread_over_the_notifies_and_all_are_woken() {
    let (sender, receiver) = channel(0);
    let mut receivers: Vec<_> = (0..100).map(|_| receiver.clone()).collect();
    let mut waiting: Vec<Pin<Box<_>>> =
        receivers.iter_mut().map(|one| Box::pin(one.changed())).collect();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(waiting.iter_mut().all(|one| one.as_mut().poll(&mut cx).is_pending()));
    assert!(sender.shared.changed.iter().all(|one| format!("{one:?}").contains("waiting: true")));
    sender.send(1).expect("receivers");
    assert!(waiting.iter_mut().all(|one| one.as_mut().poll(&mut cx).is_ready()));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Send(u8),
    SendIf(u8),
    Subscribe,
    Clone(usize),
    Drop(usize),
    Changed(usize),
    WaitFor(usize, u8),
    Borrow(usize),
    Update(usize),
    MarkChanged(usize),
    MarkUnchanged(usize),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let at = any::<usize>;
    prop_oneof![
        4 => (0..4_u8).prop_map(Step::Send),
        2 => (0..4_u8).prop_map(Step::SendIf),
        1 => Just(Step::Subscribe),
        1 => at().prop_map(Step::Clone),
        1 => at().prop_map(Step::Drop),
        4 => at().prop_map(Step::Changed),
        2 => (at(), 0..4_u8).prop_map(|(at, value)| Step::WaitFor(at, value)),
        1 => at().prop_map(Step::Borrow),
        2 => at().prop_map(Step::Update),
        1 => at().prop_map(Step::MarkChanged),
        1 => at().prop_map(Step::MarkUnchanged),
        1 => Just(Step::Close),
    ]
}

/// The channel as its documentation tells it: one value, and for each receiver whether it is new to it.
struct Model {
    value: u8,
    open: bool,
    is_new: Vec<bool>,
}

impl Model {
    fn send(&mut self, value: u8) {
        self.value = value;
        self.is_new.fill(true);
    }

    /// What `changed` returns, if it does.
    fn changed(&mut self, at: usize) -> Option<bool> {
        match std::mem::take(&mut self.is_new[at]) {
            true => Some(true),
            false => (!self.open).then_some(false),
        }
    }
}

/// One step on both, of those that concern a receiver.
fn look(receivers: &mut [Receiver<u8>], model: &mut Model, step: Step) {
    match step {
        Step::Changed(at) => {
            let changed = match once(receivers[at].changed()) {
                Poll::Ready(result) => Some(result.is_ok()),
                Poll::Pending => None,
            };
            assert_eq!(changed, model.changed(at));
        }
        Step::WaitFor(at, value) => {
            let expected = match model.value == value {
                true => Some(Ok((value, model.is_new[at]))),
                false => (!model.open).then_some(Err(())),
            };
            model.is_new[at] = false;
            let came = match once(receivers[at].wait_for(|now| *now == value)) {
                Poll::Ready(result) => {
                    Some(result.map(|value| (*value, value.has_changed())).map_err(drop))
                }
                Poll::Pending => None,
            };
            assert_eq!(came, expected);
        }
        Step::Borrow(at) | Step::Update(at) => {
            let update = matches!(step, Step::Update(_));
            let one = &mut receivers[at];
            let seen = if update { one.borrow_and_update() } else { one.borrow() };
            assert_eq!((*seen, seen.has_changed()), (model.value, model.is_new[at]));
            model.is_new[at] &= !update;
        }
        Step::MarkChanged(at) => {
            // Twice is another version than the present one, too.
            receivers[at].mark_changed();
            model.is_new[at] = true;
        }
        Step::MarkUnchanged(at) => {
            receivers[at].mark_unchanged();
            model.is_new[at] = false;
        }
        _ => unreachable!("it concerns the sender"),
    }
}

fn at_of(step: Step, len: usize) -> Step {
    match step {
        Step::Changed(at) => Step::Changed(at % len),
        Step::WaitFor(at, value) => Step::WaitFor(at % len, value),
        Step::Borrow(at) => Step::Borrow(at % len),
        Step::Update(at) => Step::Update(at % len),
        Step::MarkChanged(at) => Step::MarkChanged(at % len),
        Step::MarkUnchanged(at) => Step::MarkUnchanged(at % len),
        Step::Clone(at) => Step::Clone(at % len),
        Step::Drop(at) => Step::Drop(at % len),
        other => other,
    }
}

proptest! {
    #[test]
    fn properties_it_does_what_its_model_does(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let (sender, receiver) = channel(0_u8);
        let mut sender = Some(sender);
        let mut receivers = vec![receiver];
        let mut model = Model { value: 0, open: true, is_new: vec![false] };
        for step in steps {
            let concerns_sender =
                matches!(step, Step::Send(_) | Step::SendIf(_) | Step::Subscribe | Step::Close);
            match (step, &sender) {
                (Step::Send(value), Some(sender)) => {
                    let sent = sender.send(value);
                    prop_assert_eq!(sent.is_ok(), !receivers.is_empty());
                    if sent.is_ok() { model.send(value) }
                }
                (Step::SendIf(new), Some(sender)) => {
                    let raise = |value: &mut u8| std::mem::replace(value, new) < new;
                    let raised = sender.send_if_modified(raise);
                    prop_assert_eq!(raised, model.value < new);
                    if raised { model.send(new) } else { model.value = new }
                }
                (Step::Subscribe, Some(sender)) => {
                    receivers.push(sender.subscribe());
                    model.is_new.push(false);
                }
                (Step::Close, _) => {
                    sender = None;
                    model.open = false;
                }
                _ if concerns_sender || receivers.is_empty() => {}
                (step, _) => match at_of(step, receivers.len()) {
                    Step::Clone(at) => {
                        receivers.push(receivers[at].clone());
                        model.is_new.push(model.is_new[at]);
                    }
                    Step::Drop(at) => {
                        receivers.remove(at);
                        model.is_new.remove(at);
                    }
                    step => look(&mut receivers, &mut model, step),
                }
            }
            if let Some(sender) = &sender {
                prop_assert_eq!(sender.receiver_count(), receivers.len());
                prop_assert_eq!(once(sender.closed()).is_ready(), receivers.is_empty());
                prop_assert_eq!(*sender.borrow(), model.value);
            }
            prop_assert!(receivers.iter().all(|one| one.is_closed() != model.open));
        }
    }
}

/// A sender may have the lock and leave the value as it is, or panic: the next one has not been overtaken
/// yet.
#[test]
fn a_sender_that_has_had_the_lock_is_no_longer_counted_as_overtaken() {
    let (sender, _receiver) = channel(0);
    let shared = &sender.shared;
    let overtake_twice = || {
        let _value = shared.read();
        (0..2).for_each(|_| shared.note_overtaking());
        assert_eq!(shared.overtaken(), 2);
    };
    overtake_twice();
    assert!(!sender.send_if_modified(|_| false));
    assert_eq!(shared.overtaken(), 0, "a sender has left the value");
    overtake_twice();
    let panics = || sender.send_modify(|_| std::panic::resume_unwind(Box::new(())));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(shared.overtaken(), 0, "a sender has panicked");
    overtake_twice();
    sender.send_replace(1);
    assert_eq!(shared.overtaken(), 0, "a sender has sent");
}
