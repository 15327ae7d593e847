//! `axum::serve`, which is tokio's all through, on liten.
//!
//! ```sh
//! cargo run -p real --example axum_serve              # [ADDRESS], by default 127.0.0.1:3000
//! curl http://127.0.0.1:3000/
//! curl --data-binary @Cargo.toml http://127.0.0.1:3000/length
//! ```
//!
//! It serves until ctrl-c, and then finishes what it has begun. With liten's feature `tokio-context` the
//! listener and the tasks of the connections live in the helper runtime of tokio, on its one thread. So this
//! is for a program that has axum as it is; the example `axum_todo` serves a `Router` from liten's workers.
//! What takes a while goes to the workers here, too: a handler has no liten runtime around it, so it takes a
//! [`Handle`] along.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use liten::runtime::Handle;
use std::{env, io, thread};
use tokio::net::TcpListener;

#[liten::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let router = Router::new()
        .route("/", get(threads))
        .route("/length", post(length))
        .with_state(Handle::current());
    // A task of liten's, because axum polls what it is given here on the helper.
    let stop = liten::spawn(liten::signal::ctrl_c());
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            if !matches!(stop.await, Ok(Ok(()))) {
                // Without ctrl-c it serves until it is killed.
                std::future::pending().await
            }
        })
        .await
}

/// Says which thread answers, and which one works.
async fn threads(State(liten): State<Handle>) -> String {
    let name = || thread::current().name().unwrap_or("a thread without a name").to_owned();
    let worker = liten.spawn(async move { name() }).await.expect("no panic");
    format!("answered on {}, worked on {worker}\n", name())
}

/// Says how many bytes and lines have been posted; up to 2 MB, which is axum's limit.
async fn length(State(liten): State<Handle>, body: Bytes) -> Result<String, StatusCode> {
    let count = liten.spawn_blocking(move || {
        let lines = body.iter().filter(|&&byte| byte == b'\n').count();
        format!("{} bytes, {lines} lines\n", body.len())
    });
    count.await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)
}
