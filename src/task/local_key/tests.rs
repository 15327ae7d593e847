use crate::task::yield_now;
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

crate::task_local! {
    static NUMBER: u32;
    static TEXT: String;
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_value_is_there_inside_its_scope_and_only_there() {
    assert!(NUMBER.try_get().is_err());
    let mut scope = pin!(NUMBER.scope(1, async {
        assert_eq!(NUMBER.get(), 1);
        yield_now().await;
        assert_eq!(NUMBER.with(|number| *number), 1);
        TEXT.try_get().expect_err("another key")
    }));
    assert!(poll(scope.as_mut()).is_pending());
    assert!(NUMBER.try_get().is_err(), "the value must not stay on the thread between polls");
    assert!(poll(scope.as_mut()).is_ready());
    assert!(NUMBER.try_get().is_err());
}

#[test]
fn scopes_nest_and_interleave() {
    let inner = async {
        NUMBER
            .scope(2, async {
                yield_now().await;
                assert_eq!(NUMBER.get(), 2);
            })
            .await;
        assert_eq!(NUMBER.get(), 1);
        yield_now().await;
        NUMBER.sync_scope(3, || assert_eq!(NUMBER.get(), 3));
        NUMBER.get()
    };
    let mut first = pin!(NUMBER.scope(1, inner));
    let mut second = pin!(NUMBER.scope(9, async {
        yield_now().await;
        NUMBER.get()
    }));
    assert!(poll(first.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_pending());
    assert!(poll(first.as_mut()).is_pending());
    assert_eq!(poll(second.as_mut()), Poll::Ready(9));
    assert_eq!(poll(first.as_mut()), Poll::Ready(1));
}

#[test]
fn a_value_travels_to_another_thread() {
    let mut scope = Box::pin(TEXT.scope("here".to_string(), async {
        yield_now().await;
        TEXT.get()
    }));
    assert!(poll(scope.as_mut()).is_pending());
    let other = std::thread::spawn(move || poll(scope.as_mut()));
    assert_eq!(other.join().expect("no panic"), Poll::Ready("here".to_string()));
    assert!(TEXT.try_get().is_err());
}

#[test]
fn a_panic_takes_the_value_out_again() {
    let mut scope = Box::pin(NUMBER.scope(1, poll_fn(|_| -> Poll<()> { panic!("in the poll") })));
    NUMBER.sync_scope(7, || {
        assert!(catch_unwind(AssertUnwindSafe(|| poll(scope.as_mut()))).is_err());
        assert_eq!(NUMBER.get(), 7);
        drop(scope);
        assert_eq!(NUMBER.get(), 7);
    });
    assert!(NUMBER.try_get().is_err());
    assert!(catch_unwind(|| NUMBER.sync_scope(1, || panic!("inside"))).is_err());
    assert!(NUMBER.try_get().is_err());
}

/// Writes down which value its destructor saw.
struct Witness(Rc<RefCell<Vec<Option<u32>>>>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.borrow_mut().push(NUMBER.try_get().ok());
    }
}

#[test]
fn destructors_of_the_future_see_the_value() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let witness = Witness(seen.clone());
    let mut done = Box::pin(NUMBER.scope(1, async move { drop(witness) }));
    assert!(poll(done.as_mut()).is_ready());

    let mut dropped = {
        let witness = Witness(seen.clone());
        Box::pin(NUMBER.scope(2, async move {
            pending::<()>().await;
            drop(witness);
        }))
    };
    assert!(poll(dropped.as_mut()).is_pending());
    drop(dropped);

    let witness = Witness(seen.clone());
    drop(NUMBER.scope(3, async move { drop(witness) }));

    // Captured, and so dropped with the future and not by its code.
    let witness = Witness(seen.clone());
    let captured = poll_fn(move |_| {
        let _ = &witness;
        Poll::Ready(())
    });
    let mut ready = Box::pin(NUMBER.scope(4, captured));
    assert!(poll(ready.as_mut()).is_ready());
    assert_eq!(*seen.borrow(), [Some(1), Some(2), Some(3), Some(4)]);
    assert!(NUMBER.try_get().is_err());
}

#[test]
fn the_value_is_dropped_once_and_outside_its_scope() {
    struct Counted(Rc<Cell<u32>>);
    impl Drop for Counted {
        fn drop(&mut self) {
            assert!(COUNTED.try_with(|_| ()).is_err());
            self.0.set(self.0.get() + 1);
        }
    }
    crate::task_local! { static COUNTED: Counted }

    let drops = Rc::new(Cell::new(0));
    COUNTED.sync_scope(Counted(drops.clone()), || ());
    assert_eq!(drops.get(), 1);
    let mut scope = Box::pin(COUNTED.scope(Counted(drops.clone()), pending::<()>()));
    assert!(poll(scope.as_mut()).is_pending());
    assert_eq!(drops.get(), 1);
    drop(scope);
    assert_eq!(drops.get(), 2);
}

#[test]
fn reading_nests_but_a_scope_inside_a_read_is_refused() {
    NUMBER.sync_scope(1, || {
        assert_eq!(NUMBER.with(|outer| NUMBER.with(|inner| outer + inner)), 2);
        let inside = AssertUnwindSafe(|| NUMBER.with(|_| NUMBER.sync_scope(2, || ())));
        let payload = catch_unwind(inside).expect_err("the value is borrowed");
        assert!(payload.downcast_ref::<String>().expect("a message").contains("with"));
        assert_eq!(NUMBER.get(), 1);
    });
}

#[test]
#[should_panic(expected = "outside a scope")]
fn with_outside_a_scope_says_so() {
    NUMBER.with(|_| ());
}

#[test]
#[should_panic(expected = "polled after it was ready")]
fn a_poll_after_ready_says_so() {
    let mut scope = pin!(NUMBER.scope(1, async {}));
    assert!(poll(scope.as_mut()).is_ready());
    let _ = poll(scope.as_mut());
}

#[test]
fn a_scope_is_as_send_and_unpin_as_its_parts() {
    fn check<T: Send + Sync + Unpin>(_: &T) {}
    check(&TEXT.scope(String::new(), std::future::ready(())));
    check(&TEXT);
}
