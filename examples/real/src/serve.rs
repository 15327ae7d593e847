//! An axum `Router` served on liten: what `axum::serve` is for tokio.

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use liten::future::{Either, select};
use liten::hyper::{LitenExecutor, LitenTimer};
use liten::net::{TcpListener, TcpStream};
use liten::time::{Duration, sleep, timeout};
use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a client may take for the head of a request, and how long those that are being answered when the
/// server ends may take for the rest.
pub const PATIENCE: Duration = Duration::from_secs(5);

type Server = auto::Builder<LitenExecutor>;

/// Serves HTTP/1 and HTTP/2 until `shutdown` is ready; then takes no more connections and waits for the
/// answers that have begun, for [`PATIENCE`] at most.
///
/// Returns whether all were done in that time. What goes wrong with one connection is said on the standard
/// error and concerns no other client.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> bool {
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
                let service = TowerToHyperService::new(router.clone());
                let (server, watcher) = (Arc::clone(&server), connections.watcher());
                liten::spawn(async move {
                    if let Err(error) = converse(stream, service, &server, watcher).await {
                        eprintln!("{peer}: {error}");
                    }
                });
            }
            Either::Right((Err(error), _)) => {
                // No descriptors left, perhaps: give clients time to leave.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
            Either::Left(((), _)) => break,
        }
    }
    // A client that still comes is refused at once.
    drop(listener);
    timeout(PATIENCE, connections.shutdown()).await.is_ok()
}

async fn converse(
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    server: &Server,
    watcher: Watcher,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Small answers go out at once.
    stream.set_nodelay(true)?;
    let asked = AtomicBool::new(false);
    let service = service_fn(|request: Request<Incoming>| {
        asked.store(true, Ordering::Relaxed);
        service.call(request)
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
