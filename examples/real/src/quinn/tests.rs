//! What real traffic on the loopback interface never shows: its sends do not block.

use super::*;
use liten::sync::mpsc::unbounded_channel;
use liten::task::yield_now;
use liten::time::{Duration, timeout};
use std::future::poll_fn;

const LIMIT: Duration = Duration::from_secs(60);

fn socket() -> (Arc<Socket>, std::net::UdpSocket) {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.connect(socket.local_addr().unwrap()).unwrap();
    (Arc::new(Socket::new(socket).unwrap()), peer)
}

/// As if the buffer for sending had filled up.
fn block(socket: &Socket) {
    let blocked: io::Result<()> =
        socket.io.try_io(Interest::WRITABLE, || Err(ErrorKind::WouldBlock.into()));
    assert_eq!(blocked.unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[liten::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_wakes_every_poller_of_a_socket() {
    let (socket, peer) = socket();
    let (sender, mut waiting) = unbounded_channel();
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let (socket, sender) = (Arc::clone(&socket), sender.clone());
            let mut poller = Arc::clone(&socket).create_io_poller();
            let mut first = true;
            liten::spawn(poll_fn(move |cx| {
                if !first {
                    return poller.as_mut().poll_writable(cx);
                }
                first = false;
                loop {
                    block(&socket);
                    // Unless an event of the beginning comes in between.
                    if poller.as_mut().poll_writable(cx).is_pending() {
                        sender.send(()).unwrap();
                        return Poll::Pending;
                    }
                }
            }))
        })
        .collect();
    for _ in 0..3 {
        timeout(LIMIT, waiting.recv()).await.unwrap().unwrap();
    }
    // An event of a source reports all that it is ready for.
    peer.send(b"an event").unwrap();
    for task in tasks {
        timeout(LIMIT, task).await.unwrap().unwrap().unwrap();
    }
}

#[liten::test]
async fn a_send_that_blocks_is_tried_again_after_an_event_only() {
    let (socket, peer) = socket();
    let transmit = Transmit {
        destination: peer.local_addr().unwrap(),
        ecn: None,
        contents: b"hello",
        segment_size: None,
        src_ip: None,
    };
    socket.try_send(&transmit).unwrap();
    let blocked = async {
        loop {
            block(&socket);
            // The datagram that leaves the buffer is an event.
            match socket.try_send(&transmit) {
                Ok(()) => yield_now().await,
                Err(error) => return error.kind(),
            }
        }
    };
    assert_eq!(timeout(LIMIT, blocked).await.unwrap(), ErrorKind::WouldBlock);
    peer.send(b"an event").unwrap();
    let mut poller = Arc::clone(&socket).create_io_poller();
    timeout(LIMIT, poll_fn(|cx| poller.as_mut().poll_writable(cx))).await.unwrap().unwrap();
    socket.try_send(&transmit).unwrap();
}

#[liten::test(flavor = "multi_thread", worker_threads = 2)]
async fn receiving_waits_for_a_datagram_and_says_whose_it_is() {
    let (socket, peer) = socket();
    let (sender, mut waiting) = unbounded_channel();
    let task = liten::spawn(async move {
        let mut buffer = vec![0; 2048];
        let mut meta = [RecvMeta::default()];
        let received = poll_fn(|cx| {
            let poll = socket.poll_recv(cx, &mut [IoSliceMut::new(&mut buffer)], &mut meta);
            sender.send(poll.is_pending()).unwrap();
            poll
        });
        assert_eq!(received.await.unwrap(), 1);
        buffer.truncate(meta[0].len);
        (buffer, meta[0])
    });
    assert_eq!(timeout(LIMIT, waiting.recv()).await.unwrap(), Some(true));
    peer.send(b"hello").unwrap();
    let (buffer, meta) = timeout(LIMIT, task).await.unwrap().unwrap();
    assert_eq!((&buffer[..], meta.addr), (&b"hello"[..], peer.local_addr().unwrap()));
    assert_eq!(meta.stride, meta.len);
}

#[liten::test]
async fn a_timer_can_be_put_off_and_brought_forward() {
    let start = Instant::now();
    let mut timer = LitenRuntime.new_timer(start + Duration::from_secs(3600));
    poll_fn(|cx| {
        assert!(timer.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    // The task that waits is woken by the new deadline, without another poll.
    timer.as_mut().reset(start + Duration::from_millis(20));
    timeout(LIMIT, poll_fn(|cx| timer.as_mut().poll(cx))).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(20));
    timer.as_mut().reset(Instant::now() + Duration::from_secs(3600));
    poll_fn(|cx| {
        assert!(timer.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}
