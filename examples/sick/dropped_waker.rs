//! A future written by hand whose waker is dropped, and never called.
//!
//! ```sh
//! cargo run --example sick_dropped_waker
//! ```
//!
//! The page says that no waker of the task exists any more, which proves that it waits for ever. The cure is
//! in the code that keeps the waker: it has to call it before it forgets it. Here `Drop` is missing.

mod ward;

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn main() -> io::Result<()> {
    ward::run(&mut ward::settings(), || {
        let slot = Arc::new(Mutex::new(Slot::default()));
        let promise = Promise(slot.clone());
        drop(liten::spawn(Answer(slot)));
        // It gives up without keeping its promise.
        drop(liten::spawn(async move {
            liten::time::sleep(Duration::from_millis(50)).await;
            drop(promise);
        }));
        Ok(())
    })
}

#[derive(Default)]
struct Slot {
    answer: Option<u32>,
    waker: Option<Waker>,
}

/// The side that would answer.
struct Promise(Arc<Mutex<Slot>>);

impl Drop for Promise {
    /// The mistake: the waker is dropped where it should be called.
    fn drop(&mut self) {
        self.0.lock().expect("nothing panics").waker = None;
    }
}

/// The side that waits.
struct Answer(Arc<Mutex<Slot>>);

impl Future for Answer {
    type Output = u32;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
        let mut slot = self.0.lock().expect("nothing panics");
        match slot.answer {
            Some(answer) => Poll::Ready(answer),
            None => {
                slot.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
