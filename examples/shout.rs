//! Reads lines from the standard input and says them louder, until the input ends or a line says `bye`.
//!
//! ```sh
//! echo hello | cargo run --release --example shout
//! ```
//!
//! A pending read of the terminal does not hold up the end: `bye` ends the program although the input is
//! still open.

use liten::future::StreamExt;
use liten::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stderr, stdin, stdout};
use std::io;

#[liten::main]
async fn main() -> io::Result<()> {
    let mut out = stdout();
    let mut lines = BufReader::new(stdin()).lines();
    let mut count = 0;
    while let Some(line) = lines.next().await {
        let line = line?;
        if line == "bye" {
            // Asks for more, and goes without it.
            drop(liten::spawn(async move { lines.next().await }));
            break;
        }
        out.write_all(line.to_uppercase().as_bytes()).await?;
        out.write_all(b"\n").await?;
        count += 1;
    }
    // What has been written is on its way; this waits for its arrival.
    out.flush().await?;
    let mut err = stderr();
    err.write_all(format!("{count} lines\n").as_bytes()).await?;
    err.flush().await
}
