//! Sockets, pipes, files and children.

use crate::{WHILE, current_thread, is_ready, show};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::future::poll_fn;
use std::net;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, UdpSocket};
use tokio::process::Command;
use tokio::time::{sleep, timeout};

pub(crate) fn show_all() {
    tasks_at_one_socket();
    accept_without_descriptors();
    a_refused_datagram();
    metadata_during_a_write();
    descriptors_of_a_child();
}

/// How many of two tasks that poll it hear of the data.
#[allow(deprecated, reason = "the other way needs `unsafe`, for descriptors that are not owned")]
fn tasks_at_one_socket() {
    let told = current_thread().block_on(async {
        let (ours, theirs) = StdUnixStream::pair().expect("a pair");
        ours.set_nonblocking(true).expect("it can be nonblocking");
        let socket = Arc::new(AsyncFd::new(ours).expect("it can be polled"));
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let socket = socket.clone();
                tokio::spawn(
                    async move { poll_fn(|cx| socket.poll_read_ready(cx).map(|_| ())).await },
                )
            })
            .collect();
        sleep(WHILE / 10).await;
        std::io::Write::write_all(&mut &theirs, b"x").expect("there is room");
        let mut told = 0;
        for task in tasks {
            told += u32::from(timeout(WHILE, task).await.is_ok());
        }
        told
    });
    show("tasks_at_one_socket", format!("{told} of 2 are woken"));
}

/// How often a loop that only repeats it gets the error in a tenth of a second.
fn accept_without_descriptors() {
    let errors = current_thread().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let _client = net::TcpStream::connect(listener.local_addr().expect("an address"));
        // It is told of by then.
        sleep(WHILE / 10).await;
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).expect("a limit");
        let (begin, mut errors) = (Instant::now(), 0);
        while begin.elapsed() < Duration::from_millis(100) {
            errors += u32::from(listener.accept().await.is_err());
        }
        setrlimit(Resource::Nofile, limit).expect("a limit");
        errors
    });
    show("accept_without_descriptors", if errors > 50 { "at once" } else { "after a while" });
}

fn a_refused_datagram() {
    let is_told = current_thread().block_on(async {
        let gone = net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        socket.connect(gone.expect("an address")).await.expect("it can be connected");
        socket.send(b"x").await.expect("it is sent");
        timeout(WHILE, socket.readable()).await.is_ok()
    });
    show("a_refused_datagram", if is_told { "readable" } else { "not readable" });
}

/// The write waits for room in a pipe.
fn metadata_during_a_write() {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
    let returns = current_thread().block_on(async move {
        let mut file = File::from_std(fs::File::from(writer));
        file.write_all(&[0; 200_000]).await.expect("it is accepted");
        let returns = timeout(WHILE, file.metadata()).await.is_ok();
        drop(reader);
        returns
    });
    show("metadata_during_a_write", if returns { "returns" } else { "waits" });
}

/// What a child keeps that was dropped and runs on.
fn descriptors_of_a_child() {
    let count = || fs::read_dir("/proc/self/fd").expect("it is there").count();
    let more = current_thread().block_on(async {
        // The first child makes what all of them share.
        let first = Command::new("true").status().await;
        assert!(first.expect("it can be waited for").success());
        let before = count();
        let child = Command::new("sleep").arg("0.5").spawn().expect("a child");
        drop(child);
        let mut moment = pin!(sleep(WHILE / 10));
        assert!(!is_ready(moment.as_mut()).await);
        moment.await;
        count() - before
    });
    show("descriptors_of_a_child", format!("{more} more"));
}
