//! Listeners for signals and the runtimes that they are made in.

use crate::current_thread;
use rustix::process::{Signal as Raw, getpid, kill_process};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

pub(crate) fn keep_all() {
    let first = current_thread();
    let mut listener = first.block_on(async { listen() });
    first.block_on(is_told(&mut listener));
    a_listener_is_told_in_a_runtime_that_it_was_not_made_in(&mut listener);
    drop(first);
    // Its own has ended.
    a_listener_is_told_in_a_runtime_that_it_was_not_made_in(&mut listener);
    a_signal_between_two_runtimes_is_told_in_the_second();
}

fn listen() -> Signal {
    signal(SignalKind::user_defined1()).expect("a listener")
}

fn send() {
    kill_process(getpid(), Raw::USR1).expect("a signal to this process");
}

async fn is_told(listener: &mut Signal) {
    send();
    let told = timeout(Duration::from_secs(30), listener.recv()).await;
    assert_eq!(told.expect("it was sent"), Some(()));
}

fn a_listener_is_told_in_a_runtime_that_it_was_not_made_in(listener: &mut Signal) {
    for _ in 0..5 {
        current_thread().block_on(is_told(listener));
    }
}

/// No runtime is there when it comes.
fn a_signal_between_two_runtimes_is_told_in_the_second() {
    drop(current_thread().block_on(async { listen() }));
    send();
    current_thread().block_on(async {
        let mut listener = listen();
        let told = timeout(Duration::from_secs(30), listener.recv()).await;
        assert_eq!(told.expect("no other was told"), Some(()));
    });
}
