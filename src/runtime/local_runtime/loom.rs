//! A model of the thread that polls a root and its own driver in turn.

use super::*;
use crate::sync_shim::{Mutex, thread};
use std::future::poll_fn;

/// The root is woken from another thread while its own one goes to sleep in the driver: it is polled again,
/// and sees what was written before.
#[test]
fn a_foreign_wake_reaches_a_thread_in_its_own_driver() {
    ::loom::model(|| {
        let driver = Driver::new(1).expect("a selector");
        let (flag, left) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None::<Waker>)));
        let other = {
            let (flag, left) = (flag.clone(), left.clone());
            thread::spawn(move || {
                // Relaxed on purpose: only the waker may carry it over.
                flag.store(true, Ordering::Relaxed);
                let waker = left.lock().clone();
                // Twice, because the second one leaves the poller alone.
                for _ in 0..2 {
                    waker.iter().for_each(Waker::wake_by_ref);
                }
            })
        };
        drive(
            &driver,
            &|| true,
            poll_fn(|cx| {
                *left.lock() = Some(cx.waker().clone());
                if flag.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
            }),
        );
        other.join().expect("no panic");
    });
}
