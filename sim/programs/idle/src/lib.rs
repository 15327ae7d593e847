//! The server closes an idle connection while the client takes it from its pool for the next request.
//!
//! The client sees a closed connection and cannot know whether the request was done: hyper #2136. A request
//! that may be done twice can be sent again.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::select;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// For so long a server keeps a connection without a request.
const IDLE: Duration = Duration::from_millis(100);

type Requests = Client<HttpConnector, Empty<Bytes>>;

/// What the client does when a connection is closed under its request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OnClose {
    /// Wrong: the error is the caller's.
    Fail,
    SendAgain,
}

#[tokio::main]
pub async fn server() -> std::io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let (begins, mut has_begun) = mpsc::channel(1);
            let service = service_fn(move |_: Request<Incoming>| {
                let _ = begins.try_send(());
                async { Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())) }
            });
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            let mut connection = pin!(connection);
            loop {
                select! {
                    _ = connection.as_mut() => return,
                    idle = timeout(IDLE, has_begun.recv()) => if idle.is_err() {
                        connection.as_mut().graceful_shutdown();
                        let _ = connection.await;
                        return;
                    }
                }
            }
        });
    }
}

/// # Panics
///
/// When a request fails.
#[tokio::main]
pub async fn client(on_close: OnClose) {
    let client: Requests = Client::builder(TokioExecutor::new()).build_http();
    while get(&client).await.is_err() {
        sleep(Duration::from_millis(10)).await; // The server has not begun.
    }
    for _ in 0..20 {
        // About as long as the server waits.
        sleep(IDLE - Duration::from_millis(1)).await;
        let mut result = get(&client).await;
        if on_close == OnClose::SendAgain && result.is_err() {
            result = get(&client).await;
        }
        let status = result.unwrap_or_else(|error| panic!("a request failed: {}", told(&error)));
        assert_eq!(status, StatusCode::OK);
    }
}

async fn get(client: &Requests) -> Result<StatusCode, Error> {
    Ok(client.get(Uri::from_static("http://server/")).await?.status())
}

/// The error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", told(cause)))
}
