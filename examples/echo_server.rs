//! A TCP server that sends everything back.
//!
//! ```sh
//! cargo run --release --example echo_server                  # 127.0.0.1:7878
//! cargo run --release --example echo_server -- 127.0.0.1:0   # any free port
//! nc 127.0.0.1 7878                                          # in another terminal: each line comes back
//! ```
//!
//! The first line says where it listens. It runs until it is interrupted. The example `echo_load` puts it
//! under load.

use liten::net::{TcpListener, TcpStream};
use liten::time::{Duration, sleep};
use std::env;
use std::io;

#[liten::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7878".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                liten::spawn(async move {
                    if let Err(error) = echo(stream).await {
                        eprintln!("{peer}: {error}");
                    }
                });
            }
            Err(error) => {
                // It concerns one connection, or there are no descriptors left. The pause is for the
                // second case: to try again at once would only turn in circles until a client leaves.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Sends back what comes until the client has no more to say.
async fn echo(stream: TcpStream) -> io::Result<()> {
    // An echo is of no use later: do not hold a short one back to fill a packet.
    stream.set_nodelay(true)?;
    // `&TcpStream` reads and writes too, so one stream can be both ends of the copy.
    liten::io::copy(&stream, &mut &stream).await?;
    Ok(())
}
