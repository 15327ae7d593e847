//! Servers, and connections that live for one message.

use axum::Router;
use axum::routing::get;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const BUFFER: usize = 4096;
const MESSAGE: [u8; 64] = [7; 64];

/// Sends back what comes, in a task per connection.
pub(crate) async fn echo() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async {
                // An error is a client that has gone: all of them go in the end.
                let _ = echo_to(stream).await;
            });
        }
    });
    Ok(address)
}

async fn echo_to(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; BUFFER];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            length => stream.write_all(&buffer[..length]).await?,
        }
    }
}

pub(crate) async fn http() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/", get(|| async { "Hello, World!" }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// Both sides of connections that are made one after the other. Each is closed after one message and its
/// echo.
pub(crate) async fn connect(count: usize) {
    let address = echo().await.expect("a port is free");
    for _ in 0..count {
        let mut stream = TcpStream::connect(address).await.expect("there is a listener");
        // Closing resets the connection: that leaves no port behind that would be blocked for a minute.
        stream.set_zero_linger().expect("every socket has the option");
        stream.write_all(&MESSAGE).await.expect("the server reads");
        let mut echoed = [0; MESSAGE.len()];
        stream.read_exact(&mut echoed).await.expect("the server answers");
        assert_eq!(echoed, MESSAGE);
    }
}
