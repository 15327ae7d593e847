//! What a program sees of the differences that `tokio/README.md` lists: prints a line per case, with a name
//! that the list gives, and what is seen. `tokio/trial/differences` has what that is on both.

mod ends;
mod io;
mod order;
mod threads;

use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Long enough for what is under way to happen on a busy machine.
const WHILE: Duration = Duration::from_millis(300);

fn main() {
    // A panic that is one of the cases would be told twice.
    std::panic::set_hook(Box::new(|_| {}));
    threads::show_all();
    order::show_all();
    io::show_all();
    ends::show_all();
}

fn show(case: &str, seen: impl Display) {
    println!("{case}: {seen}");
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn one_worker() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().expect("a runtime")
}

fn paused() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().expect("a runtime")
}

/// Polls the future once, and says whether it is ready.
async fn is_ready<F: Future>(mut future: Pin<&mut F>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

/// A panic of the closure, or what it returns.
fn text_or_panic<T: Display>(f: impl FnOnce() -> T) -> String {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) {
        Ok(value) => value.to_string(),
        Err(_) => "a panic".to_owned(),
    }
}
