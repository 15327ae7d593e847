//! What the thread of a slow poll does, in the words of Linux.

use crate::support::guard::{exactly, guarded, until};
use liten::runtime::{SlowPoll, SystemCall, ThreadActivity};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// The first slow poll of a task that calls `block`, which blocks until its argument says that it was seen:
/// on a machine that is busy with something else, that takes longer than any time that a test could set.
fn seen_in(block: impl FnOnce(&AtomicBool) + Send + 'static) -> SlowPoll {
    let (sender, told) = mpsc::channel();
    let seen = Arc::new(AtomicBool::new(false));
    let until_seen = seen.clone();
    let runtime = exactly(2)
        .slow_poll_threshold(100 * MS)
        .on_slow_poll(move |slow| {
            // Others are of a worker that the system does not let run between two polls.
            if slow.task().is_some() {
                drop(sender.send(slow.clone()));
                seen.store(true, Ordering::Relaxed);
            }
        })
        .build()
        .unwrap();
    let task = runtime.spawn(async move { block(&until_seen) });
    let slow = told.recv().unwrap();
    runtime.block_on(task).unwrap();
    slow
}

/// As [`seen_in`], again and again until the thread is seen in a system call. On a machine that is busy with
/// something else, it may wait for a processor before it calls.
fn seen_in_call<B>(mut block: impl FnMut() -> B) -> (SlowPoll, SystemCall)
where
    B: FnOnce(&AtomicBool) + Send + 'static,
{
    loop {
        let slow = seen_in(block());
        if let ThreadActivity::Calls(call) = slow.activity() {
            let call = call.clone();
            return (slow, call);
        }
    }
}

#[test]
fn a_sleep_is_named() {
    guarded(|| {
        let (slow, call) = seen_in_call(|| {
            |seen: &AtomicBool| {
                while !seen.load(Ordering::Relaxed) {
                    thread::sleep(1_000 * MS);
                }
            }
        });
        assert!(call.name().unwrap().ends_with("nanosleep"), "{slow}");
        assert_eq!(call.descriptor(), None);
    });
}

#[test]
fn a_call_is_named_with_its_socket() {
    guarded(|| {
        let mut descriptor = None;
        let (slow, _) = seen_in_call(|| {
            let (mut reader, writer) = UnixStream::pair().unwrap();
            descriptor = Some(reader.as_raw_fd());
            move |seen: &AtomicBool| {
                thread::scope(|scope| {
                    scope.spawn(move || {
                        until(|| seen.load(Ordering::Relaxed));
                        drop(writer);
                    });
                    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
                });
            }
        });
        let descriptor = descriptor.unwrap();
        let text = slow.to_string();
        assert!(
            text.contains(&format!("in the system call recvfrom(fd {descriptor} → socket:[")),
            "{text}"
        );
    });
}

#[test]
fn a_file_has_its_path() {
    guarded(|| {
        // A FIFO, opened for both so that neither end waits for the other.
        let path = std::env::temp_dir().join(format!("liten-fifo-{}", std::process::id()));
        let status = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(status.success());
        let both = || File::options().read(true).write(true).open(&path).unwrap();
        let (slow, call) = seen_in_call(|| {
            let (mut fifo, mut other) = (both(), both());
            move |seen: &AtomicBool| {
                thread::scope(|scope| {
                    scope.spawn(move || {
                        until(|| seen.load(Ordering::Relaxed));
                        std::io::Write::write_all(&mut other, b"x").unwrap();
                    });
                    fifo.read_exact(&mut [0]).unwrap();
                });
            }
        });
        std::fs::remove_file(&path).unwrap();
        assert_eq!((call.name(), call.file()), (Some("read"), path.to_str()), "{slow}");
    });
}

/// On a machine that is busy with something else, it waits for a processor most of the time. It may also do
/// neither for most of it, of which nothing is said, or wait for its memory. And the poll may be over first.
#[test]
fn a_task_that_computes_is_told_from_one_that_waits() {
    guarded(|| {
        until(|| {
            let slow = seen_in(|seen| {
                while !seen.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let known = [ThreadActivity::Computes, ThreadActivity::WaitsForProcessor];
            assert!(!matches!(slow.activity(), ThreadActivity::Calls(_)), "{slow}");
            known.contains(slow.activity())
        });
    });
}
