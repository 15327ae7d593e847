use super::super::WakeList;
use super::super::tests::Count;
use super::*;
use std::future::Future;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable};

/// Joins `list`, or stays in it.
fn wait(list: &WaitList<()>, place: Pin<&Place>, waker: &Waker) {
    let cx = Context::from_waker(waker);
    assert!(list.poll(place, &cx, |_| Poll::<()>::Pending).is_pending());
}

#[test]
fn places_are_taken_out_in_the_order_in_which_they_came() {
    let list = WaitList::new(());
    let places = [Place::new(1), Place::new(2), Place::new(3)];
    let [first, second, third] = places.each_ref().map(|place| {
        // SAFETY: `places` stays where it is.
        unsafe { Pin::new_unchecked(place) }
    });
    for place in [first, second, third] {
        wait(&list, place, Waker::noop());
        assert!(place.is_linked());
        assert_eq!(place.given(), None);
    }
    let mut locked = list.lock();
    assert_eq!(locked.front(), Some(1));
    locked.set_front(7);
    assert_eq!(locked.front(), Some(7));
    assert!(locked.pop_front(10).is_some());
    assert!(locked.pop_back(30).is_some());
    assert_eq!(locked.front(), Some(2));
    assert!(!locked.is_empty());
    assert!(locked.leave(third).is_none());
    assert!(locked.leave(second).is_some());
    assert!(locked.is_empty());
    assert!(locked.pop_front(0).is_none());
    assert!(locked.pop_back(0).is_none());
    assert_eq!([first, second, third].map(|place| place.given()), [Some(10), Some(2), Some(30)]);
}

#[test]
fn a_place_in_the_middle_leaves_its_neighbours_linked() {
    let list = WaitList::new(());
    let (first, second, third) = (pin!(Place::new(1)), pin!(Place::new(2)), pin!(Place::new(3)));
    for place in [&first, &second, &third] {
        wait(&list, place.as_ref(), Waker::noop());
    }
    let mut locked = list.lock();
    assert!(locked.leave(second.as_ref()).is_some());
    assert!(locked.pop_front(0).is_some());
    assert_eq!(locked.front(), Some(3));
    assert!(locked.pop_front(0).is_some());
    drop(locked);
    wait(&list, second.as_ref(), Waker::noop());
    assert!(list.lock().leave(second.as_ref()).is_some());
}

#[test]
fn a_place_of_another_list_is_left_alone() {
    let (here, there) = (WaitList::new(()), WaitList::new(()));
    let place = pin!(Place::new(0));
    wait(&here, place.as_ref(), Waker::noop());
    assert!(there.lock().leave(place.as_ref()).is_none());
    assert!(here.lock().holds(&place));
    assert!(here.lock().leave(place.as_ref()).is_some());
}

#[test]
fn a_waker_is_cloned_only_when_it_has_changed_and_the_last_one_is_woken() {
    let list = WaitList::new(());
    let place = pin!(Place::new(0));
    let ((old, old_waker), (new, new_waker)) = (Count::new(), Count::new());
    wait(&list, place.as_ref(), &old_waker);
    assert_eq!(Arc::strong_count(&old), 3);
    wait(&list, place.as_ref(), &old_waker);
    assert_eq!(Arc::strong_count(&old), 3);
    wait(&list, place.as_ref(), &new_waker);
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (2, 3));
    let mut wakes = WakeList::new();
    wakes.push(list.lock().pop_front(0));
    wakes.push(None);
    wakes.wake();
    wakes.wake();
    assert_eq!((old.get(), new.get()), (0, 1));
    assert_eq!(Arc::strong_count(&new), 2);
}

#[test]
fn what_is_ready_leaves_no_waker() {
    let list = WaitList::new(5);
    let place = pin!(Place::new(0));
    let (counts, waker) = Count::new();
    let poll = list.poll(place.as_ref(), &Context::from_waker(&waker), |locked| {
        **locked += 1;
        Poll::Ready(**locked)
    });
    assert_eq!(poll, Poll::Ready(6));
    assert!(!place.is_linked());
    assert_eq!(Arc::strong_count(&counts), 2);
}

/// A future that was forgotten borrows its list no more, which may then be moved.
#[test]
fn a_list_that_is_moved_forgets_the_places_of_futures_that_were_forgotten() {
    let mut lists = [WaitList::new(()), WaitList::new(())];
    let [lost, other, new] = [1, 2, 3].map(|word| Box::leak(Box::new(Place::new(word))));
    let [lost, other, new] = [lost, other, new].map(|place| Pin::static_ref(&*place));
    wait(&lists[0], lost, Waker::noop());
    wait(&lists[0], other, Waker::noop());
    lists.rotate_left(1);
    assert!(lists[1].lock().is_empty());
    wait(&lists[1], new, Waker::noop());
    assert!(!lists[1].lock().holds(&lost));
    assert_eq!(lists[1].lock().front(), Some(3));
    assert!(lists[1].lock().leave(new).is_some());
    assert!(lists[1].lock().is_empty());
}

/// In a process of its own: it has to end before it reads freed memory.
#[test]
fn a_place_at_an_end_of_a_list_that_was_moved_is_taken_out_by_no_other() {
    const ALONE: &str = "LITEN_TEST_MOVED_LIST";
    if std::env::var_os(ALONE).is_some() {
        let mut lists = [WaitList::new(()), WaitList::new(())];
        let place = Box::pin(Place::new(0));
        wait(&lists[0], place.as_ref(), Waker::noop());
        lists.rotate_left(1);
        drop(lists[0].lock().leave(place.as_ref()));
        drop(place);
        drop(lists[1].lock());
        return;
    }
    let name = "a_place_at_an_end_of_a_list_that_was_moved_is_taken_out_by_no_other";
    let output = std::process::Command::new(std::env::current_exe().expect("a test is a file"))
        .args([name, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("it starts");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("a future waited in a list that was moved"), "{said}");
}

#[test]
#[should_panic(expected = "one list at a time")]
fn a_place_does_not_join_twice() {
    let (here, there) = (Box::leak(Box::new(WaitList::new(()))), WaitList::new(()));
    // Leaked, because a place that is dropped in a list ends the process.
    let place: &'static Place = Box::leak(Box::new(Place::new(0)));
    wait(here, Pin::static_ref(place), Waker::noop());
    there.lock().join(Pin::static_ref(place), Waker::noop().clone());
}

static NOSY: RawWakerVTable = RawWakerVTable::new(
    |data| {
        count_use(data);
        RawWaker::new(data, &NOSY)
    },
    count_use,
    count_use,
    count_use,
);

/// The clone, the call and the drop of a nosy waker.
fn count_use(data: *const ()) {
    // SAFETY: `data` is a list that is never freed, see below.
    let list = unsafe { &*data.cast::<WaitList<usize>>() };
    *list.lock() += 1;
}

#[test]
fn a_waker_may_use_the_list_that_it_is_left_in_whenever_its_code_runs() {
    let list: &'static WaitList<usize> = Box::leak(Box::new(WaitList::new(0)));
    // SAFETY: the functions of the table need a list that lives for ever.
    let nosy = unsafe { Waker::from_raw(RawWaker::new(ptr::from_ref(list).cast(), &NOSY)) };
    let uses = || std::mem::take(&mut *list.lock());
    let wait = || Box::pin(list.wait(0, |_| Poll::<()>::Pending));
    let polled = |waiting: Pin<&mut dyn Future<Output = ()>>, waker: &Waker| {
        assert!(waiting.poll(&mut Context::from_waker(waker)).is_pending());
        uses()
    };
    let (mut first, mut second) = (wait(), wait());
    assert_eq!(polled(first.as_mut(), &nosy), 1, "cloned");
    assert_eq!(polled(first.as_mut(), Waker::noop()), 1, "dropped for another one");
    assert_eq!((polled(first.as_mut(), &nosy), polled(second.as_mut(), &nosy)), (1, 1));
    list.wake_all(|_| ());
    assert_eq!(uses(), 2, "called");
    assert_eq!((polled(first.as_mut(), &nosy), polled(second.as_mut(), &nosy)), (1, 1));
    drop(first);
    assert_eq!(uses(), 1, "dropped with the future");
    list.wake(list.lock(), 0, |_| true);
    assert_eq!(uses(), 1, "called");
}

#[test]
fn those_that_are_owed_are_taken_in_order_and_keep_their_words() {
    let list = WaitList::new(());
    let places: Vec<_> = (1..5).map(|word| Box::pin(Place::new(word))).collect();
    let wakers: Vec<_> = (0..4).map(|_| Count::new()).collect();
    for (place, (_, waker)) in places.iter().zip(&wakers) {
        list.lock().join(place.as_ref(), waker.clone());
    }
    let mut wakes = Vec::new();
    list.take_matching(&mut wakes, |_, _| (), |word| word > 2 || word == 1);
    let taken: Vec<_> = places.iter().map(|place| place.given()).collect();
    assert_eq!(taken, [Some(1), None, Some(3), Some(4)]);
    for (index, waker) in [0, 2, 3].into_iter().zip(wakes) {
        assert!(waker.will_wake(&wakers[index].1));
    }
    list.leave(places[1].as_ref());
    assert!(list.lock().is_empty());
}

#[test]
fn few_are_taken_at_once_and_into_room_that_is_there() {
    let list = WaitList::new(());
    let places: Vec<_> = (0..2 * AT_ONCE + 1).map(|_| Box::pin(Place::new(1))).collect();
    for place in &places {
        list.lock().join(place.as_ref(), Waker::noop().clone());
    }
    let mut wakes = Vec::with_capacity(1);
    let (room, mut left) = (wakes.capacity(), places.len());
    assert!(!list.lock().take_before(None, &mut wakes, |_| true));
    left -= room;
    assert_eq!((wakes.len(), wakes.capacity()), (room, room));
    wakes.reserve(2 * AT_ONCE);
    assert!(!list.lock().take_before(None, &mut wakes, |_| true));
    left -= AT_ONCE;
    assert_eq!(wakes.len(), room + AT_ONCE);
    let mut wakes = Vec::new();
    list.take_matching(&mut wakes, |_, _| (), |_| true);
    assert_eq!(wakes.len(), left);
    assert!(list.lock().is_empty());
}
