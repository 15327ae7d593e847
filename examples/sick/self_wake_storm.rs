//! A future that waits for a flag by waking itself in each poll.
//!
//! ```sh
//! cargo run --example sick_self_wake_storm
//! ```
//!
//! After a few seconds the page says which task is polled how often without ever waiting. The cure is to wait
//! for what sets the flag: `Notify`, a channel, or at least a timer.

mod ward;

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

fn main() -> io::Result<()> {
    ward::run(&mut ward::settings(), || {
        let is_ready = Arc::new(AtomicBool::new(false));
        drop(liten::spawn(poll_fn(move |cx| {
            if is_ready.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            // The mistake: "poll me again at once".
            cx.waker().wake_by_ref();
            Poll::Pending
        })));
        Ok(())
    })
}
