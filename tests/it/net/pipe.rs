//! Unix pipes: both ends, both kinds, what is no pipe, and what a vanished end does to the other.

use crate::support::guard::{guarded, workers};
use crate::support::loopback::{pattern, poll_once, run};
use liten::io::{AsyncReadExt, AsyncWriteExt, Interest};
use liten::net::unix::pipe::{self, OpenOptions, Receiver, Sender};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs::File;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;

/// No such device or address; the same number on every Unix.
const ENXIO: i32 = 6;

/// A named pipe of this process; the file goes with it.
struct Fifo(PathBuf);

impl Fifo {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("liten-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        Self(path)
    }
}

impl AsRef<Path> for Fifo {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Both ends of a pipe in blocking mode, reading end first.
fn blocking_pipe() -> (OwnedFd, OwnedFd) {
    let (sender, receiver) = pipe::pipe().unwrap();
    (receiver.into_blocking_fd().unwrap(), sender.into_blocking_fd().unwrap())
}

fn blocks(file: &File) -> bool {
    let flags = OFlag::from_bits_retain(fcntl(file, FcntlArg::F_GETFL).unwrap());
    !flags.contains(OFlag::O_NONBLOCK)
}

/// Writes until there is no more room, and returns how much went in.
fn fill(sender: &Sender) -> usize {
    let block = [7; 4096];
    let mut sum = 0;
    loop {
        match sender.try_write(&block) {
            Ok(n) => sum += n,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return sum;
            }
        }
    }
}

#[test]
fn two_mebibytes_go_through_a_pipe() {
    run(async {
        let (mut sender, mut receiver) = pipe::pipe().unwrap();
        let sent = pattern(2 << 20);
        let expected = sent.clone();
        let writer = liten::spawn(async move { sender.write_all(&sent).await });
        let mut received = Vec::new();
        receiver.read_to_end(&mut received).await.unwrap();
        assert!(received == expected, "bytes were lost, doubled or mixed up");
        writer.await.unwrap().unwrap();
    });
}

#[test]
fn a_reader_and_a_writer_wait_for_each_other() {
    run(async {
        let (sender, mut receiver) = pipe::pipe().unwrap();
        let mut buf = [0; 8];
        {
            let mut reading = pin!(receiver.read(&mut buf));
            assert!(poll_once(&mut reading).await.is_none(), "nothing is there");
            assert_eq!(sender.try_write(b"ab").unwrap(), 2);
            assert_eq!(reading.await.unwrap(), 2);
        }
        assert_eq!(&buf[..2], b"ab");

        let full = fill(&sender);
        {
            let mut ready = pin!(sender.writable());
            assert!(poll_once(&mut ready).await.is_none(), "it is full");
            let mut rest = vec![0; full];
            receiver.read_exact(&mut rest).await.unwrap();
            ready.await.unwrap();
        }
        poll_fn(|cx| sender.poll_write_ready(cx)).await.unwrap();
        assert!(sender.ready(Interest::WRITABLE).await.unwrap().is_writable());
        (&sender).write_all(b"c").await.unwrap();
        poll_fn(|cx| receiver.poll_read_ready(cx)).await.unwrap();
        assert!(receiver.ready(Interest::READABLE).await.unwrap().is_readable());
        receiver.readable().await.unwrap();
        assert_eq!(receiver.try_read(&mut buf).unwrap(), 1);
        assert_eq!(receiver.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

/// Cancel safety, in both directions: what a dropped future has not reported has not been moved.
#[test]
fn a_read_or_write_that_is_given_up_has_done_nothing() {
    run(async {
        let (sender, receiver) = pipe::pipe().unwrap();
        let mut buf = [0; 8];
        assert!(poll_once(&mut pin!((&receiver).read(&mut buf))).await.is_none());
        assert!(poll_once(&mut pin!(receiver.readable())).await.is_none());
        (&sender).write_all(b"ab").await.unwrap();
        assert_eq!((&receiver).read(&mut buf).await.unwrap(), 2);
        assert_eq!(&buf[..2], b"ab");

        let full = fill(&sender);
        assert!(poll_once(&mut pin!((&sender).write(b"never"))).await.is_none());
        drop(sender);
        let mut rest = Vec::new();
        (&receiver).read_to_end(&mut rest).await.unwrap();
        assert!(rest.len() == full && rest.iter().all(|byte| *byte == 7));
    });
}

#[test]
fn several_buffers_go_in_one_call() {
    run(async {
        let (mut sender, mut receiver) = pipe::pipe().unwrap();
        let out = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")];
        assert_eq!(sender.try_write_vectored(&out).unwrap(), 4);
        assert_eq!(sender.write_vectored(&out).await.unwrap(), 4);
        for by_trait in [false, true] {
            let (mut first, mut second) = ([0; 3], [0; 1]);
            let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
            let n = match by_trait {
                true => receiver.read_vectored(&mut bufs).await.unwrap(),
                false => receiver.try_read_vectored(&mut bufs).unwrap(),
            };
            assert_eq!((n, &first, &second), (4, b"abc", b"d"));
        }
        // An operation of the caller's own.
        let read = |mut source: &File| source.read(&mut [0; 4]);
        let copy = File::from(std::os::fd::AsFd::as_fd(&receiver).try_clone_to_owned().unwrap());
        let nothing = receiver.try_io(Interest::READABLE, || read(&copy)).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        sender.write_all(b"ef").await.unwrap();
        let n = receiver.async_io(Interest::READABLE, || read(&copy)).await.unwrap();
        assert_eq!(n, 2);
    });
}

#[test]
fn a_vanished_end_is_the_end_for_a_reader_and_an_error_for_a_writer() {
    run(async {
        let (sender, mut receiver) = pipe::pipe().unwrap();
        let mut buf = [0; 8];
        {
            let mut reading = pin!(receiver.read(&mut buf));
            assert!(poll_once(&mut reading).await.is_none());
            drop(sender);
            assert_eq!(reading.await.unwrap(), 0);
        }

        let (mut sender, receiver) = pipe::pipe().unwrap();
        fill(&sender);
        {
            let mut writing = pin!(sender.write(b"x"));
            assert!(poll_once(&mut writing).await.is_none());
            drop(receiver);
            assert_eq!(writing.await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        }
        // To close it is no error, and no end either.
        sender.close().await.unwrap();
    });
}

#[test]
fn named_pipes_are_opened_from_both_ends() {
    run(async {
        let fifo = Fifo::new("fifo");
        let early = OpenOptions::new().open_sender(&fifo).unwrap_err();
        assert_eq!(early.raw_os_error(), Some(ENXIO), "{early}");
        let mut receiver = OpenOptions::new().open_receiver(&fifo).unwrap();
        // Without a sender, it is at its end.
        assert_eq!(receiver.read(&mut [0; 8]).await.unwrap(), 0);
        let mut sender = OpenOptions::new().open_sender(&fifo).unwrap();
        sender.write_all(b"hello").await.unwrap();
        drop(sender);
        let mut text = String::new();
        receiver.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_receiver_that_also_writes_outlives_its_senders() {
    run(async {
        let fifo = Fifo::new("both");
        let mut options = OpenOptions::new();
        options.read_write(true);
        let sender = options.open_sender(&fifo).unwrap();
        assert_eq!(sender.try_write(b"a").unwrap(), 1);
        let mut receiver = options.open_receiver(&fifo).unwrap();
        drop(sender);
        assert_eq!(receiver.read(&mut [0; 8]).await.unwrap(), 1);
        let mut buf = [0; 8];
        let mut reading = pin!(receiver.read(&mut buf));
        assert!(poll_once(&mut reading).await.is_none(), "no end: it is a sender itself");
        let mut next = OpenOptions::new().open_sender(&fifo).unwrap();
        next.write_all(b"bc").await.unwrap();
        assert_eq!(reading.await.unwrap(), 2);
    });
}

#[track_caller]
fn refused<T: std::fmt::Debug>(made: std::io::Result<T>, why: &str) {
    let error = made.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains(why), "{error}");
}

#[test]
fn what_is_no_pipe_is_refused() {
    run(async {
        let regular = std::env::current_exe().unwrap();
        refused(OpenOptions::new().open_receiver(&regular), "not a pipe");
        refused(Receiver::from_file(File::open(&regular).unwrap()), "not a pipe");
        refused(Sender::from_file(File::open(&regular).unwrap()), "not a pipe");
        // A directory, a missing file, and one that the poller refuses although no check comes before it.
        assert!(OpenOptions::new().open_sender(std::env::temp_dir()).is_err());
        let missing = OpenOptions::new().open_receiver("/nowhere/pipe").unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let unchecked = OpenOptions::new().unchecked(true).open_receiver(&regular);
        assert!(unchecked.is_err(), "a regular file cannot be polled");
        assert!(Receiver::from_file_unchecked(File::open(&regular).unwrap()).is_err());

        let (reader, writer) = blocking_pipe();
        refused(Sender::from_owned_fd(reader), "not open for writing");
        refused(Receiver::from_owned_fd(writer), "not open for reading");
    });
}

#[test]
fn ends_come_from_descriptors_and_go_back() {
    run(async {
        let (reader, writer) = blocking_pipe();
        // In blocking mode until they are taken over.
        let sender = Sender::from_owned_fd(writer).unwrap();
        let mut receiver = Receiver::from_file(File::from(reader)).unwrap();
        let mut buf = [0; 8];
        assert!(poll_once(&mut pin!(receiver.read(&mut buf))).await.is_none(), "a blocking pipe");

        // As a descriptor that blocks, which a thread waits with.
        let mut blocking = File::from(receiver.into_blocking_fd().unwrap());
        assert!(blocks(&blocking));
        let reader = liten::spawn_blocking(move || {
            let mut buf = [0; 8];
            blocking.read(&mut buf).map(|n| buf[..n].to_vec())
        });
        let mut nonblocking = File::from(sender.into_nonblocking_fd().unwrap());
        assert!(!blocks(&nonblocking));
        nonblocking.write_all(b"ab").unwrap();
        assert_eq!(reader.await.unwrap().unwrap(), b"ab");
        let again = Sender::from_file_unchecked(nonblocking).unwrap();
        assert!(format!("{again:?}").contains("Sender"));
    });
}

#[test]
fn a_child_writes_into_a_pipe_of_ours() {
    run(async {
        let (sender, mut receiver) = pipe::pipe().unwrap();
        let mut child = Command::new("echo")
            .arg("hello")
            .stdout(sender.into_blocking_fd().unwrap())
            .spawn()
            .unwrap();
        let mut printed = String::new();
        receiver.read_to_string(&mut printed).await.unwrap();
        assert_eq!(printed, "hello\n");
        assert!(child.wait().unwrap().success());
    });
}

#[test]
fn a_reader_is_told_when_its_runtime_ends() {
    guarded(|| {
        let runtime = workers(1);
        let (_sender, receiver) = {
            let _entered = runtime.enter();
            pipe::pipe().unwrap()
        };
        assert!(receiver.try_read(&mut [0; 8]).is_err());
        drop(runtime);
        let error = workers(1).block_on(receiver.readable()).unwrap_err();
        assert!(error.to_string().contains("shut down"), "{error}");
    });
}

#[test]
#[should_panic(expected = "outside a runtime")]
fn a_pipe_outside_a_runtime_panics() {
    let _ = pipe::pipe();
}

#[test]
fn ends_can_be_sent_and_shared() {
    fn shared<T: Send + Sync + Unpin + 'static>() {}
    shared::<Sender>();
    shared::<Receiver>();
    shared::<OpenOptions>();
}
