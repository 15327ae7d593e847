//! What the socket tests share: a bounded run, connected pairs, one poll by hand.

use liten::net::{TcpListener, TcpStream, UdpSocket};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// Runs a test's future on a runtime of its own; a test that hangs fails instead.
#[track_caller]
pub(crate) fn run<F: Future>(test: F) -> F::Output {
    liten::block_on(bounded(test))
}

/// Waits for `future`, but not for ever.
pub(crate) async fn bounded<F: Future>(future: F) -> F::Output {
    liten::time::timeout(Duration::from_secs(100), future).await.expect("the test hangs")
}

/// Sends one datagram over a pair of its own, and waits until the driver has reported it: what the system
/// had for the driver before has been reported by then.
pub(crate) async fn until_reported() {
    let (first, second) = udp_pair().await;
    while second.try_recv(&mut [0; 8]).is_ok() {}
    first.send(b"x").await.unwrap();
    second.recv(&mut [0; 8]).await.unwrap();
}

/// A connected pair: the end that connected, the end that was accepted.
pub(crate) async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, peer) = listener.accept().await.unwrap();
    assert_eq!(peer, client.local_addr().unwrap());
    (client, server)
}

/// Two UDP sockets, each with the other as its peer.
pub(crate) async fn udp_pair() -> (UdpSocket, UdpSocket) {
    let first = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let second = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    first.connect(second.local_addr().unwrap()).await.unwrap();
    second.connect(first.local_addr().unwrap()).await.unwrap();
    (first, second)
}

/// Polls once: `None` if the future is pending.
pub(crate) async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    poll_fn(|cx| match Pin::new(&mut *future).poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Whether `operation`, which the system completes at once, takes from the budget: a task that has none left
/// is not told of the end in the same poll.
pub(crate) async fn takes_part_in_the_budget<T: Send>(
    operation: impl Future<Output = T> + Send + 'static,
) -> bool {
    let task = async move {
        let mut operation = Box::pin(operation);
        while poll_once(&mut Box::pin(liten::task::consume_budget())).await.is_some() {}
        let was_pending = poll_once(&mut operation).await.is_none();
        if was_pending {
            operation.await;
        }
        was_pending
    };
    liten::spawn(task).await.unwrap()
}

/// Bytes whose period is a prime, so that a buffer that is lost or doubled shows.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    let period: Vec<u8> = (0..251).collect();
    let mut bytes = period.repeat(length / period.len() + 1);
    bytes.truncate(length);
    bytes
}
