//! Ends of listeners and channels; and the words of panics, `Debug` and errors.

use crate::{WHILE, current_thread, show};
use rustix::process::{Signal as Raw, getpid, kill_process};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::timeout;

pub(crate) fn show_all() {
    a_signal_between_two_listeners();
    a_listener_without_runtimes();
    a_message_without_a_receiver();
    debug_output();
    words_of_a_panic();
}

fn a_signal_between_two_listeners() {
    let told = current_thread().block_on(async {
        drop(signal(SignalKind::user_defined2()).expect("a listener"));
        kill_process(getpid(), Raw::USR2).expect("a signal to this process");
        // The runtime has seen it by then.
        tokio::time::sleep(WHILE / 10).await;
        let mut second = signal(SignalKind::user_defined2()).expect("a listener");
        timeout(WHILE, second.recv()).await.is_ok()
    });
    show("a_signal_between_two_listeners", if told { "is told" } else { "is lost" });
}

/// Polled by another executor than tokio's.
fn a_listener_without_runtimes() {
    let runtime = current_thread();
    let mut listener = runtime.block_on(async { signal(SignalKind::alarm()).expect("a listener") });
    drop(runtime);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let polled = listener.poll_recv(&mut cx);
    show("a_listener_without_runtimes", format!("{polled:?}"));
}

fn a_message_without_a_receiver() {
    let message = Arc::new(());
    let (sender, receiver) = mpsc::channel(1);
    let permit = sender.try_reserve().expect("there is room");
    drop(receiver);
    permit.send(message.clone());
    let is_kept = Arc::strong_count(&message) == 2;
    show("a_message_without_a_receiver", if is_kept { "is kept" } else { "is dropped" });
}

fn debug_output() {
    show("debug_output", format!("{:?}", tokio::sync::Semaphore::new(3)));
}

/// The words are tokio's, and what follows them is not.
fn words_of_a_panic() {
    let payload = std::panic::catch_unwind(|| tokio::sync::mpsc::channel::<()>(0)).map(drop);
    let payload = payload.expect_err("no room for a message");
    let words = payload.downcast_ref::<&str>().expect("a text");
    show("words_of_a_panic", words);
}
