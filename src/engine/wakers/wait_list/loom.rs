//! Models of the wait list: a future that finds its place apart sees all that was done to it, and may free
//! it.

use super::*;
use crate::engine::sync_shim::{Arc, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

/// Waits until the place is taken out, without the lock: what [`Place::given`] promises.
fn wait(list: &WaitList<usize>) -> usize {
    let place = pin!(Place::new(0));
    let cx = Context::from_waker(Waker::noop());
    let poll = list.poll(place.as_ref(), &cx, |locked| match **locked {
        0 => Poll::Pending,
        given => Poll::Ready(given),
    });
    if let Poll::Ready(given) = poll {
        return given;
    }
    loop {
        if let Some(given) = place.given() {
            // Freed when this returns.
            return given;
        }
        thread::yield_now();
    }
}

#[test]
fn a_place_that_was_taken_out_is_its_futures_again() {
    ::loom::model(|| {
        let list = Arc::new(WaitList::new(0));
        let waiting = {
            let list = list.clone();
            thread::spawn(move || wait(&list))
        };
        let mut locked = list.lock();
        *locked = 7;
        let waker = locked.pop_front(7);
        drop(locked);
        drop(waker);
        assert_eq!(waiting.join().expect("no panic"), 7);
        assert!(list.lock().is_empty());
    });
}

/// Here another place is the first one. The lock looks at the first place, and that would hide from loom that
/// the place's future looks at it, too.
#[test]
fn a_place_that_was_taken_out_at_the_end_is_its_futures_again() {
    ::loom::model(|| {
        let list = Arc::new(WaitList::new(0));
        let first = pin!(Place::new(0));
        list.lock().join(first.as_ref(), Waker::noop().clone());
        let waiting = {
            let list = list.clone();
            thread::spawn(move || wait(&list))
        };
        let mut locked = list.lock();
        *locked = 7;
        let waker = locked.pop_back(7);
        drop(locked);
        drop(waker);
        let given = waiting.join().expect("no panic");
        list.leave(first.as_ref());
        assert_eq!(given, 7);
        assert!(list.lock().is_empty());
    });
}

/// A place may be shared: of two lists that it joins at once, one has it, and the other one panics.
#[test]
fn a_place_that_joins_two_lists_at_once_is_in_one() {
    ::loom::model(|| {
        let lists = Arc::new([WaitList::new(()), WaitList::new(())]);
        let place = Arc::pin(Place::new(0));
        let joins = |list: usize| {
            let (lists, place) = (lists.clone(), place.clone());
            move || {
                let mut locked = lists[list].lock();
                let join = || locked.join(place.as_ref(), Waker::noop().clone());
                let joined = catch_unwind(AssertUnwindSafe(join)).is_ok();
                assert_eq!((joined, joined), (locked.holds(&place), !locked.is_empty()));
                joined
            }
        };
        let (here, there) = (joins(0), thread::spawn(joins(1)));
        let (here, there) = (here(), there.join().expect("no panic"));
        assert!(here != there);
        assert!(lists[usize::from(there)].lock().leave(place.as_ref()).is_some());
    });
}

/// One of two futures leaves while the first place is taken out: the other one is still found.
#[test]
fn a_future_that_leaves_races_with_one_that_is_taken_out() {
    ::loom::model(|| {
        let list = Arc::new(WaitList::new(()));
        let leaving = {
            let list = list.clone();
            thread::spawn(move || {
                let place = pin!(Place::new(0));
                list.lock().join(place.as_ref(), Waker::noop().clone());
                let left = place.is_linked() && list.lock().leave(place.as_ref()).is_some();
                assert_eq!(place.given(), Some(usize::from(!left)));
                left
            })
        };
        let taken = list.lock().pop_front(1).is_some();
        let left = leaving.join().expect("no panic");
        assert!(left || taken);
        assert!(list.lock().is_empty());
    });
}

/// Those that wait when it begins are all taken out, although each round takes one, the first one may leave
/// between two rounds, and another thread takes all out, too.
#[test]
fn what_is_in_the_list_is_taken_out_in_rounds() {
    ::loom::model(|| {
        let list = Arc::new(WaitList::new(()));
        let [first, second] = [(); 2].map(|()| Arc::pin(Place::new(1)));
        for place in [&first, &second] {
            list.lock().join(place.as_ref(), Waker::noop().clone());
        }
        let beside = {
            let (list, first) = (list.clone(), first.clone());
            thread::spawn(move || {
                list.leave(first.as_ref());
                list.wake_all(|()| ());
                // One that comes late.
                let late = pin!(Place::new(1));
                list.lock().join(late.as_ref(), Waker::noop().clone());
                list.leave(late.as_ref());
            })
        };
        let mut wakes = Vec::new();
        list.take_matching(&mut wakes, |(), _| (), |_| true);
        let are_out = !first.is_linked() && !second.is_linked();
        beside.join().expect("no panic");
        // One that is dropped in the list would end the process.
        list.leave(second.as_ref());
        assert!(are_out, "all that were in the list");
        assert!(list.lock().is_empty());
    });
}
