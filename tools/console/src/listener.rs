//! Connections: HTTP/2 by hyper, so many at a time, and none that asks for nothing.

use crate::hub::Hub;
use crate::service::Service;
use console_api::instrument::instrument_server::InstrumentServer;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::{Service as _, service_fn};
use hyper_util::service::TowerToHyperService;
use liten::future::{Either, select};
use liten::hyper::{LitenExecutor, LitenTimer};
use liten::net::{TcpListener, TcpStream};
use liten::sync::{OwnedSemaphorePermit, Semaphore};
use liten::time::{Duration, sleep};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many clients there are at a time. One that comes when there are so many is sent away.
const MOST_CONNECTIONS: usize = 16;
/// How many calls a client makes at a time. `tokio-console` has up to four.
const MOST_CALLS: u32 = 16;
/// The largest head of a request, and the largest message that a client sends: it has no more than an id.
const LARGEST_HEAD: u32 = 16 * 1024;
const LARGEST_MESSAGE: usize = 1024;
/// How long a client may take for its first request, and for the answer to a ping.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait after an error, such as the lack of a descriptor.
const RETRY: Duration = Duration::from_millis(100);

pub(crate) struct Listener {
    listener: TcpListener,
    hub: Arc<Hub>,
}

impl Listener {
    pub(crate) fn new(listener: TcpListener, hub: Arc<Hub>) -> Self {
        Self { listener, hub }
    }

    pub(crate) async fn serve(self) -> Infallible {
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    if let Ok(place) = room.clone().try_acquire_owned() {
                        drop(liten::spawn(converse(stream, self.hub.clone(), place)));
                    }
                }
                Err(_) => sleep(RETRY).await,
            }
        }
    }
}

/// Serves one client. What goes wrong with it concerns no other, and the client knows.
async fn converse(stream: TcpStream, hub: Arc<Hub>, _place: OwnedSemaphorePermit) {
    // An update goes out at once.
    _ = stream.set_nodelay(true);
    let service =
        InstrumentServer::new(Service::new(hub)).max_decoding_message_size(LARGEST_MESSAGE);
    let service = TowerToHyperService::new(service);
    let has_asked = AtomicBool::new(false);
    let service = service_fn(|request: Request<Incoming>| {
        // Ordering: Relaxed, one thread.
        has_asked.store(true, Ordering::Relaxed);
        service.call(request)
    });
    let mut http = http2::Builder::new(LitenExecutor::new());
    http.timer(LitenTimer::new())
        .max_concurrent_streams(MOST_CALLS)
        .max_header_list_size(LARGEST_HEAD)
        .keep_alive_interval(PATIENCE)
        .keep_alive_timeout(PATIENCE);
    let connection = pin!(http.serve_connection(stream, service));
    match select(connection, pin!(sleep(PATIENCE))).await {
        Either::Right(((), connection)) if has_asked.load(Ordering::Relaxed) => {
            _ = connection.await
        }
        _ => {}
    }
}
