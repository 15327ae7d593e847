//! A web service of three programs: a store, a server in front of it, and clients.
//!
//! The store is mini-redis. The server is axum's and keeps nothing: it asks the store. The clients are hyper-util's.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mini_redis::client::{self, Client as Store};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(2);

/// The program of the host named `store`.
pub fn store() -> Result<(), String> {
    store_at("0.0.0.0:6379")
}

/// The same at another address.
#[tokio::main]
pub async fn store_at(address: &str) -> Result<(), String> {
    let listener = TcpListener::bind(address).await.map_err(|error| error.to_string())?;
    mini_redis::server::run(listener, std::future::pending::<()>())
        .await
        .map_err(|error| error.to_string())
}

/// What is wrong with the server, so that a test can show that it is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// A connection to the store is used again although an answer is still under way on it.
    AnswerLeft,
    /// A write is answered before the store has it.
    EarlyAnswer,
}

struct Server {
    mistake: Mistake,
    /// A connection that no request uses, if the last one went well.
    store: Mutex<Option<Store>>,
}

/// The program of the host named `server`.
#[tokio::main]
pub async fn server(mistake: Mistake) -> Result<(), String> {
    let state = Arc::new(Server { mistake, store: Mutex::new(None) });
    let app = Router::new().route("/{key}", get(read).put(write)).with_state(state);
    let listener = TcpListener::bind("0.0.0.0:80").await.map_err(|error| error.to_string())?;
    axum::serve(listener, app).await.map_err(|error| error.to_string())
}

impl Server {
    /// Takes the connection to the store, or makes one.
    async fn connection(&self) -> Result<Store, StatusCode> {
        if let Some(store) = self.store.lock().await.take() {
            return Ok(store);
        }
        let connected = timeout(PATIENCE, client::connect("store:6379")).await;
        connected.map_err(|_| StatusCode::GATEWAY_TIMEOUT)?.map_err(|_| StatusCode::BAD_GATEWAY)
    }
}

async fn read(
    State(server): State<Arc<Server>>,
    Path(key): Path<String>,
) -> Result<Bytes, StatusCode> {
    let mut store = server.connection().await?;
    match timeout(PATIENCE, store.get(&key)).await {
        Ok(Ok(value)) => {
            *server.store.lock().await = Some(store);
            Ok(value.unwrap_or_default())
        }
        Ok(Err(_)) => Err(StatusCode::BAD_GATEWAY),
        Err(_) => Err(server.too_late(store).await),
    }
}

async fn write(
    State(server): State<Arc<Server>>,
    Path(key): Path<String>,
    value: Bytes,
) -> Result<StatusCode, StatusCode> {
    if server.mistake == Mistake::EarlyAnswer {
        tokio::spawn(async move { server.write_through(key, value).await });
        return Ok(StatusCode::NO_CONTENT);
    }
    server.write_through(key, value).await
}

impl Server {
    async fn write_through(&self, key: String, value: Bytes) -> Result<StatusCode, StatusCode> {
        let mut store = self.connection().await?;
        match timeout(PATIENCE, store.set(&key, value)).await {
            Ok(Ok(())) => {
                *self.store.lock().await = Some(store);
                Ok(StatusCode::NO_CONTENT)
            }
            Ok(Err(_)) => Err(StatusCode::BAD_GATEWAY),
            Err(_) => Err(self.too_late(store).await),
        }
    }

    /// The store has not answered in time. The connection still owes an answer, so no request may use it again.
    async fn too_late(&self, store: Store) -> StatusCode {
        if self.mistake == Mistake::AnswerLeft {
            *self.store.lock().await = Some(store);
        }
        StatusCode::GATEWAY_TIMEOUT
    }
}

/// What a client knows of its own key, to which no other client writes.
#[derive(Default)]
pub struct Known {
    /// The last write that was answered.
    pub written: u32,
    /// Writes without an answer. Each of them may come into effect at any time.
    pub doubtful: Vec<u32>,
}

impl Known {
    #[must_use]
    pub fn allows(&self, value: u32) -> bool {
        value == self.written || self.doubtful.contains(&value)
    }
}

/// The program of a client: it writes and reads its own key until `answers` of each have come.
///
/// # Panics
///
/// When an answer is not one that the writes before it allow.
#[tokio::main]
pub async fn user(key: &'static str, answers: u32) {
    let http: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build_http();
    let mut known = Known::default();
    let (mut writes, mut reads, mut next) = (0, 0, 0);
    while writes < answers || reads < answers {
        next += 1;
        match call(&http, "PUT", key, Some(next)).await {
            Some(_) => {
                writes += 1;
                known.written = next;
            }
            None => known.doubtful.push(next),
        }
        if let Some(body) = call(&http, "GET", key, None).await {
            reads += 1;
            let text = String::from_utf8_lossy(&body);
            let value = if text.is_empty() { 0 } else { text.parse().unwrap_or(u32::MAX) };
            assert!(known.allows(value), "{key} is {text}, but {} was written", known.written);
        }
    }
}

async fn call(
    http: &Client<HttpConnector, Full<Bytes>>,
    method: &str,
    key: &str,
    value: Option<u32>,
) -> Option<Bytes> {
    let body = value.map(|value| value.to_string()).unwrap_or_default();
    let request = Request::builder().method(method).uri(format!("http://server/{key}"));
    let request = request.body(Full::new(Bytes::from(body))).ok()?;
    let answer = timeout(2 * PATIENCE, async {
        let answer =
            http.request(request).await.ok().filter(|answer| answer.status().is_success())?;
        Some(answer.into_body().collect().await.ok()?.to_bytes())
    });
    let answer = answer.await.ok().flatten();
    if answer.is_none() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    answer
}
