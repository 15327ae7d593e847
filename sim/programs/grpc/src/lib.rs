//! A service of four programs: clients, a front, a shelf behind it, and a store behind that.
//!
//! The clients are hyper-util's. The front is axum's, and asks the shelf by gRPC. The shelf is a
//! server of tonic's, to and from which values go in pieces. It keeps them in the store, which is
//! mini-redis.

use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use http_body_util::{BodyExt, Full};
use hyper::Request as HttpRequest;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_stream::Stream;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};
use web::Known;

mod messages;

use messages::{Kept, Key, Piece, Shelf, ShelfClient, ShelfServer, pieces_of};

/// How long one program waits for the store. Those in front of it wait longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is wrong, so that a test can show that it is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// The shelf takes the end of a stream for the end of the value. But one that is cancelled ends
    /// alike.
    EndIsEnough,
    /// The front takes a stream that breaks off for one that ends.
    ErrorIsEnd,
}

/// The program of the host named `shelf`.
///
/// # Errors
///
/// When the server cannot begin.
#[tokio::main]
pub async fn shelf(at: &str, store: &str, mistake: Mistake) -> Result<(), String> {
    let at = at.parse().map_err(|_| format!("{at} is no address"))?;
    let service = ShelfServer::new(Keeper { store: store.to_owned(), mistake });
    let server = Server::builder().add_service(service).serve(at).await;
    server.map_err(|error| error.to_string())
}

#[derive(Clone)]
struct Keeper {
    store: String,
    mistake: Mistake,
}

impl Keeper {
    async fn set(&self, key: &str, value: Vec<u8>) -> mini_redis::Result<()> {
        mini_redis::client::connect(&self.store).await?.set(key, value.into()).await
    }

    async fn get(&self, key: &str) -> mini_redis::Result<Option<Bytes>> {
        mini_redis::client::connect(&self.store).await?.get(key).await
    }

    async fn keep(&self, mut pieces: Streaming<Piece>) -> Result<Kept, Status> {
        let (mut key, mut value, mut whole) = (String::new(), Vec::new(), None);
        while let Some(piece) = pieces.message().await? {
            key = piece.key;
            whole = Some(piece.whole);
            value.extend(piece.bytes);
        }
        // A stream that is cancelled ends without an error.
        if whole != Some(value.len() as u64) && self.mistake != Mistake::EndIsEnough {
            return Err(Status::data_loss("the value broke off"));
        }
        answered(timeout(PATIENCE, self.set(&key, value)).await)?;
        Ok(Kept {})
    }
}

/// What the store has said, in the words of gRPC.
fn answered<T, E>(answer: Result<mini_redis::Result<T>, E>) -> Result<T, Status> {
    let answer = answer.map_err(|_| Status::deadline_exceeded("the store is silent"))?;
    answer.map_err(|error| Status::unavailable(error.to_string()))
}

#[tonic::async_trait]
impl Shelf for Keeper {
    type GetStream = Pin<Box<dyn Stream<Item = Result<Piece, Status>> + Send>>;

    /// Goes on when no client waits for the answer any more, so that nothing is left half done.
    async fn put(&self, request: Request<Streaming<Piece>>) -> Result<Response<Kept>, Status> {
        let (keeper, pieces) = (self.clone(), request.into_inner());
        let put = tokio::spawn(async move { keeper.keep(pieces).await });
        put.await.map_err(|error| Status::internal(error.to_string()))?.map(Response::new)
    }

    async fn get(&self, request: Request<Key>) -> Result<Response<Self::GetStream>, Status> {
        let key = request.into_inner().key;
        let value = answered(timeout(PATIENCE, self.get(&key)).await)?.unwrap_or_default();
        let pieces = pieces_of(&key, &value).into_iter().map(Ok);
        Ok(Response::new(Box::pin(tokio_stream::iter(pieces))))
    }
}

#[derive(Clone)]
struct Front {
    shelf: ShelfClient<Channel>,
    mistake: Mistake,
}

/// The program of the host named `front`.
///
/// # Errors
///
/// When the server cannot begin.
#[tokio::main]
pub async fn front(at: &str, shelf: &str, mistake: Mistake) -> Result<(), String> {
    let endpoint = Endpoint::from_shared(format!("http://{shelf}"));
    let endpoint = endpoint.map_err(|error| error.to_string())?.connect_timeout(PATIENCE);
    let state = Front { shelf: ShelfClient::new(endpoint.connect_lazy()), mistake };
    let app = Router::new().route("/{key}", get(read).put(write)).with_state(state);
    let listener = TcpListener::bind(at).await.map_err(|error| error.to_string())?;
    axum::serve(listener, app).await.map_err(|error| error.to_string())
}

async fn read(
    State(mut front): State<Front>,
    Path(key): Path<String>,
) -> Result<Vec<u8>, StatusCode> {
    let value = timeout(2 * PATIENCE, async {
        let mut pieces = front.shelf.get(Key { key }).await?.into_inner();
        let mut value = Vec::new();
        loop {
            match pieces.message().await {
                Ok(Some(piece)) => value.extend(piece.bytes),
                Ok(None) => return Ok(value),
                Err(_) if front.mistake == Mistake::ErrorIsEnd => return Ok(value),
                Err(status) => return Err(status),
            }
        }
    });
    let value = value.await.map_err(|_| StatusCode::GATEWAY_TIMEOUT)?;
    value.map_err(|_: Status| StatusCode::BAD_GATEWAY)
}

async fn write(
    State(mut front): State<Front>,
    Path(key): Path<String>,
    value: Bytes,
) -> Result<StatusCode, StatusCode> {
    let pieces = tokio_stream::iter(pieces_of(&key, &value));
    let answer = timeout(2 * PATIENCE, front.shelf.put(pieces)).await;
    answer.map_err(|_| StatusCode::GATEWAY_TIMEOUT)?.map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The value that a client writes with its write of this number. It has up to some hundred
/// kilobytes, which is more than HTTP/2 sends without hearing of the peer.
fn value(number: u32) -> String {
    format!("{number} ").repeat(200 + number as usize * 7_919 % 90_000)
}

/// The number of a value that was read, unless it is not whole. No value at all is number 0.
fn number(value: &[u8]) -> Option<u32> {
    let Some(first) = value.split(|byte| *byte == b' ').next().filter(|text| !text.is_empty())
    else {
        return Some(0);
    };
    let found = str::from_utf8(first).ok()?.parse().ok()?;
    (self::value(found).as_bytes() == value).then_some(found)
}

/// How long a client waits for the answer to its write of this number. It gives up every third one,
/// as a browser does whose window is closed.
fn patience(number: u32) -> Duration {
    match number % 3 {
        0 => Duration::from_millis(1 + u64::from(number) * 7 % 40),
        _ => 3 * PATIENCE,
    }
}

/// The program of a client: it writes and reads its own key until `answers` of each have come.
///
/// # Panics
///
/// When an answer is not one that the writes before it allow.
#[tokio::main]
pub async fn user(front: &str, key: &str, answers: u32) {
    let uri = format!("http://{front}/{key}");
    let http = Client::builder(TokioExecutor::new()).build_http();
    let mut known = Known::default();
    let (mut writes, mut reads, mut next) = (0, 0, 0);
    while writes < answers || reads < answers {
        next += 1;
        match call(&http, "PUT", &uri, value(next), patience(next)).await {
            Some(_) => {
                writes += 1;
                known.written = next;
            }
            None => known.doubtful.push(next),
        }
        if let Some(body) = call(&http, "GET", &uri, String::new(), 3 * PATIENCE).await {
            reads += 1;
            let found = number(&body);
            assert!(found.is_some(), "{key} has {} bytes, which are no value", body.len());
            let is_right = found.is_some_and(|found| known.allows(found));
            assert!(is_right, "{key} is {found:?}, but {} was written", known.written);
        }
    }
}

async fn call(
    http: &Client<HttpConnector, Full<Bytes>>,
    method: &str,
    uri: &str,
    value: String,
    patience: Duration,
) -> Option<Bytes> {
    let request = HttpRequest::builder().method(method).uri(uri).body(Full::from(value)).ok()?;
    let answer = timeout(patience, async {
        let answer = http.request(request).await.ok()?;
        let is_success = answer.status().is_success();
        let body = answer.into_body().collect().await.ok()?.to_bytes();
        is_success.then_some(body)
    });
    let answer = answer.await.ok().flatten();
    if answer.is_none() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    answer
}
