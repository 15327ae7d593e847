//! A server that talks with many clients at once, line by line.
//!
//! ```sh
//! cargo run --example chat        # 127.0.0.1:3000, or the address given as the argument
//! nc 127.0.0.1 3000               # in other terminals, as many as you like
//! ```
//!
//! It greets, prompts, and quotes each line back; a line of more than 1024 bytes in pieces. The server
//! prints which clients come and leave. It runs until it is interrupted.

use liten::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use liten::net::{TcpListener, TcpStream};
use liten::time::{Duration, sleep};
use std::env;
use std::io;

/// The longest line, its end included. Without a bound, a client that never ends its line would fill our
/// memory.
const LINE: u64 = 1024;

#[liten::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                liten::spawn(async move {
                    println!("{peer} came");
                    match talk(stream).await {
                        Ok(lines) => println!("{peer} left after {lines} lines"),
                        Err(error) => println!("{peer} was lost: {error}"),
                    }
                });
            }
            Err(error) => {
                // No descriptors left, perhaps: give clients time to leave.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Talks until the client leaves, and returns how many lines it has sent.
async fn talk(stream: TcpStream) -> io::Result<usize> {
    // Both work at the same time on one stream, because `&TcpStream` reads and writes too.
    let mut reader = BufReader::new(&stream);
    let mut writer = &stream;
    writer.write_all(b"Welcome! Say something, and I will quote you.\n").await?;

    let mut lines = 0;
    let mut line = Vec::new();
    loop {
        writer.write_all(b"> ").await?;
        line.clear();
        (&mut reader).take(LINE).read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Ok(lines);
        }
        lines += 1;
        let answer = format!("You said: \"{}\"\n", String::from_utf8_lossy(line.trim_ascii_end()));
        writer.write_all(answer.as_bytes()).await?;
    }
}
