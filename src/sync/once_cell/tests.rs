//! For Miri: which thread has which reference to the value, and when.

use super::*;
use crate::sync::oneshot;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Reads the cell when it is called, which is in the middle of the call that stores the value.
struct Reader(Arc<OnceCell<String>>, AtomicUsize);

impl Wake for Reader {
    fn wake(self: Arc<Self>) {
        let length = self.0.get().map_or(0, String::len);
        self.1.store(length, Ordering::Relaxed);
    }
}

fn poll<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

#[test]
fn a_waker_may_read_the_value_while_its_maker_is_about_to_return_it() {
    let cell = Arc::new(OnceCell::new());
    let reader = Arc::new(Reader(cell.clone(), AtomicUsize::new(0)));
    let (sender, receiver) = oneshot::channel();
    let mut makes = Box::pin(cell.get_or_init(|| async { receiver.await.expect("sent") }));
    assert!(poll(makes.as_mut(), Waker::noop()).is_pending());
    let mut waits = Box::pin(cell.get_or_init(|| async { unreachable!("it is made") }));
    assert!(poll(waits.as_mut(), &Waker::from(reader.clone())).is_pending());
    sender.send(String::from("made")).expect("it waits");
    let Poll::Ready(made) = poll(makes.as_mut(), Waker::noop()) else { panic!("it has all") };
    assert_eq!(reader.1.load(Ordering::Relaxed), 4);
    assert_eq!(made, "made");
    assert!(poll(waits.as_mut(), Waker::noop()).is_ready());
}
