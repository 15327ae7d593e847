//! What of tokio-util and tokio-stream works on liten as it is, and what asks for tokio's runtime: the page
//! `liten::guide::migrating` says so.

use bytes::Bytes;
use futures_util::io::Cursor;
use futures_util::{SinkExt, stream};
use liten::net::{TcpListener, TcpStream};
use liten::runtime::{Builder, Runtime};
use std::future::{poll_fn, ready};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_stream::wrappers::{IntervalStream, ReceiverStream};
use tokio_stream::{StreamExt, StreamMap};
use tokio_util::codec::{Framed, LengthDelimitedCodec, LinesCodec};
use tokio_util::compat::FuturesAsyncReadCompatExt;
use tokio_util::future::FutureExt as _;
use tokio_util::io::{ReaderStream, StreamReader, SyncIoBridge};
use tokio_util::sync::{CancellationToken, PollSemaphore, PollSender};
use tokio_util::task::{JoinMap, LocalPoolHandle, TaskTracker};
use tokio_util::time::DelayQueue;

fn runtime(tokio_context: bool) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).tokio_context(tokio_context).build().expect("a runtime")
}

/// In a task, on a runtime whose threads are in no context of tokio's.
fn alone<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = runtime(false);
    runtime.block_on(runtime.spawn(work)).expect("it asks for no runtime of tokio's")
}

async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("bound")).await;
    (client.expect("it listens"), listener.accept().await.expect("a client").0)
}

#[test]
fn codecs_work_on_sockets() {
    alone(async {
        let (client, server) = connection().await;
        let mut lines = Framed::new(client, LinesCodec::new_with_max_length(64));
        lines.send("a line").await.expect("it is read");
        let mut lines_of_server = Framed::new(server, LinesCodec::new_with_max_length(64));
        assert_eq!(lines_of_server.next().await.unwrap().unwrap(), "a line");
        let codec = LengthDelimitedCodec::new();
        let mut frames = Framed::new(lines.into_inner(), codec.clone());
        frames.send(Bytes::from_static(b"a frame")).await.expect("it is read");
        let mut frames_of_server = Framed::new(lines_of_server.into_inner(), codec);
        let frame = frames_of_server.next().await.unwrap().unwrap();
        assert_eq!(&frame[..], b"a frame");
    });
}

#[test]
fn adapters_work_on_sockets() {
    alone(async {
        let (mut client, server) = connection().await;
        client.write_all(b"abc").await.expect("it is read");
        drop(client);
        let chunks = ReaderStream::new(server);
        let mut text = String::new();
        StreamReader::new(chunks).read_to_string(&mut text).await.expect("it is text");
        assert_eq!(text, "abc");
        let mut bytes = Vec::new();
        Cursor::new(b"def").compat().read_to_end(&mut bytes).await.expect("from memory");
        assert_eq!(bytes, b"def");
    });
}

#[test]
fn tokens_trackers_and_channels_need_no_runtime() {
    alone(async {
        let token = CancellationToken::new();
        let (tracker, child) = (TaskTracker::new(), token.child_token());
        liten::spawn(tracker.track_future(async move { child.cancelled().await }));
        tracker.close();
        token.cancel();
        tracker.wait().await;

        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        let mut sink = PollSender::new(sender);
        sink.send(7).await.expect("there is a receiver");
        drop(sink);
        assert_eq!(ReceiverStream::new(receiver).collect::<Vec<_>>().await, [7]);
        let mut semaphore = PollSemaphore::new(Arc::new(tokio::sync::Semaphore::new(1)));
        assert!(poll_fn(|cx| semaphore.poll_acquire(cx)).await.is_some());

        let mut map = StreamMap::new();
        map.insert("numbers", stream::iter([1, 2]));
        assert_eq!(map.next().await, Some(("numbers", 1)));
        assert_eq!(stream::iter([1]).merge(stream::iter([2])).collect::<Vec<_>>().await, [1, 2]);
    });
}

#[test]
fn a_local_pool_brings_its_own_runtimes() {
    assert_eq!(
        alone(async { LocalPoolHandle::new(1).spawn_pinned(|| ready(7)).await.unwrap() }),
        7
    );
}

#[test]
fn what_sleeps_or_spawns_asks_for_a_runtime_of_tokios() {
    const NONE: Duration = Duration::ZERO;
    let names = [
        "DelayQueue",
        "SyncIoBridge",
        "JoinMap",
        "TaskTracker::spawn",
        "FutureExt::timeout",
        "StreamExt::timeout",
        "IntervalStream",
    ];
    let use_it = |name| async move {
        match name {
            "DelayQueue" => drop(DelayQueue::new().insert((), NONE)),
            "SyncIoBridge" => drop(SyncIoBridge::new(tokio::io::empty())),
            "JoinMap" => {
                let mut map = JoinMap::new();
                map.spawn("key", ready(()));
                assert!(map.join_next().await.is_some());
            }
            "TaskTracker::spawn" => TaskTracker::new().spawn(ready(())).await.unwrap(),
            "FutureExt::timeout" => ready(()).timeout(NONE).await.unwrap(),
            "StreamExt::timeout" => {
                let mut stream = Box::pin(stream::pending::<()>().timeout(NONE));
                assert!(stream.next().await.unwrap().is_err());
            }
            "IntervalStream" => {
                let interval = tokio::time::interval(Duration::from_secs(1));
                assert!(IntervalStream::new(interval).next().await.is_some());
            }
            _ => unreachable!("{name}"),
        }
    };
    let (with, without) = (runtime(true), runtime(false));
    for name in names {
        with.block_on(with.spawn(use_it(name))).unwrap_or_else(|error| panic!("{name}: {error}"));
        let error = without.block_on(without.spawn(use_it(name)));
        let payload = error.expect_err(name).into_panic();
        let message = payload.downcast_ref::<&str>().map(ToString::to_string);
        let message = message.or_else(|| payload.downcast_ref().cloned()).unwrap_or_default();
        assert!(message.contains("Tokio 1.x"), "{name}: {message}");
    }
}

#[test]
fn a_bridge_works_in_blocking_code_with_the_context() -> io::Result<()> {
    let runtime = runtime(true);
    runtime.block_on(async {
        let (mut client, server) = connection().await;
        client.write_all(b"abc").await?;
        drop(client);
        let bridge = SyncIoBridge::new(server);
        let read = liten::spawn_blocking(move || io::read_to_string(bridge));
        assert_eq!(read.await.expect("no panic")?, "abc");
        Ok(())
    })
}
