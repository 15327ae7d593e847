use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::pin::pin;

fn poll(notified: Pin<&mut Notified<'_>>) -> bool {
    notified.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn it_is_no_larger_than_tokios() {
    assert!(size_of::<Notify>() <= size_of::<tokio::sync::Notify>());
    let ours = size_of::<Notified<'_>>();
    assert!(ours <= size_of::<tokio::sync::futures::Notified<'_>>());
    assert!(size_of::<OwnedNotified>() <= size_of::<tokio::sync::futures::OwnedNotified>());
}

#[test]
fn a_turn_is_before_those_that_follow_also_past_the_end_of_the_word() {
    let turn = |number: usize| number.wrapping_mul(NEXT_TURN);
    assert!(is_before(turn(1), turn(2)));
    assert!(!is_before(turn(2), turn(2)));
    assert!(!is_before(turn(3), turn(2)));
    assert!(is_before(turn(0).wrapping_sub(NEXT_TURN), turn(1)));
    assert!(!is_before(turn(1), turn(0).wrapping_sub(NEXT_TURN)));
    assert!(is_before(turn(1) | FRESH, turn(2) | WAITING));
}

#[test]
fn calls_are_counted_past_the_end_of_the_word() {
    let notify = Notify::new();
    notify.state.store(TURN | EMPTY, Ordering::Relaxed);
    let mut notified: Vec<_> = (0..40).map(|_| Box::pin(notify.notified())).collect();
    assert!(notified.iter_mut().skip(1).all(|one| !poll(one.as_mut())));
    notify.notify_waiters();
    assert_eq!(notify.state.load(Ordering::Relaxed), EMPTY);
    assert!(notified.iter_mut().all(|one| poll(one.as_mut())));
}

/// A `notify_one` in the middle of the rounds of a `notify_waiters` goes to the future that came after it.
#[test]
fn a_notification_for_one_is_not_spent_on_a_future_that_all_were_notified_with() {
    let notify = Notify::new();
    let mut old: Vec<_> = (0..100).map(|_| Box::pin(notify.notified())).collect();
    assert!(old.iter_mut().all(|one| !poll(one.as_mut())));
    // What `notify_waiters` does first.
    let before = notify.state.fetch_add(NEXT_TURN, Ordering::Release);
    let (mut first, mut second) = (pin!(notify.notified()), pin!(notify.notified()));
    assert!(!poll(first.as_mut()) && !poll(second.as_mut()));
    assert!(poll(old[50].as_mut()), "it sees by itself that its turn is over");
    drop(old.remove(20));
    notify.notify_one();
    assert!(poll(first) && !poll(second.as_mut()));
    notify.notify_last();
    assert!(poll(second));
    notify.wake_before(before.wrapping_add(NEXT_TURN));
    assert!(old.iter_mut().all(|one| poll(one.as_mut())));
    assert!(!poll(pin!(notify.notified())), "no permit is left");
}

/// The same without a future that came later: the permit stays.
#[test]
fn a_notification_for_one_becomes_a_permit_while_the_old_are_woken() {
    let notify = Notify::new();
    let mut old = pin!(notify.notified());
    assert!(!poll(old.as_mut()));
    notify.state.fetch_add(NEXT_TURN, Ordering::Release);
    notify.notify_one();
    assert!(poll(old));
    assert!(poll(pin!(notify.notified())), "the permit");
    assert!(!poll(pin!(notify.notified())));
}

/// A future of a model: as [`Notify`] promises, without locks, words and places.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Is {
    Fresh,
    Waiting,
    Given { last: bool },
    Through,
}

#[derive(Default)]
struct Model {
    permit: bool,
    line: VecDeque<usize>,
    futures: Vec<Option<Is>>,
}

impl Model {
    fn notify(&mut self, last: bool) {
        match if last { self.line.pop_back() } else { self.line.pop_front() } {
            Some(at) => self.futures[at] = Some(Is::Given { last }),
            None => self.permit = true,
        }
    }

    fn notify_waiters(&mut self) {
        self.line.clear();
        for one in self.futures.iter_mut().flatten() {
            if matches!(one, Is::Fresh | Is::Waiting) {
                *one = Is::Through;
            }
        }
    }

    fn poll(&mut self, at: usize) -> Option<bool> {
        let is = self.futures[at].as_mut()?;
        match *is {
            Is::Fresh if !std::mem::take(&mut self.permit) => {
                *is = Is::Waiting;
                self.line.push_back(at);
                return Some(false);
            }
            Is::Waiting => return Some(false),
            _ => *is = Is::Through,
        }
        Some(true)
    }

    fn drop(&mut self, at: usize) {
        self.line.retain(|&other| other != at);
        if let Some(Is::Given { last }) = self.futures[at].take() {
            self.notify(last);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Make,
    Poll(usize),
    Enable(usize),
    Drop(usize),
    One,
    Last,
    Waiters,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Make),
        4 => any::<usize>().prop_map(Step::Poll),
        1 => any::<usize>().prop_map(Step::Enable),
        2 => any::<usize>().prop_map(Step::Drop),
        2 => Just(Step::One),
        1 => Just(Step::Last),
        1 => Just(Step::Waiters),
    ]
}

proptest! {
    #[test]
    fn properties_it_does_what_its_model_does(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let notify = Notify::new();
        let mut model = Model::default();
        let mut futures: Vec<Option<Pin<Box<Notified<'_>>>>> = Vec::new();
        for step in steps {
            match step {
                Step::Make => {
                    futures.push(Some(Box::pin(notify.notified())));
                    model.futures.push(Some(Is::Fresh));
                }
                Step::One => { notify.notify_one(); model.notify(false) }
                Step::Last => { notify.notify_last(); model.notify(true) }
                Step::Waiters => { notify.notify_waiters(); model.notify_waiters() }
                _ if futures.is_empty() => {}
                Step::Poll(at) | Step::Enable(at) => {
                    let at = at % futures.len();
                    let enable = matches!(step, Step::Enable(_));
                    let ready = futures[at].as_mut().map(|future| match enable {
                        true => future.as_mut().enable(),
                        false => poll(future.as_mut()),
                    });
                    prop_assert_eq!(ready, model.poll(at));
                }
                Step::Drop(at) => {
                    let at = at % futures.len();
                    futures[at] = None;
                    model.drop(at);
                }
            }
            let waiting = notify.state.load(Ordering::Relaxed) & KIND == WAITING;
            prop_assert_eq!(waiting, !model.line.is_empty());
        }
        prop_assert_eq!(poll(pin!(notify.notified())), model.permit);
    }
}
