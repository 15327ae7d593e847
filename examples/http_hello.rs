//! A web server on hyper, for HTTP/1 and HTTP/2 on one port.
//!
//! ```sh
//! cargo run --release --example http_hello                    # http://127.0.0.1:3000
//! cargo run --release --example http_hello -- 127.0.0.1:0     # any free port
//! curl http://127.0.0.1:3000/                                 # in another terminal
//! curl --http2-prior-knowledge http://127.0.0.1:3000/
//! ```
//!
//! The first line says where it listens. Ctrl-c ends it gracefully: it takes no more connections, finishes
//! the answers it has begun, and ends.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use liten::future::{Either, select};
use liten::hyper::{LitenExecutor, LitenTimer};
use liten::net::{TcpListener, TcpStream};
use liten::signal::ctrl_c;
use liten::time::{Duration, sleep, timeout};
use std::convert::Infallible;
use std::env;
use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a client may take to say what it wants, and how long those that are being answered when the
/// server ends may take for the rest.
const PATIENCE: Duration = Duration::from_secs(5);

type Server = auto::Builder<LitenExecutor>;

#[liten::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let done = serve(listener, ctrl_c()).await?;
    println!("{}", if done { "bye" } else { "bye, although some clients were not done" });
    Ok(())
}

/// Serves until `shutdown` is ready, and returns whether all clients were done in time after that.
async fn serve(
    listener: TcpListener,
    shutdown: impl Future<Output = io::Result<()>>,
) -> io::Result<bool> {
    let mut server = Server::new(LitenExecutor::new());
    // hyper keeps timeouts only where it has a timer.
    server.http1().timer(LitenTimer::new()).header_read_timeout(PATIENCE);
    server.http2().timer(LitenTimer::new()).keep_alive_interval(PATIENCE);
    let server = Arc::new(server);
    let connections = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        // In this order ctrl-c is listened for before the first client is served.
        match select(shutdown.as_mut(), pin!(listener.accept())).await {
            Either::Right((Ok((stream, peer)), _)) => {
                let (server, watcher) = (Arc::clone(&server), connections.watcher());
                liten::spawn(async move {
                    if let Err(error) = converse(stream, &server, watcher).await {
                        eprintln!("{peer}: {error}");
                    }
                });
            }
            Either::Right((Err(error), _)) => {
                // No descriptors left, perhaps: give clients time to leave.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
            Either::Left((result, _)) => {
                result?;
                break;
            }
        }
    }
    // A client that still comes is refused at once.
    drop(listener);
    Ok(timeout(PATIENCE, connections.shutdown()).await.is_ok())
}

/// Serves one connection until it ends.
async fn converse(
    stream: TcpStream,
    server: &Server,
    watcher: Watcher,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Small answers go out at once.
    stream.set_nodelay(true)?;
    let asked = AtomicBool::new(false);
    let service = service_fn(|request| {
        asked.store(true, Ordering::Relaxed);
        answer(request)
    });
    // `auto` reads the first bytes to tell the versions apart, and the timeout for HTTP/1 begins only after
    // that. A client that says nothing must not hold a connection for ever.
    let connection = pin!(watcher.watch(server.serve_connection(stream, service)));
    match select(connection, pin!(sleep(PATIENCE))).await {
        Either::Left((result, _)) => result,
        Either::Right(((), connection)) if asked.load(Ordering::Relaxed) => connection.await,
        Either::Right(_) => Err("asks for nothing".into()),
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => (StatusCode::OK, format!("hello over {:?}\n", request.version())),
        (_, "/") => (StatusCode::METHOD_NOT_ALLOWED, "only GET here\n".to_owned()),
        (_, path) => (StatusCode::NOT_FOUND, format!("{path} is not here\n")),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    Ok(response)
}
