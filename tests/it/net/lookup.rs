//! Names: what is an address is known at once, the rest is looked up off the workers, errors say what could
//! not be found.

use crate::support::guard::{guarded, workers};
use crate::support::loopback::{bounded, poll_once, run};
use liten::net::{TcpListener, TcpStream, UdpSocket, lookup_host};
use liten::runtime::Builder;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::{Context, Waker};

/// No name server is asked for it: a label ends at 63 characters.
const UNRESOLVABLE: &str =
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid";

#[test]
fn an_address_is_known_at_the_first_poll() {
    run(async {
        let address: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let mut known = pin!(lookup_host("127.0.0.1:80"));
        let found: Vec<_> =
            poll_once(&mut known).await.expect("no look-up is needed").unwrap().collect();
        assert_eq!(found, [address]);
        let mut known = pin!(lookup_host(("::1", 80)));
        assert!(poll_once(&mut known).await.is_some());
    });
}

#[test]
fn a_name_is_looked_up_on_the_blocking_pool() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        // The pool's only thread is taken, so a look-up that ends now has run in the poll.
        let (release, taken) = std::sync::mpsc::channel::<()>();
        let taken = liten::spawn_blocking(move || taken.recv());
        let mut waiting = pin!(lookup_host("localhost:80"));
        for _ in 0..10 {
            assert!(poll_once(&mut waiting).await.is_none(), "the look-up ran in the poll");
            liten::task::yield_now().await;
        }
        // One that is given up ends by itself.
        assert!(poll_once(&mut pin!(lookup_host(("localhost", 80)))).await.is_none());
        release.send(()).unwrap();
        taken.await.unwrap().unwrap();
        let found: Vec<_> = bounded(waiting).await.unwrap().collect();
        assert!(!found.is_empty());
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 80));
    });
}

#[test]
fn sockets_take_names() {
    run(async {
        let listener = TcpListener::bind("localhost:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = TcpStream::connect(("localhost", port)).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
        let stream = TcpStream::connect(format!("localhost:{port}")).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());

        let socket = UdpSocket::bind(("localhost".to_owned(), 0)).await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let sender = UdpSocket::bind("localhost:0").await.unwrap();
        sender.send_to(b"x", ("localhost", port)).await.unwrap();
        assert_eq!(socket.recv(&mut [0; 8]).await.unwrap(), 1);
    });
}

#[test]
fn a_name_that_does_not_exist_is_an_error_that_names_it() {
    run(async {
        let error = TcpStream::connect((UNRESOLVABLE, 80)).await.unwrap_err();
        assert!(error.to_string().contains(UNRESOLVABLE), "{error}");
        assert!(lookup_host((UNRESOLVABLE, 80)).await.is_err());
        assert!(UdpSocket::bind((UNRESOLVABLE, 0)).await.is_err());
    });
}

#[test]
fn what_is_no_name_with_a_port_is_invalid() {
    run(async {
        for text in ["localhost", "localhost:port", "", "127.0.0.1:99999"] {
            let error = TcpListener::bind(text).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text:?}: {error}");
        }
    });
}

#[test]
#[should_panic(expected = "outside a runtime")]
fn a_look_up_polled_outside_a_runtime_panics() {
    let _ = pin!(lookup_host("localhost:80")).poll(&mut Context::from_waker(Waker::noop()));
}

#[test]
fn a_look_up_needs_the_runtime_only_when_it_is_polled() {
    guarded(|| {
        let looked_up = lookup_host("localhost:80");
        let mut addresses = workers(1).block_on(looked_up).unwrap();
        assert!(addresses.all(|address| address.port() == 80));
    });
}

#[test]
fn futures_that_connect_and_bind_can_be_spawned() {
    run(async {
        let listener = liten::spawn(TcpListener::bind("127.0.0.1:0")).await.unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        liten::spawn(TcpStream::connect(address)).await.unwrap().unwrap();
        liten::spawn(UdpSocket::bind("127.0.0.1:0")).await.unwrap().unwrap();
        let found = liten::spawn(async { lookup_host("127.0.0.1:1").await.unwrap().count() });
        assert_eq!(found.await.unwrap(), 1);
    });
}
