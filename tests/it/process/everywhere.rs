//! Child processes on every system: each test is its own child.
//!
//! What can be asked of Unix alone, and of programs that are there alone, is in `unix.rs`. The child
//! talks over its error output, since the other one is the test harness's.

use crate::support::guard::{guarded, workers};
use crate::support::loopback::{bounded, pattern};
use crate::support::process::{child, is_child};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::join;
use liten::process::Command;
use std::io::{ErrorKind, Write};
use std::process::{Stdio, exit};
use std::time::Duration;

/// This very test in a process of its own, in which `is_child` holds.
fn itself(test: &str) -> Command {
    let mut command = Command::from(child(&format!("process::everywhere::{test}"), &[]));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Does one thing in the child, and the other in the process that starts it.
fn both<F: Future<Output = ()>>(in_child: fn(), in_parent: impl FnOnce() -> F) {
    match is_child() {
        true => in_child(),
        false => guarded(|| workers(2).block_on(in_parent())),
    }
}

/// Ends when nothing is left that could write to it.
fn copy_input() {
    std::io::copy(&mut std::io::stdin(), &mut std::io::stderr()).unwrap();
}

#[test]
fn a_megabyte_goes_through_a_child() {
    both(copy_input, || async {
        let mut child = itself("a_megabyte_goes_through_a_child").spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let data = pattern(1 << 20);
        let mut received = Vec::new();
        let write = async {
            stdin.write_all(&data).await.unwrap();
            stdin.close().await.unwrap();
            drop(stdin);
        };
        let (_, read) = bounded(async { join!(write, stderr.read_to_end(&mut received)) }).await;
        assert_eq!(read.unwrap(), data.len());
        assert!(received == data);
        assert!(bounded(child.wait()).await.unwrap().success());
    });
}

#[test]
fn the_output_and_the_status_of_a_child_are_told() {
    let in_child = || {
        std::io::stderr().write_all(b"some words").unwrap();
        exit(7);
    };
    both(in_child, || async {
        let test = "the_output_and_the_status_of_a_child_are_told";
        let output = bounded(itself(test).output()).await.unwrap();
        assert_eq!(output.stderr, b"some words");
        assert_eq!(output.status.code(), Some(7));

        let mut child = itself(test).spawn().unwrap();
        assert!(child.id().is_some());
        for _ in 0..2 {
            assert_eq!(bounded(child.wait()).await.unwrap().code(), Some(7));
        }
        assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
        assert_eq!(child.id(), None);
    });
}

#[test]
fn a_child_that_does_not_end_is_killed() {
    both(copy_input, || async {
        let mut child = itself("a_child_that_does_not_end_is_killed").spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let waiting = liten::time::timeout(Duration::from_millis(20), child.wait());
        assert!(waiting.await.is_err(), "its input is open");
        assert!(child.try_wait().unwrap().is_none());
        bounded(child.kill()).await.unwrap();
        assert!(!bounded(child.wait()).await.unwrap().success());
        bounded(child.kill()).await.expect("killing a child that has ended is no error");
        drop(stdin);
    });
}

#[test]
fn a_child_that_is_dropped_is_killed_if_that_was_wanted() {
    both(copy_input, || async {
        let mut command = itself("a_child_that_is_dropped_is_killed_if_that_was_wanted");
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        drop(child);
        // Its end closes what it wrote to.
        assert_eq!(bounded(stderr.read(&mut [0; 8])).await.unwrap(), 0);
        drop(stdin);

        let mut child = command.kill_on_drop(false).spawn().unwrap();
        let (mut stdin, mut stderr) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
        drop(child);
        stdin.write_all(b"lives").await.unwrap();
        stdin.flush().await.unwrap();
        let mut answer = [0; 5];
        bounded(stderr.read_exact(&mut answer)).await.unwrap();
        assert_eq!(&answer, b"lives");
        drop(stdin);
    });
}

#[test]
fn a_program_that_is_missing_is_an_error() {
    workers(1).block_on(async {
        let error = Command::new("there-is-no-such-program").spawn().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    });
}

#[test]
fn many_children_at_once_are_all_waited_for() {
    both(
        || exit(3),
        || async {
            let children = (0..20).map(|_| {
                let mut child = itself("many_children_at_once_are_all_waited_for").spawn().unwrap();
                liten::spawn(async move { child.wait().await.unwrap().code() })
            });
            for child in children.collect::<Vec<_>>() {
                assert_eq!(bounded(child).await.unwrap(), Some(3));
            }
        },
    );
}
