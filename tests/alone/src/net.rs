//! Sockets by their own methods, without any I/O trait.

use liten::net::{TcpListener, TcpStream, UdpSocket};
use std::io::{self, ErrorKind};

/// `attempt` until it does not have to wait.
async fn retried(
    stream: &TcpStream,
    mut attempt: impl FnMut(&TcpStream) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match attempt(stream) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => stream.readable().await?,
            result => return result,
        }
    }
}

#[test]
fn tcp_goes_there_and_back() {
    liten::block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = liten::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 8];
            let length = retried(&stream, |stream| stream.try_read(&mut buffer)).await.unwrap();
            stream.writable().await.unwrap();
            assert_eq!(stream.try_write(&buffer[..length]).unwrap(), length);
        });
        let stream = TcpStream::connect(address).await.unwrap();
        stream.writable().await.unwrap();
        assert_eq!(stream.try_write(b"ping").unwrap(), 4);
        let mut buffer = [0; 8];
        let length = retried(&stream, |stream| stream.try_read(&mut buffer)).await.unwrap();
        assert_eq!(&buffer[..length], b"ping");
        server.await.unwrap();
    });
}

#[test]
fn udp_goes_there_and_back() {
    liten::block_on(async {
        let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        here.send_to(b"ping", there.local_addr().unwrap()).await.unwrap();
        let mut buffer = [0; 8];
        let (length, sender) = there.recv_from(&mut buffer).await.unwrap();
        assert_eq!((&buffer[..length], sender), (&b"ping"[..], here.local_addr().unwrap()));
    });
}
