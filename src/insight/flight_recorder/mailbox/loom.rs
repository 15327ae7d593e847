//! Models of the mailbox: no request is slept through, and each is taken or counted.

use super::Mailbox;
use crate::engine::sync_shim::{Arc, block_on, thread};
use crate::insight::flight_recorder::snapshot::{Kind, SnapshotReason};
use std::future::poll_fn;
use std::time::Duration;

fn new_mailbox() -> Arc<Mailbox> {
    Arc::new(Mailbox::new(true, true, Duration::ZERO))
}

/// What the recorder's thread does with the mailbox, until it is closed.
fn take_all(mailbox: &Mailbox) -> Vec<Kind> {
    let next = || block_on(poll_fn(|cx| mailbox.poll_next(cx)));
    std::iter::from_fn(next).map(|request| request.reason.kind()).collect()
}

#[test]
fn a_request_is_taken_whenever_it_comes() {
    ::loom::model(|| {
        let mailbox = new_mailbox();
        let theirs = mailbox.clone();
        let observer = thread::spawn(move || take_all(&theirs));
        assert!(mailbox.offer(SnapshotReason::Request));
        mailbox.close();
        assert_eq!(observer.join().expect("no panic"), [Kind::Request]);
    });
}

#[test]
fn requests_that_come_at_once_and_are_not_taken_are_counted() {
    ::loom::model(|| {
        let mailbox = new_mailbox();
        assert!(mailbox.offer(SnapshotReason::Request));
        let theirs = mailbox.clone();
        let other = thread::spawn(move || assert!(!theirs.offer(SnapshotReason::Request)));
        assert!(!mailbox.offer(SnapshotReason::Request));
        other.join().expect("no panic");
        assert_eq!(mailbox.skipped(), 2);
    });
}
