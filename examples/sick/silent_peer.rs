//! A client that asks a server and waits for the answer, without a limit; the server says nothing.
//!
//! ```sh
//! cargo run --example sick_silent_peer
//! ```
//!
//! After some ten seconds the page suspects it: the task waits for a socket on which nothing happens, and has
//! no timer that would end its wait. The cure is `timeout` around the wait.

mod ward;

use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::TcpStream;
use std::io;
use std::net::{SocketAddr, TcpListener};

fn main() -> io::Result<()> {
    ward::run(&mut ward::settings(), || {
        // It accepts nothing: to the client it looks as if it had been accepted and forgotten.
        let server = TcpListener::bind("127.0.0.1:0")?;
        let address = server.local_addr()?;
        drop(liten::spawn(async move {
            let _open = server;
            ask(address).await
        }));
        Ok(())
    })
}

async fn ask(address: SocketAddr) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"what is the price?\n").await?;
    let mut answer = vec![0; 64];
    let length = stream.read(&mut answer).await?;
    answer.truncate(length);
    Ok(answer)
}
