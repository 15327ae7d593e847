//! An echo server and its client, as two tasks of one component.
//!
//! `cargo run -p component --bin tcp_echo [TEXT]` runs it natively; in a component it is the same program.

use liten::io::{self, AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream};
use std::net::SocketAddr;

#[liten::main]
async fn main() -> io::Result<()> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "hello from a component".to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;

    let server = liten::spawn(serve_one(listener));
    let client = liten::spawn(ask(address, text.clone()));
    let answer = client.await.expect("the client does not panic")?;
    let count = server.await.expect("the server does not panic")?;

    println!("echo of {count} bytes: {answer}");
    assert_eq!(answer, text);
    Ok(())
}

/// Sends one connection back what it sends, until it ends.
async fn serve_one(listener: TcpListener) -> io::Result<u64> {
    let (mut stream, _peer) = listener.accept().await?;
    let count = io::copy(&stream, &mut &stream).await?;
    stream.close().await?;
    Ok(count)
}

async fn ask(address: SocketAddr, text: String) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.close().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
