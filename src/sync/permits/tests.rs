use super::*;
use std::collections::VecDeque;
use std::pin::pin;
use std::task::Waker;

fn poll(acquire: Pin<&mut impl Future<Output = Result<(), Closed>>>) -> Poll<Result<(), Closed>> {
    acquire.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn permits_come_in_the_order_of_the_futures() {
    let permits = Permits::new(3, Owner::Semaphore);
    let (mut wants_five, mut wants_one) = (pin!(permits.acquire(5)), pin!(permits.acquire(1)));
    assert!(poll(wants_five.as_mut()).is_pending());
    assert_eq!(permits.available(), 0, "it has collected what there was");
    assert!(poll(wants_one.as_mut()).is_pending());
    permits.release(1);
    assert!(poll(wants_one.as_mut()).is_pending(), "it would overtake");
    assert_eq!(permits.try_acquire(1), Err(Refusal::TooFew));
    permits.release(2);
    assert_eq!(poll(wants_five), Poll::Ready(Ok(())));
    assert_eq!(poll(wants_one), Poll::Ready(Ok(())));
    assert_eq!(permits.available(), 0);
}

#[test]
fn a_crowd_larger_than_a_batch_is_woken_to_the_last() {
    let permits = Permits::new(0, Owner::Semaphore);
    let mut all: VecDeque<_> = (0..100).map(|_| Box::pin(permits.acquire(1))).collect();
    assert!(all.iter_mut().all(|acquire| poll(acquire.as_mut()).is_pending()));
    permits.release(101);
    assert!(all.iter_mut().all(|acquire| poll(acquire.as_mut()) == Poll::Ready(Ok(()))));
    assert_eq!(permits.available(), 1);
}

#[test]
fn closing_a_crowd_gives_back_what_was_collected() {
    let permits = Permits::new(5, Owner::Semaphore);
    let mut all: VecDeque<_> = (0..100).map(|_| Box::pin(permits.acquire(6))).collect();
    assert!(all.iter_mut().all(|acquire| poll(acquire.as_mut()).is_pending()));
    permits.close();
    assert_eq!(permits.available(), 0);
    drop(all.pop_back());
    assert!(all.iter_mut().all(|acquire| poll(acquire.as_mut()) == Poll::Ready(Err(Closed))));
    assert_eq!(permits.available(), 5);
    assert_eq!(permits.try_acquire(1), Err(Refusal::Closed));
    permits.release(1);
    assert_eq!(permits.available(), 6);
}

/// As tokio's: from the closing on no future comes through.
#[test]
fn a_future_that_has_its_permits_when_they_are_closed_gives_them_back() {
    let permits = Permits::new(0, Owner::Semaphore);
    let mut waits = pin!(permits.acquire(2));
    assert!(poll(waits.as_mut()).is_pending());
    permits.release(2);
    permits.close();
    assert_eq!(permits.available(), 0, "they are the future's");
    assert_eq!(poll(waits), Poll::Ready(Err(Closed)));
    assert_eq!(permits.available(), 2);
}

/// The futures that were served are woken although the rest is refused.
#[test]
fn too_many_permits_panic_and_cost_no_future_its_own() {
    let permits = Permits::new(0, Owner::Semaphore);
    let mut waits = pin!(permits.acquire(1));
    assert!(poll(waits.as_mut()).is_pending());
    let release = || permits.release(usize::MAX);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(release)).is_err());
    assert_eq!(poll(waits), Poll::Ready(Ok(())));
    permits.release(Permits::MAX);
    let release = || permits.release(1);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(release)).is_err());
    assert_eq!(permits.available(), Permits::MAX);
}

/// Half of the numbers say in a place's word that the permits were closed.
#[test]
#[should_panic(expected = "at most Semaphore::MAX_PERMITS")]
fn more_permits_than_there_can_be_are_refused() {
    let permits = Permits::new(0, Owner::Semaphore);
    drop(permits.acquire(Permits::MAX + 1));
}

/// A future that was forgotten borrows the permits no more, which may then be moved.
#[test]
fn permits_that_are_moved_forget_the_futures_that_were_forgotten() {
    let permits = Permits::new(0, Owner::Semaphore);
    let mut forgotten = Box::pin(permits.acquire(1));
    assert!(poll(forgotten.as_mut()).is_pending());
    std::mem::forget(forgotten);
    let moved = Box::new(permits);
    assert_eq!(moved.try_acquire(0), Ok(()));
    moved.release(2);
    assert_eq!(moved.available(), 2);
    assert_eq!(poll(pin!(moved.acquire(2))), Poll::Ready(Ok(())));
}

/// Runs `f` with a budget that is used up.
fn spent<R>(f: impl FnOnce() -> R) -> R {
    let _budget = budget::full();
    let cx = &mut Context::from_waker(Waker::noop());
    while budget::poll_proceed(cx).is_ready() {}
    f()
}

/// Its place in the line does not depend on when it has a budget again.
#[test]
fn a_future_without_a_budget_is_not_overtaken() {
    let permits = Permits::new(0, Owner::Semaphore);
    let (mut first, mut second) = (pin!(permits.acquire(1)), pin!(permits.acquire(1)));
    assert!(spent(|| poll(first.as_mut())).is_pending());
    assert!(poll(second.as_mut()).is_pending());
    permits.release(1);
    assert!(poll(second.as_mut()).is_pending(), "it came later");
    assert!(spent(|| poll(first.as_mut())).is_pending(), "it has the permit, but no budget");
    assert_eq!(poll(first), Poll::Ready(Ok(())));
}

#[test]
fn permits_that_the_budget_keeps_back_go_back_on_drop() {
    let permits = Permits::new(2, Owner::Semaphore);
    let mut waits = Box::pin(permits.acquire(2));
    assert!(spent(|| poll(waits.as_mut())).is_pending());
    assert_eq!(permits.available(), 0);
    drop(waits);
    assert_eq!(permits.available(), 2);
}

/// The budget asks for another poll by a waker that panics.
#[test]
fn a_waker_that_panics_at_the_end_of_the_budget_costs_no_permit() {
    struct Bad;
    impl std::task::Wake for Bad {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("a waker that panics");
        }
    }
    fn check<'a>(permits: &'a Permits, waits: impl Future<Output = Result<(), Closed>> + 'a) {
        let mut waits = Box::pin(waits);
        let waker = Waker::from(std::sync::Arc::new(Bad));
        let polling = || spent(|| waits.as_mut().poll(&mut Context::from_waker(&waker)));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(polling)).is_err());
        drop(waits);
        assert_eq!(permits.available(), 1);
    }
    let permits = Permits::new(1, Owner::Semaphore);
    check(&permits, permits.acquire(1));
    check(&permits, permits.acquire_ready(1));
}

/// As a future of `acquire`, which takes its place in the line at its first poll.
#[test]
fn a_future_that_hopes_for_its_permits_overtakes_no_other() {
    let permits = Permits::new(1, Owner::Semaphore);
    let (mut wants_two, mut hopes) = (pin!(permits.acquire(2)), pin!(permits.acquire_ready(1)));
    assert!(poll(wants_two.as_mut()).is_pending());
    assert!(poll(hopes.as_mut()).is_pending(), "the permit that was there is the first one's");
    permits.release(1);
    assert!(poll(hopes.as_mut()).is_pending(), "it would overtake");
    assert_eq!(poll(wants_two), Poll::Ready(Ok(())));
    permits.release(1);
    assert_eq!(poll(pin!(permits.acquire_ready(1))), Poll::Pending, "the permit has its owner");
    assert_eq!(poll(hopes), Poll::Ready(Ok(())));
    assert_eq!(permits.available(), 0);
}

#[test]
fn a_future_that_hopes_for_its_permits_and_gives_up_leaves_none_behind() {
    let permits = Permits::new(1, Owner::Semaphore);
    let mut hopes = Box::pin(permits.acquire_ready(2));
    assert!(poll(hopes.as_mut()).is_pending());
    assert_eq!(permits.available(), 0, "it has collected what there was");
    drop(hopes);
    assert_eq!(permits.available(), 1);
    let mut hopes = Box::pin(permits.acquire_ready(1));
    assert!(spent(|| poll(hopes.as_mut())).is_pending());
    assert_eq!(permits.available(), 0, "it has the permit, but no budget");
    drop(hopes);
    assert_eq!(permits.available(), 1);
}

/// The permits that it gives back go to the next future.
#[test]
fn permits_that_the_budget_keeps_back_go_to_the_next_future_on_drop() {
    let permits = Permits::new(1, Owner::Semaphore);
    let (mut hopes, mut waits) = (Box::pin(permits.acquire_ready(1)), pin!(permits.acquire(1)));
    assert!(spent(|| poll(hopes.as_mut())).is_pending());
    assert!(poll(waits.as_mut()).is_pending());
    drop(hopes);
    assert_eq!(poll(waits), Poll::Ready(Ok(())));
}

#[test]
fn permits_that_are_closed_while_the_budget_keeps_them_back_are_not_given() {
    let permits = Permits::new(1, Owner::Semaphore);
    let mut hopes = pin!(permits.acquire_ready(1));
    assert!(spent(|| poll(hopes.as_mut())).is_pending());
    permits.close();
    assert_eq!(poll(hopes), Poll::Ready(Err(Closed)));
    assert_eq!(permits.available(), 1);
    assert_eq!(poll(pin!(permits.acquire_ready(1))), Poll::Ready(Err(Closed)));
    assert_eq!(permits.available(), 1);
}
