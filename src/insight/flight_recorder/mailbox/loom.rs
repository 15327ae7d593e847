//! Models of the mailbox: no request is slept through.

use super::Mailbox;
use crate::engine::sync_shim::{Arc, thread};
use crate::insight::flight_recorder::snapshot::{Kind, SnapshotReason};
use loom::future::block_on;
use std::future::poll_fn;
use std::time::Duration;

/// What the recorder's thread does with the mailbox, until it is closed.
fn take_all(mailbox: &Mailbox) -> Vec<Kind> {
    let next = || block_on(poll_fn(|cx| mailbox.poll_next(cx)));
    std::iter::from_fn(next).map(|request| request.reason.kind()).collect()
}

#[test]
fn a_request_is_taken_whenever_it_comes() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new(true, true, Duration::ZERO));
        let theirs = mailbox.clone();
        let observer = thread::spawn(move || take_all(&theirs));
        assert!(mailbox.offer(SnapshotReason::Request));
        mailbox.close();
        assert_eq!(observer.join().expect("no panic"), [Kind::Request]);
    });
}

/// One that is not taken is counted.
#[test]
fn of_two_requests_each_is_taken_or_counted() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new(true, true, Duration::ZERO));
        let [theirs, others] = [mailbox.clone(), mailbox.clone()];
        let observer = thread::spawn(move || take_all(&theirs).len() as u64);
        let other = thread::spawn(move || _ = others.offer(SnapshotReason::Signal(1)));
        _ = mailbox.offer(SnapshotReason::Signal(2));
        other.join().expect("no panic");
        mailbox.close();
        let taken = observer.join().expect("no panic");
        assert!(taken >= 1);
        assert_eq!(taken + mailbox.skipped(), 2);
    });
}
