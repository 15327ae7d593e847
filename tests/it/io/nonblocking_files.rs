//! Standard streams and files whose descriptor another process has put into non-blocking mode: they are
//! used as in blocking mode.

use crate::support::guard::{guarded, until};
use crate::support::loopback::{pattern, poll_once};
use crate::support::pool::pool;
use crate::support::process::{child, is_child};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::pin::pin;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

const LENGTH: usize = 1_000_000;
const WHICH: &str = "LITEN_TEST_STREAM";

fn set_nonblocking(descriptor: impl AsFd, on: bool) {
    let mode = if on { OFlag::O_NONBLOCK } else { OFlag::empty() };
    fcntl(&descriptor, FcntlArg::F_SETFL(mode)).unwrap();
}

/// A pipe, of which one end is in non-blocking mode: the first, for reading, or else the other.
fn pipe(reads: bool) -> (File, File) {
    let (read, write) = blocking_pipe();
    set_nonblocking(if reads { &read } else { &write }, true);
    (read, write)
}

fn blocking_pipe() -> (File, File) {
    let ends = liten::block_on(async { liten::net::unix::pipe::pipe() });
    let (sender, receiver) = ends.unwrap();
    (receiver.into_blocking_fd().unwrap().into(), sender.into_blocking_fd().unwrap().into())
}

/// Reads to the end, not fast.
fn read_slowly(mut from: File) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), vec![0; 65_536]);
    loop {
        match from.read(&mut buffer).unwrap() {
            0 => return all,
            count => all.extend(&buffer[..count]),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// By the child: writes to standard output or error. What the harness says of the test is written there, too,
/// and by std, which does not wait.
fn write_all(to_output: bool) -> io::Result<()> {
    let bytes = [&vec![b'x'; LENGTH][..], b"\n", &vec![b'x'; LENGTH]].concat();
    liten::block_on(async {
        if to_output {
            let mut out = liten::io::stdout();
            out.write_all(&bytes).await?;
            out.flush().await
        } else {
            let mut out = liten::io::stderr();
            out.write_all(&bytes).await?;
            out.flush().await
        }
    })
}

#[test]
fn all_of_a_large_output_arrives() {
    if is_child() {
        let to_output = std::env::var(WHICH).unwrap() == "stdout";
        let written = write_all(to_output);
        set_nonblocking(io::stdout(), false);
        set_nonblocking(io::stderr(), false);
        return written.unwrap();
    }
    guarded(|| {
        for which in ["stdout", "stderr"] {
            let (read, write) = pipe(false);
            let test = "io::nonblocking_files::all_of_a_large_output_arrives";
            let mut command = child(test, &[(WHICH, which)]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            match which {
                "stdout" => command.stdout(write),
                _ => command.stderr(write),
            };
            let mut started = command.spawn().unwrap();
            // It has the child's end of the pipe.
            drop(command);
            let received = read_slowly(read);
            assert!(started.wait().unwrap().success(), "{which}");
            let count = received.iter().filter(|byte| **byte == b'x').count();
            assert!(count >= 2 * LENGTH, "{which}: {count} bytes of {}", 2 * LENGTH);
        }
    });
}

#[test]
fn all_of_a_slow_input_is_read() {
    if is_child() {
        let mut text = String::new();
        liten::block_on(liten::io::stdin().read_to_string(&mut text)).unwrap();
        return assert_eq!(text, "one two three");
    }
    guarded(|| {
        let (read, mut write) = pipe(true);
        let mut command = child("io::nonblocking_files::all_of_a_slow_input_is_read", &[]);
        let mut started = command.stdin(read).spawn().unwrap();
        drop(command);
        for word in ["one ", "two ", "three"] {
            thread::sleep(Duration::from_millis(30));
            write.write_all(word.as_bytes()).unwrap();
        }
        drop(write);
        assert!(started.wait().unwrap().success());
    });
}

/// Whether a thread of the pool sleeps in the system, for something else than work.
fn sleeps_in_a_call(runtime: &liten::runtime::Runtime) -> bool {
    runtime.metrics().num_blocking_threads() == 1
        && runtime.metrics().num_idle_blocking_threads() == 0
}

#[test]
fn a_file_that_would_block_is_waited_for() {
    guarded(|| {
        let runtime = pool(1);
        let (read, write) = pipe(false);
        let content = pattern(LENGTH);
        let reads = thread::spawn(move || read_slowly(read));
        runtime.block_on(async {
            let mut file = liten::fs::File::from_std(write);
            file.write_all(&content).await.unwrap();
            file.flush().await.unwrap();
        });
        assert!(reads.join().unwrap() == content);

        let (read, mut write) = pipe(true);
        let mut file = liten::fs::File::from_std(read);
        let text = runtime.block_on(async {
            let mut text = [0; 4];
            let mut reading = pin!(file.read_exact(&mut text));
            assert!(poll_once(&mut reading).await.is_none());
            until(|| sleeps_in_a_call(&runtime));
            write.write_all(b"he").unwrap();
            thread::sleep(Duration::from_millis(10));
            write.write_all(b"re").unwrap();
            reading.await.unwrap();
            text
        });
        assert_eq!(text, *b"here");
    });
}

/// The thread sleeps while it waits, and the end of the runtime does not wait for it.
#[test]
fn a_read_that_waits_holds_up_no_end() {
    guarded(|| {
        for rounds in 0..4 {
            let runtime = pool(1);
            let (read, write) = pipe(true);
            let mut file = liten::fs::File::from_std(read);
            drop(runtime.spawn(async move { file.read(&mut [0]).await }));
            until(|| sleeps_in_a_call(&runtime));
            if rounds % 2 == 1 {
                thread::sleep(Duration::from_millis(5));
            }
            drop(runtime);
            drop(write);
        }
    });
}
