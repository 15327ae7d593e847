//! Two programs that talk over TCP: one sends a number each second, but not before the other has told it to.
//!
//! ```sh
//! cargo run --example start_signal -- receive 127.0.0.1:8000
//! cargo run --example start_signal -- send 127.0.0.1:8000 3    # in another terminal
//! ```
//!
//! The receiver takes one sender, gives it the start signal, prints what comes, and ends with it:
//!
//! ```text
//! listening on 127.0.0.1:8000
//! message 1
//! message 2
//! message 3
//! ```

use liten::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use liten::net::{TcpListener, TcpStream};
use liten::time::{Duration, interval};
use std::env;
use std::io;

/// Written by the receiver when it is ready for messages.
const START: &[u8] = b"GO\n";

const PERIOD: Duration = Duration::from_secs(1);

#[liten::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["receive", address] => receive(address).await,
        ["send", address, count] => send(address, count.parse().map_err(io::Error::other)?).await,
        _ => Err(io::Error::other("usage: start_signal receive ADDRESS, or: send ADDRESS COUNT")),
    }
}

async fn receive(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let (mut sender, _) = listener.accept().await?;
    sender.write_all(START).await?;
    let mut messages = BufReader::new(sender);
    let mut message = String::new();
    while messages.read_line(&mut message).await? != 0 {
        print!("{message}");
        message.clear();
    }
    Ok(())
}

async fn send(address: &str, count: u32) -> io::Result<()> {
    let mut receiver = TcpStream::connect(address).await?;
    println!("waiting for the start signal");
    let mut signal = [0; START.len()];
    receiver.read_exact(&mut signal).await?;
    if signal != START {
        return Err(io::Error::other("that is not the start signal"));
    }
    let mut seconds = interval(PERIOD);
    for number in 1..=count {
        seconds.tick().await;
        receiver.write_all(format!("message {number}\n").as_bytes()).await?;
    }
    println!("sent {count} messages");
    Ok(())
}
