//! A long request that goes on when a short one has its answer, both over one connection of HTTP/2.
//!
//! hyper 1.9 keeps one byte of the connection's window for a body that waits for its next chunk
//! (hyper #4003). A server that opens the window again when it is used up waits for that byte, and
//! the short request gets no window.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{FlowControl, RecvStream};
use http::{Request, Response, StatusCode};
use http_body_util::channel::Channel;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

const WINDOW: usize = 65_535;
const ROUNDS: usize = 5;

/// What a connection has read and not given back.
#[derive(Default)]
struct Unreleased {
    all: usize,
    parts: Vec<(FlowControl, usize)>,
}

/// Reads the bodies of all requests. It opens the window again when all of it is used.
#[tokio::main]
pub async fn server() {
    let listener = TcpListener::bind("0.0.0.0:80").await.expect("bind");
    loop {
        let (socket, _) = listener.accept().await.expect("accept");
        tokio::spawn(async move {
            let unreleased = Arc::new(Mutex::new(Unreleased::default()));
            let mut connection = h2::server::handshake(socket).await?;
            while let Some(request) = connection.accept().await {
                let (request, respond) = request?;
                tokio::spawn(answer(request.into_body(), respond, Arc::clone(&unreleased)));
            }
            Ok::<_, h2::Error>(())
        });
    }
}

async fn answer(
    mut body: RecvStream,
    mut respond: SendResponse<Bytes>,
    unreleased: Arc<Mutex<Unreleased>>,
) -> Result<(), h2::Error> {
    while let Some(chunk) = body.data().await {
        let length = chunk?.len();
        let mut unreleased = unreleased.lock().expect("the lock");
        unreleased.all += length;
        unreleased.parts.push((body.flow_control().clone(), length));
        if unreleased.all == WINDOW {
            unreleased.all = 0;
            for (mut stream, length) in unreleased.parts.drain(..) {
                stream.release_capacity(length)?;
            }
        }
    }
    respond.send_response(Response::new(()), true)?;
    Ok(())
}

/// Makes both requests, several times. Together they use all of the window.
///
/// # Panics
///
/// When one fails.
#[tokio::main]
pub async fn client() {
    let socket = loop {
        match TcpStream::connect("server:80").await {
            Ok(socket) => break socket,
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let (requests, connection) =
        handshake(TokioExecutor::new(), TokioIo::new(socket)).await.expect("handshake");
    tokio::spawn(connection);

    for _ in 0..ROUNDS {
        round(requests.clone()).await;
    }
}

async fn round(requests: SendRequest<Channel<Bytes>>) {
    let (mut long, body) = Channel::new(1);
    let long_answer = tokio::spawn(post(requests.clone(), body));
    let short_answer = tokio::spawn(async move {
        let (mut short, body) = Channel::new(1);
        short.send_data(Bytes::from_static(&[1])).await.expect("the short body");
        drop(short);
        post(requests, body).await
    });
    for _ in 0..2 {
        long.send_data(Bytes::from_static(&[0; WINDOW / 2])).await.expect("the long body");
    }
    assert_eq!(short_answer.await.expect("the task").expect("the short request"), StatusCode::OK);
    drop(long);
    assert_eq!(long_answer.await.expect("the task").expect("the long request"), StatusCode::OK);
}

async fn post(
    mut requests: SendRequest<Channel<Bytes>>,
    body: Channel<Bytes>,
) -> hyper::Result<StatusCode> {
    let request = Request::post("http://server/").body(body).expect("a request");
    Ok(requests.send_request(request).await?.status())
}
