//! What the thread of a slow poll does, in the words of Linux.

use crate::guard::{exactly, guarded, until};
use liten::runtime::{SlowPoll, ThreadActivity};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// The first slow poll of a task that calls `block`.
fn seen_in(block: impl FnOnce() + Send + 'static) -> SlowPoll {
    let (sender, told) = mpsc::channel();
    let runtime = exactly(2)
        .slow_poll_threshold(100 * MS)
        .on_slow_poll(move |slow| drop(sender.send(slow.clone())))
        .build()
        .unwrap();
    let task = runtime.spawn(async move { block() });
    let slow = told.recv().unwrap();
    runtime.block_on(task).unwrap();
    slow
}

#[test]
fn a_sleep_is_named() {
    guarded(|| {
        let slow = seen_in(|| thread::sleep(1_000 * MS));
        let ThreadActivity::Calls(call) = slow.activity() else { panic!("{slow}") };
        assert!(call.name().unwrap().ends_with("nanosleep"), "{slow}");
        assert_eq!(call.descriptor(), None);
    });
}

#[test]
fn a_call_is_named_with_its_socket() {
    guarded(|| {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        let descriptor = reader.as_raw_fd();
        let closes = thread::spawn(move || {
            thread::sleep(1_000 * MS);
            drop(writer);
        });
        let slow = seen_in(move || assert_eq!(reader.read(&mut [0]).unwrap(), 0));
        let text = slow.to_string();
        assert!(text.contains(&format!("in recvfrom(fd {descriptor} → socket:[")), "{text}");
        closes.join().unwrap();
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
        let (mut fifo, mut other) = (both(), both());
        let ends = thread::spawn(move || {
            thread::sleep(1_000 * MS);
            std::io::Write::write_all(&mut other, b"x").unwrap();
        });
        let slow = seen_in(move || fifo.read_exact(&mut [0]).unwrap());
        std::fs::remove_file(&path).unwrap();
        let ThreadActivity::Calls(call) = slow.activity() else { panic!("{slow}") };
        assert_eq!((call.name(), call.file()), (Some("read"), path.to_str()), "{slow}");
        ends.join().unwrap();
    });
}

/// On a machine that is busy with something else, it waits for a processor most of the time; and it may do
/// neither for most of it, of which nothing is said.
#[test]
fn a_task_that_computes_is_told_from_one_that_waits() {
    guarded(|| {
        until(|| {
            let slow = seen_in(|| {
                let begin = Instant::now();
                while begin.elapsed() < 1_000 * MS {
                    std::hint::spin_loop();
                }
            });
            let known = [ThreadActivity::Computes, ThreadActivity::WaitsForProcessor];
            let is_known = known.contains(slow.activity());
            assert!(is_known || *slow.activity() == ThreadActivity::Runs, "{slow}");
            is_known
        });
    });
}
