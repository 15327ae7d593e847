//! Sockets of the standard library become sockets of a runtime by `TryFrom`, and datagram sockets have the
//! names that go with `recv` and `send` for readiness.

use crate::support::loopback::{poll_once, run, udp_pair};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream, UdpSocket};
use std::future::poll_fn;
use std::io;
use std::net;
use std::pin::pin;

#[test]
fn ip_sockets_come_from_those_of_std() {
    run(async {
        let listener =
            TcpListener::try_from(net::TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        let client = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut client: TcpStream = client.try_into().unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        client.write_all(b"a").await.unwrap();
        server.read_exact(&mut [0]).await.unwrap();

        let socket = UdpSocket::try_from(net::UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
        socket.send_to(b"b", socket.local_addr().unwrap()).await.unwrap();
        assert_eq!(socket.recv(&mut [0]).await.unwrap(), 1);
    });
}

#[cfg(unix)]
#[test]
fn unix_sockets_come_from_those_of_std() {
    use liten::net::{UnixDatagram, UnixListener, UnixStream};
    use std::os::unix::net;
    run(async {
        let (one, other) = net::UnixStream::pair().unwrap();
        let (mut one, mut other) =
            (UnixStream::try_from(one).unwrap(), UnixStream::try_from(other).unwrap());
        one.write_all(b"a").await.unwrap();
        other.read_exact(&mut [0]).await.unwrap();

        let (one, other) = net::UnixDatagram::pair().unwrap();
        let (one, other) =
            (UnixDatagram::try_from(one).unwrap(), UnixDatagram::try_from(other).unwrap());
        one.send(b"b").await.unwrap();
        assert_eq!(other.recv(&mut [0]).await.unwrap(), 1);

        let path = std::env::temp_dir().join(format!("liten-conversion-{}", std::process::id()));
        let listener = UnixListener::try_from(net::UnixListener::bind(&path).unwrap()).unwrap();
        let client = UnixStream::connect(&path).await;
        std::fs::remove_file(&path).unwrap();
        drop((client.unwrap(), listener.accept().await.unwrap()));
    });
}

/// What two methods of a datagram socket say of it: first that nothing has come, then that something has.
macro_rules! says_when {
    ($here:expr, $there:expr) => {
        let (here, there) = ($here, $there);
        poll_fn(|cx| here.poll_send_ready(cx)).await.unwrap();
        let mut readable = pin!(poll_fn(|cx| here.poll_recv_ready(cx)));
        // A new socket is assumed to be ready. An attempt takes that back, unless the event that the socket
        // is writable comes during the attempt: then the next one does.
        loop {
            assert_eq!(here.try_recv(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            if poll_once(&mut readable).await.is_none() {
                break;
            }
        }
        there.send(b"c").await.unwrap();
        readable.await.unwrap();
        assert_eq!(here.try_recv(&mut [0]).unwrap(), 1);
    };
}

#[test]
fn datagram_sockets_say_when_they_are_ready() {
    run(async {
        let (here, there) = udp_pair().await;
        says_when!(here, there);
        #[cfg(unix)]
        {
            let (here, there) = liten::net::UnixDatagram::pair().unwrap();
            says_when!(here, there);
        }
    });
}
