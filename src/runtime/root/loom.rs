//! A model of a root future's thread.

use super::*;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{Mutex, thread};
use std::future::poll_fn;

/// The habit outlives a round of a model, and would make the rounds differ.
pub(in crate::runtime) fn forget_habit() {
    HABIT.set(Habit(0));
}

/// The root is woken while it is polled, or while its thread goes to sleep: it is polled again, and sees what
/// was written before.
#[test]
fn a_wake_of_the_root_is_not_lost_while_its_thread_lies_down() {
    ::loom::model(|| {
        forget_habit();
        let (flag, left) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None::<Waker>)));
        let other = {
            let (flag, left) = (flag.clone(), left.clone());
            thread::spawn(move || {
                // Relaxed on purpose: only the waker may carry it over.
                flag.store(true, Ordering::Relaxed);
                let waker = left.lock().take();
                waker.into_iter().for_each(Waker::wake);
            })
        };
        let root = poll_fn(|cx| {
            *left.lock() = Some(cx.waker().clone());
            if flag.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
        });
        run(root, None);
        other.join().expect("no panic");
    });
}
