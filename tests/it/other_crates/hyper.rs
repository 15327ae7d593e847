//! hyper on liten: its executor, its timer, HTTP/1 and HTTP/2 over liten's sockets.

use crate::support::guard::{guarded, workers};
use crate::support::loopback::{pattern, poll_once, run, tcp_pair};
use crate::support::probe::{Bell, Count, OnDrop};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Executor, Sleep, Timer};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, client};
use liten::hyper::{LitenExecutor, LitenTimer};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::TcpStream;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3_600);
const SHORT: Duration = Duration::from_millis(20);

/// Sends the body back.
async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::new(body)))
}

/// A server for one connection of HTTP/1 that waits so long for the head of a request.
async fn serve(stream: TcpStream, patience: Duration) -> hyper::Result<()> {
    let mut server = http1::Builder::new();
    server.timer(LitenTimer::new()).header_read_timeout(patience);
    server.serve_connection(stream, service_fn(echo)).await
}

#[test]
fn the_names_are_what_hyper_asks_for() {
    fn executor<E: Executor<std::future::Ready<()>> + Clone + Send + Sync + 'static>(_: E) {}
    fn timer<T: Timer + Clone + Send + Sync + 'static>(_: T) {}
    fn sleep<S: Sleep + Send + Sync + Unpin>() {}

    executor(LitenExecutor::new());
    timer(LitenTimer::new());
    sleep::<liten::time::Sleep>();
}

#[test]
fn the_executor_runs_what_it_is_given() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let (done, count) = (Bell::default(), Count::default());
            for _ in 0..100 {
                let (done, count) = (done.clone(), count.clone());
                LitenExecutor::new().execute(async move {
                    if count.add() == 100 {
                        done.ring();
                    }
                    // The output need not be `Send`.
                    Rc::new(())
                });
            }
            done.wait().await;
            assert_eq!(count.get(), 100);
        });
    });
}

#[test]
fn the_timer_sleeps_and_moves_its_sleeps() {
    run(async {
        let timer = LitenTimer::new();
        let start = timer.now();
        timer.sleep(SHORT).await;
        timer.sleep_until(start + 2 * SHORT).await;
        assert!(timer.now() >= start + 2 * SHORT);

        let mut sleep = timer.sleep(LONG);
        assert!(poll_once(&mut sleep).await.is_none());
        let place: *const () = (&raw const *sleep).cast();
        timer.reset(&mut sleep, timer.now() + SHORT);
        assert_eq!(place, (&raw const *sleep).cast(), "a new sleep was made");
        sleep.as_mut().await;
        timer.reset(&mut sleep, timer.now() + LONG);
        assert!(poll_once(&mut sleep).await.is_none());
    });
}

/// One that was made by another timer.
struct Foreign(#[expect(dead_code)] OnDrop);

impl Future for Foreign {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Sleep for Foreign {}

#[test]
fn a_foreign_sleep_is_replaced() {
    run(async {
        let dropped = Count::default();
        let mut sleep: Pin<Box<dyn Sleep>> = Box::pin(Foreign(OnDrop(dropped.clone())));
        let timer = LitenTimer::new();
        timer.reset(&mut sleep, timer.now() + SHORT);
        assert_eq!(dropped.get(), 1);
        sleep.await;
    });
}

#[test]
fn one_connection_carries_many_requests() {
    run(async {
        let (client, server) = tcp_pair().await;
        let server = liten::spawn(serve(server, LONG));
        let (mut sender, connection) = client::conn::http1::handshake(client).await.unwrap();
        let connection = liten::spawn(connection);
        for size in [0, 1, 1_000, 100_000, 5_000_000, 3] {
            let sent = pattern(size);
            let request = Request::post("/").body(Full::new(Bytes::from(sent.clone()))).unwrap();
            sender.ready().await.unwrap();
            let answer = sender.send_request(request).await.unwrap();
            let received = answer.into_body().collect().await.unwrap().to_bytes();
            assert!(received == sent, "the bytes differ");
        }
        drop(sender);
        connection.await.unwrap().unwrap();
        server.await.unwrap().unwrap();
    });
}

/// Two requests in one segment, the answers in their order.
#[test]
fn requests_in_a_row_are_answered_in_their_order() {
    run(async {
        let (mut client, server) = tcp_pair().await;
        let server = liten::spawn(serve(server, LONG));
        let first = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\none";
        let last =
            "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\nconnection: close\r\n\r\ntwo";
        client.write_all(format!("{first}{last}").as_bytes()).await.unwrap();
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.unwrap();
        let at = |text: &str| answers.find(text).unwrap_or_else(|| panic!("{answers:?}"));
        assert!(at("\r\n\r\none") < at("\r\n\r\ntwo"));
        server.await.unwrap().unwrap();
    });
}

#[test]
fn half_a_head_is_given_up() {
    run(async {
        let (mut client, server) = tcp_pair().await;
        let server = liten::spawn(serve(server, SHORT));
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n").await.unwrap();
        assert!(server.await.unwrap().unwrap_err().is_timeout());
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    });
}

#[test]
fn garbage_is_refused_and_ends_the_connection() {
    run(async {
        let (mut client, server) = tcp_pair().await;
        let server = liten::spawn(serve(server, LONG));
        client.write_all(b"\0\x01\xff what is this?\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer:?}");
        assert!(server.await.unwrap().unwrap_err().is_parse());
    });
}

async fn streams_side_by_side() {
    const STREAMS: usize = 50;

    let (client, server) = tcp_pair().await;
    // No client is answered before all have asked, so that the streams really are open side by side.
    let (asked, all) = (Count::default(), Bell::default());
    let service = service_fn(move |request: Request<Incoming>| {
        let (asked, all) = (asked.clone(), all.clone());
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            if asked.add() == STREAMS {
                all.ring();
            }
            all.wait().await;
            Ok::<_, Infallible>(Response::new(Full::new(body)))
        }
    });
    let mut builder = http2::Builder::new(LitenExecutor::new());
    builder.timer(LitenTimer::new()).keep_alive_interval(SHORT);
    let server = liten::spawn(builder.serve_connection(server, service));

    let mut builder = client::conn::http2::Builder::new(LitenExecutor::new());
    builder.timer(LitenTimer::new()).keep_alive_interval(SHORT);
    let (sender, connection) = builder.handshake(client).await.unwrap();
    let connection = liten::spawn(connection);
    let requests = (0..STREAMS).map(|i| {
        let mut sender = sender.clone();
        liten::spawn(async move {
            let sent = pattern(i * 4_099);
            let request = Request::post("/").body(Full::new(Bytes::from(sent.clone()))).unwrap();
            let answer = sender.send_request(request).await.unwrap();
            let received = answer.into_body().collect().await.unwrap().to_bytes();
            assert!(received == sent, "the bytes differ");
        })
    });
    for request in requests.collect::<Vec<_>>() {
        request.await.unwrap();
    }
    drop(sender);
    // Both end. A ping may cross the other side's goodbye; the side that sent it sees a broken pipe.
    let _ = connection.await.unwrap();
    let _ = server.await.unwrap();
}

#[test]
fn many_streams_share_one_connection() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async { liten::spawn(streams_side_by_side()).await.unwrap() });
        liten::runtime::LocalRuntime::new().unwrap().block_on(streams_side_by_side());
    });
}

/// The other end of a connection is silent: the timer tells that it is gone.
#[test]
fn a_peer_that_does_not_answer_pings_is_given_up() {
    run(async {
        let (mut client, server) = tcp_pair().await;
        let mut builder = http2::Builder::new(LitenExecutor::new());
        builder.timer(LitenTimer::new()).keep_alive_interval(SHORT).keep_alive_timeout(SHORT);
        let server = liten::spawn(builder.serve_connection(server, service_fn(echo)));
        // The preface, empty settings, and silence.
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
        assert!(server.await.unwrap().unwrap_err().is_timeout());
    });
}

#[cfg(unix)]
#[test]
fn unix_streams_carry_requests_too() {
    use http_body_util::Empty;
    use liten::join;

    run(async {
        let (client, server) = liten::net::UnixStream::pair().unwrap();
        let server = http1::Builder::new()
            .timer(LitenTimer::new())
            .serve_connection(server, service_fn(echo));
        let asking = async {
            let (mut sender, connection) = client::conn::http1::handshake(client).await.unwrap();
            let asking = async {
                let request = Request::get("/").body(Empty::<Bytes>::new()).unwrap();
                let answer = sender.send_request(request).await.unwrap();
                assert_eq!(answer.status(), 200);
                drop(sender);
            };
            let (_, end) = join!(asking, connection);
            end.unwrap();
        };
        let (_, end) = join!(asking, server);
        end.unwrap();
    });
}
